"""Sixty small changes of conditions to compare two suites of tests by: what one notices, the other must.

python scripts/condition_mutants.py --list          number, place, before and after of each change
python scripts/condition_mutants.py --apply N DIR   make one of them in DIR, a copy of the repository

Twelve conditions of each of five folders of the package are drawn, and a change for each: the same ones for
the same files. A condition that stands elsewhere in DIR is found by its function and its text.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SEED = 20261118
FOLDERS = ("store", "tasklists", "hook", "runner", "cli")
PER_FOLDER = 12
# What only readers see, and what no test on this system can reach.
LEFT_OUT = ("TYPE_CHECKING", "sys.platform", "os.name", "fcntl", "__name__")
PAIRS = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.And, ast.Or),
)
OTHER: dict[type[ast.AST], type[ast.AST]] = {one: two for pair in PAIRS for one, two in (pair, pair[::-1])}


class Condition(NamedTuple):
    """Where something is decided: the expression, and the function around it."""

    path: str
    function: str
    test: ast.expr

    @property
    def place(self) -> tuple[str, int, int]:
        return self.path, self.test.lineno, self.test.col_offset


class Mutant(NamedTuple):
    """A condition, and what stands in its place."""

    number: int
    condition: Condition
    after: str

    def __str__(self) -> str:
        return f"{self.number:2}  {self.place}  {self.change}"

    @property
    def place(self) -> str:
        return f"{self.condition.path}:{self.condition.test.lineno}"

    @property
    def change(self) -> str:
        return f"{ast.unparse(self.condition.test)}  →  {self.after}"


def drawn(root: Path) -> list[Mutant]:
    """The mutants, the same each time for the same files."""
    lots = random.Random(SEED)
    found: list[Mutant] = []
    for folder in FOLDERS:
        here = sorted(conditions(root, folder), key=lambda each: each.place)
        for condition in sorted(lots.sample(here, PER_FOLDER), key=lambda each: each.place):
            found.append(Mutant(len(found) + 1, condition, lots.choice(changes(condition.test))))
    return found


def conditions(root: Path, folder: str = "") -> Iterator[Condition]:
    for path in (root / "src/ralphloop" / folder).rglob("*.py"):
        yield from _below(ast.parse(path.read_text()), str(path.relative_to(root)), function="")


def _below(node: ast.AST, path: str, *, function: str) -> Iterator[Condition]:
    """Everything below a node that decides, without what is left out and what stands behind that."""
    for test in _tests(node):
        if not _is_left_out(test) and not isinstance(test, ast.Constant):
            yield Condition(path, function, test)
    if isinstance(node, ast.FunctionDef):
        function = node.name
    for child in ast.iter_child_nodes(node):
        behind = isinstance(node, ast.If) and _is_left_out(node.test) and child in node.body
        if not behind and not function.endswith("_on_windows"):
            yield from _below(child, path, function=function)


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return [node.test]
    if isinstance(node, ast.comprehension):
        return node.ifs
    if isinstance(node, ast.Return) and isinstance(node.value, (ast.Compare, ast.BoolOp)):
        return [node.value]
    return []


def _is_left_out(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return any(word in text for word in LEFT_OUT)


def changes(test: ast.expr) -> list[str]:
    """Each way in which this condition can be changed a little, as text."""
    found = [f"not ({ast.unparse(test)})"]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = [ast.unparse(test.operand)]
    for index, node in enumerate(ast.walk(test)):
        if isinstance(node, ast.BoolOp):
            found.append(_changed(test, index, "op", OTHER[type(node.op)]()))
            for left_out in node.values:
                kept = [value for value in node.values if value is not left_out]
                found.append(_changed(test, index, "values", kept))
        elif isinstance(node, ast.Compare):
            for at, op in enumerate(node.ops):
                other: ast.AST = OTHER[type(op)]()
                found.append(_changed(test, index, "ops", [*node.ops[:at], other, *node.ops[at + 1 :]]))
    return found


def _changed(test: ast.expr, index: int, field: str, value: object) -> str:
    """The text of a condition, one field of one of its nodes being another."""
    made = copy.deepcopy(test)
    setattr(list(ast.walk(made))[index], field, value)
    return ast.unparse(made)


def found_again(mutant: Mutant, root: Path) -> Mutant:
    """The same change where its function has gone to another line, or to another module."""
    path, line, _ = mutant.condition.place
    wanted = mutant.condition.function, ast.unparse(mutant.condition.test)
    same = [each for each in conditions(root) if (each.function, ast.unparse(each.test)) == wanted]
    if not same:
        raise LookupError(f"{mutant.place}: {wanted[0]}() no longer asks for {wanted[1]}")
    nearest = min(same, key=lambda each: (each.path != path, abs(each.test.lineno - line), each.place))
    return mutant._replace(condition=nearest)


def changed(mutant: Mutant, source: bytes) -> bytes:
    """The file of a mutant with the change in it."""
    test = mutant.condition.test
    lines = source.splitlines(keepends=True)
    first = sum(map(len, lines[: test.lineno - 1])) + test.col_offset
    behind = sum(map(len, lines[: (test.end_lineno or 1) - 1])) + (test.end_col_offset or 0)
    return source[:first] + f"({mutant.after})".encode() + source[behind:]


def main() -> int:
    parser = argparse.ArgumentParser(description="Changes of conditions that the tests should notice.")
    parser.add_argument("--list", action="store_true", help="print the changes")
    parser.add_argument("--apply", nargs=2, metavar=("N", "DIR"), help="make the change N in a copy")
    options = parser.parse_args()
    mutants = drawn(ROOT)
    if options.list:
        print(*mutants, sep="\n")
    if options.apply:
        root = Path(options.apply[1]).resolve()
        mutant = found_again(mutants[int(options.apply[0]) - 1], root)
        path = root / mutant.condition.path
        path.write_bytes(changed(mutant, path.read_bytes()))
        print(mutant)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sixty small changes of conditions, drawn once and for all, and the tests that notice them.

python scripts/condition_mutants.py --list   number, place, before and after of each change

They are drawn from the conditions of five folders of the package, twelve of each. So two suites of tests can
be held against each other: what one notices, the other must notice too.
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


class Mutant(NamedTuple):
    """One condition of one file, and what stands there instead."""

    number: int
    path: str
    line: int
    last_line: int
    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.number:2}  {self.path}:{self.line}  {self.before}  →  {self.after}"


class Condition(NamedTuple):
    """Where something is decided: the expression, and the function around it."""

    path: str
    function: str
    test: ast.expr


def conditions(path: str, node: ast.AST, *, function: str = "") -> Iterator[Condition]:
    """Everything below a node that decides, without what is left out and what stands behind that."""
    for test in _tests(node):
        if not _is_left_out(test) and not isinstance(test, ast.Constant):
            yield Condition(path, function, test)
    if isinstance(node, ast.FunctionDef):
        function = node.name
    for child in ast.iter_child_nodes(node):
        behind = isinstance(node, ast.If) and _is_left_out(node.test) and child in node.body
        if not behind and not function.endswith("_on_windows"):
            yield from conditions(path, child, function=function)


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


def drawn(root: Path) -> list[Mutant]:
    """The mutants, the same each time for the same files."""
    lots = random.Random(SEED)
    found: list[Mutant] = []
    for folder in FOLDERS:
        here = [
            condition
            for path in sorted((root / "src/ralphloop" / folder).rglob("*.py"))
            for condition in conditions(str(path.relative_to(root)), ast.parse(path.read_text()))
        ]
        here.sort(key=_place)
        for path, function, test in sorted(lots.sample(here, PER_FOLDER), key=_place):
            before, after = ast.unparse(test), lots.choice(changes(test))
            span = test.lineno, test.end_lineno or test.lineno
            found.append(Mutant(len(found) + 1, path, *span, function, before, after))
    return found


def _place(condition: Condition) -> tuple[str, int, int]:
    return condition.path, condition.test.lineno, condition.test.col_offset


def main() -> int:
    parser = argparse.ArgumentParser(description="Changes of conditions, and the tests that notice them.")
    parser.add_argument("--list", action="store_true", help="print the changes")
    parser.parse_args()
    for mutant in drawn(ROOT):
        print(mutant)
    return 0


if __name__ == "__main__":
    sys.exit(main())

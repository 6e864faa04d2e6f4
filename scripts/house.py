"""Measures the plan of the house: lines, functions, who imports whom, and which names stand twice.

python scripts/house.py            the figures of this checkout
python scripts/house.py FOLDER     of another one's `src/ralphloop`
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple, TypeGuard

REPOSITORY = Path(__file__).resolve().parents[1]
LAB = ("lab", "testing")  # no part of the product
# who leads to the layouts, to the clients and to the parts of one
REGISTRIES = ("ralphloop.tasklists.registry", "ralphloop.agents.registry", "ralphloop.agents.claude")


class House(NamedTuple):
    """The modules of the package by dotted name, and for each the modules that import it."""

    paths: dict[str, Path]
    trees: dict[str, ast.Module]
    readers: dict[str, set[str]]

    @property
    def product(self) -> list[str]:
        return [name for name in self.paths if room(name) not in LAB]


def room(name: str) -> str:
    """The package below `ralphloop` that a module is in; empty for one that is in none."""
    parts = name.split(".")
    return parts[1] if len(parts) > 2 else ""


def look(package: Path) -> House:
    paths = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    readers: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for imported in _imports(tree, paths):
            readers[imported].add(name)
    return House(paths, trees, readers)


def _imports(tree: ast.Module, known: dict[str, Path]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in known else node.module for name in inside}
    return found & known.keys()


def with_one_reader(house: House) -> dict[str, str]:
    """The modules of the product that one module alone imports, one of their own package. What is loaded by
    its name in a table, or is a layout's or a client's part behind its registry, is read by whoever asks."""
    tables = {node.value for tree in house.trees.values() for node in ast.walk(tree) if _is_text(node)}
    found = {}
    for name in house.product:
        reader = next(iter(house.readers[name]), "")
        is_part = len(house.readers[name]) == 1 and room(name) and room(reader) == room(name)
        if is_part and name not in tables and reader not in REGISTRIES:
            found[name] = reader
    return found


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def namesakes(house: House) -> dict[str, list[str]]:
    """File names that stand in several packages of the product."""
    found = defaultdict(list)
    for name in house.product:
        if house.paths[name].name not in ("__init__.py", "__main__.py"):
            found[name.rsplit(".", 1)[1]].append(name)
    return {last: names for last, names in found.items() if len({room(name) for name in names}) > 1}


def lines(house: House, names: list[str]) -> int:
    return sum(len(house.paths[name].read_text(encoding="utf-8").splitlines()) for name in names)


def function_lengths(house: House) -> list[int]:
    """Of every function of the product, from `def` to its last line."""
    nodes = [node for name in house.product for node in ast.walk(house.trees[name])]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sorted((node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, kinds))


def main() -> int:
    package = Path(sys.argv[1]).resolve() / "src/ralphloop" if sys.argv[1:] else REPOSITORY / "src/ralphloop"
    house = look(package)
    lengths = function_lengths(house)
    rooms = Counter(room(name) or "(top)" for name in house.paths)
    for name, count in rooms.most_common():
        inside = [each for each in house.paths if (room(each) or "(top)") == name]
        print(f"{name:<12}{count:>4} modules {lines(house, inside):>7} lines")
    print(f"product     {len(house.product):>4} modules {lines(house, house.product):>7} lines")
    tenth = statistics.quantiles(lengths, n=10)[-1]
    print(f"functions: median {statistics.median(lengths):.0f}, p90 {tenth:.0f}, longest {lengths[-1]}")
    print(f"with one reader: {len(with_one_reader(house))}")
    for name, reader in with_one_reader(house).items():
        print(f"  {name.removeprefix('ralphloop.')} <- {reader.removeprefix('ralphloop.')}")
    print(f"namesakes: {len(namesakes(house))}")
    for names in namesakes(house).values():
        print("  " + ", ".join(name.removeprefix("ralphloop.") for name in names))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""No module outside `tasklists` names a layout, or does something else for one than for another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralphloop
from ralphloop.tasklists.registry import LAYOUTS

PACKAGE = Path(ralphloop.__file__).parent
EXCEPTIONS = {
    "cli.conformance": "its help shows how a hook of one layout is played",
    "cli.main": "the table of commands has those of the plugins",
    "cli.speckit": "the command of a plugin",
    "cli.specum": "the command of a plugin",
    "lab.catalogue.ground": "a scene is laid out in each layout that it is for",
    "lab.catalogue.item": "a scene says for which layouts it is",
    "lab.conformance.case": "a case can be for any layout, which is no layout",
    "lab.conformance.hook": "a hook has a command for each layout that it serves",
    "lab.conformance.scene": "a case can be for any layout, which is no layout",
    "loops.spec.catalogue": "the steps of the plugins that write specs",
}
# `features` is also a member of every feature_list.json: a layout only where it is used as one.
COMMON = {"features"}
RARE = set(LAYOUTS) - COMMON
NAMED = re.compile(rf"\b({'|'.join(RARE)})\b|\bralph-($|[%{{])")  # a plugin's name can be put together, too


def is_about_layout(node: ast.AST) -> bool:
    """Whether this is something called layout: a variable, an attribute, a member."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in ("layout", "layouts")
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.islower() and name.rpartition("_")[2] in ("layout", "layouts")


def is_constant(node: ast.AST) -> bool:
    """A text, a name in capitals, or some of them; the names of all layouts are no one's."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(is_constant, node.elts))
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        return name.isupper() and name != "LAYOUTS"
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def identifiers(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "name", "asname", "arg", "module"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield from value.split(".")


def names_one(identifier: str) -> bool:
    words = identifier.lower().split("_")
    return not RARE.isdisjoint(words) or (identifier.lower() != identifier and identifier.lower() in COMMON)


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a program, without those that only explain it."""
    explained = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
            yield node


def faults(source: str) -> list[str]:
    """Where a source names a layout, and how."""
    tree = ast.parse(source)
    found = [
        f"{node.lineno}: the text {node.value[:40]!r}" for node in texts(tree) if NAMED.search(node.value)
    ]
    for node in ast.walk(tree):
        found += [f"{_line(node)}: the name {name}" for name in identifiers(node) if names_one(name)]
        found += [f"{_line(node)}: {fault}" for fault in _uses(node)]
    return found


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _uses(node: ast.AST) -> Iterator[str]:
    """What is done with a layout's name that can only be meant for one of them."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(map(is_about_layout, sides)) and any(map(is_constant, sides)):
            yield "a layout is compared with a constant"
    if isinstance(node, ast.Match) and is_about_layout(node.subject):
        yield "a layout is compared with a constant"
    if isinstance(node, ast.Subscript) and is_about_layout(node.slice):
        yield "a table by layout"
    if isinstance(node, ast.keyword) and node.arg in ("layout", "layouts") and is_constant(node.value):
        yield "one layout is asked for"
    if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("tasklists"):
        yield from (f"the module {alias.name}" for alias in node.names if alias.name in COMMON)
    if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in COMMON:
        yield f"the module {node.module}"


def modules() -> dict[str, Path]:
    found = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")
    }
    return {name: path for name, path in found.items() if not name.startswith("tasklists")}


def test_no_module_names_a_layout_but_those_that_are_about_one():
    told = {
        name: found
        for name, path in modules().items()
        if name not in EXCEPTIONS and (found := faults(path.read_text(encoding="utf-8")))
    }
    assert told == {}


def test_every_exception_is_one():
    known = modules()
    assert [name for name in EXCEPTIONS if not faults(known[name].read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "from ralphloop.domain.model import FEATURES",
        "from ralphloop.tasklists import boxes, features",
        "from ralphloop.tasklists.features import TRAITS",
        "from ralphloop.tasklists import speckit",
        "import ralphloop.tasklists.specum",
        "kinds = (SPECUM_KIND,)",
        "model.SPECKIT",
        "def speckit_only(): ...",
        'NAME = "specum"',
        'plugin = "ralph-speckit"',
        'f"update the plugin ralph-{record.layout}"',
        '"ralph-%s" % record.layout',
        '"the plugin ralph-" + record.layout',
        'record.layout == "features"',
        'if "features" != layout: ...',
        'known["layout"] == "features"',
        'source.layout in ("features", name)',
        "source.layout == USUAL",
        "view.layout not in registry.SPECS",
        'match record.layout:\n    case "features": ...',
        "TABLE[loop.record.layout]",
        'Call(layouts=("features",))',
    ],
)
def test_a_layout_that_is_named_is_found(source):
    assert faults(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""The layouts features, specum and speckit."""',
        'def told():\n    """For a spec of specum."""',
        'shared.get("features")',
        'features = document["features"]',
        'key = "features" if is_list else ""',
        "record.layout in call.layouts",
        "record.layout == source.layout",
        'data["layout"] in LAYOUTS',
        "traits(record.layout).phases",
        'row = {"layout": record.layout}',
        'LOOPS = ("ralph-wiggum", "ralph-loop")',
        "call = Call(layouts=LAYOUTS)",
        "call = Call(layouts=each.layouts)",
    ],
)
def test_what_is_about_any_layout_is_left_alone(source):
    assert faults(source) == []

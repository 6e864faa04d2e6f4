"""One tree of exceptions: its drawing is true, and nothing of it grows elsewhere."""

from __future__ import annotations

import ast
import builtins
import pickle
from pathlib import Path

import pytest

import ralphloop
from ralphloop import error_tree, errors
from ralphloop.domain.limits import Limits
from ralphloop.store.shelf import Record

PACKAGE = Path(ralphloop.__file__).parent
TREE = {
    name: kind
    for name, kind in vars(error_tree).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
# What the hook may load: there a class is made only where it is raised or caught.
LAZY = ("agents", "config", "domain", "engine", "hook", "proof", "store", "tasklists")


def is_exception(base: ast.expr) -> bool:
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    known = TREE.get(name) or getattr(builtins, name, None)
    return name.endswith(("Error", "Exception")) or (
        isinstance(known, type) and issubclass(known, BaseException)
    )


def exceptions_in(text: str) -> list[str]:
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return [node.name for node in classes if any(map(is_exception, node.bases))]


def drawn() -> list[tuple[int, str]]:
    """Depth and name of each line of the drawing."""
    lines = [line for line in (error_tree.__doc__ or "").splitlines() if "Error" in line and "`" not in line]
    names = [line.split("── ")[-1].split()[0] for line in lines]
    return [(line.index(name) // 4, name) for line, name in zip(lines, names, strict=True)]


def test_no_exception_is_defined_outside_the_tree():
    found = {
        path.relative_to(PACKAGE).as_posix(): exceptions_in(path.read_text())
        for path in PACKAGE.rglob("*.py")
        if path.name != "error_tree.py"
    }
    assert {path: names for path, names in found.items() if names} == {}
    assert set(exceptions_in((PACKAGE / "error_tree.py").read_text())) == set(TREE)


@pytest.mark.parametrize(
    "text",
    ["class A(Exception): ...", "class A(errors.UserError): ...", "def f():\n    class A(B, KeyError): ...",
     "class A(http.client.HTTPException): ...", "class A(KeyboardInterrupt): ..."],
)  # fmt: skip
def test_every_way_to_define_one_is_seen(text):
    assert exceptions_in(text) == ["A"]


def test_a_class_that_is_no_exception_is_left_alone():
    assert exceptions_in("class A(str): ...\nclass B(NamedTuple): ...\nclass C: ...") == []


def test_the_drawing_shows_every_class_below_its_parent():
    parents: list[str] = []
    shown = {}
    for depth, name in drawn():
        del parents[depth:]
        shown[name] = parents[-1] if parents else "Exception"
        parents.append(name)
    assert shown == {name: kind.__bases__[0].__name__ for name, kind in TREE.items()}


def test_what_the_hook_may_load_takes_no_class_at_its_import():
    for folder in LAZY:
        for path in (PACKAGE / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                source = node.module if isinstance(node, ast.ImportFrom) else ""
                assert source not in ("ralphloop.errors", "ralphloop.error_tree"), path


def test_the_door_knows_all_of_them_and_nothing_else():
    for name, kind in TREE.items():
        assert getattr(errors, name) is kind, name
    with pytest.raises(AttributeError):
        _ = errors.NoSuchError


def test_errors_carry_what_they_are_about():
    record = Record("x-1", layout="features", name="x", root="/r", paths={}, limits=Limits(), armed_at="")
    assert errors.TakenError(record).record is record
    assert errors.RefusedError("a merge is under way", "End it.").cure == "End it."
    start = errors.StartError("folder", 2)
    assert (start.what, start.number) == ("folder", 2)
    assert errors.UserError("do this").message == "do this"


def test_errors_that_were_of_a_built_in_kind_still_are():
    assert isinstance(errors.ConfigError("x"), ValueError)
    assert isinstance(errors.ScriptError("x"), ValueError)
    changed = errors.ProtectedChangedError()
    assert isinstance(changed, OSError)
    assert str(changed) == "a protected file changed while it was looked at; try again"


def test_errors_pass_from_one_process_to_another():
    record = Record("x-1", layout="features", name="x", root="/r", paths={}, limits=Limits(), armed_at="")
    asked = errors.UnapprovedError("approve them", commands=("true",), already=1, askable=True)
    for error in (
        asked,
        errors.RefusedError("a merge is under way", "End it."),
        errors.StartError("folder", 2),
        errors.ProtectedChangedError(),
        errors.TakenError(record),
        errors.ConfigError("x"),
    ):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert (type(again), str(again), again.args[:1]) == (type(error), str(error), error.args[:1]), error
        assert again.__dict__.keys() == error.__dict__.keys(), error
    assert pickle.loads(pickle.dumps(asked)).commands == ("true",)  # noqa: S301
    locks = errors.NoLocksError(37, "no locks", "/x/lock")
    assert pickle.loads(pickle.dumps(locks)).filename == "/x/lock"  # noqa: S301

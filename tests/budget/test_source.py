"""The text of the hot modules: what they import at run time, and that Python 3.9 reads them."""

from __future__ import annotations

import ast
import builtins
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from budget.conftest import FILES, HOT, HOT_MODULES, PACKAGE, RARE, Stage

EVERYWHERE = {"__future__", "sys", "time", "fcntl"}

# module, what it imports, inside which function ("" is the module itself) -> why it may
EXCEPTIONS = {
    ("domain/jsontext.py", "_json", ""): "the scanner behind the json package",
    ("store/files.py", "_thread", ""): "a name per thread; built in, and loaded with the interpreter",
    ("domain/jsontext.py", "json.decoder", ""): "an interpreter without that scanner",
    ("domain/jsontext.py", "json.encoder", ""): "an interpreter without that scanner",
    ("domain/jsontext.py", "json", "_explain"): "only for text that does not parse",
    (
        "engine/api_error.py",
        "ralphloop.proof",
        "masked",
    ): "only for what an API error or a cap said",
    ("store/files.py", "msvcrt", "_lock_first_byte"): "Windows",
    ("store/repair.py", "shutil", "_move"): "only for a file on another file system",
    ("store/approvals.py", "ctypes", "_made_at"): "only for a list with checks",
    ("store/approvals.py", "pwd", "_own_home"): "only for a list with checks",
    ("hook/main.py", "traceback", "_report"): "only for a bug of ours",
    ("engine/api_error.py", "ralphloop.agents", "instant"): "only after a rate limit",
    ("engine/wake.py", "ralphloop.config", "_terms"): "only after a rate limit, in a terminal",
    ("engine/checks.py", "ralphloop.proof.prove", "prover"): "only when a check is due",
    ("engine/checks.py", "ralphloop.proof.baseline", "note_surroundings"): "only until an owner's first stop",
    ("engine/checks.py", "ralphloop.proof.checker", "prover"): "only when a check is due",
    (
        "engine/checks.py",
        "ralphloop.proof.protect",
        "pin_protected",
    ): "only where a list protects files",
    ("engine/checks.py", "ralphloop.proof.approval", "approve_typed"): "only when the person approves",
    ("engine/checks.py", "ralphloop.agents.presence", "has_person"): "only for a slash command of ours",
    ("engine/checks.py", "ralphloop.proof", "waiting"): "only for a line about checks that may wait",
    ("engine/checks.py", "ralphloop.proof.commit", "commit_closed"): "only when a task waits for its commit",
    ("engine/account.py", "ralphloop.agents.registry", "count"): "only where a budget was set",
    ("engine/account.py", "ralphloop.agents.registry", "look"): "only once such a loop was taken up",
    ("engine/account.py", "ralphloop.agents.registry", "fullness"): "only where a supervisor drives",
    (
        "engine/account.py",
        "ralphloop.agents.registry",
        "transcripts_of",
    ): "only once such a loop was taken up",
    ("engine/account.py", "ralphloop.agents.registry", "read"): "only once such a loop was taken up",
    ("engine/account.py", "ralphloop.agents.registry", "_sum"): "only once such a loop was taken up",
    ("hook/stop_files.py", "ralphloop.proof", "public"): "only where stops are recorded",
    ("hook/recording.py", "ralphloop.version", "_facts"): "only where stops are recorded",
    ("engine/announce.py", "subprocess", "_start_on_windows"): "only for a notice, on Windows",
    ("hook/launch.py", "gc", ""): "built in; switched off",
    ("hook/launch.py", "marshal", ""): "built in; reads the bundle",
    ("hook/finder.py", "marshal", ""): "built in; reads the bundle",
    ("hook/finder.py", "posix", ""): "built in; the system's stat without os",
    ("hook/finder.py", "nt", ""): "built in; the system's stat without os",
    ("system.py", "posix", ""): "built in; what os is made of",
    ("system.py", "os", ""): "where it is loaded already, and on Windows",
    ("posix_path.py", "posix", ""): "built in; what os is made of",
    ("posix_path.py", "posix", "expanduser"): "no HOME",
    ("posix_path.py", "pwd", "expanduser"): "no HOME",
    ("hook/bundle.py", "os", ""): "runs after the answer, once",
    ("hook/bundle.py", "marshal", ""): "runs after the answer, once",
    ("hook/bundle.py", "ast", ""): "runs after the answer, once",
}

SOURCES = sorted(path for folder in HOT for path in (PACKAGE / folder).rglob("*.py"))
SOURCES += [PACKAGE / f"{name}.py" for name in HOT_MODULES]
# The hook imports these on rare branches, under whatever Python the system has.
ON_RARE_BRANCHES = [path for folder in RARE for path in (PACKAGE / folder).rglob("*.py")]


def shown(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def run_time(node: ast.AST, function: str = ""):
    """Each node that runs, with the function it is in; what only type checkers see is left out."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            for other in child.orelse:
                yield other, function
                yield from run_time(other, function)
            continue
        yield child, function
        inner = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        yield from run_time(child, inner)


def imports(path: Path) -> set[tuple[str, str, str]]:
    found = set()
    for node, function in run_time(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {(shown(path), alias.name, function) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{shown(path)} imports by dots"
            ours = [f"ralphloop.{alias.name}" for alias in node.names if node.module == "ralphloop"]
            found |= {(shown(path), name, function) for name in ours or [node.module]}
    return found


def is_allowed(name: str) -> bool:
    top, _, rest = name.partition(".")
    return name in EVERYWHERE or (top == "ralphloop" and rest.split(".")[0] in (*HOT, *HOT_MODULES))


def test_hot_modules_import_only_what_is_allowed():
    found = set().union(*(imports(path) for path in SOURCES))
    assert {row for row in found if not is_allowed(row[1])} == set(EXCEPTIONS)


def test_nothing_hot_reads_annotations_which_the_bundle_does_not_have():
    """But for an assertion, which it does not have either."""
    found = [shown(path) for path in SOURCES if "__annotations__" in path.read_text()]
    assert found == ["domain/model.py"]
    assert (PACKAGE / "domain/model.py").read_text().count("__annotations__") == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import re", {("re", "")}),
        ("def f():\n    import re", {("re", "f")}),
        ("if TYPE_CHECKING:\n    import re\nelse:\n    import json", {("json", "")}),
        ("try:\n    from a.b import c\nexcept ImportError:\n    import d", {("a.b", ""), ("d", "")}),
        ("class A:\n    import re", {("re", "")}),
    ],
)
def test_every_way_to_import_is_seen(tmp_path, monkeypatch, text, found):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    (tmp_path / "m.py").write_text(text)
    assert {row[1:] for row in imports(tmp_path / "m.py")} == found


def test_python_3_9_reads_it():
    assert len(SOURCES + ON_RARE_BRANCHES) > 100
    for path in SOURCES + ON_RARE_BRANCHES:
        ast.parse(path.read_text(), filename=shown(path), feature_version=(3, 9))


def annotations(tree: ast.AST):
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                yield getattr(node, name)


def unions_at_run_time(text: str) -> list[int]:
    """The lines where `X | Y` of types would be evaluated, which Python 3.9 cannot do."""
    tree = ast.parse(text)
    postponed = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    quiet = {id(part) for note in annotations(tree) for part in ast.walk(note)} if postponed else set()
    lines = []
    for node, _ in run_time(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and id(node) not in quiet:
            lines += [node.lineno for side in (node.left, node.right) if is_type(side)]
    return lines


def is_type(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    if isinstance(node, ast.Name):
        return isinstance(getattr(builtins, node.id, None), type)
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str))


def test_no_union_of_types_is_evaluated():
    found = {shown(path): unions_at_run_time(path.read_text()) for path in SOURCES + ON_RARE_BRANCHES}
    assert {name: lines for name, lines in found.items() if lines} == {}


UNIONS = [
    ("def f(a: int | None): ...", [1, 1]),
    ("from __future__ import annotations\ndef f(a: int | None): ...", []),
    ("from __future__ import annotations\nA = int | None", [2, 2]),
    ("from __future__ import annotations\nisinstance(1, int | str)", [2, 2]),
    ("from __future__ import annotations\nA = dict[str, int] | X", [2]),
    ("import os\nflags = os.A | os.B | 1", []),
    ("if TYPE_CHECKING:\n    A = int | None", []),
]


def test_a_union_that_runs_is_seen():
    for text, lines in UNIONS:
        assert unions_at_run_time(text) == lines, text


def python_3_9() -> str:
    """A Python 3.9 that really runs: on PATH, or installed beside this one."""
    beside = sorted(Path(sys.base_prefix).parent.glob("*3.9*/bin/python3.9"))
    for candidate in [shutil.which("python3.9"), *map(str, beside)]:
        if (
            candidate
            and not subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode
        ):
            return candidate
    pytest.skip("no python3.9 runs on this machine")


@pytest.mark.parametrize("layout", FILES)
def test_the_launcher_serves_a_loop_under_python_3_9(tmp_path, layout):
    python, stage = python_3_9(), Stage(tmp_path, layout)
    for _ in range(2):  # module by module, then out of the bundle
        done = stage.run(python=python)
        assert json.loads(done.stdout)["decision"] == "block"
    limited = {
        "hook_event_name": "StopFailure",
        "error": "rate_limit",
        "last_assistant_message": "resets 7pm (UTC)",
    }
    stage.run(python=python, **limited)
    line = stage.run(python=python, registration="statusline").stdout
    assert line.startswith("ralphloop demo · paused (rate_limited): goes on at your next message after ")
    state = stage.loop.load()
    assert (state.state, state.outcome) == ("paused", "rate_limited")
    assert state.resume_at
    assert not (Path(stage.env["XDG_STATE_HOME"]) / "ralphloop" / "errors.log").exists()

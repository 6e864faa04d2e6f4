"""Section 5, protected files: what is touched is put back before a claim is judged, and the claim refused."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OWNER, LoopProject, feature
from hook.proven import adding_to, cli, commands_run, events, is_closed, known, lines_of, listed

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}
FILES = {
    "tests/a.py": "assert True\n",
    "tests/deep/b.py": "b\n",
    "tests/run.sh": "exit 0\n",
    "src/x.py": "x\n",
    "settings.json": "{}\n",
}


def guarded(
    project: ProjectFactory, *, verify: str = "true", protect: Any = ("tests/**",), **fields: Any
) -> LoopProject:
    """A loop that a person started over a list that protects its tests."""
    features = (feature("F1", verify=verify, **fields), feature("F2"))
    found = listed(
        project, *features, protect=protect if isinstance(protect, str) else list(protect), armed=False
    )
    found.write(FILES)
    (found.root / "tests/run.sh").chmod(0o755)
    said = cli(found, "start", "demo", "--yes", "--session", OWNER)
    assert said.returncode == 0, said.stderr
    return found


def link_elsewhere(path: Path) -> None:
    other = path.parents[1] / "other.py"
    other.write_text("assert True\n")
    path.unlink()
    path.symlink_to(other)


def dangle(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def add_beside(path: Path) -> None:
    (path.parent / "conftest.py").write_text("import os; os._exit(0)\n")


TOUCHES: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "changed": (lambda path: path.write_text("assert 1 or 0\n"), "tests/a.py (changed)", 1),
    "emptied": (lambda path: path.write_text(""), "tests/a.py (changed)", 1),
    "deleted": (lambda path: path.unlink(), "tests/a.py (removed)", 0),
    "a link to the same text": (link_elsewhere, "tests/a.py (changed)", 1),
    "a link to nowhere": (dangle, "tests/a.py (changed)", 1),
    "one more beside it": (add_beside, "tests/conftest.py (added)", 1),
}


@pytest.mark.parametrize("kind", TOUCHES)
def test_a_claim_that_touched_a_protected_file_is_refused(project: ProjectFactory, kind: str) -> None:
    ran = project("features").base / "ran"
    found = guarded(project, verify=adding_to(ran))
    touch, named, kept = TOUCHES[kind]
    touch(found.root / "tests/a.py")
    found.close(1)
    answer = found.turn()
    assert answer.blocks
    assert "The claim of task F1 is refused" in answer.reason
    assert f"protected files were touched: {named}" in answer.reason
    assert lines_of(ran) == []
    assert not is_closed(found, 1)
    assert found.loop()["attempts"] == {"F1": 1}
    assert not (found.root / "tests/a.py").is_symlink()
    assert {path: (found.root / path).read_text() for path in FILES} == FILES
    assert not (found.root / "tests/conftest.py").exists()
    assert len(found.rejected()) == kept
    assert [row["files"] for row in events(found, "protected")] == [[named]]
    found.close(1)
    found.turn()
    assert (known(found, "F1")["state"], lines_of(ran)) == ("proven", ["ran"])


def test_a_folder_that_is_gone_is_back_with_all_its_files_and_modes(project: ProjectFactory) -> None:
    found = guarded(project)
    for path in ("tests/a.py", "tests/deep/b.py", "tests/run.sh"):
        (found.root / path).unlink()
    (found.root / "tests/deep").rmdir()
    (found.root / "tests").rmdir()
    found.close(1)
    answer = found.turn()
    for path in ("tests/a.py", "tests/deep/b.py", "tests/run.sh"):
        assert f"{path} (removed)" in answer.reason
        assert (found.root / path).read_text() == FILES[path]
    assert stat.S_IMODE((found.root / "tests/run.sh").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("echo pass > tests/a.py", "tests/a.py (changed)"),
        ("rm tests/deep/b.py", "tests/deep/b.py (removed)"),
        ("touch tests/new.py", "tests/new.py (added)"),
        ("rm tests/a.py; ln -s ../src/x.py tests/a.py", "tests/a.py (changed)"),
    ],
)
def test_a_file_that_the_check_itself_touches_refuses_the_claim_too(
    project: ProjectFactory, command: str, named: str
) -> None:
    found = guarded(project, verify=command)
    found.close(1)
    answer = found.turn()
    assert f"protected files were touched: {named}" in answer.reason
    assert not is_closed(found, 1)
    assert commands_run(found) == [command]
    assert {path: (found.root / path).read_text() for path in FILES} == FILES
    assert not (found.root / "tests/new.py").exists()


def test_what_is_not_protected_may_change(project: ProjectFactory) -> None:
    found = guarded(project, verify="grep -q new src/x.py")
    found.write({"src/x.py": "new\n", "src/y.py": "y\n", "tests/__pycache__/a.pyc": "z", "NOTES.md": ""})
    found.close(1)
    found.turn()
    assert known(found, "F1")["state"] == "proven"
    assert (found.root / "tests/__pycache__/a.pyc").exists()
    assert (found.root / "src/x.py").read_text() == "new\n"


PATTERNS = [
    ("tests", "tests/deep/b.py", True),
    ("tests/", "tests/a.py", True),
    ("./tests/a.py", "tests/a.py", True),
    ("tests/*.py", "tests/a.py", True),
    ("tests/*.py", "tests/deep/b.py", False),
    ("tests/**/*.py", "tests/deep/b.py", True),
    ("**/*.py", "src/x.py", True),
    ("src/*", "tests/a.py", False),
    ("", "tests/a.py", False),
]


def test_a_pattern_names_files_below_the_project(project: ProjectFactory) -> None:
    for protect, path, refused in PATTERNS:
        found = guarded(project, protect=protect)
        found.write({path: "changed\n"})
        found.close(1)
        assert ("protected files were touched" in found.turn().reason) is refused, (protect, path)
        assert (found.root / path).read_text() == (FILES[path] if refused else "changed\n"), (protect, path)


def test_done_refuses_a_claim_that_touched_a_protected_file(project: ProjectFactory) -> None:
    found = guarded(project)
    found.write({"tests/a.py": "easier\n"})
    said = cli(found, "done", "F1", env=AGENT)
    assert said.returncode == 1
    assert "F1 is not done: protected files were touched: tests/a.py (changed)" in said.stdout
    assert (found.root / "tests/a.py").read_text() == FILES["tests/a.py"]
    assert not is_closed(found, 1)


def test_the_final_run_sees_the_files_as_they_were_pinned(project: ProjectFactory) -> None:
    """The person's word closes the last task, so that no claim is left to be refused."""
    found = guarded(project, verify="grep -q True tests/a.py")
    found.close(1)
    found.turn()
    assert cli(found, "accept", "F2").returncode == 0
    found.write({"tests/a.py": "easier\n"})
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"
    assert (found.root / "tests/a.py").read_text() == FILES["tests/a.py"]


def test_the_person_may_change_a_protected_file_and_approve_it(project: ProjectFactory) -> None:
    found = guarded(project, verify="grep -q better tests/a.py")
    found.write({"tests/a.py": "better\n"})
    assert "tests/a.py (changed)" in cli(found, "approve", "--show").stdout
    assert cli(found, "approve", "--yes").returncode == 0
    found.close(1)
    found.turn()
    assert known(found, "F1")["state"] == "proven"
    assert (found.root / "tests/a.py").read_text() == "better\n"


def test_start_says_how_many_files_are_kept(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", verify="true"), protect="tests", armed=False)
    found.write(FILES)
    assert "3 protected files are kept as they are now." in cli(found, "start", "demo", "--yes").stdout


@pytest.mark.parametrize("pattern", ["../outside/*", "/etc/hostname", "test/**"])
def test_a_pattern_that_names_no_file_of_the_project_is_told_at_the_start(
    project: ProjectFactory, pattern: str
) -> None:
    found = listed(project, feature("F1", verify="true"), protect=[pattern], armed=False)
    found.write(FILES)
    said = cli(found, "start", "demo", "--yes")
    assert re.search("`protect` names no file.*" + re.escape(pattern), said.stdout + said.stderr)


def test_nothing_outside_the_project_is_touched(project: ProjectFactory) -> None:
    found = guarded(project, protect="tests/a.py")
    outside = found.base / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("theirs")
    os.rename(found.root / "tests", found.root / "old")
    (found.root / "tests").symlink_to(outside)
    found.close(1)
    answer = found.turn()
    assert "tests/a.py (removed)" in answer.reason
    assert sorted(path.name for path in outside.iterdir()) == ["theirs"]
    assert not is_closed(found, 1)


@pytest.mark.parametrize("below", ["", "kept.txt"])
def test_a_folder_in_a_protected_files_place_refuses_the_claim(project: ProjectFactory, below: str) -> None:
    found = guarded(project)
    (found.root / "tests/a.py").unlink()
    (found.root / "tests/a.py").mkdir()
    if below:
        found.write({f"tests/a.py/{below}": ""})
    found.close(1)
    answer = found.turn()
    assert answer.blocks, answer.message
    assert "protected files were touched" in answer.reason
    assert not is_closed(found, 1)


def test_a_file_in_a_protected_folders_place_refuses_the_claim(project: ProjectFactory) -> None:
    found = guarded(project)
    os.rename(found.root / "tests", found.root / "mine")
    found.write({"tests": ""})
    found.close(1)
    answer = found.turn()
    assert answer.blocks, answer.message
    assert "protected files were touched" in answer.reason


def test_an_added_protected_file_of_any_size_refuses_the_claim(project: ProjectFactory) -> None:
    found = guarded(project)
    with open(found.root / "tests/large", "wb") as file:
        file.truncate(257 * 1024 * 1024)
    found.close(1)
    answer = found.turn()
    assert answer.blocks, answer.message
    assert "tests/large (added)" in answer.reason


def test_a_claim_without_a_check_that_touched_a_protected_file_is_refused(project: ProjectFactory) -> None:
    found = guarded(project)
    found.write({"tests/a.py": "easier\n"})
    found.close(2)
    answer = found.turn()
    assert "protected files were touched: tests/a.py (changed)" in answer.reason
    assert not is_closed(found, 2)


@pytest.mark.parametrize("pattern", ["**/*.json", ".", "**", ".ralph/**"])
def test_the_loops_own_files_are_not_protected_from_a_claim(project: ProjectFactory, pattern: str) -> None:
    found = guarded(project, protect=(pattern, "settings.json"))
    found.close(1)
    found.turn()
    assert known(found, "F1").get("state") == "proven"
    found.write({"settings.json": "[]"})
    found.close(2)
    found.turn()
    assert (found.root / "settings.json").read_text() == "{}\n"


def test_a_protected_folder_that_became_a_link_refuses_the_claim(project: ProjectFactory) -> None:
    """The files below it read the same through the link; what lies beside them there is new."""
    found = guarded(project)
    os.rename(found.root / "tests", found.root / "mine")
    found.write({"mine/conftest.py": "import os; os._exit(0)\n"})
    (found.root / "tests").symlink_to("mine")
    found.close(1)
    answer = found.turn()
    assert "protected files were touched" in answer.reason
    assert not is_closed(found, 1)


def test_a_link_to_a_folder_added_to_a_protected_one_refuses_the_claim(project: ProjectFactory) -> None:
    found = guarded(project)
    found.write({"mine/test_easy.py": "def test(): pass\n"})
    (found.root / "tests/more").symlink_to("../mine")
    found.close(1)
    assert "tests/more (added)" in found.turn().reason

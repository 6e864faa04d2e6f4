"""Whatever we write for ourselves is the person's alone, whatever their umask is."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cli_project import PACKAGE, Project
from ralphloop.hook import bundle
from ralphloop.store import files
from security.life import kinds, live, written

pytestmark = pytest.mark.slow

# What a life must have left, or it was none.
LEFT = {
    "loop.json", "ledger.json", "journal.jsonl", "hook.log", "evidence", "rejected", "run.log",
    "approved.json", "evidence.jsonl", "cursor.json", "lock", "supervisor.json", "ended", "installs",
    "typed", "python",
}  # fmt: skip
# What we write that is not ours alone, and why; it has the mode that the person's umask gives.
SHARED = {
    ".ralph/loops/*/*": "the task list, for people and other tools to read",
    ".claude/settings*.json": "the client's own settings",
    "report.html": "a file of the person's choice",
}
# A file of the project that was moved aside keeps its mode: the folder around it is ours, and closed.
MOVED = "rejected"
# Run by another user: what of these paths can be opened, listed or written to.
INTRUDER = """
import json, os, sys
user = int(sys.argv[1])
os.setgroups([]); os.setgid(user); os.setuid(user)
got = []
for path in json.load(sys.stdin):
    try:
        os.listdir(path) if os.path.isdir(path) else os.close(os.open(path, os.O_RDONLY))
        got.append(path)
    except OSError:
        pass
    try:
        spare = os.path.join(os.path.dirname(path), "planted")
        os.close(os.open(spare, os.O_WRONLY | os.O_CREAT, 0o666))
        got.append(spare)
    except OSError:
        pass
print(json.dumps(sorted(set(got))))
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@contextlib.contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture(scope="module")
def lived() -> Iterator[Project]:
    """A life with the usual umask, where every user of the machine can enter, as a home often is."""
    with umask(0o022):
        folder = Path(tempfile.mkdtemp(prefix="ralphloop-public-"))
        folder.chmod(0o755)
        project = Project(folder)
        (project.home / ".local/state").mkdir(parents=True)
        live(project)
        project.run("report", "shop", "--format", "html", "--output", "report.html")
    yield project
    shutil.rmtree(folder)


def open_to_others(project: Project) -> dict[str, str]:
    ours = [path for path in written(project) if path.parent.name != MOVED]
    return {str(path): oct(mode(path)) for path in ours if mode(path) & 0o077}


def test_everything_that_a_loop_leaves_is_the_persons_alone(lived: Project) -> None:
    assert kinds(lived) >= LEFT
    assert open_to_others(lived) == {}


def test_it_is_so_without_an_umask_too(tmp_path: Path) -> None:
    with umask(0o000):
        project = Project(tmp_path)
        live(project)
    assert kinds(project) >= LEFT
    assert open_to_others(project) == {}
    above = [project.home / ".local", project.home / ".local/state"]
    assert [mode(folder) for folder in above] == [0o700, 0o700]


@pytest.mark.parametrize("pattern", SHARED)
def test_what_is_not_ours_alone_has_the_mode_that_the_umask_gives(lived: Project, pattern: str) -> None:
    found = {str(path): mode(path) for path in lived.root.glob(pattern) if path.is_file()}
    assert found
    assert set(found.values()) == {0o644}, SHARED[pattern]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_user_reads_and_plants_nothing(lived: Project) -> None:
    ours, theirs = [str(path) for path in written(lived)], str(lived.root / "check.sh")
    nobody = pwd.getpwnam("nobody").pw_uid
    done = subprocess.run(
        [sys.executable, "-I", "-c", INTRUDER, str(nobody)],
        input=json.dumps([*ours, theirs]), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout) == [theirs], "the project itself can be read, and nothing of ours"


@pytest.mark.parametrize("kind", ["file", "hard link", "link"])
def test_a_file_planted_under_the_name_of_a_spare_is_not_written_to(tmp_path: Path, kind: str) -> None:
    victim, place = tmp_path / "victim", tmp_path / "loop.json"
    victim.write_text("mine", encoding="utf-8")
    spare = tmp_path / f".loop.json.{os.getpid()}.tmp"
    if kind == "file":
        spare.write_text("theirs", encoding="utf-8")
        spare.chmod(0o666)
    elif kind == "link":
        spare.symlink_to(victim)
    else:
        spare.hardlink_to(victim)
    with spare.open(encoding="utf-8") as planted:
        files.write_text(str(place), "new")
        assert planted.read() == ("theirs" if kind == "file" else "mine")
    assert (place.read_text(encoding="utf-8"), mode(place)) == ("new", 0o600)
    assert victim.read_text(encoding="utf-8") == "mine"
    assert not os.path.lexists(spare)


def test_nobody_else_can_put_byte_code_where_the_hook_looks_for_it(tmp_path: Path) -> None:
    package = tmp_path / "ralphloop"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    with umask(0o000):
        bundle.write(str(package))
    (made,) = (package / "__pycache__").glob("*.bundle")
    assert (mode(made), mode(made.parent) & 0o022) == (0o600, 0)

"""The command `doctor`: the interpreter, the places of files, and what loops left behind."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.cli_project import SESSION, Project
from e2e.doctoring import about, client, examine, only, register

REAL = os.path.realpath(sys.executable)
STATE = ".local/state/ralphloop"
SHIM = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
LONG_AGO = time.time() - 3 * 3600


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    client(found)
    register(found)
    return found


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def record(project: Project, path: object) -> Path:
    file = project.home / STATE / "python"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{path}\n", encoding="utf-8")
    return file


def old(path: Path) -> Path:
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def test_the_recorded_interpreter_is_the_one_that_counts(project: Project) -> None:
    record(project, REAL)
    project.program("python3", "#!/bin/sh\nexit 1\n")
    level, told = only(project, "python")
    assert (level, f"the hook starts {REAL}, Python 3." in told) == ("fine", True)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_shim_is_told_and_replaced_by_the_real_one(project: Project, is_recorded: bool) -> None:
    shim = project.program("python3", SHIM)
    file = record(project, shim if is_recorded else "/nowhere/python3")
    level, told = only(project, "python")
    assert (level, f"{shim}, a shim that looks for" in told) == ("warning", True)
    assert ("/nowhere/python3 is gone" in told) is not is_recorded
    examine(project, "--fix", "--yes")
    assert file.read_text(encoding="utf-8") == REAL + "\n"
    assert only(project, "python")[0] == "fine"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho 3 8 /usr/bin/python3.8\n", "Python 3.8: too old"),
        (
            "#!/bin/sh\necho no such version installed; exit 126\n",
            "exit code 126 (no such version installed)",
        ),
        ("not a program\n", "does not start"),
    ],
    ids=["too old", "fails", "does not start"],
)
def test_a_recorded_interpreter_that_cannot_run_the_hook_is_fatal(
    project: Project, script: str, said: str
) -> None:
    record(project, project.program("old-python", script))
    code, found = examine(project)
    ((level, told),) = about(found, "python")
    assert (code, level, said in told) == (1, "fatal", True), told
    assert examine(project, "--fix", "--yes")[0] == 0


def test_without_any_python_the_hook_cannot_start(project: Project) -> None:
    level, told = only(project, "python", env={"PATH": str(project.bin)})
    assert (level, "there is no python3 on PATH" in told) == ("fatal", True)


def test_a_state_directory_that_cannot_be_made_is_fatal(project: Project) -> None:
    blocked = project.folder / "file"
    blocked.write_text("", encoding="utf-8")
    level, told = only(project, "state", env={"XDG_STATE_HOME": str(blocked)})
    assert (level, f"{blocked} is in the way" in told) == ("fatal", True)


def test_a_state_directory_inside_the_project_is_told(project: Project) -> None:
    level, told = only(project, "state", env={"XDG_STATE_HOME": str(project.root / "state")})
    assert (level, "so approvals in it do not count" in told) == ("warning", True)


def test_a_git_above_project_and_state_directory_is_found_before_the_night(project: Project) -> None:
    git = project.folder / ".git"
    git.mkdir()
    outside = {"XDG_STATE_HOME": str(project.folder / "state")}
    level, told = only(project, "state", env=outside)
    assert (level, f"the repository of {git}," in told, "or take that .git away" in told) == (
        "warning",
        True,
        True,
    )
    folder = project.new("shop")
    (folder / "feature_list.json").write_text('[{"description": "a", "verify": "true"}]', encoding="utf-8")
    assert only(project, "state", env=outside)[0] == "fatal"
    git.rmdir()
    assert only(project, "state", env=outside)[0] == "fine"


def test_a_list_that_the_agent_cannot_edit_is_told(project: Project) -> None:
    file = project.write(".claude/data/ralph-loops/current/feature_list.json", '[{"description": "a"}]')
    project.new("shop")
    level, told = only(project, "list")
    assert (level, str(file) in told, "`ralphloop done ID`" in told) == ("warning", True, True)


@pytest.mark.slow
def test_a_lock_that_is_held_names_its_holder(project: Project) -> None:
    project.begin()
    assert about(examine(project)[1], "lock") == []
    (lock,) = (project.home / STATE).rglob("kept/*/lock")
    with open(lock, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, found = examine(project)
    ((level, told),) = about(found, "lock")
    assert (code, level, "the lock of the loop shop" in told) == (1, "fatal", True)
    if sys.platform == "linux":
        assert f"process {os.getpid()} has held" in told


def age(project: Project, hours: float, **fields: object) -> None:
    for file in [*project.root.rglob("loop.json"), *project.home.rglob("loop.json")]:
        state = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(
            json.dumps({**state, "seen_at": time.time() - hours * 3600, **fields}), encoding="utf-8"
        )


@pytest.mark.parametrize(
    ("hours", "transcript", "said"),
    [
        (30.0, "there", "had no stop for 30 h"),
        (2.0, "gone", "the transcript of the session that owns the loop shop is gone"),
        (2.0, "there", ""),
        (0.1, "gone", ""),
    ],
)
def test_a_loop_whose_session_is_gone_is_told(
    project: Project, hours: float, transcript: str, said: str
) -> None:
    project.begin()
    (project.home / "there").write_text("", encoding="utf-8")
    age(project, hours, transcripts=[str(project.home / transcript)])
    found = about(examine(project)[1], "orphan")
    assert [(level, said in told) for level, told in found] == ([("warning", True)] if said else [])
    assert all("`ralphloop resume shop --adopt`" in told for _, told in found)


def test_a_paused_loop_is_no_orphan(project: Project) -> None:
    project.begin()
    project.stop(SESSION)
    project.fine("pause")
    age(project, 30.0)
    assert about(examine(project)[1], "orphan") == []


def test_what_a_crash_left_behind_is_named_and_removed(project: Project, gone: int) -> None:
    folder = project.begin()
    spec = project.spec()
    draft = project.root / f".ralph/.new-cart-{gone}"
    draft.mkdir()
    (draft / "feature_list.json").write_text("[]", encoding="utf-8")
    left = [
        folder / f".feature_list.json.{gone}.tmp",
        spec / f".tasks.md.{gone}.tmp",
        project.root / f".claude/.settings.local.json.{gone}.tmp",
        next((project.home / STATE).rglob("kept/*")) / f".loop.json.{gone}.tmp",
    ]
    for file in left:
        file.write_text("x", encoding="utf-8")
    left = [old(path) for path in (*left, draft)]
    ((level, _),) = about(examine(project)[1], "left-over")
    assert level == "warning"
    assert about(examine(project, "--fix", "--yes")[1], "left-over") == []
    assert [path for path in left if path.exists()] == []


@pytest.mark.parametrize("folder", [".ralph", ".ralph/loops", "specs", "specs/_epics", ".specify/specs"])
def test_a_folder_that_was_never_finished_is_removed(project: Project, gone: int, folder: str) -> None:
    draft = project.root / folder / f".new-cart-{gone}"
    for name in (".progress.md", f".feature_list.json.{gone}.tmp"):
        project.write(str(draft / name), "x")
    old(draft)
    assert about(examine(project, "--fix", "--yes")[1], "left-over") == []
    assert not draft.exists()


def test_the_persons_own_files_stay_whatever_they_are_called(project: Project, gone: int) -> None:
    folder = project.begin()
    (run,) = (project.root / ".ralph/run").glob("features-*")
    kept = [
        project.write(str(folder / f"assets/.new-design-{gone}/feature_list.json"), "deep"),
        project.write(str(folder / f".new-design-{gone}/feature_list.json"), "in a loop"),
        project.write(str(folder / f".notes.{gone}.tmp"), "mine"),
        project.write(f".ralph/.new-design-{gone}/logo.svg", "not our file"),
        project.write(f".ralph/loops/.new-design-{gone}/feature_list.json/x", "a folder in its place"),
        project.write(f"specs/.new-design-{gone}/logo.svg", "not our file"),
        project.write(f".ralph/.x.{gone}.tmp", "no place of ours"),
        project.write(str(run / f"rejected/.a.{gone}.tmp"), "a version that was kept"),
        project.write(str(run / f".a.{gone}.tmp/x"), "a folder"),
    ]
    for file in kept:
        old(file)
        old(file.parent)
    assert about(examine(project, "--fix", "--yes")[1], "left-over") == []
    assert [path for path in kept if not path.exists()] == []


def test_a_link_in_the_place_of_our_folder_is_not_followed(project: Project, gone: int) -> None:
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (project.root / ".ralph").symlink_to(elsewhere)
    file = old(project.write(str(elsewhere / f".x.{gone}.tmp"), "not of this project"))
    assert about(examine(project, "--fix", "--yes")[1], "left-over") == []
    assert file.exists()


def test_what_may_still_be_in_use_or_is_not_ours_stays(project: Project, gone: int) -> None:
    folder = project.begin()
    spec = project.spec()
    kept = [
        old(project.write(str(folder / f".feature_list.json.{os.getpid()}.tmp"), "in use")),
        project.write(str(folder / f".progress.txt.{gone}.tmp"), "young"),
        old(project.write(str(spec / f".theirs.md.{gone}.tmp"), "another program's")),
        old(project.write(str(folder / "notes.tmp"), "the person's")),
    ]
    assert about(examine(project, "--fix", "--yes")[1], "left-over") == []
    assert [path for path in kept if not path.exists()] == []


# A user namespace in which nobody may have another one.
NO_NAMESPACES = 'for kind in user mnt; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done; exec "$@"'


def test_a_machine_on_which_nothing_can_be_tried_apart_is_told_and_no_error(project: Project) -> None:
    before = ["unshare", "--user", "--map-root-user", "--keep-caps", "sh", "-ec", NO_NAMESPACES, "sh"]
    if subprocess.run([*before, "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("no user namespace can be had here to switch them off in")
    words = [*before, *project.argv("doctor", "--no-live", "--json")]
    done = subprocess.run(words, env=project.env(), cwd=project.root, capture_output=True, timeout=60)
    assert done.returncode == 0, done
    ((level, told),) = about(json.loads(done.stdout), "stage")
    assert level == "warning"
    assert "tried apart from the work on this machine: namespaces are switched off. Loops run all" in told

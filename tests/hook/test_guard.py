"""The shell guard: no Python without a loop, and Python wherever there might be one."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OTHER, OWN_FILES, POINTERS, SEQUENTIAL, SETTINGS, LoopProject, loop_files
from hook.lines import tool_line
from ralphloop.store import ended

SHELLS = [
    shell
    for shell in (["dash"], ["bash"], ["busybox", "sh"], ["ksh"], ["zsh", "--emulate", "sh"], ["yash"])
    if shutil.which(shell[0])
]


class Watched:
    """A project whose `python3` leaves a mark and does nothing else."""

    def __init__(self, project: LoopProject) -> None:
        self.project = project
        self.bin = project.base / "bin"
        self.mark = project.base / "started"
        self.bin.mkdir()
        self.interpreter(self.bin / "python3", "path")
        (self.bin / "dd").symlink_to(str(shutil.which("dd")))
        project.extra_env["PATH"] = str(self.bin)

    def interpreter(self, path: Path, name: str) -> None:
        path.write_text(f"#!/bin/sh\necho {name} \"$@\" >> '{self.mark}'\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def starts(self, *, cwd: Path | None = None, event: str = "Stop") -> str:
        """What the interpreter was called with, or nothing if no Python was started; every shell agrees."""
        said = {shell[0]: self.starts_in(shell, cwd=cwd, event=event) for shell in SHELLS}
        assert len(set(said.values())) == 1, said
        return said.popitem()[1]

    def starts_in(self, words: list[str], *, cwd: Path | None, event: str) -> str:
        self.mark.unlink(missing_ok=True)
        argv = [str(shutil.which(words[0])), *words[1:], "-c", self.project.command(event)]
        answer = self.project.finish(self.project.start(b"{}", argv=argv, cwd=cwd))
        assert answer.silent
        return self.mark.read_text() if self.mark.exists() else ""


@pytest.fixture
def watched(any_project: LoopProject) -> Watched:
    return Watched(any_project)


@pytest.fixture
def listed(unarmed: LoopProject) -> Watched:
    return Watched(unarmed)


@pytest.fixture
def bare(project: ProjectFactory) -> Watched:
    return Watched(project("specum", {"README.md": "x"}))


def test_without_a_loop_no_python_is_started(watched: Watched) -> None:
    found = watched.project
    found.own.unlink()
    found.write({".claude/ralph-specum.local.md": "---\nenabled: true\n---\n"})
    assert not watched.starts()
    shutil.rmtree(found.root)
    found.root.mkdir()
    assert not watched.starts()


def test_no_process_at_all_is_started_where_there_is_nothing_to_read(watched: Watched) -> None:
    found = watched.project
    shutil.rmtree(found.root)
    (found.root / ".git").mkdir(parents=True)
    (found.root / "specs").mkdir()
    (watched.bin / "dd").unlink()
    watched.interpreter(watched.bin / "dd", "dd")
    assert not watched.starts()
    found.write({POINTERS.get(found.layout, ".git/x"): "demo"})
    assert watched.starts().startswith("dd " if found.layout in POINTERS else "")


HOSTILE = ("/dev/zero", "pipe", "folder", "dangling", "letters", "newlines", "NULs")
SIZES = {"letters": b"a", "newlines": b"\n", "NULs": b""}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that a hostile archive can bring, by the names of their kinds."""
    folder = tmp_path_factory.mktemp("archive")
    for kind, text in SIZES.items():
        (folder / kind).write_bytes(text * 20_000_000)
    os.truncate(folder / "NULs", 2**32)  # takes no room, and half an hour to read byte by byte
    return folder


def lay(path: Path, kind: str, archive: Path) -> None:
    """Put at a path what a hostile archive can put there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in ("/dev/zero", "dangling"):
        path.symlink_to(kind)
    else:
        path.hardlink_to(archive / kind)


@pytest.mark.parametrize(
    ("layout", "place"),
    [*((layout, POINTERS[layout]) for layout in SEQUENTIAL), ("specum", SETTINGS["specum"]),
     ("features", ".git")],
)  # fmt: skip
def test_no_file_of_a_project_holds_up_the_guard(
    project: ProjectFactory, archive: Path, layout: str, place: str
) -> None:
    starts = ("letters",) if place == ".git" else ("letters", "newlines", "NULs")
    for kind in HOSTILE:
        watched = Watched(project(layout, {"README.md": "x"}))
        lay(watched.project.root / place, kind, archive)
        assert bool(watched.starts()) is (kind in starts), kind


ODD_POINTERS = {
    b"demo\n\n": True,
    b"demo\r\n": True,
    b"demo  \n": True,
    b"\ndemo\n": True,
    b"\0": True,
    b"\n": True,
    b"none\nmore\n": True,
    b"a" * 4096: True,
    b"a/" * 1000: False,
    b"none\n\n": False,
    b"": False,
}


def test_an_odd_pointer_is_judged_quietly(bare: Watched) -> None:
    bare.project.write({"specs/demo/.ralph-state.json": "{}"})
    for text, starts in ODD_POINTERS.items():
        (bare.project.root / "specs/.current-spec").write_bytes(text)
        assert bool(bare.starts()) is starts, text


def test_a_pointer_with_a_nul_is_judged_quietly(bare: Watched) -> None:
    """Shells differ in what they read; none says a word."""
    bare.project.write({"specs/.current-spec": "de\0mo\n", "specs/demo/.ralph-state.json": "{}"})
    for shell in SHELLS:
        bare.starts_in(shell, cwd=None, event="Stop")


@pytest.mark.parametrize("place", [POINTERS["specum"], SETTINGS["specum"], ".git"])
def test_a_file_that_cannot_be_read_starts_python(bare: Watched, place: str) -> None:
    bare.project.write({place: "demo"})
    assert not bare.starts()
    failing = bare.bin / "dd"
    failing.unlink()
    assert bare.starts()
    failing.write_text("#!/bin/sh\necho cannot read >&2\nexit 1\n")
    failing.chmod(0o755)
    assert bare.starts()


@pytest.mark.parametrize(("prose", "starts"), [("é" * 2_040, True), ("é" * 1_000, False)])
def test_settings_that_go_on_after_the_first_block_start_python(
    bare: Watched, prose: str, starts: bool
) -> None:
    bare.project.extra_env["LC_ALL"] = "C.UTF-8"
    bare.project.write({SETTINGS["specum"]: f"---\nenabled: true\n---\n{prose}"})
    assert bool(bare.starts()) is starts


def test_a_loop_in_the_working_directory_starts_python(watched: Watched) -> None:
    found = watched.project
    called = watched.starts()
    name = {"features": "ralphloop"}.get(found.layout, f"ralph-{found.layout}")
    assert called == f"path -I -S {found.plugin}/lib/hook/launch.py {name} {found.layout}\n"


def test_a_loop_above_the_working_directory_starts_python(watched: Watched) -> None:
    deep = watched.project.root / "a" / "b c"
    deep.mkdir(parents=True)
    watched.project.extra_env["CLAUDE_PROJECT_DIR"] = str(deep)
    assert watched.starts(cwd=deep)


def test_a_loop_in_the_main_checkout_of_a_worktree_starts_python(watched: Watched) -> None:
    found = watched.project
    found.git("init", "--quiet", "--initial-branch=main")
    found.git("commit", "--quiet", "--allow-empty", "--message=start")
    tree = found.base / "tree"
    found.git("worktree", "add", "--quiet", str(tree), "-b", "side")
    below = tree / "below"
    below.mkdir()
    found.extra_env["CLAUDE_PROJECT_DIR"] = str(tree)
    assert watched.starts(cwd=below)


def test_a_worktree_with_a_relative_link_starts_python(listed: Watched) -> None:
    tree = listed.project.base / "tree"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: ../my project (1)/.git/worktrees/tree\n")
    listed.project.extra_env["CLAUDE_PROJECT_DIR"] = str(tree)
    assert listed.starts(cwd=tree)


def test_a_loop_in_the_projects_directory_starts_python(watched: Watched) -> None:
    away = watched.project.base / "away"
    away.mkdir()
    assert watched.starts(cwd=away)
    watched.project.extra_env["CLAUDE_PROJECT_DIR"] = str(away)
    assert not watched.starts(cwd=away)


@pytest.mark.parametrize("relative", [True, False])
def test_a_loop_in_a_chosen_folder_starts_python(project: ProjectFactory, relative: bool) -> None:
    found = project("features", {"README.md": "x"})
    watched = Watched(found)
    assert not watched.starts()
    folder = found.root / "my loop"
    folder.mkdir()
    (folder / "feature_list.json").write_text("[]")
    found.extra_env["RALPH_LOOP_DIR"] = "my loop" if relative else str(folder)
    assert watched.starts()


def test_a_loop_in_the_documented_place_starts_python(project: ProjectFactory) -> None:
    found = project("features", {".claude/data/ralph-loops/any/feature_list.json": "[]"})
    assert Watched(found).starts()


@pytest.mark.parametrize("settings", ["specs_dirs: [./my specs]", "specs_dirs:\n  - ./my specs"])
def test_custom_specs_folders_start_python(bare: Watched, settings: str) -> None:
    assert not bare.starts()
    bare.project.write({SETTINGS["specum"]: f"---\n{settings}\n---\n"})
    assert bare.starts()


def test_a_pointer_that_the_shell_cannot_judge_starts_python(bare: Watched) -> None:
    found = bare.project
    found.write({"else/where/.ralph-state.json": "{}", "abs/.ralph-state.json": "{}"})
    found.write({"up/.ralph-state.json": "{}"})
    for pointer in ("./else/where", str(found.root / "abs"), "demo\r", "with space", "../up", "$(x)"):
        found.write({"specs/.current-spec": pointer + "\n"})
        assert bare.starts(), pointer


def test_a_pointer_without_a_final_newline_starts_python(bare: Watched) -> None:
    bare.project.write({"specs/.current-spec": "demo", "specs/demo/.ralph-state.json": "{}"})
    assert bare.starts()


def test_an_ended_loop_starts_no_python_until_its_file_changes(armed: LoopProject) -> None:
    for number in (1, 2, 3):
        armed.close(number)
    armed.turn()
    assert armed.loop()["outcome"] == "complete"
    watched = Watched(armed)
    assert not watched.starts()
    os.utime(armed.own, (1_700_000_000, 1_700_000_000))
    assert watched.starts()


def test_a_prompt_of_the_session_whose_loop_has_ended_starts_python(features: LoopProject) -> None:
    """It may be the approval that the loop lacked; its stops concern nobody any more."""
    for number in (1, 2, 3):
        features.close(number)
    features.turn()
    watched = Watched(features)
    assert not watched.starts(event="UserPromptSubmit")
    for session, starts in ((features.session, True), (OTHER, False)):
        features.extra_env["CLAUDE_CODE_SESSION_ID"] = session
        assert bool(watched.starts(event="UserPromptSubmit")) is starts
        assert not watched.starts()


def finished(found: LoopProject) -> Watched:
    """The session's loop is over, and it is the session that is asked."""
    for number in (1, 2, 3):
        found.close(number)
    found.turn()
    found.extra_env["CLAUDE_CODE_SESSION_ID"] = found.session
    return Watched(found)


def shelf_folder(found: LoopProject) -> Path:
    return Path(f"{found.state_home}/by-path{found.root}/@ralph")


def test_a_prompt_asks_for_the_ended_loop_by_the_sessions_name_alone(features: LoopProject) -> None:
    """The records may be as many as there are: none of them is read."""
    watched = finished(features)
    (record,) = (shelf_folder(features) / "ended").iterdir()
    text = record.read_bytes()
    record.write_bytes(b"")  # in place: what has ended is still known
    assert watched.starts(event="UserPromptSubmit")
    features.extra_env["CLAUDE_CODE_SESSION_ID"] = OTHER
    record.write_bytes(text.replace(features.session.encode(), OTHER.encode()))
    assert not watched.starts(event="UserPromptSubmit")


def test_ended_loops_that_are_not_all_noted_start_python_at_a_prompt(features: LoopProject) -> None:
    watched = finished(features)
    features.extra_env["CLAUDE_CODE_SESSION_ID"] = OTHER
    here = shelf_folder(features)
    known = (here / "ended").stat().st_mtime_ns
    for moved in (-(10**9), 10**9):
        os.utime(here / "ended", ns=(known, known + moved))
        assert watched.starts(event="UserPromptSubmit"), moved
    os.utime(here / "ended", ns=(known, known))
    assert not watched.starts(event="UserPromptSubmit")
    shutil.rmtree(here / "last")  # as version 0.3.1 left it
    assert watched.starts(event="UserPromptSubmit")
    assert not watched.starts()


@pytest.mark.parametrize("session", ["a b", "../ended", "é", "*", "x" * 201, "a/b"])
def test_a_session_whose_name_is_not_plain_is_left_to_python(features: LoopProject, session: str) -> None:
    watched = finished(features)
    features.extra_env["CLAUDE_CODE_SESSION_ID"] = session
    assert watched.starts(event="UserPromptSubmit")


def test_the_first_prompt_notes_what_an_earlier_version_ended(features: LoopProject) -> None:
    watched = finished(features)
    folder = shelf_folder(features) / "last"
    shutil.rmtree(folder)
    features.send("UserPromptSubmit", session_id=OTHER, prompt="hello")
    assert (folder / features.session).is_file()
    for session, starts in ((features.session, True), (OTHER, False)):
        features.extra_env["CLAUDE_CODE_SESSION_ID"] = session
        assert bool(watched.starts(event="UserPromptSubmit")) is starts


def as_left(found: LoopProject, *names: str) -> list[tuple[Path, Path]]:
    """Lists whose loops have ended, with their stamps."""
    pairs = []
    for name in names:
        path = found.root / ".ralph/loops" / name / "feature_list.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[]")
        ended.stamp(found.shelf(), str(path), "2026-01-01T00:00:00.000Z")
        pairs.append((path, Path(found.shelf().stamp_of(str(path)))))
    return pairs


def test_of_many_lists_the_one_that_is_not_as_its_loop_left_it_starts_python(project: ProjectFactory) -> None:
    found = project("features", {"README.md": "x"})
    watched = Watched(found)
    pairs = as_left(found, "a", "b c", "[d]", "*", "-n", "é")
    assert not watched.starts()
    for path, stamp in pairs:
        time = path.stat().st_mtime_ns
        for moved in (-(10**9), 10**9):
            os.utime(path, ns=(time, time + moved))
            assert watched.starts(), path
        os.utime(path, ns=(time, time))
        aside = stamp.rename(stamp.with_name("aside"))
        assert watched.starts(), stamp
        aside.rename(stamp)
    assert not watched.starts()


def test_a_list_that_is_gone_leaves_the_others_to_be_judged(project: ProjectFactory) -> None:
    found = project("features", {"README.md": "x"})
    watched = Watched(found)
    (gone, _), (path, _) = as_left(found, "a", "b")
    gone.unlink()
    assert not watched.starts()
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert watched.starts()


def test_lists_without_any_stamp_start_python(project: ProjectFactory) -> None:
    found = project("features", {"README.md": "x"})
    watched = Watched(found)
    ((_, stamp),) = as_left(found, "a")
    shutil.rmtree(stamp.parent)
    assert watched.starts()
    shutil.rmtree(stamp.parent.parent)
    assert watched.starts()


def test_a_cancelled_loop_whose_file_is_gone_starts_no_python(features: LoopProject) -> None:
    features.own.unlink()
    features.turn()
    assert features.loop()["outcome"] == "cancelled"
    assert not Watched(features).starts()


@pytest.mark.parametrize("session", ["somebody", None])
def test_an_armed_or_owned_loop_starts_python_without_its_files(
    any_project: LoopProject, session: str | None
) -> None:
    any_project.arm(session=session)
    for name in OWN_FILES.values():
        (any_project.root / name).unlink(missing_ok=True)
    assert Watched(any_project).starts()


def test_the_recorded_interpreter_is_used(listed: Watched) -> None:
    other = listed.project.base / "my python"
    listed.interpreter(other, "recorded")
    listed.project.state_home.mkdir(parents=True)
    (listed.project.state_home / "python").write_text(f"{other}\n")
    assert listed.starts().startswith("recorded ")


@pytest.mark.parametrize("recorded", ["/nowhere/python3", "", "/"])
def test_a_recorded_interpreter_that_is_none_falls_back(listed: Watched, recorded: str) -> None:
    listed.project.state_home.mkdir(parents=True)
    (listed.project.state_home / "python").write_text(recorded + "\n")
    assert listed.starts().startswith("path ")


@pytest.mark.usefixtures("as_registered")
@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_the_guard_agrees_with_python_on_where_the_state_is(project: ProjectFactory, layout: str) -> None:
    found = project(layout)
    found.extra_env["XDG_STATE_HOME"] = str(found.base / "state")
    found.arm()
    for shell in SHELLS:
        found.shell = str(shutil.which(shell[0]))
        found.extra_env["XDG_STATE_HOME"] = str(found.base / "state")
        assert found.turn().blocks, shell
        found.extra_env["XDG_STATE_HOME"] = "relative"
        assert found.stop().silent, shell


def test_without_a_home_python_decides(project: ProjectFactory) -> None:
    found = project("features")
    watched = Watched(found)
    found.own.unlink()
    assert not watched.starts()
    for home in ("", ".", "home"):
        found.extra_env["HOME"] = home
        assert watched.starts()


def test_a_project_that_is_the_home_does_not_name_the_interpreter(listed: Watched) -> None:
    place = listed.project.root / ".local/state/ralphloop/python"
    place.parent.mkdir(parents=True)
    other = listed.project.base / "other"
    listed.interpreter(other, "recorded")
    place.write_text(f"{other}\n")
    listed.project.extra_env["HOME"] = "."
    assert listed.starts().startswith("path ")


def test_a_loop_answers_under_every_shell(armed: LoopProject) -> None:
    for shell in SHELLS:
        argv = [str(shutil.which(shell[0])), *shell[1:], "-c", armed.command("Stop")]
        armed.add_lines(tool_line("Bash", {}))
        data = json.dumps(armed.payload()).encode()
        assert armed.finish(armed.start(data, argv=argv)).blocks, shell


@pytest.mark.usefixtures("as_registered")
def test_odd_folder_names_do_not_confuse_the_guard(project: ProjectFactory) -> None:
    found = project("features", {})
    for number, name in enumerate(["it's", 'a "b"', "$HOME", "`x`", "*", "new\nline", "-n", "é🦊", "[a]"]):
        root = found.base / str(number) / name
        place = root / OWN_FILES["features"]
        place.parent.mkdir(parents=True)
        place.write_text(loop_files("features")[OWN_FILES["features"]])
        found.root = root
        found.arm()
        assert found.stop().blocks, name


def test_the_guard_is_plain_posix_shell() -> None:
    guard = Path(__file__).resolve().parents[2] / "src" / "ralphloop" / "hook" / "guard.sh"
    for shell in SHELLS:
        subprocess.run([*shell, "-n", str(guard)], check=True)
    assert sys.platform != "win32"

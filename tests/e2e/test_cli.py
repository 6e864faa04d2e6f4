"""The command line as a whole: exit codes, help, and what happens when something goes wrong."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e.cli_project import SESSION, Done, Project
from fakes import warm
from ralphloop.cli.main import COMMANDS, _load, _parsers
from ralphloop.version import VERSION


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A list, for what leaves it as it is."""
    project = Project(tmp_path_factory.mktemp("untouched"))
    project.new()
    return project


def test_without_arguments_the_status_is_shown(project: Project) -> None:
    project.begin()
    assert project.fine() == project.fine("status")


def test_the_version_is_the_packages(project: Project) -> None:
    assert project.fine("--version") == f"ralphloop {VERSION}\n"


WRONG = (
    "bogus",
    "--bogus",
    "status --bogus",
    "start --max-iterations",
    "start --max-iterations=-3",
    "start --max-iterations=1e3",
    "start --max-iter 3",
    "start --continue-with force",
    "start --session ''",
    "start a b",
    "new",
    "done",
    "ask F1",
    "answer F1",
    "skip",
)


def test_wrong_usage_exits_2_and_writes_nothing(untouched: Project) -> None:
    before = untouched.digest()
    for line in WRONG:
        done = untouched.run(*shlex.split(line))
        assert (done.code, done.out) == (2, ""), line
        assert done.err.startswith("ralphloop: "), line
        assert done.err.count("\n") == 1, line
        assert "usage:" not in done.err, line
        assert untouched.digest() == before, line


def test_help_of_every_command_shows_examples(untouched: Project) -> None:
    for command in COMMANDS:
        told = untouched.fine(command, "--help")
        assert "examples:" in told or "example:" in told, command
        assert f"ralphloop {command}" in told, command


def test_help_lists_every_command(project: Project) -> None:
    told = project.fine("--help").splitlines()
    assert [name for name in COMMANDS if not any(line.startswith(f"    {name}") for line in told)] == []


def test_only_the_chosen_commands_module_is_imported(project: Project) -> None:
    code = (
        "import sys; from ralphloop.cli import main; sys.argv[1:] = ['status']; main.main();"
        "print([name for name, _ in main.COMMANDS.values() if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=project.env(), cwd=project.root, capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines()[-1] == "['ralphloop.cli.status']"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_no_command_is_imported_where_none_is_named(project: Project, option: str) -> None:
    code = (
        f"import atexit, sys; from ralphloop.cli import main; sys.argv[1:] = ['{option}']\n"
        "atexit.register(lambda: print(*[name for name in sys.modules if name.startswith('ralphloop.')]))\n"
        "main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=project.env(), cwd=project.root, capture_output=True, check=True
    )
    loaded = set(done.stdout.decode().splitlines()[-1].split())
    assert "ralphloop.cli.main" in loaded
    assert not {"ralphloop.loops.place", "ralphloop.cli.status"} & loaded
    assert len(loaded) <= 25, sorted(loaded)


def test_a_bug_exits_3_and_names_a_report(project: Project) -> None:
    code = (
        "import sys; from ralphloop.cli import main, status; sys.argv[1:] = ['status']\n"
        "def run(args): raise RuntimeError('two\\nlines')\n"
        "status.run = run; sys.exit(main.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=project.env(), cwd=project.root, capture_output=True
    )
    assert (done.returncode, done.stdout) == (3, b"")
    told = done.stderr.decode()
    assert told.count("\n") == 1
    report = Path(told.split()[-1])
    assert report.parent == project.home / ".local/state/ralphloop/reports"
    assert "RuntimeError" in report.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_opened_is_an_expected_error(project: Project) -> None:
    told = project.refused("new", "shop", "--from", "nowhere.md")
    assert "there is no file nowhere.md in this folder; look at its name" in told


def test_a_closed_pipe_ends_quietly(project: Project) -> None:
    project.begin(tasks=3)
    for command in ("log", "status", "status --json"):
        line = f"{sys.executable} -m ralphloop {command} | :"
        done = subprocess.run(
            ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
            env=project.env(),
            cwd=project.root,
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_exits_130_without_a_word(project: Project) -> None:
    project.begin()
    process = subprocess.Popen(
        project.argv("log", "-f"),
        env=project.env(),
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert b"arm" in process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_folder_that_is_gone_is_an_expected_error(project: Project) -> None:
    gone = project.root / "gone"
    gone.mkdir()
    line = f"rmdir ../gone; exec {sys.executable} -m ralphloop status"
    done = subprocess.run(["sh", "-c", line], env=project.env(), cwd=gone, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode() == "ralphloop: the current folder is gone; change to your project first.\n"


def test_a_terminal_without_utf8_is_no_reason_to_fail(project: Project) -> None:
    project.begin()
    done = project.run("status", env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert "? F1" in done.out


def test_an_unknown_name_is_refused_with_those_that_are_known(project: Project) -> None:
    project.begin()
    for command in ("status", "pause", "resume", "cancel", "log"):
        told = project.refused(command, "cart")
        assert "there is no loop cart here; known here: shop." in told, command


def test_without_any_loop_the_next_step_is_named(project: Project) -> None:
    for line in ("pause", "resume", "cancel", "done F1", "log"):
        told = project.refused(*line.split())
        assert f"no loop is under way in {project.root}; `ralphloop new NAME` makes a task list" in told, line
    project.new()
    assert "; `ralphloop start shop` begins one." in project.refused("pause")
    assert "there is no loop shop here; `ralphloop start shop` begins one." in project.refused("log", "shop")
    project.new("cart")
    assert "begins one over a task list: cart, shop." in project.refused("pause")


def test_in_the_wrong_folder_the_right_one_is_named(project: Project) -> None:
    project.begin()
    other = project.folder / "other"
    other.mkdir()
    there = f"under way elsewhere: shop in {project.root}. Change to it with `cd {project.root}`"
    for line in ("pause", "pause shop", "start", "start shop"):
        assert there in project.refused(*line.split(), cwd=other), line
    told = " ".join(project.fine("status", cwd=other).split())
    assert told == f"No loop and no task list here; {there}, or make a list here: `ralphloop new NAME`."
    assert "elsewhere" not in project.refused("pause", "cart", cwd=other)
    project.fine("cancel", "shop")
    assert "elsewhere" not in project.refused("pause", cwd=other)


def test_among_several_loops_the_sessions_own_is_meant(project: Project) -> None:
    project.begin("one")
    project.begin("two", session="other")
    assert "name one of: " in project.refused("pause")
    assert "two is paused" in project.fine("pause", env={"CLAUDE_CODE_SESSION_ID": "other"})
    assert "one is cancelled" in project.fine("cancel", "features-one")


def test_a_loop_is_found_from_a_subfolder_and_from_a_worktree(project: Project) -> None:
    project.begin()
    below = project.root / "src" / "deep"
    below.mkdir(parents=True)
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    commit = ["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "start"]
    subprocess.run(commit, cwd=project.root, env=project.env(), check=True)
    tree = project.folder / "tree"
    add = ["git", "worktree", "add", "--quiet", str(tree)]
    subprocess.run(add, cwd=project.root, env=project.env(), check=True, capture_output=True)
    assert project.fine("status", cwd=below) == project.fine("status", cwd=tree) == project.fine("status")


def _examples(command: str) -> list[str]:
    told = _parsers(command, _load(COMMANDS[command][0]))[1].format_help()
    lines = told.partition("examples:\n")[2].splitlines()
    return [line.strip() for line in lines if "ralphloop " in line and line.startswith("  ")]


def _begin_with_checks(project: Project) -> None:
    """A loop whose second task was checked three times."""
    project.fine("new", "shop", "--from", "-", stdin=b"- Log in\n- Log out\n  - Verify: `true`\n")
    project.fine("start", "shop", "--session", SESSION, "--yes")
    for _ in range(3):
        project.fine("verify", "F2")


def _record_stop(project: Project, number: int) -> None:
    """A stop of the loop, recorded under this number."""
    project.fine("record", "on")
    project.stop(SESSION)
    (made,) = project.home.rglob("records/0001.json")
    made.rename(made.with_name(f"{number:04}.json"))


# These have tests of their own: a show, a proof or a run in the client, steps that need one another.
APART = ("conformance", "demo", "doctor", "notify", "run", "specum", "speckit")
# The examples of these are in each other's way.
ALONE = ("plan", "new", "start", "pause", "resume", "cancel", "done")


def _prepare(project: Project, command: str, *, shown: bool = False) -> None:
    """A project where the command's subject exists: a loop `shop`, a spec `login`, a question about F2."""
    project.program("ralphloop", f'#!/bin/sh\nexec {sys.executable} -m ralphloop "$@"\n')
    project.program("claude", "#!/bin/sh\nexit 0\n")
    project.write("ideas.md", "- Log in\n- Log out\n")
    project.write("stop.json", f'{{"hook_event_name": "Stop", "session_id": "{SESSION}"}}')
    if command == "start" or (command == "plan" and shown):
        project.new()
    elif command in ("verify", "evidence"):
        _begin_with_checks(project)
    elif command not in ("new", "plan"):
        project.begin()
        project.spec()
        project.fine("start", "login", "--session", "other")
        project.fine("ask", "F2", "Which?", "--loop", "shop")
    if command == "resume":
        project.fine("pause", "shop")
    if command == "service":
        project.program("systemctl", "#!/bin/sh\nexit 0\n")
    if command in ("record", "explain"):
        _record_stop(project, 12)


def _try(project: Project, command: str, line: str) -> None:
    person = command == "start" or "--loop" in line  # an agent names no other session's loop
    env = {} if person else {"CLAUDE_CODE_SESSION_ID": SESSION}
    is_endless = " -f" in line or (command == "watch" and "--once" not in line)
    done = _interrupted(project, line, env) if is_endless else _typed(project, line, env)
    assert done.err == "", line
    assert done.code == (130 if " -f" in line else 18 if command == "report" else 0), line


def _typed(project: Project, line: str, env: Mapping[str, str] | None = None) -> Done:
    """As a shell runs it; one without a pipe needs none."""
    if "|" not in line:
        return project.run(*shlex.split(line)[1:], env=env)
    done = subprocess.run(
        ["sh", "-c", line], env=project.env(env), cwd=project.root, capture_output=True, timeout=30, text=True
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _interrupted(project: Project, line: str, env: Mapping[str, str]) -> Done:
    """What it said until Ctrl-C, which came when it had begun to speak."""
    with warm.start(shlex.split(line)[1:], env=project.env(env), cwd=project.root) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode is not None
    return Done(process.returncode, (first + out).decode(), err.decode())


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in APART])
def test_examples_of_the_help_work_as_they_stand(tmp_path: Path, command: str) -> None:
    lines = _examples(command)
    assert lines, command
    project = None
    for place, line in enumerate(lines):
        if project is None or command in ALONE:
            project = Project(_folder(tmp_path / str(place)))
            _prepare(project, command, shown="--show" in line)
        _try(project, command, line)


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_examples_that_are_not_run_are_at_least_no_wrong_usage() -> None:
    lines = _examples("notify") + _examples("run")
    assert len(lines) > 4
    for line in lines:
        words = shlex.split(line)[1:]
        parser, _ = _parsers(words[0], _load(COMMANDS[words[0]][0]))
        assert parser.parse_args(words).name in (None, "shop"), line


@pytest.mark.parametrize(
    ("command", "folder"), [("specum", "specs/login"), ("speckit", ".specify/specs/001-let-people-log-in")]
)
def test_examples_of_the_spec_commands_work_in_their_order(
    project: Project, command: str, folder: str
) -> None:
    """As one would type them, while the documents are written in between."""
    lines = [line for line in _examples(command) if " start " not in line]
    assert len(lines) > 8
    for line in lines:
        done = _typed(project, line)
        assert (done.code, done.err) == (0, ""), line
        if (project.root / folder).is_dir():
            for document in ("research", "requirements", "design", "spec", "plan"):
                project.write(f"{folder}/{document}.md", "# Written\n")
            project.write(f"{folder}/tasks.md", "- [ ] 1.1 Form\n")


def test_a_place_that_cannot_be_written_is_an_expected_error(project: Project) -> None:
    project.write(".ralph", "a file where a folder has to be")
    assert "Check that this path exists and that you may use it." in project.refused("new", "shop")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")
def test_output_that_cannot_be_written_is_told_once(project: Project) -> None:
    project.begin()
    with open("/dev/full", "w") as full:
        for words in (["status"], ["--help"], ["log"]):
            done = subprocess.run(
                project.argv(*words), cwd=project.root, env=project.env(), stdout=full, stderr=subprocess.PIPE
            )
            told = (
                b"ralphloop: the output cannot be written (No space left on device); make room where it goes"
            )
            assert (done.returncode, done.stderr) == (1, told + b", or send it elsewhere.\n"), words
        silent = subprocess.run(project.argv("stauts"), cwd=project.root, env=project.env(), stderr=full)
        assert silent.returncode == 2

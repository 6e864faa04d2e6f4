"""`ralphloop demo` as a real process: what it shows, what its exit code means, and that it leaves nothing."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import ralphloop
from fakes.pseudo_terminal import heard
from ralphloop.lab.demo_screen import Screen
from ralphloop.lab.hook_call import ALLOW, HookAnswer, HookOutput

pytestmark = pytest.mark.slow

PACKAGE = Path(ralphloop.__file__).parent
TRACKED = (PACKAGE, PACKAGE.parents[1] / "plugins")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Caller:
    """The one who runs the demo: a home and a project of their own, and a folder for temporary files."""

    home: Path
    cwd: Path
    tmp: Path
    package: Path = PACKAGE

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"HOME": str(self.home), "TMPDIR": str(self.tmp), "PATH": os.environ["PATH"], **(extra or {})}

    def command(self, *options: str) -> list[str]:
        return [sys.executable, str(self.package), "demo", *options]

    def run(self, *options: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*options),
            cwd=self.cwd,
            env=self.env(env),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    found = Caller(*(tmp_path / name for name in ("home", "work", "tmp")))
    for folder in (found.home, found.cwd, found.tmp):
        folder.mkdir()
    (found.home / ".gitconfig").write_text("[user]\n\tname = The Caller\n")
    listed = found.cwd / ".ralph/loops/mine/feature_list.json"
    listed.parent.mkdir(parents=True)
    listed.write_text('{"features": [{"id": "A", "passes": false}]}')
    return found


def contents(*folders: Path) -> dict[Path, tuple[int, int, bytes]]:
    """Mode, time and bytes of every file, but for byte-code caches."""
    found = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if "__pycache__" not in path.parts:
                about = path.lstat()
                text = path.read_bytes() if path.is_file() else b""
                found[path] = (about.st_mode, about.st_mtime_ns, text)
    return found


def test_shows_the_whole_story_and_exits_0(caller: Caller) -> None:
    done = caller.run()
    assert (done.returncode, done.stderr) == (0, "")
    refused = "The claim of task F2 is refused: `sh party.sh Ada Bob | grep -qx 'Hello, Bob!'` exited with 1."
    assert refused in " ".join(done.stdout.split())
    assert done.stdout.index("REFUSED") < done.stdout.index("ALLOW") < done.stdout.index("Summary")
    summary = done.stdout.partition("Summary")[2]
    assert re.search(r"outcome +complete\n", summary)
    assert re.search(r"tasks +3 of 3 done, 3 proven\n", summary)
    assert re.search(r"refused claims +F2, F3\n", summary)
    assert re.search(r"decisions +4 stops: 3 continued, 1 allowed; median \d+ ms", summary)
    assert re.findall(r"[0-9a-f]{7,} (F\d): ", summary) == ["F1", "F2", "F3"]
    assert "\x1b" not in done.stdout


def test_honest_work_ends_plainly(caller: Caller) -> None:
    done = caller.run("--keep")
    assert "ralphloop greeter: complete: 3/3 proven\n" in done.stdout
    [folder] = caller.tmp.iterdir()
    project, command = folder / "greeter", folder / "bin/ralphloop"
    env = {**caller.env(), "HOME": str(folder / "home")}
    told = subprocess.check_output([command, "status", "greeter"], cwd=project, env=env, text=True)
    assert told.startswith("greeter · complete · ")
    assert "doubt" not in told


def test_says_how_to_install_it_where_it_is_not_and_leads_on_with_run(caller: Caller, tmp_path: Path) -> None:
    """In the words of the README, so that one of them cannot go stale alone."""
    readme = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    (tmp_path / "bin").mkdir()
    path = os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"])
    bare = caller.run(env={"PATH": path}).stdout
    install = bare.partition("To install it, in the folder of ralphloop\n")[2].partition("\n\n")[0]
    lines = [line.strip() for line in install.splitlines() if "#" not in line]
    assert len(lines) == 3
    assert [line for line in lines if line not in readme] == []
    after = bare.partition("Next, in a project of yours\n")[2]
    assert re.findall(r"^  ralphloop (\w+)", after, re.MULTILINE) == ["new", "run", "status", "pause"]
    (tmp_path / "bin/ralphloop").symlink_to("/bin/true")
    assert "To install it" not in caller.run(env={"PATH": path}).stdout


def test_claims_once_by_command_and_once_in_the_file(caller: Caller) -> None:
    turns = re.split(r"^Turn \d.*$", caller.run().stdout, flags=re.MULTILINE)
    assert "feature_list.json" in turns[3]
    assert "ralphloop done" not in turns[3]
    assert "$ ralphloop done F3" in turns[4]


def test_changes_nothing_outside_its_folder_and_ignores_the_callers_client(caller: Caller) -> None:
    before = contents(caller.home, caller.cwd, *TRACKED)
    done = caller.run(
        env={
            "CLAUDE_PROJECT_DIR": str(caller.cwd),
            "CLAUDE_CODE_SESSION_ID": "the caller's session",
            "CLAUDECODE": "1",
            "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "1",
            "RALPH_LOOP_DIR": str(caller.cwd / ".ralph/loops/mine"),
            "XDG_STATE_HOME": str(caller.home / "state"),
            "GIT_DIR": str(caller.cwd / ".git"),
        }
    )
    assert done.returncode == 0, done.stderr
    assert contents(caller.home, caller.cwd, *TRACKED) == before
    assert list(caller.tmp.iterdir()) == []


def test_keep_leaves_the_folder_and_says_where(caller: Caller) -> None:
    done = caller.run("--keep")
    [folder] = caller.tmp.iterdir()
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"\n  {folder.resolve()}\n")
    [loop] = folder.glob("*/.ralph/run/*/loop.json")
    assert json.loads(loop.read_text())["outcome"] == "complete"


def test_without_git_one_line_says_so(caller: Caller, tmp_path: Path) -> None:
    done = caller.run(env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "git" in done.stderr
    assert list(caller.tmp.iterdir()) == []


def test_runs_from_any_folder_of_the_package(caller: Caller, tmp_path: Path) -> None:
    assert elsewhere(caller, tmp_path / "a place; with 'spaces'").run().returncode == 0


@pytest.mark.parametrize(
    ("file", "defect", "complaint"),
    [
        ("hook/guard.sh", "exit 0\n", "outcome is None"),
        ("proof/checker.py", "\nRan.green = True\n", "was not refused"),
    ],
)
def test_a_broken_hook_is_never_a_success(
    caller: Caller, tmp_path: Path, file: str, defect: str, complaint: str
) -> None:
    broken = elsewhere(caller, tmp_path / "broken")
    target = broken.package / file
    text = target.read_text(encoding="utf-8")
    target.write_text(defect + text if file.endswith(".sh") else text + defect, encoding="utf-8")
    done = broken.run()
    assert done.returncode == 1
    assert complaint in done.stderr
    assert list(caller.tmp.iterdir()) == []


def elsewhere(caller: Caller, folder: Path) -> Caller:
    """The caller with a copy of the package, as an installed wheel has it: without a plugins folder."""
    package = folder / "ralphloop"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    return Caller(caller.home, caller.cwd, caller.tmp, package)


class Terminal:
    """The demo in a pseudo-terminal of 80 columns."""

    def __init__(self, caller: Caller, *options: str, **env: str) -> None:
        self.text = ""
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.chdir(caller.cwd)
            sized = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "80", **env}
            os.execve(sys.executable, caller.command(*options), caller.env(sized))

    def read(self, *, until: str = "", within_s: float = 30.0) -> None:
        """Read on until the text was shown, else until the process has closed the terminal."""
        deadline = time.monotonic() + within_s
        while not until or until not in self.text:
            assert select.select([self._handle], [], [], max(0.0, deadline - time.monotonic()))[0], self.text
            chunk = heard(self._handle)
            if not chunk:
                assert not until, self.text
                return
            self.text += chunk.decode("utf-8")

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def exit_code(self) -> int:
        self.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self._handle)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_in_a_terminal_it_is_colored_paced_and_fits_80_columns(
    caller: Caller, terminals: list[Terminal]
) -> None:
    begun = time.monotonic()
    terminals.append(terminal := Terminal(caller))
    assert terminal.exit_code() == 0
    assert time.monotonic() - begun > 4
    assert ESCAPE.search(terminal.text)
    lines = ESCAPE.sub("", terminal.text).splitlines()
    assert [line for line in lines if len(line) > 80 and str(caller.tmp) not in line] == []
    assert list(caller.tmp.iterdir()) == []


def test_work_counts_as_a_pause_so_that_a_busy_machine_shows_it_no_slower() -> None:
    """Pauses and work one after the other would take 5.7 seconds here."""
    begun = time.monotonic()
    controller, terminal = pty.openpty()
    with open(terminal, "w", encoding="utf-8") as stream:
        screen = Screen(stream, fast=False, color=False, env={})
        for _ in range(3):
            screen.stop(HookAnswer(ALLOW, HookOutput(0, "", "", 1.0)), refused=True, rule="")
            time.sleep(1)
    os.close(controller)
    assert time.monotonic() - begun < 4.5


def test_a_narrow_terminal_gets_lines_that_can_be_read() -> None:
    """One of ten columns hung: nothing was left for the words beside their labels."""
    for columns in ("1", "10", "18", "40"):
        stream = io.StringIO()
        screen = Screen(stream, fast=True, color=False, env={"COLUMNS": columns})
        screen.facts([("hook calls", "6, the slowest took 42 ms, which is less than a blink")])
        assert len(stream.getvalue().splitlines()) == 3
        assert max(map(len, stream.getvalue().splitlines())) <= 40


@pytest.mark.parametrize(("options", "env"), [(["--no-color"], {}), ([], {"NO_COLOR": "1"})])
def test_color_can_be_turned_off(
    caller: Caller, terminals: list[Terminal], options: list[str], env: dict[str, str]
) -> None:
    terminals.append(terminal := Terminal(caller, "--fast", *options, **env))
    assert terminal.exit_code() == 0
    assert "\x1b" not in terminal.text


@pytest.mark.parametrize("moment", ["All of it happens", "ralphloop start", "Turn 1", "REFUSED"])
def test_ctrl_c_exits_130_and_leaves_nothing(caller: Caller, terminals: list[Terminal], moment: str) -> None:
    before = contents(caller.home, caller.cwd)
    terminals.append(terminal := Terminal(caller))
    terminal.read(until=moment)
    terminal.type("\x03")
    assert terminal.exit_code() == 130
    assert list(caller.tmp.iterdir()) == []
    assert contents(caller.home, caller.cwd) == before
    assert "Traceback" not in terminal.text


def test_sigterm_leaves_nothing(caller: Caller, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(caller))
    terminal.read(until="Turn 1")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.exit_code() == 128 + signal.SIGTERM
    assert list(caller.tmp.iterdir()) == []

"""Every command, started as people start it, says and does what it does in the tests' warm interpreter."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from e2e.cli_project import OTHER, SESSION, Project
from e2e.told import without_varying
from fakes import warm
from ralphloop.cli.main import COMMANDS, INTERNAL

EVENT = {"hook_event_name": "Stop", "session_id": SESSION}
# A call of each command that does its work, where `lived` is; in quotes what has blanks.
CALLS = {
    "plan": ["plan", "--name", "cart", "A cart that survives a reload"],
    "new": ["new", "cart", "--from", "ideas.md"],
    "start": ["start", "cafe", "--session", OTHER, "--max-iterations", "7"],
    "run": ["run", "cafe", "--yes"],
    "status": ["status", "shop", "--json"],
    "watch": ["watch", "shop", "--once"],
    "pause": ["pause", "shop"],
    "resume": ["resume", "shop", "--max-iterations", "60"],
    "limit": ["limit", "shop", "--max-iterations", "60", "--json"],
    "cancel": ["cancel", "shop"],
    "clean": ["clean", "--all", "--json"],
    "done": ["done", "F2"],
    "verify": ["verify", "F2", "--json"],
    "evidence": ["evidence", "F2"],
    "approve": ["approve", "shop", "--show"],
    "accept": ["accept", "F1"],
    "ask": ["ask", "F1", "Which service?"],
    "answer": ["answer", "F3", "The one that we have"],
    "skip": ["skip", "F1"],
    "report": ["report", "shop", "--format", "json"],
    "log": ["log", "shop"],
    "explain": ["explain", "--json"],
    "record": ["record", "list", "--json"],
    "config": ["config", "--json"],
    "notify": ["notify", "--test"],
    "service": ["service", "status", "--json"],
    "demo": ["demo", "--fast", "--no-color"],
    "install": ["install"],
    "uninstall": ["uninstall", "--scope", "user"],
    "doctor": ["doctor", "--no-live", "--json"],
    "conformance": ["conformance", "--only", "none/no-list.toml"],
    "statusline": ["statusline"],
    "specum": ["specum", "start", "Let people log in"],
    "speckit": ["speckit", "specify", "Let people log in"],
    "supervise": ["supervise"],
}
FAILS = {"run": 1, "report": 18, "notify": 1, "doctor": 1, "supervise": 1}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A loop with a proven task, a question and a recorded stop; a list beside it; settings of the person."""
    project = Project(tmp_path_factory.mktemp("lived"))
    project.write("ideas.md", "- Log in\n- Log out\n")
    listed = b"- Log in\n- Log out\n  - Verify: `true`\n- Pay\n"
    project.fine("new", "shop", "--from", "-", stdin=listed)
    project.fine("record", "on")
    project.fine("start", "shop", "--session", SESSION, "--yes")
    project.fine("verify", "F2")
    project.fine("ask", "F3", "Which?")
    project.stop()
    project.new("cafe")
    project.fine("install", "--scope", "user")
    return project


class Kept:
    """A project that is put back as it was, in the very folders for which its checks were approved."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.places = {place: project.folder / "kept" / place.name for place in (project.root, project.home)}
        for place, copy in self.places.items():
            shutil.copytree(place, copy, symlinks=True)

    def put_back(self) -> None:
        for place, copy in self.places.items():
            for path in place.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            shutil.copytree(copy, place, symlinks=True, dirs_exist_ok=True)

    def run(self, *words: str, real: bool) -> tuple[int, str, str, list[str]]:
        """The exit code of a call, what it said, and which files are there afterwards."""
        self.put_back()
        project = self.project
        stdin = json.dumps({**EVENT, "cwd": str(project.root)}).encode()
        ended = warm.run(words, stdin=stdin, env=project.env(), cwd=project.root, real=real)
        out, err = (still(text.decode()) for text in (ended.stdout, ended.stderr))
        return ended.code, out, err, sorted(map(still, project.digest()))


def still(text: str) -> str:
    """Without what the clock says, names of commits, and those of temporary folders."""
    pattern = r"\b(\d+|TIME)(\.\d+| ms\b)|\b[0-9a-f]{7,40}\b|(?<=-demo-)\w+"
    return re.sub(pattern, "N", without_varying(text))


@pytest.fixture(scope="module")
def kept(lived: Project) -> Kept:
    return Kept(lived)


@pytest.mark.parametrize("command", [name for name in CALLS if name != "demo"])
def test_a_real_start_is_as_a_warm_one(kept: Kept, command: str) -> None:
    is_the_same(kept, command)


def is_the_same(kept: Kept, command: str) -> None:
    words = CALLS[command]
    code, out, err, files = kept.run(*words, real=True)
    assert kept.run(*words, real=False) == (code, out, err, files)
    assert code == FAILS.get(command, 0), (out, err)
    assert out or err


def test_a_supervisor_is_nothing_that_people_start(lived: Project) -> None:
    for request in (b"", b"\n", b"{}\n", b"null\n", b'{"cwd": "/"}\n', b"no JSON"):
        done = lived.run("supervise", stdin=request)
        assert (done.code, "`ralphloop run`, which you want" in done.err) == (1, True), (request, done)


def test_no_command_is_left_out() -> None:
    assert set(CALLS) == {*COMMANDS, *INTERNAL}


@pytest.mark.slow
def test_so_is_the_demo(kept: Kept) -> None:
    is_the_same(kept, "demo")


@pytest.mark.slow
def test_so_is_the_help_of_every_command(lived: Project) -> None:
    for words in (["--help"], ["--bogus"], *([command, "--help"] for command in COMMANDS)):
        real = warm.run(words, env=lived.env(), cwd=lived.root, real=True)
        assert warm.run(words, env=lived.env(), cwd=lived.root) == real, words
        assert real.code == (2 if words == ["--bogus"] else 0), real

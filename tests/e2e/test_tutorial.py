"""The tutorial works as it is written, with the real client: every file, command, screen and output."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from e2e.client import REPOSITORY, ClientHome
from e2e.running import Running, running
from e2e.screen import CommandScreen
from e2e.told import Command, Picture, Save, Step, is_part, is_shown, steps
from ralphloop.lab.reply import Reply, call, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(240)]

PAGE = REPOSITORY / "docs/tutorial.md"
ON_SCREEN = "ralphloop run hello --batch 1"
ONE, ANY = 'echo "Hello, ${1:-world}!"', 'for name in "${@:-world}"; do echo "Hello, $name!"; done'


def turns(root: Path, seen: threading.Event) -> Iterator[Reply]:
    """The agent of the tutorial; it waits until the view was looked at half-way."""
    script, readme = str(root / "hello.sh"), str(root / "README.md")
    yield call("Write", say="I begin with the script.", file_path=script, content='echo "Hello, $1!"\n')
    yield bash("sh hello.sh Ada")
    yield bash("ralphloop done F1")
    yield text("It greets by name.")
    yield call("Read", file_path=script)
    default = "Without a name it greets nobody; a default helps."
    yield call("Edit", say=default, file_path=script, old_string="$1", new_string="${1:-world}")
    yield bash("ralphloop done F2").held(seen)
    yield text("It greets the world.")
    yield call("Write", file_path=readme, content="# hello\n\n    sh hello.sh Ada\n")
    yield bash("ralphloop done F3")
    yield text("The README is there.")
    # As slow as a real one: the view looks for the transcript of a new session every two seconds only.
    yield bash("ralphloop done F1", say="It greets whoever it is given.").after(4)
    yield text("F1 is done.")
    yield call("Read", file_path=script)
    loop = "It greets only the first. A loop over the names helps."
    yield call("Edit", say=loop, file_path=script, old_string=ONE, new_string=ANY)
    yield bash("ralphloop done F1")
    yield text("Now it greets everybody.")


def bash(command: str, say: str = "") -> Reply:
    return call("Bash", say=say, command=command, description="a step of the task")


class Reader:
    """Somebody who does what the page says, in one shell, and compares."""

    def __init__(self, stage: Running, folder: Path, seen: threading.Event) -> None:
        self._stage, self._cwd, self._seen = stage, folder, seen
        self._screen: CommandScreen | None = None
        self._before = ""  # what stood on the screen before the view took it

    def follow(self, step: Step) -> None:
        if isinstance(step, Save):
            self._save(step)
        elif isinstance(step, Picture):
            self._look(step)
        elif step.line == ON_SCREEN:
            self._run(step)
        else:
            self._type(step)

    def _save(self, step: Save) -> None:
        file = self._cwd / step.path
        file.parent.mkdir(exist_ok=True)
        file.write_text(step.text, encoding="utf-8")

    def _type(self, step: Command) -> None:
        done = subprocess.run(
            ["sh", "-euc", f"{step.line}\npwd"], cwd=self._cwd, env=self._env(), text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, f"{step.line}: {done.stdout}"
        *output, place = done.stdout.splitlines(keepends=True)
        self._cwd = Path(place.strip())
        said = "".join(output)
        assert is_shown(step.output, said), f"{step.line} says\n{said}\nand the page\n{step.output}"

    def _env(self) -> dict[str, str]:
        """As the reader's: lines are as long as their screen, or 80 columns."""
        return {name: value for name, value in self._stage.env().items() if name != "COLUMNS"}

    def _run(self, step: Command) -> None:
        words = self._stage.words(*step.line.split()[1:])
        self._screen = CommandScreen(words, cwd=self._cwd, env=self._env(), columns=100, rows=30)
        self._screen.wait_for("[y/N]")
        self._screen.type("y\n")
        self._before = step.output

    def _look(self, step: Picture) -> None:
        """At the view half-way, then at what it leaves on the screen."""
        assert self._screen is not None, "a picture follows a command that draws"
        if not self._seen.is_set():
            self._screen.wait_for(lambda screen: is_part(step.text, screen), deadline_s=60)
            self._seen.set()
            return
        assert self._screen.exit_code(60) == 0
        left = self._screen.text()
        assert is_part(self._before, left), f"before the view\n{left}\nand the page has\n{self._before}"
        assert is_part(step.text, left), f"after the view\n{left}\nand the page has\n{step.text}"

    def close(self) -> None:
        if self._screen is not None:
            self._screen.close()


def test_the_tutorial_works_as_it_is_written(client_home: ClientHome, tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "projects"
    folder.mkdir()
    root, seen = folder / "hello", threading.Event()
    with (
        running(client_home, root, list(turns(root, seen))) as stage,
        closing(Reader(stage, folder, seen)) as reader,
    ):
        for step in steps(PAGE):
            reader.follow(step)
        assert stage.processes() == {}
    assert len(stage.server.main_requests) == len(list(turns(root, seen)))

"""The view as `run` shows it: its keys and signals reach the supervisor, and the terminal is given back."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from e2e.screen import CommandScreen
from e2e.watching import NOW, Watched
from fakes.patience import eventually

# Holds the supervisor's lock as a supervisor does, and shows the loop with a driver that writes words down.
PROGRAM = """
import os, sys
from ralphloop.loops.place import here, pick
from ralphloop.domain.model import Supervision
from ralphloop.store import shelf, supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.views.live.show import show

phase, sent, lines, until = sys.argv[1], sys.argv[2], sys.argv[3] == "lines", float(sys.argv[4])

class Driver:
    def send(self, word):
        with open(sent, "a") as file:
            file.write(word + "\\n")

    @property
    def ended(self):
        return os.path.exists(sent + ".ended")

loop = pick(here(), None)
loop.record.supervision = Supervision(batch=1)
loop.shelf.put(loop.record, shelf.OWNED)
with supervisor.lock(loop):
    facts = dict(pid=os.getpid(), session=loop.record.session, number=2, model="claude-opus-4-5", task="F2")
    supervisor.say(loop, supervisor.Holder(phase=phase, until=until, why="rate limit", **facts))
    seen = LoopFiles(loop.record, loop.shelf, writes=False)
    print("result", show(seen, env=os.environ, driver=Driver(), lines=lines))
"""


class Driven:
    def __init__(self, folder: Path) -> None:
        self.watched = Watched(folder).fill()
        self.sent = folder / "sent"

    def show(self, phase: str = "working", *, how: str = "screen") -> CommandScreen:
        until = str(NOW + 252 if phase == "resting" else 0.0)
        screen = self.watched.screen([sys.executable, "-c", PROGRAM, phase, str(self.sent), how, until])
        screen.endings = screen.endings[-1:]  # it takes SIGTERM for a word to its supervisor
        return screen

    def words(self) -> list[str]:
        return self.sent.read_text().split() if self.sent.exists() else []

    def wait_for_words(self, *words: str) -> None:
        eventually(lambda: self.words() == list(words), what=self.words)

    def end(self) -> None:
        self.sent.with_name("sent.ended").touch()


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    return Driven(tmp_path)


def test_the_session_and_its_keys_are_shown(driven: Driven) -> None:
    with driven.show() as screen:
        shown = screen.wait_for("q quit").splitlines()
        wanted = "shop · running · iteration 2/15 · 1/4 done · session 2 · claude-opus-4-5"
        assert shown[0].startswith(wanted)
        assert shown[-1] == " p pause  ss skip task  q quit, keep running  Ctrl-C pause and end"


def test_p_pauses(driven: Driven) -> None:
    with driven.show() as screen:
        screen.wait_for("q quit")
        screen.type("p")
        screen.wait_for("pauses at the end of this turn …")
        assert driven.words() == ["pause"]


@pytest.mark.slow
def test_s_asks_once_more_and_twice_skips_the_task(driven: Driven) -> None:
    asked = "press s again to skip task F2"
    with driven.show() as screen:
        screen.wait_for("q quit")
        screen.type("s")
        screen.wait_for(asked)
        screen.wait_for(lambda shown: asked not in shown)  # what was pressed is forgotten with it
        assert driven.words() == []
        screen.type("ss")
        screen.wait_for("skips task F2 …")
        assert driven.words() == ["skip-task"]


def test_a_paused_supervisor_goes_on_at_p(driven: Driven) -> None:
    with driven.show("paused") as screen:
        screen.wait_for("p go on")
        screen.wait_for("paused: rate limit")
        screen.type("p")
        driven.wait_for_words("go")


def test_a_wait_is_a_countdown_that_w_skips(driven: Driven) -> None:
    with driven.show("resting") as screen:
        screen.wait_for("waits 4:12: rate limit")
        assert screen.text().splitlines()[-1].startswith(" p pause  ss skip task  w skip wait  q quit")
        screen.type("w")
        driven.wait_for_words("skip-wait")


def test_q_leaves_the_supervisor_at_work(driven: Driven) -> None:
    with driven.show() as screen:
        screen.wait_for("q quit")
        screen.type("q")
        assert screen.exit_code() == 0
        assert (screen.text(), screen.modes()) == ("result left", screen.modes_before)
    assert driven.words() == ["detach"]


@pytest.mark.parametrize("how", ["screen", "lines"])
def test_ctrl_c_pauses_and_a_second_one_kills(driven: Driven, how: str) -> None:
    with driven.show(how=how) as screen:
        screen.wait_for("q quit" if how == "screen" else "now     shop")
        screen.type("\x03")
        screen.wait_for("pausing …, once more kills it")
        assert driven.words() == ["interrupt"]
        screen.type("\x03")
        screen.wait_for("killing the session …")
        driven.end()
        assert screen.exit_code() == 0
        assert screen.text().splitlines()[-1] == "result over"
        assert screen.modes() == screen.modes_before
    assert driven.words() == ["interrupt", "kill"]


@pytest.mark.parametrize("how", ["screen", "lines"])
def test_sigterm_is_like_ctrl_c(driven: Driven, how: str) -> None:
    with driven.show(how=how) as screen:
        screen.wait_for("q quit" if how == "screen" else "now     shop")
        screen.signal(signal.SIGTERM)
        driven.wait_for_words("interrupt")
        driven.end()
        assert screen.exit_code() == 0


@pytest.mark.parametrize("how", ["screen", "lines"])
def test_a_terminal_that_is_closed_leaves_the_supervisor_at_work(driven: Driven, how: str) -> None:
    with driven.show(how=how) as screen:
        screen.wait_for("q quit" if how == "screen" else "now     shop")
        screen.hang_up()
        driven.wait_for_words("detach")
        screen.process.wait(30)


def test_it_stays_while_the_supervisor_lives_and_ends_with_it(driven: Driven) -> None:
    with driven.show() as screen:
        screen.wait_for("q quit")
        driven.watched.set_state(state="paused", outcome="rate_limited")
        screen.wait_for("shop · paused (rate_limited)")
        assert screen.process.poll() is None
        driven.end()
        assert screen.exit_code() == 0
        assert screen.text() == "result over"

"""A session that is being ended has its time to obey, however long it has run: its client is interrupted,
then terminated, then killed."""

from __future__ import annotations

import select
from collections.abc import Iterable

import pytest

from ralphloop.agents.claude.program import parse
from ralphloop.domain.model import Limits, LoopState
from ralphloop.runner import agent_session, judge
from ralphloop.runner.agent_process import AgentProcess
from ralphloop.runner.agent_session import Drive, Escalation
from ralphloop.runner.loop_access import Begun
from ralphloop.runner.session_terms import Terms
from ralphloop.store import supervisor
from unit.runner.stage import Stage, to_the_end, wait_for_line

# Ends when it is interrupted, in its own way and not at once.
POLITE = """
import signal, sys, time
def end(*_):
    time.sleep(1.5)
    print('{"type": "result", "subtype": "success", "is_error": false, "result": "ended well"}', flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
while True: time.sleep(300)
"""


class Person:
    """Says each word once, a look apart."""

    def __init__(self, *words: str) -> None:
        self._words = list(words)

    def wait(self, others: Iterable[int] = (), *, seconds: float = 0.2) -> None:
        select.select(list(others), [], [], min(seconds, 0.2))

    def take(self) -> list[str]:
        return [self._words.pop(0)] if self._words else []


class Loop:
    """That nobody cancels, as its access tells."""

    def __init__(self, *, idle_s: float, more_time_s: float = 0.0) -> None:
        self.terms = Terms(idle_s=idle_s)
        self._more_time_s = more_time_s

    def state(self) -> LoopState:
        return LoopState(id="L1", layout="features")

    def more_time_s(self, begun: Begun) -> float:
        return self._more_time_s


def driven(agent: AgentProcess, person: Person, *, loop: Loop, time_left_s: float) -> judge.Session:
    begun = Begun("S1", "", "F1", "", time_left_s, Limits())
    return Drive(agent, person, access=loop, begun=begun, parse=parse).run()


def test_an_interrupted_client_may_end_in_its_own_way(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the session is older than a client may be deaf for."""
    monkeypatch.setattr(agent_session, "DEAF_S", 0.0)
    agent = stage.python(POLITE)
    wait_for_line(agent, b"ready")
    session = driven(agent, Person(supervisor.INTERRUPT), loop=Loop(idle_s=60), time_left_s=60)
    assert (session.cut, session.ending.code) == (judge.INTERRUPT, 0)
    assert session.result is not None
    assert session.result.text == "ended well"


def test_time_that_the_person_takes_away_ends_the_session_within_it(stage: Stage) -> None:
    agent = stage.python(POLITE)
    wait_for_line(agent, b"ready")
    session = driven(agent, Person(), loop=Loop(idle_s=600, more_time_s=-3600.0), time_left_s=3600)
    assert (session.cut, session.ending.code) == (judge.TIME, 0)


def test_each_word_has_its_time_and_is_said_once() -> None:
    said: list[str] = []
    escalation = Escalation(said.append)
    assert (escalation.step(100.0), said) == (5.0, ["interrupt"])
    assert (escalation.step(104.0), said) == (1.0, ["interrupt"])
    assert (escalation.step(105.0), said) == (5.0, ["interrupt", "terminate"])
    assert (escalation.step(109.9) or 0) < 0.2
    assert (escalation.step(110.0), said) == (None, ["interrupt", "terminate", "kill"])
    assert (escalation.step(500.0), said) == (None, ["interrupt", "terminate", "kill"])


def test_a_long_pause_skips_no_word() -> None:
    said: list[str] = []
    escalation = Escalation(said.append)
    escalation.step(0.0)
    assert (escalation.step(9000.0), said) == (5.0, ["interrupt", "terminate"])


def test_a_client_that_ignores_the_first_two_words_is_killed(stage: Stage) -> None:
    agent = stage.python(
        "import os, signal, time\n"
        "for number in (signal.SIGINT, signal.SIGTERM):\n"
        "    signal.signal(number, lambda number, _: os.write(1, b'%d\\n' % number))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(300)"
    )
    wait_for_line(agent, b"ready")
    escalation = Escalation(agent.send, graces_s=(5.0, 5.0))
    lines: list[bytes] = []
    for now_s, said in ((0.0, b"2"), (5.0, b"15")):
        escalation.step(now_s)
        lines += wait_for_line(agent, said)
    assert agent.ended is None
    escalation.step(10.0)
    rest, ending = to_the_end(agent)
    assert (lines + rest, ending.signal) == ([b"2", b"15"], 9)


def test_a_jump_says_the_last_word_at_once():
    said: list[str] = []
    escalation = Escalation(said.append)
    escalation.step(0.0)
    assert not escalation.is_spent
    escalation.jump()
    assert escalation.is_spent
    escalation.step(100.0)
    assert said == ["interrupt", "kill"]

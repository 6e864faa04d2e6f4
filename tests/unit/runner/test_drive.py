"""A session that is being ended has its time to obey, however long it has run."""

from __future__ import annotations

import select
from collections.abc import Iterable

import pytest

from ralphloop.agents.claude.program import parse
from ralphloop.runner import drive, judge
from ralphloop.runner.drive import Drive, Watched
from ralphloop.store import supervisor
from unit.runner.stage import Stage, wait_for_line

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


def watched(more_time_s: float = 0.0) -> Watched:
    return Watched(
        parse=parse,
        is_cancelled=lambda: False,
        pause=lambda: None,
        skip=lambda: False,
        more_time_s=lambda: more_time_s,
    )


def test_an_interrupted_client_may_end_in_its_own_way(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the session is older than a client may be deaf for."""
    monkeypatch.setattr(drive, "DEAF_S", 0.0)
    agent = stage.python(POLITE)
    wait_for_line(agent, b"ready")
    session = Drive(agent, Person(supervisor.INTERRUPT), idle_s=60, time_left_s=60).run(watched())
    assert (session.cut, session.ending.code) == (judge.INTERRUPT, 0)
    assert session.result is not None
    assert session.result.text == "ended well"


def test_time_that_the_person_takes_away_ends_the_session_within_it(stage: Stage) -> None:
    agent = stage.python(POLITE)
    wait_for_line(agent, b"ready")
    session = Drive(agent, Person(), idle_s=600, time_left_s=3600).run(watched(-3600.0))
    assert (session.cut, session.ending.code) == (judge.TIME, 0)

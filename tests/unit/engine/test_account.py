"""The counter of a loop and what is read anew: each message once, whoever was killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ralphloop.domain.limits import Spent
from ralphloop.engine import account
from ralphloop.store.loop import iso
from unit.views.live.looked_at import MODEL, SESSION, T0, Looked


@pytest.fixture
def looked(tmp_path: Path) -> Looked:
    return Looked(tmp_path.resolve(), tokens=10_000_000)


def transcript(looked: Looked, session: str) -> Path:
    return looked.transcript.with_name(f"{session}.jsonl")


def seen(looked: Looked) -> int:
    """What whoever looks is told."""
    return account.look(looked.loop, looked.loop.state(), env=looked.env).spent.tokens


def settled(looked: Looked) -> int:
    tokens = account.settle(looked.written, looked.loop.state(), env=looked.env).tokens
    assert tokens == account.so_far(looked.loop).tokens == seen(looked)
    return tokens


def counted(looked: Looked, path: Path | None = None) -> int:
    """At a stop."""
    account.count(looked.written, looked.loop.state(), str(path or looked.transcript), env=looked.env)
    return account.so_far(looked.loop).tokens


def begin(looked: Looked, seconds: float, session: str, **facts: Any) -> None:
    """A supervisor's session begins."""
    looked.note(seconds, "session", session=session, task="F1", **facts)
    looked.save(owner=session, since=iso(T0 + seconds))
    account.go_on(looked.written, looked.loop.state())


def test_sessions_that_were_killed_before_their_first_stop_count(looked: Looked) -> None:
    looked.note(0, "arm", session="k-0", task="F1")
    for number in range(15):
        begin(looked, 10 * number, f"k-{number}")
        looked.say(10 * number + 5, "…", file=transcript(looked, f"k-{number}"), output=100)
    assert seen(looked) == 1500
    assert settled(looked) == 1500


def test_the_tail_behind_the_last_stop_of_a_killed_session_counts(looked: Looked) -> None:
    looked.note(0, "arm", session=SESSION, task="F1")
    looked.save(since=iso(T0))
    looked.say(5, "…", output=100)
    assert counted(looked) == 100
    looked.note(10, "stop", decision="continue", rule="go_on", state="running", task="F2")
    looked.save(current="F2", transcripts=[str(looked.transcript)])
    looked.say(15, "killed in this turn", output=70)
    assert (seen(looked), account.so_far(looked.loop).tokens) == (170, 100)
    begin(looked, 30, "k-1")
    looked.say(35, "…", file=transcript(looked, "k-1"), output=5)
    assert settled(looked) == 175
    assert account.so_far(looked.loop).task_tokens == {"F1": 105, "F2": 70}


def test_the_first_stop_after_a_loop_was_taken_up_counts_what_was_left(looked: Looked) -> None:
    """An API error let it rest, and the session was woken: no command came in between."""
    looked.note(0, "arm", session=SESSION, task="F1")
    looked.save(since=iso(T0))
    looked.say(5, "…", output=100)
    assert counted(looked) == 100
    looked.say(15, "broken off", output=70)
    looked.note(20, "stop_failure", outcome="rate_limited")
    looked.say(25, "the person's own", output=1000)
    looked.note(30, "wake", session=SESSION)
    looked.save(since=iso(T0 + 30))
    looked.say(35, "…", output=5)
    assert counted(looked) == 175
    looked.say(36, "…", output=5)
    assert counted(looked) == 180 == seen(looked) == settled(looked)


def test_a_turn_while_the_loop_is_paused_is_not_written_down(looked: Looked) -> None:
    looked.note(0, "arm", session=SESSION, task="F1")
    looked.save(since=iso(T0))
    looked.say(5, "…", output=100)
    assert counted(looked) == 100
    looked.note(10, "pause")
    looked.save(state="paused", outcome="interrupted", seen_at=T0 + 10)
    looked.say(15, "the person's own", output=1000)
    assert counted(looked) == 100 == seen(looked)
    looked.note(20, "resume", session=SESSION)
    looked.save(state="running", outcome=None, since=iso(T0 + 20))
    looked.say(25, "…", output=5)
    assert counted(looked) == 105 == settled(looked)


def test_a_transcript_that_is_gone_keeps_what_was_counted_of_it(looked: Looked) -> None:
    looked.note(0, "arm", session="k-0", task="F1")
    begin(looked, 0, "k-0")
    looked.say(5, "…", file=transcript(looked, "k-0"), output=100)
    assert settled(looked) == 100
    begin(looked, 10, "k-1")
    looked.say(15, "…", file=transcript(looked, "k-1"), output=20)
    transcript(looked, "k-0").unlink()
    assert seen(looked) == 120
    assert settled(looked) == 120
    looked.say(16, "…", file=transcript(looked, "k-1"), output=3)
    assert counted(looked, transcript(looked, "k-1")) == 123 == settled(looked)


def test_an_agent_that_cleans_its_project_up_lowers_no_counter(looked: Looked) -> None:
    looked.note(0, "arm", session="k-0", task="F1")
    for number in range(3):
        begin(looked, 10 * number, f"k-{number}")
        looked.say(10 * number + 5, "…", file=transcript(looked, f"k-{number}"), output=100)
    assert settled(looked) == 300
    os.unlink(looked.written.path("journal.jsonl"))
    assert settled(looked) == 300


def test_a_counter_of_an_earlier_version_is_counted_on(looked: Looked) -> None:
    looked.note(0, "arm", session=SESSION, task="F1")
    looked.save(since=iso(T0))
    looked.say(5, "…", output=100)
    assert counted(looked) == 100
    place = Path(looked.written.kept, "usage.json")
    data = json.loads(place.read_text())
    del data["since"]
    place.write_text(json.dumps(data))
    looked.say(15, "…", output=20)
    assert seen(looked) == 120
    assert counted(looked) == 120
    place.write_text("{")
    assert settled(looked) == 120


def test_a_half_written_line_counts_when_it_is_whole(looked: Looked) -> None:
    looked.note(0, "arm", session=SESSION, task="F1")
    looked.say(5, "…", output=100)
    line = looked.transcript.read_text().replace('"id"', '"was"')
    with looked.transcript.open("a") as file:
        file.write(line[:60])
    assert settled(looked) == 100


def test_what_was_counted_beyond_is_shared_out_among_its_tasks() -> None:
    counted_, read = Spent(), Spent()
    counted_.add("F1", tokens=100, cost_usd=1.0, model=MODEL)
    counted_.add("F2", tokens=50, cost_usd=None, model="new")
    read.add("F1", tokens=60, cost_usd=0.6, model=MODEL)
    read.add("F3", tokens=20, cost_usd=0.1, model=MODEL)
    more = counted_.beyond(read)
    assert (more.tokens, more.task_tokens) == (70, {"F1": 40, "F2": 30})
    assert more.cost_usd == pytest.approx(0.3)
    assert read.beyond(counted_).tokens == 0

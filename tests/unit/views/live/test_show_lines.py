"""The view as lines: each thing once, with its time, and nothing that a terminal would obey."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from ralphloop.agents.transcript import Activity, Context
from ralphloop.domain.finding import IDLE, Finding
from ralphloop.proof.proof_record import ProofRecord
from ralphloop.store.supervisor import Holder
from ralphloop.views.live.show import FIRST, HANG, SETTLE_S, WORDS, Lines, state_lines
from unit.views.live.looked_at import T0, frame, said, task, view

HEAD = "01-15 08:02:00  now     shop · running · iteration 3/30 · 1/3 done · next F2"


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_everything_is_told_once() -> None:
    lines = Lines()
    one, two = said("hello\nworld"), said("Edit a.py\n- x", "edit")
    assert lines.news(frame(activities=[one])) == [
        "01-15 08:00:00  says    hello",
        "01-15 08:00:00          world",
        HEAD,
    ]
    assert lines.news(frame(activities=[one])) == []
    assert lines.news(frame(activities=[one, two])) == [
        "01-15 08:00:00  edits   Edit a.py",
        "01-15 08:00:00          - x",
    ]


def at(seconds: float, text: str, kind: str = "text") -> Activity:
    return said(text, kind)._replace(at=T0 + seconds)


def words(lines: list[str]) -> list[str]:
    return [line.split()[2] for line in lines if " now " not in line]


def test_what_comes_late_is_told_once_though_it_is_older_than_the_last() -> None:
    lines = Lines()
    first, late = at(10, "refused task F1", "failed"), at(9, "F1 is done.")
    lines.news(frame(activities=[first]))
    both = frame()._replace(activities=((2, late), (1, first)))  # as the feed sorts them
    assert words(lines.news(both)) == ["says"]
    assert lines.news(both) == []


def test_what_has_just_happened_waits_for_who_writes_later() -> None:
    """The client writes its stream a moment after the journal has what came of it."""
    lines = Lines()
    lines.news(frame(now=T0))
    refused, claim = at(10.2, "refused task F1", "failed"), at(10, "Bash ralphloop done F1", "tool")
    assert lines.news(frame(activities=[refused], now=T0 + 10.3)) == []
    both = frame()._replace(activities=((2, claim), (1, refused)))
    assert lines.news(both._replace(now=T0 + 10.5)) == []
    assert words(lines.news(both._replace(now=T0 + 10.2 + SETTLE_S))) == ["calls", "failed"]
    assert lines.news(both._replace(now=T0 + 20)) == []


def test_a_changed_headline_waits_for_what_had_happened_before() -> None:
    lines = Lines()
    begins = at(10, "session 1 begins", "loop")
    assert lines.news(frame(activities=[begins], now=T0 + 10.3)) == []
    told = lines.news(frame(activities=[begins], now=T0 + 10.3 + SETTLE_S))
    assert [line.split()[2] for line in told] == ["loop", "now"]


def test_at_the_end_nothing_waits() -> None:
    lines, last = Lines(), frame(activities=[at(10, "Bye.")], now=T0 + 10)
    assert words(lines.news(last)) == []
    assert words(lines.news(last, is_last=True)) == ["says"]


def test_a_moment_that_is_still_to_come_waits_for_nothing() -> None:
    assert words(Lines().news(frame(activities=[at(60, "Of another clock.")], now=T0))) == ["says"]


def test_a_changed_headline_is_told() -> None:
    lines = Lines()
    lines.news(frame())
    (told,) = lines.news(frame(seen=view(done=2, next="F3")))
    assert told.endswith("2/3 done · next F3")


def test_the_last_headline_tells_of_doubts() -> None:
    lines = Lines()
    lines.news(frame())
    doubt = Finding(IDLE, said="F1 is green without the work", task="F1")
    ended = view(state="ended", outcome="complete", proof=ProofRecord((doubt,)))
    told = lines.news(frame(seen=ended), is_last=True)
    assert "  now     shop · complete, 1 doubt · iteration " in told[0]
    shown = state_lines(frame(seen=ended), width=80, rows=40)
    assert "  doubt: F1 is green without the work" in shown


def test_a_wait_is_told_once_and_not_every_second() -> None:
    lines, holder = Lines(), Holder(phase="resting", until=T0 + 600, why="rate limit")
    assert lines.news(frame(holder=holder))[-1] == (
        "01-15 08:02:00  waits   until 2027-01-15 08:10:00 (rate limit)"
    )
    assert lines.news(frame(holder=holder, now=T0 + 130)) == []
    assert lines.news(frame(holder=Holder(phase="working"))) == []
    assert lines.news(frame(holder=Holder(phase="resting")))[-1].endswith("waits   for now")


def test_a_silent_supervisor_is_told_once() -> None:
    lines, seen = Lines(), view(driver=42, beat=T0 - 300)
    *_, first, last = lines.news(frame(seen=seen, holder=Holder(pid=42)))
    assert first == "01-15 08:02:00  silent  its supervisor is silent for 7 min: `kill -9 42`, then"
    assert last == " " * HANG + "`ralphloop run shop` goes on."
    assert lines.news(frame(seen=seen, holder=Holder(pid=42), now=T0 + 300)) == []
    lines.news(frame(seen=seen._replace(beat=T0 + 300), holder=Holder(pid=42), now=T0 + 301))
    assert lines.news(frame(seen=seen, holder=Holder(pid=42), now=T0 + 302))


def test_of_what_happened_before_the_last_lines_are_told() -> None:
    told = Lines().news(frame(activities=[said(f"said {number}") for number in range(100)]))
    assert len(told) == FIRST + 1
    assert told[-2].endswith("said 99")


def test_nothing_that_a_terminal_obeys_comes_through() -> None:
    evil = "a\x1b[2J\x07\u202e"
    shown = frame(
        activities=[said(evil)],
        seen=view(name=evil, detail=evil),
        holder=Holder(phase="resting", why=evil),
    )
    for line in [*Lines().news(shown), *state_lines(shown, width=80, rows=20)]:
        assert line.isprintable(), repr(line)


def test_the_state_is_what_status_shows_and_the_last_lines() -> None:
    told = state_lines(
        frame(activities=[said("hello")], context=Context(82_000, "m", 200_000)), width=80, rows=20
    )
    assert told[0] == "shop · running · iteration 3/30 · 1/3 done · next F2"
    assert "  context 82k of 200k (41 %)" in told
    assert "  ☐ F2  open     2  Task 2" in told
    assert told[-2:] == [
        "  used: 2 min of 8 h 00 min, 1.2k tokens, $0.50",
        "01-15 08:00:00  says    hello",
    ]
    assert "no tokens counted yet" in state_lines(frame(tokens=None), width=80, rows=20)[-1]
    over = view(state="ended", outcome="limit")
    assert "tokens unknown" in state_lines(frame(tokens=None, seen=over), width=80, rows=20)[-1]


def test_no_line_is_wider_than_the_screen() -> None:
    activities = [said("word " * 60, kind) for kind in WORDS] + [said("語" * 90), said("x" * 200)]
    shown = frame(
        activities=activities, seen=view(name="n" * 60, next="i" * 60), holder=Holder(phase="resting")
    )
    for width in (80, 120):
        told = [*Lines(width).news(shown), *state_lines(shown, width=width, rows=20)]
        assert max(map(cell_len, told)) <= width
        assert max(map(cell_len, told)) > width - 10
    assert sum(" prompt  word" in line for line in Lines().news(shown)) == 1


def test_a_refused_claim_lets_no_other_task_be_next_for_a_moment() -> None:
    lines = Lines()
    tasks = (task(1, "claimed"), task(2))
    heads = [lines.news(frame(seen=view(next="F1", tasks=(task(1), task(2))), activities=[]))]
    heads += [lines.news(frame(seen=view(next="F2", tasks=tasks), activities=[]))]
    heads += [lines.news(frame(seen=view(next="F1", tasks=(task(1, attempts=1), task(2))), activities=[]))]
    assert [head[-1].rpartition(" · ")[2] for head in heads] == ["next F1", "claimed F1", "next F1"]

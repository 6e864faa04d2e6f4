"""A frame as rows: what is on them in every state, and never more than fits."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ralphloop.agents.transcript import Context
from ralphloop.domain.finding import IDLE, Finding
from ralphloop.domain.model import OUTCOMES, UNLIMITED
from ralphloop.proof.proof_record import ProofRecord
from ralphloop.store.supervisor import Holder
from ralphloop.views.fold import width_of
from ralphloop.views.live.feed import Frame
from ralphloop.views.live.paint import ASCII, UNICODE, signs_for
from ralphloop.views.live.screen import Screen
from unit.domain.cases import each
from unit.views.live.looked_at import T0, frame, said, task, view

EVIL = "x\x1b]0;owned\x07\x1b[2J\u202e\u200d👩\u200d👩\u200d👧 日本語 " * 9
SIZES = [(1, 1), (1, 50), (200, 1), (5, 5), (20, 4), (40, 10), (80, 24), (119, 30), (120, 6), (200, 50)]
DOUBTED = ProofRecord((Finding(IDLE, said="F1 is green without the work", task="F1"),))


def drawn(shown: Frame, width: int = 80, height: int = 24, **footing: str) -> list[str]:
    return [row.plain.rstrip() for row in Screen().rows(shown, width, height, **footing)]


def hostile() -> Frame:
    tasks = tuple(task(number, id=EVIL + str(number), title=EVIL) for number in range(200))
    told = [said(EVIL, kind) for kind in UNICODE.activity] * 30
    holder = Holder(phase="resting", until=T0 + 900, why=EVIL, session=EVIL, number=3, model=EVIL, task=EVIL)
    seen = view(name=EVIL, tasks=tasks, next=EVIL + "100", max_iterations=10**8)
    return frame(seen=seen, holder=holder, activities=told, session=EVIL, model=EVIL, task=EVIL + "100")


@each(("size", "signs", "shown"), product(SIZES, (UNICODE, ASCII), (frame(), hostile())))
def test_the_screen_is_exactly_filled(shown: Frame, size: tuple[int, int], signs: Any) -> None:
    rows = Screen(signs).rows(shown, *size, notice=EVIL, keys="q quit")
    assert len(rows) == size[1]
    for row in rows:
        assert width_of(row.plain) <= size[0]
        assert row.plain.isprintable(), repr(row.plain)


def test_the_headline_names_the_loop_and_where_it_is() -> None:
    holder = Holder(phase="working", number=2, model="claude-opus-4-5", task="F2")
    head = drawn(frame(holder=holder), 100)[0]
    assert head == "shop · running · iteration 3/30 · 1/3 done · session 2 · claude-opus-4-5 · features"


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"state": "paused", "outcome": "needs_input"}, "shop · paused (needs_input) · iteration 3/30"),
        ({"state": "ended", "outcome": "complete"}, "shop · complete · "),
        ({"state": "ended", "outcome": "complete", "proof": DOUBTED}, "shop · complete, 1 doubt · "),
        ({"state": "waiting"}, "shop · waiting · "),
        ({"max_iterations": UNLIMITED}, "shop · running · iteration 3 · "),
    ],
)
def test_the_headline_tells_the_state_in_words(values: dict[str, Any], wanted: str) -> None:
    assert drawn(frame(seen=view(**values)))[0].startswith(wanted)


@pytest.mark.parametrize(("proof", "style"), [(ProofRecord(), "bold green"), (DOUBTED, "bold yellow")])
def test_a_doubt_takes_the_green_from_the_headline(proof: ProofRecord, style: str) -> None:
    seen = frame(seen=view(state="ended", outcome="complete", proof=proof))
    head = Screen().rows(seen, 100, 20)[0]
    assert [str(span.style) for span in head.spans if span.style not in ("bold", "dim")] == [style]


@each(
    ("values", "wanted"),
    [
        ({}, "time 2:00, 7:58:00 left · 1.2k tokens, $0.50"),
        ({"elapsed_s": 9 * 3600.0}, "time 9:00:00, 0:00 left"),
        ({"tokens": None}, "no tokens counted yet"),
        ({"tokens": None, "seen": view(state="ended", outcome="limit")}, "tokens unknown"),
        ({"cost_usd": None}, "1.2k tokens, dollars unknown"),
        ({"unpriced": True}, "1.2k tokens, $0.50 known"),
        ({"cost_limit_usd": 5.0, "token_limit": 2e6}, "1.2k of 2M tokens, $0.50 of $5.00"),
        ({"context": Context(82_000, "m", 200_000)}, "context ████░░░░░░ 41 % of 200k"),
        ({"context": Context(250_000, "m", 200_000)}, "context ██████████ 125 % of 200k"),
        ({"context": Context(82_000, "m", None)}, "context 82k"),
        ({"burndown": (8, 8, 4, 1, 0)}, "open ██▅▂▁ 0"),
        ({"burndown": ()}, "open  0"),
    ],
)
def test_the_figures(values: dict[str, Any], wanted: str) -> None:
    assert wanted in "\n".join(drawn(frame(**values)))


@each(
    ("state", "sign"),
    [("open", "☐"), ("claimed", "~"), ("asked", "?"), ("proven", "✓"), ("given", "✓"), ("unverified", "✓"),
     ("vouched", "✓"), ("skipped", "–"), ("set_aside", "–")],
)  # fmt: skip
def test_a_task_shows_its_state_by_sign_and_word(state: str, sign: str) -> None:
    assert f"  {sign} F9  {state}  Task 9" in drawn(frame(seen=view(tasks=(task(9, state),))))


def test_the_task_at_hand_is_marked_and_attempts_are_counted() -> None:
    assert "▸ ☐ F2  open   2x  Task 2" in drawn(frame())


def test_a_task_that_the_agent_added_says_so() -> None:
    assert "  ☐ F9  open  (added) Task 9" in drawn(frame(seen=view(tasks=(task(9, added=True),))))


@each(("at", "height"), product([1, 2, 50, 99, 100], range(8, 30)))
def test_of_a_long_list_the_part_around_the_task_at_hand_is_shown(at: int, height: int) -> None:
    tasks = tuple(task(number) for number in range(1, 101))
    shown = drawn(frame(seen=view(tasks=tasks), task=f"F{at}"), height=height)
    assert any(line.startswith(f"▸ ☐ F{at} ") for line in shown)


def test_hidden_tasks_are_counted() -> None:
    tasks = tuple(task(number) for number in range(1, 101))
    shown = drawn(frame(seen=view(tasks=tasks), task="F50"))
    ids = [line.split()[2 if "▸" in line else 1] for line in shown if "☐" in line]
    before, after = int(ids[0][1:]) - 1, 100 - int(ids[-1][1:])
    assert f"  … {before} before" in shown
    assert f"  … {after} more" in shown


def test_a_list_that_cannot_be_read_says_why() -> None:
    assert "the tasks cannot be read: broken" in drawn(frame(seen=view(tasks=(), fault="broken")))


def test_the_headline_says_how_many_are_unverified() -> None:
    tasks = (task(1, "unverified"), task(2, "proven"))
    assert " · 2/2 done, 1 unverified · " in drawn(frame(seen=view(done=2, total=2, tasks=tasks)))[0]


@pytest.mark.parametrize(
    ("holder", "wanted"),
    [
        (Holder(phase="resting", until=T0 + 420, why="rate limit"), "waits 5:00: rate limit"),
        (Holder(phase="resting", until=T0), "waits 0:00"),
        (Holder(phase="resting", why="a message"), "waits: a message"),
        (Holder(phase="paused", why="you asked"), "paused: you asked"),
        (Holder(phase="starting", number=3), "starts session 4 …"),
        (Holder(phase="working", task="F2"), "at hand: F2 Task 2"),
        (None, "at hand: F2 Task 2"),
    ],
)
def test_below_stands_what_the_loop_is_at(holder: Holder | None, wanted: str) -> None:
    assert drawn(frame(holder=holder), keys="q quit")[-2:] == [wanted, " q quit"]


@each("outcome", OUTCOMES)
def test_below_stands_what_the_person_can_do_next(outcome: str) -> None:
    seen = view(state="paused", outcome=outcome, unapproved=("make",))
    told = drawn(frame(seen=seen, task=""), 200)[-1]
    assert bool(told) is (outcome not in ("complete", "cancelled"))


def test_a_notice_takes_the_place_of_the_situation() -> None:
    assert drawn(frame(), notice="pausing …")[-1] == "pausing …"


def test_the_newest_of_the_stream_is_at_the_bottom_and_long_ones_are_cut() -> None:
    told = [said(f"said {number}") for number in range(50)] + [said("\n".join("abcdefghijklmnopqrst"))]
    stream = drawn(frame(activities=told), height=40)[:-1]
    assert stream[-11:] == ["● said 49", "● a", *[f"  {ch}" for ch in "bcdefghi"], "  +11 more"]


def test_a_diff_keeps_its_lines_and_its_colours() -> None:
    edit = said("Edit a.py\n- old " + "x" * 200 + "\n+ new", "edit")
    rows = Screen().rows(frame(activities=[edit]), 80, 24)
    (at,) = [place for place, row in enumerate(rows) if row.plain == "± Edit a.py"]
    old, new = rows[at + 1 : at + 3]
    assert (old.plain[:8], old.plain[-1], len(old.plain), new.plain) == ("  - old ", "…", 80, "  + new")
    assert [str(span.style) for span in (*old.spans, *new.spans)] == ["red", "green"]


def test_from_120_columns_on_tasks_and_stream_stand_side_by_side() -> None:
    rows = drawn(frame(activities=[said("hello")]), 120)
    assert any("F1  proven" in line and " │ ● hello" in line for line in rows)


def test_without_a_session_the_stream_says_so() -> None:
    assert "no session yet" in drawn(frame(session=""))
    assert "nothing from this session yet" in drawn(frame())


@pytest.mark.parametrize(
    ("encoding", "wanted"),
    [("utf-8", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), (None, ASCII), ("?", ASCII)],
)
def test_a_terminal_without_utf8_gets_plain_signs(encoding: str | None, wanted: Any) -> None:
    assert signs_for(encoding) is wanted


def test_plain_signs_are_plain() -> None:
    shown = frame(activities=[said("hi", kind) for kind in ASCII.activity], context=Context(1, "m", 200_000))
    for row in Screen(ASCII).rows(shown, 80, 40, keys="q"):
        assert row.plain.isascii(), row.plain


def test_a_silent_supervisor_is_what_stands_at_the_bottom() -> None:
    seen = view(driver=42, beat=T0 - 300)
    for phase in ("working", "resting", "checking"):
        shown = drawn(frame(seen=seen, holder=Holder(pid=42, phase=phase)), 120)
        assert shown[-1].startswith("its supervisor is silent for 7 min: `kill -9 42`"), phase


def test_what_we_send_the_session_takes_one_dim_row() -> None:
    long = "Work through the list until every task of it is proven. " * 6
    for kind in ("prompt", "hook"):
        rows = Screen().rows(frame(activities=[said(long, kind), said("I do.")]), 80, 24)
        (row,) = [row for row in rows if "Work through" in row.plain]
        assert row.plain.rstrip().endswith("…")
        assert {str(span.style) for span in row.spans} == {"dim"}
        assert sum("list until every" in row.plain for row in rows) == 1


def test_a_loop_that_nobody_drives_is_not_called_running() -> None:
    assert drawn(frame(seen=view(supervised=True, driver=None)))[0].startswith("shop · nobody drives it · ")


def test_the_stream_is_headed_by_the_task_and_not_by_a_sessions_id() -> None:
    rows = drawn(frame(holder=Holder(number=3, phase="working"), session="6c1f", task="F2"))
    assert [row for row in rows if row.startswith("─ session 3: F2 Task 2 ─")]
    assert not [row for row in rows if "6c1f" in row]

"""Loops as text: every state with what to do next, against a fixed clock."""

from __future__ import annotations

from typing import Any

from ralphloop.domain.finding import Finding
from ralphloop.domain.model import LOGIN
from ralphloop.proof.proof_record import ProofRecord
from ralphloop.views import terminal
from ralphloop.views.figure import Share, Spending, Used
from ralphloop.views.fold import width_of
from ralphloop.views.snapshot import LoopView, TaskView, in_order
from unit.domain.cases import each

NOW = 1_800_000_000.0
HOUR = 3600.0


def task(number: int, state: str = "open", **values: Any) -> TaskView:
    known = {"id": f"F{number}", "title": f"Task {number}", "state": state, "attempts": 0, "question": ""}
    return TaskView(**{**known, **values})


def view(**values: Any) -> LoopView:
    known: dict[str, Any] = {
        "id": "features-shop-20260101T000000Z",
        "name": "shop",
        "layout": "features",
        "root": "/p",
        "path": "/p/.ralph/loops/shop/feature_list.json",
        "state": "running",
        "outcome": None,
        "detail": "",
        "requested": "",
        "edited": False,
        "iteration": 3,
        "max_iterations": 30,
        "done": 1,
        "total": 3,
        "next": "F2",
        "owner": "s1",
        "started_at": NOW - 2 * HOUR,
        "seen_at": NOW - 120,
        "resume_at": None,
        "fault": "",
        "tasks": (task(1, "unverified"), task(2, attempts=2), task(3)),
    }
    return LoopView(**{**known, **values})


def block(**values: Any) -> list[str]:
    return terminal.block(view(**values), now=NOW)


def test_a_running_loop_needs_no_advice() -> None:
    assert block() == [
        "shop · running · iteration 3/30 · 1/3 done, 1 unverified · next F2",
        "  features · .ralph/loops/shop · session s1 · last stop 2 min ago",
    ]


def test_a_list_of_which_all_is_proven_says_no_more() -> None:
    assert block(tasks=(task(1, "proven"), task(2)))[0].endswith(" · 1/3 done · next F2")


@each(
    ("values", "headline", "advice"),
    [
        ({"state": "waiting"}, "shop · waiting", ""),
        ({"state": "armed", "owner": None}, "shop · armed", "binds to the next session started here"),
        ({"requested": "cancel"}, "shop · running", "a cancel was asked for; it holds at the next stop."),
        ({"seen_at": NOW - 26 * HOUR}, "shop · running", "no stop for 26 h; `ralphloop resume shop --adopt`"),
        ({"seen_at": NOW - 75 * HOUR}, "shop · running", "no stop for 3 days;"),
        ({"state": "ended", "outcome": "complete"}, "shop · complete", ""),
        ({"state": "ended", "outcome": "cancelled"}, "shop · cancelled", ""),
        (
            {"state": "paused", "outcome": "interrupted"},
            "shop · paused (interrupted)",
            "`ralphloop resume shop`",
        ),
        (
            {"state": "paused", "outcome": "needs_input"},
            "shop · paused (needs_input)",
            "all is answered, then send the session any message.",
        ),
        (
            {
                "state": "paused",
                "outcome": "needs_input",
                "tasks": (task(1, "vouched"), task(2, "proven")),
                "proof": ProofRecord(
                    tuple(Finding("idle", said=f"F{n} is idle", task=f"F{n}") for n in (1, 2)),
                    refused=("idle F1", "idle F2"),
                ),
            },
            "shop · paused (needs_input)",
            "`ralphloop accept F2 --loop shop` vouches for it, then send the session any message.",
        ),
        ({"state": "paused", "outcome": "awaiting_approval"}, "shop · paused", "goes on by itself"),
        (
            {"state": "paused", "outcome": "rate_limited"},
            "shop · paused (rate_limited)",
            "next message in its session (now)",
        ),
        (
            {"state": "paused", "outcome": "rate_limited", "resume_at": NOW + 90 * 60},
            "shop · paused (rate_limited)",
            "(not before 1 h 30 min from now)",
        ),
        ({"state": "ended", "outcome": "stalled"}, "shop · stalled", "`ralphloop resume shop` goes on."),
        ({"state": "ended", "outcome": "limit"}, "shop · limit", "`ralphloop resume shop` goes on."),
        (
            {"state": "ended", "outcome": "limit", "iteration": 30},
            "shop · limit",
            "`ralphloop resume shop --max-iterations 45` goes on.",
        ),
    ],
)
def test_each_state_says_what_to_do_next(values: dict[str, Any], headline: str, advice: str) -> None:
    lines = block(**values)
    assert lines[0].startswith(headline + " ")
    assert lines[2:] == [] if not advice else advice in lines[-1]


def test_why_and_what_is_asked_are_shown() -> None:
    lines = block(
        state="paused", outcome="needs_input", detail="F2", tasks=(task(2, "asked", question="Which\none?"),)
    )
    assert lines[2:] == [
        "  why: F2",
        "  asks: F2: Which one?",
        "  `ralphloop answer F2 TEXT --loop shop`, then send the session any message.",
    ]


def test_a_check_that_was_green_already_is_told_once_as_the_doubt_where_it_is_one() -> None:
    before = "was green before the work began"
    found = (
        Finding("idle", said=f"F1 {before}", task="F1"),
        Finding("idle", said="F3 is green without the work", task="F3"),
        Finding("already green", said=f"F1: `make test` {before}", task="F1"),
        Finding("already green", said=f"F2: `make lint` {before}", task="F2"),
        Finding("already green", said=f"F3: `make docs` {before}", task="F3"),
    )
    told = block(state="ended", outcome="complete", proof=ProofRecord(found))
    assert told[2:5] == [
        f"  doubt: F1 {before}",
        "  doubt: F3 is green without the work",
        f"  noted: F2: `make lint` {before}; F3: `make docs` {before}",
    ]


def test_a_loop_that_nobody_drives_is_not_called_running() -> None:
    lines = block(supervised=True)
    assert lines[0].startswith("shop · nobody drives it · iteration 3/30 · ")
    why = "its supervisor was killed, or the machine went down"
    assert lines[-1] == f"  nobody drives it any more ({why}): `ralphloop run shop` goes on where it was."
    assert block(supervised=True, driver=42)[0].startswith("shop · running · ")
    assert block(supervised=True, state="paused", outcome="limit")[0].startswith("shop · paused (limit) · ")


def test_while_a_claim_is_checked_no_other_task_is_said_to_be_next() -> None:
    """It may be refused: then it is next again."""
    claimed = (task(1, "proven"), task(2, "claimed"), task(3))
    assert block(next="F3", tasks=claimed)[0] == "shop · running · iteration 3/30 · 1/3 done · claimed F2"
    waits = (task(1, "proven"), task(2, "claimed", held=True), task(3))
    assert block(next="F3", tasks=waits)[0].endswith(" · next F3")


def test_the_time_that_was_used_in_all_is_said_where_the_loop_rested_in_between() -> None:
    limits = (Used("time_s", 4.0, 8 * HOUR), Used("tokens", None, 1000.0))
    used = {"limits": limits, "spent": spent_nothing()}
    assert "  used: 4 s of 8 h 00 min (12 min in all), no tokens counted yet (limit 1k tokens)" in block(
        **used, working_s=720.0
    )
    assert "  used: 4 s of 8 h 00 min, no tokens counted yet (limit 1k tokens)" in block(
        **used, working_s=4.2
    )


def spent_nothing() -> Spending:
    return Spending(Share(), {}, {}, (), (), False, "2026-01-01")


def test_an_id_that_is_too_long_to_stand_beside_its_title_has_a_row_of_its_own() -> None:
    long = "an-id-that-somebody-wants-to-copy-as-a-whole"
    tasks = (task(1, id=long, title="語" * 50), task(2))
    rows = terminal.task_table(view(tasks=tasks), width=80, rows=20)
    assert rows[0] == f"  ☐ {long}"
    assert rows[1].startswith("        open   -  語語")
    assert width_of(rows[1]) <= 80
    assert rows[2] == "  ☐ F2  open   -  Task 2"


def test_tasks_that_cannot_be_read_are_said_once() -> None:
    lines = block(fault="not JSON", detail="not JSON", tasks=())
    assert lines[2:] == ["  the tasks cannot be read: not JSON"]


def test_the_table_shows_state_attempts_and_title() -> None:
    tasks = (task(1, "unverified"), task(2, attempts=2), task(3, "asked"), task(4, "skipped"))
    assert terminal.task_table(view(tasks=tasks), width=80, rows=20) == [
        "  ✓ F1  unverified   -  Task 1",
        "  ☐ F2  open         2  Task 2",
        "  ? F3  asked        -  Task 3",
        "  – F4  skipped      -  Task 4",
    ]


def test_a_long_table_is_cut_around_the_next_task() -> None:
    many = tuple(task(number) for number in range(1, 101))
    lines = terminal.task_table(view(tasks=many, next="F50"), width=80, rows=10)
    assert lines[0] == "  … 47 before"
    assert lines[1].split()[1] == "F48"
    assert lines[-1] == "  … and 43 more"
    assert len(lines) == 12


def test_a_wide_title_is_cut_to_the_width() -> None:
    lines = terminal.task_table(view(tasks=(task(1, title="word " * 100),)), width=60, rows=10)
    assert len(lines[0]) <= 60
    assert lines[0].endswith(" …")


def test_blocks_are_apart_by_an_empty_line() -> None:
    lines = terminal.blocks([view(), view(name="cart")], now=NOW)
    assert lines[2] == ""
    assert lines[3].startswith("cart · ")


def test_what_is_at_work_comes_first_then_what_waits_and_what_ended_last() -> None:
    views = [
        view(id="ended first", state="ended", started_at=9.0, ended_at=10.0),
        view(id="paused", state="paused", outcome="interrupted", started_at=5.0),
        view(id="asks", state="paused", outcome="needs_input", started_at=4.0),
        view(id="armed", state="armed", started_at=2.0),
        view(id="ended last", state="ended", started_at=1.0, ended_at=11.0),
        view(id="running", started_at=3.0),
    ]
    told = [found.id for found in in_order(views)]
    assert told == ["running", "armed", "asks", "paused", "ended last", "ended first"]


@each(
    ("values", "advice"),
    [
        ({}, "`ralphloop resume shop` goes on."),
        ({"supervised": True}, "`ralphloop run shop` goes on."),
        ({"state": "paused", "outcome": "interrupted"}, "`ralphloop resume shop` goes on."),
    ],
)
def test_a_refused_login_is_told_with_its_cure(values: dict[str, Any], advice: str) -> None:
    lines = block(**{"state": "ended", "outcome": "failed", "detail": f"{LOGIN}: 401 no key", **values})
    assert "  why: the login was refused: 401 no key" in lines
    assert lines[-1] == f"  log in with `claude /login`, or renew the key; then {advice}"
    assert not any("repair the list" in line for line in lines)


def test_what_the_client_retries_is_told() -> None:
    assert "  now: 529 overloaded; the client tries again" in block(
        retrying="529 overloaded; the client tries again"
    )

"""Which task was at hand when, by the journal alone."""

from __future__ import annotations

from typing import Any

from ralphloop.engine.account import sessions
from ralphloop.store.loop import iso
from ralphloop.views import journal
from ralphloop.views.journal import Stretch, stretches
from unit.domain.cases import each

T0 = 1_800_000_000.0


def entry(seconds: float, event: str, **facts: Any) -> dict[str, Any]:
    return {"at": iso(T0 + seconds), "event": event, **facts}


def arm(session: str | None = "s1") -> dict[str, Any]:
    return entry(0, "arm", session=session)


def goes_on(seconds: float, task: str, **facts: Any) -> dict[str, Any]:
    return entry(
        seconds, "stop", decision="continue", rule="go_on", state="running", task=task, session="s1", **facts
    )


def rests(seconds: float, state: str = "paused", **facts: Any) -> dict[str, Any]:
    return entry(
        seconds, "stop", decision="allow", rule="limits", state=state, task="", session="s1", **facts
    )


def found(*entries: dict[str, Any], end: float = 100) -> list[tuple[Any, ...]]:
    parts = stretches(entries, begin=T0, end=T0 + end)
    return [(p.task, round(p.begin - T0), round(p.end - T0), *(["rest"] if p.rests else [])) for p in parts]


@each(
    ("entries", "parts"),
    [
        ([], [("", 0, 100)]),
        ([arm()], [("", 0, 100)]),
        ([arm(None)], []),
        ([arm(None), entry(5, "bind", session="s1")], [("", 5, 100)]),
        ([arm(), goes_on(10, "F1"), goes_on(30, "F2")], [("F1", 0, 10), ("F1", 10, 30), ("F2", 30, 100)]),
        # the first turn's task is what it claimed
        ([arm(), goes_on(10, "F2", claimed=["F1"])], [("F1", 0, 10), ("F2", 10, 100)]),
        ([arm(), entry(4, "claim", task="F1"), goes_on(9, "F2")], [("F1", 0, 9), ("F2", 9, 100)]),
        # a stop that hands out nothing keeps the task: a subagent still runs, a file is broken
        (
            [arm(), goes_on(10, "F1"), rests(20, "waiting"), goes_on(30, "F2")],
            [("F1", 0, 10), ("F1", 10, 20), ("F1", 20, 30), ("F2", 30, 100)],
        ),
        # the rest of the checks belongs to no task
        ([arm(), goes_on(10, "F1"), goes_on(20, "")], [("F1", 0, 10), ("F1", 10, 20), ("", 20, 100)]),
        ([arm(), goes_on(10, "F1"), rests(20, "ended")], [("F1", 0, 10), ("F1", 10, 20)]),
        # resumed by a command: what was done in between is not the loop's
        (
            [
                arm(),
                goes_on(10, "F1"),
                entry(20, "pause"),
                entry(60, "resume", session="s1"),
                goes_on(70, "F2"),
            ],
            [("F1", 0, 10), ("F1", 10, 20), ("F1", 60, 70), ("F2", 70, 100)],
        ),
        # a limit raised while it is under way: what was done before stays done
        (
            [arm(), goes_on(10, "F1"), entry(15, "resume", session="s1"), goes_on(30, "F2")],
            [("F1", 0, 10), ("F1", 10, 15), ("F1", 15, 30), ("F2", 30, 100)],
        ),
        # a supervisor's session that was killed with its supervisor: nobody noted its end
        (
            [
                arm(),
                entry(1, "session", session="s1", task="F1"),
                goes_on(10, "F2"),
                entry(40, "resume", session="s1"),
                entry(41, "session", session="s2", task="F2"),
                entry(60, "session_end", verdict="next"),
                entry(70, "session", session="s3", task="F3"),
            ],
            [
                ("F2", 0, 1, "rest"),
                ("F1", 1, 10),
                ("F2", 10, 40, "rest"),
                ("F2", 40, 41, "rest"),
                ("F2", 41, 60),
                ("F3", 70, 100),
            ],
        ),
        # a supervisor's session says that a turn failed, and goes on until its end
        (
            [
                arm(),
                entry(1, "session", session="s1", task="F1"),
                entry(10, "stop_failure", session="s1"),
                entry(20, "session_end", verdict="wait"),
            ],
            [("", 0, 1, "rest"), ("F1", 1, 20)],
        ),
        (
            [arm(), goes_on(10, "F1"), entry(20, "stop_failure", outcome="failed")],
            [("F1", 0, 10), ("F1", 10, 20)],
        ),
        # taken up by a stop: the turn before it was the loop's already
        (
            [arm(), goes_on(10, "F1"), rests(20), goes_on(50, "F1")],
            [("F1", 0, 10), ("F1", 10, 20), ("F1", 20, 50, "rest"), ("F1", 50, 100)],
        ),
        (
            [arm(), goes_on(10, "F1"), entry(20, "session_end"), entry(30, "cancel")],
            [("F1", 0, 10), ("F1", 10, 20)],
        ),
        # a beginning that is lost is as old as the loop
        ([goes_on(10, "F2", claimed=["F1"])], [("F1", 0, 10), ("F2", 10, 100)]),
        # a clock that was set back
        ([arm(), goes_on(-5, "F1")], [("F1", 0, 0), ("F1", -5, 100)]),
    ],
)
def test_a_task_is_at_hand_from_one_stop_to_the_next(entries: list[Any], parts: list[Any]) -> None:
    assert found(*entries) == parts


def test_values_of_the_wrong_kind_are_nothing() -> None:
    odd = entry(10, "stop", decision=["continue"], task={"a": 1}, claimed="F1", state=7, session=3)
    assert stretches([odd], begin=T0, end=T0 + 20) == [Stretch("", T0, T0 + 10)]
    assert sessions([odd]) == []


def test_the_last_rest_is_the_end() -> None:
    entries = [arm(), rests(10), goes_on(20, "F1"), entry(30, "cancel")]
    assert journal.rested_at(entries) == T0 + 30
    assert journal.rested_at([arm(), goes_on(5, "F1")]) is None


def test_sessions_come_in_the_order_in_which_they_owned_the_loop() -> None:
    entries = [arm(None), entry(1, "bind", session="s2"), entry(2, "busy", session="s9"), goes_on(3, "F1")]
    assert sessions(entries) == ["s2", "s1"]

"""The limits and breakers: what counts, what resets, when they trip."""

from __future__ import annotations

import pytest

from ralphloop.domain import limits
from ralphloop.domain.model import LIMIT, PAUSED, RUNNING, STALLED, WAITING, Limits, Turn
from unit.domain.build import a_loop, look

WORK = look("F1", "F2")
TOOL, QUIET = Turn(tools=1), Turn()


@pytest.mark.parametrize(
    ("total", "explicit", "limit"),
    [
        (0, (), 15),
        (1, (), 15),
        (5, (), 15),
        (6, (), 18),
        (100, (), 300),
        (100, (None, None), 300),
        (100, (7,), 7),
        (1, (40,), 40),
        (100, (None, 20, 9, None), 9),
        (100, (0, -3), 300),
        (100, (0, 12), 12),
    ],
)
def test_the_lowest_explicit_limit_holds_else_three_per_task_and_at_least_15(total, explicit, limit):
    assert limits.iteration_limit(total, explicit) == limit


@pytest.mark.parametrize(
    ("state", "seen_at", "now", "elapsed"),
    [
        (RUNNING, 100.0, 160.0, 70.0),
        (WAITING, 100.0, 160.0, 70.0),
        (PAUSED, 100.0, 160.0, 10.0),
        (RUNNING, 100.0, 40.0, 10.0),
        (RUNNING, 0.0, 160.0, 10.0),
    ],
)
def test_time_counts_while_running_and_never_backwards(state, seen_at, now, elapsed):
    loop = a_loop(state=state, seen_at=seen_at, elapsed_s=10.0)
    limits.tick(loop, now)
    assert (loop.elapsed_s, loop.seen_at) == (elapsed, now)


def test_a_pause_is_not_counted_when_the_loop_runs_again():
    loop = a_loop(state=PAUSED, seen_at=100.0)
    limits.tick(loop, 5000.0)
    loop.state = RUNNING
    limits.tick(loop, 5060.0)
    assert loop.elapsed_s == 60.0


def played(loop, *turns, work=WORK, files="same", claims=False):
    """The loop after these (turn, reply) pairs."""
    loop.tasks_seen = loop.tasks_seen or work.digest
    loop.files_seen = loop.files_seen or files
    for turn, reply in turns:
        limits.note_turn(loop, turn, work=work, reply=reply, files=files, claims=claims)
    return loop


@pytest.mark.parametrize(
    ("before", "given", "no_progress"),
    [
        ({}, {}, 3),
        ({}, {"turn": TOOL}, 0),
        ({}, {"files": "other"}, 0),
        ({}, {"work": look("F1!", "F2")}, 0),
        ({}, {"work": look("F1", "F2", "F3")}, 0),
        ({"tasks_seen": ""}, {}, 0),
    ],
)
def test_progress_is_a_tool_call_or_a_change_of_tasks_or_files(before, given, no_progress):
    loop = a_loop(**{"tasks_seen": WORK.digest, "files_seen": "same", "no_progress": 2, **before})
    given = {"turn": QUIET, "work": WORK, "files": "same", **given}
    turn = given.pop("turn")
    limits.note_turn(loop, turn, reply="x", claims=False, **given)
    assert loop.no_progress == no_progress


def test_a_turn_without_progress_is_an_attempt_at_the_current_task():
    loop = played(a_loop(current="F2"), (QUIET, "a"), (TOOL, "b"), (QUIET, "c"))
    assert loop.attempts == {"F2": 2}
    assert played(a_loop(), (QUIET, "a")).attempts == {}


def test_the_same_reply_counts_whatever_its_case_and_spaces_and_with_tool_calls_too():
    loop = played(a_loop(), (TOOL, "I am still\n working on it"), (TOOL, "i am STILL working on it  "))
    assert loop.same_replies == 2
    assert played(loop, (TOOL, "I am done with it now")).same_replies == 1


@pytest.mark.parametrize("change", ["head", "tail", "length"])
def test_long_replies_differ_by_their_ends_and_length(change):
    text = "a" * 1000
    other = {"head": "b" + text[1:], "tail": text[1:] + "b", "length": text + "a"}[change]
    assert limits.normalise(text) == limits.normalise("A" * 1000)
    assert limits.normalise(text) != limits.normalise(other)
    assert len(limits.normalise(text)) < 500


@pytest.mark.parametrize(
    ("turns", "empty"),
    [
        ([(QUIET, "Holding."), (QUIET, "Ok."), (QUIET, "")], 3),
        ([(QUIET, "Holding."), (TOOL, "Ok.")], 0),
        ([(TOOL, "Ok."), (TOOL, "Ok."), (QUIET, "Ok.")], 1),
        ([(QUIET, "Ok."), (QUIET, "Here is what I did about the first task.")], 0),
        ([(QUIET, "Ok."), (QUIET, None)], 0),
    ],
)
def test_a_near_empty_reply_counts_only_without_a_tool_call(turns, empty):
    assert played(a_loop(), *turns).empty_replies == empty


def test_a_claim_resets_the_reply_counts():
    loop = played(a_loop(), (QUIET, "Done."), (QUIET, "Done."))
    assert (loop.same_replies, loop.empty_replies) == (2, 2)
    played(loop, (QUIET, "Done."), claims=True)
    assert (loop.same_replies, loop.empty_replies) == (1, 1)


def test_a_changed_task_resets_the_reply_counts():
    loop = played(a_loop(), (QUIET, "Done."), (QUIET, "Done."))
    limits.note_turn(loop, QUIET, work=look("F1!", "F2"), reply="Done.", files="same", claims=False)
    assert (loop.same_replies, loop.empty_replies) == (1, 1)


def test_an_unknown_reply_is_not_the_same_as_another():
    loop = played(a_loop(), (QUIET, None), (QUIET, None), (QUIET, None))
    assert (loop.same_replies, loop.empty_replies, loop.quiet_replies) == (0, 0, 3)


@pytest.mark.parametrize("cap", range(10))
@pytest.mark.parametrize("wanted", [1, 3, 50])
def test_patience_ends_before_the_client_does(cap, wanted):
    allowed = limits.patience(Limits(no_progress=wanted), cap)
    assert 1 <= allowed <= wanted
    # The first block of a row comes with no quiet turn yet, and the client overrides the one after its cap.
    assert cap == 0 or allowed <= max(1, cap - 1)


def test_without_a_cap_the_limit_itself_holds():
    assert limits.patience(Limits(no_progress=50), 0) == 50


@pytest.mark.parametrize(
    ("loop", "cap", "outcome"),
    [
        ({"iteration": 14}, 8, ""),
        ({"iteration": 15}, 8, LIMIT),
        ({"iteration": 16}, 8, LIMIT),
        ({"elapsed_s": 8 * 3600 - 1}, 8, ""),
        ({"elapsed_s": 8 * 3600}, 8, LIMIT),
        ({"no_progress": 2}, 8, ""),
        ({"no_progress": 3}, 8, STALLED),
        ({"no_progress": 1}, 2, STALLED),
        ({"no_progress": 1}, 1, STALLED),
        ({"no_progress": 0}, 1, ""),
        ({"same_replies": 2}, 8, ""),
        ({"same_replies": 3}, 8, STALLED),
        ({"empty_replies": 2}, 8, ""),
        ({"empty_replies": 3}, 8, STALLED),
        ({"iteration": 15, "no_progress": 3}, 8, LIMIT),
    ],
)
def test_limits_trip_at_their_value_and_not_before(loop, cap, outcome):
    tripped, why = limits.tripped(a_loop(**loop), Limits(iterations=15), cap=cap)
    assert tripped == outcome
    assert bool(why) is bool(outcome)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 min"), (59, "0 min"), (3599, "59 min"), (3600, "1 h 00 min"), (28_920, "8 h 02 min")],
)
def test_durations_read_in_hours_and_minutes(seconds, text):
    assert limits.duration(seconds) == text

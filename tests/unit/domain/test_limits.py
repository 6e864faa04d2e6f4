"""The limits and breakers: what counts, what resets, when they trip."""

from __future__ import annotations

from itertools import product

import pytest

from ralphloop.domain import limits
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import BUDGET, LIMIT, PAUSED, RUNNING, STALLED, WAITING, Limits, Turn
from unit.domain.build import a_loop, look
from unit.domain.cases import each

WORK = look("F1", "F2")
TOOL, QUIET = Turn(tools=1), Turn()


@each(
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


@each(("said", "cap"), [("", 8), ("0", 0), ("-3", 0), ("12", 12), (" 5 ", 5), ("many", 8), ("1.5", 8)])
def test_the_cap_of_the_client_is_what_its_variable_says_or_its_own(said, cap):
    assert limits.client_cap(said) == cap


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


@pytest.mark.parametrize(
    "other",
    ["b" + "a" * 99_999, "a" * 99_999 + "b", "a" * 500 + "b" + "a" * 99_499, "a" * 100_001],
    ids=["head", "tail", "middle", "length"],
)
def test_long_replies_differ_by_one_letter(other):
    loop = played(a_loop(), (TOOL, "A" * 100_000), (TOOL, "a" * 100_000))
    assert (loop.same_replies, len(loop.reply) < 30) == (2, True)
    assert played(loop, (TOOL, other)).same_replies == 1


@each("apart", range(1, 200))
def test_replies_differ_by_two_letters_that_changed_places(apart):
    between = "y" * (apart - 1)
    loop = played(a_loop(), (TOOL, f"[x{between} ] done"), (TOOL, f"[ {between}x] done"))
    assert loop.same_replies == 1


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


@pytest.mark.parametrize("turn", [QUIET, TOOL])
@pytest.mark.parametrize("before", [(0, 1, 0), (2, 2, 2)])
def test_a_refused_claim_leaves_the_counts_as_they_were(turn, before):
    loop = a_loop(
        no_progress=before[0], same_replies=before[1], empty_replies=before[2], reply="x", current="F1"
    )
    loop.tasks_seen, loop.files_seen = WORK.digest, "same"
    about = {"reply": "Done.", "files": "other", "claims": False}
    assert not limits.note_turn(loop, turn, work=WORK, refused=True, **about)
    assert (loop.no_progress, loop.same_replies, loop.empty_replies, loop.reply) == (*before, "x")
    assert loop.attempts == {}
    limits.note_turn(loop, turn, work=look("F1!", "F2"), refused=True, **about)
    assert (loop.no_progress, loop.same_replies) == (0, 1)  # another one holds


def test_an_unknown_reply_is_not_the_same_as_another():
    loop = played(a_loop(), (QUIET, None), (QUIET, None), (QUIET, None))
    assert (loop.same_replies, loop.empty_replies, loop.quiet_replies) == (0, 0, 3)


@each(("cap", "wanted"), product(range(10), [1, 3, 50]))
def test_patience_ends_before_the_client_does(cap, wanted):
    allowed = limits.patience(Limits(no_progress=wanted), cap)
    assert 1 <= allowed <= wanted
    # The first block of a row comes with no quiet turn yet, and the client overrides the one after its cap.
    assert cap == 0 or allowed <= max(1, cap - 1)


def test_without_a_cap_the_limit_itself_holds():
    assert limits.patience(Limits(no_progress=50), 0) == 50


@each(
    ("quiet", "cap", "room"),
    [(0, 8, True), (3, 8, True), (4, 8, True), (5, 8, False), (7, 8, False), (1, 2, False), (99, 0, True)],
)
def test_a_breaker_begins_anew_only_where_the_client_lets_another_row_happen(quiet, cap, room):
    assert limits.has_room(a_loop(quiet_replies=quiet), Limits(), cap) is room


@each(
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
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h 00 min"), (28_920, "8 h 02 min")],
)
def test_durations_read_in_hours_and_minutes(seconds, text):
    assert limits.duration(seconds) == text


def a_bill(tokens: int = 0, cost_usd: float = 0.0, *, unpriced=(), **tasks) -> Spent:
    """What was spent; `F1=(tokens, dollars)` is a task's share."""
    spent = Spent()
    spent.tokens, spent.cost_usd, spent.unpriced = tokens, cost_usd, list(unpriced)
    spent.task_tokens = {name: share[0] for name, share in tasks.items()}
    spent.task_cost_usd = {name: share[1] for name, share in tasks.items()}
    return spent


@each(
    ("spent", "given", "outcome"),
    [
        (a_bill(999, 9.99), {}, ""),
        (a_bill(10**12, 10**6), {}, ""),
        (a_bill(999), {"tokens": 1000}, ""),
        (a_bill(1000), {"tokens": 1000}, BUDGET),
        (a_bill(0, 4.99), {"cost_usd": 5.0}, ""),
        (a_bill(0, 5.0), {"cost_usd": 5.0}, BUDGET),
        (a_bill(1000, 0.0), {"tokens": 2000, "cost_usd": 0.01}, ""),
        (a_bill(10**9, 0.0, unpriced=["x"]), {"cost_usd": 0.01}, ""),
        (a_bill(1000, F1=(1000, 9.0)), {"task_tokens": 10, "task_cost_usd": 1.0}, ""),
    ],
)
def test_a_budget_is_spent_at_its_value_and_only_if_it_was_set(spent, given, outcome):
    tripped, why = limits.overspent(spent, Limits(**given))
    assert tripped == outcome
    assert bool(why) is bool(outcome)
    assert Limits(**given).budgeted is bool(given)


@pytest.mark.parametrize(
    ("task", "given", "outcome"),
    [
        ("F1", {}, ""),
        ("F1", {"task_tokens": 1000}, BUDGET),
        ("F1", {"task_tokens": 1001}, ""),
        ("F1", {"task_cost_usd": 2.5}, BUDGET),
        ("F1", {"task_cost_usd": 2.51}, ""),
        ("F2", {"task_tokens": 1, "task_cost_usd": 0.01}, ""),
        ("F1", {"tokens": 1, "cost_usd": 0.01}, ""),
    ],
)
def test_a_task_has_a_share_of_its_own(task, given, outcome):
    spent = a_bill(5000, 10.0, F1=(1000, 2.5))
    tripped, why = limits.task_overspent(spent, task, Limits(**given))
    assert tripped == outcome
    assert bool(why) is bool(outcome)
    assert not outcome or task in why


@each(
    ("loop", "spent", "told"),
    [
        ({"iteration": 7}, None, []),
        ({"iteration": 8}, None, ["iterations"]),
        ({"iteration": 9, "told": ["iterations"]}, None, []),
        ({"elapsed_s": 799.0}, None, []),
        ({"elapsed_s": 800.0}, None, ["running time"]),
        ({}, a_bill(79), []),
        ({}, a_bill(80), ["tokens"]),
        ({}, a_bill(0, 0.8), ["dollars"]),
        ({"told": ["tokens"]}, a_bill(99, 0.99), [("dollars", 99)]),
        ({"iteration": 10}, None, [("iterations", 100)]),
        (
            {"iteration": 8, "elapsed_s": 900.0},
            a_bill(80, 0.8),
            ["iterations", ("running time", 90), "tokens", "dollars"],
        ),
    ],
)
def test_a_limit_that_is_nearly_reached_is_told_once(loop, spent, told):
    loop = a_loop(**loop)
    most = Limits(iterations=10, time_s=1000.0, tokens=100, cost_usd=1.0)
    shares = dict(each if isinstance(each, tuple) else (each, 80) for each in told)
    said = " · ".join(f"{share} % of the {name}" for name, share in shares.items())
    assert limits.warning(loop, most, spent) == said
    assert set(shares) <= set(loop.told)
    assert limits.warning(loop, most, spent) == ""


def test_a_limit_that_is_off_is_never_nearly_reached():
    assert limits.warning(a_loop(), Limits(), a_bill(10**12, 10**6)) == ""


def test_a_model_without_a_price_is_told_once_and_only_if_dollars_are_set():
    loop, spent = a_loop(), a_bill(5, unpriced=["home-made", "other"])
    assert limits.warning(loop, Limits(tokens=100), spent) == ""
    assert limits.warning(loop, Limits(cost_usd=1.0), spent) == "dollars unknown for home-made, other"
    assert limits.warning(loop, Limits(cost_usd=1.0), spent) == ""


def denials(*tools: str, worked=()) -> Turn:
    return Turn(tools=1, denied=[(tool, f"{tool}(x)") for tool in tools], worked=worked)


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([denials("Bash"), denials("Bash")], ""),
        ([denials("Bash"), denials("Bash"), denials("Bash")], "Bash"),
        ([denials("Bash", "Bash", "Bash")], "Bash"),
        ([denials("Bash", "Write"), denials("Bash", "Write")], ""),
        ([denials("Bash", "Write"), denials("Write"), denials("Write")], "Write"),
        ([denials("Bash"), denials("Bash"), Turn(tools=1, worked=["Bash"]), denials("Bash")], ""),
        ([denials("Bash"), denials("Bash"), Turn(tools=1, worked=["Write"]), denials("Bash")], "Bash"),
        ([denials("Bash"), Turn(), denials("Bash"), Turn(), denials("Bash")], "Bash"),
    ],
)
def test_a_tool_that_is_denied_three_times_without_a_success_is_named(turns, found):
    loop = a_loop()
    said = [limits.note_denials(loop, turn, Limits()) for turn in turns]
    assert said[-1] == ((found, f"{found}(x)") if found else ("", ""))
    assert set(said[:-1]) <= {("", "")}


def test_after_it_was_named_a_tool_has_its_tries_again():
    loop = a_loop()
    assert limits.note_denials(loop, denials(*["Bash"] * 3), Limits())[0] == "Bash"
    assert limits.note_denials(loop, denials("Bash", "Bash"), Limits()) == ("", "")
    assert limits.note_denials(loop, denials("Bash"), Limits())[0] == "Bash"


def test_the_number_of_denials_is_a_limit_as_any_other():
    assert limits.note_denials(a_loop(), denials("Bash"), Limits(denials=1))[0] == "Bash"

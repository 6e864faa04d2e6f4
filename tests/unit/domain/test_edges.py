"""The exact places at which a small rule turns: waits, limits, promises, additions, refusals."""

from __future__ import annotations

import pytest

from ralphloop.domain import check_results, limits, outage
from ralphloop.domain.additions import AdditionLimits, excess
from ralphloop.domain.check_results import Refusal, Results
from ralphloop.domain.continuing import promised, share_done
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import BUDGET, LIMIT, STALLED, Limits, Supervision, Task, Turn
from ralphloop.domain.prompt import refused as told
from unit.domain.build import a_list, a_loop, look, words_of
from unit.domain.cases import each

HOUR_S = 3600.0
NOW = 1_000_000.0


@each(
    ("announced", "before", "wait"),
    [
        (0.0, 0, 60.0),  # it is over at this very moment
        (1.0, 0, 1.0),
        (8 * 24 * HOUR_S, 0, 8 * 24 * HOUR_S),
        (8 * 24 * HOUR_S + 1, 0, 60.0),
        (22 * HOUR_S, 1, 22 * HOUR_S),
        (22 * HOUR_S + 1, 1, 120.0),
        (25 * HOUR_S, 1, 120.0),
        (25 * HOUR_S + 1, 1, 25 * HOUR_S + 1),
        (30.0, 1, 120.0),
    ],
)
def test_an_announced_reset_is_believed_within_its_bounds(announced, before, wait):
    assert outage.due(NOW + announced, before=before, first_s=60.0, now=NOW) == NOW + wait


@pytest.mark.parametrize(
    ("loop", "outcome", "why"),
    [
        ({"iteration": 15}, LIMIT, "iteration 15 of 15"),
        ({"elapsed_s": 8 * HOUR_S}, LIMIT, "8 h 00 min of running time used"),
        ({"no_progress": 3}, STALLED, "3 continuations without a tool call or a changed task"),
        ({"same_replies": 3}, STALLED, "the same reply 3 times"),
        ({"empty_replies": 3}, STALLED, "3 near-empty replies in a row"),
        ({}, "", ""),
    ],
)
def test_a_limit_says_what_it_counted(loop, outcome, why):
    assert limits.tripped(a_loop(**loop), Limits()) == (outcome, why)


def test_a_budget_says_what_was_used_of_it():
    spent = Spent()
    spent.tokens, spent.cost_usd = 12, 1.5
    spent.task_tokens, spent.task_cost_usd = {"F1": 7}, {"F1": 0.75}
    assert limits.overspent(spent, Limits(tokens=10)) == (BUDGET, "12 of 10 tokens used")
    assert limits.overspent(spent, Limits(cost_usd=1.25)) == (BUDGET, "$1.50 of $1.25 spent")
    assert limits.task_overspent(spent, "F1", Limits(task_tokens=5)) == (BUDGET, "task F1 used 7 of 5 tokens")
    assert limits.task_overspent(spent, "F1", Limits(task_cost_usd=0.5)) == (
        BUDGET,
        "task F1 cost $0.75 of $0.50",
    )
    assert limits.task_overspent(spent, "F2", Limits(task_tokens=1, task_cost_usd=0.01)) == ("", "")


@pytest.mark.parametrize(
    ("turns", "push", "cap", "outcome"),
    [
        ({}, "a", 8, ""),
        ({"a": 2}, "a", 8, ""),
        ({"a": 3}, "a", 8, STALLED),
        ({"a": 3}, "b", 8, ""),
        ({"a": 1}, "a", 2, STALLED),
        ({}, "a", 1, ""),
        ({"a": 1}, "a", 1, STALLED),
        ({"a": 2}, "a", 0, ""),
        ({"a": 3}, "a", 0, STALLED),
        ({"a": 59}, "b", 8, ""),
        ({"a": 45, "b": 15}, "c", 8, LIMIT),
    ],
)
def test_quick_mode_says_the_same_three_times_and_sixty_times_anything(turns, push, cap, outcome):
    found, why = limits.quick_mode_spent(a_loop(phase_turns=turns), push, Limits(), cap=cap)
    assert (found, bool(why)) == (outcome, bool(outcome))


def test_of_a_reply_its_length_and_a_remainder_are_kept():
    assert limits.reply_mark("") == "0#0"
    assert limits.reply_mark("a") == "1#61"
    assert limits.reply_mark("my key is sk-123") == "16#ae0aec2b901bb029"
    assert limits.reply_mark("\ud800") == "1#eda080"


@pytest.mark.parametrize(
    ("reply", "same"),
    [
        ("  All of it\n IS done ", 2),
        ("all of it is done!", 1),
        ("all of it si done", 1),
        ("\0all of it is done", 1),  # the same number
    ],
)
def test_a_reply_is_the_same_whatever_its_case_and_its_spaces(reply, same):
    loop = a_loop()
    for said in ("All of it is done", reply):
        limits.note_turn(loop, Turn(tools=1), work=look("F1"), reply=said, files="", claims=False)
    assert loop.same_replies == same


@pytest.mark.parametrize(("length", "empty"), [(19, 1), (20, 0)])
def test_a_reply_is_near_empty_below_twenty_characters(length, empty):
    loop = a_loop(reply="x")
    limits.note_turn(loop, Turn(), work=look("F1"), reply="y" * length, files="", claims=False)
    assert (loop.empty_replies, loop.quiet_replies, loop.reply) == (empty, 1, limits.reply_mark("y" * length))


def test_a_tool_call_ends_the_quiet_and_a_missing_reply_is_forgotten():
    loop = a_loop(quiet_replies=4, reply="x", same_replies=2, empty_replies=2)
    limits.note_turn(loop, Turn(tools=1), work=look("F1"), reply=None, files="", claims=False)
    assert (loop.quiet_replies, loop.reply, loop.same_replies, loop.empty_replies) == (0, "", 0, 0)


@pytest.mark.parametrize(
    ("wanted", "cap", "patience"),
    [(50, 8, 7), (3, 8, 3), (3, 3, 2), (3, 1, 1), (3, 2, 1), (3, 0, 3), (0, 8, 1)],
)
def test_patience_is_one_less_than_the_cap_and_at_least_one(wanted, cap, patience):
    assert limits.patience(Limits(no_progress=wanted), cap) == patience


def test_models_without_a_price_are_named_three_at_most_and_cut():
    spent = Spent()
    spent.unpriced = ["m" * 61, "b", "c", "d"]
    said = limits.warning(a_loop(), Limits(cost_usd=9.0), spent)
    assert said == f"dollars unknown for {'m' * 60}, b, c"


@pytest.mark.parametrize(("explicit", "most"), [([1, 5], 1), ([0, 7], 7), ([-1, None], 15)])
def test_a_limit_of_one_is_a_limit(explicit, most):
    assert limits.iteration_limit(2, explicit) == most


@each(
    ("reply", "is_one"),
    [
        ("ALL_TASKS_COMPLETE", True),
        ("", False),
        ("~~~~\n~~~\nALL_TASKS_COMPLETE", False),
        ("~~~\n~~~~\nALL_TASKS_COMPLETE", True),
        ("```x\n```y\nALL_TASKS_COMPLETE", False),
        ("X\nALL_TASKS_COMPLETE", True),
        ("XXX\nALL_TASKS_COMPLETE", True),
        ("``\nALL_TASKS_COMPLETE", True),
        ("``` a `b` c\nALL_TASKS_COMPLETE", True),
        ("ALL_TASKS_COMPLETE\n```\n", False),
        ("ALL_TASKS_COMPLETE\n```\n```\n", False),
        (" ALL_TASKS_COMPLETE", False),
        ("ALL_TASKS_COMPLETE  \n\n", True),
    ],
)
def test_a_promise_is_the_last_line_outside_of_every_fence(reply, is_one):
    assert promised(reply) is is_one


@pytest.mark.parametrize(
    ("fullness", "said"), [(0.705, "the context is 70 % full"), (1.0, "the context is 100 % full")]
)
def test_a_share_of_the_context_is_told_in_whole_percent(fullness, said):
    assert share_done(Supervision(context=0.7), a_loop(), look("F1"), fullness=fullness) == said


def test_terms_that_were_not_said_have_their_usual_values():
    assert Supervision(batch=2).to_json() == {
        "batch": 2, "branch": "", "context": 0.0, "model": "", "usual_model": "",
    }  # fmt: skip


def too_many(*added: str, known: tuple[str, ...] = (), **modified: int) -> list[tuple[int, str]]:
    pinned, present = a_list("1", "1.1"), a_list("1", "1.1", *added)
    return excess(
        pinned, present, known=known, modified={k[1:].replace("_", "."): v for k, v in modified.items()}
    )


def test_a_task_of_one_number_has_tasks_below_it():
    assert too_many("1.9", _1=3) == [(2, "a fourth change of 1")]
    assert too_many("1.9", _1=2) == []
    assert too_many("2", _1=9) == []


def test_an_unrelated_task_is_at_no_depth():
    strict = AdditionLimits(modification_depth=0)
    assert excess(a_list("1"), a_list("1", "2"), known=(), modified={}, limits=strict) == []
    assert excess(a_list("1"), a_list("1", "1.1"), known=(), modified={}, limits=strict) == [
        (1, "an added task beyond depth 0")
    ]


def test_a_first_change_is_one_too_many_where_none_is_allowed():
    none = AdditionLimits(modifications=0)
    assert excess(a_list("1"), a_list("1", "1.1"), known=(), modified={}, limits=none) == [
        (1, "a first change of 1")
    ]
    one = AdditionLimits(modifications=1)
    assert excess(a_list("1"), a_list("1", "1.1"), known=(), modified={}, limits=one) == []


RED = Refusal("F" * 90, why="exited with 1", command="c" * 310, tail="\n  one\nXX\n")


def test_a_long_command_and_a_long_id_are_cut_and_the_output_keeps_its_spaces():
    assert RED.told(2000) == (
        f"The claim of task {'F' * 78} … is refused: `{'c' * 298} …` exited with 1. "
        "The end of its output:\n  one\nXX"
    )


@pytest.mark.parametrize("tail", [80, 81, 200])
def test_output_is_shown_where_eighty_characters_of_it_fit(tail):
    refusal = Refusal("F1", why="x", tail="t" * tail)
    bare = "The claim of task F1 is refused: x."
    fits = len(bare) + 40 + 80
    shown = "t" * tail if tail <= 80 else "… " + "t" * 80
    assert refusal.told(fits) == f"{bare} The end of its output:\n{shown}"
    assert refusal.told(fits - 1) == bare


def test_refusals_share_the_room_and_one_is_always_told():
    pair = [Refusal("F1", why="x"), Refusal("F2", why="y")]
    assert told(pair, 1000) == "The claim of task F1 is refused: x.\n\nThe claim of task F2 is refused: y."
    assert told(pair, 240) == told(pair, 1000)
    assert told(pair, 239) == "The claim of task F1 is refused: x."
    assert told(pair, 10) == "The claim of task F1 is refused: x."
    long = Refusal("F1", why="x", tail="t" * 5000)
    assert len(told([long], 1000)) > 950
    assert len(told([long, long], 1000)) < 1002


@pytest.mark.parametrize(
    ("commands", "shown"),
    [
        (["make"], "`make`"),
        (["a", "b"], "`a`; `b`"),
        (["x" * (check_results.COMMANDS_MAX - 2)], "`" + "x" * (check_results.COMMANDS_MAX - 2) + "`"),
        (["x" * (check_results.COMMANDS_MAX - 1)], "1, shown by `r approve --show`"),
        (["a\nb", "c"], "2, shown by `r approve --show`"),
    ],
)
def test_commands_are_shown_whole_or_not_at_all(commands, shown):
    results = Results()
    results.commands, results.digest = commands, "d"
    assert results.need_person(words_of(command="r")) == (
        f"these checks need your approval: {shown}. Type `/ralphloop:approve d` here, or run `r approve`"
    )


def test_a_fix_of_nothing_known_has_a_depth_of_one():
    task = Task("2", "", marks=["FIX 9"])
    strict = AdditionLimits(fix_depth=1)
    assert excess(a_list("1"), a_list("1", task), known=(), modified={}, limits=strict) == []

"""What a loop keeps and what the person reads at each end, word for word."""

from __future__ import annotations

import pytest

from ralphloop.domain.decide import IDLE, decide
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import (
    BUDGET,
    CANCELLED,
    CAPPED,
    COMPLETE,
    CORRUPT,
    ENDED,
    FAILED,
    INTERRUPTED,
    LIMIT,
    NEEDS_INPUT,
    PAUSED,
    RATE_LIMITED,
    RUNNING,
    STALLED,
    Limits,
    Supervision,
    Task,
    Turn,
)
from ralphloop.domain.situation import Decision
from unit.domain.build import a_ledger, a_loop, a_stop, look, situation
from unit.domain.cases import each
from unit.layouts import SPECKIT, SPECUM

GO_ON = "`ralphloop resume` goes on."
HIGHER = "`ralphloop resume` with a higher limit goes on."
LONG = "word " * 100
OPEN, DONE = look("F1", "F2"), look("F1!", "F2!")
ONE = look("F1")
GIVEN_UP = a_ledger(F1={"state": "set_aside", "why": "the same reply 3 times"})
ASIDE = look("F1", Task("F2", "", depends_on=["F1"]), "F3!", ledger=GIVEN_UP)
ONE_LEFT = look("F1", "F2", ledger=GIVEN_UP)
SPEC = look("1", "2", sequential=True)
QUICK = look("1", phase="design", sequential=True, quick=True)
MANY = look(*(f"F{n}" for n in range(1, 22)))
CIRCLE = look(Task("F1", "", depends_on=["F2"]), Task("F2", "", depends_on=["F1"]))
ASKED = look("F1", "F2", ledger=a_ledger(F1={"question": "which\none?"}, F2={"question": "when?"}))
ASKED_LONG = look("F1", ledger=a_ledger(F1={"question": LONG}))
HELD = look(Task("F1", "", needs_human="a key"))
LEFT_OUT = look("F1!", "F2", ledger=a_ledger(F2="skipped"))


def broken(outcome: str, detail: str = "") -> dict:
    return {"work": OPEN, "turn": Turn(readable=True, broken_off=outcome, detail=detail, resume_at=9.0)}


def denied(*calls: tuple[str, str], **more) -> dict:
    return {
        "work": OPEN,
        "turn": Turn(readable=True, tools=1, denied=calls),
        "limits": Limits(denials=1),
        **more,
    }


def spec(layout: str = SPECUM, **values):
    return a_loop(layout=layout, **values)


def cost(**values) -> Spent:
    spent = Spent()
    for name, value in values.items():
        setattr(spent, name, value)
    return spent


# Each row: the situation; the state, the outcome and the detail that the loop keeps; what the person reads.
ENDS = [
    ("interrupted", broken(INTERRUPTED), PAUSED, INTERRUPTED, "interrupted by the person",
     f"ralphloop demo: paused, because you interrupted it. {GO_ON}"),
    ("capped", broken(CAPPED, "8 stops"), ENDED, CAPPED, "8 stops",
     "ralphloop demo: the client force-ended the last turn (its cap on blocked stops); it is not complete. "
     + GO_ON),
    ("rate limited", broken(RATE_LIMITED, "at 5"), PAUSED, RATE_LIMITED, "at 5",
     "ralphloop demo: a rate limit ended the last turn. It goes on at your next message."),
    ("api error", broken(FAILED, "529\nbusy"), ENDED, FAILED, "529\nbusy",
     f"ralphloop demo: an API error ended the last turn (529 busy). {GO_ON}"),
    ("long api error", broken(FAILED, LONG), ENDED, FAILED, LONG,
     f"ralphloop demo: an API error ended the last turn ({LONG[:118].rstrip()} …). {GO_ON}"),
    ("removed", {"work": OPEN, "fault": "gone"}, ENDED, CANCELLED, "/p/tasks.json is gone", ""),
    ("removed, everything done", {"work": DONE, "fault": "gone"}, ENDED, COMPLETE,
     "state file removed, every box is checked", "ralphloop demo: complete: 2/2 done"),
    ("complete", {"work": DONE}, ENDED, COMPLETE, "", "ralphloop demo: complete: 2/2 done"),
    ("complete without a skipped one", {"work": LEFT_OUT}, ENDED, COMPLETE, "",
     "ralphloop demo: complete: 1/2 done, 1 skipped"),
    ("a spec completes in silence", {"work": look("1!", sequential=True), "loop": spec()},
     ENDED, COMPLETE, "", ""),
    ("asked", {"work": ASKED}, PAUSED, NEEDS_INPUT, "F1, F2",
     ("ralphloop demo: needs you: F1, F2 (which one?). Answer with `ralphloop answer F1 TEXT`, "
     "then send any message.")),
    ("a long question", {"work": ASKED_LONG}, PAUSED, NEEDS_INPUT, "F1",
     (f"ralphloop demo: needs you: F1 ({LONG[:158].rstrip()} …). Answer with `ralphloop answer F1 TEXT`, "
     "then send any message.")),
    ("a task for the person", {"work": HELD}, PAUSED, NEEDS_INPUT, "F1",
     "ralphloop demo: needs you: F1 (a key). Answer with `ralphloop answer F1 TEXT`, then send any message."),
    ("a question without words", {"work": look("F1", ledger=a_ledger(F1={"question": " \n"}))},
     PAUSED, NEEDS_INPUT, "F1",
     "ralphloop demo: needs you: F1. Answer with `ralphloop answer F1 TEXT`, then send any message."),
    ("circle", {"work": CIRCLE}, ENDED, FAILED,
     "F1 waits in a circle for F2; F2 waits in a circle for F1",
     "ralphloop demo: failed: F1 waits in a circle for F2; F2 waits in a circle for F1"),
    ("set aside", {"work": look("F1", "F2", ledger=a_ledger(F1="set_aside", F2="set_aside"))}, ENDED, FAILED,
     "set aside: F1, F2", "ralphloop demo: failed: set aside: F1, F2"),
    ("set aside, with why, and what waits for it", {"work": ASIDE}, ENDED, FAILED,
     "set aside: F1 (the same reply 3 times); F2 depends on F1, which was set aside",
     "ralphloop demo: failed: set aside: F1 (the same reply 3 times); F2 depends on F1, which was set aside"),
    ("stalled with another set aside",
     {"work": ONE_LEFT, "turn": Turn(), "loop": a_loop(tasks_seen=ONE_LEFT.digest, no_progress=2)},
     ENDED, STALLED, "3 continuations without a tool call or a changed task",
     ("ralphloop demo: stalled: 3 continuations without a tool call or a changed task; "
     f"open: F2; set aside: F1 (the same reply 3 times). {GO_ON}")),
    ("skipped", {"work": look("F1", ledger=a_ledger(F1="skipped"))}, ENDED, FAILED,
     "every task was skipped", "ralphloop demo: failed: every task was skipped"),
    ("empty", {"work": look()}, ENDED, FAILED, "the list has no tasks",
     "ralphloop demo: failed: the list has no tasks"),
    ("iterations", {"work": OPEN, "loop": a_loop(iteration=30)}, ENDED, LIMIT, "iteration 30 of 30",
     f"ralphloop demo: limit: iteration 30 of 30; open: F1, F2. {HIGHER}"),
    ("iterations of a long list", {"work": MANY, "loop": a_loop(iteration=30)}, ENDED, LIMIT,
     "iteration 30 of 30",
     "ralphloop demo: limit: iteration 30 of 30; open: "
     + ", ".join(f"F{n}" for n in range(1, 21)) + f" and 1 more. {HIGHER}"),
    ("running time", {"work": OPEN, "loop": a_loop(elapsed_s=8 * 3600.0)}, ENDED, LIMIT,
     "8 h 00 min of running time used",
     f"ralphloop demo: limit: 8 h 00 min of running time used; open: F1, F2. {GO_ON}"),
    ("stalled", {"work": ONE, "turn": Turn(), "loop": a_loop(tasks_seen=ONE.digest, no_progress=2)},
     ENDED, STALLED, "3 continuations without a tool call or a changed task",
     ("ralphloop demo: stalled: 3 continuations without a tool call or a changed task; "
     f"open: F1. {GO_ON}")),
    ("tokens", {"work": OPEN, "spent": cost(tokens=10), "limits": Limits(tokens=10)}, ENDED, BUDGET,
     "10 of 10 tokens used", f"ralphloop demo: budget: 10 of 10 tokens used; open: F1, F2. {HIGHER}"),
    ("a limit comes before a budget",
     {"work": OPEN, "spent": cost(tokens=10), "loop": a_loop(iteration=15), "limits": Limits(tokens=10)},
     ENDED, LIMIT, "iteration 15 of 15",
     f"ralphloop demo: limit: iteration 15 of 15; open: F1, F2. {HIGHER}"),
    ("the attempts of a spec", {"work": SPEC, "loop": spec(attempts={"1": 5})}, ENDED, FAILED,
     "task 1 was tried 5 times", f"Ralph-specum: failed: task 1 was tried 5 times; open: 1, 2. {GO_ON}"),
    ("the tokens of one task of a spec",
     {"work": SPEC, "loop": spec(), "spent": cost(task_tokens={"1": 7}), "limits": Limits(task_tokens=7)},
     ENDED, BUDGET, "task 1 used 7 of 7 tokens",
     f"Ralph-specum: budget: task 1 used 7 of 7 tokens; open: 1, 2. {HIGHER}"),
    ("quick mode", {"work": QUICK, "loop": spec(phase_turns={"design to write": 3})}, ENDED, STALLED,
     "quick mode said the same 3 times in the design phase",
     f"Ralph-specum: stalled: quick mode said the same 3 times in the design phase. {GO_ON}"),
    ("quick mode in all phases", {"work": QUICK, "loop": spec(phase_turns={"a": 30, "b": 30})}, ENDED, LIMIT,
     "quick mode went on 60 times before execution",
     f"Ralph-specum: limit: quick mode went on 60 times before execution. {GO_ON}"),
    ("quick mode for too long", {"work": QUICK, "loop": spec(elapsed_s=8 * 3600.0)}, ENDED, LIMIT,
     "8 h 00 min of running time used", f"Ralph-specum: limit: 8 h 00 min of running time used. {GO_ON}"),
    ("corrupt again",
     {"fault": "line 3", "files": "c", "path": "/p/q/tasks.json", "loop": a_loop(told=["c"])},
     PAUSED, CORRUPT, "line 3",
     f"ralphloop demo: tasks.json is still corrupt; the loop is paused. {GO_ON}"),
    ("corrupt at the limit", {"fault": "line 3", "path": "/p/q/tasks.json", "loop": a_loop(iteration=30)},
     ENDED, LIMIT, "line 3", "ralphloop demo: limit reached with a corrupt tasks.json"),
    ("denied", denied(("Bash", "")), PAUSED, NEEDS_INPUT, "the client denied Bash 1 times",
     ("ralphloop demo: needs you: the client denied Bash 1 times. "
     "Allow it in `/permissions` or the settings, then send any message.")),
    ("denied, with its rule", denied(("Bash", "Bash(ls:*)")), PAUSED, NEEDS_INPUT,
     "the client denied Bash 1 times; the rule to add: Bash(ls:*)",
     ("ralphloop demo: needs you: the client denied Bash 1 times; the rule to add: Bash(ls:*). "
     "Allow it in `/permissions` or the settings, then send any message.")),
    ("denied where nobody watches", denied(("Bash", ""), supervision=Supervision()), PAUSED, NEEDS_INPUT,
     "the client denied Bash 1 times",
     ("ralphloop demo: needs you: the client denied Bash 1 times. Allow it in the settings, "
     "then send any message.")),
    ("denied, with long names", denied((LONG, LONG)), PAUSED, NEEDS_INPUT,
     f"the client denied {LONG[:78].rstrip()} … 1 times; the rule to add: {LONG[:198].rstrip()} …",
     (f"ralphloop demo: needs you: the client denied {LONG[:78].rstrip()} … 1 times; "
     f"the rule to add: {LONG[:198].rstrip()} …. Allow it in `/permissions` or the settings, "
     "then send any message.")),
]  # fmt: skip


@each(
    ("given", "state", "outcome", "detail", "message"),
    [row[1:] for row in ENDS],
    ids=[row[0] for row in ENDS],
)
def test_an_end_is_kept_and_told(given, state, outcome, detail, message):
    answer = decide(situation(**given))
    assert isinstance(answer, Decision)
    loop = answer.loop
    assert (loop.state, loop.outcome, loop.detail) == (state, outcome, detail)
    assert (answer.message, answer.stderr, answer.reason) == (message, "", "")
    assert (answer.blocks, answer.writes, answer.refused, answer.handover) == (False, True, "", "")
    assert answer.status == ("REACHED_LIMIT" if outcome == LIMIT else outcome.upper())


def test_an_end_that_the_transcript_shows_keeps_when_it_is_over():
    assert decide(situation(**broken(RATE_LIMITED))).loop.resume_at == 9.0


def test_a_phase_that_waits_for_the_person_says_why():
    work = look("1", sequential=True, awaiting_approval=True)
    answer = decide(situation(work, loop=spec()))
    assert answer.loop.detail == "awaitingApproval is set in the state file"
    assert (answer.message, answer.status) == ("", "")


def test_a_spec_of_speckit_names_its_limit_on_stderr():
    answer = decide(situation(SPEC, loop=spec(SPECKIT, iteration=30)))
    assert (answer.loop.state, answer.loop.outcome) == (ENDED, LIMIT)
    assert answer.loop.detail == "iteration 30 of 30"
    assert answer.stderr == (
        "[ralph-speckit] Maximum global iterations reached (iteration 30 of 30); open: 1, 2"
    )
    assert answer.message == ""


def test_another_limit_than_that_of_turns_is_called_what_it_is():
    spent = {"elapsed_s": 8 * 3600.0}
    assert decide(situation(SPEC, loop=spec(SPECKIT, **spent))).stderr == (
        "[ralph-speckit] limit reached: 8 h 00 min of running time used; open: 1, 2"
    )
    assert decide(situation(SPEC, loop=spec(**spent))).reason.startswith(
        "ERROR: limit reached: 8 h 00 min of running time used. The loop over demo is at its limit with 2 "
    )


def test_a_spec_of_specum_is_told_once_what_to_write_down_and_then_ends():
    loop = spec(iteration=30)
    first = decide(situation(SPEC, loop=loop))
    assert (first.blocks, first.loop.state, first.loop.told) == (True, RUNNING, [LIMIT])
    assert first.message == "Ralph-specum: limit reached: iteration 30 of 30"
    assert first.reason == (
        "ERROR: Maximum global iterations reached (iteration 30 of 30). The loop over demo is at its limit "
        "with 2 tasks open: 1, 2.\n\n"
        "Recovery options:\n"
        "1. Write down in progress.txt what is done, what failed and what the next step would be, "
        "then stop.\n"
        "2. The person can go on with `ralphloop resume --max-iterations N`.\n"
        "Start no further task. The loop does not ask a second time."
    )
    second = decide(situation(SPEC, loop=first.loop.copy()))
    assert (second.blocks, second.loop.outcome) == (False, LIMIT)
    assert second.message == f"Ralph-specum: limit: iteration 30 of 30; open: 1, 2. {HIGHER}"


def test_a_corrupt_file_is_the_agents_to_repair_once():
    loop = a_loop(iteration=4, told=[f"old {n}" for n in range(120)])
    answer = decide(situation(loop=loop, fault="line 3", files="c", path="/p/q/tasks.json"))
    assert (answer.blocks, answer.loop.iteration, answer.loop.state) == (True, 5, RUNNING)
    assert answer.loop.told == [*(f"old {n}" for n in range(21, 120)), "c"]
    assert answer.message == "ralphloop demo: corrupt tasks.json"
    assert answer.reason == (
        "ERROR: tasks.json of demo cannot be used: line 3\n\n"
        "Recovery options:\n"
        "1. Repair /p/q/tasks.json so that it is valid again (tasks that are done stay marked as done).\n"
        "2. Or let the person end this loop: `ralphloop cancel`.\n"
        "Do nothing else until one of them is done. The loop does not ask a second time."
    )


def test_quick_mode_goes_on_with_its_phase_and_counts_it():
    loop = spec(phase_turns={"research": 9, "design to write": 2})
    answer = decide(situation(QUICK, loop=loop))
    assert answer.loop.phase_turns == {"research": 9, "design to write": 3}
    assert answer.message == "Ralph-specum quick mode | design phase"
    assert answer.reason == (
        "Quick mode is on for demo: do not stop yet. design.md of the design phase is not written: write it, "
        "without questions. Then run `ralphloop specum tasks` (`/ralph-specum:tasks`), which begins what "
        "comes next, and go on like this up to execution."
    )
    after = decide(situation(QUICK, loop=spec(), written=True))
    assert after.loop.phase_turns == {"design written": 1}
    assert after.reason == (
        "Quick mode is on for demo: do not stop yet. design.md exists, so the design phase is written. "
        "Run `ralphloop specum tasks` (`/ralph-specum:tasks`) now: it begins what comes next; then go on "
        "like this up to execution."
    )


def test_the_name_of_a_phase_is_cut():
    work = look("1", phase="p" * 99, sequential=True, quick=True)
    assert decide(situation(work, loop=spec())).loop.phase_turns == {"p" * 38 + " … to write": 1}


def test_completion_without_any_work_is_doubted_once():
    idle = Turn(readable=True)
    first = decide(situation(DONE, loop=a_loop(iteration=3, told=["x"]), turn=idle))
    assert isinstance(first, Decision)
    assert (first.rule, first.blocks, first.refused) == ("complete", True, "completion")
    assert (first.loop.state, first.loop.iteration, first.loop.told) == (RUNNING, 4, ["x", IDLE])
    assert first.message == (
        "ralphloop demo: every task is marked done, and no tool was used since the start"
    )
    assert first.reason == (
        "Every task of demo is marked done in tasks.json, but no tool was used since the loop began. "
        "Look at the work itself: reopen what is not really done, or stop again if all of it is. "
        "This is asked only once."
    )
    second = decide(situation(DONE, loop=first.loop.copy(), turn=idle))
    assert second.loop.outcome == COMPLETE


@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        ({"turn": Turn(readable=True)}, True),
        ({"turn": Turn(readable=False)}, False),
        ({"turn": Turn(readable=True, tools=1)}, False),
        ({"turn": Turn(readable=True), "loop": a_loop(worked=True)}, False),
        ({"turn": Turn(readable=True), "loop": a_loop(told=["other"])}, True),
        ({"turn": Turn(readable=True), "loop": a_loop(iteration=29)}, True),
        ({"turn": Turn(readable=True), "loop": a_loop(iteration=30)}, False),
    ],
)
def test_only_a_loop_that_is_known_to_have_done_nothing_is_doubted(given, blocks):
    assert decide(situation(DONE, **given)).blocks is blocks


def test_a_turn_that_used_no_tool_is_no_work():
    assert not decide(situation(OPEN, turn=Turn(readable=True))).loop.worked
    assert decide(situation(OPEN)).loop.worked


@pytest.mark.parametrize("crons", [0, 1])
def test_a_loop_that_waits_for_its_session_forgets_how_quiet_it_was(crons):
    event = a_stop(background=[("shell", "x")] if not crons else [], crons=crons)
    answer = decide(situation(OPEN, event=event, turn=Turn(), loop=a_loop(quiet_replies=3)))
    assert (answer.rule, answer.loop.quiet_replies) == ("session_still_works", 0)

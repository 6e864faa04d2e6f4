"""What a stop, an answer and their parts say where nothing was said, and what they keep."""

from __future__ import annotations

import pytest

from ralphloop.domain.check_results import Refusal, Results
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import LoopState, StopEvent, Supervision, Task, TaskList, Turn
from ralphloop.domain.prompt import Words
from ralphloop.domain.situation import Decision, Need
from ralphloop.tasklists.features import TRAITS
from unit.domain.build import a_loop, a_stop, situation
from unit.domain.cases import each


def said(thing: object) -> dict[str, object]:
    names = getattr(type(thing), "__slots__", None) or type(thing).__annotations__.keys() - {"_"}
    return {name: getattr(thing, name) for name in names}


LOOP = a_loop()

# Each row: what is made, and what it then says.
PLAIN = [
    (lambda: Decision(LOOP), {
        "loop": LOOP, "rule": "", "blocks": False, "reason": "", "message": "", "stderr": "", "task": "",
        "status": "", "refused": "", "handover": "", "writes": True,
    }),
    (Need, {
        "rule": "", "restore": False, "once": False, "checks": "", "set_aside": "", "why": "", "tried": 0,
    }),
    (lambda: StopEvent(session=None, cwd="/p"), {
        "session": None, "cwd": "/p", "transcript": "", "prompt": "", "active": False, "reply": None,
        "background": (), "crons": 0, "planning": False,
    }),
    (Turn, {
        "readable": False, "tools": 0, "denied": (), "worked": frozenset(), "reply": None, "broken_off": "",
        "detail": "", "resume_at": None, "queued": False, "end": 0,
    }),
    (lambda: Refusal("F1", why="red"), {
        "task": "F1", "why": "red", "command": "", "tail": "", "again": False,
        "left_out": False,
    }),
    (Results, {
        "proven": [], "refused": [], "unfinished": [], "waiting": [], "commands": [], "digest": "",
        "trouble": "", "void": "", "blocked": False, "final": False, "red": [], "unprobed": False,
        "doubts": [], "insisted": [],
    }),
    (Spent, {"tokens": 0, "cost_usd": 0.0, "task_tokens": {}, "task_cost_usd": {}, "unpriced": []}),
    (Supervision, {"batch": 0, "branch": "", "context": 0.0, "model": "", "usual_model": ""}),
    (lambda: Task("F1", "t"), {
        "id": "F1", "title": "t", "done": False, "body": "", "steps": (), "marks": (), "verify": (),
        "depends_on": (), "needs_human": "", "model": "", "timeout_s": None, "guarded": False,
        "apart": True,
    }),
    (lambda: TaskList([]), {
        "tasks": [], "sequential": False, "phase": "execution", "quick": False, "awaiting_approval": False,
        "iteration": 0, "max_iterations": None, "max_attempts": None, "epic": "", "verify": (),
        "timeout_s": None,
    }),
    (lambda: Words(command="r", traits=TRAITS, list_path="l"), {
        "command": "r", "traits": TRAITS, "list_path": "l", "notes_path": "", "plugin": "", "run": "",
        "branch": "",
    }),
]  # fmt: skip


@each(("make", "values"), PLAIN)
def test_nothing_is_assumed_that_was_not_said(make, values):
    assert said(make()) == values


@pytest.mark.parametrize(
    ("thing", "values"),
    [
        (Decision, {
            "rule": "r", "blocks": True, "reason": "a", "message": "b", "stderr": "c", "task": "d",
            "status": "e", "refused": "f", "handover": "g", "writes": False,
        }),
        (Need, {"restore": True, "once": True, "checks": "a", "set_aside": "b", "why": "c", "tried": 4}),
        (StopEvent, {
            "session": "s", "cwd": "/p", "transcript": "t", "prompt": "p", "active": True, "reply": "r",
            "background": (("shell", "x"),), "crons": 3, "planning": True,
        }),
        (Turn, {
            "readable": True, "tools": 2, "denied": (("Bash", "r"),), "worked": frozenset(["Read"]),
            "reply": "r", "broken_off": "b", "detail": "d", "resume_at": 5.0, "queued": True, "end": 7,
        }),
        (Supervision, {"batch": 1, "branch": "b", "context": 0.5, "model": "m", "usual_model": "u"}),
    ],
)  # fmt: skip
def test_what_was_said_is_kept(thing, values):
    made = thing(LOOP, **values) if thing is Decision else thing(**values)
    assert {name: value for name, value in said(made).items() if name in values} == values


def test_a_situation_begins_with_nothing_known():
    now = situation()
    assert (now.files, now.fault, now.backup, now.claims, now.notes, now.cap) == ("", "", False, (), (), 8)
    assert (now.unapproved, now.unchecked) == (False, False)
    assert (now.results, now.spent, now.supervision, now.fullness) == (None, None, None, None)


def test_a_situation_keeps_what_it_is_given():
    spent, results, terms = Spent(), Results(), Supervision()
    now = situation(
        files="f", claims=("F1",), unapproved=True, unchecked=True, results=results, spent=spent,
        notes=["n"], cap=3, supervision=terms, fullness=0.5, backup=True, fault="x",
    )  # fmt: skip
    assert (now.files, now.fault, now.backup, now.claims, now.notes, now.cap) == (
        "f", "x", True, ("F1",), ["n"], 3,
    )  # fmt: skip
    assert (now.unapproved, now.unchecked, now.results, now.spent) == (True, True, results, spent)
    assert (now.supervision, now.fullness) == (terms, 0.5)


@each(
    ("make", "values"),
    [
        (Turn, {"tool": 1}),
        (StopEvent, {"cwd": "/p"}),
        (lambda **values: Decision(LOOP, "r", **values), {}),
        (lambda **values: Need("r", **values), {}),
        (Decision, {}),
    ],
)
def test_what_nobody_asked_for_or_must_not_be_missing_is_an_error(make, values):
    """A type checker says so; this is for those who are not read by one."""
    with pytest.raises(AssertionError):
        make(**values)


def test_what_changes_in_one_changes_in_no_other():
    one, other = Turn(tools=1), Turn()
    one.tools, one.queued = 2, True
    assert (other.tools, other.queued, Turn().queued) == (0, False, False)


@pytest.mark.parametrize(
    ("event", "turn", "reply"), [("a", "b", "a"), ("", "b", ""), (None, "b", "b"), (None, None, None)]
)
def test_the_clients_word_on_the_reply_comes_first(event, turn, reply):
    assert situation(event=a_stop(reply=event), turn=Turn(reply=turn)).reply == reply


def test_a_loop_names_its_last_ten_transcripts_each_once():
    loop = a_loop()
    for n in [*range(12), 5]:
        loop.note_transcript(f"t{n}")
    loop.note_transcript("")
    assert loop.transcripts == [f"t{n}" for n in range(2, 12)]


@each(
    ("data", "kept"),
    [
        ({"resume_at": 5}, {"resume_at": 5}),
        ({"resume_at": "5"}, {"resume_at": None}),
        ({"owner": "s"}, {"owner": "s"}),
        ({"owner": 5}, {"owner": None}),
        ({"iteration": 1e15}, {"iteration": 1}),
        ({"iteration": 10**15}, {"iteration": 1}),
        ({"iteration": 10**15 - 1}, {"iteration": 10**15 - 1}),
        ({"iteration": 2.0}, {"iteration": 1}),
        ({"elapsed_s": 2}, {"elapsed_s": 2}),
        ({"elapsed_s": True}, {"elapsed_s": 0.0}),
        ({"worked": 1}, {"worked": False}),
        ({"worked": True}, {"worked": True}),
        ({"told": ["a", 1, None]}, {"told": ["a"]}),
        ({"attempts": {"a": 1, "b": True, "c": "x"}}, {"attempts": {"a": 1}}),
        ({"outcome": "strange"}, {"outcome": None}),
        ({"outcome": "limit"}, {"outcome": "limit"}),
        ({"unknown": 1}, {}),
    ],
)
def test_a_state_keeps_what_fits_and_drops_the_rest(data, kept):
    loop = LoopState.from_json({"id": "L", "state": "running", **data})
    assert {name: getattr(loop, name) for name in kept} == kept


@pytest.mark.parametrize(
    "data", [{}, {"id": "L"}, {"state": "running"}, {"id": "L", "state": "x"}, {"id": ""}]
)
def test_a_state_without_an_id_or_a_known_state_is_none(data):
    with pytest.raises(ValueError, match=r"^not a loop$"):
        LoopState.from_json(data)

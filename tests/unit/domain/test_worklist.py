"""What is closed, what is next, what waits, and which id a task without one gets."""

from __future__ import annotations

import pytest

from ralphloop.domain.ledger import Ledger, name_tasks, settle, survey
from ralphloop.domain.model import (
    ASKED,
    GIVEN,
    OPEN,
    PROVEN,
    SET_ASIDE,
    SKIPPED,
    UNVERIFIED,
    VOUCHED,
    Task,
)
from ralphloop.domain.worklist import Item, Worklist
from unit.domain.build import a_ledger, a_list, look
from unit.domain.cases import each


@each(
    ("task", "known", "state"),
    [
        (Task("F1", ""), {}, OPEN),
        (Task("F1", "", done=True), {}, UNVERIFIED),
        (Task("F1", "", done=True), {"state": GIVEN}, GIVEN),
        (Task("F1", "", done=True), {"state": PROVEN}, PROVEN),
        (Task("F1", "", done=True), {"state": VOUCHED}, VOUCHED),
        (Task("F1", "", done=True), {"state": SKIPPED}, UNVERIFIED),
        (Task("F1", "", done=True), {"question": "?"}, UNVERIFIED),
        (Task("F1", ""), {"state": PROVEN}, OPEN),
        (Task("F1", ""), {"state": UNVERIFIED}, OPEN),
        (Task("F1", ""), {"state": VOUCHED}, VOUCHED),
        (Task("F1", ""), {"state": SKIPPED}, SKIPPED),
        (Task("F1", ""), {"state": SET_ASIDE}, SET_ASIDE),
        (Task("F1", ""), {"state": SKIPPED, "question": "?"}, SKIPPED),
        (Task("F1", ""), {"question": "?"}, ASKED),
        (Task("F1", ""), {"question": "?", "answer": "yes"}, OPEN),
        (Task("F1", "", needs_human="a key"), {}, ASKED),
        (Task("F1", "", needs_human="a key"), {"answer": "here"}, OPEN),
        (Task("F1", "", done=True, needs_human="a key"), {}, UNVERIFIED),
    ],
)
def test_a_task_has_one_state_from_its_file_and_the_ledger(task, known, state):
    ledger = a_ledger(F1=known)
    assert ledger.state(task) == state


@each(
    ("task", "known", "given", "claimed", "reopened", "after"),
    [
        ("F1!", "", False, ["F1"], [], UNVERIFIED),
        ("F1!", "", True, ["F1"], [], GIVEN),
        ("F1!", GIVEN, False, [], [], GIVEN),
        ("F1!", PROVEN, False, [], [], PROVEN),
        ("F1!", SET_ASIDE, False, ["F1"], [], UNVERIFIED),
        ("F1", PROVEN, False, [], ["F1"], ""),
        ("F1", GIVEN, False, [], ["F1"], ""),
        ("F1", VOUCHED, False, [], [], VOUCHED),
        ("F1", SKIPPED, False, [], [], SKIPPED),
        ("F1", "", True, [], [], ""),
    ],
)
def test_claims_and_reopened_tasks_are_told_and_noted_once(task, known, given, claimed, reopened, after):
    ledger = a_ledger(F1=known)
    assert settle(a_list(task), ledger, given=given) == (claimed, reopened)
    assert ledger.tasks["F1"].get("state", "") == after
    assert settle(a_list(task), ledger) == ([], [])


def named(ledger, *titles):
    """The ids of tasks without one; a title with a colon brings its own id."""
    tasks = a_list(*(Task(*title.split(":")) if ":" in title else Task("", title) for title in titles))
    name_tasks(tasks, ledger)
    return [task.id for task in tasks.tasks]


def test_a_task_without_an_id_is_named_by_its_place():
    assert named(Ledger(), "a", "F9:b", "c") == ["1", "F9", "3"]


def test_a_named_task_keeps_its_name_wherever_its_description_goes():
    ledger = Ledger()
    assert named(ledger, "a", "b", "c") == ["1", "2", "3"]
    assert named(ledger, "c", "new", "a", "b") == ["3", "4", "1", "2"]
    assert named(ledger, "b") == ["2"]


def test_a_name_is_never_one_that_the_list_or_the_ledger_uses():
    assert named(Ledger(), "a", "1:b", "2:c") == ["3", "1", "2"]
    ledger = Ledger()
    named(ledger, "a", "b")
    assert named(ledger, "new", "b") == ["3", "2"]


def test_tasks_with_the_same_description_are_still_two_tasks():
    ledger = Ledger()
    assert named(ledger, "a", "a", "b") == ["1", "2", "3"]
    assert named(ledger, "b", "a", "a") == ["3", "1", "2"]


def test_twins_are_not_claimed_and_reopened_at_every_look():
    ledger = Ledger()
    tasks = a_list(Task("", "a", done=True), Task("", "a"))
    name_tasks(tasks, ledger)
    assert settle(tasks, ledger) == (["1"], [])
    assert settle(tasks, ledger) == ([], [])


F = Task

# name: tasks, ledger -> next, asked, why stuck
DEPENDENCIES = {
    "none": ([F("a", ""), F("b", "")], {}, ["a"], [], {}),
    "met": ([F("a", "", done=True), F("b", "", depends_on=["a"])], {}, ["b"], [], {}),
    "met by a task further down": ([F("a", "", depends_on=["b"]), F("b", "")], {}, ["b"], [], {}),
    "vouched counts as met": ([F("a", ""), F("b", "", depends_on=["a"])], {"a": VOUCHED}, ["b"], [], {}),
    "waits for one that waits": (
        [F("c", "", depends_on=["b"]), F("b", "", depends_on=["a"]), F("a", "")], {}, ["a"], [], {}),
    "asked": ([F("a", "", needs_human="key")], {}, [], ["a"], {}),
    "asked, others go on": ([F("a", "", needs_human="key"), F("b", "")], {}, ["b"], ["a"], {}),
    "behind a question": (
        [F("a", "", needs_human="key"), F("b", "", depends_on=["a"])], {}, [], ["a", "b"], {}),
    "behind a question and an open task": (
        [F("a", "", needs_human="k"), F("b", ""), F("c", "", depends_on=["a", "b"])], {}, ["b"],
        ["a", "c"], {}),
    "unknown": (
        [F("a", "", depends_on=["zz"])], {}, [], [], {"a": "depends on zz, which is not in the list"}),
    "set aside": (
        [F("a", ""), F("b", "", depends_on=["a"])], {"a": SET_ASIDE}, [], [],
        {"b": "depends on a, which was set aside"}),
    "skipped": (
        [F("a", ""), F("b", "", depends_on=["a"])], {"a": SKIPPED}, [], [],
        {"b": "depends on a, which was set aside"}),
    "behind a stuck one": (
        [F("a", "", depends_on=["zz"]), F("b", "", depends_on=["a"]), F("c", "")], {}, ["c"], [],
        {"a": "depends on zz, which is not in the list", "b": "waits for a"}),
    "itself": ([F("a", "", depends_on=["a"])], {}, [], [], {"a": "waits in a circle for a"}),
    "circle": (
        [F("a", "", depends_on=["b"]), F("b", "", depends_on=["a"])], {}, [], [],
        {"a": "waits in a circle for b", "b": "waits in a circle for a"}),
    "a question with an unknown dependency": (
        [F("a", "", needs_human="k", depends_on=["zz"])], {}, [], [],
        {"a": "depends on zz, which is not in the list"}),
}  # fmt: skip


@each("case", DEPENDENCIES)
def test_open_tasks_are_ready_or_wait_for_the_person_or_can_never_run(case):
    tasks, known, ready, asked, stuck = DEPENDENCIES[case]
    work = look(*tasks, ledger=a_ledger(**known))
    assert [item.id for item in work.next] == ready
    assert [task for task, _ in work.asked] == asked
    assert dict(work.stuck) == stuck


@pytest.mark.timeout(30)  # one pass per task would take minutes
def test_a_long_chain_in_the_wrong_order_is_sorted_in_one_go():
    size = 20_000
    tasks = [Task(str(n), "", depends_on=[str(n + 1)]) for n in range(size)]
    work = look(*tasks, Task(str(size), "", needs_human="key"))
    assert (work.next, work.stuck, len(work.asked)) == ([], [], 20)


@pytest.mark.parametrize(
    ("tasks", "ready", "asked"),
    [
        (["1", "2"], ["1"], []),
        (["1!", "2"], ["2"], []),
        (["1", "2!"], ["1"], []),
        ([F("1", "", needs_human="k"), "2"], [], ["1"]),
        (["1", F("2", "", needs_human="k"), "3"], ["1"], ["2"]),
        (["1", F("2", "", depends_on=["zz"])], ["1"], []),
    ],
)
def test_a_sequential_list_goes_in_order_up_to_the_first_question(tasks, ready, asked):
    work = look(*tasks, sequential=True)
    assert [item.id for item in work.next] == ready
    assert [task for task, _ in work.asked] == asked
    assert work.stuck == []


def group(marks, *, sequential=True, asked=()):
    """The places handed out together: P is an open [P] task, p a closed one, o a plain open one."""
    tasks = [
        Task(
            str(at),
            "",
            done=mark == "p",
            marks=["P"] if mark in "Pp" else [],
            needs_human="k" * (at in asked),
        )
        for at, mark in enumerate(marks)
    ]
    return [item.place for item in look(*tasks, sequential=sequential).next]


@each(
    ("marks", "places"),
    [
        ("PP", [0, 1]),
        ("PPPPP", [0, 1, 2, 3, 4]),
        ("PPPPPPP", [0, 1, 2, 3, 4]),
        ("pPPo", [1, 2]),
        ("PPoP", [0, 1]),
        ("PpP", [0]),
        ("oPP", [0]),
        ("Po", [0]),
        ("ppp", []),
    ],
)
def test_parallel_tasks_come_in_contiguous_groups_of_at_most_five(marks, places):
    assert group(marks) == places


def test_a_group_stops_before_a_question_and_only_sequential_lists_have_groups():
    assert group("PPP", asked=[2]) == [0, 1]
    assert group("PPP", sequential=False) == [0]


@pytest.mark.parametrize(
    ("tasks", "ledger", "complete"),
    [
        ([], {}, False),
        (["F1!"], {}, True),
        (["F1"], {"F1": VOUCHED}, True),
        (["F1!", "F2"], {}, False),
        (["F1!", "F2"], {"F2": SKIPPED}, True),
        (["F1"], {"F1": SKIPPED}, False),
        (["F1!", "F2"], {"F2": SET_ASIDE}, False),
        (["F1!", F("F2", "", needs_human="k")], {}, False),
    ],
)
def test_a_list_is_complete_when_something_is_closed_and_nothing_is_open_or_set_aside(
    tasks, ledger, complete
):
    assert look(*tasks, ledger=a_ledger(**ledger)).complete is complete


def test_the_figures_tell_closed_unverified_and_open_apart():
    ledger = a_ledger(a=PROVEN, b=GIVEN, e=SKIPPED, f=SET_ASIDE)
    work = look("a!", "b!", "c!", "d", "e", "f", F("g", "", needs_human="k"), ledger=ledger)
    assert (work.total, work.closed, work.open_total) == (7, 3, 2)
    assert (work.proven, work.given, work.vouched) == (1, 1, 0)
    assert (work.skipped, work.set_aside) == (1, [["f", ""]])
    assert work.ready == 1
    assert (work.open_ids, work.index) == (["d", "g"], 3)


@pytest.mark.parametrize(
    "other",
    [
        look("a!", "b", "c"),
        look("a", "b", "c", "d"),
        look("a", "b", "c", ledger=a_ledger(c=SKIPPED)),
        look("a", "b", "x"),
        look("a", "b!", "c"),
    ],
)
def test_the_digest_changes_with_the_states_of_the_tasks(other):
    assert other.digest != look("a", "b", "c").digest


def test_a_worklist_stays_small_and_survives_json():
    tasks = [Task(str(n), "t", body="b", steps=["s"], marks=["P"], verify=["v"]) for n in range(500)]
    work = look(*tasks, ledger=a_ledger(**{"499": {"question": "?"}}), sequential=True, epic="e")
    assert len(work.open_ids) == 20
    again = Worklist.from_json(work.to_json())
    assert again.to_json() == work.to_json()
    assert [item.body for item in again.next] == ["b"] * 5


@pytest.mark.parametrize("kept", [Item, Worklist])
def test_every_field_that_is_read_again_is_named(kept):
    assert sorted(kept.NAMES) == sorted(kept.__annotations__)


def test_a_worklist_that_lacks_a_field_is_none():
    kept = look("a").to_json()
    del kept["epic"]
    with pytest.raises(KeyError):
        Worklist.from_json(kept)


@pytest.mark.parametrize(
    "data", [None, [], 5, {"tasks": [], "names": 3}, {"tasks": {"a": 1}, "names": {"t": 2}}]
)
def test_a_ledger_of_the_wrong_shape_is_empty(data):
    ledger = Ledger.from_json(data)
    assert (ledger.tasks, ledger.names) == ({}, {})


def test_a_ledger_keeps_the_texts_and_drops_the_rest():
    data = {
        "tasks": {"a": {"state": SKIPPED, "question": 5, "answer": ["x"]}},
        "names": {"t": "1", "u": None},
    }
    ledger = Ledger.from_json(data)
    assert ledger.to_json() == {"tasks": {"a": {"state": SKIPPED}}, "names": {"t": "1"}}
    assert survey(a_list("a"), ledger).skipped == 1


@pytest.mark.parametrize(
    ("tasks", "first"),
    [
        ([Task("1.1", ""), Task("1.2", ""), Task("1.1.1", "", marks=["FIX 1.1"])], "1.1.1"),
        ([Task("1.1", ""), Task("1.1.1", "", marks=["FIX 1.1"], done=True), Task("1.2", "")], "1.1"),
        ([Task("1.1", ""), Task("1.2", ""), Task("1.2.1", "", marks=["FIX 1.2"])], "1.1"),
        (
            [Task("1", ""), Task("1.1", "", marks=["FIX 1"]), Task("1.1.1", "", marks=["fix: 1.1"])],
            "1.1.1",
        ),
        ([Task("", ""), Task("2", "", marks=["FIX "])], "1"),
    ],
)
def test_an_open_fix_comes_before_what_it_fixes(tasks: list[Task], first: str) -> None:
    """A task that its check keeps refusing would otherwise be sent until its attempts are used up."""
    assert look(*tasks, sequential=True).next[0].id == first

"""What a decision gets to see of a whole list."""

from __future__ import annotations

import pytest

from ralphloop.domain.model import Task
from unit.domain.build import a_ledger, look
from unit.domain.cases import each

LONG = [f"F{n}" for n in range(1, 31)]


def test_everything_that_a_prompt_says_of_a_task_is_in_its_item():
    task = Task(
        "F2", "Build", body="b", steps=["one", "two"], marks=["VERIFY"], verify=["make"], model="opus",
        needs_human="a key",
    )  # fmt: skip
    (item,) = look("F1!", task, ledger=a_ledger(F2={"answer": "here"})).next
    assert vars(item) == {
        "id": "F2", "title": "Build", "place": 1, "body": "b", "steps": ["one", "two"], "marks": ["VERIFY"],
        "model": "opus", "verify": ["make"], "question": "a key", "answer": "here",
    }  # fmt: skip


def test_a_question_of_the_agent_comes_before_that_of_the_list():
    task = Task("F1", "", needs_human="a key")
    assert look(task, ledger=a_ledger(F1={"question": "which?"})).asked == [["F1", "which?"]]
    assert look(task).asked == [["F1", "a key"]]
    (item,) = look("F1").next
    assert (item.question, item.answer) == ("", "")


def test_what_the_list_says_of_the_run_is_passed_on():
    about = {
        "sequential": True, "phase": "design", "quick": True, "awaiting_approval": True, "iteration": 7,
        "max_attempts": 4, "epic": "e",
    }  # fmt: skip
    work = look("1", **about)
    assert {name: getattr(work, name) for name in about} == about
    plain = look("1")
    assert (plain.sequential, plain.phase, plain.quick, plain.awaiting_approval) == (
        False, "execution", False, False,
    )  # fmt: skip
    assert (plain.iteration, plain.max_attempts, plain.epic) == (0, 0, "")


@pytest.mark.parametrize(
    ("tasks", "index"), [([], 0), (["a"], 0), (["a!", "b"], 1), (["a!", "b!"], 2), (["a!", "b", "c"], 1)]
)
def test_the_index_is_the_first_open_place_or_the_end(tasks, index):
    assert look(*tasks).index == index


@pytest.mark.parametrize(
    ("task", "checkable"), [(Task("a", "", verify=["make"]), True), (Task("a", "", guarded=True), False)]
)
def test_a_list_is_checkable_when_one_task_has_a_check(task, checkable):
    assert look("x", task, "y").checkable is checkable


def test_messages_name_twenty_tasks_of_each_kind():
    asked = look(*LONG, ledger=a_ledger(**{name: {"question": "?"} for name in LONG}))
    assert [task for task, _ in asked.asked] == LONG[:20]
    assert (asked.open_ids, asked.open_total) == (LONG[:20], 30)
    aside = look(*LONG, ledger=a_ledger(**dict.fromkeys(LONG, "set_aside")))
    assert aside.set_aside == [[name, ""] for name in LONG[:20]]
    stuck = look(*(Task(name, "", depends_on=["gone"]) for name in LONG))
    assert [task for task, _ in stuck.stuck] == LONG[:20]


def seen(*tasks: Task | str, **known: str | dict[str, str]):
    work = look(*tasks, ledger=a_ledger(**known))
    return [item.id for item in work.next], [task for task, _ in work.asked], work.stuck


def needs(name: str, *others: str, **more) -> Task:
    return Task(name, "", depends_on=others, **more)


@each(
    ("tasks", "known", "ready", "asked", "stuck"),
    [
        ([needs("a", "x"), "b"], {}, ["b"], [], [["a", "depends on x, which is not in the list"]]),
        ([needs("a", "b"), "b"], {"b": "skipped"}, [], [], [["a", "depends on b, which was set aside"]]),
        ([needs("a", "b"), "b"], {"b": "set_aside"}, [], [], [["a", "depends on b, which was set aside"]]),
        ([needs("a", "b"), "b!"], {}, ["a"], [], []),
        ([needs("a", "b"), "b"], {}, ["b"], [], []),
        ([needs("a", "b"), "b"], {"b": {"question": "?"}}, [], ["b", "a"], []),
        ([needs("a", "b"), "b", "c"], {"b": {"question": "?"}}, ["c"], ["b", "a"], []),
        ([needs("a", "b"), needs("b", "x")], {}, [], [],
         [["a", "waits for b"], ["b", "depends on x, which is not in the list"]]),
        ([needs("a", "b", "c"), needs("b", "x"), "c"], {}, ["c"], [],
         [["a", "waits for b"], ["b", "depends on x, which is not in the list"]]),
        ([needs("a", "b", "c"), needs("b", "x"), needs("c", "x")], {}, [], [],
         [["a", "waits for b, c"], ["b", "depends on x, which is not in the list"],
          ["c", "depends on x, which is not in the list"]]),
        ([needs("a", "b"), needs("b", "c"), needs("c", "x")], {}, [], [],
         [["a", "waits for b"], ["b", "waits for c"], ["c", "depends on x, which is not in the list"]]),
        ([needs("a", "b"), needs("b", "a"), "c"], {}, ["c"], [],
         [["a", "waits in a circle for b"], ["b", "waits in a circle for a"]]),
        ([needs("a", "b"), needs("b", "c"), needs("c", "b")], {}, [], [],
         [["a", "waits in a circle for b"], ["b", "waits in a circle for c"],
          ["c", "waits in a circle for b"]]),
        ([needs("a", "a")], {}, [], [], [["a", "waits in a circle for a"]]),
        ([needs("a", "b", "c"), needs("b", "a"), needs("c", "a")], {}, [], [],
         [["a", "waits in a circle for b, c"], ["b", "waits in a circle for a"],
          ["c", "waits in a circle for a"]]),
        ([needs("a", "x", "b"), needs("b", "y"), needs("c", "b"), needs("d", "b"), needs("e", "c", "b")], {},
         [], [], [["a", "depends on x, which is not in the list"],
                  ["b", "depends on y, which is not in the list"], ["c", "waits for b"],
                  ["d", "waits for b"], ["e", "waits for c, b"]]),
        ([needs("a", "b", "c"), needs("b", "x"), needs("c", "x"), needs("d", "c")], {}, [], [],
         [["a", "waits for b, c"], ["b", "depends on x, which is not in the list"],
          ["c", "depends on x, which is not in the list"], ["d", "waits for c"]]),
        ([Task("a", ""), Task("b", "", marks=["FIX a"])], {}, ["a"], [], []),
        ([needs("a", "b"), Task("b", "", done=True, verify=["make"]), "c"], {}, ["c"], ["a"], []),
        ([needs("a", "b", "c"), Task("b", "", done=True, verify=["make"]), "c"], {}, ["c"], ["a"], []),
        ([needs("a", "b"), needs("b", "c"), "c", "d"], {"c": {"question": "?"}}, ["d"], ["c", "b", "a"], []),
        ([needs("a", "b", "c"), "b", "c", "d"], {"b": {"question": "?"}}, ["c"], ["b", "a"], []),
        ([needs("a", "b", "c"), needs("b", "x"), "c"], {"c": {"question": "?"}}, [], ["c"],
         [["a", "waits for b"], ["b", "depends on x, which is not in the list"]]),
        ([needs("a", "b", needs_human="k"), "b"], {}, ["b"], ["a"], []),
        ([needs("a", "x", needs_human="k"), "b"], {}, ["b"], [],
         [["a", "depends on x, which is not in the list"]]),
    ],
)  # fmt: skip
def test_what_a_task_depends_on_decides_where_it_stands(tasks, known, ready, asked, stuck):
    assert seen(*tasks, **known) == (ready, asked, stuck)


def group(*tasks: Task | str, **known) -> list[str]:
    return [item.id for item in look(*tasks, sequential=True, ledger=a_ledger(**known)).next]


def p(name: str, **more) -> Task:
    return Task(name, "", marks=["P"], **more)


@pytest.mark.parametrize(
    ("tasks", "handed_out"),
    [
        ([p("1"), p("2"), "3"], ["1", "2"]),
        ([p("1"), p("2", done=True), p("3")], ["1"]),
        ([p("1"), "2", p("3")], ["1"]),
        (["1", p("2"), p("3")], ["1"]),
        ([p(str(n)) for n in range(1, 8)], ["1", "2", "3", "4", "5"]),
        ([p("1"), p("2"), Task("3", "", marks=["FIX 1"])], ["3"]),
        ([p("1"), Task("2", "", marks=["Fixture", "P"])], ["1", "2"]),
        ([], []),
    ],
)
def test_a_group_is_the_run_of_parallel_tasks_that_the_first_one_opens(tasks, handed_out):
    assert group(*tasks) == handed_out


def test_a_digest_counts_what_is_closed_left_out_and_open():
    ledger = a_ledger(b="skipped", c="set_aside")
    work = look("a!", "b", "c", "d", Task("e", "", done=True, verify=["make"]), "f", ledger=ledger)
    assert work.digest == "2/2/6:d,f"

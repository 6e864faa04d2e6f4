"""The texts of a stop: complete, short enough, and safe to paste into a shell."""

from __future__ import annotations

import subprocess
from itertools import product

import pytest

from ralphloop.domain import prompt
from ralphloop.domain.decide import decide
from ralphloop.domain.model import GIVEN, LIMIT, PROVEN, VOUCHED, Limits, Task
from ralphloop.tasklists import specum
from unit.domain.build import a_ledger, a_loop, a_stop, look, situation, usual_words, words_of
from unit.domain.cases import each
from unit.layouts import FEATURES, SPECKIT, SPECUM

REASON_MAX = 10_000
HUGE = "lorem ipsum " * 10_000


def reason_for(*tasks, layout=FEATURES, words=None, notes=(), ledger=None):
    work = look(*tasks, sequential=layout != FEATURES, ledger=ledger)
    words = words or usual_words(layout)
    return prompt.continuation(a_loop(layout=layout, iteration=3), work, limit=30, words=words, notes=notes)


def test_a_reason_says_what_to_do_how_it_is_checked_and_how_to_claim_it():
    task = Task("F5", "Add a login page", steps=["open it", "log in"], verify=["make test", "make lint"])
    said = reason_for("F1!", task)
    for part in (
        "Loop demo, iteration 3 of 30: go on with task F5 (2/2).",
        "F5: Add a login page\n1. open it\n2. log in",
        "`make test`; `make lint`",
        "`ralphloop done F5`",
        '"passes": true in tasks.json',
        "note what you did in progress.txt",
        "`ralphloop ask F5 'TEXT'`",
        "decide, note the assumption",
    ):
        assert part in said


@pytest.mark.parametrize(("layout", "kind"), [(SPECUM, "spec"), (SPECKIT, "feature")])
def test_a_spec_is_continued_with_its_own_task_block(layout, kind):
    said = reason_for(
        "1.1!", Task("1.2", "Build", body="- [ ] 1.2 Build\n  - **Do**: it", marks=["VERIFY"]), layout=layout
    )
    assert f"Continue {kind}: demo (Task 2/2, Iter 3)" in said
    assert "- [ ] 1.2 Build\n  - **Do**: it" in said
    assert "its box checked" in said
    assert "[VERIFY]" in said.replace("- [ ]", "")


def test_a_group_names_each_task_and_how_to_claim_it():
    said = reason_for(*(Task(str(n), f"t{n}", marks=["P"]) for n in range(1, 4)), layout=SPECUM)
    assert "These 3 tasks are marked [P]" in said
    for n in range(1, 4):
        assert f"{n}: t{n}" in said
        assert f"`ralphloop done {n}`" in said


def test_an_answer_from_the_person_is_passed_on_with_its_question():
    ledger = a_ledger(F1={"question": "Which database?", "answer": "SQLite"})
    assert 'You asked: "Which database?" The answer: SQLite' in reason_for("F1", ledger=ledger)


LARGE = {
    "title": [Task("F1", HUGE)],
    "body": [Task("F1", "t", body=HUGE)],
    "steps": [Task("F1", "t", steps=["step"] * 50_000)],
    "checks": [Task("F1", "t", verify=[f"make {n} " + "x" * 500 for n in range(200)])],
    "one huge check": [Task("F1", "t", verify=[HUGE])],
    "group": [Task(f"F{n}", "t", body=HUGE, marks=["P"], verify=[HUGE]) for n in range(1, 6)],
}


@each(("layout", "size"), product([FEATURES, SPECUM], LARGE))
def test_a_huge_task_leaves_room_for_the_check_and_the_claim(size, layout):
    tasks = LARGE[size]
    ledger = a_ledger(**{task.id: {"question": HUGE, "answer": HUGE} for task in tasks})
    said = reason_for(*tasks, layout=layout, notes=[HUGE, "note"] * 20, ledger=ledger)
    assert len(said) < REASON_MAX
    handed_out = tasks if layout == SPECUM else tasks[:1]
    for task in handed_out:
        assert f"`ralphloop done {task.id}`" in said
    assert "`ralphloop ask F1 'TEXT'`" in said
    if tasks[0].verify:
        assert "`" + tasks[0].verify[0][:40] in said


def test_long_paths_and_ids_do_not_push_the_rest_out():
    words = words_of(command="/py " + "d/" * 100, list_path="p/" * 400, notes_path="n/" * 400)
    said = reason_for(
        Task("F" * 100_000, "the task itself", body="the task itself"), words=words, notes=[HUGE] * 9
    )
    assert len(said) < REASON_MAX
    assert "the task itself" in said
    assert "claim it" in said
    assert "A question in your reply does not stop the loop." in said


def test_a_cut_task_says_where_the_rest_is():
    assert "the whole text is in tasks.json" in reason_for(Task("F1", HUGE))
    assert "the whole text" not in reason_for(Task("F1", "short"))


def test_every_reason_of_a_stop_stays_below_the_clients_limit():
    ids = ["x" * 5000 + str(n) for n in range(30)]
    work = look(*ids, sequential=True)
    spec = a_loop(layout=SPECUM, iteration=30)
    at_limit = decide(situation(work, loop=spec, limits=Limits(iterations=30)))
    corrupt = decide(situation(None, loop=a_loop(layout=SPECUM), fault=HUGE, files="f"))
    promise = decide(situation(work, loop=a_loop(layout=SPECUM), event=a_stop(reply="ALL_TASKS_COMPLETE")))
    many = [("shell", HUGE)] * 200
    busy = decide(situation(work, loop=a_loop(layout=SPECUM), event=a_stop(background=many)))
    for answer in (at_limit, corrupt, promise, busy):
        assert answer.blocks
        assert 0 < len(answer.reason) < REASON_MAX
        assert len(answer.message) < 1000
    assert LIMIT in at_limit.loop.told


@each(
    "text",
    [
        "F1", "a b", "", "-x", "it's", '"', "$(touch x)", "`id`", "a;b|c&d", "*", "~", "!x", "\\",
        "a\nb", "é🙂",
        "''", "'", "#x", "a=b", "{a,b}", "[a]", "<>", "\t", "%s",
    ],
)  # fmt: skip
def test_a_shell_reads_an_id_back_as_it_was(text):
    script = "printf %s " + prompt.shell_word(text)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == text


def test_plain_words_stay_unquoted():
    assert prompt.shell_word("/usr/bin/python3.11") == "/usr/bin/python3.11"


DONE = [Task(f"F{n}", "t", done=True, verify=["make"]) for n in range(1, 5)]
LEFT = [Task(f"F{n}", "t", verify=["make"]) for n in range(5, 13)]
PLAIN = [Task(str(n), "t", done=n == 1) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("layout", "tasks", "line"),
    [
        (FEATURES, DONE + LEFT, "ralphloop · iteration 3/30 · 4/12 proven · next F5"),
        (FEATURES, PLAIN, "ralphloop · iteration 3/30 · 1/5 done · next 2"),
        (SPECUM, PLAIN, "Ralph-specum iteration 3 | Task 2/5"),
        (SPECKIT, PLAIN, "Ralph-speckit iteration 3 | Task 2/5"),
    ],
)
def test_the_status_line_of_each_layout(layout, tasks, line):
    ledger = a_ledger(**{task.id: PROVEN for task in DONE})
    work = look(*tasks, sequential=layout != FEATURES, ledger=ledger)
    answer = decide(situation(work, loop=a_loop(layout=layout, iteration=2)))
    assert answer.message == line


def test_a_group_shows_in_the_status_line():
    work = look(*(Task(str(n), "t", marks=["P"]) for n in range(3)), sequential=True)
    line = prompt.status_line(a_loop(iteration=3), work, traits=specum.TRAITS, limit=30)
    assert line == "Ralph-specum iteration 3 | Task 1/3 (PARALLEL GROUP)"


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ([PROVEN, PROVEN], "2/3 proven"),
        ([PROVEN, ""], "1/3 proven (+ 1 unverified)"),
        ([GIVEN, VOUCHED], "0/3 proven (+ 1 given, 1 vouched)"),
    ],
)
def test_what_is_not_proven_is_not_counted_as_proven(states, text):
    ledger = a_ledger(**{f"F{n}": state for n, state in enumerate(states, 1)})
    tasks = [Task("F1", "", done=True, verify=["x"]), Task("F2", "", done=True), "F3"]
    assert prompt.tally(look(*tasks, ledger=ledger)) == text

"""The texts that send an agent on, word for word, and how they keep to their room."""

from __future__ import annotations

import pytest

from ralphloop.domain import prompt
from ralphloop.domain.check_results import Refusal
from ralphloop.domain.model import UNLIMITED, Task
from ralphloop.domain.prompt import CARRY_MAX, NOTES_MAX, REASON_MAX, TASK_MAX
from ralphloop.tasklists.registry import traits
from unit.domain.build import a_ledger, a_loop, look, usual_words, words_of
from unit.domain.cases import each
from unit.layouts import FEATURES, SPECKIT, SPECUM

GROUP = [Task(str(n), f"t{n}", marks=["P"], verify=[f"make {n}"]) for n in (1, 2)]
ASK = (
    "- If something is unclear, decide, note the assumption and go on; what only the person can settle "
    "goes through `ralphloop ask %s 'TEXT'`. A question in your reply does not stop the loop."
)
BARE = words_of()


def reason(*tasks, layout=FEATURES, words=None, ledger=None, limit=30, **more) -> str:
    work = look(*tasks, sequential=layout != FEATURES, ledger=ledger)
    words = words or usual_words(layout)
    return prompt.continuation(a_loop(layout=layout, iteration=3), work, limit=limit, words=words, **more)


def test_a_task_of_a_list_of_features():
    task = Task("F 2", "Build it", steps=["one", "two"], verify=["make\ntest", "lint"])
    assert reason("F1!", task) == (
        "Loop demo, iteration 3 of 30: go on with task F 2 (2/2).\n\n"
        "F 2: Build it\n1. one\n2. two\n\n"
        "- Do this and nothing beyond it.\n"
        "- It must pass: `make test`; `lint`.\n"
        "- When it is really done, claim it: `ralphloop done 'F 2'` "
        '(or set "passes": true in tasks.json).\n'
        "- Commit and note what you did in progress.txt.\n" + ASK % "'F 2'"
    )


def test_a_task_of_which_only_the_id_is_known():
    assert reason("F1", words=BARE, limit=UNLIMITED) == (
        "Loop demo, iteration 3: go on with task F1 (1/1).\n\n"
        "F1\n\n"
        "- Do this and nothing beyond it.\n"
        '- When it is really done, claim it: `ralphloop done F1` (or set "passes": true in tasks.json).\n'
        "- Commit.\n" + ASK % "F1"
    )


@pytest.mark.parametrize(("layout", "kind"), [(SPECUM, "spec"), (SPECKIT, "feature")])
def test_a_group_of_a_spec(layout, kind):
    assert reason(*GROUP, "3", layout=layout) == (
        f"Continue {kind}: demo (Task 1/3, Iter 3)\n"
        "These 2 tasks are marked [P]: work on them in parallel.\n\n"
        "1: t1\n\n2: t2\n\n"
        "- Do these and nothing beyond them. Hand each to an agent `spec-executor`, if there is one, and "
        "look at what it did.\n"
        "- It must pass: `make 1`; `make 2`.\n"
        "- When it is really done, claim it: `ralphloop done 1` or `ralphloop done 2` "
        "(or set its box checked in tasks.json).\n"
        "- Commit and note what you did in progress.txt.\n"
        "- There is nothing to announce at the end: ALL_TASKS_COMPLETE is not needed.\n" + ASK % "1"
    )


@pytest.mark.parametrize(("layout", "plugin"), [(SPECUM, "ralph-specum"), (SPECKIT, "ralph-speckit")])
def test_the_agents_of_a_plugin_are_named_in_full(layout, plugin):
    words = words_of(layout, list_path="tasks.md", plugin=plugin)
    assert f"Hand it to the agent `{plugin}:spec-executor` and look" in reason(
        "1", words=words, layout=layout
    )
    check = Task("1", "t", marks=["VERIFY"])
    assert f"Hand it to the agent `{plugin}:qa-engineer` and look" in reason(
        check, words=words, layout=layout
    )
    several = reason(check, Task("2", "t", marks=["VERIFY"]), words=words, layout=layout)
    assert "qa-engineer" in several


def test_a_list_of_features_has_no_agents_and_no_word_for_its_end():
    said = reason("F1")
    assert "spec-executor" not in said
    assert "ALL_TASKS_COMPLETE" not in said


@pytest.mark.parametrize("layout", [SPECUM, SPECKIT])
def test_a_corrupt_state_is_called_so_where_public_suites_look_for_it(layout):
    said = prompt.recovery(
        a_loop(layout=layout), path="/p/.ralph-state.json", problem="line 3", words=usual_words(layout)
    )
    assert said.startswith("ERROR: Corrupt state file: .ralph-state.json of demo cannot be used: line 3\n\n")


def test_a_check_by_fresh_eyes_has_its_own_rule():
    said = reason(Task("1", "t", body="- [ ] 1 t", marks=["VERIFY"]), layout=SPECUM)
    assert "\n\n- [ ] 1 t\n\n- Do this" in said
    assert "\n- [VERIFY]: check the work so far with fresh eyes; change no other task.\n" in said


@pytest.mark.parametrize(
    ("notes", "line"),
    [
        ("progress.txt", "- Note what you did in progress.txt.\n- Do not commit"),
        ("", "tasks.json).\n- Do not commit"),
    ],
)
def test_where_a_supervisor_commits_the_agent_does_not(notes, line):
    words = words_of(notes_path=notes, branch="work\n1")
    said = reason("F1", words=words)
    assert line in said
    assert (
        "- Do not commit, and stay on the branch `work 1`: ralphloop commits there when a task is closed.\n"
        in said
    )
    assert "- Commit" not in said


@pytest.mark.parametrize(
    ("task", "claim", "ask"),
    [
        ("F1", "`ralphloop done F1` (or set", "ask F1 'TEXT'"),
        ("-f", "`ralphloop done -- -f` (or set", "ask -- -f 'TEXT'"),
        ("i" * 200, f"`ralphloop done {'i' * 200}` (or set", f"ask {'i' * 200} 'TEXT'"),
        ("i" * 201, 'claim it: set "passes": true in tasks.json.', "ask ID 'TEXT'"),
    ],
)
def test_an_id_is_a_word_of_the_command_unless_it_is_too_long(task, claim, ask):
    said = reason(task)
    assert claim in said
    assert ask in said


def test_long_names_are_cut_to_eighty_characters():
    words = words_of(branch="b" * 81)
    said = reason(Task("i" * 81, "t"), words=words)
    assert f"go on with task {'i' * 78} … (1/1).\n\n{'i' * 78} …: t\n" in said
    assert f"the branch `{'b' * 78} …`:" in said


def test_many_checks_are_cut():
    said = reason(Task("F1", "t", verify=["x" * 200] * 9))
    (line,) = [line for line in said.splitlines() if line.startswith("- It must pass: ")]
    assert len(line) == len("- It must pass: ") + 1500 + len(".")


def test_an_answer_stands_below_its_task():
    ledger = a_ledger(F1={"question": "which\none?", "answer": "the\nfirst"})
    said = reason(Task("F1", "t"), ledger=ledger)
    assert '\n\nF1: t\nYou asked: "which one?" The answer: the\nfirst\n\n- Do this' in said


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [("abcdef", 6, "abcdef"), ("abcdef", 5, "abc …"), ("ab    cdef", 7, "ab …"), ("", 0, "")],
)
def test_a_cut_text_is_no_longer_than_it_may_be(text, most, cut):
    assert prompt.cut(text, most) == cut
    assert len(cut) <= most


def test_a_line_is_cut_at_three_hundred():
    assert prompt.line("a \n\t b") == "a b"
    assert prompt.line("x" * 300) == "x" * 300
    assert prompt.line("x" * 301) == "x" * 298 + " …"


@each(
    ("words", "verb", "how"),
    [
        ({}, "resume", "ralphloop resume"),
        ({}, "answer", "ralphloop answer"),
        ({"plugin": "ralphloop"}, "resume", "/ralphloop:resume"),
        ({"plugin": "ralphloop"}, "approve", "/ralphloop:approve"),
        ({"plugin": "ralph-specum"}, "resume", "/ralph-specum:implement"),
        ({"plugin": "ralph-specum"}, "cancel", "/ralph-specum:cancel"),
        ({"run": "my shop"}, "resume", "ralphloop run 'my shop'"),
        ({"run": "shop"}, "answer", "ralphloop answer"),
        ({"run": "shop", "plugin": "ralph-specum"}, "resume", "ralphloop run shop"),
    ],
)
def test_the_person_is_told_the_command_of_the_place_they_are_in(words, verb, how):
    layout = SPECUM if words.get("plugin") == "ralph-specum" else FEATURES
    assert words_of(layout, **words).how(verb) == how


def test_a_person_goes_on_by_a_message_or_by_the_command_of_the_run():
    assert BARE.go_on == "send any message"
    assert words_of(command="r", run="shop").go_on == "`r run shop`"


def test_a_limit_of_a_plugins_loop_is_raised_by_its_own_option():
    words = words_of(SPECUM, plugin="ralph-specum")
    work = look(*(f"{'i' * 40}{n}" for n in range(9)), sequential=True)
    said = prompt.limit_recovery(a_loop(layout=SPECUM), work, why="x", words=words)
    assert "1. Write down in .progress.md what is done" in said
    assert "2. The person can go on with `/ralph-specum:implement --max-global-iterations N`.\n" in said
    ids = ", ".join(work.open_ids)
    assert f"with 9 tasks open: {ids[:298].rstrip()} ….\n" in said


def test_a_problem_is_told_on_one_line_of_its_room():
    said = prompt.recovery(a_loop(), path="/p/q/tasks.json", problem="x\n" * 400, words=usual_words(FEATURES))
    assert said.startswith(f"ERROR: tasks.json of demo cannot be used: {('x ' * 149).rstrip()} …\n\nRecovery")


def test_a_phase_is_told_in_forty_characters():
    work = look("1", phase="p" * 41)
    said = prompt.phase(a_loop(layout=SPECUM), work, written=False, words=usual_words(SPECUM))
    assert f"The phase {'p' * 38} … in its state" in said


@pytest.mark.parametrize(
    ("layout", "iteration", "tasks", "text"),
    [
        (FEATURES, 3, ["i" * 81], f"ralphloop · iteration 3/30 · 0/1 done · next {'i' * 78} …"),
        (FEATURES, 3, ["F1", "F2"], "ralphloop · iteration 3/30 · 0/2 done · next F1"),
        (FEATURES, 3, ["F1!"], "ralphloop · iteration 3/30 · 1/1 done · next the rest of the checks"),
        (SPECUM, 4, GROUP, "Ralph-specum iteration 4 | Task 1/2 (PARALLEL GROUP)"),
        (SPECKIT, 4, ["1!", "2!"], "Ralph-speckit iteration 4 | Task 2/2"),
    ],
)
def test_the_status_line_where_it_is_tight(layout, iteration, tasks, text):
    work = look(*tasks, sequential=layout != FEATURES)
    loop = a_loop(layout=layout, iteration=iteration)
    assert prompt.status_line(loop, work, traits=traits(layout), limit=30) == text


@pytest.mark.parametrize(
    ("limit", "text"), [(30, "3 of 30"), (UNLIMITED - 1, f"3 of {UNLIMITED - 1}"), (UNLIMITED, "3")]
)
def test_turns_without_a_limit_stand_alone(limit, text):
    assert prompt.turns(3, limit, " of ") == text


def test_notes_and_refusals_are_carried_in_their_room():
    red = Refusal("F1", why="red")
    assert prompt.carried([], []) == ""
    assert prompt.carried(["a\nb", "c"], []) == "a b\n\nc"
    assert prompt.carried(["a"], [red]) == "The claim of task F1 is refused: red.\n\na"
    long = prompt.carried(["n" * 1501] * 3, [])
    assert long.startswith("n" * 1498 + " …\n\n" + "n" * 1490)
    assert len(long) == NOTES_MAX
    tail = prompt.carried([], [Refusal("F1", why="red", tail="t" * 9000)])
    assert CARRY_MAX - 60 < len(tail) <= CARRY_MAX


def test_a_long_task_is_cut_to_its_room_and_says_where_the_rest_is():
    said = reason(Task("F1", "t", body="b" * 9000))
    more = "\n(cut here; the whole text is in tasks.json)"
    block = said.split("\n\n")[1]
    assert block == "b" * (TASK_MAX - len(more) - 2) + " …" + more
    assert len(block) == TASK_MAX


def test_a_task_that_just_fits_is_whole():
    assert "cut here" not in reason(Task("F1", "t", body="b" * TASK_MAX))
    assert "cut here" in reason(Task("F1", "t", body="b" * (TASK_MAX + 1)))


def test_two_tasks_share_the_room():
    tasks = [Task(str(n), "t", body="b" * 9000, marks=["P"]) for n in (1, 2)]
    blocks = reason(*tasks, layout=SPECUM).split("\n\n")[1:3]
    assert [len(block) for block in blocks] == [TASK_MAX // 2] * 2


def test_a_long_answer_and_its_question_leave_half_of_the_room_to_the_task():
    ledger = a_ledger(F1={"question": "q" * 400, "answer": "a" * 9000})
    block = reason(Task("F1", "t", body="b" * 9000), ledger=ledger).split("\n\n")[1]
    assert len(block) == TASK_MAX
    assert f'\nYou asked: "{"q" * 298} …" The answer: {"a" * 1998} …' in block
    assert block.count("b") > 2500


def test_notes_stand_before_the_headline_each_cut():
    said = reason("F1", notes=["n" * 2000, "m"])
    assert said.startswith("n" * 1498 + " …\n\nm\n\nLoop demo")
    many = reason("F1", notes=["n" * 1500] * 9)
    assert many.index("\n\nLoop demo") == NOTES_MAX


def test_refusals_stand_first_and_take_what_the_rest_leaves():
    red = Refusal("F1", why="red", command="make", tail="t" * 20_000)
    said = reason(Task("F1", "b"), refusals=[red], notes=["a note"])
    assert said.startswith("The claim of task F1 is refused: `make` red. The end of its output:\n… ttt")
    assert "\n\na note\n\nLoop demo" in said
    assert 8_000 < len(said) <= REASON_MAX


def test_a_refusal_leaves_the_task_a_third():
    red = Refusal("F1", why="red", tail="t" * 20_000)
    said = reason(Task("F1", "t", body="b" * 9000), refusals=[red])
    assert 2_500 < said.count("b") < 3_300
    assert said.count("t" * 5_000) == 1
    assert len(said) <= REASON_MAX


@pytest.mark.parametrize(
    ("how", "alone"), [({"plugin": "ralphloop"}, True), ({"run": "demo"}, True), ({}, False)]
)
def test_a_claim_that_only_the_hook_allows_stands_alone_on_its_line(how, alone):
    words = words_of(**how)
    said = ", alone on its line" if alone else ""
    assert f"claim it: `ralphloop done F1`{said} (or set" in reason("F1", words=words)

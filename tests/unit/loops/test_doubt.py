"""What is doubtful about a task list: checks, dependencies, lines that look like a check."""

from __future__ import annotations

import json
import time
from typing import Any

from ralphloop.domain.ledger import Ledger, name_tasks
from ralphloop.domain.model import TaskList
from ralphloop.loops.doubt import IN_BOXES, IN_FEATURES, bash_only, doubts
from ralphloop.loops.draft import from_text
from ralphloop.loops.inspection import refusals
from ralphloop.tasklists import feature_list, features, specum
from unit.domain.cases import each

UNPROVEN = "nothing can prove what the agent says is done (it counts as unverified)"
IN_A_CIRCLE = 'wait for each other in a circle and can never run: take one out of "depends_on"'
ONLY = "is text and no check: only Verify: and one command in backticks is"


def named(listed: TaskList) -> TaskList:
    name_tasks(listed, Ledger())
    return listed


def of(*tasks: dict[str, Any], **shared: Any) -> list[str]:
    full = [
        {"id": f"F{n}", "description": "x", "verify": f"test -f {n}", **t} for n, t in enumerate(tasks, 1)
    ]
    text = json.dumps({**shared, "features": full})
    listed = named(features.parse({"list": text}))
    return doubts(listed, feature_list.read(text), refusals(listed.commands)[0])


def of_markdown(text: str) -> list[str]:
    draft = from_text("ideas.md", text)
    return doubts(named(draft.listed), feature_list.read(draft.text), {})


def of_boxes(text: str) -> list[str]:
    return doubts(named(specum.parse({"state": '{"phase": "execution"}', "tasks": text})), None, {})


def test_a_list_that_is_fine_raises_no_doubt() -> None:
    assert of({}, {"depends_on": ["F1"]}, {"verify": "bash -c '[[ -f a ]]'"}) == []
    assert of({"verify": []}, {"verify": []}, verify="make test") == []
    assert of_markdown("- Log in\n  - the form\n  - Verify: `make test`\n") == []
    assert of_boxes("- [ ] 1.1 Form\n  - **Verify**: `make`\n- [ ] 1.2 x\n  - **Verify**: `true`\n") == []


@each(
    ("tasks", "told"),
    [
        ([{"verify": ""}], ["F1 has no check"]),
        ([{}, {"verify": []}, {"verify": None}], ["F2, F3 have no check"]),
        ([{"verify": ""}] * 3, ["F1, F2, F3 have no check"]),
        ([{"verify": ""}] * 9, ["no task has a check"]),
        ([{}] + [{"verify": ""}] * 9, ["F2, F3, F4 and 6 more have no check"]),
        ([{"verify": "", "passes": True}, {}], []),  # given: there is nothing to prove
    ],
)
def test_tasks_without_a_check_are_summed_up(tasks: list[dict[str, Any]], told: list[str]) -> None:
    assert of(*tasks) == [f"{who}: {UNPROVEN}. Write {IN_FEATURES}" for who in told]


@each(
    ("tasks", "told"),
    [
        (
            [{"depends_on": ["F1"]}],
            ['F1 depends on itself and can never run: take it out of its "depends_on"'],
        ),
        (
            [{"depends_on": ["F2"]}, {"depends_on": ["F1"]}],
            [f"F1 → F2 → F1 {IN_A_CIRCLE}"],
        ),
        (
            [{"depends_on": ["F2"]}, {"depends_on": ["F3"]}, {"depends_on": ["F2"]}, {"depends_on": ["F1"]}],
            [
                f"F2 → F3 → F2 {IN_A_CIRCLE}",
                "F1, F4 wait behind such a task and can never run either",
            ],
        ),
        (
            [{}, {"depends_on": ["f1x"]}],
            ['F2 depends on "f1x", which is not in the list, and can never run: did you mean F1?'],
        ),
        (
            [{"depends_on": ["1"]}, {"id": "F1+"}],
            ['F1 depends on "1", which is not in the list, and can never run: did you mean F1+?'],
        ),
        (
            [{"depends_on": ["something else"]}],
            [
                (
                    'F1 depends on "something else", which is not in the list, and can never run: '
                    'add it, or take it out of "depends_on"'
                )
            ],
        ),
        (
            [{"id": "login"}, {"depends_on": ["Log in"]}, {"depends_on": ["F2"]}],
            [
                'F2 depends on "Log in", which is not in the list, and can never run: did you mean login?',
                "F3 waits behind such a task and can never run either",
            ],
        ),
        # a question to the person opens no circle, and one task may wait in several
        (
            [{"depends_on": ["F2"], "needs_human": "a key"}, {"depends_on": ["F1"]}],
            [f"F1 → F2 → F1 {IN_A_CIRCLE}"],
        ),
        (
            [{"depends_on": ["F2", "F3"]}, {"depends_on": ["F1"]}, {"depends_on": ["F1"]}],
            [f"F1 → F2 → F1 {IN_A_CIRCLE}", "F3 waits behind such a task and can never run either"],
        ),
        # what is done waits for nothing, and holds nobody up
        ([{"depends_on": ["F2"], "passes": True}, {"depends_on": ["F1"]}], []),
        ([{"depends_on": ["gone"], "passes": True}], []),
    ],
)
def test_dependencies_that_can_never_be_met(tasks: list[dict[str, Any]], told: list[str]) -> None:
    assert of(*tasks) == told


@each(
    ("step", "checked", "is_told"),
    [
        ("Verify: run the tests", False, True),
        ("Verify: run the tests", True, True),
        ("**Verify**: `x` and `y`", True, True),
        ("Verify that the form is there", False, True),
        ("Verify that the form is there", True, False),  # the task has its check, and this says more
        ("Acceptance: it is fast", False, True),
        ("**Acceptance criteria:** it is fast", False, True),
        ("Acceptance: it is fast", True, False),
        ("Test: `npm test`", True, True),
        ("Test: by hand", False, True),
        ("Check: by hand", False, True),
        ("Done when: it is fast", False, True),
        ("Tests are written first", False, False),
        ("Check the form: two fields", False, False),
        ("A form", False, False),
    ],
)
def test_a_line_that_looks_like_a_check_is_told(step: str, checked: bool, is_told: bool) -> None:
    told = of({"steps": ["first", step], **({} if checked else {"verify": ""})})
    said = f'"{step}" in F1 {ONLY}'
    assert (said in told) == is_told
    assert len(told) == is_told + (not checked)


def test_a_label_in_markdown_is_a_line_of_its_own() -> None:
    told = of_markdown("- Log in\n  Acceptance: it is fast\n  more of it\n  **Test:** npm test\n")
    assert told[:2] == [
        f'"Acceptance: it is fast more of it" in F1 {ONLY}',
        f'"**Test:** npm test" in F1 {ONLY}',
    ]


def test_a_tasks_md_is_told_in_its_own_words() -> None:
    told = of_boxes(
        "- [ ] 1.1 Form\n  - **Verify**: run the tests\n"
        "- [ ] 1.2 Cart\n  - **Verify**: `make`\n  ```\n  Test: quoted\n  ```\n"
        "- [ ] 1.2 Cart again\n  - **Verify**: `true`\n- [x] 1.3 done\n"
    )
    assert told == [
        "several tasks are called 1.2: only the first keeps the number; number them anew",
        f'"**Verify**: run the tests" in 1.1 {ONLY}',
        f"1.1 has no check: {UNPROVEN}. Write {IN_BOXES}",
    ]


def test_one_command_for_several_tasks_is_told_unless_it_is_the_lists() -> None:
    same = "`make` is the check of several tasks: F1, F2; green for one, it is green for all"
    assert of({"verify": "make"}, {"verify": ["make", "make"]}) == [same]
    assert of({"verify": "make"}, {"verify": "make"}, verify="make") == []


def test_a_task_without_a_description_is_told() -> None:
    (told,) = of({"description": ""}, {})
    assert told == "F1 has no description: the agent is told nothing; say what is to be done"


@each(
    ("command", "feature"),
    [
        ("[[ -f a ]]", "[["),
        ("true && [[ a = b ]]", "[["),
        ("diff <(a) b", "<("),
        ("cat <<< a", "<<<"),
        ("make &> log", "&>"),
        ("source env.sh && make", "source"),
        ("cd a; source env.sh", "source"),
        ("set -euo pipefail; make", "pipefail"),
        ("for i in {1..5}; do make; done", "{1..5}"),
        ("touch {a..c}", "{1..5}"),
        # what sh knows as well, or hands to another program
        ("[ -f a ]", ""),
        ("bash -c '[[ -f a ]]'", ""),
        ('bash -c "diff <(a) b"', ""),
        ("grep -q '\\[\\[ ' a", ""),
        ("grep '{1..5}' a", ""),
        ("make > log 2>&1", ""),
        ("make && make", ""),
        ("cat source a", ""),
        ("ls resource x", ""),
        ("cat << a\nx\na", ""),
        ("echo ${x}", ""),
    ],
)
def test_a_feature_of_bash_is_seen_outside_of_quotes(command: str, feature: str) -> None:
    assert bash_only(command) == feature


@each(
    ("command", "told"),
    [
        (
            "[[ -f a ]]",
            (
                "the check of F1, `[[ -f a ]]`, works in bash only: it uses `[[`, and sh runs the checks; "
                "write `bash -c '[[ -f a ]]'`"
            ),
        ),
        (
            "[[ 'a' = b ]]",
            (
                "the check of F1, `[[ 'a' = b ]]`, works in bash only: it uses `[[`, and sh runs the "
                "checks; write bash -c '…' around it"
            ),
        ),
        (
            "a\0b",
            (
                "sh refuses the check of F1, `a\ufffdb`, so that it can never pass: "
                "it holds a character that no command can; mend the command"
            ),
        ),
        (
            "x" * 200_000,
            (
                f"sh refuses the check of F1, `{'x' * 38} …`, so that it can never pass: "
                "it is longer than a command can be; mend the command"
            ),
        ),
    ],
)
def test_a_check_that_cannot_work_is_told_with_the_cure(command: str, told: str) -> None:
    assert of({"verify": command}) == [told]


@each("command", ["if true", "make )", "echo 'a", "for x in a; do"])
def test_the_shell_says_itself_what_it_cannot_read(command: str) -> None:
    (told,) = of({"verify": command})
    head = f"sh refuses the check of F1, `{command}`, so that it can never pass: "
    assert told.startswith(head)
    assert told.endswith("; mend the command")
    assert len(told) > len(head) + 30, "what the shell said"


def test_of_the_lists_own_check_it_is_told_too() -> None:
    (told,) = of({}, verify="if true")
    assert told.startswith("sh refuses the check of the list, `if true`")


def test_the_shell_runs_nothing(tmp_path: Any) -> None:
    made = tmp_path / "made"
    commands = [f"touch {made}", f"$(touch {made})", f"set +n\ntouch {made}", f"if touch {made}", "+n", "-s"]
    refusals(commands)
    assert not made.exists()


def circles(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"F{n}",
            "description": "x",
            "verify": f"{n}",
            "depends_on": [f"F{(n + 1) % count}", "F0", f"G{n}"],
        }
        for n in range(count)
    ]


@each(
    "tasks",
    [
        [{"id": f"F{n}", "description": "x", "verify": f"if {n} <("} for n in range(20_000)],
        circles(20_000),
        [{"id": f"F{n}", "steps": ["Verify: x", "Test: y"]} for n in range(20_000)],
        [
            {
                "id": "F" * 1_000_000,
                "description": "x",
                "verify": "set " * 300_000,
                "depends_on": ["z" * 1_000_000],
            }
        ],
    ],
    ids=["commands", "circles", "lines", "long"],
)
def test_a_hostile_list_is_told_in_a_few_short_lines(tasks: list[dict[str, Any]]) -> None:
    text = json.dumps(tasks)
    listed = named(features.parse({"list": text}))
    began = time.monotonic()
    told = doubts(listed, feature_list.read(text), {})
    assert time.monotonic() - began < 30
    assert 0 < len(told) < 20
    assert max(map(len, told)) < 400

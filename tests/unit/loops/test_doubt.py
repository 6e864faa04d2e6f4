"""What is doubtful about a task list: checks, dependencies, lines that look like a check. A list is looked
over once as long as it stays the same, and what was left unread is told."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ralphloop.domain.ledger import Ledger, name_tasks
from ralphloop.domain.model import TaskList
from ralphloop.loops import doubt
from ralphloop.loops.doubt import (
    IN_BOXES,
    IN_FEATURES,
    Looked,
    bash_only,
    doubts,
    look,
    missing_programs,
    refusals,
)  # fmt: skip
from ralphloop.loops.task_list import from_text
from ralphloop.proof import protect
from ralphloop.tasklists import feature_list, features, specum
from unit.domain.cases import each

ENV = {"PATH": "/usr/bin:/bin"}
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


def looked(root: Path, *verify: str, before: Looked | None = None, **shared: Any) -> Looked:
    tasks = [{"id": f"F{n}", "description": "x", "verify": one} for n, one in enumerate(verify, 1)]
    texts = {"list": json.dumps({"features": tasks, **shared})}
    return look(str(root), features.parse(texts), texts, env=ENV, before=before)


def shell(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """One that reads a command by this script, and finds every program."""
    program = folder / "shell"
    program.write_text(f'#!/bin/sh\n[ "$1" = -n ] || exit 0\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr(doubt, "SHELL", str(program))


def test_the_shell_reads_a_list_again_only_once_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = tmp_path / "read"
    shell(tmp_path, monkeypatch, f'printf "%s\\n" "$3" >> {read}')
    first = looked(tmp_path, "make a", "make b")
    assert looked(tmp_path, "make a", "make b", before=first) is first
    assert read.read_text() == "make a\nmake b\n"
    looked(tmp_path, "make c", before=first)
    assert read.read_text() == "make a\nmake b\nmake c\n"


def test_checks_that_there_was_no_time_to_read_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell(tmp_path, monkeypatch, "sleep 1.2")
    monkeypatch.setattr(doubt, "ALL_READ_S", 1.0)
    told = looked(tmp_path, "make a", "make b", "make c").doubts
    assert told == ("only the first 1 of 3 checks were read by `sh -n`",)


def test_more_checks_than_the_shell_reads_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubt, "READ_MOST", 2)
    told = looked(tmp_path, "make a", "make b", "make c").doubts
    assert told == ("only the first 2 of 3 checks were read by `sh -n`",)


def test_what_protect_names_is_told_and_too_many_files_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    found = looked(tmp_path, "make", protect=["a", "gone/**", "[bc]"])
    assert found.doubts == ("`protect` names no file yet: gone/**",)
    assert not found.fault
    monkeypatch.setattr(protect, "FILES_MAX", 1)
    found = looked(tmp_path, "make", protect=["a", "[bc]"])
    assert found.doubts == (found.fault,)
    assert found.fault == "`protect` cannot hold: more than 1 files to protect; name fewer"


def program(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_a_program_that_is_not_there_is_told_with_the_one_that_is_meant(tmp_path: Path) -> None:
    program(tmp_path / "bin", "pytest")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    commands = ["pytset -q", "pytset -k cart", "CI=1 no-such-thing", "pytest -q", "Tests pass", "gerp -q a"]
    meant = {"pytset": "pytest", "no-such-thing": "", "Tests": "test", "gerp": "grep"}
    assert missing_programs(str(tmp_path), commands, env) == meant


FINE = [
    "pytest -q", "test -f a", "[ -f a ]", "[[ -f a ]]", "if true; then true; fi", "cd web && nosuch", ":",
    "./run-tests", "bin/nosuch -q", "/opt/nosuch", "~/nosuch", "$TOOL -q", "${TOOL:-nosuch} -q", ". ./env",
    "'no such' -q", "nosuch -q || true", "nosuch | grep -q x", "nosuch; true", "nosuch & wait", "(nosuch)",
    "{ nosuch; }", "! nosuch -q", "`which nosuch` -q", "$(which nosuch) -q", "nosuch() { :; }; nosuch",
    "PATH=./bin nosuch", "A=1 PATH=./bin nosuch", "A=$B nosuch", "command -v nosuch", "exec true", "",
    "true\nnosuch", "nosuch \\\n  && true", "env nosuch", "sh -c 'nosuch'", "local-tool -q", "# nosuch",
    "case a in a) nosuch;; esac", "for one in a; do nosuch; done", "export A=1", "trap - EXIT", "nöten -q",
    '"$TOOL" -q', "eval nosuch", "-q nosuch",
]  # fmt: skip


@each("command", FINE)
def test_no_alarm_is_false(tmp_path: Path, command: str) -> None:
    program(tmp_path / "bin", "pytest")
    program(tmp_path / "tools", "local-tool")
    env = {"PATH": f"tools:{tmp_path / 'bin'}:/usr/bin:/bin"}
    assert missing_programs(str(tmp_path), [command], env) == {}


def test_a_missing_program_is_told_once_for_all_its_checks(tmp_path: Path) -> None:
    told = looked(tmp_path, "nosuch 1", "nosuch 2", "true", "nosuch 3", "nosuch 4").doubts
    cure = "install it, mend the check, or let a task bring it"
    assert told == (
        f"there is no program `nosuch` on PATH, so the check of F1, F2, F4 and 1 more cannot pass: {cure}",
    )


def test_without_a_path_or_a_shell_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_programs(str(tmp_path), ["nosuch"], {}) == {}
    assert missing_programs(str(tmp_path / "gone"), ["nosuch"], ENV) == {}
    monkeypatch.setattr(doubt, "SHELL", str(tmp_path / "no-shell"))
    assert missing_programs(str(tmp_path), ["nosuch"], ENV) == {}


@each(
    ("command", "told"),
    [
        ("pytest || true", "the check of F1, `pytest || true`, is weak: `|| true` makes it green"),
        (
            "pytest | tee log",
            (
                "the check of F1, `pytest | tee log`, is weak: "
                "only the last command of its pipe decides, and that is `tee`"
            ),
        ),
        ("pytest && echo ok", ""),
        ("true", ""),  # a check is still to be written
    ],
)
def test_a_weak_check_is_told(command: str, told: str) -> None:
    assert of({"verify": command}) == ([told] if told else [])


UNHELD = 'not protected: `"protect": "criteria"` in the list does it'


@each(
    ("files", "shared", "told"),
    [
        (["src/a.py"], {}, ""),
        (["Makefile", "src/a.py"], {}, f"Makefile judges the work and is {UNHELD}"),
        (
            ["tests/a.py", "tests/b.py", "a/b/c.snap", "Makefile", "package.json"],
            {},
            f"Makefile, package.json, tests/a.py and 2 more judge the work and are {UNHELD}",
        ),
        (["tests/a.py", "Makefile"], {"protect": "tests/**"}, f"Makefile judges the work and is {UNHELD}"),
        (["tests/a.py", "Makefile"], {"protect": ["./tests/", "Makefile"]}, ""),
        (["tests/a.py", "Makefile"], {"protect": "criteria"}, ""),
        (["tests/a.py", "Makefile"], {"protect": ["criteria", "x"]}, ""),
        (["qa/a", "src/b"], {"extra": ["qa/**"]}, f"qa/a judges the work and is {UNHELD}"),
        (["Makefile"], {"features": [{"id": "F1", "description": "x"}]}, ""),  # it has no check
    ],
)
def test_what_judges_and_is_not_protected(
    tmp_path: Path, files: list[str], shared: dict[str, Any], told: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    extra = shared.pop("extra", ())
    text = json.dumps({"features": [{"id": "F1", "description": "x", "verify": "make"}], **shared})
    listed = features.parse({"list": text})
    assert doubt.unheld(str(tmp_path), listed, {"list": text}, extra=extra) == told


def test_of_a_list_that_protects_nothing_no_criteria_are_told(tmp_path: Path) -> None:
    (tmp_path / "Makefile").touch()
    text = "- [ ] 1.1 Form\n  - **Verify**: `make`\n"
    listed = specum.parse({"state": '{"phase": "execution"}', "tasks": text})
    assert doubt.unheld(str(tmp_path), listed, {"state": "{}", "tasks": text}) == ""

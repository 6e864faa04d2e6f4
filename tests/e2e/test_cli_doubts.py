"""What is doubtful about a list is told by `new`, `plan --show`, `start` and `run`, in the same words."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from e2e.checking import Asked
from e2e.cli_project import OTHER, SESSION, Done, Project, unfolded
from security.life import CLIENT

# One of each kind, and a task that can run.
DOUBTFUL: dict[str, Any] = {
    "verfy": "make",
    "owner": "me",
    "protect": ["no-such-file"],
    "features": [
        {"id": "F1", "description": "one", "verify": "test -f one"},
        {"id": "F2", "description": "two", "verfy": "true"},
        {"id": "F3", "description": "three", "verify": "if true", "depends_on": ["F4"]},
        {"id": "F4", "description": "four", "verify": "[[ -f four ]]", "depends_on": ["F3"]},
        {"id": "F5", "description": "five", "verify": "test -f five", "depends_on": ["F"], "touches": ["a"]},
        {"id": "F6", "description": "six", "verify": "true", "passes": "true", "steps": ["Verify: it works"]},
    ],
}
WORDS = (
    '"verfy" beside "features" is no known field',
    '"verfy" in F2 is no known field',
    '"passes" of F6 is the text "true"',
    '"touches" is known, and not obeyed yet',
    'unknown fields, kept and not read: "owner"',
    '"Verify: it works" in F6 is text and no check',
    "F2 has no check",
    'F5 depends on "F", which is not in the list',
    "F3 → F4 → F3 wait for each other in a circle",
    "sh refuses the check of F3, `if true`",
    "the check of F4, `[[ -f four ]]`, works in bash only",
    "`protect` names no file yet: no-such-file",
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    found.program("claude", CLIENT)
    return found


def made(project: Project, value: Any = DOUBTFUL) -> list[str]:
    """The list `shop`; what `new` found doubtful about it."""
    project.write("mine.json", json.dumps(value))
    doubts: list[str] = json.loads(project.fine("new", "shop", "--from", "mine.json", "--json"))["doubts"]
    return doubts


def told(out: str, doubts: list[str]) -> list[str]:
    """Those that are in it, on one row or on several."""
    whole = out.replace("\n  ", " ") + "\n"
    return [doubt for doubt in doubts if f"! {doubt}\n" in whole]


def test_all_four_tell_the_same_in_text_and_json(project: Project) -> None:
    doubts = made(project)
    assert [[word for word in WORDS if word in doubt] for doubt in doubts] == [[word] for word in WORDS]
    assert told(project.fine("plan", "--show", "shop"), doubts) == doubts
    assert json.loads(project.fine("plan", "--show", "shop", "--json"))["doubts"] == doubts
    assert told(project.fine("new", "again", "--from", "mine.json"), doubts) == doubts
    started = project.fine("start", "shop", "--session", SESSION, "--yes")
    assert told(started, doubts) == doubts
    assert json.loads(project.fine("start", "again", "--session", OTHER, "--json"))["doubts"] == doubts
    project.fine("cancel", "shop")
    ran = project.run("run", "shop")
    assert told(ran.out, doubts) == doubts


def test_new_says_where_to_mend_it(project: Project) -> None:
    out = project.fine("new", "shop", "--from", "-", stdin=b"- a\n")
    mend = "Mend that in .ralph/loops/shop/feature_list.json; `ralphloop plan --show shop` looks again.\n"
    assert mend in unfolded(out)
    assert "Mend that" not in project.fine("new", "fine", "--from", "-", stdin=b"- a\n  - Verify: `make`\n")


def test_run_tells_them_once_and_as_json_at_the_end(project: Project) -> None:
    doubts = made(project)
    begun = project.run("run", "shop", "--yes", "--json")
    assert begun.data["doubts"] == doubts
    assert not any(doubt in " ".join(begun.err.split()) for doubt in doubts)
    again = project.run("run", "shop", "--json")
    assert again.data["id"] == begun.data["id"], "it went on"
    assert again.data["doubts"] == []


def test_a_spec_is_told_in_its_own_words(project: Project) -> None:
    project.spec(
        tasks="- [ ] 1.1 Form\n  - **Verify**: run the tests\n- [ ] 1.2 Cart\n  - **Verify**: `if`\n"
    )
    doubts = json.loads(project.fine("plan", "--show", "login", "--json"))["doubts"]
    assert [doubt.partition(":")[0] for doubt in doubts] == [
        '"**Verify**',
        "1.1 has no check",
        "sh refuses the check of 1.2, `if`, so that it can never pass",
    ]
    assert told(project.fine("plan", "--show", "login"), doubts) == doubts
    assert told(project.fine("start", "login", "--session", SESSION, "--yes"), doubts) == doubts


def test_they_are_told_before_the_question_and_only_once(project: Project) -> None:
    doubts = made(project, [{"id": "F1", "description": "one", "verify": "if true"}])
    with Asked(project, "start", "shop", "--session", SESSION) as asked:
        code, out = asked.answer("y\n", "Approve them and start? [y/N] ")
    before, _, after = " ".join(out.split()).partition("Approve them and start?")
    assert code == 0, out
    assert f"! {doubts[0]}" in before
    assert "Loop features-shop-" in after
    assert doubts[0] not in after


@pytest.mark.parametrize("command", ["start", "run"])
def test_without_a_terminal_the_commands_come_before_the_error_about_them(
    project: Project, command: str
) -> None:
    made(project, [{"id": "F1", "description": "one", "verify": "test -f a"}])
    done = subprocess.run(
        project.argv(command, "shop"),
        env=project.env(),
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    rows = done.stdout.splitlines()
    assert rows[:2] == ["To prove the tasks, ralphloop would run 1 command here, as you:", "  $ test -f a"]
    assert rows[2].startswith("ralphloop: nothing is approved and nothing started.")


def test_unapproved_tells_them_once_as_well(project: Project) -> None:
    doubts = made(project, [{"id": "F1", "description": "one", "verify": "if true"}])
    out = project.fine("start", "shop", "--session", SESSION, "--unapproved")
    assert unfolded(out).count(f"! {doubts[0]}\n") == 1


@pytest.mark.parametrize(
    ("slip", "said"), [(",\n]}", "a comma before the closing bracket ]"), ("", "in the middle")]
)
def test_a_list_that_was_broken_by_hand_is_told_by_its_place(project: Project, slip: str, said: str) -> None:
    path = project.write(".ralph/loops/shop/feature_list.json", '{"features": [\n {"id": "F1"}' + slip)
    for words in (["plan", "--show", "shop"], ["start", "shop"], ["run", "shop"]):
        error = project.refused(*words)
        assert "feature_list.json is not JSON at line " in error, words
        assert said in error, words
        assert f"({path}). Repair it." in error, words


def test_a_list_that_breaks_on_the_way_is_told_in_the_same_words_by_all(project: Project) -> None:
    path = project.begin() / "feature_list.json"
    path.write_text('{"features": [\n {"id": "F1"},\n]}', encoding="utf-8")
    slip = "a comma before the closing bracket ]; remove that comma"
    said = f"feature_list.json is not JSON at line 3 column 1: {slip}"
    assert project.status()["fault"] == said
    for _ in range(5):
        project.stop()
    assert project.status()["outcome"] == "corrupt"
    shown = " ".join(project.fine("status").split())
    assert f"the tasks cannot be read: {said}" in shown
    assert "Expecting" not in shown
    assert f"the list cannot be read: {said}. Repair {path} first." in project.refused("approve", "shop")


def test_a_plan_fits_80_columns_but_for_commands(project: Project) -> None:
    long = ["a" * 60, "b" * 60]
    tasks = [
        {"id": name, "description": "word " * 40, "needs_human": "why " * 40, "verify": "true " * 30,
         "depends_on": [other, "c" * 60]}
        for name, other in (long, long[::-1])
    ]  # fmt: skip
    name = "n" * 60
    project.write(f".ralph/loops/{name}/feature_list.json", json.dumps(tasks))
    with Asked(project, "plan", "--show", name) as asked:
        rows = asked.end()[1].splitlines()
    assert [row for row in rows if len(row) > 80 and not row.startswith("    $ ")] == []
    assert [row.rstrip() for row in rows if row.startswith("    $ ")] == [
        ("    $ " + "true " * 30).rstrip()
    ] * 2
    assert rows[:2] == [f"{name}: 2 tasks in", "  feature_list.json"]
    assert rows[2] == f"· {'a' * 60}  word word word"


def test_one_task_is_one_task(project: Project) -> None:
    project.write(".ralph/loops/shop/feature_list.json", '[{"description": "a", "verify": "true"}]')
    assert project.fine("plan", "--show", "shop").startswith(
        "shop: 1 task in .ralph/loops/shop/feature_list.json\n· 1  a\n    $ true\n"
    )


def hostile(project: Project) -> Done:
    features = [
        {"id": f"F{n}", "description": "x", f"verfy{n}": 1, "verify": f"if {n}"} for n in range(100_000)
    ]
    evil = {"ver\x1b]0;x\x07fy": 1, "x\n! forged": 2, "v" * 1_000_000: 3}
    project.write("mine.json", json.dumps({**evil, "features": features}))
    return project.run("new", "shop", "--from", "mine.json")


@pytest.mark.slow
def test_a_hostile_list_is_told_in_a_few_plain_lines(project: Project) -> None:
    done = hostile(project)
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) < 30
    assert max(map(len, done.out.splitlines())) < 400
    assert not any(char in done.out for char in "\x1b\x07")
    assert "\n! forged" not in done.out
    assert "! only the first 200 of 100,000 checks were read by `sh -n`\n" in done.out

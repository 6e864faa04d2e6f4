"""`start` with checks: shown, asked for, and run only if the person says yes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.checking import END, ENTER, LIST, Asked, claim, leaving, mark, states, task, write_list
from e2e.cli_project import SESSION, Project, unfolded
from ralphloop.proof.approval import digest

INSIDE = {"CLAUDECODE": "1"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def checked(project: Project) -> Project:
    """A list with two checks that nobody has approved."""
    write_list(project, task("F1", leaving(project)), task("F2", "true"), task("F3"))
    return project


def is_not_armed(project: Project) -> bool:
    return json.loads(project.fine("status", "--json"))["loops"] == [] and not list(
        project.home.rglob("approved.json")
    )


# On a terminal


@pytest.mark.parametrize("yes", ["y", "Y", "yes", " YES "])
def test_yes_approves_and_starts(checked: Project, yes: str) -> None:
    with Asked(checked, "start", "shop", "--session", SESSION) as asked:
        code, said = asked.answer(yes + ENTER)
    assert code == 0
    assert "To prove the tasks, ralphloop would run 2 commands here, as you:" in said
    assert f"  $ {leaving(checked)}\n  $ true\n" in said
    assert "Loop features-shop-" in said
    claim(checked, "F1")
    checked.stop()
    assert mark(checked).read_text() == "run\n"
    assert states(checked)["F1"] == "proven"


@pytest.mark.parametrize(
    "keys", ["n\n", "no\n", ENTER, END, "j\n", "yess\n", "y n\n", "\x1b[A\n", "/ralphloop:approve\n"]
)
def test_anything_else_does_neither(checked: Project, keys: str) -> None:
    before = checked.digest()
    with Asked(checked, "start", "shop") as asked:
        code, said = asked.answer(keys)
    assert code == 1
    assert "ralphloop: nothing is approved and nothing started." in said
    assert checked.digest() == before
    assert is_not_armed(checked)


def test_an_interrupt_leaves_nothing_armed(checked: Project) -> None:
    before = checked.digest()
    with Asked(checked, "start", "shop") as asked:
        code, said = asked.interrupt()
    assert code == 130
    assert "Traceback" not in said
    assert checked.digest() == before


def test_what_was_approved_before_is_not_asked_again(checked: Project) -> None:
    checked.fine("start", "shop", "--yes")
    checked.fine("cancel", "shop")
    with Asked(checked, "start", "shop") as asked:
        code, said = asked.end()
    assert code == 0
    assert "To prove the tasks" not in said
    checked.fine("cancel", "shop")
    write_list(checked, task("F1", leaving(checked)), task("F2", "echo new"))
    with Asked(checked, "start", "shop") as asked:
        code, said = asked.answer("y\n")
    assert code == 0
    assert "would run 1 command here, as you:\n  $ echo new\n(1 more you approved before.)\n" in said


def test_unapproved_asks_and_starts_whatever_the_answer(checked: Project) -> None:
    with Asked(checked, "start", "shop", "--unapproved") as asked:
        code, said = asked.answer("n\n")
    assert code == 0
    assert "! 2 checks are not approved and do not run" in said


def test_a_list_without_checks_is_started_without_a_question(project: Project) -> None:
    write_list(project, task("F1"))
    with Asked(project, "start", "shop") as asked:
        code, said = asked.end()
    assert code == 0
    assert "[y/N]" not in said


HARMFUL = {
    "an escape sequence": ("echo \x1b[2K\x1b[1Ahidden", "\x1b[2K"),
    "a carriage return": ("rm -rf x\recho fine", "\recho fine"),
    "a bell and a backspace": ("echo a\x07\x08b", "\x08"),
    "a title sequence": ("echo \x1b]0;title\x07", "\x1b]"),
    "a reversed reading direction": ("echo \u202etxt.sh", "\u202e"),
    "a control character of eight bits": ("echo \x9b2J", "\x9b"),
    "a line separator": ("true\u2028  $ echo fine", "\u2028"),
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_commands_are_shown_harmlessly(project: Project, kind: str) -> None:
    command, harm = HARMFUL[kind]
    write_list(project, task("F1", command))
    with Asked(project, "start", "shop") as asked:
        _, said = asked.answer("n\n")
    assert harm not in said
    assert "would run 1 command here" in said


def test_every_line_of_a_command_is_shown(project: Project) -> None:
    write_list(project, task("F1", "true\n\n  $ true\nrm -rf build\n" + "\n" * 60 + "echo last"))
    with Asked(project, "start", "shop") as asked:
        _, said = asked.answer("n\n")
    assert "would run 1 command here, as you:\n  $ true\n    \n      $ true\n    rm -rf build\n" in said
    assert "    echo last\n" in said


def test_a_long_command_is_shown_to_its_end(project: Project) -> None:
    command = "echo " + " " * 3000 + "; touch hidden"
    write_list(project, task("F1", command))
    with Asked(project, "start", "shop") as asked:
        _, said = asked.answer("n\n")
    assert command in said


# Without one


def test_without_a_terminal_nothing_is_approved_and_nothing_starts(checked: Project) -> None:
    before = checked.digest()
    done = checked.run("start", "shop")
    assert done.code == 1
    assert f"  $ {leaving(checked)}\n  $ true\n" in done.out
    assert "ralphloop: nothing is approved and nothing started. " in done.err
    assert "`ralphloop start shop --yes` approves these commands" in done.err
    assert done.err.count("\n") == 1
    assert checked.digest() == before
    assert is_not_armed(checked)


def test_json_without_a_terminal_is_refused_in_one_line(checked: Project) -> None:
    assert "nothing is approved and nothing started" in checked.refused("start", "shop", "--json")
    assert is_not_armed(checked)


def test_an_answer_through_a_pipe_is_none(checked: Project) -> None:
    done = checked.run("start", "shop", stdin=b"y\ny\n")
    assert done.code == 1
    assert is_not_armed(checked)


def test_yes_in_a_script_approves(checked: Project) -> None:
    said = checked.fine("start", "shop", "--session", SESSION, "--yes")
    assert f"  $ {leaving(checked)}\n" in said
    (file,) = checked.home.rglob("approved.json")
    assert not list(checked.root.rglob("approved.json"))
    known = json.loads(file.read_text(encoding="utf-8"))["commands"]
    assert {command: facts["by"] for command, facts in known.items()} == {
        leaving(checked): "--yes",
        "true": "--yes",
    }
    claim(checked, "F1")
    checked.stop()
    assert mark(checked).exists()


def test_unapproved_starts_and_says_that_nothing_runs(checked: Project) -> None:
    said = unfolded(checked.fine("start", "shop", "--session", SESSION, "--unapproved"))
    wanted = digest([leaving(checked), "true"])
    assert "! 2 checks are not approved and do not run" in said
    assert f"type `/ralphloop:approve {wanted}` in the client, or run `ralphloop approve shop`" in said
    claim(checked, "F1")
    answer = checked.stop()
    assert answer is not None
    assert "decision" not in answer
    assert checked.status()["outcome"] == "needs_approval"
    assert not mark(checked).exists()
    assert not list(checked.home.rglob("approved.json"))


@pytest.mark.parametrize(
    ("words", "unapproved"), [(("--yes",), []), (("--unapproved",), ["echo one", "echo two"])]
)
def test_json_says_what_is_not_approved(project: Project, words: Any, unapproved: list[str]) -> None:
    write_list(project, task("F1", "echo one", "echo two"), task("F2", "echo one"))
    told = json.loads(project.fine("start", "shop", "--json", *words))
    assert told["unapproved"] == unapproved
    assert told["total"] == 2


def test_a_bad_limit_approves_nothing(checked: Project) -> None:
    assert "add --i-know" in checked.refused("start", "shop", "--yes", "--max-iterations", "0")
    assert is_not_armed(checked)


def test_a_list_that_is_under_way_approves_nothing_new(checked: Project) -> None:
    checked.fine("start", "shop", "--yes")
    write_list(checked, task("F1", "echo other"))
    assert "under way already" in checked.refused("start", "shop", "--yes", "--session", "another")


def test_inside_a_client_the_person_is_told_how(checked: Project) -> None:
    done = checked.run("start", "shop", env=INSIDE)
    assert done.code == 1
    wanted = digest([leaving(checked), "true"])
    assert f"the person must type `/ralphloop:approve {wanted}` in the client" in done.err
    assert is_not_armed(checked)


def test_a_client_with_a_terminal_is_not_asked(checked: Project) -> None:
    """An agent's shell may have a terminal; who sits there is the agent."""
    with Asked(checked, "start", "shop", env=INSIDE) as asked:
        code, said = asked.end()
    assert code == 1
    assert "[y/N]" not in said
    assert is_not_armed(checked)


def test_protected_files_are_counted(project: Project) -> None:
    project.write("tests/a.py", "a\n")
    project.write("tests/b.py", "b\n")
    write_list(project, task("F1", "true"), protect=["tests/*.py"])
    assert "2 protected files are kept as they are now." in project.fine("start", "shop", "--yes")
    kept = [path for path in project.home.rglob("kept/*/protected/*") if path.is_file()]
    assert sorted(path.read_text(encoding="utf-8") for path in kept) == ["a\n", "b\n"]


def test_start_says_which_criteria_are_not_protected_and_what_protects_them(project: Project) -> None:
    for path in ("Makefile", "tests/test_a.py", "tests/test_b.py", "qa/words.txt", "src/app.py"):
        project.write(path, "")
    settings = project.home / ".config/ralphloop/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('criteria = ["qa/**"]\n')
    write_list(project, task("F1", "true"))
    told = unfolded(project.fine("start", "shop", "--yes"))
    named = "Makefile, qa/words.txt, tests/test_a.py and 1 more judge the work and are not protected"
    assert f'{named}: `"protect": "criteria"` in the list does it.' in told
    project.fine("cancel")
    write_list(project, task("F1", "true"), protect="criteria")
    told = unfolded(project.fine("start", "shop", "--strict"))
    assert "4 protected files are kept as they are now." in told
    assert "not protected" not in told


def test_a_criterion_that_was_changed_refuses_the_claim_and_is_put_back(project: Project) -> None:
    check = project.write("check.sh", "test -f work\n")
    write_list(project, task("F1", "sh check.sh"), protect=["criteria"])
    project.fine("start", "shop", "--yes", "--session", SESSION)
    check.write_text("true\n")
    project.write("conftest.py", "")
    answer = project.run("verify", "F1")
    assert answer.code != 0
    assert "check.sh (changed)" in unfolded(answer.out + answer.err)
    assert "conftest.py (added)" in unfolded(answer.out + answer.err)
    assert check.read_text() == "test -f work\n"
    assert not (project.root / "conftest.py").exists()


def test_the_list_itself_is_left_as_it_was(checked: Project) -> None:
    before = (checked.root / LIST).read_bytes()
    checked.fine("start", "shop", "--yes")
    assert (checked.root / LIST).read_bytes() == before


def test_a_check_that_no_terminal_can_show_is_refused_or_approved(project: Project) -> None:
    path = write_list(project, task("F1", "echo X"))
    path.write_text(path.read_text(encoding="utf-8").replace("echo X", "echo \\ud800"), encoding="utf-8")
    assert project.run("start", "shop", "--yes").code in (0, 1)
    assert project.run("start", "shop", "--unapproved").code in (0, 1)

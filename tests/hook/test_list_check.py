"""A list's own check: approved and pinned like any other, and part of every final run."""

from __future__ import annotations

import json

import pytest

from hook.conftest import ProjectFactory
from hook.harness import OWNER, LoopProject, feature
from hook.proven import adding_to, cli, commands_run, events, evidence, known, lines_of, listed
from ralphloop.store import approvals

OWN = "echo looking for all.txt; test -f all.txt"


def begun(project: ProjectFactory, *words: str, verify: object = OWN, **more: object) -> LoopProject:
    """A loop over two tasks that have checks of their own, in a list that has one too."""
    tasks = feature("F1", verify="true"), feature("F2", verify="test -d .")
    found = listed(project, *tasks, armed=False, verify=verify, **more)
    done = cli(found, "start", "demo", "--session", OWNER, *(words or ("--yes",)))
    assert done.returncode == 0, done.stderr
    return found


def test_a_red_check_of_the_list_reopens_no_task_and_keeps_the_loop_going(project: ProjectFactory) -> None:
    found = begun(project)
    for number in (1, 2):
        found.close(number)
        answer = found.turn(f"F{number} is made.")
    for attempt in range(3):
        assert answer.blocks
        assert "The list's own check is red: `echo looking for all.txt; test -f all.txt` exited with 1." in (
            answer.reason
        )
        assert "looking for all.txt" in answer.reason.partition("The end of its output:")[2]
        assert "every task is closed, but the list's own check is not green" in answer.reason
        assert "2/2 proven · next the list's own check" in answer.message
        assert [known(found, name)["state"] for name in ("F1", "F2")] == ["proven", "proven"]
        assert "why: the list's own check is red: `echo looking" in cli(found, "status").stdout
        answer = found.turn(f"I look for the reason, try {attempt}.")
    found.write({"all.txt": ""})
    answer = found.turn("Now it is there.")
    assert not answer.blocks
    assert (found.loop()["outcome"], found.loop()["attempts"]) == ("complete", {})
    last = [one for one in evidence(found) if one["command"] == OWN]
    assert [one["green"] for one in last] == [False] * 4 + [True]
    assert {tuple(one["tasks"]) for one in last} == {()}
    assert all(one["id"].endswith("-list") and one["kind"] == "final" for one in last)
    assert {entry["task"] for entry in events(found, "refused")} == {""}


def test_an_idle_agent_stalls_at_a_red_check_of_the_list(project: ProjectFactory) -> None:
    found = begun(project)
    found.close(1)
    found.close(2)
    assert found.turn("Both are made.").blocks
    said = [found.mute_turn().blocks for _ in range(3)]
    assert said == [True, True, False]
    assert found.loop()["outcome"] == "stalled"


@pytest.mark.parametrize("form", ["one", "several"])
def test_it_runs_once_in_a_final_run_in_both_forms(project: ProjectFactory, form: str) -> None:
    count = project("features").root / "count"
    command = adding_to(count)
    found = begun(project, verify=command if form == "one" else [command, "true", "test -d ."])
    found.close(1)
    assert found.turn().blocks
    assert lines_of(count) == []
    found.close(2)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"
    assert lines_of(count) == ["ran"]


def test_start_shows_it_and_nothing_begins_without_a_yes(project: ProjectFactory) -> None:
    tasks = feature("F1", verify="true"), feature("F2", verify="test -d .")
    found = listed(project, *tasks, armed=False, verify=OWN)
    shown = cli(found, "plan", "--show", "demo").stdout
    assert f"    $ {OWN}" in shown
    assert "the list's own check" in shown
    assert json.loads(cli(found, "plan", "--show", "demo", "--json").stdout)["verify"] == [OWN]
    refused = cli(found, "start", "demo", "--session", OWNER)
    assert refused.returncode == 1
    assert f"$ {OWN}" in refused.stdout + refused.stderr
    assert cli(found, "approve", "demo", "--show").stdout.count(OWN) == 1


def test_unapproved_it_holds_a_loop_that_began_without_approval(project: ProjectFactory) -> None:
    tasks = feature("F1", verify="true"), feature("F2", verify="test -d .")
    found = listed(project, *tasks, armed=False, verify=OWN)
    approvals.approve(found.shelf(), ["true", "test -d ."], by="test")
    assert cli(found, "start", "demo", "--session", OWNER, "--unapproved").returncode == 0
    found.close(1)
    answer = found.turn()
    assert not answer.blocks
    assert (found.loop()["outcome"], OWN in answer.message) == ("needs_approval", True)
    view = json.loads(cli(found, "status", "--json").stdout)["loops"][0]
    assert view["unapproved"] == [OWN]
    assert commands_run(found) == []


def test_in_a_loop_of_an_earlier_version_it_waits_for_the_person_at_the_end(project: ProjectFactory) -> None:
    """That version approved the tasks' checks and never looked at the list's."""
    found = begun(project, "--unapproved")
    approvals.approve(found.shelf(), ["true", "test -d ."], by="test")
    loop = found.the_loop()
    loop.record.unapproved = False
    loop.shelf.put(loop.record, "owned")
    found.close(1)
    answer = found.turn()
    assert "next F2" in answer.message
    assert "checks are not approved and do not run: `/ralphloop:approve`" in answer.message
    assert known(found, "F1")["state"] == "proven"
    found.close(2)
    answer = found.turn("Both are made.")
    assert not answer.blocks
    assert found.loop()["outcome"] == "needs_approval"
    assert f"`{OWN}`" in answer.message
    assert OWN not in commands_run(found)
    found.write({"all.txt": ""})
    assert cli(found, "approve", "--yes").returncode == 0
    assert not found.turn("I go on.").blocks
    assert found.loop()["outcome"] == "complete"
    assert OWN in commands_run(found)


def test_what_the_agent_changes_in_it_is_put_back(project: ProjectFactory) -> None:
    found = begun(project)
    for verify in ("true", None):
        data = json.loads(found.own.read_text())
        data["verify"] = verify
        found.own.write_text(json.dumps({key: value for key, value in data.items() if value}))
        answer = found.turn(f"I wrote {verify} into it.")
        assert "the list (verify)" in answer.message
        assert json.loads(found.own.read_text())["verify"] == OWN
    found.close(1)
    found.close(2)
    assert "The list's own check is red" in found.turn("Both are made.").reason


def test_verify_runs_it_by_hand_and_says_whose_it_is(project: ProjectFactory) -> None:
    found = begun(project)
    done = cli(found, "verify", "--all")
    assert done.returncode == 1
    assert "✗ the list: exited with 1" in done.stdout
    assert json.loads(cli(found, "verify", "--all", "--json").stdout)["list"]["state"] == "red"
    found.write({"all.txt": ""})
    done = cli(found, "verify", "--all")
    assert (done.returncode, "✓ the list: green" in done.stdout) == (0, True)
    assert "the list" not in cli(found, "verify", "F1").stdout


def test_the_report_names_it_as_the_lists(project: ProjectFactory) -> None:
    found = begun(project)
    found.close(1)
    found.close(2)
    assert found.turn("Both are made.").blocks
    found.write({"all.txt": ""})
    assert not found.turn("And now it is green.").blocks
    told = cli(found, "report").stdout
    items = [" ".join(item.split()) for item in told.split("\n- ") if "test -f all.txt" in item]
    assert any("the list" in item and " · red · " in item for item in items)
    assert any("the list" in item and " · green · " in item for item in items)
    facts = json.loads(cli(found, "report", "--format", "json").stdout)
    assert [check["green"] for check in facts["list_evidence"]] == [False, True]
    assert len(facts["final_run"]["evidence"]) >= 1


def test_a_check_that_is_added_is_told_whenever_what_waits_has_changed(project: ProjectFactory) -> None:
    found = begun(project, verify=None)

    def add(name: str) -> None:
        data = json.loads(found.own.read_text())
        data["features"].append(feature(name, verify=f"test -f {name}", passes=True))
        found.own.write_text(json.dumps(data))

    said = "checks are not approved and do not run: "
    add("F3")
    assert said in found.turn("I added F3.").message
    assert said not in found.turn("I go on.").message
    add("F4")
    assert said in found.turn("I added F4.").message


def test_an_end_with_a_red_check_of_the_list_names_it(project: ProjectFactory) -> None:
    found = begun(project)
    for number in (1, 2):
        found.close(number)
        answer = found.turn(f"F{number} is made.")
    while answer.blocks:
        answer = found.turn("It is all there.")
    assert found.loop()["outcome"] == "stalled"
    assert f"the list's own check is red: `{OWN}` exited with 1" in answer.message
    assert "open:" not in answer.message

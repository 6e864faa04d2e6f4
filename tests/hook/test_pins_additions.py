"""Section 5, additions: new tasks are welcome, their checks need the person, and specum's have limits."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, SEQUENTIAL, LoopProject, feature, task_id
from hook.proven import adding_to, boxed, checked, cli, events, known, lines_of, list_file, listed
from ralphloop.proof.approval import digest

every_layout = pytest.mark.parametrize("layout", LAYOUTS)


def add(found: LoopProject, name: str, command: str = "", *, done: bool = False) -> None:
    """What an agent does that finds more to do."""
    if found.layout == "features":
        data = json.loads(found.own.read_text())
        data["features"].append(feature(name, passes=done, **({"verify": command} if command else {})))
        found.own.write_text(json.dumps(data, indent=2) + "\n")
        return
    rows = f"- [{'x' if done else ' '}] {name} Added\n" + (
        f"  - **Verify**: `{command}`\n" if command else ""
    )
    list_file(found).write_text(list_file(found).read_text() + rows)


@every_layout
def test_an_added_task_is_welcome_and_marked(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "true", "")
    new = "F9" if layout == "features" else "2.1"
    add(found, new)
    before = list_file(found).read_bytes()
    answer = found.turn()
    assert answer.blocks
    assert "pinned" not in answer.message
    assert known(found, new) == {"added": "yes"}
    assert "added" not in known(found, task_id(layout, 1))
    assert [row["tasks"] for row in events(found, "added")] == [[new]]
    assert list_file(found).read_bytes() == before
    for number in (1, 2):
        found.close(number)
    assert found.turn().blocks
    assert found.loop()["current"] == new
    list_file(found).write_text(list_file(found).read_text().replace("[ ]", "[x]").replace("false", "true"))
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"
    assert len(events(found, "added")) == 1


@every_layout
def test_an_added_task_that_is_taken_away_again_is_not_missed(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "true", "")
    before = list_file(found).read_bytes()
    add(found, "F9" if layout == "features" else "2.1")
    found.turn()
    list_file(found).write_bytes(before)
    answer = found.turn()
    assert answer.blocks
    assert "pinned" not in answer.message
    assert list_file(found).read_bytes() == before


def test_an_added_check_waits_for_the_person_and_the_rest_goes_on(project: ProjectFactory) -> None:
    ran = project("features").base / "ran"
    found = checked(project, "features", "true", "")
    add(found, "F9", adding_to(ran), done=True)
    answer = found.turn()
    assert answer.blocks
    assert "The checks of F9 wait for the person's approval; go on with the rest." in answer.reason
    assert "next F1" in answer.message
    found.close(1)
    assert "next F2" in found.turn().message
    found.close(2)
    answer = found.turn()
    assert not answer.blocks
    assert f"these checks need your approval: `{adding_to(ran)}`" in answer.message
    assert f"/ralphloop:approve {digest([adding_to(ran)])}" in answer.message
    assert (found.loop()["state"], found.loop()["outcome"]) == ("paused", "needs_approval")
    assert known(found, "F9")["state"] == "claimed"
    assert lines_of(ran) == []
    assert found.turn().silent


@pytest.mark.parametrize("way", ["command", "typed"])
def test_an_added_check_runs_once_the_person_approved_it(project: ProjectFactory, way: str) -> None:
    ran = project("features").base / "ran"
    found = checked(project, "features", "true")
    add(found, "F9", adding_to(ran), done=True)
    found.close(1)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "needs_approval"
    if way == "command":
        assert cli(found, "approve", "--yes").returncode == 0
    else:
        told = found.send("UserPromptSubmit", prompt=f"/ralphloop:approve {digest([adding_to(ran)])}")
        assert re.search("1 check .*approved", told.message)
    found.new_prompt()
    assert "complete: 2/2 proven" in found.turn().message
    assert lines_of(ran) == ["ran"]


def test_a_digest_of_other_commands_approves_nothing(project: ProjectFactory) -> None:
    ran = project("features").base / "ran"
    found = checked(project, "features", "true")
    add(found, "F9", adding_to(ran), done=True)
    found.close(1)
    found.turn()
    told = found.send("UserPromptSubmit", prompt=f"/ralphloop:approve {digest(['something else'])}")
    assert adding_to(ran) in told.message
    assert found.loop()["outcome"] == "needs_approval"
    found.new_prompt()
    assert found.turn().silent
    assert lines_of(ran) == []


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_in_a_sequence_an_added_check_is_not_run_and_nothing_waits(
    project: ProjectFactory, layout: str
) -> None:
    ran = project("features").base / "ran"
    found = checked(project, layout, "true")
    add(found, "2.1", adding_to(ran), done=True)
    found.close(1)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"
    assert known(found, "2.1") == {"added": "yes", "state": "unverified"}
    assert lines_of(ran) == []


@every_layout
def test_pinned_checks_that_nobody_approved_are_not_run(project: ProjectFactory, layout: str) -> None:
    ran = project("features").base / "ran"
    found = checked(project, layout, adding_to(ran), "", armed=False)
    found.arm(approve=False)
    found.close(1)
    answer = found.turn()
    assert lines_of(ran) == []
    if layout == "features":
        assert f"these checks need your approval: `{adding_to(ran)}`" in answer.message
        assert found.loop()["outcome"] == "needs_approval"
        assert cli(found, "approve", "--yes").returncode == 0
        found.new_prompt()
        found.turn()
        assert (known(found, "F1")["state"], lines_of(ran)) == ("proven", ["ran"])
    else:
        assert answer.blocks
        assert known(found, "1.1")["state"] == "unverified"


# Specum's splits and fixes


def spec(project: ProjectFactory, **state: Any) -> LoopProject:
    return boxed(project, "specum", "# Tasks\n\n- [ ] 1.1 One\n- [ ] 1.2 Two\n- [ ] 1.3 Three\n", **state)


def insert(found: LoopProject, after: str, *rows: str) -> str:
    """Put these tasks behind the one that begins so, and say what the file is now."""
    text = list_file(found).read_text()
    end = text.index("\n", text.index(after)) + 1
    text = text[:end] + "".join(f"- [ ] {row}\n" for row in rows) + text[end:]
    list_file(found).write_text(text)
    return text


def test_splits_and_fix_tasks_are_kept(project: ProjectFactory) -> None:
    found = spec(project)
    insert(found, "- [ ] 1.2", "1.2.1 Half", "1.2.2 The other half")
    text = insert(found, "- [ ] 1.1", "1.1.1 [FIX 1.1] a", "1.1.2 [FIX 1.1] b", "1.1.3 [FIX 1.1] c")
    answer = found.turn()
    assert "Task 2/8" in answer.message  # a fix comes before what it fixes
    assert "added" not in answer.message
    assert list_file(found).read_text() == text
    for name in ("1.2.1", "1.2.2", "1.1.1", "1.1.2", "1.1.3"):
        assert known(found, name)["added"] == "yes"
    assert found.rejected() == []


def test_a_fourth_fix_task_is_taken_out_and_named(project: ProjectFactory) -> None:
    found = spec(project)
    kept = insert(found, "- [ ] 1.1", *(f"1.1.{n} [FIX 1.1] again" for n in (1, 2, 3)))
    found.turn()
    changed = insert(found, "- [ ] 1.1.3", "1.1.4 [FIX 1.1] again")
    answer = found.turn()
    told = "Too many added tasks, taken out again (see rejected/): a fourth fix task for 1.1."
    assert told in answer.message
    assert told in answer.reason
    assert list_file(found).read_text() == kept
    assert [path.read_text() for path in found.rejected()] == [changed]
    assert known(found, "1.1.4") == {}
    assert [row["what"] for row in events(found, "restored")] == [[told]]


def test_of_many_fix_tasks_at_once_the_first_are_kept(project: ProjectFactory) -> None:
    found = spec(project)
    insert(found, "- [ ] 1.1", *(f"1.1.{n} [FIX 1.1] again" for n in range(1, 7)))
    assert found.turn().message.count("a fourth fix task for 1.1") == 3
    assert list_file(found).read_text().count("[FIX 1.1]") == 3


def test_a_fix_that_is_too_deep_is_taken_out_and_named(project: ProjectFactory) -> None:
    found = spec(project)
    name, kept = "1.1", ""
    for _ in range(3):
        kept = insert(found, f"- [ ] {name} ", f"{name}.1 [FIX {name}] deeper")
        assert "taken out" not in found.turn().message
        name += ".1"
    insert(found, f"- [ ] {name} ", f"{name}.1 [FIX {name}] too deep")
    assert "a fix task beyond depth 3" in found.turn().message
    assert list_file(found).read_text() == kept


def test_a_split_that_is_too_deep_is_taken_out_and_named(project: ProjectFactory) -> None:
    found = spec(project)
    kept = insert(found, "- [ ] 1.1", "1.1.1 a", "1.1.1.1 b")
    assert "taken out" not in found.turn().message
    insert(found, "- [ ] 1.1.1.1", "1.1.1.1.1 c")
    assert "an added task beyond depth 2" in found.turn().message
    assert list_file(found).read_text() == kept


def test_a_task_is_split_three_times_and_not_a_fourth(project: ProjectFactory) -> None:
    found = spec(project)
    kept = ""
    for number in (1, 2, 3):
        kept = insert(found, "- [ ] 1.3", f"1.3.{number} a part")
        assert "taken out" not in found.turn().message
    insert(found, "- [ ] 1.3", "1.3.4 a part")
    assert "a fourth change of 1.3" in found.turn().message
    assert list_file(found).read_text() == kept


@pytest.mark.parametrize(
    ("field", "most"), [({"maxFixTasksPerOriginal": 1}, 1), ({"maxFixTasksPerOriginal": 99}, 3)]
)
def test_the_state_can_lower_a_limit_and_not_raise_it(
    project: ProjectFactory, field: dict[str, int], most: int
) -> None:
    found = spec(project, **field)
    insert(found, "- [ ] 1.1", *(f"1.1.{n} [FIX 1.1] again" for n in range(1, 6)))
    assert "taken out" in found.turn().message
    assert list_file(found).read_text().count("[FIX 1.1]") == most


def test_speckit_has_the_same_limits(project: ProjectFactory) -> None:
    """Document 3, component D: `maxFixTasksPerOriginal` is 3 there too."""
    found = checked(project, "speckit", "")
    insert(found, "- [ ] 1.1", *(f"1.1.{n} [FIX 1.1] again" for n in range(1, 6)))
    assert "taken out" in found.turn().message
    assert list_file(found).read_text().count("[FIX 1.1]") == 3


def test_an_added_task_without_an_id_is_known_by_its_description(project: ProjectFactory) -> None:
    found = listed(project, {"description": "first"}, {"description": "second"})
    data = json.loads(found.own.read_text())
    data["features"].insert(0, {"description": "new"})
    found.own.write_text(json.dumps(data))
    found.turn()
    ledger = json.loads(found.kept("ledger.json").read_text())
    assert ledger["names"] == {"first": "1", "second": "2", "new": "3"}
    assert {name for name, facts in ledger["tasks"].items() if facts.get("added")} == {"3"}


def test_a_new_task_does_not_make_a_pinned_one_of_the_same_description_an_added_one(
    project: ProjectFactory,
) -> None:
    found = checked(project, "features", "true", "")
    data = json.loads(found.own.read_text())
    data["features"].append({"description": data["features"][0]["description"], "passes": False})
    found.own.write_text(json.dumps(data))
    found.turn()
    (row,) = events(found, "added")
    assert "F1" not in row["tasks"]
    assert "added" not in known(found, "F1")


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_fix_tasks_are_counted_in_the_state(project: ProjectFactory, layout: str) -> None:
    found = boxed(project, layout, "- [ ] 1.1 One\n- [ ] 1.2 Two\n", fixTaskMap={})
    text = list_file(found).read_text()
    list_file(found).write_text(text.replace("- [ ] 1.2", "- [ ] 1.1.1 [FIX 1.1] again\n- [ ] 1.2"))
    found.turn()
    assert found.state()["fixTaskMap"] == {"1.1": {"attempts": 1, "fixTaskIds": ["1.1.1"]}}

"""Section 5, pinned criteria: what the agent changes or removes is back at its next stop, and named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, SEQUENTIAL, LoopProject, feature
from hook.proven import (
    LIST,
    adding_to,
    boxed,
    cli,
    commands_run,
    events,
    is_closed,
    known,
    lines_of,
    list_file,
    listed,
)

every_layout = pytest.mark.parametrize("layout", LAYOUTS)
AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OWNER}

FEATURES = json.dumps(
    {
        "verify": "test -f shared",
        "protect": ["tests/**"],
        "features": [
            feature("F1", verify="test -f one", timeout_s=30),
            feature("F2", verify=["test -f two", "true"], needs_human=""),
            feature("F3"),
        ],
    },
    indent=2,
)
BOXES = """# Tasks

## Group, free text

- [ ] 1.1 The first
  - **Do**: this and that
  - **Verify**: `test -f one`

- [ ] 1.2 The second
  - **Verify**: `test -f two`
- [ ] 1.3 The third
"""


def tampered(text: str, **edits: Any) -> str:
    """The list with these members of its first feature set, or removed if they are `...`."""
    data = json.loads(text)
    for name, value in edits.items():
        data["features"][0].pop(name, None) if value is ... else data["features"][0].update({name: value})
    return json.dumps(data, indent=2)


def without(text: str, *places: int) -> str:
    data = json.loads(text)
    data["features"] = [item for at, item in enumerate(data["features"]) if at not in places]
    return json.dumps(data, indent=2)


def around(text: str, **edits: Any) -> str:
    return json.dumps({**json.loads(text), **edits}, indent=2)


# what the agent leaves, and how it is named
FEATURE_TAMPERING: dict[str, tuple[Callable[[str], str], str]] = {
    "a weaker check": (lambda t: tampered(t, verify="true"), "F1 (verify)"),
    "fewer checks": (lambda t: t.replace('"test -f two",\n        ', ""), "F2 (verify)"),
    "another description": (lambda t: tampered(t, description="Do less"), "F1 (description)"),
    "other steps": (lambda t: tampered(t, steps=["one"]), "F1 (steps)"),
    "another time limit": (lambda t: tampered(t, timeout_s=9000), "F1 (timeout_s)"),
    "another id": (lambda t: tampered(t, id="F9"), "F1 (id)"),
    "the first task gone": (lambda t: without(t, 0), "F1 (removed)"),
    "a middle task gone": (lambda t: without(t, 1), "F2 (removed)"),
    "the last tasks gone": (lambda t: without(t, 1, 2), "F2 (removed), F3 (removed)"),
    "every task gone": (lambda t: without(t, 0, 1, 2), "F1 (removed), F2 (removed), F3 (removed)"),
    "another check for all": (lambda t: around(t, verify="true"), "the list (verify)"),
    "nothing protected": (lambda t: around(t, protect=[]), "the list (protect)"),
    "a bare array": (lambda t: json.dumps(json.loads(t)["features"]), "the list (structure)"),
    "several at once": (
        lambda t: around(tampered(t, verify="true", description="x"), verify="true"),
        "the list (verify), F1 (description), F1 (verify)",
    ),
}
BOX_TAMPERING: dict[str, tuple[Callable[[str], str], str]] = {
    "a weaker check": (lambda t: t.replace("`test -f one`", "`true`"), "1.1 (verify)"),
    "no check": (lambda t: t.replace("  - **Verify**: `test -f two`\n", ""), "1.2 (verify)"),
    "a check as prose": (lambda t: t.replace("`test -f two`", "test -f two"), "1.2 (verify)"),
    "another title": (lambda t: t.replace("The first", "The least"), "1.1 (text)"),
    "another text": (lambda t: t.replace("this and that", "this"), "1.1 (text)"),
    "the last block gone": (lambda t: t.replace("- [ ] 1.3 The third\n", ""), "1.3 (removed)"),
    "a middle block gone": (
        lambda t: t.replace("\n- [ ] 1.2 The second\n  - **Verify**: `test -f two`\n", ""),
        "1.2 (removed)",
    ),
}


def pinned(project: ProjectFactory, layout: str, text: str = "") -> LoopProject:
    if layout != "features":
        return boxed(project, layout, text or BOXES)
    found = project("features", {LIST: text or FEATURES})
    found.arm()
    return found


def told(found: LoopProject, named: str) -> None:
    """The stop names what was put back, to the person, to the agent and in the journal."""
    answer = found.turn()
    words = f"The criteria were pinned at the start and are back: {named}."
    assert words in answer.message
    assert words in answer.reason
    (row,) = events(found, "restored")
    assert words in row["what"][0]
    assert [path.name for path in found.rejected()] == [row["rejected"]]


def test_a_feature_list_that_was_tampered_with_is_back_byte_for_byte(project: ProjectFactory) -> None:
    for kind, (change, named) in FEATURE_TAMPERING.items():
        found = pinned(project, "features")
        found.own.write_text(change(FEATURES))
        told(found, named)
        assert found.own.read_bytes() == FEATURES.encode(), kind
        assert found.rejected()[0].read_text() == change(FEATURES), kind


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: tampered(t, verify=...), "F1 (verify)"),
        (lambda t: tampered(t, steps=..., timeout_s=...), "F1 (steps), F1 (timeout_s)"),
        (lambda t: t.replace('"protect": [\n    "tests/**"\n  ],\n  ', ""), "the list (protect)"),
    ],
)
def test_a_member_that_was_taken_out_is_back_with_its_value(
    project: ProjectFactory, change: Callable[[str], str], named: str
) -> None:
    found = pinned(project, "features")
    found.own.write_text(change(FEATURES))
    told(found, named)
    assert json.loads(found.own.read_text()) == json.loads(FEATURES)


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_tasks_file_that_was_tampered_with_is_back_byte_for_byte(
    project: ProjectFactory, layout: str
) -> None:
    for kind, (change, named) in BOX_TAMPERING.items():
        found = pinned(project, layout)
        list_file(found).write_text(change(BOXES))
        told(found, named)
        assert list_file(found).read_bytes() == BOXES.encode(), kind
        assert found.rejected()[0].read_text() == change(BOXES), kind


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_tasks_file_that_is_gone_is_back(project: ProjectFactory, layout: str) -> None:
    found = pinned(project, layout)
    list_file(found).unlink()
    answer = found.turn()
    assert "are back: the list (removed)." in answer.message
    assert list_file(found).read_bytes() == BOXES.encode()


@every_layout
def test_a_list_in_the_place_of_another_brings_no_completion(project: ProjectFactory, layout: str) -> None:
    found = pinned(project, layout)
    easy = (
        json.dumps({"features": [feature("E1", passes=True)]}) if layout == "features" else "- [x] 9.1 Easy\n"
    )
    list_file(found).write_text(easy)
    answer = found.turn("ALL_TASKS_COMPLETE")
    assert answer.blocks
    assert re.search("ALL_TASKS_COMPLETE is refused: [34] tasks are open", answer.reason)
    assert "(removed)" in answer.message
    assert found.rejected()[0].read_text() == easy
    again = found.turn()
    assert again.blocks
    assert "pinned" not in again.message
    assert len(found.rejected()) == 1


@every_layout
def test_a_claim_is_judged_by_the_check_that_was_pinned(project: ProjectFactory, layout: str) -> None:
    """The weaker check is one that the person approved, for another task."""
    found = pinned(project, layout)
    found.close(1)
    weaker = list_file(found).read_text().replace("test -f one", "true")
    list_file(found).write_text(weaker)
    answer = found.turn()
    assert "`test -f one` exited with 1" in answer.reason
    assert "(verify)" in answer.reason
    assert not is_closed(found, 1)
    assert commands_run(found) == ["test -f one"]


@every_layout
def test_done_judges_by_the_check_that_was_pinned(project: ProjectFactory, layout: str) -> None:
    found = pinned(project, layout)
    before = list_file(found).read_bytes()
    list_file(found).write_text(list_file(found).read_text().replace("test -f one", "true"))
    said = cli(found, "done", "F1" if layout == "features" else "1.1", env=AGENT)
    assert said.returncode == 1
    assert "The criteria were pinned at the start and are back" in said.stdout
    assert "`test -f one` exited with 1" in said.stdout
    assert list_file(found).read_bytes() == before


@every_layout
def test_what_is_the_agents_to_write_is_left_as_it_is(project: ProjectFactory, layout: str) -> None:
    found = pinned(project, layout)
    if layout == "features":
        text = tampered(FEATURES, passes=False, notes="tried twice", priority=1, model="other", extra=[1])
    else:
        text = BOXES.replace("The third\n", "The third\n  - noted: tried twice\n") + "\nMore prose.\n"
    list_file(found).write_text(text)
    answer = found.turn()
    assert answer.blocks
    assert "pinned" not in answer.message + answer.reason
    assert list_file(found).read_text() == text
    assert found.rejected() == []


@every_layout
def test_claims_survive_when_criteria_are_put_back(project: ProjectFactory, layout: str) -> None:
    found = pinned(project, layout)
    found.write({"one": "", "shared": ""})
    found.close(1)
    found.close(3)
    list_file(found).write_text(list_file(found).read_text().replace("test -f two", "true"))
    found.turn()
    assert [is_closed(found, number) for number in (1, 2, 3)] == [True, False, True]
    assert known(found, "F1" if layout == "features" else "1.1")["state"] == "proven"


def test_a_question_for_the_person_cannot_be_taken_away(project: ProjectFactory) -> None:
    found = listed(project, feature("A", needs_human="the key"), feature("B"))
    before = found.own.read_bytes()
    found.own.write_text(found.own.read_text().replace('"the key"', '""'))
    answer = found.turn()
    assert "A (needs_human)" in answer.message
    assert "next B" in answer.message
    assert found.own.read_bytes() == before


def test_the_persons_own_change_is_adopted_by_approving_it(project: ProjectFactory) -> None:
    ran = project("features").base / "ran"
    found = listed(project, feature("F1", verify="exit 1"), feature("F2"))
    text = found.own.read_text().replace("exit 1", adding_to(ran)).replace("Do F1", "Do it well")
    found.own.write_text(text)
    shown = cli(found, "approve", "--show")
    assert (adding_to(ran) in shown.stdout, "Do it well" in shown.stdout) == (True, True)
    assert cli(found, "approve", "--yes", env=AGENT).returncode == 1
    assert cli(found, "approve", "--yes").returncode == 0
    found.close(1)
    answer = found.turn()
    assert "pinned" not in answer.message
    assert lines_of(ran) == ["ran"]
    assert (known(found, "F1")["state"], found.rejected()) == ("proven", [])

"""What `status` says of a loop's spending, its context, and the checks that wait for the person."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import OTHER, SESSION, WIDE, Project
from hook.lines import text_line
from ralphloop.proof.approval import digest


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def transcript(project: Project, *, tokens: int, model: str = "claude-opus-4-5", name: str = SESSION) -> str:
    file = project.home / f"{name}.jsonl"
    line = text_line("one", model=model)
    line["message"]["usage"] = {"input_tokens": 0, "output_tokens": tokens}
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
    return str(file)


def listed(project: Project, *features: dict[str, Any]) -> Path:
    text = json.dumps({"features": [{"passes": False, **one} for one in features]}, indent=2)
    return project.write(".ralph/loops/shop/feature_list.json", text)


def test_a_single_loop_shows_what_it_spent_and_how_full_it_is(project: Project) -> None:
    project.begin("shop", "--max-cost", "5", "--max-tokens", "2M")
    project.stop(transcript_path=transcript(project, tokens=48_000))
    told = project.fine("status", env=WIDE).splitlines()
    assert re.fullmatch(
        r"  used: (\d+|under 1) s of 8 h 00 min, 48k of 2M tokens, \$1\.20 of \$5\.00", told[2]
    )
    assert told[3] == "  context 48k of 200k (24 %)"
    loop = project.status()
    assert loop["context"] == {"tokens": 48_000, "model": "claude-opus-4-5", "window": 200_000}
    assert (loop["spent"]["tokens"], loop["spent"]["cost_usd"]) == (48_000, 1.2)
    assert loop["limits"]["cost_usd"] == {"used": 1.2, "most": 5.0}


def test_a_model_that_nobody_knows_has_no_window_and_no_price(project: Project) -> None:
    project.begin()
    project.stop(transcript_path=transcript(project, tokens=12_345, model="unheard-of"))
    told = project.fine("status")
    assert "  context 12k, window unknown for unheard-of\n" in told
    assert "12k tokens, dollars unknown for unheard-of\n" in told
    assert project.status()["context"]["window"] is None


def test_without_a_transcript_there_is_nothing_to_show(project: Project) -> None:
    project.begin()
    project.stop()
    assert "context" not in project.fine("status")
    loop = project.status()
    assert loop["context"] is None
    assert loop["spent"]["tokens"] is None


def test_a_budget_without_a_transcript_is_unknown(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    project.stop(transcript_path=str(project.home / "gone.jsonl"))
    told = project.fine("status", env=WIDE)
    assert "h 00 min, tokens unknown (limit $5.00), its transcript is gone\n" in told


def test_in_the_first_turn_no_tokens_are_counted_yet(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    told = project.fine("status", env=WIDE)
    assert re.search(
        r"  used: (\d+|under 1) s of 8 h 00 min, no tokens counted yet \(limit \$5\.00\)\n", told
    )
    project.fine("cancel")
    assert "tokens unknown (limit $5.00)\n" in project.fine("status", env=WIDE)


def test_of_several_loops_only_the_named_one_is_counted(project: Project) -> None:
    project.begin("one")
    project.begin("two", session=OTHER)
    project.stop(transcript_path=transcript(project, tokens=1000))
    assert "used:" not in project.fine("status")
    loops = {loop["name"]: loop for loop in json.loads(project.fine("status", "--json"))["loops"]}
    assert loops["one"]["spent"] is None
    assert loops["one"]["context"]["tokens"] == 1000
    assert "used:" in project.fine("status", "one")


def test_a_loop_that_needs_approval_says_how_to_give_it(project: Project) -> None:
    listed(project, {"id": "F1", "description": "One", "verify": "true"})
    project.fine("start", "shop", "--session", SESSION, "--unapproved")
    project.stop()
    told = project.fine("status", env=WIDE)
    assert "shop · paused (needs_approval)" in told
    how = f"type `/ralphloop:approve {digest(['true'])}` in its session, or run `ralphloop approve shop`"
    assert how in told
    loop = project.status()
    assert (loop["unapproved"], loop["digest"]) == (["true"], digest(["true"]))
    project.fine("approve", "--yes")
    assert "approve" not in project.fine("status")


def test_a_claimed_task_that_waits_is_shown_as_such(project: Project) -> None:
    """The agent adds a task with a check of its own and claims it: the loop goes on with the rest."""
    file = listed(project, {"id": "F1", "description": "One"}, {"id": "F2", "description": "Two"})
    project.fine("start", "shop", "--session", SESSION)
    data = json.loads(file.read_text())
    data["features"].append({"id": "F3", "description": "Three", "verify": "true", "passes": True})
    file.write_text(json.dumps(data))
    project.stop()
    told = project.fine("status")
    assert "  claimed, waits for your approval: F3\n" in told
    assert f"`/ralphloop:approve {digest(['true'])}`" in told
    assert [line.split() for line in told.splitlines() if "F3" in line][-1] == [
        "~", "F3", "claimed", "-", "(added)", "Three",
    ]  # fmt: skip
    (third,) = [task for task in project.status()["tasks"] if task["id"] == "F3"]
    assert third == {"id": "F3", "title": "Three", "state": "claimed", "attempts": 0, "added": True}


def test_a_spec_does_not_wait_for_checks_that_are_not_approved(project: Project) -> None:
    project.spec(tasks="- [ ] 1.1 Form\n  - **Verify**: `true`\n- [ ] 1.2 Check\n")
    project.fine("start", "--session", SESSION, "--unapproved")
    project.stop()
    assert "approval" not in project.fine("status")


def test_a_spent_budget_says_what_to_raise(project: Project) -> None:
    project.begin("shop", "--max-tokens", "10")
    project.stop(transcript_path=transcript(project, tokens=100))
    told = project.fine("status")
    assert "shop · budget" in told
    assert "`ralphloop resume shop` with a higher --max-tokens goes on." in told

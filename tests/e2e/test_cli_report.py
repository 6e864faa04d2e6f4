"""The command `report`: the exit code tells the outcome, the page needs nothing else, nothing is touched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION, Project, unfolded
from hook.lines import cap_line, text_line
from ralphloop.domain.model import OUTCOMES, STATES
from ralphloop.domain.table import exit_code, exit_codes

KEYS = {
    "exit_code": int, "loop": dict, "state": str, "outcome": (str, type(None)), "detail": str, "made_at": str,
    "started_at": str, "ended_at": (str, type(None)), "elapsed_s": float, "working_s": float,
    "sessions": list, "clients": list, "models": list, "limits": dict, "counts": dict, "tasks": list,
    "refused": list, "restored": list, "rejected": list, "protected": list, "approvals": list,
    "accepted": list, "added": list, "spending": dict, "final_run": (dict, type(None)), "faults": list,
    "timeline": list, "doubts": list, "notes": list, "tried": dict, "proven": (dict, type(None)),
    "since": str,
}  # fmt: skip
TASK = {
    "id": str, "title": str, "state": str, "added": bool, "attempts": int, "why": str, "refused": list,
    "evidence": list, "turned": list, "time_s": float, "tokens": (int, type(None)),
    "cost_usd": (float, type(None)),
}  # fmt: skip
EVIDENCE = {
    "id": str, "at": str, "kind": str, "command": str, "green": bool, "exit_code": (int, type(None)),
    "ended": str, "duration_s": float, "file": str,
}  # fmt: skip
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def listed(project: Project, *features: dict[str, Any]) -> Path:
    text = json.dumps({"features": [{"passes": False, **one} for one in features]}, indent=2)
    return project.write(".ralph/loops/shop/feature_list.json", text)


def transcript(project: Project, *lines: dict[str, Any]) -> str:
    file = project.home / "session.jsonl"
    with file.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    return str(file)


def complete(project: Project) -> None:
    project.begin(tasks=1)
    project.fine("done", "F1")
    project.stop()


def limit(project: Project) -> None:
    project.begin("shop", "--max-iterations", "1")
    project.stop()


def budget(project: Project) -> None:
    project.begin("shop", "--max-tokens", "10")
    project.stop(transcript_path=transcript(project, text_line("one"), text_line("two")))


def stalled(project: Project) -> None:
    project.begin()
    for _ in range(6):  # each of the two tasks in turn
        project.stop(last_assistant_message="The same words every time, and no work.")


def capped(project: Project) -> None:
    project.begin()
    project.stop(transcript_path=transcript(project, text_line("one")))
    project.stop(transcript_path=transcript(project, cap_line(), text_line("two")))


def needs_input(project: Project) -> None:
    project.begin(tasks=1)
    project.fine("ask", "F1", "Which one?")
    project.stop()


def needs_approval(project: Project) -> None:
    listed(project, {"id": "F1", "description": "One", "verify": "true"})
    project.fine("start", "shop", "--session", SESSION, "--unapproved")
    project.stop()


def awaiting_approval(project: Project) -> None:
    folder = project.spec()
    project.fine("start", "--session", SESSION)
    file = folder / ".ralph-state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "awaitingApproval": True}))
    project.stop()


def rate_limited(project: Project) -> None:
    project.begin()
    project.stop(hook_event_name="StopFailure", error="rate_limit", last_assistant_message="resets 7pm (UTC)")


def failed(project: Project) -> None:
    project.begin()
    project.stop(hook_event_name="StopFailure", error="invalid_request", last_assistant_message="no")


def corrupt(project: Project) -> None:
    file = project.begin() / "feature_list.json"
    file.write_text("{")
    project.stop()
    project.stop()


def cancelled(project: Project) -> None:
    project.begin()
    project.fine("cancel")


def interrupted(project: Project) -> None:
    project.begin()
    project.fine("pause")


ENDS: list[tuple[Callable[[Project], None], int]] = [
    (complete, 0),
    (limit, 10),
    (budget, 11),
    (stalled, 12),
    (capped, 12),
    (needs_input, 13),
    (needs_approval, 13),
    (awaiting_approval, 13),
    (rate_limited, 14),
    (failed, 15),
    (corrupt, 15),
    (cancelled, 16),
    (interrupted, 17),
]


@pytest.mark.parametrize(("end", "code"), ENDS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_exit_code_tells_the_outcome(project: Project, end: Callable[[Project], None], code: int) -> None:
    end(project)
    done = project.run("report", "--format", "json")
    assert done.data["outcome"] == end.__name__
    assert (done.code, done.data["exit_code"], done.err) == (code, code, "")


def test_every_outcome_has_a_code_and_a_test() -> None:
    assert {end.__name__ for end, _ in ENDS} == set(OUTCOMES)


@pytest.mark.parametrize("state", [state for state in STATES if state not in ("paused", "ended")])
def test_a_loop_under_way_has_a_code_of_its_own(state: str) -> None:
    assert exit_code(state, None) == 18


@pytest.mark.parametrize("state", ["paused", "ended"])
def test_a_rest_without_an_outcome_is_a_pause(state: str) -> None:
    assert exit_code(state, None) == 17


def test_armed_and_running_loops_are_under_way(project: Project) -> None:
    project.new()
    project.fine("start")
    assert project.run("report").code == 18
    project.fine("resume", "--adopt", "--session", SESSION)
    project.stop()
    assert project.run("report").code == 18


def test_help_has_the_table_of_codes(project: Project) -> None:
    told = project.fine("report", "--help")
    for code in exit_codes():
        assert re.search(rf"^ +{code}  \w", told, re.M)


def proven_loop(project: Project) -> None:
    """One claim refused, then proven; a second task with a title that is markup."""
    listed(
        project,
        {"id": "F1", "description": "One", "verify": "test -f made"},
        {"id": "F2", "description": EVIL},
    )
    project.fine("start", "shop", "--session", SESSION, "--yes")
    assert project.run("done", "F1").code == 1
    (project.root / "made").touch()
    project.fine("done", "F1")
    project.stop(transcript_path=transcript(project, text_line("one"), text_line("two", model="unheard-of")))
    project.fine("done", "F2")
    project.stop(transcript_path=transcript(project, text_line("three")))


def test_the_keys_that_scripts_rely_on_are_there(project: Project) -> None:
    proven_loop(project)
    data = project.run("report", "shop", "--format", "json").data
    assert {key for key, kind in KEYS.items() if not isinstance(data[key], kind)} == set()
    for task in data["tasks"]:
        assert {key for key, kind in TASK.items() if not isinstance(task[key], kind)} == set()
    first, second = data["tasks"]
    assert (first["state"], second["state"]) == ("proven", "unverified")
    assert [claim["why"] for claim in first["refused"]] == ["exited with 1"]
    for evidence in first["evidence"]:
        assert {key for key, kind in EVIDENCE.items() if not isinstance(evidence[key], kind)} == set()
    assert [(entry["kind"], entry["green"]) for entry in first["evidence"]] == [
        ("done", False),
        ("done", True),
        ("final", True),
    ]
    assert data["final_run"]["green"] is True
    assert data["spending"]["unpriced"] == ["unheard-of"]
    assert data["spending"]["tokens"] == sum(task["tokens"] for task in data["tasks"])


def test_what_the_person_allowed_and_vouched_for_is_told(project: Project) -> None:
    needs_approval(project)
    project.fine("approve", "--yes")
    project.fine("accept", "F1")
    data = project.run("report", "--format", "json").data
    (approval,) = data["approvals"]
    assert (approval["commands"], approval["by"]) == (["true"], "--yes")
    assert [entry["task"] for entry in data["accepted"]] == ["F1"]
    assert data["counts"] == {"vouched": 1}
    told = project.run("report").out
    assert " · approve · 1 command (true), by --yes, digest " in " ".join(told.split())
    assert "** · accept · task F1\n" in told


def test_markdown_is_what_comes_without_a_word(project: Project) -> None:
    proven_loop(project)
    told = project.fine("report")
    assert told.startswith("# shop: complete\n")
    assert "- **F1** · proven · One · attempts: 1 · refused: 1 · time: " in told
    assert "dollars unknown for unheard-of" in told
    assert "Refused claims: 1" in told
    assert "everything that ran was green" in told
    assert "- not checked: F2 (unverified)" in told


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.seen: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


def test_the_page_is_one_file_in_which_tasks_are_text(project: Project) -> None:
    proven_loop(project)
    told = project.fine("report", "--format", "html", "--output", "out.html")
    assert unfolded(told) == f"The report on shop (complete) is in {project.root / 'out.html'}.\n"
    text = (project.root / "out.html").read_text(encoding="utf-8")
    page = Page(text)
    assert EVIL in page.seen
    assert {"svg", "table", "style"} <= set(page.tags)
    assert "script" not in page.tags
    assert "<script" not in text
    assert EVIL not in text
    assert "://" not in text


@pytest.mark.parametrize("shape", ["md", "json"])
def test_a_file_holds_what_would_have_been_printed(project: Project, shape: str) -> None:
    complete(project)
    project.fine("report", "--format", shape, "--output", "out")
    printed = project.fine("report", "--format", shape)
    stamps = re.compile(r'"made_at": "[^"]*"')
    assert stamps.sub("", (project.root / "out").read_text()) == stamps.sub("", printed)


def test_a_file_that_cannot_be_written_is_said(project: Project) -> None:
    complete(project)
    assert "not there" in project.refused("report", "--output", "not there/report.md")


def test_an_unknown_loop_is_refused(project: Project) -> None:
    project.begin()
    assert "there is no loop cart here" in project.refused("report", "cart")


def test_a_report_never_writes_into_the_loop(project: Project) -> None:
    proven_loop(project)
    before = project.digest()
    for shape in ("md", "json", "html"):
        project.fine("report", "--format", shape)
    assert project.digest() == before


def test_nothing_in_a_task_reaches_the_terminal_as_a_command(project: Project) -> None:
    evil = "a\x1b]0;owned\x07\x1b[2Jb\x9b31mc\r\nfake | x\u202e\x00\x7f"
    listed(project, {"id": "\x1b[31mX", "description": evil}, {"id": "B", "description": "b"})
    project.fine("start", "--session", SESSION)
    project.stop()
    for shape in ("md", "json", "html"):
        told = project.run("report", "--format", shape).out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", told), shape
        assert "\nfake" not in told


def test_a_damaged_loop_still_has_a_report(project: Project) -> None:
    proven_loop(project)
    (journal,) = project.root.rglob("journal.jsonl")
    journal.unlink()
    for file in project.root.rglob("evidence/*.json"):
        file.write_text("{}")
    (project.home / "session.jsonl").unlink()
    told = project.fine("report")
    for fault in ("the journal is missing", "evidence that is altered", "tokens unknown"):
        assert fault in told


def test_an_agent_may_read_a_report_and_write_none(project: Project) -> None:
    project.begin()
    inside = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
    assert project.run("report", env=inside).code == 18
    assert "is the person's to decide" in project.refused("report", "--output", "x", env=inside)
    assert not (project.root / "x").exists()

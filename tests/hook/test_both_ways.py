"""Each event in each layout, by the registered command and forked: the same answers, and the same is left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, PLUGINS, LoopProject, task_id
from hook.lines import tool_line

# What differs from one loop to the next: when something was, and what is named after that.
MOMENTS = ("at", "seen_at", "since", "started_at", "resume_at", "elapsed_s", "files_seen", "duration_ms")


def events(layout: str) -> list[tuple[str, dict[str, Any]]]:
    """The life of a session that owns a loop; a `Stop` comes after a tool call."""
    call = {"command": f"ralphloop done {task_id(layout, 1)}"}
    typed = {"command_name": f"{PLUGINS[layout]}:status", "command_args": "--json"}
    return [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "hello"}),
        ("UserPromptExpansion", typed),
        ("PreToolUse", {"tool_name": "Bash", "tool_input": call}),
        ("SubagentStop", {"agent_id": "a1"}),
        ("Stop", {"last_assistant_message": "The first is done."}),
        ("SessionStart", {"source": "compact"}),
        ("StopFailure", {"error": "rate_limit", "error_details": "429 resets 7pm (Asia/Tokyo)"}),
        ("Stop", {"last_assistant_message": "The second is done.", "prompt_id": "another"}),
        ("SessionEnd", {"reason": "other"}),
        ("Stop", {"last_assistant_message": "Nothing more."}),
    ]


def live(found: LoopProject) -> list[tuple[str, str, str]]:
    """What was answered to each event, with nothing in it that only this project has."""
    found.prompt = "a prompt"
    tools = found.base / "bin"
    tools.mkdir()
    (tools / "ralphloop").write_text("#!/bin/sh\n")
    (tools / "ralphloop").chmod(0o755)
    found.extra_env["PATH"] = f"{tools}:{found.env()['PATH']}"
    found.arm(session=None)
    said = []
    for event, fields in events(found.layout):
        if event == "Stop":
            found.add_lines(tool_line("Bash", {"command": "true"}))
        answer = found.send(event, **fields)
        said.append((event, alike(found, answer.stdout.decode()), alike(found, answer.stderr)))
    return said


def alike(found: LoopProject, text: str) -> str:
    return text.replace(str(found.base), "@").replace(found.loop()["id"], "ID")


def files(found: LoopProject) -> list[str]:
    """What is there now, but for what is kept only of a list that has rested for some seconds."""
    paths = [path for top in (found.root, found.home) for path in top.rglob("*")]
    return sorted(alike(found, str(path)) for path in paths if path.name != "cursor.json")


def timeless(found: LoopProject, values: dict[str, Any]) -> str:
    kept = {name: value for name, value in values.items() if name not in MOMENTS}
    return alike(found, json.dumps(kept, indent=1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_session_is_answered_alike_by_the_registered_command_and_forked(
    project: ProjectFactory, layout: str
) -> None:
    forked, registered = project(layout), project(layout)
    registered.is_registered = True
    hooks = json.loads((forked.plugin / "hooks" / "hooks.json").read_text())["hooks"]
    assert {event for event, _ in events(layout)} == set(hooks)
    answers = live(registered)
    assert sum(bool(out or err) for _, out, err in answers) > 4, answers
    assert live(forked) == answers
    assert files(forked) == files(registered)
    assert timeless(forked, forked.loop()) == timeless(registered, registered.loop())
    journals = [[timeless(one, row) for row in one.journal()] for one in (forked, registered)]
    assert journals[0] == journals[1]

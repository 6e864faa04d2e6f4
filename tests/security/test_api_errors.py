"""What a client says of an API error may hold a secret: no file of ours keeps it, and no command shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION, Project
from e2e.notifying import hook
from hook.lines import cap_line, error_line
from ralphloop.domain.model import Supervision
from ralphloop.store import arming
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from security.hostile import transcript
from security.life import CLEAR, SECRETS, texts

SHAPED = "sk-ant-api03-" + "Zx9" * 12
SAID = f"API Error: 401 invalid x-api-key {SHAPED} {SECRETS['DB_PASSWORD']}"
LIMIT = f"API Error: 429 rate limit of {SHAPED}, {SECRETS['SHOP_API_KEY']}; resets in 2 hours"
FAILURE = {"error": "authentication_failed", "error_details": SAID, "last_assistant_message": SAID}
SHOWN = (
    ("status",), ("status", "--json"), ("log",), ("log", "--json"), ("explain",), ("report",),
    ("report", "--format", "html"), ("report", "--format", "json"),
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    found.begin()
    return found


def lines(*found: dict[str, Any], project: Project) -> dict[str, str]:
    return {"transcript_path": str(transcript(project, found))}


def drive(project: Project) -> None:
    """Let a supervisor own the loop, which judges errors itself."""
    here = Shelf(str(project.root), project.env())
    record = here.owned_by(SESSION)
    assert record is not None
    loop = LoopFiles(record, here)
    state = loop.load()
    assert state is not None
    arming.hand_on(loop, state, session=SESSION, terms=Supervision(), batch=["1"])


WAYS = (
    "StopFailure",
    "StopFailure of a limit",
    "StopFailure in a run",
    "stop",
    "stop of a limit",
    "cap",
    "end",
)


@pytest.mark.parametrize("way", WAYS)
def test_no_secret_of_an_api_error_is_kept_or_shown(project: Project, way: str) -> None:
    if way == "StopFailure":
        done = hook(project, "StopFailure", env=SECRETS, **FAILURE)
    elif way == "StopFailure of a limit":
        done = hook(project, "StopFailure", env=SECRETS, **{**FAILURE, "error": "rate_limit"})
    elif way == "StopFailure in a run":
        drive(project)
        done = hook(project, "StopFailure", env=SECRETS, registration="run", **FAILURE)
    elif way == "stop":
        done = hook(project, env=SECRETS, **lines(error_line(SAID), project=project))
    elif way == "stop of a limit":
        done = hook(project, env=SECRETS, **lines(error_line(LIMIT), project=project))
    elif way == "cap":
        noted = cap_line()
        done = hook(
            project, env=SECRETS, **lines({**noted, "content": noted["content"] + SAID}, project=project)
        )
    else:
        done = hook(project, "SessionEnd", env=SECRETS, **lines(error_line(LIMIT), project=project))
    kept = {str(path): text for path, text in texts(project)}
    assert any("***" in text for text in kept.values()), "it was noted"
    assert [path for path, text in kept.items() if SHAPED in text or CLEAR in text] == []
    said = done.out + done.err
    for words in SHOWN:
        shown = project.run(*words)
        said += shown.out + shown.err
    assert SHAPED not in said
    assert CLEAR not in said


def test_when_a_limit_is_over_is_read_before_anything_is_masked(project: Project) -> None:
    """A reset time that stands within what looks like a secret is still one."""
    secret = {"TIME_TOKEN": "resets in 2 hours"}
    hook(project, env=secret, **lines(error_line("API Error: 429 limit, resets in 2 hours"), project=project))
    (journal,) = [text for path, text in texts(project) if path.name == "journal.jsonl"]
    assert "API Error: 429 limit, ***" in journal
    (loop,) = json.loads(project.fine("status", "--json"))["loops"]
    assert (loop["outcome"], bool(loop["resume_at"])) == ("rate_limited", True)


def test_a_secret_at_the_place_where_a_long_text_is_cut_is_masked_whole(project: Project) -> None:
    """Cut first, half of it would be left."""
    said = "API Error: " + "x" * 270 + " " + SECRETS["DB_PASSWORD"]
    hook(project, env=SECRETS, **lines(error_line(said), project=project))
    (journal,) = [text for path, text in texts(project) if path.name == "journal.jsonl"]
    assert "x ***" in journal
    assert "second-" not in journal

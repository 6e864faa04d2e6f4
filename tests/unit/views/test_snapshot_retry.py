"""What a session waits for after an API error, by the last lines of its transcript."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ralphloop.store.loop import iso
from ralphloop.views import snapshot
from unit.domain.cases import each

NOTICE = "the login was refused: 401 no key; the client tries again (1 of 10)"


def retry(age_s: float = 1.0) -> dict[str, Any]:
    """So old when it is written: the tests may run minutes after they were collected."""
    error = {"status": 401, "formatted": "401 no key"}
    return {
        "type": "system", "subtype": "api_error", "error": error, "retryAttempt": 1, "maxRetries": 10,
        "age_s": age_s,
    }  # fmt: skip


def dated(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "timestamp": iso(time.time() - entry["age_s"])} if "age_s" in entry else entry


SAID = {"type": "assistant", "message": {"content": [{"type": "text", "text": "api_error"}]}}
ASKED = {"type": "user", "message": {"content": "go on"}}
OWN = {"type": "last-prompt", "lastPrompt": "user"}


@each(
    ("entries", "told"),
    [
        ([ASKED, retry()], NOTICE),
        ([ASKED, retry(), OWN], NOTICE),
        ([retry(), SAID], ""),
        ([retry(), ASKED], ""),
        ([ASKED, retry(age_s=3600.0)], ""),
        ([ASKED], ""),
        ([], ""),
    ],
)
def test_a_retry_is_told_until_something_follows_it(
    tmp_path: Path, entries: list[dict[str, Any]], told: str
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(dated(entry)) + "\n" for entry in entries))
    assert snapshot.last_retry(str(path)) == told


def test_without_a_transcript_nothing_is_told(tmp_path: Path) -> None:
    assert snapshot.last_retry(str(tmp_path / "none.jsonl")) == ""
    assert snapshot.last_retry("") == ""

"""What one run of a command gave: its streams, and what a hook said by them."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Both streams and the exit code, which is None where the time ran out."""

    exit_code: int | None
    stdout: str
    stderr: str
    duration_ms: float

    @property
    def said(self) -> dict[str, Any]:
        """The one JSON object on stdout; empty if there is none."""
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(self.stdout)
            return value if isinstance(value, dict) else {}
        return {}

    @property
    def blocks(self) -> bool:
        return self.said.get("decision") == "block"

    def text(self, key: str) -> str:
        value = self.said.get(key)
        return value if isinstance(value, str) else ""

    @property
    def context(self) -> str:
        specific = self.said.get("hookSpecificOutput")
        value = specific.get("additionalContext") if isinstance(specific, dict) else None
        return value if isinstance(value, str) else ""

"""What one run of a command gave: its streams, and what a hook said by them."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from ralphloop.lab.hook_call import HookAnswer, HookOutput, read_answer

OUTPUT_MAX = 1_000_000  # bytes of each stream


def parsed(text: str) -> Any:
    """The value of a JSON text; ValueError for any other, also for NaN and the like, which clients refuse."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@dataclass(frozen=True)
class Answer:
    """Both streams and the exit code, which is None where the time ran out or the output was too much."""

    exit_code: int | None
    stdout: str
    stderr: str
    duration_ms: float
    is_cut: bool = False  # there was more output than is listened to
    event: str = "Stop"

    @property
    def said(self) -> dict[str, Any]:
        """The one JSON object on stdout; empty if there is none."""
        with contextlib.suppress(ValueError, RecursionError):
            value = parsed(self.stdout)
            return value if isinstance(value, dict) else {}
        return {}

    @property
    def heard(self) -> HookAnswer:
        """What the client makes of it."""
        return read_answer(
            self.event, "the hook", HookOutput(self.exit_code, self.stdout, self.stderr, self.duration_ms)
        )

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

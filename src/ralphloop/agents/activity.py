"""What a session does, as it is shown: a few short lines of one kind."""

from __future__ import annotations

from typing import NamedTuple

TEXT, TOOL, EDIT, FAILED, ERROR = "text", "tool", "edit", "failed", "error"
HOOK, LOOP, PROMPT = "hook", "loop", "prompt"
SENT = (PROMPT, HOOK)  # what the session is sent, by us or by the person


class Activity(NamedTuple):
    """Lines that belong together; those of an edit after its first begin with `- ` or `+ `."""

    kind: str
    lines: tuple[str, ...]
    at: float = 0.0

"""The transcript of one session as Claude Code 2.1.325 writes it: JSON Lines, one per content block."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

CLIENT_VERSION = "2.1.325"
MODEL = "scripted"
INTERRUPTED = "[Request interrupted by user]"

_USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 20,
}


def append(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as lines:
        lines.write(data)


class SessionLog:
    """Appends to `<home>/.claude/projects/<project>/<session>.jsonl`, each line linked to the one before."""

    def __init__(
        self,
        home: Path,
        project: Path,
        session_id: str,
        *,
        append: Callable[[Path, bytes], None] = append,
    ) -> None:
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        self.path = home / ".claude" / "projects" / folder / f"{session_id}.jsonl"
        self._project = project
        self._session_id = session_id
        self._append = append
        self._last: str | None = None

    def asked(self, text: str) -> None:
        self._line("user", message={"role": "user", "content": text})

    def said(self, text: str) -> None:
        self._assistant({"type": "text", "text": text}, stop_reason="end_turn")

    def used_tool(self, name: str, tool_input: Mapping[str, Any], *, result: str, failed: bool) -> None:
        call_id = "toolu_" + uuid.uuid4().hex[:24]
        call = {"type": "tool_use", "id": call_id, "name": name, "input": dict(tool_input)}
        self._assistant(call, stop_reason="tool_use")
        returned = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": failed}
        self._line("user", message={"role": "user", "content": [returned]})

    def stopped(self, command: str, *, duration_ms: float, reason: str, context: str) -> None:
        """One run of the Stop hook, and what the agent was told by it."""
        self._line(
            "system",
            subtype="stop_hook_summary",
            hookCount=1,
            hookInfos=[{"command": command, "durationMs": round(duration_ms)}],
            hookErrors=[reason] if reason else [],
            hookAdditionalContext=[context] if context else [],
            preventedContinuation=False,
            stopReason="",
            hasOutput=bool(reason or context),
        )
        if reason:
            feedback = f"Stop hook feedback:\n{reason}"
            self._line("user", isMeta=True, message={"role": "user", "content": feedback})
        elif context:
            told = {"type": "hook_additional_context", "hookEvent": "Stop", "content": [context]}
            self._line("attachment", attachment=told)

    def warned(self, text: str) -> None:
        self._line("system", subtype="informational", level="warning", content=text)

    def interrupted(self) -> None:
        told = [{"type": "text", "text": INTERRUPTED}]
        self._line("user", message={"role": "user", "content": told}, interruptedMessageId=self._last)

    def _assistant(self, block: Mapping[str, Any], *, stop_reason: str) -> None:
        self._line(
            "assistant",
            requestId="req_" + uuid.uuid4().hex[:24],
            message={
                "id": "msg_" + uuid.uuid4().hex[:24],
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [block],
                "stop_reason": stop_reason,
                "usage": _USAGE,
            },
        )

    def _line(self, kind: str, **fields: Any) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {
            "parentUuid": self._last,
            "isSidechain": False,
            "type": kind,
            **fields,
            "uuid": str(uuid.uuid4()),
            "timestamp": now,
            "cwd": str(self._project),
            "sessionId": self._session_id,
            "version": CLIENT_VERSION,
            "gitBranch": "",
        }
        self._last = str(entry["uuid"])
        self._append(self.path, json.dumps(entry).encode() + b"\n")

"""Runs a registered hook command as Claude Code 2.1.325 does, and reads its answer by the same rules."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ALLOW, CONTINUE, PREVENT = "allow", "continue", "prevent"
BLOCKING_EXIT = 2
NO_REASON = "Blocked by hook"

_QUIET_S = 0.5  # how long the client waits for output that a child of the hook still holds open


@dataclass(frozen=True)
class HookOutput:
    """What one run of the command left behind; `exit_code` is None where the time ran out."""

    exit_code: int | None
    stdout: str
    stderr: str
    duration_ms: float
    held_open: bool = False


@dataclass(frozen=True)
class HookAnswer:
    """What the client makes of it. `notice` is the client's own complaint, which ends no session."""

    verdict: str
    output: HookOutput
    reason: str = ""
    message: str = ""
    context: str = ""
    notice: str = ""

    @property
    def continues(self) -> bool:
        return self.verdict == CONTINUE

    @property
    def feedback(self) -> str:
        """The text that the agent gets to read."""
        return self.reason or self.context


def run_hook(
    command: str, payload: Mapping[str, Any], *, env: Mapping[str, str], cwd: Path, timeout_s: float
) -> HookOutput:
    """Run the command through /bin/sh as the leader of its own session, with the payload on stdin."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    pipes = (_Drain(process.stdout), _Drain(process.stderr))
    data = json.dumps(payload).encode()
    try:
        threading.Thread(target=_feed, args=(process.stdin, data), daemon=True).start()
        exit_code = _wait(process, timeout_s)
    except BaseException:
        _kill_group(process)
        raise
    duration_ms = (time.perf_counter() - begun) * 1000
    held_open = not all(pipe.finished(_QUIET_S) for pipe in pipes)
    stdout, stderr = (pipe.text() for pipe in pipes)
    return HookOutput(exit_code, stdout, stderr, duration_ms, held_open)


class _Drain(threading.Thread):
    """Collects a pipe until it is closed, by whomever."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._chunks: list[bytes] = []
        self.start()

    def run(self) -> None:
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), 65536):
                self._chunks.append(chunk)

    def finished(self, within_s: float) -> bool:
        self.join(within_s)
        return not self.is_alive()

    def text(self) -> str:
        return b"".join(self._chunks).decode("utf-8", "replace")


def _feed(pipe: IO[bytes], data: bytes) -> None:
    """A hook may end without having read its stdin; that is its right."""
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(data)


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _kill_group(process)
        return None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read_answer(event_name: str, command: str, output: HookOutput) -> HookAnswer:
    """Judge the output of a hook: one JSON object counts, else exit 2 with its stderr, else nothing."""
    if output.exit_code is None:
        return HookAnswer(ALLOW, output)
    if output.held_open:
        return HookAnswer(ALLOW, output, notice="its stdio went quiet before end-of-stream")
    text = output.stdout.strip()
    said = _object(text)
    if said is not None:
        return _read_object(event_name, said, output)
    if output.exit_code == BLOCKING_EXIT:
        return HookAnswer(
            CONTINUE, output, reason=f"[{command}]: {output.stderr.strip() or 'No stderr output'}"
        )
    if output.exit_code != 0:
        complaint = f"Failed with non-blocking status code: {output.stderr.strip() or 'No stderr output'}"
        return HookAnswer(ALLOW, output, notice=complaint)
    twice = text.startswith("{") and text.endswith("}")
    return HookAnswer(ALLOW, output, notice="looks like a JSON object but is not valid JSON" if twice else "")


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read_object(event_name: str, said: dict[str, Any], output: HookOutput) -> HookAnswer:
    fault = _fault(event_name, said)
    if fault:
        return HookAnswer(ALLOW, output, notice=fault)
    message = said.get("systemMessage") or ""
    specific = said.get("hookSpecificOutput") or {}
    context = specific.get("additionalContext") or ""
    if said.get("async") is True:
        return HookAnswer(ALLOW, output)
    if said.get("continue") is False:
        return HookAnswer(PREVENT, output, reason=said.get("stopReason") or "", message=message)
    if said.get("decision") == "block":
        reason = said.get("reason") or NO_REASON
        return HookAnswer(CONTINUE, output, reason=reason, message=message, context=context)
    verdict = CONTINUE if context and event_name in ("Stop", "SubagentStop") else ALLOW
    return HookAnswer(verdict, output, message=message, context=context)


def _fault(event_name: str, said: dict[str, Any]) -> str:
    """What the client's schema refuses; the whole answer is void then."""
    if said.get("decision", "approve") not in ("approve", "block"):
        return "decision must be approve or block"
    for key in ("reason", "systemMessage", "stopReason"):
        if not isinstance(said.get(key, ""), str):
            return f"{key} must be a text"
    specific = said.get("hookSpecificOutput", {})
    if not isinstance(specific, dict) or not isinstance(specific.get("additionalContext", ""), str):
        return "hookSpecificOutput has the wrong shape"
    if specific and specific.get("hookEventName") != event_name:
        return f"hookEventName must be {event_name}"
    return ""

"""Client JSON to domain words and back; whatever is missing or of the wrong type is left out."""

from __future__ import annotations

from ralphloop.domain import jsontext
from ralphloop.domain.model import StopEvent
from ralphloop.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.situation import Decision

# Everything that a terminal obeys, but for the line end and the tab, and what turns the reading direction.
_TURNS = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_UNSAFE = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *_TURNS), "�")

STDIN_MAX = 64 * 1024 * 1024


class Wake(str):
    """A text that wakes a session; the client takes it from stderr, with this exit code."""

    __slots__ = ()
    CODE = 2


def payload(data: bytes) -> Optional[dict[str, Any]]:
    """The object on stdin, or None for anything else."""
    try:
        value = jsontext.parse(data.decode("utf-8"))
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None


def is_check(env: Mapping[str, str]) -> bool:
    """Whether a client runs inside a check of ours: what it does is no part of a loop."""
    return bool(env.get("RALPHLOOP_CHECK"))


def is_subagent(event: Mapping[str, Any]) -> bool:
    return bool(event.get("agent_id")) or event.get("hook_event_name") == "SubagentStop"


def path(event: Mapping[str, Any], key: str) -> str:
    value = jsontext.text_in(event, key)
    return value if files.is_path(value) else ""


def session_of(event: Mapping[str, Any]) -> Optional[str]:
    return jsontext.text_in(event, "session_id") or None


def stop_event(event: Mapping[str, Any], *, cwd: str) -> StopEvent:
    crons = event.get("session_crons")
    reply = event.get("last_assistant_message")
    return StopEvent(
        session=session_of(event),
        cwd=path(event, "cwd") or cwd,
        transcript=path(event, "transcript_path"),
        prompt=jsontext.text_in(event, "prompt_id"),
        active=event.get("stop_hook_active") is True,
        reply=reply if isinstance(reply, str) else None,
        background=tuple(_background(event.get("background_tasks"))),
        crons=len(crons) if isinstance(crons, list) else 0,
        planning=event.get("permission_mode") == "plan",
    )


def _background(tasks: Any) -> list[tuple[str, str]]:
    found = []
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict) and task.get("status", "running") in ("running", "pending"):
            what = task.get("description") or task.get("command") or ""
            found.append((str(task.get("type", "")), what if isinstance(what, str) else ""))
    return found


def answer(decision: Decision, *, as_context: bool = False) -> str:
    """The one object that the client reads, or nothing."""
    if decision.blocks and as_context:
        said: dict[str, Any] = {
            "hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": decision.reason}
        }
    elif decision.blocks:
        said = {"decision": "block", "reason": decision.reason}
    elif decision.message:
        said = {"continue": True}
    else:
        return ""
    if decision.message:
        said["systemMessage"] = decision.message
    return jsontext.render(clean(said))


def notice(message: str) -> str:
    return jsontext.render(clean({"continue": True, "systemMessage": message}))


def context(event_name: str, told: str) -> str:
    said = {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": told}}
    return jsontext.render(clean(said))


def allow(event_name: str, why: str) -> str:
    """What lets a tool run without a dialog."""
    said = {"hookEventName": event_name, "permissionDecision": "allow", "permissionDecisionReason": why}
    return jsontext.render({"hookSpecificOutput": said})


def clean(value: Any) -> Any:
    """Texts as a client and its terminal can take them: neither broken bytes nor control characters."""
    if isinstance(value, str):
        return value.translate(_UNSAFE).encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    return value

"""Keeps what is typed behind a slash command of ours, byte by byte, before its prompt is expanded."""

from __future__ import annotations

import time

from ralphloop.hook import wire
from ralphloop.store import files, slash_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from ralphloop.engine.find import Call

SKILL = "Skill"  # the tool by which a model calls what a person types


def keep(payload: Mapping[str, Any], call: Call) -> str:
    by_model = payload.get("tool_name") == SKILL
    given = payload.get("tool_input") if by_model else payload
    command, text = ("skill", "args") if by_model else ("command_name", "command_args")
    session = wire.session_of(payload) or ""
    if isinstance(given, dict) and session and files.file_name(session):
        name = wire.text(given, command)
        if name.startswith(call.registration + ":"):
            by_person = not by_model and _is_persons(payload, name, call)
            slash_command.put(
                call.env,
                session,
                slash_command.Typed(name, _whole(given.get(text)), by_person=by_person),
                now=time.time(),
            )
    return ""


def _is_persons(payload: Mapping[str, Any], name: str, call: Call) -> bool:
    """Whether a person typed it: the agent's schedules and the clients that it starts look the same."""
    from ralphloop.engine.checks import has_person

    scheduled = call.client.was_scheduled(wire.path(payload, "transcript_path"), "/" + name)
    return not scheduled and has_person(call.env)


def _whole(text: Any) -> str:
    """The text without what no file can hold: half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8") if isinstance(text, str) else ""

"""The events around a loop's stops as the client tells them, what is typed among them, and the answers."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop.domain.jsontext import text_in
from ralphloop.hook import wire
from ralphloop.store import files, slash_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from ralphloop.domain.model import StopEvent
    from ralphloop.engine.find import Call

SKILL = "Skill"  # the tool by which a model calls what a person types
HEARD = ("SessionStart", "UserPromptSubmit")  # of these the client shows what is said


def respond(name: str, payload: Mapping[str, Any], call: Call) -> str:
    if wire.is_subagent(payload):
        return ""
    event = wire.stop_event(payload, cwd=call.cwd)
    if event.session is None:
        return ""
    try:
        return _HANDLERS[name](payload, event, call)
    except OSError as error:
        from ralphloop.store import disk

        told = "ralphloop: %s, so the loop here cannot go on." % disk.refused(error)
        return wire.notice(told) if name in HEARD else ""
    except errors.BusyError:
        return ""


def _session_start(payload: Mapping[str, Any], event: StopEvent, call: Call) -> str:
    from ralphloop.engine import session

    source = text_in(payload, "source")
    told = session.begins(event, call, source=source)
    if told and source == session.COMPACT:
        return wire.context("SessionStart", told)
    return _notice(told)


def _session_end(payload: Mapping[str, Any], event: StopEvent, call: Call) -> str:
    from ralphloop.engine import session

    session.ends(event, call, reason=text_in(payload, "reason") or "other")
    return ""


def _prompt_submit(payload: Mapping[str, Any], event: StopEvent, call: Call) -> str:
    from ralphloop.engine import session

    return _notice(session.asked(event, call, typed=text_in(payload, "prompt")))


def _stop_failure(payload: Mapping[str, Any], event: StopEvent, call: Call) -> str:
    from ralphloop.engine import session

    kind, details = text_in(payload, "error"), text_in(payload, "error_details")
    told = session.breaks_off(event, call, kind=kind, details=details)
    return wire.Wake(wire.clean(told)) if told else ""


def _notice(told: str) -> str:
    return wire.notice(told) if told else ""


_HANDLERS = {
    "SessionStart": _session_start,
    "SessionEnd": _session_end,
    "UserPromptSubmit": _prompt_submit,
    "StopFailure": _stop_failure,
}


def keep(payload: Mapping[str, Any], call: Call) -> str:
    """Note a command of ours that was typed, or that the model called, for the program that it starts."""
    by_model = payload.get("tool_name") == SKILL
    given = payload.get("tool_input") if by_model else payload
    command, text = ("skill", "args") if by_model else ("command_name", "command_args")
    session_id = wire.session_of(payload) or ""
    if isinstance(given, dict) and session_id and files.file_name(session_id):
        name = text_in(given, command)
        if name.startswith(call.registration + ":"):
            by_person = not by_model and _is_persons(payload, name, call)
            slash_command.put(
                call.env,
                session_id,
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

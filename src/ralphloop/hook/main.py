"""The hook: stdin to one event, a stop answered by the engine, then exit 0 with one object or nothing; a
wake-up exits with 2."""

from __future__ import annotations

import sys

from ralphloop import errors
from ralphloop import system as os
from ralphloop.engine.find import Call, held, roots
from ralphloop.hook import wire
from ralphloop.tasklists.registry import LAYOUTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.hook.recording import Recorder
    from ralphloop.store.loop import LoopFiles

SESSION_EVENTS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "StopFailure")
STDIN_MAX = wire.STDIN_MAX
REWAKES = "wake"  # said by a registration whose hook may go on after the turn
STATUSLINE = "statusline"  # what is registered under this name is no hook: it answers with a line of text


def main(argv: list[str], *, bundled: bool = True) -> None:
    """`launch.py [REGISTRATION [LAYOUT…] [wake]]`: who registered this hook, the layouts it serves, and
    whether it may wake the session later."""
    said = ""
    try:
        said = respond(_read_stdin(), argv)
    except Exception as error:
        _report(error)
    wakes = isinstance(said, wire.Wake)
    _write(said, handle=2 if wakes else 1)
    if not bundled:
        _bundle()
    # Finalising the interpreter would cost as much as the decision.
    os._exit(wire.Wake.CODE if wakes else 0)


def respond(data: bytes, argv: list[str]) -> str:
    sent = wire.payload(data)
    if sent is None:
        return ""
    registration = argv[0] if argv else ""
    call = Call(
        registration=registration,
        layouts=tuple(name for name in LAYOUTS if name in argv[1:]) or LAYOUTS,
        env=os.environ,
        cwd=_cwd(),
        writes=registration != STATUSLINE,
        rewakes=REWAKES in argv[1:],
    )
    payload = call.client.normal(sent, call.env)
    if payload is None:
        return ""
    if registration == STATUSLINE:
        from ralphloop.hook import statusline

        return statusline.line(payload, call)
    return dispatch(payload, call)


def dispatch(payload: dict[str, Any], call: Call) -> str:
    # A status line's payload names no event either, nor does one of Copilot's in its own words: neither must
    # be taken for a stop.
    is_other = "workspace" in payload or "hookName" in payload
    event = payload.get("hook_event_name", "" if is_other else "Stop")
    if event == "Stop":
        return stop(payload, call)
    if event in SESSION_EVENTS:
        from ralphloop.hook import session_event

        return session_event.respond(event, payload, call)
    if event == "UserPromptExpansion" or (event == "PreToolUse" and payload.get("tool_name") == "Skill"):
        from ralphloop.hook import session_event

        return session_event.keep(payload, call)
    if event == "PreToolUse":
        from ralphloop.hook import permit

        return permit.respond(payload, call)
    return ""


def stop(payload: Mapping[str, Any], call: Call) -> str:
    """The text for the client; empty lets it stop in silence."""
    if wire.is_subagent(payload) or wire.is_check(call.env):
        return ""
    event = wire.stop_event(payload, cwd=call.cwd)
    mine = held(event, call)
    recorder = _recorder(payload, event, call=call, mine=mine)
    said, aside = None, ""
    try:
        said, aside = _decided(event, call, mine=mine, recorder=recorder)
    finally:
        if recorder is not None:
            recorder.keep(said, aside)
    if aside and sys.stderr is not None:
        sys.stderr.write(aside + "\n")
    return said


def _recorder(
    payload: Mapping[str, Any], event: StopEvent, *, call: Call, mine: Optional[LoopFiles]
) -> Optional[Recorder]:
    """What keeps this stop for later, if the person wants that: in the project of the session's loop, or in
    the nearest one. A registration that does not serve the loop has nothing to tell."""
    if mine is not None and not call.serves(mine):
        return None
    from ralphloop.store.shelf import Shelf

    shelves = [mine.shelf] if mine else [Shelf(root, call.env) for root in roots(event.cwd, call.env)]
    for here in shelves:
        if here.records_stops:
            try:
                from ralphloop.hook.recording import Recorder
            except ImportError:  # half a package, in the middle of an update
                return None
            return Recorder(payload, event, call=call, here=here, loop=mine)
    return None


def _decided(
    event: StopEvent, call: Call, *, mine: Optional[LoopFiles], recorder: Optional[Recorder]
) -> tuple[str, str]:
    """What goes to stdout, and what to stderr."""
    from ralphloop.engine.stop import decision_for

    try:
        decided = decision_for(event, call, mine=mine, recorder=recorder)
    except OSError as error:
        from ralphloop.store import disk

        return wire.notice("ralphloop: %s, so the stop is allowed." % disk.refused(error)), ""
    except errors.BusyError:
        return wire.notice("ralphloop: others were at work here for too long, so the stop is allowed."), ""
    if decided is None:
        return "", ""
    decision, loop = decided
    return wire.answer(decision, as_context=loop.record.continue_with == "context"), decision.stderr


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.environ.get("PWD", "")


def _read_stdin() -> bytes:
    chunks: list[bytes] = []
    size = 0
    while size <= STDIN_MAX:
        try:
            chunk = os.read(0, 1 << 20)
        except OSError:  # closed, or a folder
            return b""
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
    return b""


def _write(said: str, *, handle: int) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
        if said:
            data = memoryview((said + "\n").encode("utf-8", "replace"))
            while len(data):
                data = data[os.write(handle, data) :]
    except OSError:
        pass


def _bundle() -> None:
    """Make the next start faster; where that cannot be had, every start is as this one was."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    cache = os.path.join(folder, "__pycache__")
    if not os.access(cache if os.path.isdir(cache) else folder, os.W_OK):
        return
    try:
        from ralphloop.hook import bundle

        bundle.write(folder)
    except (OSError, SyntaxError, ValueError):  # a module may be half written, in the middle of an update
        pass


def _report(error: Exception) -> None:
    """A bug of ours must not cost the person's session: keep it in the user's state directory."""
    try:
        import traceback

        from ralphloop.store import files, shelf

        folder = shelf.home(os.environ)
        files.make_folder(folder)
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        files.append(os.path.join(folder, "errors.log"), "".join(lines), most=files.LOG_MAX)
    except OSError:
        pass

"""From a stop's payload to the client's answer; what is decided in between is the engine's."""

from __future__ import annotations

import sys

from ralphloop import errors
from ralphloop.engine import find
from ralphloop.engine.stop import decision_for
from ralphloop.hook import wire
from ralphloop.store.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.hook.recording import Tape
    from ralphloop.store.loop import LoopFiles


def stop(payload: Mapping[str, Any], call: find.Call) -> str:
    """The text for the client; empty lets it stop in silence."""
    if wire.is_subagent(payload) or wire.is_check(call.env):
        return ""
    event = wire.stop_event(payload, cwd=call.cwd)
    mine = find.held(event, call)
    tape = _tape(payload, event, call=call, mine=mine)
    said, aside = None, ""
    try:
        said, aside = _respond(event, call, mine=mine, tape=tape)
    finally:
        if tape is not None:
            tape.keep(said, aside)
    if aside and sys.stderr is not None:
        sys.stderr.write(aside + "\n")
    return said


def _tape(
    payload: Mapping[str, Any], event: StopEvent, *, call: find.Call, mine: Optional[LoopFiles]
) -> Optional[Tape]:
    """What keeps this stop for later, if the person wants that: in the project of the session's loop, or in
    the nearest one. A registration that does not serve the loop has nothing to tell."""
    if mine is not None and not call.serves(mine):
        return None
    shelves = [mine.shelf] if mine else [Shelf(root, call.env) for root in find.roots(event.cwd, call.env)]
    for here in shelves:
        if here.records_stops:
            try:
                from ralphloop.hook.recording import Tape
            except ImportError:  # half a package, in the middle of an update
                return None
            return Tape(payload, event, call=call, here=here, loop=mine)
    return None


def _respond(
    event: StopEvent, call: find.Call, *, mine: Optional[LoopFiles], tape: Optional[Tape]
) -> tuple[str, str]:
    """What goes to stdout, and what to stderr."""
    try:
        decided = decision_for(event, call, mine=mine, tape=tape)
    except OSError as error:
        from ralphloop.store import disk

        return wire.notice("ralphloop: %s, so the stop is allowed." % disk.refused(error)), ""
    except errors.BusyError:
        return wire.notice("ralphloop: others were at work here for too long, so the stop is allowed."), ""
    if decided is None:
        return "", ""
    decision, loop = decided
    return wire.answer(decision, as_context=loop.record.continue_with == "context"), decision.stderr

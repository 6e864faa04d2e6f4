"""What a person or a program can do with a loop: values in, a result out.

`from ralphloop import loops` brings every name below; the module behind one is loaded when it is first used,
so that a command pays for nothing else. Provisional: names may still change until version 1.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralphloop.loops.bounds import limit
    from ralphloop.loops.consent import Approval, approve, waiting_change
    from ralphloop.loops.drive import run
    from ralphloop.loops.explanation import explain
    from ralphloop.loops.notice import notify, notify_of, try_notify
    from ralphloop.loops.outset import Wish, start
    from ralphloop.loops.pausing import cancel, pause, resume
    from ralphloop.loops.place import Place, here, pick
    from ralphloop.loops.removal import Removal, clean, to_remove
    from ralphloop.loops.result import Result, quiet
    from ralphloop.loops.run_terms import RunWish
    from ralphloop.loops.standing import Overview, events, evidence, journal, overview, report, state
    from ralphloop.loops.stop_record import clear_records, record, records, show_record
    from ralphloop.loops.task import accept, answer, ask, done, skip, verify
    from ralphloop.loops.task_list import new, plan, show_plan

__all__ = [
    "Approval", "Overview", "Place", "Removal", "Result", "RunWish", "Wish", "accept", "answer", "approve",
    "ask", "cancel", "clean", "clear_records", "done", "events", "evidence", "explain", "here", "journal",
    "limit", "new", "notify", "notify_of", "overview", "pause", "pick", "plan", "quiet", "record", "records",
    "report", "resume", "run", "show_plan", "show_record", "skip", "start", "state", "to_remove",
    "try_notify", "verify", "waiting_change",
]  # fmt: skip

# module -> its names, as above; no module is called like a name, or loading it would take the name's place
_NAMES = {
    "bounds": "limit",
    "consent": "Approval approve waiting_change",
    "drive": "run",
    "explanation": "explain",
    "notice": "notify notify_of try_notify",
    "outset": "Wish start",
    "pausing": "cancel pause resume",
    "place": "Place here pick",
    "removal": "Removal clean to_remove",
    "result": "Result quiet",
    "run_terms": "RunWish",
    "standing": "Overview events evidence journal overview report state",
    "stop_record": "clear_records record records show_record",
    "task": "accept answer ask done skip verify",
    "task_list": "new plan show_plan",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # or a misspelt name would be Any

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found

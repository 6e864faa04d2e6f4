"""What a person or a program can do with a loop: values in, a result out.

`from ralphloop import loops` brings every name below; the module behind one is loaded when it is first used,
so that a command pays for nothing else. Provisional: names may still change until version 1.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralphloop.loops.bounds import limit as limit
    from ralphloop.loops.chronicle import report as report
    from ralphloop.loops.consent import Approval as Approval
    from ralphloop.loops.consent import approve as approve
    from ralphloop.loops.consent import waiting_change as waiting_change
    from ralphloop.loops.drive import run as run
    from ralphloop.loops.exhibit import evidence as evidence
    from ralphloop.loops.explanation import explain as explain
    from ralphloop.loops.glance import Overview as Overview
    from ralphloop.loops.glance import events as events
    from ralphloop.loops.glance import journal as journal
    from ralphloop.loops.glance import overview as overview
    from ralphloop.loops.glance import state as state
    from ralphloop.loops.halt import cancel as cancel
    from ralphloop.loops.halt import pause as pause
    from ralphloop.loops.notice import notify as notify
    from ralphloop.loops.notice import notify_of as notify_of
    from ralphloop.loops.notice import try_notify as try_notify
    from ralphloop.loops.outset import Wish as Wish
    from ralphloop.loops.outset import start as start
    from ralphloop.loops.place import Place as Place
    from ralphloop.loops.place import here as here
    from ralphloop.loops.place import pick as pick
    from ralphloop.loops.question import answer as answer
    from ralphloop.loops.question import ask as ask
    from ralphloop.loops.removal import Removal as Removal
    from ralphloop.loops.removal import clean as clean
    from ralphloop.loops.removal import to_remove as to_remove
    from ralphloop.loops.result import Result as Result
    from ralphloop.loops.result import quiet as quiet
    from ralphloop.loops.resumption import resume as resume
    from ralphloop.loops.run_terms import RunWish as RunWish
    from ralphloop.loops.stop_record import clear_records as clear_records
    from ralphloop.loops.stop_record import record as record
    from ralphloop.loops.stop_record import records as records
    from ralphloop.loops.stop_record import show_record as show_record
    from ralphloop.loops.task_claim import done as done
    from ralphloop.loops.task_claim import verify as verify
    from ralphloop.loops.task_list import new as new
    from ralphloop.loops.task_list import plan as plan
    from ralphloop.loops.task_list import show_plan as show_plan
    from ralphloop.loops.word import accept as accept
    from ralphloop.loops.word import skip as skip

# name -> its module; none is called like a name, or loading it would take the name's place
_HOMES = {
    "Place": "place",
    "here": "place",
    "pick": "place",
    "Overview": "glance",
    "overview": "glance",
    "state": "glance",
    "journal": "glance",
    "events": "glance",
    "evidence": "exhibit",
    "report": "chronicle",
    "notify": "notice",
    "notify_of": "notice",
    "try_notify": "notice",
    "Result": "result",
    "quiet": "result",
    "pause": "halt",
    "cancel": "halt",
    "ask": "question",
    "answer": "question",
    "done": "task_claim",
    "verify": "task_claim",
    "explain": "explanation",
    "record": "stop_record",
    "records": "stop_record",
    "show_record": "stop_record",
    "clear_records": "stop_record",
    "accept": "word",
    "skip": "word",
    "new": "task_list",
    "plan": "task_list",
    "show_plan": "task_list",
    "start": "outset",
    "run": "drive",
    "RunWish": "run_terms",
    "Wish": "outset",
    "resume": "resumption",
    "limit": "bounds",
    "Removal": "removal",
    "to_remove": "removal",
    "clean": "removal",
    "approve": "consent",
    "waiting_change": "consent",
    "Approval": "consent",
}
__all__ = sorted(_HOMES)


if not TYPE_CHECKING:  # or a misspelt name would be Any

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found

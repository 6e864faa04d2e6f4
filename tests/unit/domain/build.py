"""Short ways to say a loop, a list and a stop."""

from __future__ import annotations

from ralphloop.domain.ledger import Ledger, name_tasks, survey
from ralphloop.domain.model import RUNNING, Limits, LoopState, StopEvent, Task, TaskList, Turn
from ralphloop.domain.prompt import Words
from ralphloop.domain.situation import Situation
from ralphloop.domain.worklist import Worklist
from ralphloop.tasklists.registry import traits
from unit.layouts import FEATURES

NOW = 1_800_000_000.0


def words_of(layout: str = FEATURES, **about) -> Words:
    return Words(traits=traits(layout), **{"command": "ralphloop", "list_path": "tasks.json", **about})


def usual_words(layout: str) -> Words:
    return words_of(layout, notes_path="progress.txt")


def a_list(*tasks: Task | str, **about) -> TaskList:
    """A task list; `"F1"` is an open task, `"F1!"` a done one."""
    made = [
        task if isinstance(task, Task) else Task(task.rstrip("!"), "", done="!" in task) for task in tasks
    ]
    return TaskList(made, **about)


def a_ledger(**tasks: str | dict[str, str]) -> Ledger:
    """`F1="skipped"` is a state, `F1={"question": "?"}` whatever the ledger says."""
    ledger = Ledger()
    for name, known in tasks.items():
        ledger.note(name, **(known if isinstance(known, dict) else {"state": known}))
    return ledger


def look(*tasks: Task | str, ledger: Ledger | None = None, **about) -> Worklist:
    listed, known = a_list(*tasks, **about), ledger or Ledger()
    name_tasks(listed, known)
    return survey(listed, known)


def a_loop(**values) -> LoopState:
    return LoopState(**{"id": "L", "layout": FEATURES, "name": "demo", "state": RUNNING, **values})


def a_stop(**values) -> StopEvent:
    return StopEvent(**{"session": "S", "cwd": "/p", **values})


def situation(
    work: Worklist | None = None,
    *,
    loop: LoopState | None = None,
    event: StopEvent | None = None,
    turn: Turn | None = None,
    limits: Limits | None = None,
    **more,
) -> Situation:
    """A running loop of features with a turn that used a tool, unless said otherwise. A given loop is copied:
    a decision moves it."""
    state = loop.copy() if loop else a_loop()
    return Situation(
        event or a_stop(),
        state,
        work=work,
        turn=turn or Turn(readable=True, tools=1),
        limits=limits or Limits(iterations=30),
        words=usual_words(state.layout),
        **{"now": NOW, "path": "/p/tasks.json", **more},
    )

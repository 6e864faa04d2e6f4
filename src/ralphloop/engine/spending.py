"""Tokens and dollars of a loop that has a budget, counted on from stop to stop."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.limits import Spent
from ralphloop.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ralphloop.domain.model import LoopState
    from ralphloop.store.loop import LoopFiles

WINDOW = 200_000  # of a model that nobody knows


def count(loop: LoopFiles, state: LoopState, transcript: str) -> Spent:
    """All that was spent so far; what is new belongs to the task that was handed out last."""
    from ralphloop.agents.models import cost_usd
    from ralphloop.agents.usage import Meter

    known = _load(loop)
    meter, spent = Meter.from_json(known.get("meter")), _spent(known)
    for charge in meter.read(transcript, since=state.since):
        _add(spent, state.current, tokens=charge.tokens, cost=cost_usd(charge), model=charge.model)
    if loop.writes:
        data = {"meter": meter.to_json(), "spent": {name: getattr(spent, name) for name in Spent.__slots__}}
        files.make_folder(loop.kept)
        files.write_text(_place(loop), jsontext.render(data) + "\n")
    return spent


def so_far(loop: LoopFiles) -> Spent:
    """What was counted until the last stop."""
    return _spent(_load(loop))


def fullness(transcript: str) -> Optional[float]:
    """The share of the context window that the session has used; None if its transcript does not tell."""
    from ralphloop.agents.usage import context_of

    seen = context_of(transcript)
    return None if seen is None else seen.tokens / (seen.window or WINDOW)


def _add(spent: Spent, task: str, *, tokens: int, cost: Any, model: str) -> None:
    spent.tokens += tokens
    spent.task_tokens[task] = spent.task_tokens.get(task, 0) + tokens
    if cost is None:
        spent.unpriced = spent.unpriced if model in spent.unpriced else [*spent.unpriced, model]
        return
    spent.cost_usd += cost
    spent.task_cost_usd[task] = spent.task_cost_usd.get(task, 0.0) + cost


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "usage.json")


def _load(loop: LoopFiles) -> dict[str, Any]:
    try:
        return jsontext.parse_object(files.read_quietly(_place(loop)) or "{}")
    except ValueError:
        return {}


def _spent(known: dict[str, Any]) -> Spent:
    """What was counted before; a figure of the wrong kind is left out."""
    spent, data = Spent(), known.get("spent")
    for name in Spent.__slots__:
        value, default = data.get(name) if isinstance(data, dict) else None, getattr(spent, name)
        if isinstance(value, dict):
            value = {task: figure for task, figure in value.items() if isinstance(figure, (int, float))}
        if isinstance(value, type(default)) and not isinstance(value, bool):
            setattr(spent, name, value)
    return spent

"""The counter of a loop's tokens and dollars, which its limits obey: counted on from stop to stop."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.limits import Spent
from ralphloop.store import files
from ralphloop.store.loop import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.model import LoopState
    from ralphloop.engine.account import Account
    from ralphloop.store.loop import LoopFiles

WINDOW = 200_000  # of a model that nobody knows


def count(loop: LoopFiles, state: LoopState, transcript: str, *, env: Mapping[str, str]) -> Spent:
    """All that was spent until this stop; what is new belongs to the task that was handed out last. Of a turn
    while the loop rests nobody knows yet whether it is the loop's, so it is not written down."""
    from ralphloop.agents.registry import client

    usage = client().usage
    known = files.read_object(_place(loop))
    if state.live and state.since > str(known.get("since", iso(state.started_at))):
        state.note_transcript(transcript)
        return settle(loop, state, env=env)
    meter, spent = usage.Meter.from_json(known.get("meter")), _spent(known)
    for charge in meter.read(transcript, since=state.since):
        spent.add(state.current, tokens=charge.tokens, cost_usd=usage.cost_usd(charge), model=charge.model)
    if state.live:
        _save(loop, state, meter.to_json(), spent)
    return spent


def settle(loop: LoopFiles, state: LoopState, *, env: Mapping[str, str]) -> Spent:
    """Count anew what all sessions of the loop spent, stopped or killed; whenever it is taken up, because no
    stop looks further back than that."""
    account = look(loop, state, env=env)
    _save(loop, state, account.meter.to_json(), account.spent)
    return account.spent


def go_on(loop: LoopFiles, state: LoopState) -> None:
    """What was settled a moment ago holds for the session that begins now."""
    known = files.read_object(_place(loop))
    _save(loop, state, known.get("meter"), _spent(known))


def look(loop: LoopFiles, state: LoopState, *, env: Mapping[str, str]) -> Account:
    """The same, and nothing is written."""
    from ralphloop.agents.registry import client
    from ralphloop.engine.account import account_of

    known = files.read_object(_place(loop))
    counter = (client().usage.Meter.from_json(known.get("meter")), _spent(known)) if known else None
    return account_of(loop, state, env=env, counter=counter)


def so_far(loop: LoopFiles) -> Spent:
    """What was counted until the last stop."""
    return _spent(files.read_object(_place(loop)))


def fullness(transcript: str) -> Optional[float]:
    """The share of the context window that the session has used; None if its transcript does not tell."""
    from ralphloop.agents.registry import client

    seen = client().usage.context_of(transcript)
    return None if seen is None else seen.tokens / (seen.window or WINDOW)


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "usage.json")


def _save(loop: LoopFiles, state: LoopState, meter: Any, spent: Spent) -> None:
    if not loop.writes:
        return
    counted = {name: getattr(spent, name) for name in Spent.__slots__}
    files.make_folder(loop.kept)
    text = jsontext.render({"meter": meter, "spent": counted, "since": state.since})
    files.write_text(_place(loop), text + "\n")


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

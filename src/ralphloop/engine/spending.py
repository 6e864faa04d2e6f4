"""A loop's tokens and dollars: the counter that its limits obey, counted on from stop to stop, and all that
it spent, read anew out of every transcript that is its own."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import is_older
from ralphloop.store import files
from ralphloop.store.loop import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Optional, Sequence

    from ralphloop.agents.client import Meter
    from ralphloop.agents.transcript import Charge
    from ralphloop.domain.model import LoopState
    from ralphloop.engine.under_way import Part
    from ralphloop.store.loop import LoopFiles

LAST = "9"  # behind every time stamp
WINDOW = 200_000  # of a model that nobody knows


def count(loop: LoopFiles, state: LoopState, transcript: str, *, env: Mapping[str, str]) -> Spent:
    """All that was spent until this stop; what is new belongs to the task that was handed out last. Of a turn
    while the loop rests nobody knows yet whether it is the loop's, so it is not written down."""
    from ralphloop.agents.registry import client

    agent = client()
    known = files.read_object(_place(loop))
    if state.live and state.since > str(known.get("since", iso(state.started_at))):
        state.note_transcript(transcript)
        return settle(loop, state, env=env)
    meter, spent = agent.usage.Meter.from_json(known.get("meter")), _spent(known)
    for charge in meter.read(transcript, since=state.since):
        cost_usd = agent.usage.cost_usd(charge)
        spent.add(state.current, tokens=charge.tokens, cost_usd=cost_usd, model=charge.model)
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


class Account:
    """What was read, and how it compares with what was counted before."""

    __slots__ = ("charges", "lost", "meter", "missing", "parts", "paths", "spent")

    def __init__(self, paths: Sequence[str], charges: list[tuple[Charge, str]], meter: Meter) -> None:
        self.paths = list(paths)
        self.missing = [path for path in paths if not os.path.isfile(path)]
        self.charges = charges  # each with the task at hand
        self.meter = meter
        self.parts: Sequence[Part] = ()  # when the loop was under way
        self.spent = _sum(charges)
        self.lost = Spent()  # what was counted before, and can no longer be read

    @property
    def known(self) -> bool:
        """Whether anything tells what was spent."""
        return len(self.missing) < len(self.paths) or self.lost.tokens > 0

    def keep(self, counted: Spent) -> None:
        """What was counted stays counted: a transcript or the journal may be gone."""
        self.lost = counted.beyond(self.spent)
        self.spent.include(self.lost)


def account_of(
    loop: LoopFiles, state: LoopState, *, env: Mapping[str, str], counter: Optional[tuple[Meter, Spent]]
) -> Account:
    """Each message once, in whatever transcript, up to this moment; `counter` is what was counted so far."""
    from ralphloop.engine import under_way

    said = under_way.entries(loop)
    paths = transcripts_of(loop, state, said=said, env=env)
    if counter is not None:  # the agent may have cleaned the journal away
        paths = [path for path in counter[0].transcripts if path not in paths] + paths
    end = LAST if state.live else iso(state.seen_at)
    begin = iso(state.started_at) if state.started_at else ""
    return read(paths, under_way.parts(said, begin=begin, end=end), since=begin, counter=counter)


def transcripts_of(
    loop: LoopFiles, state: LoopState, *, said: Iterable[dict[str, Any]], env: Mapping[str, str]
) -> list[str]:
    """Those that the state names, which are the last few, and those of all sessions that owned the loop: one
    that was killed before its first stop is in no state. The owner's comes last."""
    from ralphloop.agents.registry import client
    from ralphloop.engine import under_way

    transcript_of = client().usage.transcript_of
    known = [os.path.expanduser(path) for path in state.transcripts]
    names = dict.fromkeys([*under_way.sessions(said), state.owner or loop.record.session or ""])
    found = [transcript_of(name, root=loop.record.root, known=known, env=env) for name in names if name]
    return list(dict.fromkeys([path for path in found if path and path not in known] + known))


def read(
    paths: Sequence[str],
    parts: Sequence[Part],
    *,
    since: str,
    counter: Optional[tuple[Meter, Spent]] = None,
) -> Account:
    from ralphloop.agents.registry import client

    meter = client().usage.Meter(exact=True)
    account = Account(paths, _charges(meter, paths, parts, since=since), meter)
    account.parts = parts
    if counter is not None and (account.missing or account.spent.tokens < counter[1].tokens):
        before, counted = counter
        counted.include(_sum(_charges(before, paths, parts, since=since)))
        account.keep(counted)
        account.meter = before if account.lost.tokens else meter
    return account


def _charges(
    meter: Meter, paths: Sequence[str], parts: Sequence[Part], *, since: str
) -> list[tuple[Charge, str]]:
    read = [charge for path in paths for charge in meter.read(path, since=since)]
    told = [(charge, task_at(charge.at, parts)) for charge in read]
    return [(charge, task) for charge, task in told if task is not None]


def task_at(stamp: str, parts: Sequence[Part]) -> Optional[str]:
    """The task at that moment, the later one where two meet; None if the loop was not under way then."""
    if not stamp or not parts:
        return ""
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if parts[middle][1] <= stamp else (low, middle)
    if low and stamp <= parts[low - 1][2]:
        return parts[low - 1][0]
    # a stamp of whole seconds may belong to what began in its second
    return parts[low][0] if low < len(parts) and not is_older(stamp, parts[low][1]) else None


def _sum(charges: Iterable[tuple[Charge, str]]) -> Spent:
    from ralphloop.agents.registry import client

    spent, cost_usd = Spent(), client().usage.cost_usd
    for charge, task in charges:
        spent.add(task, tokens=charge.tokens, cost_usd=cost_usd(charge), model=charge.model)
    return spent

"""What a loop did and what that took: when it was under way and with which task at hand, as its journal
tells; and its tokens and dollars, as its transcripts do: the counter that its limits obey, counted on from
stop to stop, and all that it spent, read anew out of each that is its own."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.limits import Spent
from ralphloop.domain.model import RUNNING, WAITING, is_older
from ralphloop.store import files
from ralphloop.store.loop import JOURNAL, iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

    from ralphloop.agents.client import Meter
    from ralphloop.agents.transcript import Charge
    from ralphloop.domain.model import LoopState
    from ralphloop.store.loop import LoopFiles

    # task (empty if none), begin, end, whether nobody knows how much of that time was work
    Part = tuple[str, str, str, bool]

# Events after which the loop rests until somebody, or a stop, takes it up again.
RESTS = ("pause", "cancel", "session_end", "interrupted", "stop_failure")
TAKES_UP = ("bind", "resume", "wake", "session")
OWNING = ("arm", "bind", "adopt", "resume", "session", "stop")
ATTEMPTS = 3
BEGIN = '{"at": "'  # of every line; inside one its quotes have a backslash
LAST = "9"  # behind every time stamp
WINDOW = 200_000  # of a model that nobody knows


def lines(loop: LoopFiles) -> Optional[list[str]]:
    """The journal's whole lines; None if there is no journal. Behind the last line end a write may be under
    way."""
    texts = _texts(loop.shown(files.older(JOURNAL)), loop.shown(JOURNAL))
    return [raw for text in texts for raw in text.split("\n")[:-1] if raw] if texts else None


def _texts(before: str, now: str) -> list[str]:
    """Of the file that was moved aside and of the one that is written; again if it moves in between."""
    for _ in range(ATTEMPTS):
        mark = files.signature(before)
        texts = [text for text in map(files.read_quietly, (before, now)) if text is not None]
        if files.signature(before) == mark:
            break
    return texts


def entry_of(raw: Union[str, bytes]) -> Optional[dict[str, Any]]:
    """What one line says; None for one that is no entry, which may be in the middle of a write."""
    try:
        entry = jsontext.parse_object(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw)
    except ValueError:
        return None
    is_stamp = text(entry, "at")[10:11] == "T"
    return entry if isinstance(entry.get("event"), str) and is_stamp else None


def rest_of(raw: str) -> Optional[dict[str, Any]]:
    """What was written behind half a line, where a write was cut off before its end."""
    at = raw.rfind(BEGIN)
    return entry_of(raw[at:]) if at > 0 else None


def entries(loop: LoopFiles) -> list[dict[str, Any]]:
    found = [entry_of(raw) or rest_of(raw) for raw in lines(loop) or ()]
    return [entry for entry in found if entry is not None]


def text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def texts(entry: dict[str, Any], key: str) -> list[str]:
    value = entry.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def of_kind(said: Iterable[dict[str, Any]], *events: str) -> Iterator[dict[str, Any]]:
    return (entry for entry in said if entry["event"] in events)


def sessions(said: Iterable[dict[str, Any]]) -> list[str]:
    """The sessions that owned the loop, in order."""
    names = [text(entry, "session") for entry in of_kind(said, *OWNING)]
    return list(dict.fromkeys(filter(None, names)))


def parts(said: Sequence[dict[str, Any]], *, begin: str, end: str) -> list[Part]:
    """A task is at hand from the stop that hands it out to the next; `begin` and `end` stand in for what
    the journal does not say of the loop's first and last moment. What is taken up while it is under way was
    so until then: the person raised a limit, or its session was killed and nobody was left to note when."""
    task, under_way, rests, again = _first_task(said), begin, "", False
    found: list[Part] = []
    for entry in said:
        now, event = entry["at"], entry["event"]
        if event == "arm":
            under_way = now if text(entry, "session") else ""
        elif event in TAKES_UP:
            is_new = event == "session"  # and no end of the one before was noted
            if is_new and under_way and again:
                found[-1] = (*found[-1][:3], True)
            if under_way:
                found.append((task, under_way, now, is_new))
            again, under_way, rests = bool(under_way), now if text(entry, "session") else "", ""
            task = text(entry, "task") if is_new else task
        elif event == "stop" or _comes_to_rest(entry):
            if under_way or (rests and event == "stop"):
                found.append((task, under_way or rests, now, not under_way))
            again, goes_on = False, event == "stop" and is_under_way(entry)
            under_way, rests = (now, "") if goes_on else ("", now)
            task = _handed_out(entry, task)
    if under_way:
        found.append((task, under_way, end, False))
    return [(task, begin, max(begin, end), rested) for task, begin, end, rested in found]


def _comes_to_rest(entry: dict[str, Any]) -> bool:
    """In a supervisor's session a failure ends nothing: it is judged at the session's end, which follows."""
    return entry["event"] in RESTS and (entry["event"] != "stop_failure" or bool(text(entry, "outcome")))


def is_under_way(stop: dict[str, Any]) -> bool:
    return stop.get("state") in (RUNNING, WAITING)


def _handed_out(entry: dict[str, Any], before: str) -> str:
    """Only a stop that goes on hands out a task; one about a broken file or a phase changes none."""
    goes_on = text(entry, "decision") == "continue"
    return (
        text(entry, "task") if goes_on and (text(entry, "task") or entry.get("rule") == "go_on") else before
    )


def _first_task(said: Iterable[dict[str, Any]]) -> str:
    """What the first turn was about. Where the start does not say it: what was claimed in it, else what its
    stop handed out, which is then the same task again."""
    for entry in of_kind(said, "arm", "claim", "stop"):
        claimed = texts(entry, "claimed")[:1] if entry["event"] == "stop" else []
        found = claimed[0] if claimed else text(entry, "task")
        if found or entry["event"] == "stop":
            return found
    return ""


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
    data = {"meter": meter, "spent": counted, "since": state.since}
    files.write_text(_place(loop), jsontext.render(data) + "\n")


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
    said = entries(loop)
    paths = transcripts_of(loop, state, said=said, env=env)
    if counter is not None:  # the agent may have cleaned the journal away
        paths = [path for path in counter[0].transcripts if path not in paths] + paths
    end = LAST if state.live else iso(state.seen_at)
    begin = iso(state.started_at) if state.started_at else ""
    return read(paths, parts(said, begin=begin, end=end), since=begin, counter=counter)


def transcripts_of(
    loop: LoopFiles, state: LoopState, *, said: Iterable[dict[str, Any]], env: Mapping[str, str]
) -> list[str]:
    """Those that the state names, which are the last few, and those of all sessions that owned the loop: one
    that was killed before its first stop is in no state. The owner's comes last."""
    from ralphloop.agents.registry import client

    transcript_of = client().usage.transcript_of
    known = [os.path.expanduser(path) for path in state.transcripts]
    names = dict.fromkeys([*sessions(said), state.owner or loop.record.session or ""])
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

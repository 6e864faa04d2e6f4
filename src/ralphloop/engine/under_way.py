"""When a loop was under way, and with which task at hand, as its journal tells."""

from __future__ import annotations

from ralphloop.domain import jsontext
from ralphloop.domain.model import RUNNING, WAITING
from ralphloop.store import files
from ralphloop.store.loop import JOURNAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Optional, Sequence, Union

    from ralphloop.store.loop import LoopFiles

    # task (empty if none), begin, end, whether nobody knows how much of that time was work
    Part = tuple[str, str, str, bool]

# Events after which the loop rests until somebody, or a stop, takes it up again.
RESTS = ("pause", "cancel", "session_end", "interrupted", "stop_failure")
TAKES_UP = ("bind", "resume", "wake", "session")
OWNING = ("arm", "bind", "adopt", "resume", "session", "stop")
ATTEMPTS = 3
BEGIN = '{"at": "'  # of every line; inside one its quotes have a backslash


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

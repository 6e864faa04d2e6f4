"""One entry of a loop's journal as a line for people."""

from __future__ import annotations

import time
from calendar import timegm
from typing import Any

from ralphloop.domain import jsontext
from ralphloop.domain.prompt import line as one_line
from ralphloop.views.terminal import plain

# What is said after the event's own words; everything else stays in the JSON.
_FACTS = ("task", "outcome", "detail", "reason", "question", "answer")


def line(raw: str) -> str:
    """`2026-01-31 10:00:05  stop  continue (go_on), iteration 3, task F2`, in local time."""
    try:
        entry = jsontext.parse_object(raw)
    except ValueError:
        return plain("(not readable) " + raw[:200])
    event = str(entry.get("event", "?"))
    words = (
        _stop(entry)
        if event == "stop"
        else [f"{key} {_said(entry[key])}" for key in _FACTS if entry.get(key)]
    )
    if event in ("arm", "bind", "adopt", "resume"):
        words.append(f"session {_said(entry.get('session') or 'none yet')}")
    return plain(f"{_local(entry.get('at'))}  {event:<12}  {', '.join(words)}".rstrip())


def _stop(entry: dict[str, Any]) -> list[str]:
    words = [f"{entry.get('decision')} ({entry.get('rule')})", f"iteration {entry.get('iteration')}"]
    claimed = entry.get("claimed")
    if isinstance(claimed, list) and claimed:
        words.append("claimed " + ", ".join(map(str, claimed)))
    facts = ("refused", "task", "outcome", "detail")
    return words + [f"{key} {_said(entry[key])}" for key in facts if entry.get(key)]


def _said(value: Any) -> str:
    return one_line(str(value), 160)


def _local(stamp: Any) -> str:
    """The entry's UTC stamp as the person's clock shows it."""
    try:
        moment = timegm(time.strptime(str(stamp)[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return str(stamp)
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))

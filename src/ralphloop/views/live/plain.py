"""The view where there is no screen: one line after the other, for pipes, logs and dumb terminals."""

from __future__ import annotations

from ralphloop.agents.activity import EDIT, ERROR, FAILED, HOOK, LOOP, PROMPT, SENT, TEXT, TOOL, Activity
from ralphloop.domain.plain import plain
from ralphloop.store import supervisor
from ralphloop.views import terminal
from ralphloop.views.clock import local
from ralphloop.views.figure import dollars, span, tokens
from ralphloop.views.fold import COLUMNS, cut, fold
from ralphloop.views.live.feed import Frame
from ralphloop.views.spending import NOT_YET, UNKNOWN

WORDS = {
    TEXT: "says", TOOL: "calls", EDIT: "edits", FAILED: "failed", ERROR: "error", HOOK: "hook", LOOP: "loop",
    PROMPT: "prompt",
}  # fmt: skip
_WIDE = max(map(len, WORDS.values()))
_TIME = "%m-%d %H:%M:%S"
HANG = len("01-31 10:00:05") + 2 + _WIDE + 2  # behind the time and the word
FIRST = 20  # of what happened before


class Lines:
    """Tells each activity once, and each change of the headline."""

    def __init__(self, width: int = COLUMNS) -> None:
        self._width = width
        self._last = 0
        self._headline = ""
        self._waited = ""
        self._is_silent = False

    def news(self, frame: Frame) -> list[str]:
        first = not self._headline
        fresh = [pair for pair in frame.activities if pair[0] > self._last]
        if frame.activities:
            self._last = frame.activities[-1][0]
        told = [
            line
            for _, activity in (fresh[-FIRST:] if first else fresh)
            for line in lines_of(activity, frame.now, self._width)
        ]
        return [*told, *self._changes(frame)]

    def _changes(self, frame: Frame) -> list[str]:
        lines: list[tuple[str, str]] = []
        head = terminal.block(frame.view, now=frame.now)[0]
        if head != self._headline:
            self._headline = head
            lines.append(("now", head))
        waited = waiting(frame)
        if waited and waited != self._waited:
            lines.append(("waits", waited))
        self._waited = waited
        was_silent, self._is_silent = self._is_silent, frame.view.is_silent(frame.now)
        if self._is_silent and not was_silent:
            lines.append(("silent", terminal.silence(frame.view, frame.now)))
        return [row for word, text in lines for row in _rows(frame.now, word, text, self._width)]


def waiting(frame: Frame) -> str:
    """What a supervisor waits for, said once and not every second."""
    holder = frame.holder
    if holder is None or holder.phase != supervisor.RESTING:
        return ""
    until = f"until {local(holder.until)}" if holder.until else ""
    return " ".join(part for part in (until, f"({holder.why})" if holder.why else "") if part) or "for now"


def lines_of(activity: Activity, now: float, width: int = COLUMNS) -> list[str]:
    """Of what we send the session ourselves the beginning is enough."""
    at, word = activity.at or now, WORDS[activity.kind]
    if activity.kind in SENT:
        return [cut(_row(at, word, activity.lines[0]), width)]
    lines = enumerate(activity.lines)
    return [row for place, line in lines for row in _rows(at, "" if place else word, line, width)]


def _rows(at: float, word: str, text: str, width: int) -> list[str]:
    return fold(_row(at, word, text), width, hang=HANG)


def _row(at: float, word: str, text: str) -> str:
    return plain(f"{local(at, _TIME)}  {word:<{_WIDE}}  {text}").rstrip()


def state_lines(frame: Frame, *, width: int, rows: int) -> list[str]:
    """The loop as `status` shows it, and the last lines of its stream."""
    view = frame.view._replace(context=frame.context)
    block = terminal.blocks([view], now=frame.now, width=width, rows=rows, table=True)
    stream = [row for _, told in frame.activities[-FIRST:] for row in lines_of(told, frame.now, width)]
    head = [row for line in [*block, "  used: " + ", ".join(_used(frame))] for row in fold(line, width)]
    return [*head, *stream]


def _used(frame: Frame) -> list[str]:
    parts = [f"{span(frame.elapsed_s)} of {span(frame.time_limit_s)}"]
    if frame.tokens is None:
        return [*parts, NOT_YET if frame.view.live else UNKNOWN]
    parts.append(f"{tokens(frame.tokens)} tokens")
    return parts if frame.cost_usd is None else [*parts, dollars(frame.cost_usd)]

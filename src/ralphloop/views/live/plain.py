"""The view where there is no screen: one line after the other, for pipes, logs and dumb terminals."""

from __future__ import annotations

from ralphloop.agents.activity import EDIT, ERROR, FAILED, HOOK, LOOP, PROMPT, TEXT, TOOL, Activity
from ralphloop.domain.plain import plain
from ralphloop.store import supervisor
from ralphloop.views import terminal
from ralphloop.views.clock import local
from ralphloop.views.figure import dollars, span, tokens
from ralphloop.views.live.feed import Frame

WORDS = {
    TEXT: "says", TOOL: "calls", EDIT: "edits", FAILED: "failed", ERROR: "error", HOOK: "hook", LOOP: "loop",
    PROMPT: "prompt",
}  # fmt: skip
_WIDE = max(map(len, WORDS.values()))
FIRST = 20  # of what happened before


class Lines:
    """Tells each activity once, and each change of the headline."""

    def __init__(self) -> None:
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
            for line in lines_of(activity, frame.now)
        ]
        return [*told, *self._changes(frame)]

    def _changes(self, frame: Frame) -> list[str]:
        lines = []
        head = terminal.block(frame.view, now=frame.now)[0]
        if head != self._headline:
            self._headline = head
            lines.append(_line(frame.now, "now", head))
        waited = waiting(frame)
        if waited and waited != self._waited:
            lines.append(_line(frame.now, "waits", waited))
        self._waited = waited
        was_silent, self._is_silent = self._is_silent, frame.view.is_silent(frame.now)
        if self._is_silent and not was_silent:
            lines.append(_line(frame.now, "silent", terminal.silence(frame.view, frame.now)))
        return lines


def waiting(frame: Frame) -> str:
    """What a supervisor waits for, said once and not every second."""
    holder = frame.holder
    if holder is None or holder.phase != supervisor.RESTING:
        return ""
    until = f"until {local(holder.until)}" if holder.until else ""
    return " ".join(part for part in (until, f"({holder.why})" if holder.why else "") if part) or "for now"


def lines_of(activity: Activity, now: float) -> list[str]:
    at, word = activity.at or now, WORDS[activity.kind]
    return [_line(at, word if not place else "", line) for place, line in enumerate(activity.lines)]


def _line(at: float, word: str, text: str) -> str:
    return plain(f"{local(at)}  {word:<{_WIDE}}  {text}").rstrip()


def state_lines(frame: Frame, *, width: int, rows: int) -> list[str]:
    """The loop as `status` shows it, and the last lines of its stream."""
    view = frame.view._replace(context=frame.context)
    block = terminal.blocks([view], now=frame.now, width=width, rows=rows, table=True)
    stream = [line for _, activity in frame.activities[-FIRST:] for line in lines_of(activity, frame.now)]
    return [*block, "  used: " + ", ".join(_used(frame)), *stream]


def _used(frame: Frame) -> list[str]:
    parts = [f"{span(frame.elapsed_s)} of {span(frame.time_limit_s)}"]
    if frame.tokens is None:
        return [*parts, "tokens unknown"]
    parts.append(f"{tokens(frame.tokens)} tokens")
    return parts if frame.cost_usd is None else [*parts, dollars(frame.cost_usd)]

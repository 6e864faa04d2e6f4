"""Shows a loop until it is over or the person leaves, on the whole screen or line by line, and obeys keys."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, TextIO

from ralphloop.agents.transcript import EDIT, ERROR, FAILED, HOOK, LOOP, PROMPT, SENT, TEXT, TOOL, Activity
from ralphloop.domain.prompt import plain
from ralphloop.store import supervisor
from ralphloop.store.loop import PAUSE, LoopFiles
from ralphloop.views import terminal
from ralphloop.views.figure import NOT_YET, UNKNOWN, clock, dollars, local, span, tokens
from ralphloop.views.fold import COLUMNS, ROWS, cut, fold, size_of
from ralphloop.views.live.feed import Feed, Frame
from ralphloop.views.live.keyboard import HANG_UP, INTERRUPT, STOP, Keys

if TYPE_CHECKING:
    from ralphloop.views.live.paint import Painter
    from ralphloop.views.live.screen import Screen

TWICE_S = 3.0  # within which a key counts as pressed again
OVER, LEFT = "over", "left"
POLL_S, DRAW_S = 0.2, 0.3
# why there are plain lines instead of a screen
NO_TERMINAL = "the output is no terminal that can be drawn on"
BEHIND = "another program has the terminal"  # `run &`: who touches its modes is stopped until `fg`
NO_RICH = "the view needs the package rich (`pip install rich`); plain lines instead"
# of plain lines
WORDS = {
    TEXT: "says", TOOL: "calls", EDIT: "edits", FAILED: "failed", ERROR: "error", HOOK: "hook", LOOP: "loop",
    PROMPT: "prompt",
}  # fmt: skip
_WIDE = max(map(len, WORDS.values()))
_TIME = "%m-%d %H:%M:%S"
HANG = len("01-31 10:00:05") + 2 + _WIDE + 2  # behind the time and the word
FIRST = 20  # of what happened before
SETTLE_S = 1.0  # journal and stream have a writer each: within this time both have written what happened


class Driver(Protocol):
    """The way to the supervisor."""

    def send(self, word: str) -> None:
        """One of pause, go, skip-task, skip-wait, detach, interrupt, kill."""

    @property
    def ended(self) -> bool:
        """Whether the supervisor is gone."""


class Controls:
    def __init__(self, driver: Driver | None, *, has_keys: bool = True) -> None:
        self._driver = driver
        self._has_keys = has_keys
        self._skip_at: float | None = None
        self._notice, self._until = "", 0.0
        self._interrupts = 0

    def press(self, key: str, frame: Frame, *, now: float) -> bool:
        """Obey a key or a signal; True if the view is to be left. `now` never stands still."""
        if self._driver is None:
            return key in ("q", "Q", INTERRUPT, HANG_UP)
        if key == INTERRUPT:
            self._interrupt(now)
            return False
        if key in ("q", "Q", HANG_UP):
            self._send(supervisor.DETACH)
            return True
        self._steer(key.lower(), frame, now)
        return False

    def _steer(self, key: str, frame: Frame, now: float) -> None:
        if key == "p":
            paused = _is_paused(frame)
            self._send(supervisor.GO if paused else supervisor.PAUSE)
            self._say("goes on …" if paused else "pauses at the end of this turn …", now)
        elif key == "w" and _is_waiting(frame):
            self._send(supervisor.SKIP_WAIT)
            self._say("the wait is over …", now)
        elif key == "s" and frame.task:
            self._skip(frame.task, now)

    def _skip(self, task: str, now: float) -> None:
        if self._skip_at is None or now - self._skip_at > TWICE_S:
            self._skip_at = now
            self._say(f"press s again to skip task {task}", now)
            return
        self._skip_at = None
        self._send(supervisor.SKIP_TASK)
        self._say(f"skips task {task} …", now)

    def _interrupt(self, now: float) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._send(supervisor.KILL)
            self._say("killing the session …", now, for_s=3600.0)
            return
        self._send(supervisor.INTERRUPT)
        self._say("pausing …, once more kills it", now, for_s=3600.0)

    def _send(self, word: str) -> None:
        if self._driver is not None:
            with suppress(OSError):  # a supervisor that is gone shows as ended
                self._driver.send(word)

    def _say(self, notice: str, now: float, *, for_s: float = TWICE_S) -> None:
        self._notice, self._until = notice, now + for_s

    def notice(self, now: float) -> str:
        return self._notice if now < self._until else ""

    def keys(self, frame: Frame) -> str:
        """Only those that do something now."""
        if self._driver is None:
            return "q quit" if self._has_keys else "Ctrl-C quits"
        if not self._has_keys:
            return "Ctrl-C pauses, twice kills"
        keys = ["p go on" if _is_paused(frame) else "p pause"]
        keys += ["ss skip task"] if frame.task else []
        keys += ["w skip wait"] if _is_waiting(frame) else []
        return "  ".join([*keys, "q quit, keep running", "Ctrl-C pause and end"])

    @property
    def is_over(self) -> bool:
        return self._driver is not None and self._driver.ended


def _is_paused(frame: Frame) -> bool:
    is_held = frame.holder is not None and frame.holder.phase == supervisor.PAUSED
    return is_held or frame.view.requested == PAUSE


def _is_waiting(frame: Frame) -> bool:
    return frame.holder is not None and frame.holder.phase == supervisor.RESTING


def show(
    loop: LoopFiles,
    *,
    env: Mapping[str, str],
    driver: Driver | None = None,
    out: TextIO | None = None,
    lines: bool = False,
) -> str:
    """`over`: the loop has ended or rests, and with a driver its supervisor has ended. `left`: it may go on,
    and the person does not look any more. `lines` asks for plain lines even on a terminal."""
    out = out or sys.stdout
    feed, now = Feed(loop, env), clock(env)
    feed.poll(now())
    if driver is None and not feed.frame(now()).goes_on:
        return OVER
    if lines or why_plain(out, env):
        return _Shown(feed, now, driver=driver, keys=Keys(with_keys=False)).on_lines(out, _width(out, env))
    return _Shown(feed, now, driver=driver, keys=Keys()).on_screen(out, env)


def once(loop: LoopFiles, *, env: Mapping[str, str], out: TextIO | None = None, lines: bool = False) -> None:
    """One picture of the loop, without taking the screen."""
    out = out or sys.stdout
    feed, now = Feed(loop, env), clock(env)
    feed.poll(now())
    frame = feed.frame(now())
    if lines or why_plain(out, env):
        out.write("\n".join([*state_lines(frame, width=_width(out, env), rows=ROWS), ""]))
        return
    painter, screen = canvas(out, env)
    width, height = painter.size()
    for row in screen.rows(frame, width, height - 1):
        out.write(painter.told(row) + "\n")


def _is_behind(out: TextIO) -> bool:
    try:
        return os.tcgetpgrp(out.fileno()) != os.getpgrp()
    except (OSError, ValueError, AttributeError):  # not our terminal, none at all, or Windows
        return False


def _width(out: TextIO, env: Mapping[str, str]) -> int:
    """What a line may take: as much as the terminal has, and in a pipe what most terminals have."""
    return max(COLUMNS, size_of(out, env)[0])


def why_plain(out: TextIO, env: Mapping[str, str]) -> str:
    """Empty if `out` is a terminal that can be drawn on, and there is something to draw with."""
    if not out.isatty() or env.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return NO_TERMINAL
    if _is_behind(out):
        return BEHIND
    return NO_RICH if find_spec("rich") is None else ""


def canvas(out: TextIO, env: Mapping[str, str]) -> tuple[Painter, Screen]:
    from ralphloop.views.live.paint import Painter, signs_for
    from ralphloop.views.live.screen import Screen

    return Painter(out, env), Screen(signs_for(out.encoding))


class _Shown:
    """One loop that is looked at; `now` is what the view shows as the time, and may stand still."""

    def __init__(self, feed: Feed, now: Callable[[], float], *, driver: Driver | None, keys: Keys) -> None:
        self._feed, self._now = feed, now
        self._driver, self._keys = driver, keys
        self._controls = Controls(driver, has_keys=keys.has_keys)

    def on_lines(self, out: TextIO, width: int) -> str:
        told, notice = Lines(width), ""
        with self._keys as keys, self._detaching():
            while True:
                frame = self._feed.frame(self._now())
                is_over = self._is_over(frame)
                if is_over:  # what was written since the last look
                    self._feed.poll(self._now())
                    frame = self._feed.frame(self._now())
                said = self._controls.notice(time.monotonic())
                news = told.news(frame, is_last=is_over)
                lines = [*news, *([said] if said and said != notice else [])]
                notice = said
                if lines:
                    out.write("\n".join([*lines, ""]))
                    out.flush()
                if is_over:
                    return OVER
                if self._obey(keys.wait(POLL_S), frame):
                    return LEFT
                self._feed.poll(self._now())
        return LEFT

    def on_screen(self, out: TextIO, env: Mapping[str, str]) -> str:
        painter, screen = canvas(out, env)
        # The painter is left before the keys are: a terminal that is gone must not keep its modes.
        with self._keys as keys, self._detaching(), painter:
            drawing = Drawing(painter, screen)
            changed = True
            while True:
                frame = self._feed.frame(self._now())
                footing = self._controls.notice(time.monotonic()), self._controls.keys(frame)
                drawing.draw(frame, footing, changed=changed)
                if self._is_over(frame):
                    return OVER
                pressed = keys.wait(POLL_S)
                if STOP in pressed:
                    with painter.away():
                        if frame.view.live:  # the shell says "stopped", which only the view is
                            out.write(f"{frame.view.name} goes on meanwhile; `fg` shows it again.\n")
                            out.flush()
                        keys.suspend()
                if self._obey(pressed, frame):
                    return LEFT
                changed = self._feed.poll(self._now()) or STOP in pressed
        return LEFT

    def _is_over(self, frame: Frame) -> bool:
        return self._controls.is_over if self._driver is not None else not frame.goes_on

    def _obey(self, pressed: list[str], frame: Frame) -> bool:
        return any(self._controls.press(key, frame, now=time.monotonic()) for key in pressed)

    @contextmanager
    def _detaching(self) -> Iterator[None]:
        """A driver whose terminal or reader is gone leaves the supervisor at work."""
        try:
            yield
        except OSError:
            if self._driver is None:
                raise
            self._controls.press(HANG_UP, self._feed.frame(self._now()), now=time.monotonic())


class Drawing:
    """Draws where there is something new, and not more often than anybody can read."""

    def __init__(self, painter: Painter, screen: Screen) -> None:
        self._painter, self._screen = painter, screen
        self._drawn: object = None
        self._second = 0
        self._drawn_at = 0.0
        self._is_stale = True

    def draw(self, frame: Frame, footing: tuple[str, str], *, changed: bool) -> None:
        size, pace = self._painter.size(), time.monotonic()
        self._is_stale = self._is_stale or changed or int(frame.now) != self._second
        is_urgent = (size, footing) != self._drawn  # a key was pressed, or the window has another size
        if not is_urgent and not (self._is_stale and pace - self._drawn_at >= DRAW_S):
            return
        self._painter.paint(self._screen.rows(frame, *size, notice=footing[0], keys=footing[1]), size)
        self._drawn, self._second, self._drawn_at = (size, footing), int(frame.now), pace
        self._is_stale = False


class Lines:
    """Tells each activity once, and each change of the headline."""

    def __init__(self, width: int = COLUMNS) -> None:
        self._width = width
        self._last = 0
        self._held: list[tuple[float, list[str]]] = []
        self._headline = ""
        self._waited = ""
        self._is_silent = False

    def news(self, frame: Frame, *, is_last: bool = False) -> list[str]:
        """In the order of their moments, so what has just happened is held back until both have written."""
        fresh = [activity for number, activity in frame.activities if number > self._last]
        self._last = max([self._last, *(number for number, _ in frame.activities)])
        fresh = fresh if self._headline else fresh[-FIRST:]
        told = [(each.at or frame.now, lines_of(each, frame.now, self._width)) for each in fresh]
        known = sorted([*self._held, *told], key=lambda one: one[0])
        young = [] if is_last else [at for at, _ in known if 0 <= frame.now - at < SETTLE_S]
        until = min(young, default=math.inf)
        known.append((frame.now, self._changes(frame)))  # told after all that had happened by then
        self._held = [one for one in known if one[0] >= until]
        return [line for at, lines in known if at < until for line in lines]

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

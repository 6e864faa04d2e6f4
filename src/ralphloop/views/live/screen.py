"""A frame as the rows of a screen of a given size: texts cut and wrapped by the cells that they take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import category

from rich.text import Text

from ralphloop.agents.transcript import EDIT, ERROR, FAILED, HOOK, LOOP, PROMPT, SENT, TEXT, TOOL, Activity
from ralphloop.domain.model import OPEN, UNLIMITED
from ralphloop.domain.prompt import done, plain
from ralphloop.domain.table import GOOD
from ralphloop.store import supervisor
from ralphloop.views import figure
from ralphloop.views.figure import NOT_YET, UNKNOWN, spell
from ralphloop.views.fold import padded, prefix, width_of
from ralphloop.views.live.feed import Frame
from ralphloop.views.live.paint import UNICODE, Signs
from ralphloop.views.snapshot import TaskView
from ralphloop.views.terminal import how_to_go_on, silence, state_told

Piece = tuple[str, str]  # a text and its style

_UNSURE = ("Cf", "Me", "Cn", "Co")  # invisible, enclosing, not assigned, for private use
_NARROW, _WIDE = "\ufe00", "\ufe0f"  # the first and the last of the marks that choose a character's shape
WIDE = 120  # from here on tasks and stream stand side by side
ROWS_MAX = 10  # of one activity
BAR = 10
ID_MAX = 16
_STYLES = {
    TEXT: "", TOOL: "cyan", EDIT: "cyan", FAILED: "red", ERROR: "bold red", HOOK: "dim", LOOP: "green",
    PROMPT: "dim",
}  # fmt: skip
_DIFF = {"- ": "red", "+ ": "green"}


class Screen:
    """Draws frames; keeps the rows of activities that it has drawn once."""

    def __init__(self, signs: Signs = UNICODE) -> None:
        self._signs = signs
        self._drawn: dict[int, list[Text]] = {}
        self._drawn_width = 0

    def rows(self, frame: Frame, width: int, height: int, *, notice: str = "", keys: str = "") -> list[Text]:
        """Exactly `height` rows, none wider than `width` cells. At the bottom stand what the person was just
        told, and the keys that work."""
        width, height = max(1, width), max(1, height)
        foot = self._foot(frame, notice, keys, width)[-max(1, height - 2) :]
        head = [self._headline(frame, width), *self._figures(frame, width, 1 if height < 14 else 2)]
        head = head[: max(0, height - len(foot))]
        left = height - len(head) - len(foot)
        body = self._columns(frame, width, left) if width >= WIDE else self._stacked(frame, width, left)
        blank = [Text("", end="")] * (left - len(body))
        return [*head, *body, *blank, *foot]

    def _headline(self, frame: Frame, width: int) -> Text:
        view, between = frame.view, (self._signs.between, "dim")
        most = "" if view.max_iterations >= UNLIMITED else f"/{view.max_iterations}"
        parts: list[Piece] = [
            (cut(view.name, max(8, width // 3), more=self._signs.more), "bold"),
            (state_told(view), _state_style(frame)),
            (f"iteration {view.iteration}{most}", ""),
            (done(view.done, view.total, view.unverified), ""),
        ]
        if frame.holder and frame.holder.number:
            parts.append((f"session {frame.holder.number}", ""))
        if frame.model:
            parts.append((frame.model, ""))
        parts.append((view.layout, "dim"))
        pieces = [piece for part in parts for piece in (between, part)][1:]
        return row(pieces, width, more=self._signs.more)

    def _figures(self, frame: Frame, width: int, rows: int) -> list[Text]:
        fields = [
            _time(frame), _spent(frame), self._context(frame), self._burndown(frame),
        ]  # fmt: skip
        found = flow([field for field in fields if field], width, rows=rows, between=self._signs.between)
        return [row(pieces, width, more=self._signs.more) for pieces in found]

    def _context(self, frame: Frame) -> list[Piece]:
        seen = frame.context
        if seen is None:
            return []
        if not seen.window:
            return [(f"context {figure.tokens(seen.tokens)}", "")]
        share = min(1.0, seen.tokens / seen.window)
        full = round(share * BAR)
        style = "red" if share >= 0.9 else "yellow" if share >= 0.7 else "green"
        bar = [(self._signs.full * full, style), (self._signs.empty * (BAR - full), "dim")]
        told = f" {figure.percent(seen.tokens / seen.window)} of {figure.tokens(seen.window)}"
        return [("context ", ""), *bar, (told, "")]

    def _burndown(self, frame: Frame) -> list[Piece]:
        most = max(frame.burndown, default=0)
        if not frame.view.total:
            return []
        levels = self._signs.levels
        shown = "".join(levels[round(count / max(1, most) * (len(levels) - 1))] for count in frame.burndown)
        return [("open ", ""), (shown, "cyan"), (f" {frame.burndown[-1] if frame.burndown else 0}", "")]

    def _stacked(self, frame: Frame, width: int, height: int) -> list[Text]:
        if height < 5:
            return self._tasks(frame, width, height)
        most = max(2, height * 2 // 5)
        tasks = self._tasks(frame, width, most)
        stream = self._stream(frame, width, height - len(tasks) - 2)
        return [self._title("tasks", width), *tasks, self._title(_streamed(frame), width), *stream]

    def _columns(self, frame: Frame, width: int, height: int) -> list[Text]:
        if height < 2:
            return self._tasks(frame, width, height)
        left = width * 2 // 5
        right = width - left - 3
        tasks = [self._title("tasks", left), *self._tasks(frame, left, height - 1)]
        stream = [self._title(_streamed(frame), right), *self._stream(frame, right, height - 1)]
        tasks += [Text("", end="")] * (height - len(tasks))
        stream += [Text("", end="")] * (height - len(stream))
        between = f" {self._signs.upright} "
        pairs = zip(tasks, stream, strict=True)
        return [beside(first, second, width=left, between=between) for first, second in pairs]

    def _title(self, text: str, width: int) -> Text:
        shown = cut(f"{self._signs.line} {text} ", width, more=self._signs.more)
        return row([(shown + self._signs.line * (width - width_of(shown)), "dim")], width)

    def _tasks(self, frame: Frame, width: int, height: int) -> list[Text]:
        view, sign = frame.view, self._signs
        if not view.tasks or height < 1:
            told = "the tasks cannot be read: " + view.fault if view.fault else "no tasks"
            return [row([(told, "red" if view.fault else "dim")], width, more=sign.more)][:height]
        first, last = _window(view.tasks, frame.task, height)
        rows = self._table(view.tasks[first:last], frame.task, width)
        before, after = first + 1, len(view.tasks) - last + 1
        if first and height > 2:
            rows[0] = row([(f"  {sign.more} {before} before", "dim")], width, more=sign.more)
        if after > 1 and height > 2:
            rows[-1] = row([(f"  {sign.more} {after} more", "dim")], width, more=sign.more)
        return rows

    def _table(self, tasks: tuple[TaskView, ...], at_hand: str, width: int) -> list[Text]:
        more = self._signs.more
        ids = [cut(task.id, ID_MAX, more=more) for task in tasks]
        wide, states = max(map(width_of, ids)), max(len(task.state) for task in tasks)
        return [
            row(self._task(task, pad(text, wide), states, at_hand=task.id == at_hand), width, more=more)
            for text, task in zip(ids, tasks, strict=True)
        ]

    def _task(self, task: TaskView, shown: str, states: int, *, at_hand: bool) -> list[Piece]:
        sign = self._signs
        style = "" if task.state == OPEN else "yellow" if task.state in sign.task else "green"
        tries = f" {task.attempts}x" if task.attempts else ""
        title = ("(added) " if task.added else "") + " ".join(task.title.split())
        weight = "bold" if at_hand else ""
        return [
            (f"{sign.at_hand if at_hand else ' '} ", "bold cyan"),
            (f"{sign.task.get(task.state, sign.closed)} ", style),
            (f"{shown}  ", weight),
            (f"{task.state:<{states}}", style),
            (tries, "yellow"),
            (f"  {title}", weight),
        ]

    def _stream(self, frame: Frame, width: int, height: int) -> list[Text]:
        """The newest at the bottom, as many as there is room for."""
        if height < 1:
            return []
        if width != self._drawn_width:
            self._drawn, self._drawn_width = {}, width
        rows: list[Text] = []
        for number, activity in reversed(frame.activities):
            drawn = self._drawn.get(number)
            if drawn is None:
                drawn = self._drawn[number] = self._activity(activity, width)
            rows = drawn + rows
            if len(rows) >= height:
                break
        if len(self._drawn) > 4 * len(frame.activities) + 100:
            self._drawn = {}
        return rows[-height:] or [row([(_silence(frame), "dim")], width, more=self._signs.more)]

    def _activity(self, activity: Activity, width: int) -> list[Text]:
        style, more = _STYLES[activity.kind], self._signs.more
        parts: list[Piece] = []
        for place, line in enumerate(activity.lines):
            if activity.kind == EDIT and place:
                parts.append((line, _DIFF.get(line[:2], "dim")))
            elif activity.kind in SENT:
                parts.append((line, style))  # cut: what the session does is worth more room
            else:
                parts += [(part, style) for part in wrap(line, max(1, width - 2))]
        if len(parts) > ROWS_MAX:
            parts = [*parts[: ROWS_MAX - 1], (f"+{len(parts) - ROWS_MAX + 1} more", "dim")]
        mark = (self._signs.activity[activity.kind] + " ", style)
        return [row([mark if not n else ("  ", ""), part], width, more=more) for n, part in enumerate(parts)]

    def _foot(self, frame: Frame, notice: str, keys: str, width: int) -> list[Text]:
        told, style = (notice, "bold yellow") if notice else _situation(frame)
        more = self._signs.more
        situation = row([(told, style)], width, more=more)
        return [situation, row([(f" {keys} ", "reverse")], width, more=more)] if keys else [situation]


def _state_style(frame: Frame) -> str:
    if frame.view.live and not frame.view.undriven:
        return "green"
    return "bold green" if frame.view.mood == GOOD else "bold yellow"


def _time(frame: Frame) -> list[Piece]:
    left = frame.time_limit_s - frame.elapsed_s
    return [(f"time {spell(frame.elapsed_s)}, {spell(left)} left", "red" if left <= 0 else "")]


def _spent(frame: Frame) -> list[Piece]:
    if frame.tokens is None:
        return [(NOT_YET if frame.view.live else UNKNOWN, "dim")]
    of = f" of {figure.tokens(frame.token_limit)}" if frame.token_limit else ""
    told = f"{figure.tokens(frame.tokens)}{of} tokens"
    limit = f" of {figure.dollars(frame.cost_limit_usd)}" if frame.cost_limit_usd else ""
    cost = "dollars unknown" if frame.cost_usd is None else figure.dollars(frame.cost_usd)
    part = " known" if frame.unpriced and frame.cost_usd is not None else ""
    return [(f"{told}, {cost}{part}{limit}", "")]


def _situation(frame: Frame) -> tuple[str, str]:
    """What the loop is at, or what the person can do next."""
    holder, now = frame.holder, frame.now
    if holder is not None and frame.view.is_silent(now):
        return silence(frame.view, now), "bold red"
    if holder is not None and holder.phase == supervisor.RESTING:
        wait = f"waits {spell(holder.until - now)}" if holder.until else "waits"
        return (f"{wait}: {holder.why}" if holder.why else wait), "yellow"
    if holder is not None and holder.phase == supervisor.PAUSED:
        return f"paused{': ' + holder.why if holder.why else ''}", "yellow"
    if holder is not None and holder.phase == supervisor.CHECKING:
        return "runs the checks that are due …", ""
    if holder is not None and holder.phase == supervisor.STARTING:
        return f"starts session {holder.number + 1} …", ""
    hint = how_to_go_on(frame.view, now=now)
    if hint and (holder is None or frame.view.requested):
        return hint, "yellow"
    title = next((task.title for task in frame.view.tasks if task.id == frame.task), "")
    return (f"at hand: {frame.task} {' '.join(title.split())}" if frame.task else ""), ""


def _streamed(frame: Frame) -> str:
    """What the stream is about: the task at hand says more than a session's id, which `status` has."""
    number = f" {frame.holder.number}" if frame.holder and frame.holder.number else ""
    title = next((task.title for task in frame.view.tasks if task.id == frame.task), "")
    return f"session{number}" + (f": {frame.task} {' '.join(title.split())}" if frame.task else "")


def _silence(frame: Frame) -> str:
    return "nothing from this session yet" if frame.session else "no session yet"


def _window(tasks: tuple[TaskView, ...], at_hand: str, height: int) -> tuple[int, int]:
    """Which tasks are shown: all, or those around the one at hand; the outer rows then say how many more."""
    if len(tasks) <= height:
        return 0, len(tasks)
    at = next((place for place, task in enumerate(tasks) if task.id == at_hand), 0)
    first = max(0, min(at - (height - 1) // 2, len(tasks) - height))
    return first, first + height


def tidy(text: str) -> str:
    """Without what a terminal would obey, and without what is invisible or joins characters: terminals do not
    agree on how wide such a text is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ch for ch in plain(text) if category(ch) not in _UNSURE and not _NARROW <= ch <= _WIDE)


def cut(text: str, width: int, *, more: str = "…") -> str:
    """At most so many cells; a text that was cut says so."""
    text = tidy(text)
    if width_of(text) <= width:
        return text
    return prefix(text, width - width_of(more)) + more if width >= width_of(more) else ""


def pad(text: str, width: int, *, more: str = "…") -> str:
    """Exactly so many cells."""
    return padded(cut(text, width, more=more), width)


def wrap(text: str, width: int) -> list[str]:
    """Broken between words where there is a space to break at, else anywhere."""
    rows, left = [], tidy(text)
    while width_of(left) > width > 0:
        row = prefix(left, width) or left[:1]
        space = row.rfind(" ")
        if space > width // 2 and not left[len(row) :].startswith(" "):
            row = row[:space]
        rows.append(row.rstrip())
        left = left[len(row) :].lstrip(" ")
    return [*rows, left] if left or not rows else rows


def row(pieces: Iterable[Piece], width: int, *, more: str = "…") -> Text:
    """Pieces one after the other, the last ones cut where they do not fit."""
    shown = Text(no_wrap=True, end="")
    left = width
    for text, style in pieces:
        part = cut(text, left, more=more)
        shown.append(part, style or None)
        left -= width_of(part)
    return shown


def beside(first: Text, second: Text, *, width: int, between: str) -> Text:
    """Two rows as one; the first takes exactly `width` cells."""
    gap = " " * max(0, width - width_of(first.plain))
    return (
        Text("", no_wrap=True, end="")
        .append_text(first)
        .append(gap)
        .append(between, "dim")
        .append_text(second)
    )


def flow(fields: Sequence[Sequence[Piece]], width: int, *, rows: int, between: str) -> list[list[Piece]]:
    """Fields side by side in as few rows as they need; what has no row left is left out."""
    found: list[list[Piece]] = []
    used = width + 1
    for field in fields:
        wide = sum(width_of(tidy(text)) for text, _ in field)
        if found and used + len(between) + wide <= width:
            found[-1] += [(between, "dim"), *field]
            used += len(between) + wide
        elif len(found) < rows:
            found.append(list(field))
            used = wide
    return found

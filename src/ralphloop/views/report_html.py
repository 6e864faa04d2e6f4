"""A report as one HTML file that needs nothing else: no script, its timeline a picture in it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from string import Template
from typing import NamedTuple

from ralphloop.agents.transcript import moment
from ralphloop.domain import prompt
from ralphloop.domain.prompt import plain
from ralphloop.engine.account import text
from ralphloop.version import VERSION
from ralphloop.views import figure
from ralphloop.views.figure import local
from ralphloop.views.report import Report
from ralphloop.views.report_section import DOUBT, Code, Section, facts, sections

TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "report.html")
MOODS = {
    "green": "good",
    "proven": "good",
    "red": "bad",
    "altered": "bad",
    "missing": "bad",
    "claimed": "wait",
}
_DOUBTFUL = {DOUBT: ' class="wait"'}
FOLDED = ("evidence", "timeline")
COLOURLESS = ("tried",)  # red is what a check should be there, without the work
# of the timeline
WIDTH, LEFT, RIGHT = 1000.0, 150.0, 980.0
ROW, TOP, AXIS = 22.0, 8.0, 40.0
IDLE = 40  # rows of tasks that were never at hand
FOLD, FOLDS = 26.0, 8  # the width of a rest that is folded, and how many are
LABEL = 18  # characters of a task's id
TICKS = 8
STEPS_S = (
    1,
    5,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10800,
    21600,
    43200,
    86400,
    604800,
    2592000,
)


def html(report: Report) -> str:
    with open(TEMPLATE, encoding="utf-8") as file:
        template = Template(file.read())
    return template.substitute(
        title=escaped(f"{report.view.name}: {report.outcome}"),
        name=escaped(report.view.name),
        outcome=escaped(report.outcome),
        mood=report.view.mood,
        facts="\n".join(
            f"<dt>{escaped(name)}</dt><dd{_DOUBTFUL.get(name, '')}>{escaped(value)}</dd>"
            for name, value in facts(report)
        ),
        picture=svg(report),
        sections="\n".join(line for section in sections(report) for line in _section(section)),
        version=VERSION,
        made=local(report.made_at),
    )


def _section(section: Section) -> Iterator[str]:
    folded, moods = section.key in FOLDED, {} if section.key in COLOURLESS else MOODS
    yield f'<section class="{section.key}">'
    yield (
        f"<details><summary>{escaped(section.title)}</summary>"
        if folded
        else f"<h2>{escaped(section.title)}</h2>"
    )
    if section.rows:
        yield '<div class="wide"><table>'
        yield "<tr>" + "".join(f"<th>{escaped(name)}</th>" for name in section.columns) + "</tr>"
        for row in section.rows:
            yield "<tr>" + "".join(f"<td>{_cell(value, moods)}</td>" for value in row) + "</tr>"
        yield "</table></div>"
    if section.notes:
        yield "<ul>" + "".join(f"<li>{escaped(note)}</li>" for note in section.notes) + "</ul>"
    yield "</details></section>" if folded else "</section>"


def _cell(value: str, moods: Mapping[str, str]) -> str:
    if isinstance(value, Code):
        return f"<code>{escaped(value)}</code>" if value else ""
    return f'<span class="{moods[value]}">{value}</span>' if value in moods else escaped(value)


class Mark(NamedTuple):
    at: float
    kind: str  # proven or refused
    told: str


class Row(NamedTuple):
    id: str
    title: str
    bars: tuple[tuple[float, float], ...]
    marks: tuple[Mark, ...]


class Piece(NamedTuple):
    """A time without a long rest, and where it is drawn."""

    begin: float
    end: float
    left: float
    right: float

    def place(self, at: float) -> float:
        share = (at - self.begin) / (self.end - self.begin)
        return self.left + max(0.0, min(1.0, share)) * (self.right - self.left)


def svg(report: Report) -> str:
    """The picture, empty if there is nothing to draw."""
    rows = list(_rows(report))
    spans = [span for row in rows for span in _spans(row)]
    if not spans:
        return ""
    rows, left = _without_idle(rows)
    pieces = _pieces(spans)
    height = TOP + ROW * len(rows) + AXIS
    told = f"Timeline of {prompt.count(len(rows), 'task')}"
    parts = [
        '<div class="wide">',
        f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{told}">',
    ]
    parts += _axis(pieces, TOP + ROW * len(rows))
    for number, row in enumerate(rows):
        parts += _drawn(row, pieces, TOP + ROW * number)
    return "\n".join([*parts, "</svg>", "</div>", *_legend(left)])


def _without_idle(rows: list[Row]) -> tuple[list[Row], int]:
    """Of the tasks that were never at hand the first ones are enough; how many more there are."""
    idle = [row for row in rows if not _spans(row)][IDLE:]
    return [row for row in rows if row not in idle] if idle else rows, len(idle)


def _rows(report: Report) -> Iterator[Row]:
    bars: dict[str, list[tuple[float, float]]] = {}
    for part in report.stretches:
        bars.setdefault(part.task, []).append((part.begin, part.end))
    marks: dict[str, list[Mark]] = {}
    for name, mark in _marks(report):
        marks.setdefault(name, []).append(mark)
    for task in report.tasks:
        yield Row(task.id, task.title, tuple(bars.get(task.id, ())), tuple(marks.get(task.id, ())))


def _marks(report: Report) -> Iterator[tuple[str, Mark]]:
    for entry in report.of_kind("proven"):
        name, evidence = text(entry, "task"), text(entry, "evidence")
        yield name, Mark(moment(entry["at"]) or 0.0, "proven", f"{name} proven: {evidence}")
    for claim in report.refused:
        told = f"{claim.task} refused: {claim.command} {claim.why}"
        yield claim.task, Mark(moment(claim.at) or 0.0, "refused", told)


def _spans(row: Row) -> list[tuple[float, float]]:
    return [*row.bars, *((mark.at, mark.at) for mark in row.marks)]


def _pieces(spans: list[tuple[float, float]]) -> list[Piece]:
    """The time from first to last; rests that would leave no room for the work are folded."""
    merged: list[list[float]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    least = max(60.0, sum(end - begin for begin, end in merged) / 4)
    rests = [(merged[at][0] - merged[at - 1][1], at) for at in range(1, len(merged))]
    folded = {at for rest, at in sorted(rests, reverse=True)[:FOLDS] if rest > least}
    times = merged[:1]
    for at, (begin, end) in enumerate(merged[1:], 1):
        if at in folded:
            times.append([begin, end])
        else:
            times[-1][1] = end
    return _placed([(begin, max(end, begin + 1)) for begin, end in times])


def _placed(times: Sequence[tuple[float, float]]) -> list[Piece]:
    total = sum(end - begin for begin, end in times)
    room = RIGHT - LEFT - FOLD * (len(times) - 1)
    pieces, left = [], LEFT
    for begin, end in times:
        right = left + room * (end - begin) / total
        pieces.append(Piece(begin, end, left, right))
        left = right + FOLD
    return pieces


def _place(at: float, pieces: Sequence[Piece]) -> float:
    for piece in pieces:
        if at <= piece.end:
            return piece.place(at)
    return pieces[-1].right


def _drawn(row: Row, pieces: Sequence[Piece], top: float) -> Iterator[str]:
    middle = top + ROW / 2
    yield f'<line class="rule" x1="0" y1="{top + ROW:.1f}" x2="{WIDTH:.0f}" y2="{top + ROW:.1f}"/>'
    name = row.id if len(row.id) <= LABEL else row.id[: LABEL - 1] + "…"
    whole = escaped(f"{row.id} {row.title}")
    yield f'<text x="0" y="{middle + 4:.1f}">{escaped(name)}<title>{whole}</title></text>'
    for begin, end in row.bars:
        left, right = _place(begin, pieces), _place(end, pieces)
        told = escaped(f"{row.id}: {local(begin)}, {figure.span(end - begin)}")
        yield (
            f'<rect class="bar" x="{left:.1f}" y="{middle - 5:.1f}" width="{max(1.5, right - left):.1f}" '
            f'height="10" rx="2"><title>{told}</title></rect>'
        )
    for mark in row.marks:
        yield _mark(mark.kind, _place(mark.at, pieces), middle, f"{mark.told}, {local(mark.at)}")


def _mark(kind: str, x: float, y: float, told: str = "") -> str:
    title = f"<title>{escaped(told)}</title>" if told else ""
    if kind == "proven":
        return f'<circle class="proven" cx="{x:.1f}" cy="{y:.1f}" r="5">{title}</circle>'
    cross = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
    ring = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6.5"/>'
    return f'<g class="refused">{ring}<path d="{cross}"/>{title}</g>'


def _axis(pieces: Sequence[Piece], bottom: float) -> Iterator[str]:
    """Ticks at round local times; a day's first one also has the date."""
    step = _step(sum(piece.end - piece.begin for piece in pieces))
    shape, apart = ("%H:%M:%S", 70.0) if step < 60 else ("%H:%M", 50.0)
    last, day = -apart, ""
    for piece in pieces:
        if piece is not pieces[0]:
            yield _upright("fold", piece.left - FOLD / 2, bottom)
        for at in _ticks(piece, step):
            x, today = piece.place(at), local(at, "%Y-%m-%d")
            if x - last < apart:
                continue
            yield _upright("rule", x, bottom + 4)
            yield _label(x, bottom + 17, local(at, shape))
            if today != day:
                yield _label(x, bottom + 31, today)
            last, day = x, today


def _upright(kind: str, x: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom:.1f}"/>'


def _label(x: float, y: float, told: str, anchor: str = "middle") -> str:
    return f'<text class="faint" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{told}</text>'


def _step(length: float) -> int:
    return next((step for step in STEPS_S if length / step <= TICKS), STEPS_S[-1])


def _ticks(piece: Piece, step: int) -> list[float]:
    offset = time.localtime(piece.begin).tm_gmtoff
    first = math.ceil((piece.begin + offset) / step) * step - offset
    count = int((piece.end - first) // step) + 1
    return [first + step * number for number in range(min(count, 4 * TICKS))] or [piece.begin]


def _legend(left: int) -> Iterator[str]:
    """Beside the picture, not in it: on a narrow screen the picture is moved, and this is not."""
    yield '<p class="legend">'
    bar = '<rect class="bar" x="1" y="3" width="22" height="10" rx="2"/>'
    signs = {"at hand": bar, "proven": _mark("proven", 12, 8), "claim refused": _mark("refused", 12, 8)}
    for told, sign in signs.items():
        yield f'<span><svg viewBox="0 0 24 16" aria-hidden="true">{sign}</svg> {told}</span>'
    yield "<span>local time; a dashed line is a rest that is cut short</span>"
    if left:
        yield f"<span>{prompt.count(left, 'more task')} never at hand</span>"
    yield "</p>"


def escaped(value: str) -> str:
    """A text that a page shows as it is."""
    return escape(plain(value))

"""A report as Markdown, in which no text of a task is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralphloop.domain.prompt import plain
from ralphloop.views.fold import COLUMNS, fold, width_of
from ralphloop.views.report import Report
from ralphloop.views.report_section import Code, Section, facts, sections

# What begins markup inside a line; an underscore between letters does not.
_MARKUP = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


# Columns whose values need no name beside them.
_SPEAK = ("state", "title", "event", "what", "which", "why", "result")
# What would be a list, a heading or a rule at the beginning of a row, though it is the middle of a text.
_LEADS = re.compile(r"^( *)(?:(?=[-+=#])|(\d{1,9})(?=[.)](?: |$)))")


def markdown(report: Report) -> str:
    name, outcome = _text(report.view.name), _text(report.outcome)
    head = f"# {name}: {outcome}"
    lines = [head if width_of(head) <= COLUMNS else f"# {name}", ""]
    lines += [row for fact, value in facts(report) for row in _item(f"{fact}: {_cell(value)}")]
    for section in sections(report):
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield ""
    if section.rows:
        table = _table(section.columns, section.rows)
        fits = all(width_of(row) <= COLUMNS for row in table)
        yield from table if fits else _list(section.columns, section.rows)
    if section.rows and section.notes:
        yield ""
    for note in section.notes:
        yield from _item(_text(note))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [_row(columns), "|" + "---|" * len(columns)]
    return lines + [_row([_cell(value, "\\|") for value in row]) for row in rows]


def _list(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """What is too wide for a table: an item per row, each value behind the name of its column."""
    for first, *others in rows:
        told = [f"**{_cell(first)}**"]
        for name, value in zip(columns[1:], others, strict=True):
            if value.strip() and value != "–":
                told.append(_cell(value) if name in _SPEAK else f"{name}: {_cell(value)}")
        yield from _item(" · ".join(told))


def _item(text: str) -> list[str]:
    """One item of a list, in as many rows as it takes."""
    first, *rest = fold("- " + text, COLUMNS - 1, hang=2)
    return [first, *(_LEADS.sub(r"\1\2\\", row) for row in rest)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: str, bar: str = "|") -> str:
    return _code(value, bar) if isinstance(value, Code) and value.strip() else _text(value)


def _text(value: str) -> str:
    return _MARKUP.sub(lambda found: "\\" + found[0], plain(" ".join(value.split())))


def _code(value: str, bar: str) -> str:
    """A code span that the text cannot end; in a table even there a bar needs its backslash."""
    text = plain(" ".join(value.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}".replace("|", bar)

"""A report as Markdown, in which no text of a task is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralphloop.domain.plain import plain
from ralphloop.views.report import Report
from ralphloop.views.report_section import Code, Section, facts, sections

# What begins markup inside a line; an underscore between letters does not.
_MARKUP = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def markdown(report: Report) -> str:
    lines = [f"# {_text(report.view.name)}: {_text(report.outcome)}", ""]
    lines += _table(("", ""), facts(report))
    for section in sections(report):
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}"
    yield ""
    if section.rows:
        yield from _table(section.columns, section.rows)
    if section.rows and section.notes:
        yield ""
    for note in section.notes:
        yield f"- {_text(note)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [_row(columns), "|" + "---|" * len(columns)]
    return lines + [_row([_cell(value) for value in row]) for row in rows]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: str) -> str:
    return _code(value) if isinstance(value, Code) and value.strip() else _text(value)


def _text(value: str) -> str:
    return _MARKUP.sub(lambda found: "\\" + found[0], plain(" ".join(value.split())))


def _code(value: str) -> str:
    """A code span that the text cannot end; in a table even there a bar needs its backslash."""
    text = plain(" ".join(value.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}".replace("|", "\\|")

"""A report as one HTML file that needs nothing else: no script, no style or picture from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from string import Template

from ralphloop.domain.table import WAIT, outcome
from ralphloop.version import VERSION
from ralphloop.views.clock import local
from ralphloop.views.report import Report
from ralphloop.views.report_section import Code, Section, facts, sections
from ralphloop.views.timeline import escaped, svg

TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "report.html")
MOODS = {
    "green": "good",
    "proven": "good",
    "red": "bad",
    "altered": "bad",
    "missing": "bad",
    "claimed": "wait",
}
FOLDED = ("evidence", "timeline")


def html(report: Report) -> str:
    with open(TEMPLATE, encoding="utf-8") as file:
        template = Template(file.read())
    return template.substitute(
        title=escaped(f"{report.view.name}: {report.outcome}"),
        name=escaped(report.view.name),
        outcome=escaped(report.outcome),
        mood=_mood(report),
        facts="\n".join(
            f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in facts(report)
        ),
        picture=svg(report),
        sections="\n".join(line for section in sections(report) for line in _section(section)),
        version=VERSION,
        made=local(report.made_at),
    )


def _mood(report: Report) -> str:
    return WAIT if report.view.live else outcome(report.view.outcome).mood


def _section(section: Section) -> Iterator[str]:
    folded = section.key in FOLDED
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
            yield "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
        yield "</table></div>"
    if section.notes:
        yield "<ul>" + "".join(f"<li>{escaped(note)}</li>" for note in section.notes) + "</ul>"
    yield "</details></section>" if folded else "</section>"


def _cell(value: str) -> str:
    if isinstance(value, Code):
        return f"<code>{escaped(value)}</code>" if value else ""
    return f'<span class="{MOODS[value]}">{value}</span>' if value in MOODS else escaped(value)

"""What a section hands back, and how it is printed and kept as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from timing import Series


@dataclass(frozen=True)
class Figure:
    """One measured value, with the most it should be; correctness figures decide the exit code."""

    name: str
    value: float
    unit: str
    aim: float | None = None
    is_correctness: bool = False

    @property
    def verdict(self) -> str:
        if self.aim is None:
            return "reported"
        return "held" if self.value <= self.aim else "missed"


@dataclass
class Section:
    """The result of one part of the run."""

    name: str
    series: list[Series] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_correct(self) -> bool:
        return all(figure.verdict == "held" for figure in self.figures if figure.is_correctness)


def ratio(series: list[Series], upper: str, lower: str, aim: float | None) -> list[Figure]:
    """The ratio of two medians; none where one of the two could not be run."""
    medians = {one.name: one.median_ms for one in series}
    if upper not in medians or lower not in medians:
        return []
    return [Figure(f"{upper} / {lower}", medians[upper] / medians[lower], "x", aim)]


def as_text(section: Section) -> str:
    lines = [f"== {section.name} =="]
    if section.series:
        lines.append(f"{'':<34}{'median':>10}{'p95':>10}{'runs':>7}")
    for one in section.series:
        runs = len(one.samples_ms)
        lines.append(f"{one.name:<34}{one.median_ms:>7.2f} ms{one.p95_ms:>7.2f} ms{runs:>7}")
    lines += [figure_line(figure) for figure in section.figures]
    lines += [f"note: {note}" for note in section.notes]
    return "\n".join(lines) + "\n"


def figure_line(figure: Figure) -> str:
    aim = "" if figure.aim is None else f"aim <= {figure.aim:g}"
    return f"{figure.name:<46}{figure.value:>9.2f} {figure.unit:<4}{aim:<16}{figure.verdict}"


def as_json(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "series": [
            {"name": one.name, "median_ms": one.median_ms, "p95_ms": one.p95_ms, "runs": len(one.samples_ms)}
            for one in section.series
        ],
        "figures": [
            {"name": one.name, "value": one.value, "unit": one.unit, "aim": one.aim, "verdict": one.verdict}
            for one in section.figures
        ],
        "notes": section.notes,
    }

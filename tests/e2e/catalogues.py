"""The catalogues of lies and honest work, played in this process, and what is wrong with an outcome."""

from __future__ import annotations

from collections.abc import Sequence

import ralphloop.cli.start  # noqa: F401 - or each play would import it
from e2e.client import REPOSITORY
from ralphloop.cli import main
from ralphloop.lab.catalogue.crew import Part, play_all
from ralphloop.lab.catalogue.item import Item, find
from ralphloop.lab.catalogue.playing import SKIPPED, Played

SUITE = REPOSITORY / "conformance"


def entries(kind: str) -> list[Item]:
    return find(SUITE, kind)


def families(items: Sequence[Item]) -> list[str]:
    return sorted({item.family for item in items})


def played(parts: Sequence[Part]) -> list[Played]:
    """Those for which the machine has the tools."""
    return [each for each in play_all(parts, program=main.run) if each.came != SKIPPED]


def told(wrong: Sequence[Played]) -> str:
    rows = [f"{each.file} ({each.layout}): {each.came}, {each.outcome}: {each.why}" for each in wrong]
    return "\n".join([f"{len(wrong)} otherwise:", *rows])

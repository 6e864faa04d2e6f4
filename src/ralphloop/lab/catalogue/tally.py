"""What came of a catalogue as a table for people and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ralphloop.lab.catalogue.item import HELD, LIES, TOLD, UNTOLD, Item
from ralphloop.lab.catalogue.playing import BROKEN, SKIPPED, Played
from ralphloop.loops import result

COLUMNS = {LIES: (HELD, TOLD, UNTOLD), "honest": ("clean", "doubted", HELD)}
SHOWN = {"honest": {HELD: "refused"}}
WIDTH = 100
NAMED = ("file", "title", "layouts")


def listing(items: Sequence[Item]) -> result.Result:
    """The entries by name, none of them played."""
    facts = [{key: getattr(each, key) for key in NAMED} for each in items]
    lines = (f"{item.file}: {item.title}" for item in items)
    return result.Result({"total": len(items), "entries": facts}, tuple(lines))


def shown(kind: str, played: Sequence[Played]) -> result.Result:
    """The code is 0 if all came out as their files say, 1 if not, 2 if none was played."""
    code = 0 if all(each.as_said for each in played) else 1
    code = 2 if all(each.came == SKIPPED for each in played) else code
    return result.Result(as_json(kind, played), tuple(as_table(kind, played)), code)


class Progress:
    """Says how far it is, after each of them."""

    def __init__(self, total: int, told: Callable[[str], object]) -> None:
        self._total, self._told = total, told
        self._done = self._otherwise = 0

    def __call__(self, played: Played) -> None:
        self._done += 1
        self._otherwise += not played.as_said
        otherwise = f", {self._otherwise} not as their files say" if self._otherwise else ""
        self._told(f"{self._done} of {self._total}{otherwise}")


def as_json(kind: str, played: Sequence[Played]) -> dict[str, Any]:
    counts = Counter(each.came for each in played)
    families = {
        family: {name: sum(each.came == name for each in rows) for name in COLUMNS[kind]}
        for family, rows in _families(played)
    }
    return {
        **{name: counts[name] for name in (*COLUMNS[kind], SKIPPED, BROKEN)},
        "total": len(played),
        "as_said": sum(each.as_said for each in played),
        "families": families,
        kind: [each.to_json() for each in played],
    }


def as_table(kind: str, played: Sequence[Played]) -> Iterator[str]:
    """First what is otherwise than its file says, then the families, then what nobody holds or tells."""
    for each in played:
        if not each.as_said:
            yield f"NOT AS ITS FILE SAYS {kind}/{each.file} ({each.layout})"
            yield f"  {each.title}"
            for line in each.why.splitlines():
                yield from textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ")
            yield ""
    yield from _skipped(played)
    columns, words = COLUMNS[kind], SHOWN.get(kind, {})
    width = max([len("family"), *(len(each.family) for each in played)]) + 1
    yield f"{'family':<{width}}" + "".join(f"{words.get(name, name):>9}" for name in (*columns, "total"))
    for family, rows in [*_families(played), ("all", list(played))]:
        counts = Counter(each.came for each in rows)
        numbers = [*(counts[name] for name in columns), sum(counts[name] for name in columns)]
        yield f"{family:<{width}}" + "".join(f"{number:>9}" for number in numbers)
    yield from _not_held(kind, played)


def _skipped(played: Sequence[Played]) -> Iterator[str]:
    why = Counter(each.why for each in played if each.came == SKIPPED)
    yield from (f"skipped {count}: {told}" for told, count in why.most_common())
    if why:
        yield ""


def _not_held(kind: str, played: Sequence[Played]) -> Iterator[str]:
    """The lies that are believed; of honest work, what is doubted."""
    wanted, head = (UNTOLD, "neither held nor told:") if kind == LIES else ("doubted", "doubted:")
    found = [each for each in played if each.came == wanted]
    if found:
        yield from ("", head)
        yield from (f"  {each.file} ({each.layout}): {each.title}" for each in found)


def _families(played: Sequence[Played]) -> list[tuple[str, list[Played]]]:
    names = sorted({each.family for each in played})
    return [(name, [each for each in played if each.family == name]) for name in names]

"""The plan of the house holds: few parts with one reader, no name twice, a map that names what is there."""

from __future__ import annotations

import importlib.util
import re
import statistics
import sys
from pathlib import Path

from ralphloop.cli.main import COMMANDS

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "ralphloop"
MAP = (REPOSITORY / "ARCHITECTURE.md").read_text()

_spec = importlib.util.spec_from_file_location("house", REPOSITORY / "scripts/house.py")
assert _spec is not None
assert _spec.loader is not None
house = importlib.util.module_from_spec(_spec)
sys.modules["house"] = house
_spec.loader.exec_module(house)

HOUSE = house.look(PACKAGE)


def section(heading: str) -> str:
    return MAP.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    found = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[2:]]


def test_a_part_with_one_reader_is_the_exception():
    found = house.with_one_reader(HOUSE)
    assert len(found) < 15, found


def test_no_name_stands_twice_but_for_what_the_map_explains():
    allowed = set(re.findall(r"`(\w+)`", section("Names that stand twice"))) - {"cli"}
    odd = {}
    for last, names in house.namesakes(HOUSE).items():
        others = [name for name in names if name != f"ralphloop.cli.{last}" or last not in COMMANDS]
        if len(others) > 1 and last not in allowed:
            odd[last] = names
    assert not odd
    assert allowed <= house.namesakes(HOUSE).keys(), "the map explains what is there"


def test_functions_stay_short():
    lengths = house.function_lengths(HOUSE)
    assert statistics.median(lengths) <= 7
    assert statistics.quantiles(lengths, n=10)[-1] <= 16


def test_the_command_line_stays_thin():
    inside = [name for name in HOUSE.product if house.room(name) == "cli"]
    assert house.lines(HOUSE, inside) <= 5500


def test_the_map_is_one_page():
    assert len(MAP.splitlines()) <= 120
    words = rows("Words")
    assert 0 < len(words) <= 12, "a glossary of a dozen words"
    layers = " ".join(row[0] for row in rows("Layers"))
    for name in {house.room(name) for name in HOUSE.product} - {""}:
        assert f"`{name}`" in layers, f"the map does not name {name}"


def test_what_the_map_names_is_there():
    """Each file that the map tells to touch, or shows on the way of a stop or a run."""
    named = set(re.findall(r"\b((?:[a-z_]+/)+[a-z_]+\.(?:py|sh|md))\b", MAP))
    assert len(named) > 10
    for name in named:
        assert (PACKAGE / name).exists() or (REPOSITORY / name).exists(), name
    for folder, name in re.findall(r"\b([a-z]+)/([a-z_]+)\b(?![./])", MAP):
        if (PACKAGE / folder).is_dir():
            there = [
                PACKAGE / folder / name,
                PACKAGE / folder / f"{name}.py",
                PACKAGE / folder / f"{name}.sh",
            ]
            assert any(path.exists() for path in there), f"{folder}/{name}"


def test_the_map_says_what_to_touch():
    """For each kind of thing that people add."""
    kinds = " ".join(row[0] for row in rows("To add something"))
    for kind in ("client", "layout", "limit", "outcome", "notification", "command", "kind of check"):
        assert kind in kinds, kind

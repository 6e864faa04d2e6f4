"""Writes the parts of the documents that come from tables of the source: limits, outcomes, settings, targets.

python scripts/doc_tables.py            every page of the repository
python scripts/doc_tables.py --check    1 if one is not what the tables say
python scripts/doc_tables.py FOLDER     the same for a copy of README.md and docs/
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ralphloop.config import KEYS, TARGETS, keys
from ralphloop.config.keys import OCCASIONS, Key
from ralphloop.domain.model import COMPLETE
from ralphloop.domain.table import LIMITS, OUTCOMES, UNCOMMITTED, UNDER_WAY, Limit, Outcome, exit_codes

REPOSITORY = Path(__file__).resolve().parent.parent
# what stands between two marks, each on a line of its own
PART = re.compile(r"(?<=<!-- made by scripts/doc_tables.py: )(\w+)( -->\n).*?(?=<!-- end -->)", re.S)


def limits() -> str:
    """In few lines: those with the same end together."""
    ends: dict[str, list[Limit]] = {}
    for row in LIMITS.values():
        ends.setdefault(row.then, []).append(row)
    rows = [
        ("; ".join(row.told for row in same), "; ".join(map(_default, same)), _linked(then, "docs/"))
        for then, same in ends.items()
    ]
    return table(("limit", "default", "what happens"), rows)


def _default(row: Limit) -> str:
    return f"{row.usual} (`{row.option}`)" if row.setting else row.usual


def _linked(then: str, folder: str = "") -> str:
    aside = "sets the task aside"
    return then.replace(aside, f"[{aside}]({folder}outcomes.md#one-hopeless-task)")


def options() -> str:
    rows = [
        (f"`{row.option} {row.sample}`", row.told, row.usual, _linked(row.then))
        for row in LIMITS.values()
        if row.setting
    ]
    return table(("option", "limit", "default", "what happens"), rows)


def settings() -> str:
    limited = {row.setting: row.usual for row in LIMITS.values()}
    rows = [
        (f"`{key}`", limited.get(key) or _written(known), known.told + _yours(known))
        for key, known in KEYS.items()
    ]
    return table(("key", "default", "what it is"), rows)


def _written(known: Key) -> str:
    """The default as a file of settings has it."""
    if known.default is None:
        return "not set"
    if known.read in (keys.time_s, keys.margin_s):
        seconds: float = known.default
        return f'`"{seconds / 60:g}m"`' if seconds >= 60 else f'`"{seconds:g}s"`'
    return f"`{json.dumps(known.default)}`"


def _yours(known: Key) -> str:
    return "" if known.by_project else " **(yours alone)**"


def outcomes() -> str:
    rows = [
        (f"[`{row.name}`](#{row.name})", row.state, row.means, f"{row.code}{_or_more(row)}")
        for row in OUTCOMES.values()
    ]
    under_way = ("none yet", "armed, running, waiting", "the loop is under way", UNDER_WAY)
    return table(("outcome", "state", "what it means", "code"), [*rows, under_way])


def _or_more(row: Outcome) -> str:
    doubted = f", {row.doubted_code} with doubts" if row.doubted else ""
    return doubted + (f", {UNCOMMITTED} if it is not all committed" if row.name == COMPLETE else "")


def codes() -> str:
    rows = [(code, told, _named(code)) for code, told in sorted(exit_codes().items())]
    return table(("code", "what it says", "outcome"), rows)


def _named(code: int) -> str:
    return ", ".join(f"`{row.name}`" for row in OUTCOMES.values() if code in (row.code, row.doubted_code))


def occasions() -> str:
    told = {
        occasion: [row.name for row in OUTCOMES.values() if row.told == occasion] for occasion in OCCASIONS
    }
    return "".join(f'- `"{occasion}"`: {", ".join(names)}\n' for occasion, names in told.items())


def targets() -> str:
    needs = {name: f" (needs `{target.needs}`)" if target.needs else "" for name, target in TARGETS.items()}
    return "".join(f"- `{name}`{needs[name]}: {target.told}\n" for name, target in TARGETS.items())


def table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = ["| " + " | ".join(map(str, line)) + " |\n" for line in (head, *rows)]
    return "".join([lines[0], "|" + "---|" * len(head) + "\n", *lines[1:]])


MADE: dict[str, Callable[[], str]] = {
    made.__name__: made for made in (limits, options, settings, outcomes, codes, occasions, targets)
}


def page(text: str) -> str:
    """The same text with its parts made anew."""
    return PART.sub(lambda found: found[1] + found[2] + MADE[found[1]](), text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=REPOSITORY)
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    stale = []
    for file in (args.folder / "README.md", *sorted((args.folder / "docs").glob("*.md"))):
        had = file.read_text(encoding="utf-8")
        made = page(had)
        if made != had:
            stale.append(file)
            if not args.check:
                file.write_text(made, encoding="utf-8")
    if not args.check or not stale:
        return 0
    for file in stale:
        print(f"{file} is not what the tables say", file=sys.stderr)
    own = [str(args.folder)] if args.folder != REPOSITORY else []
    print("renew with: " + " ".join(["python", "scripts/doc_tables.py", *own]), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""The benchmark command: runs the sections, prints their tables, keeps them as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import baseline
import final_proof
import growth
import race
import sections
import statusline
import supervisor
import view
from registration import REPOSITORY
from table import Section, as_json, as_text
from timing import WrongAnswerError


@dataclass(frozen=True)
class Part:
    """A section by name, with its rounds in a full and in a quick run."""

    measure: Callable[[Path, int], Section]
    rounds: int
    quick_rounds: int


PARTS = {
    "stop": Part(sections.stop, 200, 40),
    "transcript": Part(sections.transcript, 200, 40),
    "features": Part(sections.features, 200, 40),
    "race": Part(race.race, 100, 5),
    "checks": Part(sections.checks, 100, 20),
    "baseline": Part(baseline.baseline, 60, 15),
    "final proof": Part(final_proof.final_proof, 5, 2),
    "growth": Part(growth.growth, 100, 20),
    "statusline": Part(statusline.statusline, 200, 40),
    "commands": Part(sections.commands, 50, 10),
    "view": Part(view.view, 20, 4),
    "supervisor": Part(supervisor.supervisor, 50, 8),
}


def main(args: argparse.Namespace) -> int:
    json_file = args.json.resolve() if args.json else None
    results = []
    for name in args.only or PARTS:
        section = measure(PARTS[name], name, rounds=args.rounds, quick=args.quick)
        print(as_text(section), flush=True)
        results.append(section)
    if json_file:
        report = {**machine(), "quick": args.quick, "sections": [as_json(section) for section in results]}
        json_file.write_text(json.dumps(report, indent=2) + "\n")
    return 0 if all(section.is_correct for section in results) else 1


def measure(part: Part, name: str, *, rounds: int | None, quick: bool) -> Section:
    """One section in a scratch folder of its own. Speed never fails; a wrong answer does."""
    count = rounds or (part.quick_rounds if quick else part.rounds)
    with tempfile.TemporaryDirectory(prefix="ralphloop-bench-") as folder:
        try:
            return part.measure(Path(folder).resolve(), count)
        except WrongAnswerError as error:
            return Section(name, figures=[race.must_be_zero("wrong answers", 1)], notes=[str(error)])
        finally:
            os.chdir(REPOSITORY)


def machine() -> dict[str, object]:
    return {
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg(),
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the Stop hook and try its safety under load.")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of every section")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="NAME", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, under a minute")
    args = parser.parse_args()
    if args.rounds is not None and args.rounds < 2:
        parser.error("--rounds: at least 2")
    return args


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))

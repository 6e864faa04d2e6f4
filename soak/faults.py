"""Meets a loop with faults by the thousand: `python soak/faults.py [--points 10000] [--seed S]`."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve()
# The folder of this file has a module of the same name as the tests' folder.
sys.path[:] = [str(HERE.parents[1] / "tests"), *(place for place in sys.path if Path(place) != HERE.parent)]

from faults.campaign import Outcome, Point, Trial, shares  # noqa: E402
from faults.ground import load_everything  # noqa: E402
from faults.scene import scenes  # noqa: E402
from faults.supervised import NAME as SUPERVISOR  # noqa: E402
from faults.supervised import SupervisorTrial  # noqa: E402

MEMORY = Path("/dev/shm")
TOLD_S = 20.0  # between two lines of progress
SHOWN = 20


def main() -> int:
    args = _arguments()
    load_everything()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ralphloop-faults-", dir=_place()) as folder:
        met = list(_told(_outcomes(args, Path(folder)), begun))
    lost = [one for one in met if one.lost]
    print(_summary(met, args.seed, time.monotonic() - begun))
    if args.json:
        args.json.write_text(json.dumps(_figures(met), indent=2) + "\n")
    return 1 if lost or not met else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000, help="how many faults (default: 10000)")
    parser.add_argument("--all", action="store_true", help="every call of every scene with every kind, once")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--supervisor", type=int, default=60, help="how many of them meet a supervisor")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here")
    parser.add_argument("--part", default="1/1", help="only the scenes of this part, as 1/2")
    parser.add_argument("--only", default="*", help="only scenes whose name matches")
    parser.add_argument("--point", action="append", type=Point.read, help="only this one, as it was printed")
    return parser.parse_args()


def _place() -> str | None:
    return str(MEMORY) if os.access(MEMORY, os.W_OK) else None


class Work(NamedTuple):
    """The points of one scene: those that are named, so many of them, or all."""

    scene: str
    count: int | None
    points: tuple[Point, ...]
    seed: int
    folder: Path


def _outcomes(args: argparse.Namespace, folder: Path) -> Iterator[Outcome]:
    work = _work(args, folder)
    print(f"seed {args.seed}, {len(work)} scenes", flush=True)
    if args.workers == 1:
        for one in work:
            yield from _meet(one)
        return
    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        for outcomes in pool.imap_unordered(_meet_all, work):
            yield from outcomes


def _work(args: argparse.Namespace, folder: Path) -> list[Work]:
    supervised = min(args.supervisor, args.points)
    counts = {SUPERVISOR: supervised, **shares(scenes(), args.points - supervised)}
    part, _, parts = args.part.partition("/")
    found = []
    for name in list(counts)[int(part) - 1 :: int(parts)]:
        named = tuple(point for point in args.point or () if point.scene == name)
        count = None if args.all else counts[name]
        if fnmatch(name, args.only) and count != 0 and (named or not args.point):
            found.append(Work(name, count, named, args.seed, folder))
    return found


def _meet_all(work: Work) -> list[Outcome]:
    return list(_meet(work))


def _meet(work: Work) -> Iterator[Outcome]:
    trial = _trial(work.scene, work.folder)
    try:
        points = work.points or (
            trial.points() if work.count is None else trial.chosen(work.count, seed=work.seed)
        )
        for point in list(points):
            yield trial.meet(point)
    finally:
        trial.close()


def _trial(name: str, folder: Path) -> Trial | SupervisorTrial:
    if name == SUPERVISOR:
        return SupervisorTrial(folder)
    (scene,) = (one for one in scenes() if one.name == name)
    return Trial(scene, folder)


def _told(outcomes: Iterator[Outcome], begun: float) -> Iterator[Outcome]:
    """Let them through, with a line about it from time to time."""
    due, count, lost = begun + TOLD_S, 0, 0
    for one in outcomes:
        count, lost = count + 1, lost + bool(one.lost)
        if one.lost and lost <= SHOWN:
            print(f"LOST {one.point}\n{one.lost}replay: python soak/faults.py --point '{one.point}'\n")
        if time.monotonic() > due:
            due = time.monotonic() + TOLD_S
            print(f"{count} faults in {time.monotonic() - begun:.0f} s, {lost} lost", flush=True)
        yield one


def _figures(met: list[Outcome]) -> dict[str, int]:
    return {
        "fault_points": len(met),
        "scenes": len({one.point.scene for one in met}),
        "with_a_second_fault": sum(bool(one.point.second_kind) for one in met),
        "lost": sum(bool(one.lost) for one in met),
    }


def _summary(met: list[Outcome], seed: int, seconds: float) -> str:
    kinds = Counter(one.point.kind for one in met)
    names = Counter(one.point.scene for one in met)
    rows = [f"  {count:6d}  {name}" for name, count in [*sorted(kinds.items()), *sorted(names.items())]]
    doubles = sum(bool(one.point.second_kind) for one in met)
    spares = sum(one.spares for one in met)
    unmet = sum(not one.is_struck for one in met)
    lost = sum(bool(one.lost) for one in met)
    told = f"{len(met)} faults in {len(names)} scenes, {doubles} with a second one, {unmet} never met; "
    told += f"{spares} spare files left; seed {seed}, {seconds:.0f} s: {lost} lost"
    return "\n".join([*rows, told])


if __name__ == "__main__":
    sys.exit(main())

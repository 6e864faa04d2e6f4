"""The whole suite: where its cases are, and playing them side by side."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ralphloop.lab.conformance.case import Case
from ralphloop.lab.conformance.hook import PACKAGE, Hook
from ralphloop.lab.conformance.play import FAILED, Result, play
from ralphloop.lab.conformance.processes import Processes
from ralphloop.lab.scratch import remove_old, scratch_folder

PREFIX = "ralphloop-conformance-"


def folder() -> Path | None:
    """The suite that came with this program; None where only the plugin is there."""
    for place in (Path(__file__).resolve().parent / "data", PACKAGE.parents[1] / "conformance"):
        if (place / "cases").is_dir():
            return place
    return None


def play_all(
    cases: Sequence[Case],
    hook: Hook,
    *,
    jobs: int,
    keep: bool = False,
    told: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Each case in a folder of its own; whatever ends this, no process and no folder is left.

    With `keep` the folders of failed cases stay.
    """
    remove_old(PREFIX)
    processes = Processes()
    kept = "kept-" if keep else ""  # by this name it is not removed as an old one
    with scratch_folder(f"{PREFIX}{kept}{os.getpid()}-", keep=keep) as scratch:
        pool = ThreadPoolExecutor(jobs)
        try:
            places = [scratch / str(number) for number in range(len(cases))]
            begun = [
                pool.submit(_played, case, hook, place=place, processes=processes, keep=keep)
                for case, place in zip(cases, places, strict=True)
            ]
            results = _gathered(begun, told)
            with contextlib.suppress(OSError):
                scratch.rmdir()  # nothing failed that was to be kept
            return results
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.close()
            pool.shutdown()


def _gathered(begun: Sequence[Future[Result]], told: Callable[[Result], None]) -> list[Result]:
    waiting = set(begun)
    while waiting:
        ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for each in ended:
            told(each.result())
    return [each.result() for each in begun]


def _played(case: Case, hook: Hook, *, place: Path, processes: Processes, keep: bool) -> Result:
    result = play(case, hook, folder=place, processes=processes)
    if not (keep and result.result == FAILED):
        shutil.rmtree(place, ignore_errors=True)
    return result

"""The whole suite: where its cases are, which hook is asked, and playing them side by side."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from ralphloop.errors import CaseError, UserError
from ralphloop.lab.conformance.case import Case, find
from ralphloop.lab.conformance.hook import PACKAGE, Hook, foreign, own
from ralphloop.lab.conformance.play import FAILED, Result, play
from ralphloop.lab.conformance.processes import Processes
from ralphloop.lab.scratch import remove_old, scratch_folder

PREFIX = "ralphloop-conformance-"
NO_CASES = (
    "the cases are not part of this installation; get the folder `conformance` of the repository and name it "
    "with --cases DIR"
)


def folder() -> Path | None:
    """The suite that came with this program; None where only the plugin is there."""
    for place in (Path(__file__).resolve().parent / "data", PACKAGE.parents[1] / "conformance"):
        if (place / "cases").is_dir():
            return place
    return None


def chosen(named: Path | None, only: Sequence[str]) -> list[Case]:
    """The cases in this folder, or of our own suite, that one of the globs names; all where there is none."""
    cases = _found(named, only)
    if not cases:
        told = "has such a name; --list shows them," if only else "is there;"
        raise UserError(f"no case in {_folder(named) / 'cases'} {told} --cases DIR takes others.")
    return cases


def _found(named: Path | None, only: Sequence[str] = ()) -> list[Case]:
    try:
        return find(_folder(named), only)
    except CaseError as error:
        raise UserError(f"{error}.") from None


def _folder(named: Path | None) -> Path:
    found = named or folder()
    if found is None:
        raise UserError(NO_CASES + ".")
    return found.resolve()


def hook_for(
    command: str | None, *, layouts: Sequence[str], events: str, tool: str, cases: Path | None
) -> Hook:
    """The hook of this command line, or ours; it may serve those events only that a case of the suite has."""
    layouts, path = tuple(dict.fromkeys(layouts)), os.environ.get("PATH", os.defpath)
    if command is None:
        if events or tool:
            raise UserError("--events and --tool tell of another hook; name it with --hook CMD.")
        return own(layouts=layouts, path=path)
    if not command.strip():
        raise UserError("--hook is empty; it takes the hook's command line.")
    served = [event.strip() for event in events.split(",") if event.strip()]
    known = {event for case in _found(cases) for event in case.events} if served else set()
    for event in served:
        if event not in known:
            raise UserError(f"no case here has the event {event!r}; there are {', '.join(sorted(known))}.")
    try:
        words = shlex.split(tool)
    except ValueError as error:
        raise UserError(f"--tool is no command line: {error}.") from None
    return foreign(command, layouts=layouts, events=served, tool=words, path=path)


def play_all(
    cases: Sequence[Case],
    hook: Hook,
    *,
    jobs: int | None = None,
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
        pool = ThreadPoolExecutor(jobs or 2 * (os.cpu_count() or 1))
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

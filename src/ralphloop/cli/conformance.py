"""The command `conformance`: play the public cases against a Stop hook, ours or any other."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from ralphloop.cli import allowance
from ralphloop.cli.output import complain, say_json, show_progress, tell
from ralphloop.errors import CaseError, UserError
from ralphloop.lab.conformance import hook as hooks
from ralphloop.lab.conformance import suite, tally
from ralphloop.lab.conformance.case import Case, find
from ralphloop.lab.conformance.hook import Hook
from ralphloop.lab.conformance.orphans import none_left
from ralphloop.lab.conformance.play import FAILED, SKIPPED, Result
from ralphloop.tasklists.registry import LAYOUTS

USAGE = 2
NO_CASES = (
    "the cases are not part of this installation; get the folder `conformance` of the repository and name it "
    "with --cases DIR"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hook", metavar="CMD", help="the hook's command line (default: our own hook)")
    parser.add_argument(
        "--layout", action="append", choices=LAYOUTS, help="a layout that the hook serves (default: all)"
    )
    parser.add_argument(
        "--events", metavar="NAME,…", default="", help="events that the hook serves beside Stop"
    )
    parser.add_argument("--tool", metavar="CMD", default="", help="the command line of the hook's own tool")
    parser.add_argument("--cases", metavar="DIR", type=Path, help="another folder of `cases` and `projects`")
    parser.add_argument("--only", metavar="GLOB", action="append", help="only cases that this names")
    parser.add_argument("--jobs", metavar="N", type=allowance.count, help="cases side by side")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    parser.add_argument("--keep", action="store_true", help="leave the folders of failed cases")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--junit", metavar="FILE", type=Path, help="also write JUnit's XML")
    parser.epilog = """\
examples:
  ralphloop conformance
  ralphloop conformance --only 'features/*' --keep
  ralphloop conformance --only another-session-is-left-alone
  ralphloop conformance --hook 'bash my-hook.sh' --layout features
  ralphloop conformance --hook 'node hook.js' --layout specum --json

exit codes: 0 all passed, 1 some failed, 2 wrong usage
"""


def run(args: argparse.Namespace) -> int:
    try:
        cases = _cases(args)
        if args.list:
            _list(cases, args)
            return 0
        results = _played(cases, args)
    except UserError as error:  # 1 is for a case that failed
        complain(error.message)
        return USAGE
    _show(results, args)
    if all(each.result == SKIPPED for each in results):
        complain("nothing was played: what the cases need, this hook does not have.")
        return USAGE
    return 1 if any(each.result == FAILED for each in results) else 0


def _list(cases: Sequence[Case], args: argparse.Namespace) -> None:
    if args.junit:
        raise UserError("--list plays nothing, so there is nothing for --junit.")
    if args.json:
        listed = [{key: getattr(each, key) for key in tally.NAMED} for each in cases]
        return say_json({"total": len(cases), "cases": listed})
    return tell(*(f"{case.file}: {case.title} ({', '.join(case.stands_for)})" for case in cases))


def _cases(args: argparse.Namespace) -> list[Case]:
    cases = _found(args, args.only or ())
    if not cases:
        where = _folder(args.cases) / "cases"
        told = "has such a name; --list shows them," if args.only else "is there;"
        raise UserError(f"no case in {where} {told} --cases DIR takes others.")
    return cases


def _found(args: argparse.Namespace, only: Sequence[str] = ()) -> list[Case]:
    try:
        return find(_folder(args.cases), only)
    except CaseError as error:
        raise UserError(f"{error}.") from None


def _played(cases: Sequence[Case], args: argparse.Namespace) -> list[Result]:
    hook = _hook(args)
    if args.junit and (args.junit.is_dir() or not args.junit.parent.is_dir()):
        raise UserError(f"{args.junit} cannot be written; --junit needs a file in a folder that is there.")
    jobs = args.jobs or 2 * (os.cpu_count() or 1)
    progress = _Progress(len(cases))
    with none_left():
        results = suite.play_all(cases, hook, jobs=jobs, keep=args.keep, told=progress.told)
    show_progress("")
    return results


def _folder(named: Path | None) -> Path:
    found = named or suite.folder()
    if found is None:
        raise UserError(NO_CASES + ".")
    return found.resolve()


def _hook(args: argparse.Namespace) -> Hook:
    layouts = tuple(dict.fromkeys(args.layout or LAYOUTS))
    path = os.environ.get("PATH", os.defpath)
    if args.hook is None:
        if args.events or args.tool:
            raise UserError("--events and --tool tell of another hook; name it with --hook CMD.")
        return hooks.own(layouts=layouts, path=path)
    if not args.hook.strip():
        raise UserError("--hook is empty; it takes the hook's command line.")
    events = [event.strip() for event in args.events.split(",") if event.strip()]
    known = {event for case in _found(args) for event in case.events} if events else set()
    for event in events:
        if event not in known:
            raise UserError(f"no case here has the event {event!r}; there are {', '.join(sorted(known))}.")
    try:
        tool = shlex.split(args.tool)
    except ValueError as error:
        raise UserError(f"--tool is no command line: {error}.") from None
    return hooks.foreign(args.hook, layouts=layouts, events=events, tool=tool, path=path)


def _show(results: list[Result], args: argparse.Namespace) -> None:
    if args.junit:
        args.junit.write_bytes(tally.as_junit(results))
    if args.json:
        say_json(tally.as_json(results))
        return
    tell(*tally.as_table(results))


class _Progress:
    """How far it is, on a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._failed = 0

    def told(self, result: Result) -> None:
        self._done += 1
        self._failed += result.result == FAILED
        failed = f", {self._failed} failed" if self._failed else ""
        show_progress(f"{self._done} of {self._total}{failed}")

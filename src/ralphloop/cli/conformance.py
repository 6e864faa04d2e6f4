"""The command `conformance`: play the public cases against a Stop hook, ours or any other; or the catalogues
of lies and of honest work against this very program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ralphloop.cli import main
from ralphloop.cli.output import complain, show, show_progress, value
from ralphloop.config import keys
from ralphloop.errors import UserError
from ralphloop.lab.catalogue import crew, tally
from ralphloop.lab.catalogue.item import HONEST, LIES
from ralphloop.lab.conformance import suite, summary
from ralphloop.lab.conformance.case import Case
from ralphloop.lab.conformance.play import Result
from ralphloop.lab.conformance.processes import none_left
from ralphloop.tasklists.registry import LAYOUTS

USAGE = 2


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hook", metavar="CMD", help="the hook's command line (default: our own hook)")
    parser.add_argument(
        "--layout", action="append", choices=LAYOUTS, help="a layout that the hook serves (default: all)"
    )
    parser.add_argument(
        "--events", metavar="NAME,…", default="", help="events that the hook serves beside Stop"
    )
    parser.add_argument("--tool", metavar="CMD", default="", help="the command line of the hook's own tool")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--lies",
        dest="catalogue",
        action="store_const",
        const=LIES,
        help="play the lies instead: ways to a green check without the work, which must be told",
    )
    which.add_argument(
        "--honest",
        dest="catalogue",
        action="store_const",
        const=HONEST,
        help="play honest work instead: tasks done as asked, which must not be held back",
    )
    parser.add_argument("--cases", metavar="DIR", type=Path, help="another folder of `cases` and `projects`")
    parser.add_argument("--only", metavar="GLOB", action="append", help="only cases that this names")
    parser.add_argument("--jobs", metavar="N", type=value(keys.count), help="cases side by side")
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
  ralphloop conformance --lies --only git
  ralphloop conformance --honest --json

exit codes: 0 all passed, 1 some failed, 2 wrong usage
"""


def run(args: argparse.Namespace) -> int:
    if args.catalogue:
        return _catalogue(args)
    try:
        cases = suite.chosen(args.cases, args.only or ())
        if args.list:
            if args.junit:
                raise UserError("--list plays nothing, so there is nothing for --junit.")
            return show(summary.listing(cases), as_json=args.json)
        results = _played(cases, args)
    except UserError as error:  # 1 is for a case that failed
        complain(error.message)
        return USAGE
    if args.junit:
        args.junit.write_bytes(summary.as_junit(results))
    code = show(summary.shown(results), as_json=args.json)
    if code == USAGE:
        complain("nothing was played: what the cases need, this hook does not have.")
    return code


def _played(cases: Sequence[Case], args: argparse.Namespace) -> list[Result]:
    hook = suite.hook_for(
        args.hook, layouts=args.layout or LAYOUTS, events=args.events, tool=args.tool, cases=args.cases
    )
    if args.junit and (args.junit.is_dir() or not args.junit.parent.is_dir()):
        raise UserError(f"{args.junit} cannot be written; --junit needs a file in a folder that is there.")
    progress = summary.Progress(len(cases), show_progress)
    with none_left():
        results = suite.play_all(cases, hook, jobs=args.jobs, keep=args.keep, told=progress)
    show_progress("")
    return results


def _catalogue(args: argparse.Namespace) -> int:
    """Lies or honest work, each played by this program's own commands and hook."""
    import ralphloop.cli.start  # noqa: F401 - or each play would import it

    try:
        for option in ("hook", "tool", "events", "junit"):
            if getattr(args, option):
                raise UserError(f"--{option} is for the cases; --{args.catalogue} plays this very program.")
        items = crew.chosen(args.catalogue, args.cases, args.only or ())
        if args.list:
            return show(tally.listing(items), as_json=args.json)
        wanted = [part for part in crew.parts(items) if part.layout in (args.layout or LAYOUTS)]
        progress = tally.Progress(len(wanted), show_progress)
        with none_left():
            played = crew.play_all(wanted, program=main.run, jobs=args.jobs, keep=args.keep, told=progress)
    except UserError as error:  # 1 is for one that came out otherwise
        complain(error.message)
        return USAGE
    show_progress("")
    return show(tally.shown(args.catalogue, played), as_json=args.json)

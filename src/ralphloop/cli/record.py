"""The command `record`: keep the stops of this project, look at them, make a case of one."""

from __future__ import annotations

import argparse
from pathlib import Path

from ralphloop import loops
from ralphloop.cli.output import show
from ralphloop.errors import UserError
from ralphloop.loops.place import require_person

ACTIONS = ("on", "off", "list", "show", "case", "clear")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("which", metavar="N|FILE", nargs="?", help="a record, for show and case")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the case there instead of stdout")
    parser.add_argument("--json", action="store_true", help="print JSON (on, off, list, show, clear)")
    parser.epilog = """\
examples:
  ralphloop record on
  ralphloop record list
  ralphloop record show 12
  ralphloop record case 12 --out conformance/cases/recorded/lost-claim.toml
  ralphloop record off
  ralphloop record clear

A record holds text of the conversation; secrets in it are masked as far as
they can be known. Only your own account can read it. The newest 100 of each
loop are kept, 32 MB at most.
"""


def run(args: argparse.Namespace) -> int:
    place = loops.here(writes=False)
    require_person(place.env, "what is recorded")
    _must_fit(args.action, args.which, args.out)
    if args.action == "case":
        return _case(place, args.which, out=args.out)
    if args.action == "list":
        found = loops.records(place)
    elif args.action == "show":
        found = loops.show_record(place, args.which)
    elif args.action == "clear":
        found = loops.clear_records(place)
    else:
        found = loops.record(place, on=args.action == "on")
    return show(found, as_json=args.json)


def _must_fit(action: str, which: str | None, out: Path | None) -> None:
    if (which is not None) is not (action in ("show", "case")):
        wants = "needs the number of a record" if which is None else "takes no number"
        raise UserError(f"`record {action}` {wants}; `ralphloop record list` shows them.")
    if out is not None and action != "case":
        raise UserError("--out is for `record case`.")


def _case(place: loops.Place, which: str, *, out: Path | None) -> int:
    from ralphloop.lab import recorded_case

    made = recorded_case.make(place, which)
    if out is not None:
        return show(recorded_case.write(made, out), as_is=True)
    print(made.text, end="")  # as the file would be
    return 0

"""The command `service`: loops that were being driven when the machine went down go on when it is back."""

from __future__ import annotations

import argparse
import os
import sys

from ralphloop import loops
from ralphloop.cli.output import say, show
from ralphloop.loops import service, upkeep


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ralphloop service install
  ralphloop service install --print
  ralphloop service status --json
  ralphloop service run --once

It starts a supervisor again that was killed, at most 3 times for a loop, and
tells you (`notify`). A loop that you paused, or that needs you, is left alone.
"""
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    told = "have it started now and with the machine, by systemd or launchd"
    verb = verbs.add_parser("install", help=told, description=told[0].upper() + told[1:] + ".")
    verb.add_argument("--print", action="store_true", help="print the unit, and write nothing")
    verb.add_argument("--json", action="store_true", help="print JSON")
    told = "take it away; loops go on"
    verb = verbs.add_parser("uninstall", help=told, description=told[0].upper() + told[1:] + ".")
    verb.add_argument("--json", action="store_true", help="print JSON")
    told = "is it in place, and which loops would it start again"
    verb = verbs.add_parser("status", help=told, description=told[0].upper() + told[1:] + ".")
    verb.add_argument("--json", action="store_true", help="print JSON")
    told = "look after the loops, as the service does"
    verb = verbs.add_parser("run", help=told, description=told[0].upper() + told[1:] + ".")
    verb.add_argument("--once", action="store_true", help="end when nothing is left to be started")


def run(args: argparse.Namespace) -> int:
    if args.verb == "run":
        upkeep.run(os.environ, _tell, once=args.once)
        return 0
    place = loops.here(writes=False)
    if args.verb == "install":
        return show(service.install(place, only_print=args.print), as_json=args.json, as_is=args.print)
    return show((service.uninstall if args.verb == "uninstall" else service.state)(place), as_json=args.json)


def _tell(line: str) -> None:
    say(line)
    sys.stdout.flush()

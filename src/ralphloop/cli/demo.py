"""The command `demo`: a whole loop in a few seconds, played by a scripted agent."""

from __future__ import annotations

import argparse
import os
import sys

from ralphloop.cli.output import complain
from ralphloop.lab import demo
from ralphloop.lab.demo_screen import Screen


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show a whole loop in a few seconds, without an account or a network: a scripted\n"
        "agent works through three tasks in a temporary git repository, driven by the\n"
        "hook that clients run."
    )
    parser.epilog = "examples:\n  ralphloop demo\n  ralphloop demo --keep    # look at the files afterwards"
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder and print where it is")
    parser.add_argument("--fast", action="store_true", help="do not pause between the steps")
    parser.add_argument("--no-color", action="store_true", help="print plain text (as with NO_COLOR)")


def run(args: argparse.Namespace) -> int:
    screen = Screen(sys.stdout, fast=args.fast, color=not args.no_color, env=os.environ)
    try:
        problems = demo.play(screen, keep=args.keep)
    except KeyboardInterrupt:
        complain("demo interrupted; its folder is " + ("kept." if args.keep else "gone."))
        raise
    for problem in problems:
        complain(f"the demo went wrong: {problem}.")
    return 1 if problems else 0

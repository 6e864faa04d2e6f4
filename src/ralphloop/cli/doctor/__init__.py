"""The command `doctor`: finds out whether a loop would run here, puts right what it can, and proves it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain

from ralphloop.cli.doctor import coverage, live_proof, machine, remains
from ralphloop.cli.doctor.diagnosis import FATAL, WARNING, Finding
from ralphloop.cli.output import ask, say_json, tell
from ralphloop.errors import UserError
from ralphloop.loops.place import Place, here, require_person
from ralphloop.loops.setup import Setup, look


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="offer to put right what can be put right")
    parser.add_argument("--yes", action="store_true", help="with --fix: do it without asking")
    parser.add_argument("--no-live", action="store_true", help="leave out the proof in the real client")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop doctor
  ralphloop doctor --no-live --json
  ralphloop doctor --fix          # asks before each change

✓ is fine, ! works but, ✗ would keep a loop from running (exit code 1). The
last line is a proof: your client runs a loop of two tasks against a scripted
model, in a folder of its own, without your account.
"""


def run(args: argparse.Namespace) -> int:
    place = here(writes=False)
    if args.yes and not args.fix:
        raise UserError("--yes answers the questions of --fix; add --fix.")
    if args.fix:
        _may_fix(args, place)
    found = []
    failed = _repair(place, yes=args.yes, told=not args.json) if args.fix else []
    for finding in chain(failed, _all(place, proof=not args.no_live)):
        found.append(finding)
        if not args.json:
            tell(finding.line)
    if args.json:
        say_json([finding.to_json() for finding in found])
    return 1 if any(finding.level == FATAL for finding in found) else 0


def _may_fix(args: argparse.Namespace, place: Place) -> None:
    require_person(place.env, "--fix")
    if not args.yes and (args.json or not sys.stdin.isatty()):
        raise UserError(
            "--fix asks before each change, and nobody can be asked here; add --yes to allow all."
        )


def _all(place: Place, *, proof: bool) -> Iterator[Finding]:
    setup = look(place)
    yield from _still(place, setup)
    if proof:
        yield from live_proof.examine(place, setup)


def _still(place: Place, setup: Setup) -> Iterator[Finding]:
    """All that can be seen without starting a session."""
    yield machine.client(place)
    yield from machine.trust(place)
    yield from coverage.examine(place, setup)
    yield from coverage.rivals(place, setup)
    yield machine.python(place)
    yield from machine.git(place)
    yield machine.stage()
    yield from machine.service(place)
    yield from machine.folders(place)
    yield from remains.examine(place)


def _repair(place: Place, *, yes: bool, told: bool) -> list[Finding]:
    """Offer each repair once, and say what could not be done; what is refused is found again afterwards."""
    failed = []
    for finding in list(_still(place, look(place))):
        if finding.repair is None:
            continue
        if told and not yes:
            tell(finding.line)
        if not yes and not ask(f"{finding.repair.question}? [y/N] "):
            continue
        try:
            done = finding.repair.apply()
        except (UserError, OSError) as error:
            failed.append(Finding("fix", WARNING, f"{finding.repair.question}: {str(error).rstrip('.')}"))
        else:
            if told:
                tell(f"Fixed: {done}.")
    return failed

"""The command `run`: drive a loop through fresh sessions, and show it."""

from __future__ import annotations

import argparse
import sys
import time
import uuid
from dataclasses import replace

from ralphloop import config
from ralphloop.cli import allowance
from ralphloop.cli.consent import consented
from ralphloop.cli.output import complain, say, say_json
from ralphloop.domain.model import COMPLETE, FINAL, INTERRUPTED, NEEDS_APPROVAL, RATE_LIMITED, LoopState
from ralphloop.domain.supervision import Supervision
from ralphloop.errors import UserError
from ralphloop.evidence import tree
from ralphloop.evidence.approval import waiting
from ralphloop.loops import exit_code, outset, precheck, resumption, run_branch, run_terms
from ralphloop.loops.book import locked
from ralphloop.loops.choice import choose
from ralphloop.loops.consent import Approval
from ralphloop.loops.crew import LOG, Supervised, taken
from ralphloop.loops.place import Here, here, last_over
from ralphloop.runner.terms import Terms
from ralphloop.store import arming, supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.source import Source
from ralphloop.views import terminal
from ralphloop.views.live.show import LEFT, show
from ralphloop.views.snapshot import view_of, with_spending


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="which task list, if there are several")
    parser.add_argument(
        "--batch", metavar="N", type=allowance.batch, help="tasks for one session (default: no limit)"
    )
    parser.add_argument("--model", metavar="M", help="the model, where neither task nor list names one")
    parser.add_argument("--fallback-model", metavar="M", help="the model while that one is overloaded")
    parser.add_argument(
        "--permission-mode",
        metavar="MODE",
        choices=config.PERMISSION_MODES,
        help="what the agent may do unasked (default: acceptEdits)",
    )
    parser.add_argument("--agent", choices=config.AGENTS, help="which client (default: claude)")
    parser.add_argument(
        "--idle-timeout", metavar="20m", type=allowance.seconds, help="end a session that is silent so long"
    )
    parser.add_argument(
        "--context-limit", metavar="70", type=allowance.percent, help="hand over at this share of the context"
    )
    parser.add_argument(
        "--commit", action=argparse.BooleanOptionalAction, help="one commit per closed task (default: no)"
    )
    parser.add_argument("--branch", metavar="B", help="commit on this branch, made if need be")
    parser.add_argument("--detach", action="store_true", help="run in the background")
    parser.add_argument("--adopt", action="store_true", help="take the loop over from its session")
    parser.add_argument("--plain", action="store_true", help="lines instead of the full screen")
    parser.add_argument("--json", action="store_true", help="print JSON at the end, lines on stderr")
    parser.add_argument("--yes", action="store_true", help="approve the list's checks without being asked")
    parser.add_argument("--unapproved", action="store_true", help="run although checks are not approved")
    parser.set_defaults(continue_with=None)
    allowance.add_options(parser)
    parser.epilog = f"""\
examples:
  ralphloop run shop
  ralphloop run shop --batch 1 --max-cost 5 --max-time 4h
  ralphloop run shop --model sonnet --permission-mode bypassPermissions --commit --branch overnight
  ralphloop run shop --detach

A loop that rests, or whose supervisor was killed, goes on where it was. Ctrl-C pauses it, twice kills the
session; q leaves the view and lets it run.

{exit_code.TABLE}"""


def run(args: argparse.Namespace) -> int:
    place = here()
    source = choose(place, args.name)
    loop = _before(place, source)
    cwd = tree.folder_for(source.root, place.cwd)
    terms = run_terms.of(args, place, source=source, loop=loop, cwd=cwd)
    if loop is None:
        loop = _begin(args, place, source)
        terms = replace(terms, session=loop.record.session or "")
    else:
        precheck.require(place, source, launching=True)  # it may have come about since the loop began
        _go_on(args, place, loop)
    run_terms.keep(loop, args)
    run_branch.switch(terms, cwd=cwd, env=place.env)
    try:
        return _drive(args, place, loop, terms=terms, cwd=cwd)
    except KeyboardInterrupt:  # before the view is there to obey it
        return _interrupted(args, loop)


def _before(place: Here, source: Source) -> LoopFiles | None:
    """The loop over this list that is under way or can go on."""
    here_ = Shelf(source.root, place.env)
    record = arming.holder(source, here_)
    if record is not None:
        loop = LoopFiles(record, here_)
        if supervisor.is_held(loop):
            raise taken(loop)
        return loop
    over = last_over(place, source)
    if over is not None and supervisor.is_held(over):
        raise UserError(
            f"the last session of {over.record.name} is still being ended; try again in a moment."
        )
    return over if over is not None and over.state().outcome not in FINAL else None


def _begin(args: argparse.Namespace, place: Here, source: Source) -> LoopFiles:
    limits = allowance.given(args)

    def begin(approval: Approval | None, unapproved: bool) -> outset.Armed:
        session, driven = str(uuid.uuid4()), Supervision()
        wish = outset.Wish(session, limits, None, approval, unapproved, launching=True, supervision=driven)
        return outset.arm(place, source, wish=wish)

    armed = consented(args, begin)
    if not args.json:
        say(*outset.tell(armed))
    return armed.loop


def _go_on(args: argparse.Namespace, place: Here, loop: LoopFiles) -> None:
    """Take up a loop that rests or that nobody drives; one that waits for a reset goes on waiting."""
    with locked(loop):
        loop.record = loop.shelf.fresh(loop.record)
        if supervisor.is_held(loop):
            raise taken(loop)
        state, record, limits = loop.state(), loop.record, allowance.given(args)
        _must_be_ours(args, loop, state)
        if state.outcome == RATE_LIMITED and not limits:
            return
        driven = record.supervision or Supervision()
        again = f"ralphloop run {record.name}"
        way = resumption.Way(limits, record.session, again, driven, anew=not state.live)
        resumption.take_up(place, loop, way)


def _must_be_ours(args: argparse.Namespace, loop: LoopFiles, state: LoopState) -> None:
    record = loop.record
    if state.live and record.session and record.supervision is None and not args.adopt:
        raise UserError(
            f"{record.name} belongs to session {record.session}; `ralphloop run {record.name} --adopt` "
            "takes it over, and that session may stop then."
        )
    if state.outcome == NEEDS_APPROVAL and waiting(loop):
        raise UserError(f"{record.name} waits for your approval: `ralphloop approve {record.name}` first.")


def _drive(args: argparse.Namespace, place: Here, loop: LoopFiles, *, terms: Terms, cwd: str) -> int:
    name = loop.record.name
    driver = Supervised(loop, terms, place=place, cwd=cwd)
    background = f"`ralphloop watch {name}` shows it, `ralphloop pause {name}` lets it stop."
    if args.detach:
        return _leave(args, driver, f"{name} runs in the background (process {driver.pid}): {background}")
    looked_at = LoopFiles(loop.record, loop.shelf, writes=False)
    out = sys.stderr if args.json else sys.stdout
    if show(looked_at, env=place.env, driver=driver, out=out, lines=not terms.stays) == LEFT:
        if supervisor.last(looked_at).phase == supervisor.PAUSED:
            driver.wait()  # nobody is left to go on with it
            return _close(args, looked_at)
        return _leave(args, driver, f"{name} goes on without you (process {driver.pid}): {background}")
    if driver.wait():
        complain(f"the supervisor broke off; {loop.path(LOG)} says why. `ralphloop run {name}` goes on.")
    return _close(args, looked_at)


def _interrupted(args: argparse.Namespace, loop: LoopFiles) -> int:
    with locked(loop):
        state = loop.state()
        if state.live:
            arming.pause(loop, state, outcome=INTERRUPTED, detail="paused by the person")
    return _close(args, loop)


def _leave(args: argparse.Namespace, driver: Supervised, told: str) -> int:
    if args.json:
        say_json({"id": driver.loop.record.id, "name": driver.loop.record.name, "process": driver.pid})
    else:
        say(told)
    return 0


def _close(args: argparse.Namespace, loop: LoopFiles) -> int:
    loop.record, now = loop.shelf.fresh(loop.record), time.time()
    view = with_spending(view_of(loop), loop, now=now)
    code = exit_code.of(view.state, view.outcome)
    if args.json:
        say_json({"exit_code": code, **view.to_json()})
    else:
        for line in terminal.block(view, now=now):
            say(line)
        if view.outcome == COMPLETE:
            say(f"  `ralphloop report {view.name}` tells what was done.")
    return code

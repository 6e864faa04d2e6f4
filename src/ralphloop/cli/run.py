"""The command `run`: drive a loop through fresh sessions, and show it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace

from ralphloop import config
from ralphloop.agents import claude
from ralphloop.cli import allowance, exit_code, precheck, resume, start
from ralphloop.cli.book import WAIT_S
from ralphloop.cli.choice import choose
from ralphloop.cli.config import loaded
from ralphloop.cli.crew import LOG, Supervised, taken
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here, here, last_over
from ralphloop.cli.output import complain, say, say_json
from ralphloop.config import Config
from ralphloop.domain.model import FINAL, NEEDS_APPROVAL, RATE_LIMITED
from ralphloop.domain.supervision import Supervision
from ralphloop.evidence import commit, tree
from ralphloop.evidence.approval import waiting
from ralphloop.runner.terms import Terms
from ralphloop.store import arming, supervisor
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import terminal
from ralphloop.views.live.show import LEFT, has_screen, show
from ralphloop.views.snapshot import state_of, view_of, with_spending


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="which task list, if there are several")
    parser.add_argument(
        "--batch", metavar="N", type=allowance.batch, help="tasks for one session (default: no limit)"
    )
    parser.add_argument("--model", metavar="M", help="the model, where neither task nor list names one")
    parser.add_argument("--fallback-model", metavar="M", help="the model while that one is overloaded")
    parser.add_argument(
        "--permission-mode", choices=config.PERMISSION_MODES, help="what the agent may do (acceptEdits)"
    )
    parser.add_argument("--agent", choices=config.AGENTS, help="which client (default: claude)")
    parser.add_argument(
        "--idle-timeout", metavar="20m", type=allowance.seconds, help="end a session that is silent so long"
    )
    parser.add_argument(
        "--context-limit", metavar="70", type=allowance.percent, help="hand over at this share of the context"
    )
    parser.add_argument("--commit", action="store_true", default=None, help="one commit per proven task")
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
    settings = loaded(source.root, place.env)
    if shutil.which(claude.PROGRAM, path=place.env.get("PATH")) is None:
        raise UserError("`claude` is not on PATH; install Claude Code first.")
    loop = _before(place, source)
    if loop is not None and supervisor.is_held(loop):
        raise taken(loop)
    cwd = tree.folder_for(source.root, place.cwd)
    branch = _branch_before(loop) or _branch(args, settings, source=source, cwd=cwd, env=place.env)
    terms = _terms(args, settings, branch=branch, env=place.env)
    if loop is None:
        loop = _begin(args, place, source)
        terms = replace(terms, session=loop.record.session or "")
    else:
        _must_be_possible(place, source)
        _go_on(args, place, loop)
    return _drive(args, place, loop, terms=terms, cwd=cwd)


def _before(place: Here, source: Source) -> LoopFiles | None:
    """The loop over this list that is under way or can go on."""
    here_ = Shelf(source.root, place.env)
    record = arming.holder(source, here_)
    if record is not None:
        return LoopFiles(record, here_)
    over = last_over(place, source)
    return over if over is not None and state_of(over).outcome not in FINAL else None


def _branch_before(loop: LoopFiles | None) -> str:
    """Where commits of this loop went until now: what an unfinished session left in the tree is its own."""
    terms = loop.record.supervision if loop is not None else None
    return terms.branch if terms is not None else ""


def _branch(
    args: argparse.Namespace, settings: Config, *, source: Source, cwd: str, env: Mapping[str, str]
) -> str:
    """Where commits go, once nothing is in their way; empty where nobody asked for them."""
    asked = args.commit if args.commit is not None else settings.get("commit") or bool(args.branch)
    if not asked:
        return ""
    try:
        branch = args.branch or settings.get("branch") or ""
        return commit.prepare(cwd, env, branch=branch, lists=[os.path.dirname(own_file(source))])
    except commit.CommitError as error:
        raise UserError(str(error)) from None


def _has_view(args: argparse.Namespace, env: Mapping[str, str]) -> bool:
    """Whether the person has keys to go on with after a pause."""
    is_asked_for = not (args.plain or args.json or args.detach)
    return is_asked_for and sys.stdin.isatty() and has_screen(sys.stdout, env)


def _terms(args: argparse.Namespace, settings: Config, *, branch: str, env: Mapping[str, str]) -> Terms:
    def said(name: str) -> object:
        given = getattr(args, name)
        return settings.get(name) if given is None else given

    return Terms(
        agent=str(said("agent")),
        batch=args.batch if args.batch is not None else settings.get("batch"),
        model=str(said("model") or ""),
        fallback_model=str(said("fallback_model") or ""),
        permission_mode=str(said("permission_mode")),
        idle_s=args.idle_timeout or settings.get("idle_timeout"),
        context=(args.context_limit if args.context_limit is not None else settings.get("context_limit"))
        / 100,
        branch=branch,
        margin_s=settings.get("reset_margin"),
        backoff_s=settings.get("backoff"),
        stays=_has_view(args, env),
        detached=args.detach,
    )


def _begin(args: argparse.Namespace, place: Here, source: Source) -> LoopFiles:
    armed = start.arm(
        args, place, source, session=str(uuid.uuid4()), launching=True, supervision=Supervision()
    )
    if not args.json:
        start.tell(armed, binding=False)
    return armed.loop


def _must_be_possible(place: Here, source: Source) -> None:
    """What a new loop is refused for may have come about since this one began."""
    for check in precheck.run(place, source, launching=True):
        if check.fatal:
            raise UserError(f"the loop could not run: {check.told}")


def _go_on(args: argparse.Namespace, place: Here, loop: LoopFiles) -> None:
    """Take up a loop that rests or that nobody drives; one that waits for a reset goes on waiting."""
    state, record, limits = state_of(loop), loop.record, allowance.given(args)
    if state.live and record.session and record.supervision is None and not args.adopt:
        raise UserError(
            f"{record.name} belongs to session {record.session}; `ralphloop run {record.name} --adopt` "
            "takes it over, and that session may stop then."
        )
    if state.outcome == NEEDS_APPROVAL and waiting(loop):
        raise UserError(f"{record.name} waits for your approval: `ralphloop approve {record.name}` first.")
    terms = record.supervision or Supervision()
    if state.live:
        with loop.lock(wait_s=WAIT_S):
            arming.take_up(loop, state, limits=limits, anew=False, supervision=terms)
    elif state.outcome != RATE_LIMITED or limits:
        again = f"ralphloop run {record.name}"
        resume.take_up(place, loop, limits=limits, owner=record.session, again=again, supervision=terms)


def _drive(args: argparse.Namespace, place: Here, loop: LoopFiles, *, terms: Terms, cwd: str) -> int:
    name = loop.record.name
    driver = Supervised(loop, terms, place=place, cwd=cwd)
    background = f"`ralphloop watch {name}` shows it, `ralphloop pause {name}` lets it stop."
    if args.detach:
        say(f"{name} runs in the background (process {driver.pid}): {background}")
        return 0
    looked_at = LoopFiles(loop.record, loop.shelf, writes=False)
    out = sys.stderr if args.json else sys.stdout
    if show(looked_at, env=place.env, driver=driver, out=out, lines=not terms.stays) == LEFT:
        say(f"{name} goes on without you (process {driver.pid}): {background}")
        return 0
    if driver.wait():
        complain(f"the supervisor broke off; {loop.path(LOG)} says why. `ralphloop run {name}` goes on.")
    return _close(args, looked_at)


def _close(args: argparse.Namespace, loop: LoopFiles) -> int:
    loop.record, now = loop.shelf.fresh(loop.record), time.time()
    view = with_spending(view_of(loop), loop, now=now)
    code = exit_code.of(view.state, view.outcome)
    if args.json:
        say_json({"exit_code": code, **view.to_json()})
    else:
        for line in terminal.block(view, now=now):
            say(line)
    return code

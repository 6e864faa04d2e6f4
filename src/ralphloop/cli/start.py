"""The command `start`: arm a loop over a task list, or say why that cannot work."""

from __future__ import annotations

import argparse
import os
import uuid
from typing import NamedTuple

from ralphloop.cli import allowance, interpreter, launch, precheck, terms
from ralphloop.cli.choice import choose
from ralphloop.cli.config import loaded
from ralphloop.cli.here import Here, here
from ralphloop.cli.output import say, say_json
from ralphloop.config import CONTINUATIONS
from ralphloop.domain.ledger import Ledger, name_tasks
from ralphloop.domain.model import APPROVE, CANCELLED, ENDED, FEATURES, LoopState, TaskList
from ralphloop.domain.prompt import line
from ralphloop.domain.supervision import Supervision
from ralphloop.domain.survey import survey
from ralphloop.domain.worklist import Worklist
from ralphloop.errors import TakenError, UserError
from ralphloop.evidence import protect
from ralphloop.evidence.approval import digest, waiting
from ralphloop.store import arming, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record, Shelf
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="which task list, if there are several")
    parser.add_argument("--session", metavar="ID", type=session_id, help="the session that owns the loop")
    parser.add_argument("--yes", action="store_true", help="approve the list's checks without being asked")
    parser.add_argument(
        "--unapproved", action="store_true", help="start although checks are not approved; they do not run"
    )
    parser.add_argument(
        "--continue-with",
        choices=CONTINUATIONS,
        help="how the next task reaches the agent (default: block)",
    )
    parser.add_argument("--launch", action="store_true", help="start the client on it, in this terminal")
    parser.add_argument(
        "--permission-mode", metavar="MODE", help="what the launched client may do unasked (acceptEdits, …)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    allowance.add_options(parser)
    parser.epilog = """\
examples:
  ralphloop start
  ralphloop start shop --max-iterations 40 --max-time 4h
  ralphloop start shop --max-cost 5 --yes
  ralphloop start shop --launch --permission-mode acceptEdits

The commands under `verify` in the list are shown and run only if you approve them.
"""


def session_id(text: str) -> str:
    """A session id that can be the name of a record, for argparse."""
    if not text or not shelf.file_name(text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} cannot be a session id")
    return text


def run(args: argparse.Namespace) -> int:
    place = here()
    source = choose(place, args.name)
    startable(source)
    if args.launch:
        launch.check(place, as_json=args.json)
    elif args.permission_mode:
        raise UserError("--permission-mode is for the client that --launch starts; add --launch.")
    session = args.session or (str(uuid.uuid4()) if args.launch else place.session)
    armed = arm(args, place, source, session=session, launching=args.launch)
    loop = armed.loop
    if args.json:
        say_json(_as_json(armed))
    else:
        tell(armed)
        if place.session and place.session == loop.record.session and not loop.record.unapproved:
            say("", launch.first_prompt(loop, place))
    if args.launch:
        settings = not precheck.is_registered(place, source)
        launch.replace(loop, place, settings=settings, permission_mode=args.permission_mode)
    return 0


class Armed(NamedTuple):
    """A loop that has begun, and what there is to say about it."""

    loop: LoopFiles
    listed: TaskList
    checks: list[precheck.Check]
    protected: int
    unprotected: list[str]


def arm(
    args: argparse.Namespace,
    place: Here,
    source: Source,
    *,
    session: str | None,
    launching: bool,
    supervision: Supervision | None = None,
) -> Armed:
    """Begin a loop over the list, once the person has allowed its checks."""
    listed = startable(source)
    begun = ready(place, source, session=session, limits=allowance.given(args), launching=launching)
    unprotected = terms.unprotected(source, listed)
    allowed = terms.approved_now(
        args, place, source, listed=listed, again="start" if supervision is None else "run"
    )
    begun = begun._replace(supervision=supervision)
    loop = begin(place, source, ready=begun, continue_with=args.continue_with)
    if allowed:
        loop.journal("approve", commands=allowed, by="--yes" if args.yes else "terminal")
    protected = _pin_protected(loop)
    if source.layout == FEATURES:
        tasks.show_now(loop, loop.state())
    return Armed(loop, listed, begun.checks, protected, unprotected)


class Ready(NamedTuple):
    """What a loop that may begin now begins with."""

    session: str | None
    checks: list[precheck.Check]
    limits: dict[str, float]
    before: LoopFiles | None  # the loop whose terms go on
    continue_with: str
    supervision: Supervision | None = None  # where a supervisor begins it


def ready(
    place: Here, source: Source, *, session: str | None, limits: dict[str, float], launching: bool = False
) -> Ready:
    """Look whether a loop over this list can begin; an error says why not. Limits that are not given are
    those of the settings."""
    settings = loaded(source.root, place.env)
    is_free(place, source, session)
    checks = precheck.require(place, source, launching=launching)
    before, limits = terms.of_loop_before(
        place, source, limits=limits, configured=allowance.configured(settings)
    )
    return Ready(session, checks, limits, before, settings.get("continue_with"))


def begin(place: Here, source: Source, *, ready: Ready, continue_with: str | None = None) -> LoopFiles:
    """Arm a loop over this list."""
    loop = _arm(place, source, ready=ready, continue_with=continue_with or ready.continue_with)
    if ready.before is not None:
        terms.carry_over(loop, ready.before)
    interpreter.record(place)
    return loop


def startable(source: Source) -> TaskList:
    """The list, if a loop over it has something to do."""
    if not source.enabled:
        settings = f".claude/ralph-{source.layout}.local.md"
        raise UserError(f"ralph-{source.layout} is disabled; set `enabled: true` in {settings}.")
    own = own_file(source)
    try:
        listed = tasks.parse_source(source)
    except (ValueError, OSError) as error:
        raise UserError(f"{source.name} cannot start: {error} ({own}). Repair it and start again.") from None
    if listed.phase != "execution":
        return listed  # its tasks are still to be written
    if not listed.tasks:
        raise UserError(f"{source.name} has no tasks; write some into {own} and start again.")
    if all(task.done for task in listed.tasks):
        raise UserError(f"every task of {source.name} is done; add one to {own}, or reopen one.")
    work = look(listed)
    if not work.next and not work.asked:
        why = "; ".join(f"{task} {reason}" for task, reason in work.stuck)
        raise UserError(f"no task of {source.name} can run: {line(why)}. Repair {own} and start again.")
    return listed


def look(listed: TaskList) -> Worklist:
    """The list as a loop would see it at its first stop."""
    ledger = Ledger()
    name_tasks(listed, ledger)
    return survey(listed, ledger)


def is_free(place: Here, source: Source, session: str | None) -> None:
    """Refuse a second loop over this list, and a second one for this session."""
    holder = arming.holder(source, Shelf(source.root, place.env))
    if holder is not None:
        raise _taken(source, holder)
    mine = place.owned_by(session) if session else None
    if mine is not None and not mine.is_over:
        raise _taken(source, mine.record)


def _taken(source: Source, record: Record) -> UserError:
    owner = f"session {record.session}" if record.session else "no session yet"
    end = (
        f"`ralphloop cancel {record.name}` ends it; "
        f"if its session is gone, `ralphloop resume {record.name} --adopt` takes it over."
    )
    if own_file(record) == own_file(source):
        return UserError(f"a loop over {source.name} is under way already: {record.id} ({owner}). {end}")
    return UserError(f"this session owns a loop already: {record.id} ({owner}). {end}")


def _arm(place: Here, source: Source, *, ready: Ready, continue_with: str) -> LoopFiles:
    limits = dict(ready.limits)
    iterations = limits.pop("iterations", None)
    try:
        return arming.arm(
            source,
            Shelf(source.root, place.env),
            session=ready.session,
            supervision=ready.supervision,
            max_iterations=None if iterations is None else int(iterations),
            limits=limits,
            continue_with=continue_with,
            started=True,
        )
    except TakenError as error:
        raise _taken(source, error.record) from None


def _pin_protected(loop: LoopFiles) -> int:
    try:
        return protect.pin(loop, loop.record.root)
    except OSError as error:
        state = loop.state()
        state.state, state.outcome, state.detail = ENDED, CANCELLED, "the protected files cannot be kept"
        loop.rest(state)
        raise UserError(f"the protected files cannot be kept, and nothing started: {error}.") from None


def _done(listed: TaskList) -> int:
    return sum(1 for task in listed.tasks if task.done)


def tell(armed: Armed, *, binding: bool = True) -> None:
    loop, listed = armed.loop, armed.listed
    record, state = loop.record, loop.state()
    say(f"Loop {record.id}: {_done(listed)}/{len(listed.tasks)} done, {allowance.told(record.limits)}.")
    if binding:
        say(_binding(record, state))
    bare = [task.id or task.title for task in listed.tasks if not task.verify and not task.done]
    if bare:
        said = (
            "no task has a check"
            if len(bare) == len(listed.tasks)
            else "no check: " + line(", ".join(bare), 60)
        )
        say(f"! {said}; what the agent says is done counts as unverified there.")
    if armed.protected:
        say(f"{armed.protected} protected files are kept as they are now.")
    if record.unapproved:
        commands = waiting(loop)
        say(f"! {len(commands)} checks are not approved and do not run: type `{APPROVE[record.layout]} "
            f"{digest(commands)}` in the client, or run `ralphloop approve {record.name}`.")  # fmt: skip
    for check in armed.checks:
        say(f"{'✓' if check.fine else '!'} {check.told}")
    for pattern in armed.unprotected:
        say(f"! `protect` names no file yet: {pattern}")


def _binding(record: Record, state: LoopState) -> str:
    if state.owner:
        return f"It belongs to session {state.owner}."
    prompt = record.paths.get("prompt", "")
    binds = "It binds to the next session started here, whatever that is asked"
    if prompt and os.path.exists(prompt):
        return f"{binds}, or to the one that gets the text of {os.path.relpath(prompt)}."
    return binds + "."


def _as_json(armed: Armed) -> dict[str, object]:
    loop, listed = armed.loop, armed.listed
    record, state = loop.record, loop.state()
    return {
        "id": record.id,
        "name": record.name,
        "layout": record.layout,
        "root": record.root,
        "state": state.state,
        "owner": state.owner,
        "iteration": state.iteration,
        "max_iterations": int(record.limits.iterations),
        "done": _done(listed),
        "total": len(listed.tasks),
        "unapproved": waiting(loop),
        "checks": [check._asdict() for check in armed.checks],
    }

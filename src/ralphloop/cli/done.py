"""The command `done`: the agent, or the person, claims that a task is done; its checks are run at once."""

from __future__ import annotations

import argparse
import os

from ralphloop.cli.book import Book, opened, tally_line
from ralphloop.cli.here import Here, here, must_not_be_anothers, pick
from ralphloop.cli.output import say, say_json
from ralphloop.domain.model import CLAIMED, CLOSED, FEATURES, OPEN, PROVEN, UNVERIFIED
from ralphloop.errors import UserError
from ralphloop.evidence.origin import of_session
from ralphloop.evidence.prove import Prover
from ralphloop.store import tasks
from ralphloop.store.loop import LoopFiles

TAIL_LINES = 60
_SAID = {
    PROVEN: "proven",
    UNVERIFIED: "marked done (unverified: it has no check that ralphloop runs)",
    CLAIMED: "claimed: its check goes on at the next stop",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the task's id as `ralphloop status` shows it")
    parser.add_argument("--loop", metavar="NAME", help="which loop, if several are under way")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop done F2
  ralphloop done 1.3 --loop login

The task's checks are run at once. Exit code 1 if one fails: then the task stays open.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    loop = pick(place, args.loop)
    must_not_be_anothers(place, loop)
    with opened(loop) as book:
        for note in book.guard():
            if not args.json:
                say(note)
        before = book.ledger.state(book.task(args.id))
        if before in CLOSED:
            return _tell(args, book, f"{args.id} is done already ({before}). ", changed=False)
        prover, said = _claim(args, book, place)
    if prover is None:
        return _tell(args, book, said, changed=True)
    prover.run()
    return _settle(args, loop, prover)


def _claim(args: argparse.Namespace, book: Book, place: Here) -> tuple[Prover | None, str]:
    """Mark the task as claimed; its checks if they may run, and else what to say."""
    task = book.task(args.id)
    prover = None
    state, why = UNVERIFIED, "it has no check that ralphloop runs"
    if task.verify or task.guarded:
        prover = _prover(book, place, quiet=args.json)
        state, why = CLAIMED, "its check waits for the person's approval; go on with the rest"
        if not prover.plan_tasks([task], book.state):
            why = ""
        elif book.loop.record.layout != FEATURES:
            state, why = UNVERIFIED, "its check is not approved and was not run"
    _mark(book, args.id)
    book.ledger.note(args.id, state=state)
    book.save("claim", task=args.id, by="command", session=place.session)
    tasks.show_now(book.loop, book.state, book.work())
    marked = "claimed" if state == CLAIMED else "marked done"
    return (prover if not why else None), f"{args.id} is {marked} ({state}: {why}). "


def _prover(book: Book, place: Here, *, quiet: bool) -> Prover:
    transcript = book.state.transcripts[-1] if book.state.transcripts else ""
    return Prover(
        book.loop,
        cwd=place.cwd,
        env=place.env,
        origin=of_session("done", place.session, transcript=transcript, env=place.env),
        say=(lambda text: None) if quiet else (lambda text: say(f"$ {text}")),
    )


def _mark(book: Book, task_id: str) -> None:
    place = book.place(task_id)
    record, listed = book.loop.record, book.tasks.tasks
    behind = [task.id for task in listed[:place] if not task.done]
    if behind and record.layout != FEATURES and not os.path.exists(record.paths["tasks"]):
        raise UserError(f"without a tasks.md these tasks are done in order; {behind[0]} is next.")
    tasks.mark(record, [place], done=True)
    listed[place].done = True


def _settle(args: argparse.Namespace, loop: LoopFiles, prover: Prover) -> int:
    """Prove the task, or turn the claim back and say why."""
    with opened(loop) as book:
        prover.settle(book.state)
        refused = prover.results.refused
        for refusal in refused:
            book.state.attempts[refusal.task] = book.state.attempts.get(refusal.task, 0) + 1
        loop.save(book.state)
    with opened(loop) as book:
        tasks.show_now(loop, book.state, book.work())
        state = book.ledger.state(book.task(args.id))
        if not refused and state == OPEN:
            _tell(args, book, f"{args.id} is open: a stop refused the claim meanwhile. ", changed=False)
            return 1
        if not refused:
            return _tell(args, book, f"{args.id} is {_said(state)}. ", changed=True)
        first = refused[0]
        ran = f"`{first.command}` " if first.command else ""
        tail = first.tail.rstrip("\n").split("\n")[-TAIL_LINES:] if not args.json else []
        said = "\n".join([f"{args.id} is not done: {ran}{first.why}.", *tail, ""])
        _tell(args, book, said, changed=False, why=first.why, tail=first.tail)
    return 1


def _said(state: str) -> str:
    return _SAID.get(state, state)


def _tell(
    args: argparse.Namespace, book: Book, said: str, *, changed: bool, why: str = "", tail: str = ""
) -> int:
    work = book.work()
    if args.json:
        refused = {"refused": why, "output_tail": tail} if why else {}
        say_json(
            {
                "task": args.id,
                "loop": book.loop.record.id,
                "changed": changed,
                "state": book.ledger.state(book.task(args.id)),
                "done": work.closed,
                "total": work.total,
                "next": work.next[0].id if work.next else None,
                **refused,
            }
        )
    else:
        say(said + tally_line(work))
    return 0

"""Claims that a task is done, and the checks that judge them: at once, or by hand without a change."""

from __future__ import annotations

import os
from typing import Any

from ralphloop.domain.model import CLAIMED, CLOSED, OPEN, PROVEN, THE_LIST, UNVERIFIED, Task
from ralphloop.errors import UserError
from ralphloop.evidence.checker import GREEN, Verdict
from ralphloop.evidence.origin import Origin, client_in, of_session
from ralphloop.evidence.prove import Prover
from ralphloop.loops.book import Book, opened, tally_line
from ralphloop.loops.place import Place, must_not_be_anothers, pick
from ralphloop.loops.result import Result, Tell, quiet
from ralphloop.store import approvals, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import traits

REFUSED_LINES, RED_LINES = 60, 20  # of a check's output: of a claim that fails, of a check run by hand
BY_HAND_S = 24 * 3600.0
_SAID = {
    PROVEN: "proven",
    UNVERIFIED: "marked done (unverified: it has no check that ralphloop runs)",
    CLAIMED: "claimed: its check goes on at the next stop",
}


def done(place: Place, task: str, *, loop: str | None = None, told: Tell = quiet) -> Result:
    """Claim that a task is done and run its checks at once; it stays open if one fails, and the code is 1."""
    _must_not_be_check(place, "done")
    found = pick(place, loop)
    must_not_be_anothers(place, found)
    with opened(found) as book:
        for note in book.guard():
            told(note)
        before = book.ledger.state(book.task(task))
        if before in CLOSED:
            return _result(book, task, f"{task} is done already ({before}). ", changed=False)
        prover, said = _claim(book, task, place=place, told=told)
    if prover is None:
        return _result(book, task, said, changed=True)
    prover.run()
    return _settle(found, task, prover)


def _claim(book: Book, task_id: str, *, place: Place, told: Tell) -> tuple[Prover | None, str]:
    """Mark the task as claimed; its checks if they may run, and else what to say."""
    task = book.task(task_id)
    prover = None
    state, why = UNVERIFIED, "it has no check that ralphloop runs"
    if task.verify or task.guarded:
        transcript = book.state.transcripts[-1] if book.state.transcripts else ""
        origin = of_session("done", place.session, transcript=transcript, env=place.env)
        prover = Prover(book.loop, cwd=place.cwd, env=place.env, origin=origin, say=_shown(told))
        state, why = CLAIMED, "its check waits for the person's approval; go on with the rest"
        void = approvals.why_void(book.loop.shelf)
        if not prover.plan_tasks([task], book.state):
            why = ""
        elif void and approvals.recorded(book.loop.shelf).issuperset(task.verify):
            why = f"{void}. Its check runs after that; go on with the rest"
        elif not traits(book.loop.record.layout).waits_for_approval:
            state, why = UNVERIFIED, "its check is not approved and was not run"
    _mark(book, task_id)
    book.ledger.claim(task_id, state)
    book.save("claim", task=task_id, by="command", session=place.session)
    tasks.show_now(book.loop, book.state, book.work())
    marked = "claimed" if state == CLAIMED else "marked done"
    return (prover if not why else None), f"{task_id} is {marked} ({state}: {why}). "


def _mark(book: Book, task_id: str) -> None:
    at = book.place(task_id)
    record, listed = book.loop.record, book.tasks.tasks
    behind = [task.id for task in listed[:at] if not task.done]
    counted = book.tasks.sequential and not os.path.exists(record.paths[traits(record.layout).criteria])
    if behind and counted:
        raise UserError(f"without a tasks.md these tasks are done in order; {behind[0]} is next.")
    tasks.mark(record, [at], done=True)
    listed[at].done = True


def _settle(loop: LoopFiles, task: str, prover: Prover) -> Result:
    """Prove the task, or turn the claim back and say why."""
    with opened(loop) as book:
        prover.settle(book.state)
        refused = prover.results.refused
        for refusal in refused:
            book.state.attempts[refusal.task] = book.state.attempts.get(refusal.task, 0) + 1
        names = [refusal.task for refusal in refused if not refusal.left_out]
        book.state.refused = list(dict.fromkeys([*book.state.refused, *names]))
        loop.save(book.state)
    with opened(loop) as book:
        tasks.show_now(loop, book.state, book.work())
        state = book.ledger.state(book.task(task))
        if not refused and state == OPEN:
            said = f"{task} is open: a stop refused the claim meanwhile. "
            return _result(book, task, said, changed=False, code=1)
        if not refused:
            return _result(book, task, f"{task} is {_SAID.get(state, state)}. ", changed=True)
        first = refused[0]
        ran = f"`{first.command}` " if first.command else ""
        end = first.tail.rstrip("\n").split("\n")[-REFUSED_LINES:]
        said = "\n".join([f"{task} is not done: {ran}{first.why}.", *end, ""])
        facts = {"refused": first.why, "output_tail": first.tail} if first.why else {}
        return _result(book, task, said, changed=False, code=1, **facts)


def _result(book: Book, task: str, said: str, *, changed: bool, code: int = 0, **facts: Any) -> Result:
    work = book.work()
    data = {
        "task": task,
        "loop": book.loop.record.id,
        "changed": changed,
        "state": book.ledger.state(book.task(task)),
        "done": work.closed,
        "total": work.total,
        "next": work.next[0].id if work.next else None,
        **facts,
    }
    return Result(data, (said + tally_line(work),), code)


def verify(place: Place, task: str | None = None, *, loop: str | None = None, told: Tell = quiet) -> Result:
    """Run the checks of one task, or of all; what they find is recorded, and changes no task. The code is 0
    if every check is green."""
    _must_not_be_check(place, "verify")
    found = pick(place, loop)
    origin = Origin("manual", client=client_in(place.env), session=place.session)
    with opened(found, final=True) as book:
        chosen = _chosen(book, task)
        prover = Prover(
            found, cwd=place.cwd, env=place.env, origin=origin, budget_s=BY_HAND_S, say=_shown(told)
        )
        waiting = prover.plan_tasks(chosen, book.state, whole=book.tasks if task is None else None)
    if waiting and task is not None:
        how = approvals.why_void(found.shelf) or "`ralphloop approve` shows them"
        raise UserError(f"the checks of {', '.join(waiting)} are not approved; {how}.")
    prover.run()
    verdicts = prover.verdicts
    data = {
        "loop": found.record.id,
        "protected": [f"{entry.path} ({entry.what})" for entry in prover.touched],
        "unapproved": waiting,
        "tasks": {name: verdict._asdict() for name, verdict in verdicts.items() if name},
        **({"list": verdicts[""]._asdict()} if "" in verdicts else {}),
    }
    lines = [_verdict_line(name or THE_LIST, verdict) for name, verdict in verdicts.items()]
    how = approvals.why_void(found.shelf) or "`ralphloop approve` shows its checks"
    lines += [f"- {name}: not approved, not run; {how}" for name in waiting]
    is_green = all(verdict.state == GREEN for verdict in verdicts.values())
    return Result(data, tuple(lines), 0 if verdicts and is_green and not waiting else 1)


def _chosen(book: Book, task: str | None) -> list[Task]:
    found = [each for each in book.tasks.tasks if each.verify] if task is None else [book.task(task)]
    if not found or not found[0].verify:
        what = f"{task} has" if task else "the tasks have"
        raise UserError(f"{what} no check; add a `verify` command to the list, then `ralphloop approve`.")
    return found


def _verdict_line(task: str, verdict: Verdict) -> str:
    if verdict.state == GREEN:
        return f"✓ {task}: green"
    end = verdict.tail.rstrip("\n").split("\n")[-RED_LINES:]
    return "\n".join([f"✗ {task}: {verdict.why or 'not run'}", *(f"    {line}" for line in end if line)])


def _shown(told: Tell) -> Tell:
    """For a check's command, before it runs."""
    return lambda command: told(f"$ {command}")


def _must_not_be_check(place: Place, what: str) -> None:
    if place.env.get("RALPHLOOP_CHECK"):
        raise UserError(f"a check must not call `ralphloop {what}`: it would run itself.")

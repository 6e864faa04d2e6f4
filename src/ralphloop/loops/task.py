"""What is said of one task: a claim and its checks, the person's word, a question and its answer."""

from __future__ import annotations

import os
from typing import Any

from ralphloop.domain import model
from ralphloop.domain.model import Task
from ralphloop.engine.amendment import leave_out
from ralphloop.engine.announce import announce_question
from ralphloop.errors import UserError
from ralphloop.loops.opened import Opened, must_not_be_anothers, open_loop
from ralphloop.loops.place import Place, pick, require_person
from ralphloop.loops.result import Result, Tell, quiet
from ralphloop.proof import proof_record
from ralphloop.proof.checker import GREEN, Origin, Verdict, client_in, of_session
from ralphloop.proof.mask import mask, secrets
from ralphloop.proof.prove import Prover
from ralphloop.store import approvals, supervisor, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import traits

REFUSED_LINES, RED_LINES = 60, 20  # of a check's output: of a claim that fails, of a check run by hand
BY_HAND_S = 24 * 3600.0
_SAID = {
    model.PROVEN: "proven",
    model.UNVERIFIED: "marked done (unverified: it has no check that ralphloop runs)",
    model.CLAIMED: "claimed: its check goes on at the next stop",
}


def done(place: Place, task: str, *, loop: str | None = None, told: Tell = quiet) -> Result:
    """Claim that a task is done and run its checks at once; it stays open if one fails, and the code is 1."""
    _must_not_be_check(place, "done")
    found = pick(place, loop)
    must_not_be_anothers(place, found)
    with open_loop(found) as opened:
        for note in opened.guard():
            told(note)
        before = opened.ledger.state(opened.task(task))
        if before in model.CLOSED:
            return _claimed(opened, task, f"{task} is done already ({before}). ", changed=False)
        prover, said = _claim(opened, task, place=place, told=told)
    if prover is None:
        return _claimed(opened, task, said, changed=True)
    prover.run()
    return _settle(found, task, prover)


def _claim(opened: Opened, task_id: str, *, place: Place, told: Tell) -> tuple[Prover | None, str]:
    """Mark the task as claimed; its checks if they may run, and else what to say."""
    task = opened.task(task_id)
    prover = None
    state, why = model.UNVERIFIED, "it has no check that ralphloop runs"
    if task.verify or task.guarded:
        transcript = opened.state.transcripts[-1] if opened.state.transcripts else ""
        origin = of_session("done", place.session, transcript=transcript, env=place.env)
        prover = Prover(opened.loop, cwd=place.cwd, env=place.env, origin=origin, say=_shown(told))
        state, why = model.CLAIMED, "its check waits for the person's approval; go on with the rest"
        void = approvals.why_void(opened.loop.shelf)
        if not prover.plan_tasks([task], opened.state):
            why = ""
        elif void and approvals.recorded(opened.loop.shelf).issuperset(task.verify):
            why = f"{void}. Its check runs after that; go on with the rest"
        elif not traits(opened.loop.record.layout).waits_for_approval:
            state, why = model.UNVERIFIED, "its check is not approved and was not run"
    _mark(opened, task_id)
    opened.ledger.claim(task_id, state)
    opened.save("claim", task=task_id, by="command", session=place.session)
    tasks.show_now(opened.loop, opened.state, opened.work())
    marked = "claimed" if state == model.CLAIMED else "marked done"
    return (prover if not why else None), f"{task_id} is {marked} ({state}: {why}). "


def _mark(opened: Opened, task_id: str) -> None:
    at = opened.index(task_id)
    record, listed = opened.loop.record, opened.tasks.tasks
    behind = [task.id for task in listed[:at] if not task.done]
    counted = opened.tasks.sequential and not os.path.exists(record.paths[traits(record.layout).criteria])
    if behind and counted:
        raise UserError(f"without a tasks.md these tasks are done in order; {behind[0]} is next.")
    tasks.mark(record, [at], done=True)
    listed[at].done = True


def _settle(loop: LoopFiles, task: str, prover: Prover) -> Result:
    """Prove the task, or turn the claim back and say why."""
    with open_loop(loop) as opened:
        prover.settle(opened.state)
        refused = prover.results.refused
        for refusal in refused:
            opened.state.attempts[refusal.task] = opened.state.attempts.get(refusal.task, 0) + 1
        names = [refusal.task for refusal in refused if not refusal.left_out]
        opened.state.refused = list(dict.fromkeys([*opened.state.refused, *names]))
        loop.save(opened.state)
    with open_loop(loop) as opened:
        tasks.show_now(loop, opened.state, opened.work())
        state = opened.ledger.state(opened.task(task))
        if not refused and state == model.OPEN:
            said = f"{task} is open: a stop refused the claim meanwhile. "
            return _claimed(opened, task, said, changed=False, code=1)
        if not refused:
            return _claimed(opened, task, f"{task} is {_SAID.get(state, state)}. ", changed=True)
        first = refused[0]
        ran = f"`{first.command}` " if first.command else ""
        end = first.tail.rstrip("\n").split("\n")[-REFUSED_LINES:]
        said = "\n".join([f"{task} is not done: {ran}{first.why}.", *end, ""])
        facts = {"refused": first.why, "output_tail": first.tail} if first.why else {}
        return _claimed(opened, task, said, changed=False, code=1, **facts)


def _claimed(opened: Opened, task: str, said: str, *, changed: bool, code: int = 0, **facts: Any) -> Result:
    work = opened.work()
    data = {
        "task": task,
        "loop": opened.loop.record.id,
        "changed": changed,
        "state": opened.ledger.state(opened.task(task)),
        "done": work.closed,
        "total": work.total,
        "next": work.next[0].id if work.next else None,
        **facts,
    }
    return Result(data, (said + opened.tally(),), code)


def verify(place: Place, task: str | None = None, *, loop: str | None = None, told: Tell = quiet) -> Result:
    """Run the checks of one task, or of all; what they find is recorded, and changes no task. The code is 0
    if every check is green."""
    _must_not_be_check(place, "verify")
    found = pick(place, loop)
    origin = Origin("manual", client=client_in(place.env), session=place.session)
    with open_loop(found, final=True) as opened:
        chosen = _chosen(opened, task)
        prover = Prover(
            found, cwd=place.cwd, env=place.env, origin=origin, budget_s=BY_HAND_S, say=_shown(told)
        )
        waiting = prover.plan_tasks(chosen, opened.state, whole=opened.tasks if task is None else None)
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
    lines = [_verdict_line(name or model.THE_LIST, verdict) for name, verdict in verdicts.items()]
    how = approvals.why_void(found.shelf) or "`ralphloop approve` shows its checks"
    lines += [f"- {name}: not approved, not run; {how}" for name in waiting]
    is_green = all(verdict.state == GREEN for verdict in verdicts.values())
    return Result(data, tuple(lines), 0 if verdicts and is_green and not waiting else 1)


def _chosen(opened: Opened, task: str | None) -> list[Task]:
    found = [each for each in opened.tasks.tasks if each.verify] if task is None else [opened.task(task)]
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


def accept(place: Place, task: str, *, loop: str | None = None) -> Result:
    """Vouch for a task, whatever its check says."""
    require_person(place.env, "vouching for a task")
    with open_loop(pick(place, loop)) as opened:
        found = opened.task(task)
        state = opened.ledger.state(found)
        if state == model.VOUCHED or (state == model.PROVEN and not _waits_for_word(opened, task)):
            return _result(opened, task, f"{task} is {state} already.")
        opened.ledger.note(task, state=model.VOUCHED)
        if not found.done:
            tasks.mark(opened.loop.record, [opened.index(task)], done=True)
            found.done = True
        opened.save("accept", task=task)
        tasks.show_now(opened.loop, opened.state, opened.work())
        return _result(opened, task, f"{task} counts as done on your word.")


def _waits_for_word(opened: Opened, task: str) -> bool:
    """Whether a task that is proven is held back by a doubt that came back after it was refused."""
    if opened.state.outcome != model.NEEDS_INPUT:
        return False
    return any(doubt.task == task for doubt in proof_record.load(opened.loop).insisted)


def skip(place: Place, task: str, *, loop: str | None = None) -> Result:
    """Leave a task out of the loop."""
    require_person(place.env, "leaving out a task")
    with open_loop(pick(place, loop)) as opened:
        if opened.ledger.state(opened.task(task)) in model.CLOSED:
            shows = f"`ralphloop status {opened.loop.record.name}` shows the open ones"
            raise UserError(f"{task} is done already; there is nothing to skip. {shows}.")
        listed, at = opened.tasks, opened.index(task)
        is_open = leave_out(opened.loop, at, state=opened.state, ledger=opened.ledger, listed=listed)
        again = "" if is_open else " already"
        return _result(opened, task, f"{task} is skipped{again}.")


def _result(opened: Opened, task: str, told: str) -> Result:
    facts = {"task": task, "loop": opened.loop.record.id, "state": opened.ledger.state(opened.task(task))}
    return Result(facts, (f"{told} {opened.tally()}",))


def ask(place: Place, task: str, text: str, *, loop: str | None = None) -> Result:
    """Ask the person about a task; the loop goes on with the others."""
    if not text.strip():
        raise UserError("the question is empty; say what you need to know.")
    question = mask(text, secrets(place.env))  # it is kept, shown and sent
    found = pick(place, loop)
    must_not_be_anothers(place, found)
    with open_loop(found) as opened:
        state = opened.ledger.state(opened.task(task))
        if state in (*model.CLOSED, model.SKIPPED):
            raise UserError(f"{task} is {state} already; ask about an open task.")
        opened.ledger.note(task, question=question)
        opened.ledger.drop(task, "answer")
        opened.ledger.drop(task, "state")
        opened.save("ask", task=task, question=question, session=place.session)
        following = next((each.id for each in opened.work().next), None)
    if following is not None:  # else the next stop says so
        announce_question(found, task, place.env)
    facts = {"task": task, "loop": found.record.id, "state": "asked", "next": following}
    return Result(facts, (f"{task} waits for the person's answer. {opened.tally()}",))


def answer(place: Place, task: str, text: str, *, loop: str | None = None) -> Result:
    """Answer what was asked about a task; the agent gets it with the task."""
    require_person(place.env, "an answer")
    if not text.strip():
        raise UserError(
            f"the answer is empty; say what the agent shall do: `ralphloop answer {task} 'what it shall do'`."
        )
    with open_loop(pick(place, loop)) as opened:
        known = opened.ledger.tasks.get(task, {})
        if not opened.task(task).needs_human and not known.get("question"):
            raise UserError(f"nothing was asked about {task}; `ralphloop status` shows the questions.")
        opened.ledger.note(task, answer=text)
        # The agent gets the answer whole, from the ledger; the journal is for others to read, too.
        opened.save("answer", task=task, answer=mask(text, secrets(place.env)), session=place.session)
        left = [name for name, _ in opened.work().asked]
    more = [f"{', '.join(left)} {'waits' if len(left) == 1 else 'wait'} for an answer, too."] if left else []
    facts = {"task": task, "loop": opened.loop.record.id, "state": "answered"}
    return Result(facts, (" ".join([f"{task} is answered.", *more, _goes_on(opened)]),))


def _goes_on(opened: Opened) -> str:
    """When the agent gets an answer, and what that takes where nobody is at work."""
    loop, state = opened.loop, opened.state
    name, is_supervised = loop.record.name, loop.record.supervision is not None
    if is_supervised and not supervisor.is_held(loop):
        return f"Nobody drives {name} now: `ralphloop run {name}` goes on."
    if state.live:
        return "The agent gets it with the task."
    if is_supervised:
        return f"`ralphloop resume {name}`, or `p` in its view, goes on."
    if state.outcome == model.NEEDS_INPUT:
        return f"Nobody is at work on {name} now: send its session any message."
    return f"{name} rests ({state.outcome}): `ralphloop resume {name}` goes on."

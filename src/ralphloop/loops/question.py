"""A question about one task: the agent asks and goes on with the others, the person answers."""

from __future__ import annotations

from ralphloop.domain.model import CLOSED, NEEDS_INPUT, SKIPPED, LoopState
from ralphloop.engine.announce import announce_question
from ralphloop.errors import UserError
from ralphloop.loops.book import opened, tally_line
from ralphloop.loops.person import require_person
from ralphloop.loops.place import Place, must_not_be_anothers, pick
from ralphloop.loops.result import Result
from ralphloop.proof.mask import mask, secrets
from ralphloop.store import supervisor
from ralphloop.store.loop import LoopFiles


def ask(place: Place, task: str, text: str, *, loop: str | None = None) -> Result:
    """Ask the person about a task; the loop goes on with the others."""
    if not text.strip():
        raise UserError("the question is empty; say what you need to know.")
    question = mask(text, secrets(place.env))  # it is kept, shown and sent
    found = pick(place, loop)
    must_not_be_anothers(place, found)
    with opened(found) as book:
        state = book.ledger.state(book.task(task))
        if state in (*CLOSED, SKIPPED):
            raise UserError(f"{task} is {state} already; ask about an open task.")
        book.ledger.note(task, question=question)
        book.ledger.drop(task, "answer")
        book.ledger.drop(task, "state")
        book.save("ask", task=task, question=question, session=place.session)
        work = book.work()
    if work.next:  # else the next stop says so
        announce_question(found, task, place.env)
    following = work.next[0].id if work.next else None
    facts = {"task": task, "loop": found.record.id, "state": "asked", "next": following}
    return Result(facts, (f"{task} waits for the person's answer. {tally_line(work)}",))


def answer(place: Place, task: str, text: str, *, loop: str | None = None) -> Result:
    """Answer what was asked about a task; the agent gets it with the task."""
    require_person(place.env, "an answer")
    if not text.strip():
        raise UserError(
            f"the answer is empty; say what the agent shall do: `ralphloop answer {task} 'what it shall do'`."
        )
    with opened(pick(place, loop)) as book:
        known = book.ledger.tasks.get(task, {})
        if not book.task(task).needs_human and not known.get("question"):
            raise UserError(f"nothing was asked about {task}; `ralphloop status` shows the questions.")
        book.ledger.note(task, answer=text)
        # The agent gets the answer whole, from the ledger; the journal is for others to read, too.
        book.save("answer", task=task, answer=mask(text, secrets(place.env)), session=place.session)
        left = [name for name, _ in book.work().asked]
    more = [f"{', '.join(left)} {'waits' if len(left) == 1 else 'wait'} for an answer, too."] if left else []
    facts = {"task": task, "loop": book.loop.record.id, "state": "answered"}
    return Result(facts, (" ".join([f"{task} is answered.", *more, _goes_on(book.loop, book.state)]),))


def _goes_on(loop: LoopFiles, state: LoopState) -> str:
    """When the agent gets an answer, and what that takes where nobody is at work."""
    name, is_supervised = loop.record.name, loop.record.supervision is not None
    if is_supervised and not supervisor.is_held(loop):
        return f"Nobody drives {name} now: `ralphloop run {name}` goes on."
    if state.live:
        return "The agent gets it with the task."
    if is_supervised:
        return f"`ralphloop resume {name}`, or `p` in its view, goes on."
    if state.outcome == NEEDS_INPUT:
        return f"Nobody is at work on {name} now: send its session any message."
    return f"{name} rests ({state.outcome}): `ralphloop resume {name}` goes on."

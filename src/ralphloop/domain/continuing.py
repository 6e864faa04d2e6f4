"""The last rules of a decision: the loop goes on, in this session or in the next one."""

from __future__ import annotations

from ralphloop.domain import limits as limit
from ralphloop.domain import prompt
from ralphloop.domain.model import NEEDS_APPROVAL, THE_LIST, status_word
from ralphloop.domain.situation import Decision, open_ids, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ralphloop.domain.check_results import Refusal
    from ralphloop.domain.model import LoopState, Supervision
    from ralphloop.domain.situation import Situation
    from ralphloop.domain.worklist import Worklist

PROMISE = "ALL_TASKS_COMPLETE"  # the agent's word that everything is done
SHOWN = 5  # background tasks that a reason names


def hand_over(now: Situation) -> Optional[Decision]:
    """The next task is another session's, which the supervisor starts; the loop goes on."""
    work, loop = now.known, now.loop
    if now.supervision is None:
        return None
    why = share_done(now.supervision, loop, work, fullness=now.fullness)
    if not why:
        loop.batch += [item.id for item in work.next if item.id not in loop.batch]
        return None
    refusals = _refusals(now)
    loop.iteration += 1
    run(loop)
    loop.detail = now.results.why_red() if now.results is not None else ""
    loop.current = work.next[0].id if work.next else ""
    loop.carry = prompt.carried(_notes(now, False), refusals)
    return Decision(
        loop,
        message=now.said("the next session goes on: " + why),
        task=loop.current,
        status=status_word(None),
        refused=", ".join(refusal.task or THE_LIST for refusal in refusals),
        handover=why,
    )


def share_done(terms: Supervision, loop: LoopState, work: Worklist, *, fullness: Optional[float]) -> str:
    """Why the next task is another session's, or nothing. A task is finished in the session that began it,
    unless that has no room left."""
    if fullness is not None and terms.context and fullness >= terms.context:
        return "the context is %d %% full" % (100 * fullness)
    if not work.next:
        return ""
    model = work.next[0].model or terms.usual_model
    if model != terms.model:
        return "task %s is for %s" % (work.next[0].id, model or "the client's own model")
    new = [item.id for item in work.next if item.id not in loop.batch]
    if terms.batch and new and loop.batch and len(loop.batch) + len(new) > terms.batch:
        return "%d of %d tasks were this session's" % (len(loop.batch), terms.batch)
    return ""


def go_on(now: Situation) -> Decision:
    work, loop = now.known, now.loop
    refused = [PROMISE] if promised(now.reply or "") else []
    notes = _notes(now, bool(refused))
    refusals = _refusals(now)
    loop.iteration += 1
    run(loop)
    loop.detail = now.results.why_red() if now.results is not None else ""
    loop.carry = ""
    loop.current = work.next[0].id if work.next else ""
    most = int(now.limits.iterations)
    is_red = now.results is not None and bool(now.results.red)
    message = prompt.status_line(loop, work, traits=now.traits, limit=most, is_red=is_red)
    warnings = [limit.warning(loop, now.limits, now.spent), _unapproved(now)]
    return Decision(
        loop,
        blocks=True,
        reason=prompt.continuation(loop, work, limit=most, words=now.words, notes=notes, refusals=refusals),
        message=" · ".join(filter(None, [message, *warnings])),
        task=loop.current,
        status=status_word(None),
        refused=", ".join(refused + [refusal.task or THE_LIST for refusal in refusals]),
    )


def _refusals(now: Situation) -> list[Refusal]:
    return [*now.results.refused, *now.results.red] if now.results is not None else []


def _unapproved(now: Situation) -> str:
    """Said once where a loop goes on although its checks may not run, and whenever others wait."""
    loop, results = now.loop, now.results
    waits = now.unchecked or (results is not None and results.commands)
    about = NEEDS_APPROVAL
    if results is not None and results.commands and not now.unchecked:
        about += " " + results.digest
    if not waits or about in loop.told:
        return ""
    loop.told = [*loop.told, about]
    if results is not None and results.void:
        return "checks do not run: " + results.void
    return "checks are not approved and do not run: `%s`" % now.words.how("approve")


def _notes(now: Situation, refused: bool) -> list[str]:
    """What the agent must know before its next task."""
    work, notes = now.known, list(now.notes)
    if refused:
        notes.append("%s is refused: %d tasks are open: %s." % (PROMISE, work.open_total, open_ids(work)))
    if now.results is not None and now.results.waiting:
        ids = prompt.line(", ".join(now.results.waiting))
        notes.append("The checks of %s wait for the person's approval; go on with the rest." % ids)
    if now.event.crons:
        notes.append("%d scheduled prompts wait in this session." % now.event.crons)
    for kind, text in now.event.background[:SHOWN]:
        what = prompt.line(kind, 40), prompt.line(text, 120)
        notes.append("Still running in the background (%s): %s" % what)
    return notes


def promised(reply: str) -> bool:
    """Whether the last non-empty line is the promise itself, outside fences and quotes."""
    fence = last = ""
    for text in reply.splitlines():
        bare = text.strip()
        if fence:
            closes = bare.startswith(fence) and not bare.strip(fence[0])
            last, fence = fence, "" if closes else fence
        elif bare:
            fence, last = _fence(bare), text.rstrip()
    return last == PROMISE


def _fence(bare: str) -> str:
    """The backticks or tildes with which a line opens a block of code."""
    mark = bare[0]
    run = bare[: len(bare) - len(bare.lstrip(mark))]
    return run if mark in "`~" and len(run) >= 3 and "`" not in bare[len(run) :] else ""

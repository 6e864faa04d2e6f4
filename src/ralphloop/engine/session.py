"""What happens to a loop around its stops: its session begins, is asked something, breaks off or ends."""

from __future__ import annotations

import time

from ralphloop.domain import prompt
from ralphloop.domain.model import CAPPED, ENDED, EXECUTION, FAILED, INTERRUPTED, RATE_LIMITED
from ralphloop.engine import claim, find
from ralphloop.engine.announce import announce
from ralphloop.engine.api_error import instant
from ralphloop.engine.words import words_for
from ralphloop.store import arming, ended, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import own_file, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ralphloop.domain.model import LoopState, StopEvent

# how a session begins
CLEAR, COMPACT, RESUME = "clear", "compact", "resume"
BEGINNINGS = ("startup", CLEAR)
NOW = "9"  # later than whatever is armed already, also where the clock was put back since
ENDED_BY = "the session ended (%s)"
APPROVE = "approve"
RUN = "RALPHLOOP_RUN"  # set for sessions whose prompt a supervisor sends


def begins(event: StopEvent, call: find.Call, *, source: str) -> str:
    """A session begins, in one of several ways: what to tell the person, or after a compaction the agent."""
    mine = find.held(event, call)
    if mine is None:
        told = _bind(event, call, begun=NOW) if source in BEGINNINGS else ""
        return told or (_after_clear(event, call) if source == CLEAR else "")
    state = mine.load()
    _note_surroundings(mine, state, call)
    if state is None or not call.serves(mine) or not _speaks(state, call):
        return ""
    if source == COMPACT and state.live:
        return _put_task_back(mine, state, event, call)
    if source == RESUME and not state.live:
        return _resume_text(mine, state, call)
    return ""


def _speaks(state: LoopState, call: find.Call) -> bool:
    return state.served[1:] in ([], [call.registration])


def _bind(event: StopEvent, call: find.Call, *, begun: str, asked: str = "") -> str:
    found = claim.waiting(event, call, begun=begun, asked=asked)
    loop = arming.bind(found[1], found[0], session=event.session or "") if found else None
    if found is None and asked:
        loop = claim.for_prompt(event, call, asked=asked)
    if loop is not None:
        _note_surroundings(loop, loop.load(), call)
        told = "ralphloop %s: this session now owns the loop." % loop.record.name
        typed = traits(loop.record.layout).typed(APPROVE)
        waits = " Its checks are not approved: `%s` shows them." % typed
        return told + waits if loop.record.unapproved else told
    names = [record.name for _, record in claim.armed(event.cwd, call)]
    if len(names) > 1 and not asked:
        told = "ralphloop: several loops wait for a session (%s); the one whose prompt you send is bound."
        return told % ", ".join(names)
    return ""


def _note_surroundings(loop: LoopFiles, state: Optional[LoopState], call: find.Call) -> None:
    """Before the owner's first turn: what its client hands to every check."""
    if state is not None and not state.stops and loop.has_baseline:
        from ralphloop.engine.checks import note_surroundings

        with loop.lock():
            note_surroundings(loop, call.env)


def _after_clear(event: StopEvent, call: find.Call) -> str:
    """A loop does not follow its session through /clear: say once what became of it, and how to go on."""
    for loop in _loops(event, call):
        if not call.serves(loop) or not _was_cleared(loop):
            continue
        with loop.lock():
            state = loop.load()
            if state is None or not _is_cleared(state):  # another session was told meanwhile
                continue
            state.told = [*state.told, CLEAR]
            loop.save(state)
        words = words_for(loop, event.cwd, call.env)
        is_typed = words.plugin and not words.traits.action  # the one action of the others adopts nothing
        how = words.how("resume") if is_typed else words.command + " resume"
        return prompt.said(state, "paused by /clear. `%s %s --adopt` goes on in this session." % (
            how, prompt.shell_word(loop.record.name)), traits=words.traits)  # fmt: skip
    return ""


def _was_cleared(loop: LoopFiles) -> bool:
    try:
        return _is_cleared(loop.load())
    except OSError:  # a newer version's, which is nothing to this session
        return False


def _is_cleared(state: Optional[LoopState]) -> bool:
    return state is not None and state.detail == ENDED_BY % CLEAR and CLEAR not in state.told


def _put_task_back(loop: LoopFiles, state: LoopState, event: StopEvent, call: find.Call) -> str:
    """After a compaction the prompt survives only in a summary: say again what the task is."""
    with loop.lock():
        reading = tasks.read_work(loop, state, now=time.time())
        work = reading.work
        loop.save(state)
        loop.journal("compact", session=event.session, task=state.current)
    if work is None or not work.next or work.phase != EXECUTION:
        return ""
    limit = int(loop.record.limits.iterations)
    words = words_for(loop, event.cwd, call.env)
    return prompt.continuation(state, work, limit=limit, words=words, notes=reading.notes)


def _resume_text(loop: LoopFiles, state: LoopState, call: find.Call) -> str:
    words = words_for(loop, call.cwd, call.env)
    told = "%s (%s). `%s` goes on." % (state.state, state.outcome, words.how("resume"))
    return prompt.said(state, told, traits=words.traits)


def ends(event: StopEvent, call: find.Call, *, reason: str) -> None:
    """A session ends: a loop that was at work rests; the person is told if it has ended."""
    loop = find.owned(event, call)
    if loop is None:
        return
    if loop.record.supervision is not None:
        loop.journal("session_over", session=event.session, reason=reason)  # the supervisor judges
        return
    with loop.lock():
        state = loop.load()
        if state is not None and state.wake:  # the client would wake whatever session it has then
            state.wake = ""
            loop.save(state)
        if state is None or not state.live:
            return
        if state.planning and reason != CLEAR and not call.is_attended:
            arming.release(loop)
        else:
            _rest(loop, state, event, call=call, reason=reason)
        loop.journal("session_end", session=event.session, reason=reason, outcome=state.outcome)
    if state.state == ENDED:
        announce(loop, state, call.env)


def _rest(loop: LoopFiles, state: LoopState, event: StopEvent, *, call: find.Call, reason: str) -> None:
    """As the session's last turn ended: in print mode the client may exit before StopFailure runs, and
    nobody sends it another message after its cap."""
    turn = call.client.read_turn(event.transcript, start=state.transcript_end, since=state.since)
    if turn.broken_off == CAPPED:
        state.state, state.outcome, state.detail = ENDED, CAPPED, turn.detail
        loop.rest(state)
    elif turn.broken_off == RATE_LIMITED:
        state.resume_at = turn.resume_at
        arming.pause(loop, state, outcome=RATE_LIMITED, detail=turn.detail)
    else:
        said = turn.detail if turn.broken_off == FAILED else ""
        state.resume_at = None
        arming.pause(loop, state, outcome=INTERRUPTED, detail=said or ENDED_BY % reason)


def asked(event: StopEvent, call: find.Call, *, typed: str) -> str:
    """A session is asked something: what to tell the person."""
    mine = find.held(event, call)
    if _is_approval(typed, call):
        return _approve(mine, typed, event, call)
    if mine is not None:
        return _prompted(mine, typed, event, call) if call.serves(mine) else ""
    for root in find.roots(event.cwd, call.env):
        ended.catch_up(Shelf(root, call.env))
    return _bind(event, call, begun=call.client.opening(event.transcript)[0], asked=typed)


def _is_approval(typed: str, call: find.Call) -> bool:
    """Whether it is the command of a plugin that this registration serves; most words import no layout."""
    command = typed.split()[0] if typed.startswith("/") else ""
    is_one = command.endswith(":" + APPROVE)
    return is_one and command in [traits(name).typed(APPROVE) for name in call.layouts]


def _prompted(loop: LoopFiles, typed: str, event: StopEvent, call: find.Call) -> str:
    _note_surroundings(loop, loop.load(), call)
    return _after_interrupt(loop, typed, event, call)


def _after_interrupt(loop: LoopFiles, typed: str, event: StopEvent, call: find.Call) -> str:
    """Esc runs no hook: the next message is the first chance to say that the loop rests. And who sends one
    goes on without being woken."""
    with loop.lock():
        state = loop.load()
        if state is not None and state.wake and not is_news(typed):
            state.wake = ""
            loop.save(state)
        if state is None or not state.live or not _speaks(state, call):
            return ""
        turn = call.client.read_turn(event.transcript, start=state.transcript_end, since=state.since)
        if turn.broken_off != INTERRUPTED or state.planning:
            return ""
        state.transcript_end, state.pending = turn.end, ""
        arming.pause(loop, state, outcome=INTERRUPTED, detail="interrupted by the person")
        loop.journal("interrupted", session=event.session, outcome=INTERRUPTED)
    return _resume_text(loop, state, call)


def is_news(typed: str) -> bool:
    """Whether a prompt is the client's own, about what went on in the background."""
    return typed.startswith("<task-notification>")


def _approve(mine: Optional[LoopFiles], typed: str, event: StopEvent, call: find.Call) -> str:
    """The person allows the checks that they were shown, by the digest of those commands."""
    from ralphloop.engine.checks import approve_typed

    if call.env.get(RUN):
        return "ralphloop: nobody types in this session; approve in a terminal of your own."
    if call.client.was_scheduled(event.transcript, typed.split()[0]):
        told = "the agent scheduled such a prompt, so what is typed in this session approves nothing"
        return "ralphloop: %s; run `ralphloop approve` in a terminal of your own." % told
    loops = [loop for loop in ([mine] if mine is not None else _loops(event, call)) if call.serves(loop)]
    held = [own_file(loop.record) for loop in loops]
    lists = [source for source in claim.sources(event.cwd, call) if own_file(source) not in held]
    said = [*typed.split(), ""][1]
    return "ralphloop: " + approve_typed(loops, lists if mine is None else [], said, call.env)


def _loops(event: StopEvent, call: find.Call) -> list[LoopFiles]:
    """The loops that are under way here, whoever owns them."""
    return [
        LoopFiles(record, here)
        for here in [Shelf(root, call.env) for root in find.roots(event.cwd, call.env)]
        for kind in (shelf.OWNED, shelf.ARMED)
        for record in here.records(kind)
    ]


def breaks_off(event: StopEvent, call: find.Call, *, kind: str, details: str) -> str:
    """An API error ended the turn instead of a stop (2.1.325): what wakes the session later, if anything."""
    loop = find.owned(event, call)
    if loop is None:
        return ""
    from ralphloop.engine import wake

    said = " ".join(filter(None, (details, event.reply)))
    failure = wake.Failure(kind, said)
    if loop.record.supervision is not None:
        loop.journal("stop_failure", session=event.session, detail=failure.detail)
        return ""  # the supervisor judges
    with loop.lock():
        state = loop.load()
        if state is None or not _is_broken_off(state, event, call):
            return ""
        state.pending, state.wake = "", ""
        waits = wake.begin(loop, state, failure, event=event, call=call)
        if waits or wake.outcome(failure, state) == RATE_LIMITED:
            state.resume_at = state.resume_at if waits else instant(said)
            arming.pause(loop, state, outcome=RATE_LIMITED, detail=failure.detail)
        else:
            state.state, state.outcome, state.detail = ENDED, FAILED, failure.detail
            loop.rest(state)
        loop.journal("stop_failure", outcome=state.outcome, detail=failure.detail, resume_at=state.resume_at)
    announce(loop, state, call.env)
    return wake.wait(loop, state, event=event, call=call) if waits else ""


def _is_broken_off(state: LoopState, event: StopEvent, call: find.Call) -> bool:
    """Whether this error is the loop's, and this registration's to note. A print run may be over before its
    error is told; in a terminal the person may have tried again before a limit was over."""
    key = event.prompt or event.session or ""
    if state.served[:1] == [key] and state.served[1:] != [call.registration]:
        return False
    state.served = [key, call.registration]
    return state.live or state.outcome == (RATE_LIMITED if call.is_attended else INTERRUPTED)

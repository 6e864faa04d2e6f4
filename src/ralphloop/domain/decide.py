"""The decision on one stop of a loop's owner: rules in a fixed order, the first that speaks wins."""

from __future__ import annotations

from ralphloop.domain import limits as limit
from ralphloop.domain import prompt
from ralphloop.domain.model import (
    AWAITING_APPROVAL,
    CANCELLED,
    CAPPED,
    COMPLETE,
    CORRUPT,
    ENDED,
    FAILED,
    FEATURES,
    INTERRUPTED,
    LIMIT,
    NEEDS_INPUT,
    PAUSED,
    RATE_LIMITED,
    RUNNING,
    SELF_RESUMING,
    SPECKIT,
    SPECUM,
    WAITING,
    Check,
    Decision,
    Need,
    status_word,
)
from ralphloop.domain.promise import PROMISE, promised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterable, Optional, Union

    from ralphloop.domain.model import Limits, LoopState, StopEvent, Turn
    from ralphloop.domain.worklist import Worklist

    Answer = Union[Decision, Need]
    Rule = Callable[["Situation"], Optional[Answer]]

SHOWN = 5  # background tasks that a reason names


class Situation:
    """All that a decision may look at. `loop` is a working copy that the rules move forward."""

    __slots__ = (
        "backup", "cap", "claims", "event", "fault", "files", "limits", "loop", "notes", "now", "path",
        "pending", "results", "turn", "words", "work",
    )  # fmt: skip

    def __init__(
        self,
        event: StopEvent,
        loop: LoopState,
        *,
        work: Optional[Worklist],
        turn: Turn,
        limits: Limits,
        words: prompt.Words,
        now: float,
        files: str = "",
        path: str = "",
        fault: str = "",
        backup: bool = False,
        claims: Iterable[str] = (),
        pending: Iterable[Check] = (),
        results: Optional[dict[str, bool]] = None,
        notes: Iterable[str] = (),
        cap: int = limit.CLIENT_CAP,
    ) -> None:
        self.event = event
        self.loop = loop
        self.work = work
        self.turn = turn
        self.limits = limits
        self.words = words
        self.now = now
        # signature of the task files, and the loop's own file
        self.files = files
        self.path = path
        # why there is no worklist: "gone", or what is wrong with the file
        self.fault = fault
        self.backup = backup
        # tasks claimed since the last stop, and approved checks of theirs that have not run
        self.claims = tuple(claims)
        self.pending = tuple(pending)
        self.results = results
        self.notes = list(notes)
        self.cap = cap

    @property
    def reply(self) -> Optional[str]:
        return self.event.reply if self.event.reply is not None else self.turn.reply


def decide(now: Situation, trace: Optional[list[tuple[str, str]]] = None) -> Answer:
    """Ask each rule in turn; `trace` collects what each of them said."""
    limit.tick(now.loop, now.now)
    for rule in RULES:
        answer = rule(now)
        name = rule.__name__.lstrip("_")
        if trace is not None:
            trace.append((name, "" if answer is None else _verdict(answer)))
        if answer is not None:
            answer.rule = name
            if isinstance(answer, Decision):
                answer.loop.pending = now.event.prompt if answer.blocks else ""
            return answer
    raise AssertionError("the last rule always answers")


def _verdict(answer: Answer) -> str:
    if isinstance(answer, Need):
        if answer.set_aside:
            return "set %s aside first" % answer.set_aside
        return "restore the file first" if answer.restore else "run the checks first"
    if answer.blocks:
        return "continue"
    loop = answer.loop
    return "allow (%s)" % (loop.outcome or loop.state) if answer.writes else "allow, write nothing"


# Answers


def _allow(now: Situation) -> Decision:
    """Let the session stop; the loop stays as it is."""
    return Decision(now.loop)


def _leave(now: Situation) -> Decision:
    return Decision(now.loop, writes=False)


def _close(
    now: Situation, state: str, outcome: str, detail: str, *, message: str = "", stderr: str = ""
) -> Decision:
    loop = now.loop
    loop.state, loop.outcome, loop.detail = state, outcome, detail
    said = message and prompt.said(loop, message)
    return Decision(loop, message=said, stderr=stderr, status=status_word(outcome))


def _run(loop: LoopState) -> None:
    loop.state, loop.outcome, loop.detail, loop.resume_at = RUNNING, None, "", None


def _resume_hint(now: Situation) -> str:
    return "`%s resume` goes on." % now.words.command


def _open(work: Worklist) -> str:
    more = work.open_total - len(work.open_ids)
    return ", ".join(work.open_ids) + (" and %d more" % more if more > 0 else "")


# Rules


def _before_execution(now: Situation) -> Optional[Answer]:
    """Nothing to keep going yet, unless quick mode does: see `_quick_phase`."""
    work = now.work
    return _leave(now) if work is not None and work.phase != "execution" and not work.quick else None


def _state_gone(now: Situation) -> Optional[Answer]:
    if now.fault != "gone":
        return None
    loop = now.loop
    if not loop.live:
        return _leave(now)
    if now.work is not None and now.work.complete:
        return _close(now, ENDED, COMPLETE, "state file removed, every box is checked")
    if now.backup and not loop.restored:
        return Need(restore=True, once=True)
    return _close(now, ENDED, CANCELLED, "%s is gone" % now.path)


def _paused_or_ended(now: Situation) -> Optional[Answer]:
    loop = now.loop
    if loop.state == ENDED:
        return _leave(now)
    if loop.state != PAUSED:
        return None
    work = now.work
    answered = loop.outcome == NEEDS_INPUT and work is not None and bool(work.next or work.complete)
    return None if answered or _goes_on_by_itself(loop) else _leave(now)


def _goes_on_by_itself(loop: LoopState) -> bool:
    return loop.state == PAUSED and loop.outcome in (RATE_LIMITED, AWAITING_APPROVAL)


def _broken_off(now: Situation) -> Optional[Answer]:
    """An end that no hook saw shows in the transcript: Esc, the client's cap, an API error. Esc before
    the first word leaves no trace there, but the next stop belongs to another prompt."""
    loop, turn, event = now.loop, now.turn, now.event
    outcome = turn.broken_off
    if not outcome and loop.pending and event.prompt not in ("", loop.pending) and not event.active:
        outcome = INTERRUPTED
    if not outcome or (loop.outcome in SELF_RESUMING and outcome in (RATE_LIMITED, FAILED)):
        return None
    loop.resume_at = turn.resume_at
    if outcome == INTERRUPTED:
        text = "paused, because you interrupted it. " + _resume_hint(now)
        return _close(now, PAUSED, INTERRUPTED, "interrupted by the person", message=text)
    if outcome == CAPPED:
        text = "the client force-ended the last turn (its cap on blocked stops); it is not complete. "
        return _close(now, ENDED, CAPPED, turn.detail, message=text + _resume_hint(now))
    if outcome == RATE_LIMITED:
        text = "a rate limit ended the last turn. It goes on at your next message."
        return _close(now, PAUSED, RATE_LIMITED, turn.detail, message=text)
    text = "an API error ended the last turn (%s). " % prompt.line(turn.detail, 120)
    return _close(now, ENDED, FAILED, turn.detail, message=text + _resume_hint(now))


def _awaiting_approval(now: Situation) -> Optional[Answer]:
    if now.work is None or not now.work.awaiting_approval or now.work.phase != "execution":
        return None
    now.loop.state, now.loop.outcome = PAUSED, AWAITING_APPROVAL
    now.loop.detail = "awaitingApproval is set in the state file"
    return _allow(now)


def _session_still_works(now: Situation) -> Optional[Answer]:
    running = [kind for kind, _ in now.event.background]
    if "subagent" in running or "workflow" in running:
        now.loop.state, now.loop.outcome = WAITING, None
        return _allow(now)
    idle = not now.turn.tools and now.loop.quiet_replies >= 1
    if (running or now.event.crons) and idle:
        now.loop.state, now.loop.outcome, now.loop.quiet_replies = WAITING, None, 0
        return _allow(now)
    return None


def _quick_phase(now: Situation) -> Optional[Answer]:
    """Quick mode goes through the phases before execution without asking, so many times in each."""
    work, loop = now.work, now.loop
    if work is None or work.phase == "execution":
        return None
    phase = prompt.line(work.phase, 40)
    why = limit.quick_mode_spent(loop, phase, now.limits)
    if why:
        return _close(now, ENDED, LIMIT, why, message="%s; %s" % (why, _resume_hint(now)))
    loop.phase_turns[phase] = loop.phase_turns.get(phase, 0) + 1
    _run(loop)
    message = "%s quick mode | %s phase" % (prompt.PREFIX[loop.layout], phase)
    return Decision(loop, blocks=True, reason=prompt.phase(loop, work), message=message)


def _corrupt(now: Situation) -> Optional[Answer]:
    if now.work is not None:
        return None
    loop = now.loop
    if now.backup:
        return Need(restore=True)
    name = now.path.rsplit("/", 1)[-1]
    if now.files in loop.told:
        return _close(now, PAUSED, CORRUPT, now.fault, message="%s is still corrupt; the loop is paused. %s"
                      % (name, _resume_hint(now)))  # fmt: skip
    if loop.iteration >= now.limits.iterations:
        return _close(now, ENDED, LIMIT, now.fault, message="limit reached with a corrupt %s" % name)
    loop.told = [*loop.told[-9:], now.files]
    loop.iteration += 1
    _run(loop)
    reason = prompt.recovery(loop, path=now.path, problem=now.fault, words=now.words)
    return Decision(loop, blocks=True, reason=reason, message=prompt.said(loop, "corrupt %s" % name))


def _claims(now: Situation) -> Optional[Answer]:
    """A claim counts once its checks are green; the checks run outside, then we are asked again."""
    if now.pending and now.results is None:
        return Need(checks=now.pending)
    return None


def _complete(now: Situation) -> Optional[Answer]:
    work = _known(now)
    if not work.complete:
        return None
    text = "complete: %s" % prompt.tally(work)
    if work.skipped:
        text += ", %d skipped" % work.skipped
    return _close(now, ENDED, COMPLETE, "", message=text if now.loop.layout == FEATURES else "")


def _nothing_can_run(now: Situation) -> Optional[Answer]:
    work = _known(now)
    if work.next:
        return None
    if not work.total and now.loop.layout != FEATURES:
        return _leave(now)
    if work.asked:
        ids = prompt.line(", ".join(task for task, _ in work.asked))
        question = prompt.line(work.asked[0][1], 160)
        asked = "%s (%s)" % (ids, question) if question else ids
        answer = "`%s answer ID TEXT`" % now.words.command
        message = "needs you: %s. Answer with %s, then send any message." % (asked, answer)
        return _close(now, PAUSED, NEEDS_INPUT, ids, message=message)
    if work.stuck:
        why = "; ".join("%s %s" % (task, reason) for task, reason in work.stuck)
    elif work.set_aside:
        why = "set aside after too many attempts: " + ", ".join(work.set_aside)
    else:
        why = "every task was skipped" if work.total else "the list has no tasks"
    return _close(now, ENDED, FAILED, why, message="failed: " + prompt.line(why))


def _limits(now: Situation) -> Optional[Answer]:
    work, loop = _known(now), now.loop
    loop.iteration = max(loop.iteration, work.iteration)
    limit.note_turn(loop, now.turn, work=work, reply=now.reply, files=now.files, claims=bool(now.claims))
    outcome, why = limit.tripped(loop, now.limits, cap=now.cap)
    if not outcome:
        return _too_many_attempts(now)
    if outcome == LIMIT and loop.layout == SPECUM and LIMIT not in loop.told:
        loop.told = [*loop.told, LIMIT]
        _run(loop)
        reason = prompt.limit_recovery(loop, work, why=why, words=now.words)
        return Decision(loop, blocks=True, reason=reason, message=prompt.said(loop, "limit reached: " + why))
    if outcome == LIMIT and loop.layout == SPECKIT:
        text = "[ralph-speckit] limit reached: %s; open: %s" % (why, prompt.line(_open(work)))
        return _close(now, ENDED, LIMIT, why, stderr=text)
    message = "%s: %s; open: %s. %s" % (outcome, why, prompt.line(_open(work)), _resume_hint(now))
    return _close(now, ENDED, outcome, why, message=message)


def _too_many_attempts(now: Situation) -> Optional[Answer]:
    """A list of features goes on without the task; in a sequential one nothing can."""
    work, loop = _known(now), now.loop
    task = work.next[0].id
    spent = loop.attempts.get(task, 0)
    if spent < limit.attempts_allowed(now.limits, work):
        return None
    why = "task %s was tried %d times" % (prompt.line(task, 80), spent)
    if not work.sequential:
        return Need(set_aside=task, why=why)
    return _close(now, ENDED, FAILED, why, message="failed: %s. %s" % (why, _resume_hint(now)))


def _go_on(now: Situation) -> Answer:
    work, loop = _known(now), now.loop
    notes = list(now.notes)
    refused = PROMISE if promised(now.reply or "") else ""
    if refused:
        notes.append("%s is refused: %d tasks are open: %s." % (PROMISE, work.open_total, _open(work)))
    if now.event.crons:
        notes.append("%d scheduled prompts wait in this session." % now.event.crons)
    for kind, text in now.event.background[:SHOWN]:
        what = prompt.line(kind, 40), prompt.line(text, 120)
        notes.append("Still running in the background (%s): %s" % what)
    loop.iteration += 1
    _run(loop)
    loop.current = work.next[0].id
    most = int(now.limits.iterations)
    return Decision(
        loop,
        blocks=True,
        reason=prompt.continuation(loop, work, limit=most, words=now.words, notes=notes),
        message=prompt.status_line(loop, work, limit=most),
        task=loop.current,
        status=status_word(None),
        refused=refused,
    )


RULES: tuple[Rule, ...] = (
    _before_execution,
    _state_gone,
    _paused_or_ended,
    _broken_off,
    _awaiting_approval,
    _session_still_works,
    _quick_phase,
    _corrupt,
    _claims,
    _complete,
    _nothing_can_run,
    _limits,
    _go_on,
)


def _known(now: Situation) -> Worklist:
    assert now.work is not None, "the rule on corrupt files comes first"
    return now.work

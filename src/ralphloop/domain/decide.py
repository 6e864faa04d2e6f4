"""The decision on one stop of a loop's owner: rules in a fixed order, the first that speaks wins."""

from __future__ import annotations

from ralphloop.domain import limits as limit
from ralphloop.domain import prompt
from ralphloop.domain.continuing import go_on, hand_over
from ralphloop.domain.layout import LOG, RECOVER
from ralphloop.domain.model import (
    AWAITING_APPROVAL,
    BUDGET,
    CANCELLED,
    CAPPED,
    CLAIMS,
    COMPLETE,
    CORRUPT,
    DENIED,
    ENDED,
    EXECUTION,
    FAILED,
    FINAL_RUN,
    GONE,
    INTERRUPTED,
    LIMIT,
    NEEDS_APPROVAL,
    NEEDS_INPUT,
    PAUSED,
    PLAN_MODE,
    PROBES,
    RATE_LIMITED,
    SELF_RESUMING,
    STALLED,
    WAITING,
)
from ralphloop.domain.situation import Decision, Need, allow, close, leave, open_ids, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Union

    from ralphloop.domain.finding import Finding
    from ralphloop.domain.model import LoopState
    from ralphloop.domain.situation import Situation

    Answer = Union[Decision, Need]
    Rule = Callable[[Situation], Optional[Answer]]

IDLE = "idle"  # the loop was told that it would complete without any work


def decide(now: Situation, trace: Optional[list[tuple[str, str]]] = None) -> Answer:
    """Ask each rule in turn; `trace` collects what each of them said."""
    limit.tick(now.loop, now.now)
    now.loop.worked = now.loop.worked or now.turn.tools > 0
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


def _before_execution(now: Situation) -> Optional[Answer]:
    """Nothing to keep going yet, unless quick mode does: see `_quick_phase`."""
    work = now.work
    is_early = work is not None and work.phase != EXECUTION
    return leave(now) if is_early and not (now.known.quick and now.pointed_at) else None


def _plan_mode(now: Situation) -> Optional[Answer]:
    """The agent may change nothing there, so the loop waits; that is said once per prompt."""
    loop, event = now.loop, now.event
    if not event.planning:
        return None
    if not loop.live:
        return leave(now)
    ended = None if loop.planning else _broken_off(now)
    if ended is not None:
        return ended
    mark = "%s: %s" % (PLAN_MODE, event.prompt)
    is_told = loop.planning and mark in loop.told
    loop.told = [*[told for told in loop.told if not told.startswith(PLAN_MODE)], mark]
    loop.state, loop.outcome, loop.detail = WAITING, None, PLAN_MODE
    said = now.said(PLAN_MODE + ", and goes on then.")
    return Decision(loop, message="" if is_told else said)


def _state_gone(now: Situation) -> Optional[Answer]:
    if now.fault != GONE:
        return None
    loop = now.loop
    if not loop.live:
        return leave(now)
    if now.work is not None and now.work.complete:
        return _finish(now, "state file removed, every box is checked")
    if now.backup and now.pointed_at and not loop.restored:
        return Need(restore=True, once=True)
    what = "is gone" if now.pointed_at else "and its pointer are gone"  # as document 3 cancels by hand
    return close(now, ENDED, CANCELLED, "%s %s" % (now.path, what))


def _paused_or_ended(now: Situation) -> Optional[Answer]:
    loop = now.loop
    if loop.state == ENDED:
        return leave(now)
    if loop.state != PAUSED:
        return None
    work = now.work
    can_go_on = work is not None and bool(work.next or work.claimed or work.complete)
    answered = loop.outcome == NEEDS_INPUT and can_go_on
    return None if answered or _goes_on_by_itself(loop) else leave(now)


def _goes_on_by_itself(loop: LoopState) -> bool:
    return loop.state == PAUSED and loop.outcome in (RATE_LIMITED, AWAITING_APPROVAL)


def _broken_off(now: Situation) -> Optional[Answer]:
    """An end that no hook saw shows in the transcript: Esc, the client's cap, an API error. Esc before
    the first word leaves no trace there, but the next stop belongs to another prompt."""
    loop, turn, event = now.loop, now.turn, now.event
    outcome = turn.broken_off
    if not outcome and loop.pending and event.prompt not in ("", loop.pending) and not event.active:
        outcome = INTERRUPTED
    if outcome == INTERRUPTED and loop.planning:
        return None  # a turn of planning was broken off; nothing of the loop was under way
    if not outcome or (loop.outcome in SELF_RESUMING and outcome in (RATE_LIMITED, FAILED)):
        return None
    loop.resume_at = turn.resume_at
    if outcome == INTERRUPTED:
        text = "paused, because you interrupted it. " + now.resume_hint
        return close(now, PAUSED, INTERRUPTED, "interrupted by the person", message=text)
    if outcome == CAPPED:
        text = "the client force-ended the last turn (its cap on blocked stops); it is not complete. "
        return close(now, ENDED, CAPPED, turn.detail, message=text + now.resume_hint)
    if outcome == RATE_LIMITED:
        text = "a rate limit ended the last turn. It goes on at your next message."
        return close(now, PAUSED, RATE_LIMITED, turn.detail, message=text)
    text = "an API error ended the last turn (%s). " % prompt.line(turn.detail, 120)
    return close(now, ENDED, FAILED, turn.detail, message=text + now.resume_hint)


def _awaiting_approval(now: Situation) -> Optional[Answer]:
    if now.work is None or not now.work.awaiting_approval or now.work.phase != EXECUTION:
        return None
    now.loop.state, now.loop.outcome = PAUSED, AWAITING_APPROVAL
    now.loop.detail = "awaitingApproval is set in the state file"
    return allow(now)


def _person_waits(now: Situation) -> Optional[Answer]:
    """What the person typed is heard when a turn ends, so this one does; the next stop goes on."""
    return allow(now) if now.turn.queued else None


def _session_still_works(now: Situation) -> Optional[Answer]:
    running = [kind for kind, _ in now.event.background]
    if "subagent" in running or "workflow" in running:
        now.loop.state, now.loop.outcome, now.loop.detail = WAITING, None, ""
        return allow(now)
    idle = not now.turn.tools and now.loop.quiet_replies >= 1
    if (running or now.event.crons) and idle:
        now.loop.state, now.loop.outcome, now.loop.detail = WAITING, None, ""
        now.loop.quiet_replies = 0
        return allow(now)
    return None


def _quick_phase(now: Situation) -> Optional[Answer]:
    """Quick mode goes through the phases before execution without asking, and says the same a few times
    only: fewer than the client's cap."""
    work, loop = now.work, now.loop
    if work is None or work.phase == EXECUTION:
        return None
    phase = prompt.line(work.phase, 40)
    push = "%s %s" % (phase, "written" if now.written else "to write")
    outcome, why = limit.quick_mode_spent(loop, push, now.limits, cap=now.cap)
    if outcome:
        why += " in the %s phase" % phase if outcome == STALLED else ""
        again = "`%s resume` goes on." % now.words.command
        return close(now, ENDED, outcome, why, message="%s: %s. %s" % (outcome, why, again))
    loop.phase_turns[push] = loop.phase_turns.get(push, 0) + 1
    run(loop)
    message = "%s quick mode | %s phase" % (now.traits.voice, phase)
    reason = prompt.phase(loop, work, written=now.written, words=now.words)
    return Decision(loop, blocks=True, reason=reason, message=message)


def _corrupt(now: Situation) -> Optional[Answer]:
    if now.work is not None:
        return None
    loop = now.loop
    if now.backup:
        return Need(restore=True)
    name = now.path.rsplit("/", 1)[-1]
    if now.files in loop.told:
        return close(now, PAUSED, CORRUPT, now.fault, message="%s is still corrupt; the loop is paused. %s"
                      % (name, now.resume_hint))  # fmt: skip
    if loop.iteration >= now.limits.iterations:
        return close(now, ENDED, LIMIT, now.fault, message="limit reached with a corrupt %s" % name)
    loop.told = [*loop.told[-99:], now.files]
    loop.iteration += 1
    run(loop)
    reason = prompt.recovery(loop, path=now.path, problem=now.fault, words=now.words)
    return Decision(loop, blocks=True, reason=reason, message=now.said("corrupt %s" % name))


def _claims(now: Situation) -> Optional[Answer]:
    """A claim counts once its checks are green; the checks run outside, then we are asked again."""
    if now.results is None:
        return Need(checks=CLAIMS) if now.known.claimed or now.unapproved else None
    loop, results = now.loop, now.results
    for refusal in results.refused:
        loop.attempts[refusal.task] = loop.attempts.get(refusal.task, 0) + 1
    waits = results.blocked and (now.traits.waits_for_approval or results.void)
    return _wait_for_approval(now) if waits else None


def _wait_for_approval(now: Situation) -> Decision:
    assert now.results is not None
    told = now.results.need_person(now.words)
    detail = "checks that the person has not approved: " + prompt.line("; ".join(now.results.commands))
    if now.results.void:
        detail, told = told, "%s. Then %s" % (told, now.resume_hint.rstrip("."))
    return close(now, PAUSED, NEEDS_APPROVAL, detail, message=told + ".")


def _complete(now: Situation) -> Optional[Answer]:
    return _finish(now, "") if now.known.complete else None


def _finish(now: Situation, detail: str) -> Optional[Answer]:
    """Every task is closed: once everything is green in one go, the loop is complete."""
    work, loop, results = now.known, now.loop, now.results
    if work.checkable and (results is None or not (results.final or results.unfinished or results.red)):
        return Need(checks=FINAL_RUN)
    if results is not None and (results.unfinished or results.red):
        return None
    if results is not None and results.waiting:
        return _wait_for_approval(now)
    if results is not None and results.unprobed:
        return Need(checks=PROBES)
    if results is not None and results.insisted:
        return _ask_about(now, results.insisted)
    is_idle = not (loop.worked or work.proven or IDLE in loop.told) and now.turn.readable
    if is_idle and loop.iteration < now.limits.iterations:
        return _doubt(now)
    text = "complete: %s" % prompt.tally(work)
    if work.skipped:
        text += ", %d skipped" % work.skipped
    doubts = results.doubts if results is not None else []
    if doubts:
        from ralphloop.domain.finding import told

        text += ", " + told(doubts)
    is_told = now.traits.tells_completion or doubts
    return close(now, ENDED, COMPLETE, detail, message=text if is_told else "")


def _ask_about(now: Situation, doubts: list[Finding]) -> Decision:
    """Where doubts are refused: the same one again, so the person decides."""
    from ralphloop.domain.finding import told

    tasks = list(dict.fromkeys([doubt.task for doubt in doubts]))
    ids = prompt.line(", ".join(tasks))
    how = prompt.vouching(tasks, now.words.command)
    message = "needs you: %s. %s, then %s." % (told(doubts), how, now.words.go_on)
    return close(now, PAUSED, NEEDS_INPUT, ids, message=message)


def _doubt(now: Situation) -> Decision:
    """Done without a single tool call since the start: ask once (field report 19)."""
    loop = now.loop
    loop.told = [*loop.told, IDLE]
    loop.iteration += 1
    run(loop)
    said = now.said("every task is marked done, and no tool was used since the start")
    return Decision(
        loop, blocks=True, reason=prompt.doubt(loop, now.words), message=said, refused="completion"
    )


def _nothing_can_run(now: Situation) -> Optional[Answer]:
    work = now.known
    if work.next or (now.results is not None and (now.results.unfinished or now.results.red)):
        return None
    if now.results is not None and now.results.waiting:
        return _wait_for_approval(now)
    if work.claimed:
        return None  # claimed while the checks ran: the next stop looks at it
    if not work.total and now.traits.rests_empty:
        return leave(now)
    if work.asked:
        ids = prompt.line(", ".join(task for task, _ in work.asked))
        question = prompt.line(work.asked[0][1], 160)
        asked = "%s (%s)" % (ids, question) if question else ids
        first = prompt.shell_word(prompt.line(work.asked[0][0]))
        answer = "`%s %s TEXT`" % (now.words.how("answer"), first)
        message = "needs you: %s. Answer with %s, then %s." % (asked, answer, now.words.go_on)
        return close(now, PAUSED, NEEDS_INPUT, ids, message=message)
    found = [prompt.set_aside(work)] if work.set_aside else []
    found += ["%s %s" % (task, reason) for task, reason in work.stuck]
    why = "; ".join(found) or ("every task was skipped" if work.total else "the list has no tasks")
    return close(now, ENDED, FAILED, why, message="failed: " + prompt.line(why))


def _limits(now: Situation) -> Optional[Answer]:
    work, loop = now.known, now.loop
    loop.iteration = max(loop.iteration, work.iteration)
    refused = _note_turn(now)
    outcome, why = limit.tripped(loop, now.limits, cap=now.cap)
    if not outcome and now.spent is not None:
        outcome, why = limit.overspent(now.spent, now.limits)
    if not outcome:
        return _denied(now) or _too_many_attempts(now, refused)
    if outcome == STALLED and _another_can_run(now):
        return _set_aside(now, work.next[0].id, why)
    at_limit = now.traits.at_limit if outcome == LIMIT else ""
    if at_limit == RECOVER and LIMIT not in loop.told:
        loop.told = [*loop.told, LIMIT]
        run(loop)
        reason = prompt.limit_recovery(loop, work, why=why, words=now.words)
        message, log = now.said("limit reached: " + why), _limit_log(now, why)
        return Decision(loop, blocks=True, reason=reason, message=message, stderr=log)
    if at_limit == LOG:
        return close(now, ENDED, LIMIT, why, stderr=_limit_log(now, why))
    return _end(now, outcome, why)


def _limit_log(now: Situation, why: str) -> str:
    return prompt.limit_log(now.traits.plugin, why, open_ids(now.known))


def _note_turn(now: Situation) -> list[str]:
    """Count the turn; the tasks whose claims were refused in it."""
    work, results = now.known, now.results
    refused, now.loop.refused = _refused(now), []
    # A turn that only waits for checks is not the agent's idleness.
    waits = not (work.next or (results is not None and results.red))
    turned_back = [*refused, *[one.task for one in results.refused if one.left_out]] if results else refused
    claims = waits or bool(set(now.claims).difference(turned_back))
    about = {"claims": claims, "refused": bool(refused)}
    limit.note_turn(now.loop, now.turn, work=work, reply=now.reply, files=now.files, **about)
    return refused


def _another_can_run(now: Situation) -> bool:
    work = now.known
    return work.ready > 1 and not work.sequential and limit.has_room(now.loop, now.limits, now.cap)


def _refused(now: Situation) -> list[str]:
    """The tasks whose claims were turned back since the last stop, by a command or just now, but for those
    that the loop goes on without anyway."""
    found = [] if now.results is None else [one.task for one in now.results.refused if not one.left_out]
    before = now.loop.refused
    if now.known.sequential:  # it may have been closed since; a list of features asks its ledger
        before = [task for task in before if task in now.known.open_ids]
    return list(dict.fromkeys([*found, *before]))


def _set_aside(now: Situation, task: str, why: str) -> Need:
    return Need(set_aside=task, why=why, tried=now.loop.attempts.get(task, 0))


def _end(now: Situation, outcome: str, why: str) -> Decision:
    """With what is left, and what the loop had given up before."""
    work = now.known
    left = ["open: " + prompt.line(open_ids(work))] if work.open_total else []
    left += [prompt.line(prompt.set_aside(work))] if work.set_aside else []
    if now.results is not None and now.results.red:
        why += "; " + now.results.why_red()
    message = "%s: %s. %s" % (outcome, "; ".join([why, *left]), _hint(now, outcome))
    return close(now, ENDED, outcome, why, message=message)


def _denied(now: Situation) -> Optional[Answer]:
    """A tool that the client denies again and again: only the person can allow it (field report 76)."""
    tool, rule = limit.note_denials(now.loop, now.turn, now.limits)
    if not tool or _has_finished(now):
        return None
    why = "%s %s %d times" % (DENIED, prompt.line(tool, 80), now.limits.denials)
    is_claim = "ralphloop done" in rule or "ralphloop ask" in rule
    if rule and (is_claim or not rule.startswith("Bash(ralphloop ")):  # the others are refused to the agent
        why += "; the rule to add: " + prompt.line(rule, 200)
    if now.words.only_alone and is_claim:
        why += " (alone on its line, a command of ralphloop's needs none)"
    where = "the settings" if now.supervision is not None else "`/permissions` or the settings"
    text = "needs you: %s. Allow it in %s, then %s." % (why, where, now.words.go_on)
    return close(now, PAUSED, NEEDS_INPUT, why, message=text)


def _has_finished(now: Situation) -> bool:
    """Whether the task that was handed out is closed: whatever was denied, it was not needed."""
    current, work = now.loop.current, now.known
    return bool(current) and current not in [*work.open_ids, *[item.id for item in work.next]]


def _too_many_attempts(now: Situation, refused: list[str]) -> Optional[Answer]:
    """A list of features goes on without the task; in a sequential one nothing can."""
    work = now.known
    for task in [*refused, *[item.id for item in work.next[:1]]]:
        outcome, why = _used_up(now, task)
        if outcome:
            return _end(now, outcome, why) if work.sequential else _set_aside(now, task, why)
    return None


def _used_up(now: Situation, task: str) -> tuple[str, str]:
    """The outcome and why, if a task has had its attempts or its share."""
    tried = now.loop.attempts.get(task, 0)
    if tried >= limit.attempts_allowed(now.limits, now.known):
        return FAILED, "task %s was tried %d times" % (prompt.line(task, 80), tried)
    return ("", "") if now.spent is None else limit.task_overspent(now.spent, task, now.limits)


def _hint(now: Situation, outcome: str) -> str:
    """What is used up stays so; only the time begins anew."""
    is_used_up = outcome == BUDGET or (outcome == LIMIT and now.loop.iteration >= now.limits.iterations)
    return now.higher_hint if is_used_up else now.resume_hint


RULES: tuple[Rule, ...] = (
    _before_execution,
    _plan_mode,
    _state_gone,
    _paused_or_ended,
    _broken_off,
    _awaiting_approval,
    _person_waits,
    _session_still_works,
    _quick_phase,
    _corrupt,
    _claims,
    _complete,
    _nothing_can_run,
    _limits,
    hand_over,
    go_on,
)

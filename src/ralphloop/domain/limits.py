"""When a loop must end although tasks are open: limits that were set, and breakers that trip."""

from __future__ import annotations

from ralphloop.domain.model import LIMIT, PAUSED, STALLED, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Optional

    from ralphloop.domain.model import LoopState, Turn
    from ralphloop.domain.worklist import Worklist

NEAR_EMPTY = 20  # characters; "Holding." and the like (field reports 29, 30)
CLIENT_CAP = 8  # plain replies in a row after which Claude Code ends the turn itself
PHASE_TURNS = 15  # continuations of one phase before execution in quick mode
PHASES = 4  # research, requirements, design, tasks


def iteration_limit(total: int, explicit: Iterable[Optional[int]] = ()) -> int:
    """The lowest explicit value, else three per task and at least 15."""
    given = [value for value in explicit if value and value > 0]
    return min(given) if given else max(15, 3 * total)


def tick(loop: LoopState, now: float) -> None:
    """Count running time since the last look; a clock that runs backwards takes nothing back."""
    if loop.seen_at and loop.state != PAUSED:
        loop.elapsed_s += max(0.0, now - loop.seen_at)
    loop.seen_at = now


def normalise(reply: str) -> str:
    """A reply cut down to what tells it from another: letters in lower case, ends, and length."""
    text = " ".join(reply.lower().split())
    return text if len(text) <= 400 else "%s…%s#%d" % (text[:200], text[-200:], len(text))


def note_turn(
    loop: LoopState, turn: Turn, *, work: Worklist, reply: Optional[str], files: str, claims: bool
) -> bool:
    """Move the counters for the turn that just ended; True if it brought the loop forward."""
    changed = work.digest != loop.tasks_seen
    first = not loop.tasks_seen
    progress = first or changed or files != loop.files_seen or turn.tools > 0
    loop.tasks_seen, loop.files_seen = work.digest, files
    if progress:
        loop.no_progress = 0
    else:
        loop.no_progress += 1
        if loop.current:
            loop.attempts[loop.current] = loop.attempts.get(loop.current, 0) + 1
    _note_reply(loop, reply, tools=turn.tools, fresh=claims or (changed and not first))
    return progress


def _note_reply(loop: LoopState, reply: Optional[str], *, tools: int, fresh: bool) -> None:
    loop.quiet_replies = 0 if tools else loop.quiet_replies + 1
    if reply is None:
        loop.reply, loop.same_replies, loop.empty_replies = "", 0, 0
        return
    said = normalise(reply)
    same = said == loop.reply and not fresh
    empty = len(said) < NEAR_EMPTY and not tools
    loop.same_replies = loop.same_replies + 1 if same else 1
    loop.empty_replies = (0 if fresh else loop.empty_replies) + 1 if empty else 0
    loop.reply = said


def patience(limits: Limits, cap: int) -> int:
    """Continuations without progress that are allowed: fewer than the client's own cap, at least one."""
    return max(1, min(limits.no_progress, cap - 1)) if cap > 0 else limits.no_progress


def tripped(loop: LoopState, limits: Limits, *, cap: int = CLIENT_CAP) -> tuple[str, str]:
    """The outcome that ends the loop here and why, or two empty texts."""
    if loop.iteration >= limits.iterations:
        return LIMIT, "iteration %d of %d" % (loop.iteration, limits.iterations)
    if loop.elapsed_s >= limits.time_s:
        return LIMIT, "%s of running time used" % duration(loop.elapsed_s)
    if loop.no_progress >= patience(limits, cap):
        return STALLED, "%d continuations without a tool call or a changed task" % loop.no_progress
    if loop.same_replies >= limits.replies:
        return STALLED, "the same reply %d times" % loop.same_replies
    if loop.empty_replies >= limits.replies:
        return STALLED, "%d near-empty replies in a row" % loop.empty_replies
    return "", ""


def quick_mode_spent(loop: LoopState, phase: str, limits: Limits) -> str:
    """Why quick mode may not go on in this phase, or nothing. The phases are four: names that keep
    changing do not add up to more."""
    if loop.phase_turns.get(phase, 0) >= PHASE_TURNS:
        return "quick mode went on %d times in the %s phase" % (PHASE_TURNS, phase)
    if sum(loop.phase_turns.values()) >= PHASES * PHASE_TURNS:
        return "quick mode went on %d times before execution" % (PHASES * PHASE_TURNS)
    if loop.elapsed_s >= limits.time_s:
        return "%s of running time used" % duration(loop.elapsed_s)
    return ""


def attempts_allowed(limits: Limits, work: Worklist) -> int:
    return min(limits.attempts, work.max_attempts) if work.max_attempts else limits.attempts


def duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    return "%d h %02d min" % divmod(minutes, 60) if minutes >= 60 else "%d min" % minutes

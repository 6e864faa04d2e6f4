"""When a loop must end although tasks are open: limits that were set, and breakers that trip."""

from __future__ import annotations

from ralphloop.domain.model import ARMED, BUDGET, LIMIT, LIMITS, PAUSED, STALLED, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Optional

    from ralphloop.domain.model import LoopState, Turn
    from ralphloop.domain.worklist import Worklist

NEAR_EMPTY = 20  # characters; "Holding." and the like (field reports 29, 30)
CLIENT_CAP = 8  # plain replies in a row after which the client ends the turn itself
PUSHES = 3  # of quick mode with the same words
QUICK_TURNS = 60  # of quick mode before execution
WARN_AT = 0.8  # of a limit
MARK_PRIME = 2**64 - 59  # no power of 256 is 1 before long: bytes that change places change the remainder


class Spent:
    """Tokens and dollars of a loop and of each of its tasks, as far as its transcripts tell."""

    __slots__ = ("cost_usd", "task_cost_usd", "task_tokens", "tokens", "unpriced")

    def __init__(self) -> None:
        self.tokens = 0
        self.cost_usd = 0.0
        self.task_tokens: dict[str, int] = {}
        self.task_cost_usd: dict[str, float] = {}
        # models without a known price: their tokens count, their dollars are unknown
        self.unpriced: list[str] = []

    def add(self, task: str, *, tokens: int, cost_usd: Optional[float], model: str = "") -> None:
        """Without a price, `cost_usd` is None."""
        self.tokens += tokens
        self.task_tokens[task] = self.task_tokens.get(task, 0) + tokens
        if cost_usd is None:
            self.unpriced = self.unpriced if model in self.unpriced else [*self.unpriced, model]
            return
        self.cost_usd += cost_usd
        self.task_cost_usd[task] = self.task_cost_usd.get(task, 0.0) + cost_usd

    def include(self, other: Spent) -> None:
        for task, tokens in other.task_tokens.items():
            self.add(task, tokens=tokens, cost_usd=other.task_cost_usd.get(task, 0.0))
        self.unpriced = [*self.unpriced, *(name for name in other.unpriced if name not in self.unpriced)]

    def beyond(self, other: Spent) -> Spent:
        """What this has more than the other, if it has more in all."""
        more = Spent()
        tokens, cost_usd = self.tokens - other.tokens, self.cost_usd - other.cost_usd
        for task in self.task_tokens if tokens > 0 else ():
            most = max(0, self.task_tokens[task] - other.task_tokens.get(task, 0))
            usd = max(0.0, self.task_cost_usd.get(task, 0.0) - other.task_cost_usd.get(task, 0.0))
            more.add(task, tokens=min(tokens, most), cost_usd=min(max(0.0, cost_usd), usd))
            tokens, cost_usd = tokens - min(tokens, most), cost_usd - min(max(0.0, cost_usd), usd)
        return more


def iteration_limit(total: int, explicit: Iterable[Optional[int]] = ()) -> int:
    """The lowest explicit value, else three per task and at least 15."""
    given = [value for value in explicit if value and value > 0]
    return min(given) if given else max(15, 3 * total)


def tick(loop: LoopState, now: float) -> None:
    """Count running time since the last look; a clock that runs backwards takes nothing back."""
    if loop.seen_at and loop.state not in (PAUSED, ARMED) and not loop.planning:
        loop.elapsed_s += max(0.0, now - loop.seen_at)
    loop.seen_at = now


def reply_mark(text: str) -> str:
    """What tells a reply from another without its words: its length, and a remainder of its bytes."""
    number = int.from_bytes(text.encode("utf-8", "surrogatepass"), "big")
    return "%d#%x" % (len(text), number % MARK_PRIME)


def note_turn(
    loop: LoopState,
    turn: Turn,
    *,
    work: Worklist,
    reply: Optional[str],
    files: str,
    claims: bool,
    refused: bool = False,
) -> bool:
    """Move the counters for the turn that just ended; True if it brought the loop forward. A refused claim
    is an attempt already: where nothing else came of the turn, it moves none of them."""
    changed = work.digest != loop.tasks_seen
    first = not loop.tasks_seen
    progress = first or changed or claims or files != loop.files_seen or turn.tools > 0
    loop.tasks_seen, loop.files_seen = work.digest, files
    loop.quiet_replies = 0 if turn.tools else loop.quiet_replies + 1
    if refused and not (changed or claims):
        return False
    if progress:
        loop.no_progress = 0
    else:
        loop.no_progress += 1
        if loop.current:
            loop.attempts[loop.current] = loop.attempts.get(loop.current, 0) + 1
    _note_reply(loop, reply, tools=turn.tools, fresh=claims or (changed and not first))
    return progress


def _note_reply(loop: LoopState, reply: Optional[str], *, tools: int, fresh: bool) -> None:
    if reply is None:
        loop.reply, loop.same_replies, loop.empty_replies = "", 0, 0
        return
    said = " ".join(reply.lower().split())
    mark = reply_mark(said)
    same = mark == loop.reply and not fresh
    empty = len(said) < NEAR_EMPTY and not tools
    loop.same_replies = loop.same_replies + 1 if same else 1
    loop.empty_replies = (0 if fresh else loop.empty_replies) + 1 if empty else 0
    loop.reply = mark


def client_cap(said: str) -> int:
    """Plain replies in a row that the client lets us block, by what its variable says; 0 for no end."""
    try:
        return max(0, int(said or CLIENT_CAP))
    except ValueError:
        return CLIENT_CAP


def patience(limits: Limits, cap: int) -> int:
    """Continuations without progress that are allowed: fewer than the client's own cap, at least one."""
    return max(1, min(limits.no_progress, cap - 1)) if cap > 0 else limits.no_progress


def has_room(loop: LoopState, limits: Limits, cap: int) -> bool:
    """Whether a breaker may begin anew: the client counts plain replies on, whatever task they are about."""
    return cap <= 0 or loop.quiet_replies + patience(limits, cap) < cap


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


def overspent(spent: Spent, limits: Limits) -> tuple[str, str]:
    if limits.tokens and spent.tokens >= limits.tokens:
        return BUDGET, "%d of %d tokens used" % (spent.tokens, limits.tokens)
    if limits.cost_usd and spent.cost_usd >= limits.cost_usd:
        return BUDGET, "$%.2f of $%.2f spent" % (spent.cost_usd, limits.cost_usd)
    return "", ""


def task_overspent(spent: Spent, task: str, limits: Limits) -> tuple[str, str]:
    tokens, cost_usd = spent.task_tokens.get(task, 0), spent.task_cost_usd.get(task, 0.0)
    if limits.task_tokens and tokens >= limits.task_tokens:
        return BUDGET, "task %s used %d of %d tokens" % (task, tokens, limits.task_tokens)
    if limits.task_cost_usd and cost_usd >= limits.task_cost_usd:
        return BUDGET, "task %s cost $%.2f of $%.2f" % (task, cost_usd, limits.task_cost_usd)
    return "", ""


def used(loop: LoopState, spent: Optional[Spent]) -> dict[str, float]:
    """How much of each limit, in the order in which people are told; of a task's, the most of any task."""
    found = {
        "iterations": loop.iteration,
        "time_s": loop.elapsed_s,
        "attempts": max(loop.attempts.values(), default=0),
        "no_progress": loop.no_progress,
    }
    if spent is not None:
        found["tokens"], found["cost_usd"] = spent.tokens, spent.cost_usd
        found["task_tokens"] = max(spent.task_tokens.values(), default=0)
        found["task_cost_usd"] = max(spent.task_cost_usd.values(), default=0)
    return found


def warning(loop: LoopState, limits: Limits, spent: Optional[Spent]) -> str:
    """What the person is told once about each limit that is nearly reached, and once if dollars are set
    and a model's price is not known."""
    texts = []
    if spent is not None and limits.cost_usd and spent.unpriced and "prices" not in loop.told:
        loop.told = [*loop.told, "prices"]
        texts.append("dollars unknown for " + ", ".join(name[:60] for name in spent.unpriced[:3]))
    for name, spending in used(loop, spent).items():
        _, _, ends, label, _ = LIMITS[name]
        most = getattr(limits, name) if ends == "loop" else 0
        if most and spending >= WARN_AT * most and label not in loop.told:
            loop.told = [*loop.told, label]
            texts.append("%d %% of the %s" % (100 * spending / most, label))
    return " · ".join(texts)


def note_denials(loop: LoopState, turn: Turn, limits: Limits) -> tuple[str, str]:
    """Count the calls that the client denied, tool by tool; the tool that is denied too often and the rule
    that would allow it, or two empty texts."""
    for tool in turn.worked:
        loop.denied.pop(tool, None)
    for tool, rule in turn.denied:
        loop.denied[tool] = loop.denied.get(tool, 0) + 1
        if loop.denied[tool] >= limits.denials:
            loop.denied = {}
            return tool, rule
    return "", ""


def quick_mode_spent(loop: LoopState, push: str, limits: Limits, *, cap: int = CLIENT_CAP) -> tuple[str, str]:
    """The outcome that ends quick mode before it says this once more, and why, or two empty texts. Phases
    whose names keep changing do not add up to more than all of them may have."""
    most = max(1, min(PUSHES, cap - 1)) if cap > 0 else PUSHES
    if loop.phase_turns.get(push, 0) >= most:
        return STALLED, "quick mode said the same %d times" % most
    if sum(loop.phase_turns.values()) >= QUICK_TURNS:
        return LIMIT, "quick mode went on %d times before execution" % QUICK_TURNS
    if loop.elapsed_s >= limits.time_s:
        return LIMIT, "%s of running time used" % duration(loop.elapsed_s)
    return "", ""


def attempts_allowed(limits: Limits, work: Worklist) -> int:
    return min(limits.attempts, work.max_attempts) if work.max_attempts else limits.attempts


def duration(seconds: float) -> str:
    if seconds < 60:
        return "%d s" % seconds
    minutes = int(seconds // 60)
    return "%d h %02d min" % divmod(minutes, 60) if minutes >= 60 else "%d min" % minutes

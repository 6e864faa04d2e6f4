"""Figures for people: tokens, dollars, sizes, spans and moments of time; and what a loop used of its limits,
counted out of its sessions' transcripts and shared out among its tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ralphloop.agents.registry import client
from ralphloop.agents.transcript import Charge, Context
from ralphloop.domain import limits as limit_rules
from ralphloop.domain import prompt
from ralphloop.domain.limits import Spent, duration
from ralphloop.domain.model import RUNNING, UNLIMITED, WAITING, Limits, LoopState
from ralphloop.domain.table import BUDGETS, DOLLARS, LIMITS, TIME, TOKENS
from ralphloop.engine.account import Account

VARIABLE = "RALPHLOOP_CLOCK"
UNKNOWN, NOT_YET = "tokens unknown", "no tokens counted yet"


class Used(NamedTuple):
    """One limit of a loop; what was used of it is None where nobody can tell."""

    name: str
    used: float | None
    most: float

    @property
    def share(self) -> float | None:
        return None if self.used is None or not self.most else self.used / self.most


def tokens(count: float) -> str:
    """`950`, `2.5k`, `83k`, `1.2M`."""
    if count < 1000:
        return f"{count:.0f}"
    if count < 999_500:
        return _short(count / 1000, digits=1 if count < 9_950 else 0) + "k"
    return _short(count / 1_000_000, digits=1) + "M"


def _short(value: float, *, digits: int) -> str:
    return f"{value:.{digits}f}".removesuffix(".0")


def dollars(amount: float) -> str:
    return "under $0.01" if 0 < amount < 0.005 else f"${amount:.2f}"


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`, `3 days`."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 1 or not seconds else "under 1 s"
    return duration(seconds) if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


def size(count: int) -> str:
    """`950 bytes`, `2.5 kB`, `1.2 MB`."""
    for unit, step in (("MB", 1_000_000), ("kB", 1000)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} bytes"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def amount(name: str, value: float) -> str:
    """A value of the limit with this name."""
    kind = LIMITS[name].kind
    if kind in _AMOUNTS:
        return _AMOUNTS[kind](value)
    return "no limit" if value >= UNLIMITED else f"{value:.0f}"


_AMOUNTS = {TIME: span, DOLLARS: dollars, TOKENS: tokens}


def told(limit: Used) -> str:
    """`$1.20 of $5.00`, `unknown of 2M tokens`."""
    used = "unknown" if limit.used is None else amount(limit.name, limit.used)
    return f"{used} of {amount(limit.name, limit.most)}{unit(limit)}"


def unit(limit: Used) -> str:
    return " tokens" if LIMITS[limit.name].kind == TOKENS else ""


def time_told(limit: Used, working_s: float | None) -> str:
    """`4 s of 8 h`; of a loop that rested in between also how long it worked in all."""
    more = (working_s or 0.0) - (limit.used or 0.0)
    return told(limit) + (f" ({span(working_s or 0.0)} in all)" if more >= 1 else "")


def local(seconds: float, shape: str = "%Y-%m-%d %H:%M:%S") -> str:
    return time.strftime(shape, time.localtime(seconds))


def clock(env: Mapping[str, str]) -> Callable[[], float]:
    """`RALPHLOOP_CLOCK=<seconds since 1970>` makes it stand still."""
    try:
        frozen = float(env[VARIABLE])
    except (KeyError, ValueError):
        return time.time
    return lambda: frozen


def spell(seconds: float) -> str:
    """`4:05`, `1:04:05`: for figures that change every second."""
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Share:
    """What one task, or one model, used."""

    __slots__ = ("cache_read", "cache_write", "input", "known_usd", "lost", "output", "unpriced")

    def __init__(self) -> None:
        self.input = self.output = self.cache_write = self.cache_read = 0
        self.lost = 0  # of transcripts that are gone: only their sum was kept
        self.known_usd = 0.0
        self.unpriced = 0  # tokens of models whose price is not known

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_read + self.lost

    @property
    def cost_usd(self) -> float | None:
        """The dollars that are known; None if that is none of them."""
        return None if self.unpriced and self.unpriced == self.tokens else self.known_usd

    def add(self, charge: Charge, cost_usd: float | None) -> None:
        self.input += charge.input
        self.output += charge.output
        self.cache_write += charge.cache_write + charge.cache_write_1h
        self.cache_read += charge.cache_read
        self.known_usd += cost_usd or 0.0
        self.unpriced += charge.tokens if cost_usd is None else 0

    def add_lost(self, tokens: int, cost_usd: float) -> None:
        self.lost += tokens
        self.known_usd += cost_usd

    def to_json(self) -> dict[str, Any]:
        kinds = {name: getattr(self, name) for name in ("input", "output", "cache_write", "cache_read")}
        return {"tokens": self.tokens, "cost_usd": _rounded(self.cost_usd), **kinds}


class Spending(NamedTuple):
    total: Share
    by_model: dict[str, Share]
    by_task: dict[str, Share]  # under no name what belongs to none
    unpriced: tuple[str, ...]
    missing: tuple[str, ...]  # transcripts that are gone
    known: bool  # False if no transcript could be read
    prices_as_of: str

    def to_json(self) -> dict[str, Any]:
        """The sum, for scripts that watch a loop."""
        return {
            "tokens": self.total.tokens if self.known else None,
            "cost_usd": _rounded(self.total.cost_usd) if self.known else None,
            "unpriced": list(self.unpriced),
            "missing_transcripts": list(self.missing),
            "prices_as_of": self.prices_as_of,
        }


def _rounded(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 6)


def spending_of(account: Account) -> Spending:
    """What was used while the loop was under way; each charge belongs to the task at hand then."""
    usage = client().usage
    spending = Spending(Share(), {}, {}, (), tuple(account.missing), account.known, usage.as_of())
    for charge, task in account.charges:
        for share in _shares(spending, charge.model, task):
            share.add(charge, usage.cost_usd(charge))
    lost = account.lost
    for task, tokens in lost.task_tokens.items():
        for share in (spending.total, spending.by_task.setdefault(task, Share())):
            share.add_lost(tokens, lost.task_cost_usd.get(task, 0.0))
    return spending._replace(unpriced=tuple(account.spent.unpriced))


def _shares(spending: Spending, model: str, task: str) -> tuple[Share, Share, Share]:
    by_model = spending.by_model.setdefault(model, Share())
    return spending.total, by_model, spending.by_task.setdefault(task, Share())


def context(state: LoopState) -> Context | None:
    """How full the last session's context is."""
    return client().usage.context_of(state.transcripts[-1]) if state.transcripts else None


def used(
    limits: Limits, state: LoopState, spending: Spending | None, *, until: float = 0.0
) -> tuple[Used, ...]:
    """The limits that hold, and what was used of them; dollars of unknown models are not among it. A loop at
    work is so `until` then, whatever its last stop has counted."""
    now = state.copy()
    now.elapsed_s = elapsed_s(state, until)
    found = limit_rules.used(now, spending and _spent(spending))
    unknown = BUDGETS if spending is not None and not spending.known else ()
    rows = [
        Used(name, None if name in unknown else amount, getattr(limits, name))
        for name, amount in found.items()
    ]
    return tuple(row for row in rows if row.most)


def _spent(spending: Spending) -> Spent:
    """The same as limits know it."""
    spent = Spent()
    spent.tokens, spent.cost_usd = spending.total.tokens, spending.total.known_usd
    spent.task_tokens = {task: share.tokens for task, share in spending.by_task.items()}
    spent.task_cost_usd = {task: share.known_usd for task, share in spending.by_task.items()}
    return spent


def elapsed_s(state: LoopState, until: float) -> float:
    """The running time of the window at this moment."""
    is_working = state.state in (RUNNING, WAITING) and not state.planning and state.seen_at > 0
    return state.elapsed_s + (max(0.0, until - state.seen_at) if is_working else 0.0)


def context_told(seen: Context) -> str:
    """`context 83k of 200k (41 %)`."""
    if not seen.window:
        return f"context {tokens(seen.tokens)}, window unknown for {seen.model}"
    full = percent(seen.tokens / seen.window)
    return f"context {tokens(seen.tokens)} of {tokens(seen.window)} ({full})"


def spent_told(spending: Spending, limits: Iterable[Used] = (), *, yet: bool = False) -> str:
    """`1.2M tokens, $1.20 of $5.00`, and what is not known of it, or not `yet`: a client writes a transcript
    when it has got its first answer."""
    held = [limit for limit in limits if limit.name in ("tokens", "cost_usd")]
    if not spending.known:
        most = " or ".join(amount(limit.name, limit.most) + unit(limit) for limit in held)
        gone = ["its transcript is gone"] if spending.missing else []
        words = NOT_YET if yet and not gone else UNKNOWN
        return ", ".join([f"{words} (limit {most})" if most else words, *gone])
    cost, said = spending.total.cost_usd, {limit.name: told(limit) for limit in held}
    parts = [said.get("tokens") or f"{tokens(spending.total.tokens)} tokens"]
    if "cost_usd" in said or cost is not None:
        parts.append(said.get("cost_usd") or dollars(cost or 0.0))
    parts += [f"dollars unknown for {', '.join(spending.unpriced[:3])}"] if spending.unpriced else []
    if spending.missing:
        parts.append(f"tokens unknown of {prompt.count(len(spending.missing), 'transcript')} no longer there")
    return ", ".join(parts)

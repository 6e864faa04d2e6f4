"""Tokens and dollars of a loop, counted out of its sessions' transcripts and shared out among its tasks."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ralphloop.agents import models
from ralphloop.agents.usage import Charge, Context, Meter, context_of
from ralphloop.domain.model import Limits, LoopState, is_older
from ralphloop.store.loop import iso
from ralphloop.views import figure
from ralphloop.views.figure import Used
from ralphloop.views.history import Entry, Stretch, of_kind, text


class Share:
    """What one task, or one model, used."""

    __slots__ = ("cache_read", "cache_write", "input", "known_usd", "output", "unpriced")

    def __init__(self) -> None:
        self.input = self.output = self.cache_write = self.cache_read = 0
        self.known_usd = 0.0
        self.unpriced = 0  # tokens of models whose price is not known

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_read

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


def transcripts_of(state: LoopState, entries: Iterable[Entry]) -> list[str]:
    """The last few, which the state names, and those of a supervisor's older sessions, which lie beside."""
    known = [os.path.expanduser(path) for path in state.transcripts]
    folder = os.path.dirname(known[-1]) if known else ""
    driven = [text(entry, "session") for entry in of_kind(entries, "session")] if folder else []
    beside = [os.path.join(folder, f"{session}.jsonl") for session in driven]
    return [path for path in dict.fromkeys(beside) if path not in known and os.path.isfile(path)] + known


def spending_of(state: LoopState, under_way: Sequence[Stretch], *, entries: Iterable[Entry] = ()) -> Spending:
    """Count what was used while the loop was under way; each charge belongs to the task at hand then."""
    paths = transcripts_of(state, entries)
    missing = [path for path in paths if not os.path.isfile(path)]
    spending = Spending(Share(), {}, {}, (), tuple(missing), len(missing) < len(paths), models.as_of())
    begins = [iso(part.begin) for part in under_way]
    unpriced: dict[str, None] = {}
    for charge in _charges(paths, since=iso(state.started_at)):
        task = _at_hand(charge.at, under_way, begins)
        if task is None:
            continue
        cost = models.cost_usd(charge)
        if cost is None:
            unpriced[charge.model] = None
        for share in _shares(spending, charge.model, task):
            share.add(charge, cost)
    return spending._replace(unpriced=tuple(unpriced))


def _charges(paths: Sequence[str], *, since: str) -> list[Charge]:
    """Each message once. A session that goes on under another id repeats the older one's lines, and a meter
    that had read the older one to its end would take what is not younger for counted: so one meter each,
    and what is equal to the millisecond is the same."""
    found: list[Charge] = []
    before: set[Charge] = set()
    for path in paths:
        found += [charge for charge in Meter().read(path, since=since) if charge not in before]
        before.update(found)
    return found


def _at_hand(stamp: str, under_way: Sequence[Stretch], begins: list[str]) -> str | None:
    """The task at that moment; None if the loop was not under way then."""
    if not stamp or not under_way:
        return ""
    place = bisect_right(begins, stamp) - 1
    if place >= 0 and stamp <= iso(under_way[place].end):
        return under_way[place].task
    place += 1  # a stamp of whole seconds may belong to what began in its second
    return under_way[place].task if place < len(begins) and not is_older(stamp, begins[place]) else None


def _shares(spending: Spending, model: str, task: str) -> tuple[Share, Share, Share]:
    by_model = spending.by_model.setdefault(model, Share())
    return spending.total, by_model, spending.by_task.setdefault(task, Share())


def context(state: LoopState) -> Context | None:
    """How full the last session's context is."""
    return context_of(state.transcripts[-1]) if state.transcripts else None


def used(limits: Limits, state: LoopState, spending: Spending | None) -> tuple[Used, ...]:
    """The limits that hold, and what was used of them; dollars of unknown models are not among it."""
    rows = [
        Used("iterations", state.iteration, limits.iterations),
        Used("time_s", state.elapsed_s, limits.time_s),
        Used("attempts", max(state.attempts.values(), default=0), limits.attempts),
        Used("no_progress", state.no_progress, limits.no_progress),
    ]
    known = spending is not None and spending.known
    if spending is not None:
        tasks = list(spending.by_task.values())
        rows += [
            Used("tokens", spending.total.tokens if known else None, limits.tokens),
            Used("cost_usd", spending.total.known_usd if known else None, limits.cost_usd),
            Used(
                "task_tokens", _most([share.tokens for share in tasks]) if known else None, limits.task_tokens
            ),
            Used(
                "task_cost_usd", _most([s.known_usd for s in tasks]) if known else None, limits.task_cost_usd
            ),
        ]
    return tuple(row for row in rows if row.most)


def _most(values: Sequence[float]) -> float:
    return max(values, default=0)


def context_told(seen: Context) -> str:
    """`context 83k of 200k (41 %)`."""
    if not seen.window:
        return f"context {figure.tokens(seen.tokens)}, window unknown for {seen.model}"
    full = figure.percent(seen.tokens / seen.window)
    return f"context {figure.tokens(seen.tokens)} of {figure.tokens(seen.window)} ({full})"


def spent_told(spending: Spending, limits: Iterable[Used] = ()) -> str:
    """`1.2M tokens, $1.20 of $5.00`, and what is not known of it."""
    held = {limit.name: figure.told(limit) for limit in limits if limit.name in ("tokens", "cost_usd")}
    if not spending.known:
        gone = ["its transcript is gone"] if spending.missing else []
        return ", ".join(["tokens unknown", *held.values(), *gone])
    cost = spending.total.cost_usd
    parts = [held.get("tokens") or f"{figure.tokens(spending.total.tokens)} tokens"]
    if "cost_usd" in held or cost is not None:
        parts.append(held.get("cost_usd") or figure.dollars(cost or 0.0))
    parts += [f"dollars unknown for {', '.join(spending.unpriced[:3])}"] if spending.unpriced else []
    if spending.missing:
        parts.append(f"tokens unknown of {len(spending.missing)} transcripts that are gone")
    return ", ".join(parts)

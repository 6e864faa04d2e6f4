"""Tokens and dollars of a loop, counted on as its transcripts grow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from ralphloop.agents import models
from ralphloop.agents.usage import Charge, Meter
from ralphloop.views.spending import Share


class Tally:
    """Each message once: a session that goes on under another id repeats the older one's lines, so each
    transcript has a meter of its own, and what is equal to the millisecond is the same."""

    def __init__(self) -> None:
        self.total = Share()
        self._meters: dict[str, Meter] = {}
        self._counted: set[Charge] = set()

    @property
    def known(self) -> bool:
        """Whether there was a transcript to count in."""
        return any(os.path.isfile(path) for path in self._meters)

    def read(self, paths: Iterable[str], *, since: str, counts: Callable[[str], bool]) -> bool:
        """Count what is new; `counts` says of a time stamp whether the loop was under way then."""
        before = self.total.tokens
        for path in paths:
            meter = self._meters.setdefault(path, Meter())
            fresh = [charge for charge in meter.read(path, since=since) if charge not in self._counted]
            self._counted.update(fresh)
            for charge in fresh:
                if counts(charge.at):
                    self.total.add(charge, models.cost_usd(charge))
        return self.total.tokens != before

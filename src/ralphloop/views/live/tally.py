"""Tokens and dollars of a loop, counted on as its transcripts grow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from ralphloop.agents.registry import client
from ralphloop.views.spending import Share


class Tally:
    """Each message once, also where a session that goes on under another id repeats the older one's lines."""

    def __init__(self) -> None:
        self.total = Share()
        self._meter = client().usage.Meter(exact=True)

    @property
    def known(self) -> bool:
        """Whether there was a transcript to count in."""
        return any(map(os.path.isfile, self._meter.transcripts))

    def read(self, paths: Iterable[str], *, since: str, counts: Callable[[str], bool]) -> bool:
        """Count what is new; `counts` says of a time stamp whether the loop was under way then."""
        before, cost_usd = self.total.tokens, client().models.cost_usd
        for path in paths:
            for charge in self._meter.read(path, since=since):
                if counts(charge.at):
                    self.total.add(charge, cost_usd(charge))
        return self.total.tokens != before

"""Ordinary mistakes in what a list says, as rows."""

from __future__ import annotations

from e2e.mistakes import Mistake

ROWS: tuple[Mistake, ...] = ()

"""Puts the repository's own folder on the path: the targets and the model live beside the package. And what
they shorten, so that they run thousands of times a minute, is as it was for the tests after them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphloop.engine import claude_past, stop
from ralphloop.store import tasks

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(autouse=True, scope="module")
def _waits_as_before() -> Iterator[None]:
    before = stop.LAG_S, tasks.PATIENCE_S, claude_past.PATIENCE_S
    yield
    stop.LAG_S, tasks.PATIENCE_S, claude_past.PATIENCE_S = before

"""A stage for programs in the client's place; nothing of it outlives its test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.runner.stage import Stage, a_stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with a_stage(tmp_path) as made:
        yield made

"""A place to run checks in."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.proof.processes import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)

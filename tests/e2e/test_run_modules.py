"""How much of the house one `run` walks through."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/run_modules.py"
MOST = 55  # with the proof in it: what is kept and told of one, and the git that is recorded


def test_the_foreground_of_a_run_touches_few_modules(client_home):
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    *touched, count = done.stdout.splitlines()
    assert count == f"{len(touched)} modules"
    assert len(touched) <= MOST, touched
    assert {"cli.run", "loops.drive", "views.live.feed"} <= set(touched)

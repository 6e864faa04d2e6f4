"""What the process of `run` loads that a person looks at: its work is the supervisor's."""

from __future__ import annotations

import subprocess
import sys


def test_the_foreground_loads_nothing_of_what_its_supervisor_does() -> None:
    code = "import sys; from ralphloop.cli import run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ralphloop.loops.drive" in loaded
    parts = {name for name in loaded if name.startswith("ralphloop.runner.")}
    assert parts == {"ralphloop.runner.session_terms"}
    proving = {f"ralphloop.proof.{name}" for name in ("checker", "commit", "prove", "worktree")}
    assert not loaded & {*proving, "ralphloop.engine.stop", "ralphloop.notify.send"}

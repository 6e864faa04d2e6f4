"""SIGKILL at random instants of hooks as they are registered: each leaves a loop that goes on."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from fakes.effort import SOAK, rounds
from hook.harness import LAYOUTS, LoopProject, boxes, feature, feature_list, loop_files, task_id
from hook.lines import text_line, tool_line
from hook.proven import cli, events, evidence, known
from hook.test_commits_killed import kill

ROUNDS = rounds(8, soak=60)
LONGEST_S = 0.4
MADE = "test -e made"
pytestmark = pytest.mark.slow


def project(base: Path, layout: str) -> LoopProject:
    """One task with a check per round, and one more."""
    files = loop_files(layout, total=ROUNDS + 1)
    own = next(name for name in files if name.endswith(("feature_list.json", "tasks.md")))
    if layout == "features":
        files[own] = feature_list(*(feature(f"F{n}", verify=MADE) for n in range(1, ROUNDS + 2)))
    else:
        rows = boxes(*(f"Task number {n}" for n in range(1, ROUNDS + 2))).splitlines()
        checked = [f"{row}\n  - **Verify**: `{MADE}`" if row.startswith("- [") else row for row in rows]
        files[own] = "\n".join(checked) + "\n"
    found = LoopProject(base, layout, files)
    (found.root / "made").touch()
    found.arm(max_iterations=5 * ROUNDS)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.timeout(1200 if SOAK else 300)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_hook_killed_at_any_instant_leaves_a_loop_that_goes_on(tmp_path: Path, layout: str) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    found = project(tmp_path, layout)
    for number in range(1, ROUNDS + 1):
        found.close(number)
        said = f"Task {number} is done."
        found.add_lines(tool_line("Bash", {"command": "true"}), text_line(said))
        payload = found.payload("Stop", last_assistant_message=said)
        process = found.start(json.dumps(payload).encode())
        time.sleep(chance.uniform(0.0, LONGEST_S))
        kill(process, whole=chance.random() < 0.5)
        status = cli(found, "status", "--json")
        assert status.returncode == 0, (seed, status.stderr)
        assert len(json.loads(status.stdout)["loops"]) == 1, seed
        assert found.turn().blocks, seed
        assert known(found, task_id(layout, number))["state"] == "proven", seed
    found.close(ROUNDS + 1)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete", seed
    told = [entry["task"] for entry in events(found, "proven")]
    assert len(told) == len(set(told)), (seed, told)
    names = [entry["id"] for entry in evidence(found)]
    assert len(names) == len(set(names)), seed

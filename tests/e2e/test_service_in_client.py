"""The service with the real client: all of a run is killed, and the unit's command brings it to its end."""

from __future__ import annotations

import json
import subprocess

import pytest

from e2e.looping import bash, feature_turns
from e2e.running import list_of, running
from fakes.patience import eventually
from ralphloop.lab.reply import text
from ralphloop.loops.init_system import read_unit

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

# what a person who logs in by a variable puts into `environment.d`, and the settings of these tests
OWN = ("ANTHROPIC_", "CLAUDE_CODE_", "DISABLE_", "IS_SANDBOX", "RALPHLOOP_")


def test_after_a_restart_the_loop_goes_on_and_each_task_is_done_once(client_home, project):
    hanging, work = iter([bash("tail -f /dev/null")]), iter(feature_turns(1, 2))
    root = project(list_of({}, {}))
    script = lambda _: next(hanging, None) or next(work, text("Nothing is left to be said."))  # noqa: E731
    with running(client_home, root, script) as stage:
        assert stage.run("--detach", "--batch", "1").code == 0
        eventually(lambda: stage.pids("tail"))
        stage.clear_away()
        eventually(lambda: not stage.processes())
        (file,) = client_home.path.rglob("supervisor.json")
        file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "an earlier start"}))
        printed = stage.command("service", "install", "--print")
        found = read_unit(printed.stdout)
        assert found is not None, printed
        env = {name: value for name, value in stage.env().items() if name.startswith(OWN)}
        done = subprocess.run(
            [*found.words, "--once"], cwd="/", env={**env, **dict(found.env)}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done
        assert "the machine was restarted" in done.stdout
        eventually(lambda: stage.ending == ("ended", "complete"), deadline_s=90)
        eventually(lambda: not stage.processes())
        assert len(stage.events("restart")) == 1
        sessions = [entry["task"] for entry in stage.events("session")]
        assert sessions == ["F1", "F1", "F2"], "as many for one session as the run was given"

"""What ends the wait for a session's wake-up, and who does not begin one."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from fakes.patience import eventually
from hook.conftest import ProjectFactory
from hook.harness import OTHER, LoopProject
from hook.waiting import HOUR, LIMITED, Waiting, attended, shown_waker
from ralphloop.domain.model import CANCELLED, ENDED, INTERRUPTED, PAUSED, Supervision
from ralphloop.store import arming, shelf
from ralphloop.store.loop import CANCEL, PAUSE


def cancelled(project: LoopProject) -> None:
    loop = project.the_loop()
    with loop.lock():
        state = loop.load()
        assert state is not None
        state.state, state.outcome = ENDED, CANCELLED
        loop.rest(state)


def paused(project: LoopProject) -> None:
    loop = project.the_loop()
    with loop.lock():
        state = loop.load()
        assert state is not None
        arming.pause(loop, state, outcome=INTERRUPTED, detail="paused by the person")


def resumed(project: LoopProject) -> None:
    loop = project.the_loop()
    with loop.lock():
        state = loop.load()
        assert state is not None
        arming.take_up(loop, state)


def moved_away(project: LoopProject) -> None:
    project.root.rename(project.base / "elsewhere")


ENDS: dict[str, Callable[[LoopProject], object]] = {
    "cancel": cancelled,
    "cancel asked for": lambda project: project.the_loop().ask_for(CANCEL),
    "pause": paused,
    "pause asked for": lambda project: project.the_loop().ask_for(PAUSE),
    "resume": resumed,
    "a message of the person": lambda project: project.send("UserPromptSubmit", prompt="how far are you?"),
    "clear": lambda project: project.send("SessionEnd", reason="clear"),
    "another session in the same client": lambda project: project.send("SessionEnd", reason="resume"),
    "a stop": lambda project: project.turn(),
    "no project any more": moved_away,
}


def test_the_wait_ends_without_a_word(project: ProjectFactory) -> None:
    """All wait at once: each looks only every second."""
    with ExitStack() as stack:
        hooks = {}
        for name in ENDS:
            found = project("features")
            found.arm()
            attended(found).turn()
            hooks[name] = stack.enter_context(Waiting(found, **HOUR))
        for name, hook in hooks.items():
            hook.settled()
            hook.project.new_prompt()
            ENDS[name](hook.project)
        for name, hook in hooks.items():
            hook.leaves(name)


def test_news_from_the_background_does_not_end_the_wait(features: LoopProject) -> None:
    attended(features).turn()
    with Waiting(features, **HOUR) as hook:
        hook.settled()
        features.new_prompt()
        features.send("UserPromptSubmit", prompt="<task-notification>\n<task-id>a1</task-id>")
        assert hook.is_shown()


def test_a_message_that_fails_too_is_followed_by_another_wait(features: LoopProject) -> None:
    attended(features).turn()
    with Waiting(features, **HOUR) as first:
        first.settled()
        features.new_prompt()
        features.send("UserPromptSubmit", prompt="go on")
        with Waiting(features, **LIMITED) as second:
            assert "go on with task F1" in second.wakes()
        first.leaves()


def test_a_waker_whose_place_was_taken_leaves(features: LoopProject) -> None:
    attended(features).turn()
    with Waiting(features, **HOUR) as first:
        first.settled()
        features.new_prompt()
        with Waiting(features, **HOUR) as second:
            first.leaves()
            second.settled()


def test_the_wait_ends_with_the_client_whose_id_the_hook_was_told(features: LoopProject) -> None:
    client = subprocess.Popen(["sleep", "600"])
    try:
        attended(features, CLAUDE_PID=str(client.pid))
        with Waiting(features, **HOUR) as hook:
            hook.settled()
            client.kill()
            client.wait()
            hook.leaves()
    finally:
        client.kill()
        client.wait()
    assert features.loop()["outcome"] == "rate_limited"


def test_the_wait_ends_when_another_process_has_adopted_the_hook(
    features: LoopProject, tmp_path: Path
) -> None:
    attended(features)
    payload = tmp_path / "payload.json"
    payload.write_text(json.dumps(features.payload("StopFailure", **HOUR)))
    hook = (
        f"sh -c {shlex.quote(features.command('StopFailure'))} <{shlex.quote(str(payload))} & echo $!; wait"
    )
    client = subprocess.Popen(
        ["sh", "-c", hook], cwd=features.root, env=features.env(), stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    pid = int(client.stdout.readline())
    eventually(lambda: shown_waker(features) == pid)
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stdout.close()
    eventually(lambda: not is_alive(pid), what="the hook outlives its client")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def test_of_two_registrations_one_waits(features: LoopProject) -> None:
    attended(features)
    first = Waiting(features, registration="settings", **LIMITED)
    second = Waiting(features, registration="ralphloop", **LIMITED)
    with first, second:
        ended = [hook.process.wait(30) for hook in (first, second)]
    assert sorted(ended) == [0, 2]
    assert [entry["event"] for entry in features.journal()].count("wake") == 1


def test_the_registration_that_serves_the_prompt_waits(features: LoopProject) -> None:
    attended(features).turn(registration="settings")
    with Waiting(features, registration="ralphloop", **LIMITED) as other:
        other.leaves()
    assert features.loop()["state"] == "running"
    with Waiting(features, registration="settings", **LIMITED) as hook:
        hook.wakes()


@pytest.mark.parametrize("setting", [{"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {"RALPHLOOP_WAKE": "false"}])
def test_nobody_waits_in_a_print_run_or_where_it_is_switched_off(
    features: LoopProject, setting: dict[str, str]
) -> None:
    attended(features, **setting).turn()
    with Waiting(features, **HOUR) as hook:
        hook.leaves()
    loop = features.loop()
    assert (loop["state"], loop["outcome"], loop["wake"]) == ("paused", "rate_limited", "")
    assert loop["resume_at"] is not None


def test_a_project_can_switch_it_off(features: LoopProject) -> None:
    attended(features).write({".ralph/config.toml": "wake = false\n"})
    with Waiting(features, **HOUR) as hook:
        hook.leaves()


def test_settings_that_cannot_be_read_leave_the_usual_terms(features: LoopProject) -> None:
    attended(features).write({".ralph/config.toml": "wake = = false\n"})
    with Waiting(features, **HOUR) as hook:
        hook.settled()


def test_a_registration_of_an_older_version_does_not_hold_the_client_up(features: LoopProject) -> None:
    attended(features)
    data = json.dumps(features.payload("StopFailure", **HOUR)).encode()
    old = features.command("StopFailure").removeprefix("rl_on=wake ")
    assert features.run(data, argv=["/bin/sh", "-c", old]).silent
    assert features.loop()["outcome"] == "rate_limited"


def test_a_supervised_loop_is_its_supervisors_to_go_on_with(features: LoopProject) -> None:
    attended(features)
    loop = features.the_loop()
    loop.record.supervision = Supervision()
    with loop.shelf.lock():
        loop.shelf.put(loop.record, shelf.OWNED)
    with Waiting(features, registration="run", **HOUR) as hook:
        hook.leaves()
    assert features.loop()["state"] == "running"


def test_another_sessions_error_wakes_nobody(features: LoopProject) -> None:
    attended(features)
    before = features.digest()
    with Waiting(features, session_id=OTHER, **HOUR) as hook:
        hook.leaves()
    assert features.digest() == before


def test_a_loop_that_the_person_paused_stays_paused(features: LoopProject) -> None:
    attended(features).turn()
    paused(features)
    with Waiting(features, **HOUR) as hook:
        hook.leaves()
    assert (features.loop()["state"], features.loop()["outcome"]) == (PAUSED, INTERRUPTED)

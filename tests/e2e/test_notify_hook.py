"""What the hook has told of a loop's end: when, how often, and that it never waits for it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cli_project import SESSION, WIDE, Project
from e2e.notifying import (
    LAUNCHER,
    RECORD,
    at_work,
    close,
    hook,
    journal,
    log,
    notices,
    opened,
    settle,
    wait_until_told,
)
from fakes.patience import eventually
from ralphloop.domain.model import Supervision
from ralphloop.store import shelf
from ralphloop.store.shelf import Shelf
from unit.notify.pseudo import Terminal
from unit.notify.server import HookServer


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.program("notify-send", RECORD)
    settle(made, 'notify = ["desktop"]\n')
    return made


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def titles(project: Project) -> list[str]:
    wait_until_told(project)
    return [title for title, _ in notices(project)]


def test_the_end_of_a_loop_is_told_once(project: Project) -> None:
    close(project.begin(tasks=1), 0)
    assert "complete" in (project.stop() or {})["systemMessage"]
    assert titles(project) == ["ralphloop: shop is complete"]
    (entry,) = journal(project)
    assert (entry["channel"], entry["ok"], entry["detail"]) == ("desktop", True, "notify-send")
    project.stop()
    assert titles(project) == ["ralphloop: shop is complete"]


def test_a_stop_that_goes_on_starts_nothing(project: Project) -> None:
    project.begin(tasks=2)
    answer = project.stop()
    assert at_work(project) == []
    assert (answer or {})["decision"] == "block"


def test_a_slow_webhook_does_not_hold_the_hook(project: Project) -> None:
    with HookServer(holds=True) as server:
        settle(project, f'notify = ["webhook"]\nwebhook_url = "{server.url}/x"\n')
        close(project.begin(tasks=1), 0)
        done = hook(project)  # over only when nobody has its stdout open
        assert json.loads(done.out)["continue"] is True
        assert journal(project) == []
        assert server.arrived.wait(30)
        server.let_go.set()
        wait_until_told(project)
    (entry,) = journal(project)
    assert (entry["channel"], entry["ok"], entry["detail"]) == ("webhook", True, "HTTP 200")


def test_the_notice_has_nothing_of_the_hook(project: Project) -> None:
    """Neither its descriptors, nor those that a client left open in it, nor its session."""
    left = os.pipe()
    with HookServer(holds=True) as server:
        settle(project, f'notify = ["webhook"]\nwebhook_url = "{server.url}/x"\n')
        close(project.begin(tasks=1), 0)
        inner = project.write("src/a.py", "").parent
        hook(project, keeps=left, cwd=str(inner))
        assert server.arrived.wait(30)
        (pid,) = at_work(project)
        held, session, folder = opened(pid), os.getsid(pid), os.readlink(f"/proc/{pid}/cwd")
        server.let_go.set()
        wait_until_told(project)
    ours = {os.readlink(f"/proc/self/fd/{handle}") for handle in left}
    for handle in left:
        os.close(handle)
    assert [held.pop(handle) for handle in (0, 1, 2)] == ["/dev/null"] * 3
    assert not ours & set(held.values())
    assert all(kind.startswith("socket:") for kind in held.values()), held
    assert session not in (os.getsid(0), pid)
    assert folder == str(project.root)


def test_needing_the_person_is_told_again_only_for_something_new(project: Project) -> None:
    project.begin(tasks=2)
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
    settle(project, 'notify = ["desktop"]\nnotify_on = ["end"]\n')
    for task in ("F1", "F2"):
        project.fine("ask", task, f"What about {task}?", env=agent)
    wait_until_told(project)
    settle(project, 'notify = ["desktop"]\n')
    for _ in range(2):
        project.stop()
    assert titles(project) == ["ralphloop: shop needs your answer"]
    assert project.status()["outcome"] == "needs_input"


def test_an_approval_that_is_awaited_at_every_stop_is_told_once(project: Project) -> None:
    state = project.spec() / ".ralph-state.json"
    project.fine("start", "login", "--session", SESSION)
    state.write_text(json.dumps({**json.loads(state.read_text()), "awaitingApproval": True}))
    for _ in range(3):
        project.stop()
    assert titles(project) == ["ralphloop: login awaits your approval"]
    assert len(journal(project, "stop")) == 3


def test_an_interrupt_by_the_person_is_not_told(project: Project) -> None:
    project.begin(tasks=2)
    project.stop(prompt_id="P1")
    assert "you interrupted it" in (project.stop(prompt_id="P2") or {})["systemMessage"]
    assert titles(project) == []


def test_only_what_was_asked_for_is_told(project: Project) -> None:
    settle(project, 'notify = ["desktop"]\nnotify_on = ["person"]\n')
    close(project.begin(tasks=1), 0)
    project.stop()
    assert titles(project) == []
    assert journal(project) == []


@pytest.mark.parametrize("command", ["cancel", "pause"])
def test_what_the_person_did_is_not_told(project: Project, command: str) -> None:
    project.begin(tasks=1)
    project.fine(command, "shop")
    project.stop()
    hook(project, "SessionEnd", reason="prompt_input_exit")
    assert titles(project) == []


def test_a_session_that_ends_is_not_told(project: Project) -> None:
    project.begin(tasks=1)
    hook(project, "SessionEnd", reason="prompt_input_exit")
    assert titles(project) == []
    assert project.status()["outcome"] == "interrupted"


@pytest.mark.parametrize(
    ("error", "said", "told"),
    [
        ("rate_limit", "resets 7pm (UTC)", []),
        ("invalid_request", "API Error: 400 bad", ["ralphloop: shop failed"]),
    ],
)
def test_an_api_error_is_told_unless_it_passes(
    project: Project, error: str, said: str, told: list[str]
) -> None:
    project.begin(tasks=1)
    hook(project, "StopFailure", error=error, last_assistant_message=said)
    assert titles(project) == told


def test_a_refused_login_is_told_as_such_everywhere(project: Project) -> None:
    """Not the list is to be repaired; and once that is done the loop goes on with all its attempts."""
    project.begin(tasks=1)
    said = "Please run /login · API Error: 401 OAuth token has expired."
    hook(project, "StopFailure", error="authentication_failed", last_assistant_message=said)
    assert titles(project) == ["ralphloop: shop failed"]
    state = project.status()
    assert (state["outcome"], state["tasks"][0]["attempts"]) == ("failed", 0)
    assert state["detail"].startswith("the login was refused: ")
    told = project.run("status", env=WIDE).out
    assert "log in with `claude /login`, or renew the key; then `ralphloop resume shop` goes on." in told
    assert "repair the list" not in told
    assert project.run("resume", "shop").code == 0
    assert project.status()["state"] == "running"


def test_a_supervisor_speaks_for_its_own_loop(project: Project) -> None:
    close(project.begin(tasks=1), 0)
    here = Shelf(str(project.root), project.env())
    (record,) = here.records(shelf.OWNED)
    record.supervision = Supervision()
    with here.lock():
        here.put(record, shelf.OWNED)
    hook(project, registration="run")
    assert titles(project) == []
    assert project.status()["outcome"] == "complete"


def test_without_settings_nothing_is_started(project: Project) -> None:
    (project.home / ".config/ralphloop/config.toml").unlink()
    close(project.begin(tasks=1), 0)
    project.stop()
    assert at_work(project) == []
    assert titles(project) == []
    assert project.status()["outcome"] == "complete"


@pytest.mark.parametrize("way", ["project", "variable"])
def test_a_project_or_a_variable_can_switch_it_on(project: Project, way: str) -> None:
    (project.home / ".config/ralphloop/config.toml").unlink()
    close(project.begin(tasks=1), 0)
    if way == "project":
        project.write(".ralph/config.toml", 'notify = ["desktop"]\n')
        hook(project)
    else:
        hook(project, env={"RALPHLOOP_NOTIFY": "desktop"})
    assert titles(project) == ["ralphloop: shop is complete"]


def test_the_bell_rings_where_the_client_runs(project: Project, terminal: Terminal) -> None:
    settle(project, 'notify = ["bell"]\n')
    close(project.begin(tasks=1), 0)
    hook(project, env={"CLAUDE_PID": str(terminal.below)})
    wait_until_told(project)
    assert terminal.heard() == b"\a"


# A client of an older version: it names no process in the hook's environment.
CLIENT = """
import fcntl, os, subprocess, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
subprocess.run(sys.argv[2:], input=sys.argv[1].encode(), start_new_session=True, check=True)
sys.stdin.read()
"""


def test_the_bell_rings_above_the_hook_where_no_client_is_named(project: Project) -> None:
    settle(project, 'notify = ["bell"]\n')
    close(project.begin(tasks=1), 0)
    event = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(project.root)}
    master, slave = pty.openpty()
    argv = [sys.executable, "-I", "-c", CLIENT, json.dumps(event), *LAUNCHER, "settings"]
    client = subprocess.Popen(
        argv, stdin=slave, stdout=subprocess.DEVNULL, env=project.env(), cwd=project.root
    )
    try:
        assert select.select([master], [], [], 60)[0]
        assert os.read(master, 10) == b"\a"
    finally:
        client.kill()
        client.wait()
        os.close(slave)
        os.close(master)
    wait_until_told(project)


def test_a_failing_way_is_noted_and_changes_nothing(project: Project) -> None:
    project.program("notify-send", "#!/bin/sh\necho 'no bus' >&2\nexit 1\n")
    close(project.begin(tasks=1), 0)
    assert "complete" in (project.stop() or {})["systemMessage"]
    wait_until_told(project)
    (entry,) = journal(project)
    assert (entry["channel"], entry["ok"], entry["detail"]) == ("desktop", False, "notify-send: no bus")
    assert "notify desktop failed: notify-send: no bus" in log(project)
    assert project.status()["outcome"] == "complete"


def test_settings_that_cannot_be_read_are_noted_and_change_nothing(project: Project) -> None:
    close(project.begin(tasks=1), 0)
    settle(project, "notfy = 1\n")
    assert "complete" in (project.stop() or {})["systemMessage"]
    (entry,) = eventually(lambda: journal(project))
    assert (entry["channel"], entry["ok"]) == ("config", False)
    assert "did you mean notify?" in entry["detail"]


def test_a_hostile_name_is_text_and_nothing_else(project: Project) -> None:
    name = "--$(touch pwned)'\"`touch pwned`;<i>&\\074"
    listed = {"features": [{"id": "F1", "description": "x", "passes": False}]}
    folder = project.write(f".ralph/loops/{name}/feature_list.json", json.dumps(listed)).parent
    project.fine("start", "--session", SESSION)
    close(folder, 0)
    project.stop()
    safe = name.translate(str.maketrans("<>&\\", "‹›＆＼"))
    assert titles(project) == [f"ralphloop: {safe} is complete"]
    assert not [*project.folder.rglob("pwned")]

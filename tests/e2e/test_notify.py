"""The command `notify`, and the question of an agent, through every way of telling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import notifying
from e2e.cli_project import SESSION, Project
from e2e.notifying import RECORD, notices, settle, wait_until_told
from unit.notify.pseudo import Terminal
from unit.notify.server import HookServer

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def test_a_test_goes_out_every_way_and_each_is_told_of(project: Project, terminal: Terminal) -> None:
    project.program("notify-send", RECORD)
    with HookServer() as server:
        url = f'webhook_url = "{server.url}/x"\nwebhook_token = "tk_1"\n'
        settle(project, 'notify = ["desktop", "bell", "webhook"]\n' + url)
        out = project.fine("notify", "--test", env={"CLAUDE_PID": str(terminal.process.pid)})
    assert out == f"✓ desktop: notify-send\n✓ bell: {terminal.path}\n✓ webhook: HTTP 200\n"
    assert terminal.heard() == b"\a"
    assert notices(project)[0][0] == "ralphloop: a test from project"
    (got,) = server.got
    assert got.headers["Authorization"] == "Bearer tk_1"
    assert (got.data["about"], got.data["project"]) == ("test", "project")


def test_one_that_fails_does_not_keep_the_others(project: Project) -> None:
    project.program("notify-send", "#!/bin/sh\necho 'no bus' >&2\nexit 1\n")
    with HookServer(500) as bad:
        settle(project, f'notify = ["desktop", "webhook"]\nwebhook_url = "{bad.url}/x"\n')
        done = project.run("notify", "--test")
    assert (done.code, done.err) == (1, "")
    assert done.out == "✗ desktop: notify-send: no bus\n✗ webhook: HTTP 500\n"
    assert len(bad.got) == 1


def test_without_a_way_of_telling_it_says_how_to_switch_one_on(project: Project) -> None:
    told = project.refused("notify", "--test")
    assert f'put a line like `notify = ["desktop"]` into {project.home}/.config/ralphloop' in told


def test_a_webhook_without_an_address_fails_with_words(project: Project) -> None:
    settle(project, 'notify = ["webhook"]\n')
    done = project.run("notify", "--test")
    assert (done.code, done.out) == (1, "✗ webhook: webhook_url is not set\n")
    assert "webhook_url is not set" in done.err


def test_it_tells_again_where_a_loop_stands(project: Project) -> None:
    project.program("notify-send", RECORD)
    settle(project, 'notify = ["desktop"]\n')
    folder = project.begin(tasks=1)
    assert "shop is running, which nobody is told of" in project.refused("notify", "shop")
    notifying.close(folder, 0)
    project.stop()
    wait_until_told(project)
    assert project.fine("notify", "shop") == "✓ desktop: notify-send\n"
    first, again = notices(project)
    assert first == again
    assert first[0] == "ralphloop: shop is complete"


def test_a_question_is_told_while_the_loop_goes_on(project: Project) -> None:
    project.program("notify-send", RECORD)
    settle(project, 'notify = ["desktop"]\n')
    project.begin(tasks=3)
    question = "Which $(touch pwned) \"service\" or 'port' <b>?"
    project.fine("ask", "F1", question, env=AGENT)
    wait_until_told(project)
    ((title, body),) = notices(project)
    assert title == "ralphloop: shop asks you something"
    assert "F1: Which $(touch pwned) \"service\" or 'port' ‹b›?" in body
    assert not list(project.root.rglob("pwned"))
    (entry,) = notifying.journal(project)
    assert (entry["channel"], entry["ok"], entry["detail"]) == ("desktop", True, "notify-send")


def test_a_question_without_other_work_is_left_to_the_stop(project: Project) -> None:
    project.program("notify-send", RECORD)
    settle(project, 'notify = ["desktop"]\n')
    project.begin(tasks=1)
    project.fine("ask", "F1", "Which service?", env=AGENT)
    project.stop()
    wait_until_told(project)
    ((title, body),) = notices(project)
    assert title == "ralphloop: shop needs your answer"
    assert "F1: Which service?" in body


@pytest.mark.parametrize(
    ("shape", "path", "key"), [("ntfy", "/", "message"), ("slack", "/t", "text"), ("json", "/t", "body")]
)
def test_the_shapes_of_a_webhook_for_a_real_end(project: Project, shape: str, path: str, key: str) -> None:
    with HookServer() as server:
        settle(
            project,
            f'notify = ["webhook"]\nwebhook_url = "{server.url}/t"\nwebhook_format = "{shape}"\n',
        )
        notifying.close(project.begin(tasks=2), 0, 1)
        notifying.hook(project, env={"MY_API_KEY": "sk-of-the-person"})
        wait_until_told(project)
    (got,) = server.got
    assert got.path == path
    assert "2/2 done, 2 unverified, iteration 1/15" in got.data[key]
    sent = json.dumps([got.data, got.headers])
    assert str(project.root) not in sent
    assert str(project.home) not in sent
    assert "sk-of-the-person" not in sent

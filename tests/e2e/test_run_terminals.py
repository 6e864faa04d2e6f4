"""`ralphloop run` without the terminal that it was started in: the supervisor goes on to the end."""

from __future__ import annotations

import signal
import threading

import pytest

from e2e.looping import bash
from e2e.running import Running, list_of, running
from e2e.screen import CommandScreen
from fakes.patience import eventually
from ralphloop.lab.reply import text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]


class Held:
    """One task whose agent waits until it is let go."""

    def __init__(self) -> None:
        self._go = threading.Event()
        self._replies = iter([bash("touch made-1 && ralphloop done F1").held(self._go), text("Made.")])

    def answer(self, _request):
        return next(self._replies, text("Over."))

    def completes(self, stage: Running) -> None:
        """Nobody looks on any more."""
        assert stage.ending == ("running", None)
        self._go.set()
        eventually(lambda: stage.ending == ("ended", "complete"), deadline_s=60)
        eventually(lambda: not stage.processes(), what=stage.processes)


def in_a_terminal(stage: Running) -> CommandScreen:
    words = stage.words("run", "demo", "--yes", "--permission-mode", "bypassPermissions")
    return CommandScreen(words, cwd=stage.root, env=stage.env())


def test_a_hang_up_lets_it_run_on(client_home, project):
    held = Held()
    with running(client_home, project(list_of({})), held.answer) as stage:
        process = stage.start()
        stage.server.wait_for_requests(1, deadline_s=60)
        process.send_signal(signal.SIGHUP)
        stdout, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "goes on without you" in stdout
        held.completes(stage)


def test_a_terminal_that_is_closed_lets_it_run_on(client_home, project):
    held = Held()
    with running(client_home, project(list_of({})), held.answer) as stage, in_a_terminal(stage) as screen:
        stage.server.wait_for_requests(1, deadline_s=60)
        screen.wait_for("q quit", deadline_s=60)
        screen.hang_up()
        screen.process.wait(60)
        held.completes(stage)


def test_a_terminal_that_is_left_with_q_lets_it_run_on(client_home, project):
    held = Held()
    with running(client_home, project(list_of({})), held.answer) as stage, in_a_terminal(stage) as screen:
        stage.server.wait_for_requests(1, deadline_s=60)
        screen.wait_for("q quit", deadline_s=60)
        screen.wait_for("at hand: F1", deadline_s=60)
        screen.type("q")
        assert screen.exit_code(60) == 0
        assert "demo goes on without you" in screen.text()
        held.completes(stage)

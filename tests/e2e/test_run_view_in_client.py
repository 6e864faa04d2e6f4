"""The view of `ralphloop run` in a terminal, with the real client at work: its keys reach the supervisor."""

from __future__ import annotations

import threading

import pytest

from e2e.looping import bash, feature_turns
from e2e.running import Running, eventually, list_of, running, task_in
from e2e.screen import CommandScreen
from ralphloop.lab.reply import fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

HANG = "tail -f /dev/null"  # the client refuses a long sleep
WAIT_S = 60.0


def at_terminal(stage: Running, *arguments: str, columns: int = 100, rows: int = 30) -> CommandScreen:
    words = stage.words("run", "demo", "--yes", "--permission-mode", "bypassPermissions", *arguments)
    return CommandScreen(words, cwd=stage.root, env=stage.env(), columns=columns, rows=rows)


def test_the_view_follows_the_run_to_its_end(client_home, project):
    with (
        running(client_home, project(list_of({}, {})), feature_turns(1, 2)) as stage,
        at_terminal(stage, "--batch", "1", columns=80, rows=24) as screen,
    ):
        screen.wait_for("session 2", deadline_s=WAIT_S)
        screen.wait_for("demo · complete", deadline_s=WAIT_S)
        assert screen.exit_code(deadline_s=WAIT_S) == 0
    assert stage.processes() == {}


def test_p_and_a_pause_from_elsewhere_hold_at_the_end_of_the_turn_and_it_goes_on(client_home, project):
    """In a wide view, which follows to the end too."""
    first, second, third = threading.Event(), threading.Event(), threading.Event()
    work = feature_turns(1, 3)
    replies = [work[0].held(first), work[1], work[2].held(second), work[3], work[4].held(third), work[5]]
    with (
        running(client_home, project(list_of({}, {}, {})), replies) as stage,
        at_terminal(stage, columns=200, rows=50) as screen,
    ):
        screen.wait_for("Make file 2", deadline_s=WAIT_S)
        stage.server.wait_for_requests(1, deadline_s=WAIT_S)
        screen.type("p")
        eventually(lambda: stage.command("status").stdout.count("pause was asked for"))
        first.set()
        screen.wait_for("paused: paused by the person", deadline_s=WAIT_S)
        assert stage.ending == ("paused", "interrupted")
        assert stage.pids("claude") == []
        screen.type("p")

        stage.server.wait_for_requests(3, deadline_s=WAIT_S)
        screen.wait_for(lambda shown: "paused: paused" not in shown, deadline_s=WAIT_S)
        told = stage.command("pause", "demo").stdout
        assert "demo pauses at the end of this turn; `ralphloop resume demo` goes on." in told
        second.set()
        screen.wait_for("paused: paused by the person", deadline_s=WAIT_S)
        assert stage.tasks() == {"F1": "unverified", "F2": "unverified", "F3": "open"}
        other = stage.run()
        assert "`ralphloop resume demo`, or `p` in its view, goes on" in other.stderr
        assert stage.command("resume", "demo").code == 0
        screen.wait_for("session 3", deadline_s=WAIT_S)
        third.set()
        screen.wait_for("demo · complete", deadline_s=WAIT_S)
        assert screen.exit_code(deadline_s=WAIT_S) == 0
    assert stage.ending == ("ended", "complete")
    assert stage.processes() == {}


def test_ss_skips_the_task_at_hand(client_home, project):
    def answer(request):
        return bash(HANG) if task_in(request) == "F2" else next(work, text("Done."))

    work = iter([*feature_turns(1, 1), *feature_turns(3, 3)])
    root = project(list_of({}, {}, {}))
    with running(client_home, root, answer) as stage, at_terminal(stage) as screen:
        eventually(lambda: stage.pids("tail"), deadline_s=WAIT_S)
        screen.wait_for("at hand: F2", deadline_s=WAIT_S)
        screen.type("s")
        screen.wait_for("press s again to skip task F2", deadline_s=WAIT_S)
        screen.type("s")
        screen.wait_for("demo · complete", deadline_s=WAIT_S)
    assert stage.tasks() == {"F1": "unverified", "F2": "skipped", "F3": "unverified"}


def test_a_wait_is_a_countdown_in_which_ss_skips_a_task_and_w_the_wait(client_home, project):
    limited = fail(429, "This request would exceed your rate limit. Please retry after 3000 seconds.")
    with running(client_home, project(list_of({}, {})), [limited, *feature_turns(2, 2)]) as stage:
        with at_terminal(stage) as screen:
            screen.wait_for("waits 49:", deadline_s=WAIT_S)
            screen.type("\x03")
            assert screen.exit_code(deadline_s=WAIT_S) == 14
        with at_terminal(stage) as screen:
            screen.wait_for("waits 4", deadline_s=WAIT_S)
            screen.type("ss")
            eventually(lambda: stage.events("skip"), deadline_s=WAIT_S)
            screen.type("w")
            screen.wait_for("demo · complete", deadline_s=WAIT_S)
    assert stage.tasks() == {"F1": "skipped", "F2": "unverified"}
    assert stage.loop["iteration"] == 1


def test_ctrl_c_pauses_and_says_how_to_go_on(client_home, project):
    with running(client_home, project(list_of({})), lambda _: bash(HANG)) as stage:
        with at_terminal(stage) as screen:
            eventually(lambda: stage.pids("tail"), deadline_s=WAIT_S)
            screen.type("\x03")
            assert screen.exit_code(deadline_s=WAIT_S) == 17
            assert "`ralphloop run demo` goes on" in screen.text()
        assert stage.processes() == {}


def test_q_in_a_wait_leaves_at_once_and_the_run_goes_on(client_home, project):
    limited = fail(429, "This request would exceed your rate limit. Please retry after 3000 seconds.")
    with running(client_home, project(list_of({})), [limited]) as stage:
        with at_terminal(stage) as screen:
            screen.wait_for("waits 49:", deadline_s=WAIT_S)
            screen.type("q")
            assert screen.exit_code(deadline_s=WAIT_S) == 0
            assert "demo goes on without you" in screen.text()
        told = stage.command("status").stdout
        assert "waits, and goes on at " in told
        assert stage.command("cancel", "demo").code == 0
        eventually(lambda: not stage.processes())

"""SIGKILL at random instants: nothing is lost, no task is done twice, no process is left."""

from __future__ import annotations

import os
import signal
import time

import pytest

from e2e.killing import (
    AWAY,
    CLIENT,
    GUARDIAN,
    RUN,
    SUPERVISOR,
    Siege,
    tasks_to_do,
    worker,
    zombies_of,
)
from e2e.looping import bash, feature_turns
from e2e.running import list_of, running
from fakes.effort import SOAK, rounds
from fakes.patience import eventually

pytestmark = [pytest.mark.client, pytest.mark.timeout(1200 if SOAK else 400)]

ROUNDS = rounds(3, soak=25)  # of each of the first two tests; the last blow of the first comes on top
TASKS = rounds(7, soak=40)


@pytest.mark.parametrize("seed", [11, 12][: rounds(1, soak=2)])
def test_a_run_outlives_its_client_and_its_guardian(client_home, project, seed):
    victims = [(CLIENT,), (GUARDIAN,), (CLIENT, GUARDIAN)]
    with running(client_home, project(tasks_to_do(TASKS)), worker) as stage:
        siege = Siege(stage, seed)
        siege.go_on()
        (supervisor,) = siege.roles()[SUPERVISOR]
        for place in range(ROUNDS):
            stops = len(stage.events("stop"))
            siege.wait_for_an_instant()
            struck = siege.strike(victims[place % len(victims)])
            siege.await_the_end_of(struck)
            eventually(lambda before=stops: len(stage.events("stop")) > before, deadline_s=60)
            assert siege.roles()[SUPERVISOR] == [supervisor], siege.told()
            eventually(lambda: not zombies_of([supervisor]))
        siege.strike([SUPERVISOR])
        siege.await_silence()
        siege.look_at_the_files()
        siege.finish()
        siege.check_the_end(TASKS)
    print(siege.told())


@pytest.mark.parametrize("seed", [21, 22][: rounds(1, soak=2)])
def test_a_killed_run_goes_on_where_it_was(client_home, project, seed):
    # The first three have no other test; a few rounds come no further.
    victims = [
        (RUN,), (RUN, SUPERVISOR, GUARDIAN, CLIENT), (SUPERVISOR, CLIENT), (SUPERVISOR,),
        (SUPERVISOR, GUARDIAN), (RUN, SUPERVISOR), (RUN, SUPERVISOR, GUARDIAN),
    ]  # fmt: skip
    with running(client_home, project(tasks_to_do(TASKS)), worker) as stage:
        siege = Siege(stage, seed)
        for place in range(ROUNDS):
            siege.go_on()
            siege.wait_for_an_instant()
            siege.strike(victims[place % len(victims)])
            siege.await_silence()
            siege.look_at_the_files()
        siege.finish()
        siege.check_the_end(TASKS)
    print(siege.told())


def test_a_run_that_is_killed_while_it_begins_is_begun_again(client_home, project):
    """Before there is a supervisor, or just then: half a loop is none, and in nobody's way."""
    with running(client_home, project(tasks_to_do(1)), worker) as stage:
        siege = Siege(stage, 31)
        for _ in range(rounds(4, soak=20)):
            siege.start()
            time.sleep(siege.chance.uniform(0.05, 1.0))
            siege.strike([RUN, SUPERVISOR], sure=False)
            siege.await_silence()
            assert stage.command("status", "--json").code == 0, siege.told()
        siege.finish()
        assert stage.tasks() == {"F1": "proven"}
    print(siege.told())


def test_what_the_client_has_at_work_is_ended_whoever_is_killed(client_home, project):
    """By the run where supervisor and guardian die in one instant; where nobody is left, by the next run."""
    hangs = iter([bash(f"{AWAY} tail -f /dev/null")] * 2)  # a command, and one that leaves its group
    root = project(tasks_to_do(1))
    with running(client_home, root, lambda request: next(hangs, None) or worker(request)) as stage:
        siege = Siege(stage, 0)
        siege.go_on()
        eventually(lambda: len(siege.tails()) == 2)
        siege.freeze([SUPERVISOR, GUARDIAN])
        siege.strike([SUPERVISOR, GUARDIAN])
        siege.await_silence()

        siege.go_on()
        orphans = eventually(lambda: len(found := siege.tails()) == 2 and found)
        siege.freeze([RUN, SUPERVISOR, GUARDIAN])
        siege.strike([RUN, SUPERVISOR, GUARDIAN])
        siege.await_silence()
        assert orphans & siege.tails(), "somebody ended them, and this test proves nothing"
        siege.finish()
        assert not orphans & siege.tails()
        siege.check_the_end(1)
    print(siege.told())


def test_the_last_words_of_a_killed_supervisor_are_said_by_the_next_run(client_home, project):
    """The loop has ended then: no session is paid again."""
    root = project(list_of({"verify": "test -f made-1"}))
    with running(client_home, root, feature_turns(1, 1), env={"RALPHLOOP_NOTIFY": "desktop"}) as stage:
        stage.env()
        notice, held, told = (client_home.path / name for name in ("bin/notify-send", "held", "told"))
        hold = f"[ -e '{held}' ] && exec sleep 600"
        notice.write_text(f"#!/bin/sh\n{hold}\necho said >> '{told}'\n")
        notice.chmod(0o755)
        held.touch()
        process = stage.start()
        eventually(lambda: [pid for pid, words in stage.processes().items() if words[:2] == ["sleep", "600"]])
        assert stage.ending == ("ended", "complete")
        for pid in stage.pids("supervise"):
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=60)
        stage.clear_away()
        held.unlink()
        asked, sessions = len(stage.server.main_requests), len(stage.events("session"))
        for _ in range(2):
            done = stage.run()
            assert (done.code, "demo · complete" in done.stdout) == (0, True), done
        assert told.read_text() == "said\n"
        assert (len(stage.server.main_requests), len(stage.events("session"))) == (asked, sessions)

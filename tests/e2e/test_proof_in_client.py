"""Checks in the real client: honest work is proven by them, the person allows them, and Esc ends them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from e2e.client import ClientHome
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, plugin
from e2e.proving import Bench, checked, claim, feature, verify
from e2e.terminal import Terminal
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import text
from ralphloop.proof.approval import digest

pytestmark = pytest.mark.client

DIGEST = digest([verify(1), verify(2)])
ALLOW = f"`/ralphloop:approve {DIGEST}`"


@pytest.fixture
def bench(client_home: ClientHome, project: ProjectFactory) -> Bench:
    """Two features, each with a check."""
    return Bench(Outside(client_home, project(checked(feature(1), feature(2)))))


def test_honest_work_is_proven_by_edit_and_by_command_and_ends_complete(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    """The client waits for a check that takes seconds."""
    slow = "test -f waited || sleep 5; touch waited; test -f made-1"
    bench = Bench(Outside(client_home, project(checked(feature(1, verify=slow), feature(2)))))
    played = bench.play(
        [
            bash("touch made-1\n" + claim("F1")), text("F1 is made."),
            bash("touch made-2 && ralphloop done F2"), text("F2 is made."),
        ]
    )  # fmt: skip
    assert played.ending == ("ended", "complete")
    assert played.told("F2 is proven.")[3]
    assert [entry["kind"] for entry in bench.evidence()] == ["claim", "done", "final", "final"]
    assert bench.evidence()[0]["duration_s"] >= 5
    assert bench.green_at_the_end() == sorted([slow, verify(2)])
    assert [known["state"] for known in bench.ledger().values()] == ["proven", "proven"]
    assert len(played.requests) == 4
    assert any("ralphloop demo: complete: 2/2 proven" in str(event) for event in played.run.events)
    assert any("1/2 proven · next F2" in str(event) for event in played.run.events)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="only /proc tells who started a client with -p")
def test_person_approves_with_a_print_call_of_their_own(bench: Bench) -> None:
    session = bench.start("--unapproved")
    work = bash("touch made-1 made-2; ralphloop done F1; ralphloop done F2")
    played = bench.go([work, text("Both are made.")], session)
    assert played.ending == ("paused", "needs_approval")
    assert any(ALLOW in str(event) for event in played.run.events)

    played = bench.go([text("I see.")], session, prompt="/ralphloop:approve 0123456789ab", again=True)
    assert played.ending == ("paused", "needs_approval")
    assert any(ALLOW in str(event) for event in played.run.events)
    assert bench.journal("approve") == bench.evidence() == []

    played = bench.go([text("I see.")], session, prompt=f"/ralphloop:approve {DIGEST}", again=True)
    assert played.ending == ("ended", "complete")
    assert [(entry["by"], entry["digest"]) for entry in bench.journal("approve")] == [("typed", DIGEST)]
    assert bench.green_at_the_end() == [verify(1), verify(2)]
    assert len(played.requests) == 1


def test_person_approves_by_typing_into_the_terminal(bench: Bench) -> None:
    session = bench.start("--unapproved")
    work = bash("touch made-1 made-2; ralphloop done F1; ralphloop done F2")
    script = [work, text("Both are made."), text("That was another one."), text("Now it is approved.")]

    def shows(wanted: str, times: int = 1) -> None:
        terminal.wait_for(lambda screen: " ".join(screen.split()).count(wanted) == times)

    with (
        ModelServer(script) as server,
        Terminal(
            bench.outside.home, bench.root, server, session_id=session, plugin_dirs=[plugin("ralphloop")]
        ) as terminal,
    ):
        terminal.submit("begin")
        shows(ALLOW)
        terminal.submit("/ralphloop:approve 0123456789ab")
        shows(ALLOW, times=2)
        shows("That was another one.")
        assert bench.journal("approve") == bench.evidence() == []
        terminal.submit(f"/ralphloop:approve {DIGEST}")
        shows("Now it is approved.")
        shows("ralphloop demo: complete: 2/2 proven")
    assert [entry["by"] for entry in bench.journal("approve")] == ["typed"]
    assert bench.outside.loop["outcome"] == "complete"
    assert bench.outside.errors() == ""


def test_esc_while_a_check_runs_ends_its_processes_and_pauses_the_loop(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    """The claim is judged once the loop goes on again."""
    files = checked(feature(1, verify="sh tests/slow.sh"), feature(2))
    files["tests/slow.sh"] = "test -f fast && exit 1; sleep 300 & echo $! $$ > pids; wait\n"
    settings = client_home.path / ".config/ralphloop/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("try_s = 0\n")  # it would take all of the time there is before the start
    bench = Bench(Outside(client_home, project(files)))
    session = bench.start("--yes")
    script = [bash(claim("F1")), text("F1 is made."), text("Hello to you."), text("On I go.")]
    with (
        ModelServer(script) as server,
        Terminal(
            client_home, bench.root, server, session_id=session, plugin_dirs=[plugin("ralphloop")]
        ) as terminal,
    ):
        terminal.submit("begin")
        terminal.wait_for(lambda _: len(pids(bench.root)) == 2)
        running = pids(bench.root) + above(pids(bench.root)[-1])
        assert len(running) > 3
        terminal.press("esc")
        terminal.wait_for("Interrupted")
        terminal.wait_for(lambda _: not any(map(is_alive, running)))
        terminal.submit("hello")
        terminal.wait_for("Hello to you.")
        terminal.wait_for("paused (interrupted)")
        assert (bench.outside.loop["state"], bench.outside.loop["outcome"]) == ("paused", "interrupted")
        assert bench.evidence() == []
        (bench.root / "fast").touch()
        bench.outside.ralphloop("resume")
        terminal.submit("go on")
        server.wait_for_requests(5)
    assert [(entry["green"], entry["exit_code"]) for entry in bench.evidence()] == [(False, 1)]
    assert bench.passes() == {"F1": False, "F2": False}
    assert bench.outside.errors() == ""


def pids(root: Path) -> list[int]:
    file = root / "pids"
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def above(pid: int) -> list[int]:
    """The processes between a check and the client: its shell, its keeper, the hook."""
    found = []
    while "ralphloop" not in command_of(pid) or "launch.py" not in command_of(pid):
        pid = int(ask_ps(pid, "ppid="))
        found.append(pid)
    return found


def command_of(pid: int) -> str:
    return ask_ps(pid, "args=")


def ask_ps(pid: int, field: str) -> str:
    return subprocess.run(
        ["ps", "-ww", "-o", field, "-p", str(pid)], capture_output=True, text=True, check=True
    ).stdout


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

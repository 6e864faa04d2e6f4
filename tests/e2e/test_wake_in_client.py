"""Rate limits and outages in the real client's terminal: the hook waits, and wakes the session."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from e2e.client import ClientHome
from e2e.conftest import ProjectFactory, make_home, make_project
from e2e.looping import Outside, feature_turns, features, plugin
from e2e.terminal import Terminal
from fakes.effort import rounds
from fakes.patience import eventually
from ralphloop.agents.claude import program as claude
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(300)]

PACKAGE = Path(claude.__file__).parents[1]
NOTE = "An API error ended your last turn"
LIMIT = fail(429, "Rate limit reached, try again in 1 second")
LONG = fail(429, "Rate limit reached, try again in 1 hour")
# The client asks at once when a hook wakes it. Who could do so has left in these tests, long before its time.
NOT_WOKEN_S = 3.0
QUICK = {"CLAUDE_CODE_MAX_RETRIES": "0", "RALPHLOOP_RESET_MARGIN": "0s", "RALPHLOOP_BACKOFF": "1s"}


Build = Callable[[int, list[Reply]], "Stage"]


class Stage:
    """A client on a loop of a few features, and the moments at which it asked the model."""

    def __init__(self, outside: Outside, script: list[Reply]) -> None:
        self.outside = outside
        self.session = str(uuid.uuid4())
        self.asked: list[tuple[float, Reply]] = []
        self._left = iter(script)
        outside.ralphloop("start", "demo", "--session", self.session)

    def answer(self, _request: ModelRequest) -> Reply:
        reply = next(self._left, text("Nothing left to say."))
        self.asked.append((time.time(), reply))
        return reply

    @contextmanager
    def open(self, **options: Any) -> Iterator[tuple[Terminal, ModelServer]]:
        given = {"plugin_dirs": [plugin("ralphloop")], "session_id": self.session, "env": QUICK, **options}
        home, root = self.outside.home, self.outside.root
        with ModelServer(self.answer) as server, Terminal(home, root, server, **given) as terminal:
            terminal.submit("begin")
            yield terminal, server
        assert self.outside.errors() == ""

    def journal(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.outside.journal() if entry["event"] == event]

    def status(self) -> dict[str, Any]:
        (view,) = json.loads(self.outside.ralphloop("status", "--json"))["loops"]
        return dict(view)

    def waker(self, terminal: Terminal) -> int:
        """The process that waits, once `status` names it."""
        found: list[int] = []

        def is_there(_: str) -> bool:
            found[:] = [self.status()["waker"]]
            return found != [None]

        terminal.wait_for(is_there)
        return found[0]

    def are_sat_out(self, count: int) -> bool:
        """So many errors were met, and nothing was asked before the time that was set for each."""
        due = [entry["resume_at"] for entry in self.journal("stop_failure")]
        again = [at for (_, reply), (at, _) in pairwise(self.asked) if reply.error]
        return len(due) == count and all(at >= moment for at, moment in zip(again, due, strict=True))


@pytest.fixture
def staged(client_home: ClientHome, project: ProjectFactory) -> Build:
    def build(count: int, script: list[Reply]) -> Stage:
        return Stage(Outside(client_home, project(features(count))), script)

    return build


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pid: int) -> None:
    eventually(lambda: not is_alive(pid), what="the waker is still there")


def texts(request: ModelRequest) -> str:
    return "\n".join(request.texts)


@dataclass(frozen=True)
class Woken:
    """A session that met one limit after the other, and the requests that it made."""

    stage: Stage
    requests: list[ModelRequest]
    limits: int


@pytest.fixture(scope="module")
def woken(claude_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Woken:
    """Limits with a reset time, a storm of two overloads, and a limit at which Esc is pressed."""
    folder = tmp_path_factory.mktemp("woken")
    limits = rounds(2, soak=10)
    total = limits + 3
    turns = feature_turns(1, total)
    script = turns[:2]
    for place in range(2, 2 * limits + 2, 2):
        script += [LIMIT, *turns[place : place + 2]]
    script += [
        *[fail(529, "Overloaded")] * 2,
        *turns[-4:-2],
        fail(429, "try again in 8 seconds"),
        *turns[-2:],
    ]
    outside = Outside(make_home(folder, claude_binary), make_project(folder, features(total)))
    stage = Stage(outside, script)
    with stage.open() as (terminal, server):
        terminal.wait_for(lambda _: len(stage.journal("wake")) == limits + 2, 150)
        terminal.wait_for(lambda _: len(stage.journal("stop_failure")) == limits + 3)
        stage.waker(terminal)
        terminal.press("esc")
        terminal.wait_for(f"complete: {total}/{total} done", 60)
        return Woken(stage, server.main_requests, limits)


def test_a_429_with_a_reset_time_is_sat_out_and_the_loop_completes(woken: Woken) -> None:
    assert texts(woken.requests[3]).count(NOTE) == 1
    assert texts(woken.requests[3]).count(f"iteration 2 of {3 * (woken.limits + 3)}: go on with task F2") >= 1
    assert woken.stage.journal("wake")[0]["task"] == "F2"
    assert woken.stage.outside.loop["outcome"] == "complete"
    assert woken.stage.are_sat_out(woken.limits + 3)


def test_a_storm_of_529_is_sat_out_with_waits_that_double(woken: Woken) -> None:
    storm = woken.stage.journal("wake")[woken.limits : -1]
    assert [entry["failures"] for entry in storm] == [1, 2]


def test_many_wakes_in_one_session(woken: Woken) -> None:
    assert [entry["failures"] for entry in woken.stage.journal("wake")[: woken.limits]] == [1] * woken.limits
    assert woken.stage.outside.loop["iteration"] == woken.limits + 3
    # two for each feature, and one for each error
    assert len(woken.requests) == 2 * (woken.limits + 3) + woken.limits + 3


def test_escape_does_not_keep_the_loop_asleep(woken: Woken) -> None:
    assert [entry["failures"] for entry in woken.stage.journal("wake")[-1:]] == [1]
    assert len(woken.stage.journal("wake")) == woken.limits + 3


def test_a_message_while_it_waits_goes_on_at_once_and_nothing_wakes_later(staged: Build) -> None:
    """Nor is the session woken that comes after a clear."""
    stage = staged(3, [*feature_turns(1, 1), LONG, text("Here I am."), *feature_turns(2, 2), LONG])
    with stage.open() as (terminal, server):
        first = stage.waker(terminal)
        terminal.submit("are you there?")
        wait_until_gone(first)
        second = stage.waker(terminal)
        assert second != first
        assert len(server.main_requests) == 7
        terminal.submit("/clear")
        wait_until_gone(second)
        time.sleep(NOT_WOKEN_S)
        assert len(server.main_requests) == 7
    assert stage.outside.loop["iteration"] == 4
    assert stage.journal("wake") == []
    assert not any(NOTE in texts(request) for request in server.main_requests)


def test_a_refused_login_is_not_waited_for_and_a_cancelled_loop_wakes_nobody(staged: Build) -> None:
    stage = staged(2, [*feature_turns(1, 1), fail(401, "nobody"), LONG])
    with stage.open() as (terminal, server):
        terminal.wait_for(lambda _: stage.outside.loop["outcome"] == "failed")
        assert stage.journal("wake") == []
        told = stage.outside.ralphloop("status").replace("\n  ", " ")
        assert "why: the login was refused: " in told
        assert "log in with `claude /login`, or renew the key; then `ralphloop resume demo` goes on." in told
        stage.outside.ralphloop("resume")
        terminal.submit("go on")
        pid = stage.waker(terminal)
        stage.outside.ralphloop("cancel", "demo")
        wait_until_gone(pid)
        time.sleep(NOT_WOKEN_S)
        assert len(server.main_requests) == 4
    assert stage.journal("wake") == []


@pytest.mark.parametrize("way", ["/exit", "kill -9"])
def test_the_end_of_the_client_leaves_no_process(staged: Build, way: str) -> None:
    stage = staged(2, [LONG])
    with stage.open() as (terminal, _):
        pid = stage.waker(terminal)
        if way == "/exit":
            terminal.type("/exit\r")
        else:
            os.kill(parent_of(pid), 9)
        wait_until_gone(pid)
    assert stage.outside.loop["outcome"] == "rate_limited"
    assert stage.status()["waker"] is None


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_two_registrations_wake_the_session_once(staged: Build) -> None:
    stage = staged(2, [*feature_turns(1, 1), LIMIT, *feature_turns(2, 2)])
    settings = claude.hook_settings(claude.hook_command(str(PACKAGE)))
    with stage.open(settings=settings) as (terminal, server):
        terminal.wait_for("complete: 2/2 done", 60)
        time.sleep(NOT_WOKEN_S)
        requests = server.main_requests
    assert len(requests) == 5
    assert sum(NOTE in said for said in requests[-1].texts) == 1
    assert len(stage.journal("wake")) == 1


def test_switched_off_nothing_wakes(staged: Build) -> None:
    stage = staged(2, [LIMIT])
    with stage.open(env={**QUICK, "RALPHLOOP_WAKE": "false"}) as (terminal, server):
        terminal.wait_for(lambda _: stage.outside.loop["outcome"] == "rate_limited")
        time.sleep(4.0)
        assert len(server.main_requests) == 1
    assert stage.status()["waker"] is None

"""Plan mode and quick mode in the real client: a loop waits for the one, and ends the other by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from e2e.client import ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, feature_turns, features, plugin
from e2e.terminal import Terminal
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, call, text

pytestmark = pytest.mark.client

OPTIONS = {"plugin_dirs": [plugin("ralphloop")]}
WAITS = "waits for plan mode to end"
DIALOG = "Exit plan mode?"


@pytest.fixture
def armed(client_home: ClientHome, project: ProjectFactory) -> Outside:
    """Two features that wait for the next session."""
    outside = Outside(client_home, project(features(2)))
    outside.ralphloop("start", "demo")
    return outside


def test_print_run_in_plan_mode_leaves_the_loop_to_the_next_session(armed: Outside) -> None:
    with ModelServer([text("Here is a plan.")]) as server:
        planned = run_print(armed.home, armed.root, "begin", server, permission_mode="plan", **OPTIONS)
        assert len(server.main_requests) == 1
    assert planned.result["is_error"] is False
    assert len([event for event in planned.of_type("system") if WAITS in str(event)]) == 1
    assert (armed.loop["state"], armed.loop["outcome"], armed.loop["iteration"]) == ("waiting", None, 1)
    assert WAITS in armed.ralphloop("status")
    with ModelServer(feature_turns(1, 2)) as server:
        run_print(armed.home, armed.root, "go on", server, **OPTIONS)
    assert (armed.loop["state"], armed.loop["outcome"]) == ("ended", "complete")
    assert armed.errors() == ""


def test_the_same_session_goes_on_after_its_print_run_in_plan_mode(armed: Outside) -> None:
    with ModelServer([text("Here is a plan."), *feature_turns(1, 2)]) as server:
        planned = run_print(armed.home, armed.root, "begin", server, permission_mode="plan", **OPTIONS)
        again = ["--resume", planned.result["session_id"]]
        run_print(armed.home, armed.root, "go on", server, args=again, **OPTIONS)
    assert (armed.loop["owner"], armed.loop["outcome"]) == (planned.result["session_id"], "complete")


def claims() -> list[Reply]:
    """One turn per feature, by a command that the loop's own hook lets through in any mode."""
    return [reply for n in (1, 2) for reply in (bash(f"ralphloop done F{n}"), text(f"Feature {n} is made."))]


@contextmanager
def planning(outside: Outside, *script: Reply) -> Iterator[Terminal]:
    """A terminal in plan mode."""
    options = {"permission_mode": "plan", **OPTIONS}
    with (
        ModelServer([*script, *claims()]) as server,
        Terminal(outside.home, outside.root, server, **options) as terminal,
    ):
        yield terminal


def press_until(terminal: Terminal, key: str, holds: Callable[[str], bool]) -> None:
    """A dialog that has just come up may not hear the first key."""
    for _ in range(10):
        terminal.press(key)
        with suppress(AssertionError):
            terminal.wait_for(holds, 3.0)
            return
    raise AssertionError(terminal.screen_text())


def stops(outside: Outside) -> list[tuple[str, str]]:
    return [(entry["decision"], entry["rule"]) for entry in outside.journal() if entry["event"] == "stop"]


def test_terminal_in_plan_mode_waits_says_so_and_goes_on_after_it(armed: Outside) -> None:
    with planning(armed, text("Here is a plan.")) as terminal:
        terminal.submit("begin")
        screen = terminal.wait_for(WAITS)
        assert screen.count(WAITS) == 1
        assert (armed.loop["state"], armed.loop["outcome"]) == ("waiting", None)
        terminal.press("shift+tab")
        terminal.wait_for(lambda screen: "plan mode on" not in screen)
        terminal.submit("go on")
        terminal.wait_for(lambda _: armed.loop["outcome"] == "complete")
    assert stops(armed) == [("allow", "plan_mode"), ("continue", "go_on"), ("allow", "complete")]


def test_plan_that_was_sent_back_and_then_approved_goes_on(armed: Outside) -> None:
    """What the person answers to a plan is an interrupt in the transcript, and none of the loop's."""
    plan = call("ExitPlanMode", plan="1. Make the files.")
    with planning(armed, text("Let me think."), plan, plan) as terminal:
        terminal.submit("begin")
        terminal.wait_for(WAITS)
        terminal.submit("show it")
        terminal.wait_for(DIALOG)
        press_until(terminal, "down", lambda screen: "❯ 2. No" in screen)
        press_until(terminal, "enter", lambda screen: DIALOG not in screen)
        terminal.submit("once more")
        terminal.wait_for(DIALOG)
        press_until(terminal, "enter", lambda screen: DIALOG not in screen)
        terminal.wait_for(lambda _: armed.loop["outcome"] == "complete")
    assert stops(armed) == [("allow", "plan_mode"), ("continue", "go_on"), ("allow", "complete")]


def quick_replies(root: Path, count: int) -> list[Reply]:
    """A model that writes one document after the other and never goes on to the next phase."""
    documents = ("research", "requirements", "design", "tasks")
    written = [
        reply
        for name in documents
        for reply in (
            call("Write", file_path=str(root / f"specs/demo-page/{name}.md"), content=f"# {name}\n"),
            text(f"The {name} is written."),
        )
    ]
    return [*written, *[text(f"I have written it all, {n}.") for n in range(count)]]


def test_quick_mode_of_an_agent_that_only_writes_documents_ends_by_name_below_the_cap(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    outside = Outside(client_home, project({"README.md": "x\n"}))
    with ModelServer(quick_replies(outside.root, 20)) as server:
        run = run_print(
            client_home,
            outside.root,
            "/ralph-specum:start demo-page A page --quick",
            server,
            plugin_dirs=[plugin("ralph-specum")],
        )
        requests = server.main_requests
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "stalled")
    assert "overriding and ending turn" not in str(run.events)
    stopped = [entry for entry in outside.journal() if entry["event"] == "stop"]
    assert 3 <= len(stopped) <= 7
    assert requests[-1].mentions("ralphloop specum requirements` (`/ralph-specum:requirements`) now")
    assert requests[-1].mentions("specs/demo-page/research.md exists, so the research phase is written")
    assert outside.errors() == ""


def test_clear_is_told_to_the_session_that_comes_after_it(armed: Outside) -> None:
    with planning(armed, text("Here is a plan.")) as terminal:
        terminal.submit("begin")
        terminal.wait_for(WAITS)
        terminal.submit("/clear")
        terminal.wait_for("paused by /clear. `/ralphloop:resume demo --adopt` goes on")
    assert (armed.loop["state"], armed.loop["outcome"]) == ("paused", "interrupted")

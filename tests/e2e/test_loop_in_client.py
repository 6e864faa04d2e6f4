"""ralphloop's own hook in the real client: each layout from the first prompt to its end."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.client import COMPACTION_ENV, ClientHome, filling_context, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import (
    SPECKIT_STATE,
    SPECUM_STATE,
    TASKS,
    Outside,
    bash,
    box_turns,
    feature_turns,
    features,
    plugin,
)
from e2e.terminal import Terminal
from ralphloop.testing.model_server import ModelServer
from ralphloop.testing.reply import Reply, call, fail, text

pytestmark = pytest.mark.client


@pytest.fixture
def looped(client_home: ClientHome, project: ProjectFactory) -> Callable[[dict[str, str]], Outside]:
    return lambda files: Outside(client_home, project(files))


def start(outside: Outside, *flags: str) -> str:
    session = str(uuid.uuid4())
    outside.ralphloop("start", "demo", "--session", session, *flags)
    return session


def spec_files(layout: str) -> tuple[dict[str, str], Path, Path, dict[str, object]]:
    """The files of a spec before execution, its state file, its tasks, and the state that begins it."""
    if layout == "specum":
        files = {"specs/.current-spec": "demo\n", "specs/demo/tasks.md": TASKS}
        return files, Path("specs/demo/.ralph-state.json"), Path("specs/demo/tasks.md"), SPECUM_STATE
    folder = Path(".specify/specs/001-demo")
    files = {".specify/.current-feature": "001-demo\n", f"{folder}/tasks.md": TASKS}
    return files, folder / ".speckit-state.json", folder / "tasks.md", SPECKIT_STATE


def spec_script(root: Path, state: Path, tasks: Path, begun: dict[str, object]) -> list[Reply]:
    """The session begins execution itself, by writing the state; then a task a turn."""
    begin = call("Write", file_path=str(root / state), content=json.dumps(begun, indent=2))
    return [begin, text("Execution begins."), *box_turns(tasks, "1.1", "1.2", "1.3")]


def test_features_run_from_first_prompt_to_completion_in_print_mode(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    outside = looped(features(3))
    session = start(outside)
    with ModelServer(feature_turns(1, 3)) as server:
        run = run_print(
            outside.home, outside.root, "begin", server, session_id=session, plugin_dirs=[plugin("ralphloop")]
        )
    assert (run.exit_code, run.result["is_error"]) == (0, False)
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "complete")
    assert [request.mentions("go on with task F2") for request in server.main_requests][2]
    assert any("complete: 3/3 done" in str(event) for event in run.events)
    assert outside.errors() == ""


def test_features_run_from_first_prompt_to_completion_in_the_terminal(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    outside = looped(features(3))
    outside.ralphloop("start", "demo")
    with (
        ModelServer(feature_turns(1, 3)) as server,
        Terminal(outside.home, outside.root, server, plugin_dirs=[plugin("ralphloop")]) as terminal,
    ):
        terminal.submit("begin")
        terminal.wait_for("ralphloop demo: complete: 3/3 done")
    assert outside.loop["outcome"] == "complete"
    assert [entry["event"] for entry in outside.journal()][:2] == ["arm", "bind"]
    assert outside.errors() == ""


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_spec_runs_from_first_prompt_to_completion_in_print_mode(
    looped: Callable[[dict[str, str]], Outside], layout: str
) -> None:
    files, state, tasks, begun = spec_files(layout)
    outside = looped(files)
    with ModelServer(spec_script(outside.root, state, tasks, begun)) as server:
        run = run_print(
            outside.home, outside.root, "implement", server, plugin_dirs=[plugin(f"ralph-{layout}")]
        )
    assert run.result["is_error"] is False
    assert (outside.loop["layout"], outside.loop["outcome"]) == (layout, "complete")
    assert json.loads((outside.root / state).read_text())["taskIndex"] == 3
    assert any(f"Ralph-{layout} iteration 2 | Task 1/3" in str(event) for event in run.events)
    assert outside.errors() == ""


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_spec_runs_from_first_prompt_to_completion_in_the_terminal(
    looped: Callable[[dict[str, str]], Outside], layout: str
) -> None:
    files, state, tasks, begun = spec_files(layout)
    outside = looped(files)
    with (
        ModelServer(spec_script(outside.root, state, tasks, begun)) as server,
        Terminal(outside.home, outside.root, server, plugin_dirs=[plugin(f"ralph-{layout}")]) as terminal,
    ):
        terminal.submit("implement")
        terminal.wait_for("Task 1.3 is done.")
        terminal.wait_for(lambda _: outside.loops() != [] and outside.loop["outcome"] == "complete")
    assert outside.errors() == ""


@pytest.mark.parametrize(("mode", "count"), [("print", 10), ("terminal", 25)])
def test_many_continuations_in_one_turn_go_through(
    looped: Callable[[dict[str, str]], Outside], mode: str, count: int
) -> None:
    """With a tool call in each, the client's own cap of 8 does not bite (fact 24)."""
    total = count + 1
    outside = looped(features(total))
    session = start(outside)
    with ModelServer(feature_turns(1, total)) as server:
        if mode == "print":
            run_print(
                outside.home, outside.root, "begin", server,
                session_id=session, plugin_dirs=[plugin("ralphloop")], timeout_s=100,
            )  # fmt: skip
        else:
            options = {"session_id": session, "plugin_dirs": [plugin("ralphloop")]}
            with Terminal(outside.home, outside.root, server, **options) as terminal:
                terminal.submit("begin")
                terminal.wait_for(f"complete: {total}/{total} done", deadline_s=100)
    stops = [entry for entry in outside.journal() if entry["event"] == "stop"]
    assert [entry["decision"] for entry in stops] == ["continue"] * count + ["allow"]
    assert len({entry["prompt"] for entry in stops}) == 1
    assert outside.loop["outcome"] == "complete"


def digest(root: Path) -> dict[str, tuple[str, int]]:
    files = [path for path in sorted((root / ".ralph").rglob("*")) if path.is_file()]
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files
    }


@pytest.mark.parametrize("mode", ["print", "terminal"])
def test_second_session_in_the_project_stops_undisturbed(
    looped: Callable[[dict[str, str]], Outside], mode: str
) -> None:
    outside = looped(features(3))
    start(outside)
    before = digest(outside.root)
    with ModelServer([bash("ls"), text("The other session is done.")]) as server:
        if mode == "print":
            run = run_print(
                outside.home, outside.root, "something else", server, plugin_dirs=[plugin("ralphloop")]
            )
            assert run.result["result"] == "The other session is done."
        else:
            options = {"plugin_dirs": [plugin("ralphloop")]}
            with Terminal(outside.home, outside.root, server, **options) as terminal:
                terminal.submit("something else")
                terminal.wait_for("The other session is done.")
                terminal.submit("and again")
                terminal.wait_for(lambda _: len(server.main_requests) == 3)
    assert len(server.main_requests) == (2 if mode == "print" else 3)
    assert digest(outside.root) == before


@pytest.mark.parametrize("when", ["in mid-reply", "before the first word"])
def test_esc_then_another_prompt_pauses_the_loop_and_does_not_reenter(
    looped: Callable[[dict[str, str]], Outside], when: str
) -> None:
    outside = looped(features(3))
    session = start(outside)
    held = threading.Event()
    broken = text("half a sentence")
    broken = broken.held_midway(held) if when == "in mid-reply" else broken.held(held)
    script = [*feature_turns(1, 1), broken, text("Hello to you."), text("And to you.")]
    with ModelServer(script) as server:
        options = {"session_id": session, "plugin_dirs": [plugin("ralphloop")]}
        with Terminal(outside.home, outside.root, server, **options) as terminal:
            terminal.submit("begin")
            server.wait_for_requests(3)
            if when == "in mid-reply":
                terminal.wait_for("half a sentence")
            terminal.press("esc")
            terminal.wait_for(lambda _: terminal.input_text() is not None)
            held.set()
            _clear_input(terminal)
            terminal.submit("hello")
            terminal.wait_for(says_that_it_rests)
            assert (outside.loop["state"], outside.loop["outcome"]) == ("paused", "interrupted")
            terminal.submit("hello again")
            terminal.wait_for("And to you.")
            server.wait_for_requests(5)
    assert len(server.main_requests) == 5
    assert outside.loop["iteration"] == 2
    assert outside.errors() == ""


def says_that_it_rests(screen: str) -> bool:
    """With the message itself where the transcript shows the interrupt, else at that message's stop."""
    return "paused (interrupted)" in screen or "paused, because you interrupted it" in screen


def _clear_input(terminal: Terminal) -> None:
    """A prompt that Esc took back stands in the input box again."""
    for _ in range(3):
        if terminal.input_text():
            terminal.type("\x15")
            terminal.wait_for(lambda _: not terminal.input_text(), 5.0)


def test_cancel_from_another_terminal_holds_at_the_next_stop(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    outside = looped(features(3))
    session = start(outside)
    held = threading.Event()
    script = [*feature_turns(1, 1), text("still at it").held_midway(held)]
    with ModelServer(script, default="never asked") as server:
        options = {"session_id": session, "plugin_dirs": [plugin("ralphloop")]}
        with Terminal(outside.home, outside.root, server, **options) as terminal:
            terminal.submit("begin")
            terminal.wait_for("still at it")
            outside.ralphloop("cancel", "demo")
            held.set()
            terminal.submit("anything else?")
            terminal.wait_for("never asked")
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "cancelled")
    assert len(server.main_requests) == 4
    assert not any("go on with task F3" in said for request in server.requests for said in request.texts)


@pytest.mark.parametrize("mode", ["print", "terminal"])
def test_compaction_in_mid_loop_keeps_going_with_the_task_put_back(
    looped: Callable[[dict[str, str]], Outside], mode: str
) -> None:
    outside = looped(features(4))
    session = start(outside)
    turns = feature_turns(1, 4)
    turns[5] = filling_context(turns[5])
    options = {"session_id": session, "plugin_dirs": [plugin("ralphloop")], "env": COMPACTION_ENV}
    with ModelServer(turns) as server:
        if mode == "print":
            run_print(outside.home, outside.root, "begin", server, **options)
        else:
            with Terminal(outside.home, outside.root, server, **options) as terminal:
                terminal.submit("begin")
                terminal.wait_for("complete: 4/4 done", deadline_s=60)
    assert outside.loop["outcome"] == "complete"
    assert [entry["task"] for entry in outside.journal() if entry["event"] == "compact"] == ["F4"]
    after = server.main_requests[6]
    assert any("SessionStart" in said and "go on with task F4" in said for said in after.texts)


@pytest.mark.parametrize("mode", ["print", "terminal"])
def test_429_ends_rate_limited_and_never_in_a_hot_loop(
    looped: Callable[[dict[str, str]], Outside], mode: str
) -> None:
    outside = looped(features(3))
    session = start(outside)
    script = [*feature_turns(1, 1), *[fail(429, "Rate limit reached, resets 7pm (Asia/Tokyo)")] * 5]
    options = {
        "session_id": session,
        "plugin_dirs": [plugin("ralphloop")],
        "env": {"CLAUDE_CODE_MAX_RETRIES": "0"},
    }
    with ModelServer(script) as server:
        if mode == "print":
            run = run_print(outside.home, outside.root, "begin", server, **options)
            assert run.result["is_error"] is True
        else:
            with Terminal(outside.home, outside.root, server, **options) as terminal:
                terminal.submit("begin")
                terminal.wait_for(lambda _: outside.loop["outcome"] == "rate_limited")
    assert outside.loop["outcome"] == "rate_limited"
    assert outside.loop["resume_at"] is not None
    assert len(server.main_requests) == 3
    assert outside.errors() == ""


def test_loop_goes_on_by_itself_at_the_next_stop_after_a_rate_limit(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    outside = looped(features(2))
    session = start(outside)
    script = [*feature_turns(1, 1), fail(429, "slow down"), text("Back again."), *feature_turns(2, 2)]
    with ModelServer(script) as server:
        options = {"session_id": session, "plugin_dirs": [plugin("ralphloop")]}
        with Terminal(
            outside.home, outside.root, server, env={"CLAUDE_CODE_MAX_RETRIES": "0"}, **options
        ) as terminal:
            terminal.submit("begin")
            terminal.wait_for(lambda _: outside.loop["outcome"] == "rate_limited")
            terminal.submit("go on")
            terminal.wait_for("complete: 2/2 done")
    assert outside.loop["outcome"] == "complete"

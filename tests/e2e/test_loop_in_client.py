"""ralphloop's own hook in the real client: each layout from the first prompt to its end."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.client import COMPACTION_ENV, ClientHome, filling_context, run_print
from e2e.conftest import ProjectFactory, make_home, make_project
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
from fakes.effort import rounds
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, call, fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(240)]

TOTAL = rounds(9, soak=25) + 2  # one more is continued after a compaction, and the last one ends the loop
UNTRIED = {"CLAUDE_CODE_MAX_RETRIES": "0"}


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


@dataclass(frozen=True)
class Whole:
    """A list that one prompt has worked through, and what was shown of it: the events, or the screen."""

    outside: Outside
    requests: list[ModelRequest]
    shown: str


@pytest.fixture(scope="module", params=["print", "terminal"])
def whole(
    request: pytest.FixtureRequest, claude_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Whole:
    """The context is full when the last feature but one is made."""
    folder = tmp_path_factory.mktemp("whole")
    outside = Outside(make_home(folder, claude_binary), make_project(folder, features(TOTAL)))
    turns = feature_turns(1, TOTAL)
    turns[-3] = filling_context(turns[-3])
    options = {"plugin_dirs": [plugin("ralphloop")], "env": COMPACTION_ENV}
    with ModelServer(turns) as server:
        if request.param == "print":
            options |= {"session_id": start(outside), "timeout_s": 100}
            run = run_print(outside.home, outside.root, "begin", server, **options)
            assert (run.exit_code, run.result["is_error"]) == (0, False)
            return Whole(outside, server.main_requests, str(run.events))
        outside.ralphloop("start", "demo")
        with Terminal(outside.home, outside.root, server, **options) as terminal:
            terminal.submit("begin")
            screen = terminal.wait_for(f"ralphloop demo: complete: {TOTAL}/{TOTAL} done", deadline_s=100)
        assert [entry["event"] for entry in outside.journal()][:2] == ["arm", "bind"]
        return Whole(outside, server.main_requests, screen)


def test_features_run_from_first_prompt_to_completion(whole: Whole) -> None:
    assert (whole.outside.loop["state"], whole.outside.loop["outcome"]) == ("ended", "complete")
    assert [request.mentions("go on with task F2") for request in whole.requests][2]
    assert f"complete: {TOTAL}/{TOTAL} done" in whole.shown
    assert whole.outside.errors() == ""


def test_many_continuations_in_one_turn_go_through(whole: Whole) -> None:
    """With a tool call in each, the client's own cap of 8 does not bite (fact 24)."""
    stops = [entry for entry in whole.outside.journal() if entry["event"] == "stop"]
    assert [entry["decision"] for entry in stops] == ["continue"] * (TOTAL - 1) + ["allow"]
    assert len({entry["prompt"] for entry in stops}) == 1


def test_compaction_in_mid_loop_keeps_going_with_the_task_put_back(whole: Whole) -> None:
    compacted = [entry["task"] for entry in whole.outside.journal() if entry["event"] == "compact"]
    assert compacted == [f"F{TOTAL}"]
    after = whole.requests[-2]
    assert any("SessionStart" in said and f"go on with task F{TOTAL}" in said for said in after.texts)


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


def test_specs_run_from_first_prompt_to_completion_in_the_terminal(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    """One after the other in one session, with both plugins."""
    specs = {layout: spec_files(layout) for layout in ("specum", "speckit")}
    outside = looped({path: text for files, *_ in specs.values() for path, text in files.items()})
    script = [reply for _, *spec in specs.values() for reply in spec_script(outside.root, *spec)]
    options = {"plugin_dirs": [plugin(f"ralph-{layout}") for layout in specs]}
    with ModelServer(script) as server, Terminal(outside.home, outside.root, server, **options) as terminal:
        for layout in specs:
            terminal.submit(f"implement the {layout}")
            terminal.wait_for(lambda _, at=layout: (at, "complete") in endings(outside))
            terminal.wait_for("Task 1.3 is done.")
    assert sorted(endings(outside)) == [("speckit", "complete"), ("specum", "complete")]
    assert outside.errors() == ""


def endings(outside: Outside) -> list[tuple[str, str | None]]:
    return [(loop["layout"], loop["outcome"]) for loop in outside.loops()]


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


def test_what_the_person_breaks_off_is_not_entered_again(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    """Esc in mid-reply pauses the loop, Esc before the first word does, and a cancel elsewhere ends it."""
    outside = looped(features(3))
    session = start(outside)
    midway, unheard, cancelled = (threading.Event() for _ in range(3))
    small_talk = [text("Hello to you."), text("And to you.")]
    script = [
        *feature_turns(1, 1), text("half a sentence").held_midway(midway), *small_talk,
        text("On I go."), text("Never said.").held(unheard), *small_talk,
        text("still at it").held_midway(cancelled),
    ]  # fmt: skip
    options = {"session_id": session, "plugin_dirs": [plugin("ralphloop")]}
    with (
        ModelServer(script, default="never asked") as server,
        Terminal(outside.home, outside.root, server, **options) as terminal,
    ):

        def break_off(held: threading.Event, *, hello: str, iteration: int) -> None:
            asked = len(server.main_requests)
            terminal.press("esc")
            terminal.wait_for(lambda _: terminal.input_text() is not None)
            held.set()
            _clear_input(terminal)
            terminal.submit(hello)
            terminal.wait_for(lambda screen: says_that_it_rests(screen.rpartition(hello)[2]))
            assert (outside.loop["state"], outside.loop["outcome"]) == ("paused", "interrupted"), hello
            terminal.submit(f"again, {hello}")
            terminal.wait_for(lambda screen: is_answered(screen.rpartition(f"again, {hello}")[2]))
            assert len(server.wait_for_requests(asked + 2)) == asked + 2, hello
            assert outside.loop["iteration"] == iteration, hello

        terminal.submit("begin")
        terminal.wait_for("half a sentence")
        break_off(midway, hello="hello", iteration=2)
        outside.ralphloop("resume")
        terminal.submit("go on")
        server.wait_for_requests(7)
        break_off(unheard, hello="good day", iteration=3)
        outside.ralphloop("resume")
        terminal.submit("go on")
        terminal.wait_for("still at it")
        outside.ralphloop("cancel", "demo")
        cancelled.set()
        terminal.submit("anything else?")
        terminal.wait_for("never asked")
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "cancelled")
    assert len(server.main_requests) == 11
    assert not any("go on with task" in said for said in server.main_requests[-1].new_texts)
    assert not any("go on with task F3" in said for request in server.requests for said in request.texts)
    assert outside.errors() == ""


def is_answered(screen: str) -> bool:
    """The turn is over too, with its stop."""
    return "And to you." in screen and " · done " in screen.partition("And to you.")[2]


def says_that_it_rests(screen: str) -> bool:
    """With the message itself where the transcript shows the interrupt, else at that message's stop."""
    return "paused (interrupted)" in screen or "paused, because you interrupted it" in screen


def _clear_input(terminal: Terminal) -> None:
    """A prompt that Esc took back stands in the input box again."""
    for _ in range(3):
        if terminal.input_text():
            terminal.type("\x15")
            terminal.wait_for(lambda _: not terminal.input_text(), 5.0)


LIMITED = fail(429, "Rate limit reached, resets 7pm (Asia/Tokyo)")


def is_limited(outside: Outside, server: ModelServer) -> bool:
    """Rate limited, and asked no more often than the script was."""
    assert (outside.loop["outcome"], len(server.main_requests)) == ("rate_limited", 3)
    return outside.loop["resume_at"] is not None


def test_429_ends_rate_limited_and_never_in_a_hot_loop(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    outside = looped(features(3))
    options = {"session_id": start(outside), "plugin_dirs": [plugin("ralphloop")], "env": UNTRIED}
    with ModelServer([*feature_turns(1, 1), *[LIMITED] * 5]) as server:
        run = run_print(outside.home, outside.root, "begin", server, **options)
    assert run.result["is_error"] is True
    assert is_limited(outside, server)
    assert outside.errors() == ""


def test_loop_goes_on_by_itself_at_the_next_stop_after_a_rate_limit(
    looped: Callable[[dict[str, str]], Outside],
) -> None:
    outside = looped(features(2))
    options = {"session_id": start(outside), "plugin_dirs": [plugin("ralphloop")], "env": UNTRIED}
    script = [*feature_turns(1, 1), LIMITED, text("Back again."), *feature_turns(2, 2)]
    with ModelServer(script) as server, Terminal(outside.home, outside.root, server, **options) as terminal:
        terminal.submit("begin")
        terminal.wait_for(lambda _: outside.loop["outcome"] == "rate_limited")
        assert is_limited(outside, server)
        terminal.submit("go on")
        terminal.wait_for("complete: 2/2 done")
    assert outside.loop["outcome"] == "complete"
    assert len(server.main_requests) == 6
    assert outside.errors() == ""

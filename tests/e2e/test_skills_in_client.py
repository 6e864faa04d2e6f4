"""The skills of the plugin ralphloop in the real client, as a person types them."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e.client import ClientHome, PrintRun
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, plugin
from e2e.proving import CHECK, CHECK_TEXT, checked, feature, verify
from e2e.talking import Talk
from e2e.terminal import Terminal
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, call, text
from ralphloop.proof.approval import digest

pytestmark = pytest.mark.client

GOAL = 'Make two files, it\'s "easy" $(touch pwned) `id`\nand  nothing; else'
LIST = json.dumps({"features": [feature(1), feature(2)]}, indent=2)
APPROVE = f"/ralphloop:approve {digest([verify(1), verify(2)])}"


@pytest.fixture
def talk(client_home: ClientHome, project: ProjectFactory) -> Iterator[Callable[..., Talk]]:
    with ExitStack() as talks:

        def begin(files: dict[str, str], **options: Any) -> Talk:
            return talks.enter_context(Talk(client_home, project(files, name="my project"), **options))

        yield begin


def work(number: int, command: str = "ralphloop") -> list[Reply]:
    return [
        call("Write", file_path=f"made-{number}", content="made\n"),
        bash(f"{command} done F{number}"),
        text(f"F{number} is made."),
    ]


def absolute(talk: Talk, replies: Sequence[Reply]) -> list[Reply]:
    """The client's Write takes whole paths."""
    made = []
    for reply in replies:
        if reply.tools and reply.tools[0].name == "Write":
            given = reply.tools[0].input
            path = talk.root / given["file_path"]
            reply = call("Write", file_path=str(path), content=given["content"])
        made.append(reply)
    return made


def denied(run: PrintRun) -> list[str]:
    return [str(entry["tool_input"]) for entry in run.result["permission_denials"]]


def test_plan_then_start_then_approval_ends_complete(talk: Callable[..., Talk]) -> None:
    one = talk({CHECK: CHECK_TEXT})
    run, requests = one.say(
        f"/ralphloop:plan --name shop {GOAL}",
        call("Write", file_path=str(one.root / ".ralph/loops/shop/feature_list.json"), content=LIST),
        bash("ralphloop plan --show shop"),
        text("Here is the list."),
    )  # fmt: skip
    assert denied(run) == []
    assert f"\n{GOAL}\n" in (one.root / ".ralph/loops/shop/RALPH_PROMPT.md").read_text()
    assert not (one.root / "pwned").exists()
    shown = requests[-1].new_texts[-1]
    assert f"$ {verify(1)}" in shown
    assert "`/ralphloop:start shop`" in shown
    assert one.outside.loops() == []

    run, requests = one.say("/ralphloop:start shop --max-iterations 9", text("These wait for you."))
    assert any(f"`{APPROVE}`" in said for said in requests[0].new_texts)
    assert one.ending == ("paused", "needs_approval")
    assert one.outside.loop["owner"] == one.session

    run, requests = one.say(APPROVE, text("I see."), *absolute(one, [*work(1), *work(2)]))
    assert denied(run) == []
    assert one.ending == ("ended", "complete")
    assert any("complete: 2/2 proven" in str(event) for event in run.events)
    assert one.outside.errors() == ""


def test_start_begins_at_once_where_the_checks_are_approved(talk: Callable[..., Talk]) -> None:
    one = talk(checked(feature(1), feature(2)))
    one.outside.ralphloop("approve", "--yes")
    lie = [bash("ralphloop done F1"), text("F1 is made.")]
    run, requests = one.say("/ralphloop:start", *absolute(one, [*lie, *work(1), *work(2)]))
    assert any("Work through the list" in said or "task F1" in said for said in requests[0].new_texts)
    assert any("made-1 is missing" in said for request in requests for said in request.new_texts)
    assert denied(run) == []
    assert one.ending == ("ended", "complete")


def test_plugin_without_the_right_to_execute_in_a_folder_with_spaces(
    talk: Callable[..., Talk], tmp_path: Path
) -> None:
    """As an archive or a share without file modes leaves it."""
    place = tmp_path / "plug ins" / "ralphloop"
    shutil.copytree(plugin("ralphloop"), place, ignore=shutil.ignore_patterns("__pycache__"))
    for file in place.rglob("*"):
        file.chmod(0o644 if file.is_file() else 0o755)
    # Nothing else that is called ralphloop may be on PATH, or the agent is told that name.
    one = talk(checked(feature(1)), plugins=[place], env={"PATH": "/usr/bin:/bin"})
    one.outside.ralphloop("approve", "--yes")
    tool = f'sh "{place}/bin/ralphloop"'
    run, requests = one.say("/ralphloop:start", *absolute(one, work(1, tool)))
    assert any(f"`{tool} done F1`" in said for said in requests[0].new_texts)
    assert denied(run) == []
    assert one.ending == ("ended", "complete")


def test_status_pause_resume_report_and_cancel_speak_for_this_sessions_loop(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    """The client keeps what is typed in a queue until a turn ends, and a loop is one long turn: what comes
    in the middle of it is heard at the next stop."""
    root = project(checked(feature(1), feature(2), feature(3)))
    outside = Outside(client_home, root)
    outside.ralphloop("approve", "--yes")
    looked, paused, cancelled = (threading.Event() for _ in range(3))
    script = [
        bash("touch made-1; ralphloop done F1").held(looked), text("F1 is made."), text("So it is."),
        bash("touch made-2; ralphloop done F2").held(paused), text("F2 is made."), text("It rests."),
        text("So it is."), text("On I go."), bash("ls").held(cancelled), text("I looked around."),
        text("It is over."), text("There."), text("There."),
    ]  # fmt: skip
    with (
        ModelServer(script, default="Hm.") as server,
        Terminal(client_home, root, server, plugin_dirs=[plugin("ralphloop")]) as terminal,
    ):

        def type_within(turn: threading.Event, request: int, typed: str) -> None:
            server.wait_for_requests(request)
            terminal.submit(typed)
            turn.set()

        def is_told(request: int, typed: str, *, telling: str) -> None:
            """The model is told so with its request of this number, which what was typed has made."""
            said = server.wait_for_requests(request)[request - 1].new_texts
            assert any(re.search(telling, one, re.DOTALL) for one in said), (typed, said)

        terminal.submit("/ralphloop:start")
        type_within(looked, 1, "/ralphloop:status")
        is_told(3, "/ralphloop:status", telling="1/3")
        type_within(paused, 4, "/ralphloop:pause")
        is_told(6, "/ralphloop:pause", telling="demo is paused")
        assert (outside.loop["state"], outside.loop["outcome"]) == ("paused", "interrupted")
        terminal.submit("/ralphloop:status demo")
        is_told(7, "/ralphloop:status demo", telling="paused.*2/3|2/3.*paused")
        terminal.submit("/ralphloop:resume")
        is_told(8, "/ralphloop:resume", telling="goes on")
        type_within(cancelled, 9, "/ralphloop:cancel")
        is_told(11, "/ralphloop:cancel", telling="demo is cancelled")
        assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "cancelled")
        terminal.submit("/ralphloop:report")
        is_told(12, "/ralphloop:report", telling="F1[^\n]*proven")
        terminal.submit("/ralphloop:cancel")
        is_told(13, "/ralphloop:cancel", telling="is cancelled already; nothing to cancel")
        terminal.wait_for(lambda _: terminal.input_text() is not None)
    assert len(server.main_requests) == 13
    listed = json.loads((root / ".ralph/loops/demo/feature_list.json").read_text())["features"]
    assert [one["passes"] for one in listed] == [True, True, False]
    assert outside.errors() == ""


def test_error_reaches_the_person_in_words(talk: Callable[..., Talk]) -> None:
    one = talk({"README.md": "x\n"})
    for typed in ("/ralphloop:start nowhere", "/ralphloop:start it's", "/ralphloop:plan"):
        _, requests = one.say(typed, text("So it is."))
        assert any("\nralphloop: " in f"\n{said}" for said in requests[0].new_texts), typed
        assert one.outside.loops() == [], typed

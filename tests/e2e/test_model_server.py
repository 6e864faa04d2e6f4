"""The scripted model server by itself: what it sends, what it records, and how it ends."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ralphloop.errors import ScriptError
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, call, fail, load_script, text

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


def ask(
    base_url: str,
    prompt: str = "go",
    *,
    path: str = "/v1/messages?beta=true",
    headers: dict[str, str] | None = None,
    **body: Any,
) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=30)
    asked = {"model": "m", "tools": TOOLS, "messages": [{"role": "user", "content": prompt}], **body}
    try:
        connection.request("POST", path, json.dumps(asked), headers or {})
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def said(base_url: str, prompt: str = "go", **options: Any) -> str:
    _, body = ask(base_url, prompt, **options)
    return "|".join(block["text"] for block in json.loads(body)["content"])


def test_stream_is_framed_as_named_events_that_add_up_to_the_reply() -> None:
    script = [call("Bash", say="first", command="ls").using(input_tokens=7, output_tokens=3)]
    with ModelServer(script) as server:
        response, body = ask(server.base_url, stream=True)
    frames = [frame.split("\n") for frame in body.removesuffix("\n\n").split("\n\n")]
    events = [json.loads(data.removeprefix("data: ")) for _, data in frames]
    assert response.getheader("Content-Type") == "text/event-stream"
    assert [name.removeprefix("event: ") for name, _ in frames] == [event["type"] for event in events]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [event["type"] for event in events] == [
        "message_start",
        *block,
        *block,
        "message_delta",
        "message_stop",
    ]
    assert events[2]["delta"] == {"type": "text_delta", "text": "first"}
    assert json.loads(events[5]["delta"]["partial_json"]) == {"command": "ls"}
    assert events[0]["message"]["usage"]["input_tokens"] == 7
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["output_tokens"] == 3


def test_without_stream_the_message_comes_whole() -> None:
    with ModelServer([text("a", "b")]) as server:
        _, body = ask(server.base_url)
    whole = json.loads(body)
    assert [block["text"] for block in whole["content"]] == ["a", "b"]
    assert whole["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("reply", "kind", "retry_after"),
    [
        (fail(429, "slow down", retry_after_s=2), "rate_limit_error", "2"),
        (fail(529), "overloaded_error", None),
        (fail(400, "no"), "invalid_request_error", None),
    ],
)
def test_errors_look_like_the_apis(reply: Reply, kind: str, retry_after: str | None) -> None:
    assert reply.error is not None
    with ModelServer([reply]) as server:
        response, body = ask(server.base_url, stream=True)
    assert response.status == reply.error.status
    assert json.loads(body)["error"] == {"type": kind, "message": reply.error.message}
    assert response.getheader("retry-after") == retry_after


def test_delay_comes_before_the_answer() -> None:
    with ModelServer([text("late").after(1.0)]) as server:
        started_s = time.monotonic()
        assert said(server.base_url) == "late"
        assert time.monotonic() - started_s >= 1.0


def test_tokens_are_counted_without_using_the_script() -> None:
    with ModelServer([text("one")]) as server:
        _, body = ask(server.base_url, path="/v1/messages/count_tokens")
        assert json.loads(body)["input_tokens"] > 0
        assert said(server.base_url) == "one"


@pytest.mark.parametrize(
    ("request_class", "answer"),
    [
        ("auxiliary", "aside"),
        ("side_reply", "aside"),
        ("compaction", "<summary>sum</summary>"),
        ("subagent", "below"),
    ],
)
def test_requests_beside_the_main_loop_leave_its_script_alone(request_class: str, answer: str) -> None:
    beside = {"x-claude-code-request-class": request_class}
    with ModelServer([text("one")], subagents=[text("below")], side="aside", summary="sum") as server:
        assert said(server.base_url, headers=beside) == answer
        assert said(server.base_url, tools=[]) == "aside"
        assert said(server.base_url) == "one"
        assert len(server.main_requests) == 1


def test_exhausted_script_answers_with_the_default() -> None:
    with ModelServer([text("one")], default="no more") as server:
        assert [said(server.base_url) for _ in range(3)] == ["one", "no more", "no more"]


def test_a_function_can_be_the_script() -> None:
    def echo(request: ModelRequest) -> Reply:
        return text(f"you said {request.new_texts[-1]}")

    with ModelServer(echo) as server:
        assert said(server.base_url, "hello") == "you said hello"


def test_what_the_model_received_is_recorded() -> None:
    messages = [
        {"role": "user", "content": "prompt"},
        {"role": "assistant", "content": [{"type": "text", "text": "answer"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "content": [{"type": "text", "text": "output"}]}],
        },
        {"role": "user", "content": [{"type": "text", "text": "Stop hook feedback:\nREASON"}]},
    ]
    with ModelServer() as server:
        ask(server.base_url, messages=messages)
        (request,) = server.requests
    assert request.texts == ["prompt", "answer", "output", "Stop hook feedback:\nREASON"]
    assert request.new_texts == ["output", "Stop hook feedback:\nREASON"]
    assert request.mentions("REASON")
    assert not request.mentions("never sent")


def test_held_reply_is_sent_once_released() -> None:
    released = threading.Event()
    answers: list[str] = []
    with ModelServer([text("at last").held(released)]) as server:
        asking = threading.Thread(target=lambda: answers.append(said(server.base_url)))
        asking.start()
        server.wait_for_requests(1)
        assert not answers
        released.set()
        asking.join()
    assert answers == ["at last"]


def test_reply_held_midway_has_sent_its_text() -> None:
    with ModelServer([text("begun").held_midway(threading.Event())]) as server:
        connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=30)
        connection.request("POST", "/v1/messages", json.dumps({"stream": True, "tools": TOOLS}))
        response = connection.getresponse()
        while b"begun" not in (line := response.readline()):
            assert line
        connection.close()


def test_closing_ends_every_thread_though_replies_and_connections_hang() -> None:
    before = set(threading.enumerate())
    with ModelServer([text("never").held(threading.Event())]) as server:
        address = urlsplit(server.base_url)
        body = json.dumps({"tools": TOOLS, "messages": []}).encode()
        idle = socket.create_connection(("127.0.0.1", address.port or 0))
        hanging = socket.create_connection(("127.0.0.1", address.port or 0))
        hanging.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        server.wait_for_requests(1)
    idle.close()
    hanging.close()
    assert set(threading.enumerate()) == before


SCRIPT = {
    "default": "over",
    "replies": [
        "plain",
        {"text": "before", "tools": [{"name": "Bash", "input": {"command": "ls"}}]},
        {"texts": ["a", "b"], "usage": {"input_tokens": 5}},
        {"error": 429, "message": "slow", "retry_after_s": 1},
    ],
}


@pytest.fixture
def script_file(tmp_path: Path) -> Callable[[Any], Path]:
    def write(script: Any) -> Path:
        file = tmp_path / "script.json"
        file.write_text(json.dumps(script), encoding="utf-8")
        return file

    return write


def test_script_from_a_file(script_file: Callable[[Any], Path]) -> None:
    script = load_script(script_file(SCRIPT))
    assert script.default == "over"
    assert script.replies == (
        text("plain"),
        call("Bash", say="before", command="ls"),
        text("a", "b").using(input_tokens=5),
        fail(429, "slow", retry_after_s=1),
    )


@pytest.mark.parametrize("script", [{}, "text", [{"txt": "misspelt"}], [1]])
def test_script_that_means_nothing_is_refused(script: Any, script_file: Callable[[Any], Path]) -> None:
    with pytest.raises(ScriptError):
        load_script(script_file(script))


def test_module_serves_a_file_until_interrupted(script_file: Callable[[Any], Path]) -> None:
    argv = [sys.executable, "-m", "ralphloop.testing.model_server", str(script_file(SCRIPT))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        assert said(base_url) == "plain"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.parametrize("script", [None, "{", '[{"txt": "a typo"}]', '{"answers": []}'])
def test_a_script_that_cannot_be_used_is_one_line_of_usage(tmp_path: Path, script: str | None) -> None:
    path = tmp_path / "script.json"
    if script is not None:
        path.write_text(script)
    command = [sys.executable, "-m", "ralphloop.testing.model_server", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "script.json" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr

"""A scripted model on loopback, with which the real Claude Code client runs without an account."""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from ralphloop.lab.reply import DEFAULT_SUMMARY, DEFAULT_TEXT, ApiError, Reply, load_script, text

_POLL_S = 0.05
RequestKind = Literal["main", "subagent", "compaction", "side", "count_tokens"]

# Sent by Claude Code 2.1.325 when CLAUDE_CODE_GATEWAY_HINT_HEADERS=1.
_CLASS_HEADER = "x-claude-code-request-class"
_KIND_OF_CLASS: dict[str, RequestKind] = {
    "main": "main",
    "subagent": "subagent",
    "workflow": "subagent",
    "compaction": "compaction",
    "auxiliary": "side",
    "side_reply": "side",
}
_EVENTS_PER_BLOCK = 3

_SUMMARY_PROMPT = "create a detailed summary of the conversation"
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class ModelRequest:
    """One request as the model received it."""

    kind: RequestKind
    headers: Mapping[str, str]
    body: dict[str, Any]

    @classmethod
    def parse(cls, path: str, headers: Mapping[str, str], raw: bytes) -> ModelRequest:
        body = json.loads(raw)
        lowered = {name.lower(): value for name, value in headers.items()}
        return cls(_kind(path, lowered, body), lowered, body)

    @property
    def texts(self) -> list[str]:
        """The plain texts of all messages in order, tool results included."""
        return list(_texts(self.body.get("messages", [])))

    @property
    def new_texts(self) -> list[str]:
        """The texts since the model last spoke: the prompt, tool results, or a hook's reason."""
        messages = self.body.get("messages", [])
        spoken = [i for i, message in enumerate(messages) if message.get("role") == "assistant"]
        return list(_texts(messages[spoken[-1] + 1 :] if spoken else messages))

    def mentions(self, fragment: str) -> bool:
        return any(fragment in text for text in self.texts)


def _kind(path: str, headers: Mapping[str, str], body: dict[str, Any]) -> RequestKind:
    if path.partition("?")[0].endswith("/count_tokens"):
        return "count_tokens"
    declared = _KIND_OF_CLASS.get(headers.get(_CLASS_HEADER, ""))
    if declared:
        return declared
    if "x-claude-code-agent-id" in headers:
        return "subagent"
    if any(_SUMMARY_PROMPT in text for text in _texts(body.get("messages", [])[-2:])):
        return "compaction"
    return "main" if body.get("tools") else "side"


def _texts(content: Any) -> Iterator[str]:
    """Every text below a message, a block or a list of them; foreign shapes are passed over."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)
    elif isinstance(content, dict):
        yield from _texts(content.get("text", content.get("content")))


Script = Sequence[Reply] | Callable[[ModelRequest], Reply]


class ModelServer:
    """Answers the main loop and subagents from their scripts, and everything else with a default.

    A context manager. Only main-loop requests consume `script`, only subagents' requests consume
    `subagents`; past its end a script answers with `default`. Titles and other side requests get
    `side`, the request that compacts a conversation gets `summary`.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        subagents: Script = (),
        default: str = DEFAULT_TEXT,
        summary: str = DEFAULT_SUMMARY,
        side: str = "ok",
        port: int = 0,
    ) -> None:
        self._requests: list[ModelRequest] = []
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._scripts = {"main": _as_function(script, default), "subagent": _as_function(subagents, default)}
        # Without these tags Claude Code 2.1.325 asks for the summary a second time.
        self._fixed = {"compaction": text(f"<summary>{summary}</summary>"), "side": text(side)}
        self._http = _LoopbackServer(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(_POLL_S,), name="model-server")

    @classmethod
    def from_file(cls, path: str | Path, *, port: int = 0) -> ModelServer:
        script = load_script(path)
        return cls(script.replies, default=script.default, summary=script.summary, port=port)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cut every open connection, let go of held replies, and wait until all threads have ended."""
        self._closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.cut_connections()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def requests(self) -> list[ModelRequest]:
        """Everything received so far, side requests included."""
        with self._changed:
            return list(self._requests)

    @property
    def main_requests(self) -> list[ModelRequest]:
        return [request for request in self.requests if request.kind == "main"]

    def wait_for_requests(self, count: int, *, deadline_s: float = 30.0) -> list[ModelRequest]:
        """The main-loop requests once there are `count` of them; a reply may still be held back."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: self._main_count() >= count, deadline_s)
            seen = self._main_count()
        if not arrived:
            raise TimeoutError(f"{seen} of {count} main requests within {deadline_s} s")
        return self.main_requests

    def _main_count(self) -> int:
        return sum(request.kind == "main" for request in self._requests)

    def answer(self, request: ModelRequest) -> tuple[int, Reply]:
        """Record a request and say which reply it gets, with its place among all requests."""
        number = self.record(request)
        choose = self._scripts.get(request.kind)
        return number, choose(request) if choose else self._fixed[request.kind]

    def record(self, request: ModelRequest) -> int:
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            return len(self._requests)

    def wait_out(self, hold: threading.Event | None, delay_s: float, *, is_gone: Callable[[], bool]) -> bool:
        """Wait for a delay and an event; false when the client or this server left meanwhile."""
        due_s = time.monotonic() + delay_s
        while time.monotonic() < due_s or (hold is not None and not hold.is_set()):
            if self._closing.wait(_POLL_S) or is_gone():
                return False
        return True


def _as_function(script: Script, default: str) -> Callable[[ModelRequest], Reply]:
    if callable(script):
        return script
    left = iter(script)
    return lambda _request: next(left, text(default))


class _LoopbackServer(ThreadingHTTPServer):
    """Knows its open connections: handler threads are joined at the end, so nothing may keep them waiting."""

    daemon_threads = False

    def __init__(self, address: tuple[str, int], model: ModelServer) -> None:
        self.model = model
        self._open: set[socket.socket] = set()
        super().__init__(address, _Exchange)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that hangs up in the middle of a reply is what interrupt tests do.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Exchange(BaseHTTPRequestHandler):
    server: _LoopbackServer

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", [])

    def do_GET(self) -> None:
        self._send_json(404, {"type": "error", "error": {"type": "not_found_error", "message": self.path}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.startswith("/v1/messages"):
            return self.do_GET()
        request = ModelRequest.parse(self.path, dict(self.headers.items()), raw)
        if request.kind == "count_tokens":
            self.server.model.record(request)
            return self._send_json(200, _count_tokens(request.body))
        number, reply = self.server.model.answer(request)
        if self._wait_out(reply.hold, reply.delay_s):
            self._send_reply(number, reply, request.body)
        return None

    def _wait_out(self, hold: threading.Event | None, delay_s: float = 0.0) -> bool:
        return self.server.model.wait_out(hold, delay_s, is_gone=self._client_is_gone)

    def _send_reply(self, number: int, reply: Reply, body: dict[str, Any]) -> None:
        if reply.error is not None:
            wait_s = reply.error.retry_after_s
            extra = {} if wait_s is None else {"retry-after": f"{wait_s:g}"}
            return self._send_json(reply.error.status, _error_body(reply.error), **extra)
        whole = _message(reply, number=number, model=body.get("model", "scripted"))
        if body.get("stream"):
            return self._send(200, "text/event-stream", self._held_midway(reply, _event_stream(whole)))
        return self._send_json(200, whole)

    def _held_midway(self, reply: Reply, events: Iterator[bytes]) -> Iterator[bytes]:
        yield from islice(events, 1 + _EVENTS_PER_BLOCK * len(reply.texts))
        if self._wait_out(reply.hold_midway):
            yield from events

    def _send_json(self, status: int, document: dict[str, Any], **headers: str) -> None:
        self._send(status, "application/json", [json.dumps(document).encode()], **headers)

    def _send(self, status: int, content_type: str, parts: Iterable[bytes], **headers: str) -> None:
        # HTTP/1.0: the end of the connection ends the body, and no idle connection outlives its request.
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for part in parts:
            self.wfile.write(part)

    def _client_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are recorded, not printed."""


def _count_tokens(body: dict[str, Any]) -> dict[str, int]:
    return {"input_tokens": len(json.dumps(body)) // 4}


def _error_body(error: ApiError) -> dict[str, Any]:
    kind = _ERROR_TYPES.get(error.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def _message(reply: Reply, *, number: int, model: str) -> dict[str, Any]:
    """The reply as one whole message; `number` makes its ids unique."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in reply.texts]
    for index, tool in enumerate(reply.tools):
        tool_id = f"toolu_{number:06d}_{index}"
        blocks.append({"type": "tool_use", "id": tool_id, "name": tool.name, "input": tool.input})
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if reply.tools else "end_turn",
        "stop_sequence": None,
        "usage": asdict(reply.usage),
    }


def _event_stream(whole: dict[str, Any]) -> Iterator[bytes]:
    """The server-sent events that add up to a whole message."""
    opening = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield _event("message_start", message=opening)
    for index, block in enumerate(whole["content"]):
        empty, delta = _opening_and_delta(block)
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=whole["usage"])
    yield _event("message_stop")


def _opening_and_delta(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    arguments = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}


def _event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Serve a scripted model and print its base URL.")
    parser.add_argument("script", help="JSON file with the replies")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        made = ModelServer.from_file(options.script, port=options.port)
    except (OSError, ValueError) as error:
        parser.error(f"{options.script}: {error}")
    with made as server:
        try:
            print(server.base_url, flush=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            return 0
    return 0

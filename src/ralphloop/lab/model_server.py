"""A scripted model on loopback, with which the real Claude Code client runs without an account."""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from ralphloop.lab.messages_api import (
    EVENTS_PER_BLOCK,
    ModelRequest,
    count_tokens,
    error_body,
    event_stream,
    message,
)
from ralphloop.lab.reply import DEFAULT_SUMMARY, DEFAULT_TEXT, Reply, load_script, text

Script = Sequence[Reply] | Callable[[ModelRequest], Reply]

_POLL_S = 0.05


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
            return self._send_json(200, count_tokens(request.body))
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
            return self._send_json(reply.error.status, error_body(reply.error), **extra)
        whole = message(reply, number=number, model=body.get("model", "scripted"))
        if body.get("stream"):
            return self._send(200, "text/event-stream", self._held_midway(reply, event_stream(whole)))
        return self._send_json(200, whole)

    def _held_midway(self, reply: Reply, events: Iterator[bytes]) -> Iterator[bytes]:
        yield from islice(events, 1 + EVENTS_PER_BLOCK * len(reply.texts))
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


if __name__ == "__main__":
    sys.exit(main())

"""A real HTTP server on loopback that keeps what is sent to it and answers as it is told."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Got(NamedTuple):
    path: str
    headers: dict[str, str]
    data: Any


class HookServer:
    """`status` is what it answers; with `holds` it first waits for `let_go`, as a slow one would."""

    def __init__(self, status: int = 200, *, location: str = "", holds: bool = False) -> None:
        self.got: list[Got] = []
        self.arrived = threading.Event()
        self.let_go = threading.Event()
        if not holds:
            self.let_go.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append(Got(self.path, dict(self.headers), json.loads(body)))
                outer.arrived.set()
                outer.let_go.wait(60)
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                outer.got.append(Got(self.path, dict(self.headers), None))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Tests read what arrived, not a log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        # it looks this often whether it is to end
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> HookServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.let_go.set()
        self.server.shutdown()
        self.server.server_close()

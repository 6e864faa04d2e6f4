"""A marketplace to install from: this repository as a git repository of its own, in a folder or served over
loopback, and the client's `plugin` commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from e2e.client import BUSY_S, REPOSITORY, ClientHome
from e2e.conftest import git

NAME = "ralphloop"
PARTS = (".claude-plugin", "plugins", "src", "README.md", "LICENSE")


def publish(place: Path) -> Path:
    """The repository's files as they are now, committed as a marketplace of their own."""
    place.mkdir(parents=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PARTS],
        cwd=REPOSITORY, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (REPOSITORY / name).is_symlink() or (REPOSITORY / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, place / name, follow_symlinks=False)
    git(place, "init", "--quiet", "--initial-branch=main")
    commit(place, "first")
    return place


def commit(place: Path, message: str) -> None:
    git(place, "add", "--all")
    git(place, "commit", "--quiet", f"--message={message}")


def release(place: Path, plugin: str, version: str) -> None:
    """Another version of one plugin, as its author would commit it."""
    own = place / "plugins" / plugin / ".claude-plugin/plugin.json"
    market = place / ".claude-plugin/marketplace.json"
    own.write_text(json.dumps({**json.loads(own.read_text()), "version": version}))
    listing = json.loads(market.read_text())
    for entry in listing["plugins"]:
        if entry["name"] == plugin:
            entry["version"] = version
    market.write_text(json.dumps(listing))
    commit(place, version)


@contextmanager
def served(repository: Path) -> Iterator[str]:
    """The address of the repository on loopback; the client takes no `file://` (fact 76)."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(repository.parent))
    thread = threading.Thread(target=http.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/{quote(repository.name)}/.git"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def _handler(root: Path) -> type[BaseHTTPRequestHandler]:
    class GitHandler(BaseHTTPRequestHandler):
        """Hands each request to `git http-backend`, a CGI program."""

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            env = {
                "PATH": os.environ["PATH"], "HOME": str(root), "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": unquote(path), "QUERY_STRING": query,
                "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "127.0.0.1",
                "CONTENT_LENGTH": str(len(body)),
            }  # fmt: skip
            done = subprocess.run(
                ["git", "http-backend"], env=env, input=body, capture_output=True, check=True
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            status = next((value for name, value in fields if name == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for name, value in fields:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the name that the base class looks for

        def log_message(self, *_: Any) -> None:
            pass

    return GitHandler


def plugin_command(home: ClientHome, project: Path, *arguments: str) -> str:
    """What `claude plugin …` printed; it needs no model."""
    home.trust(project)
    env = {"HOME": str(home.path), "PATH": os.environ["PATH"], "DISABLE_AUTOUPDATER": "1"}
    env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [str(home.binary), "plugin", *arguments],
        cwd=project, env=env, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=BUSY_S,
    )  # fmt: skip
    assert done.returncode == 0, f"claude plugin {arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def install(home: ClientHome, project: Path, source: str, *plugins: str) -> None:
    plugin_command(home, project, "marketplace", "add", source)
    for name in plugins:
        plugin_command(home, project, "install", f"{name}@{NAME}")


def installed(home: ClientHome, project: Path) -> dict[str, dict[str, Any]]:
    """The installed plugins by name, as the client lists them."""
    listed = json.loads(plugin_command(home, project, "list", "--json"))
    return {entry["id"].partition("@")[0]: entry for entry in listed}

"""Local servers that somebody talked to: which they are, and whether they were there before."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ralphloop.proof import apart
from unit.proof.stages import ORDINARY, SOURCE, Person, person, skip

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system tells of sockets in /proc")

SERVER = """
import ctypes, socket, sys
if "hidden" in sys.argv:
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable: whose handles nobody else of this user may see
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    server.accept()[0].close()
"""


ASKER = """
import socket, sys, time
from ralphloop.proof import apart
port, before = int(sys.argv[1]), apart.talks()
socket.create_connection(("127.0.0.1", port), timeout=10).recv(1)
print(apart.began_before(apart.asked_since(before)[port], time.time() + 60))
"""


@contextlib.contextmanager
def server(*words: str, python: str = sys.executable, **options: Any) -> Iterator[int]:
    """A process that answers on a port of its own."""
    process = subprocess.Popen(
        [python, "-c", SERVER, *words], cwd="/", stdout=subprocess.PIPE, text=True, **options
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _talk(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as made:
        made.recv(1)


def test_a_server_that_was_talked_to_is_known_by_its_port() -> None:
    with server() as port, server() as silent:
        before = apart.talks()
        assert port not in apart.asked_since(before)
        _talk(port)
        asked = apart.asked_since(before)
        assert port in asked
        assert silent not in asked


def test_it_is_older_than_what_came_after_it_and_younger_than_what_came_before() -> None:
    long_ago = time.time() - 3600
    with server() as port:
        before = apart.talks()
        _talk(port)
        listens = apart.asked_since(before)[port]
        assert apart.began_before(listens, time.time() + 60)
        assert not apart.began_before(listens, long_ago)


OLD = """
import socket, subprocess, sys, time
from ralphloop.proof import apart
made = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
port = int(made.stdout.readline())
time.sleep(1)
start, before = time.time(), apart.talks()
socket.create_connection(("127.0.0.1", port), timeout=10).recv(1)
print(apart.began_before(apart.asked_since(before)[port], start))
"""


def test_it_is_as_old_as_its_process_and_not_as_the_first_look_at_it() -> None:
    """In a process namespace of its own nobody else looks."""
    before = ["unshare", "--user", "--map-root-user", "--fork", "--pid", "--mount-proc"]
    if subprocess.run([*before, "true"], capture_output=True).returncode:
        skip("there are no process namespaces here")
    words = [*before, sys.executable, "-c", OLD, SERVER]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    assert subprocess.run(words, env=env, capture_output=True, text=True, timeout=60).stdout == "True\n"


def _is_of_before(port: int, asker: Person) -> bool:
    """Whether somebody takes the server for one that was there before, if the start was just now."""
    words = [asker.python, "-c", ASKER, str(port)]
    env = {"PYTHONPATH": str(asker.source), "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run(words, cwd="/", env=env, capture_output=True, text=True, **asker.options)
    assert not said.stderr
    return said.stdout == "True\n"


def test_a_server_of_ones_own_that_nobody_can_look_into_may_be_young(tmp_path: Path) -> None:
    ordinary = person(ORDINARY, tmp_path)
    with server("hidden", python=ordinary.python, **ordinary.options) as port:
        assert not _is_of_before(port, ordinary)
    with server(python=ordinary.python, **ordinary.options) as port:
        assert _is_of_before(port, ordinary)


def test_a_server_of_somebody_else_is_no_agents(tmp_path: Path) -> None:
    ordinary = person(ORDINARY, tmp_path)
    if os.geteuid() != 0:
        skip("the suite runs as an ordinary user, who can start nobody else's")
    with server() as port:
        assert _is_of_before(port, ordinary)

"""Local servers that somebody talked to: which they are, and whether they were there before."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from ralphloop.proof import apart

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system tells of sockets in /proc")

SERVER = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    server.accept()[0].close()
"""


@contextlib.contextmanager
def server() -> Iterator[int]:
    """A process that answers on a port of its own."""
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
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
        inode = apart.asked_since(before)[port]
        assert apart.began_before(inode, time.time() + 60)
        assert not apart.began_before(inode, long_ago)

"""The client's interactive screen: a pseudo-terminal that a test types into and reads as rendered text."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

from e2e.client import ClientHome, client_arguments
from fakes.pseudo_terminal import heard
from ralphloop.lab.model_server import ModelServer

COLUMNS, ROWS = 120, 40
SOON_S = 120.0  # a client takes a quarter of that to show itself where ten processes want each core
KEYS = {
    "esc": "\x1b",
    "enter": "\r",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "ctrl+c": "\x03",
    "ctrl+d": "\x04",
    "ctrl+o": "\x0f",
}


class Terminal:
    """One interactive client, started at once; a context manager that ends its whole process group.

    A thread keeps reading, because a client whose screen nobody reads stops working. The child is
    started by subprocess rather than by forkpty, which Python 3.12 refuses beside running threads.
    """

    def __init__(
        self,
        home: ClientHome,
        project: Path,
        server: ModelServer,
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        home.trust(project)
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._text: str | None = None  # rendering it takes longer than what asks for it in between
        self._drawing = threading.Lock()
        self._closing = threading.Event()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [str(home.binary), *client_arguments(**options)],
            cwd=project,
            env=home.env(server, env),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, name="terminal")
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def screen_text(self) -> str:
        with self._drawing:
            if self._text is None:
                self._text = "\n".join(line.rstrip() for line in self._screen.display).rstrip()
            return self._text

    def input_text(self) -> str | None:
        """What stands in the input box; None while there is no box, as during a dialog or at start."""
        lines = self.screen_text().splitlines()
        boxed = [line for rule, line in pairwise(lines) if rule.startswith("───") and line.startswith("❯")]
        return boxed[-1][1:].strip() if boxed else None

    def wait_for(self, wanted: str | Callable[[str], bool], deadline_s: float = SOON_S) -> str:
        """The screen once it contains a text or satisfies a predicate."""
        holds = wanted if callable(wanted) else lambda screen: wanted in screen
        due_s = time.monotonic() + deadline_s
        while True:
            # Asked before the look: what a client wrote before it ended may still be on its way.
            is_over = time.monotonic() > due_s or self._process.poll() is not None
            screen = self.screen_text()
            if holds(screen):
                return screen
            assert not is_over, f"never on screen: {wanted} (exit {self._process.poll()})\n{screen}"
            time.sleep(0.1)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def press(self, key: str) -> None:
        self.type(KEYS[key])
        if key == "esc":
            # Escape and a letter that the client reads at once are Alt and that letter.
            time.sleep(1.0)

    def submit(self, text: str, deadline_s: float = SOON_S) -> None:
        """Type one line and send it: Enter counts only once the box shows the text, and may get lost."""
        shown = text[: COLUMNS // 2].strip()
        self.wait_for(lambda _: self.input_text() is not None, deadline_s)
        self.type(text)
        self.wait_for(lambda _: (self.input_text() or "").startswith(shown), deadline_s)
        due_s = time.monotonic() + deadline_s
        while (self.input_text() or "").startswith(shown):
            assert time.monotonic() < due_s, f"not accepted: {text}\n{self.screen_text()}"
            self.press("enter")
            self._wait_until_input_left(shown)

    def _wait_until_input_left(self, shown: str) -> None:
        with contextlib.suppress(AssertionError):
            self.wait_for(lambda _: not (self.input_text() or "").startswith(shown), 3.0)

    def close(self) -> None:
        """End the client and its children, politely first so that it can run its SessionEnd hooks."""
        for ending, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, ending)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)
        self._closing.set()
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        while not self._closing.is_set():
            readable, _, _ = select.select([self._master], [], [], 0.2)
            if not readable:
                continue
            written = heard(self._master)
            if not written:
                return
            with self._drawing:
                self._stream.feed(written)
                self._text = None

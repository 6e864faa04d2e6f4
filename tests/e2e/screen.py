"""Any command in a pseudo-terminal of its own: what it draws as rendered text, what is typed into it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

from fakes.pseudo_terminal import heard

# Python 3.12 refuses forkpty beside running threads, so the child itself takes the terminal as its own.
_TAKE = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class TwoScreens(pyte.Screen):
    """With the other screen of `?1049`, which pyte does not know: what was there before comes back."""

    before: list[str] | None = None

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if 1049 in modes:
            self.before = list(self.display)
            self.erase_in_display(2)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        super().reset_mode(*modes, **kwargs)
        if 1049 in modes and self.before is not None:
            self.erase_in_display(2)
            self.cursor_position()
            self.draw("".join(self.before).rstrip())
            self.before = None


class CommandScreen:
    """One command, started at once; a context manager that ends its whole process group.

    The parent keeps the terminal's other end open until the command is over, so that its modes can be read.
    """

    endings: tuple[tuple[int, float], ...] = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        term: str = "xterm-256color",
    ) -> None:
        self._screen = TwoScreens(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._rows: list[str] | None = None  # rendering them takes longer than what asks in between
        self._drawing = threading.Lock()
        self._closing = threading.Event()
        self.written = b""
        self._master, self._slave = pty.openpty()
        self._set_size(columns, rows)
        self.modes_before = self._modes_left = self.modes()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _TAKE, *argv],
            cwd=cwd,
            env={**env, "TERM": term},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name="screen")
        self._reader.start()

    def __enter__(self) -> CommandScreen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rows(self) -> list[str]:
        """Every row with every cell; a wide character takes its two cells as one character and nothing."""
        with self._drawing:
            if self._rows is None:
                self._rows = list(self._screen.display)
            return self._rows

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.rows()).rstrip()

    def styles(self) -> set[str]:
        """The colours of all cells."""
        with self._drawing:
            cells = [cell for line in self._screen.buffer.values() for cell in line.values()]
            return {cell.fg for cell in cells} | {cell.bg for cell in cells}

    def modes(self) -> list[Any]:
        return self._modes_left if self._slave < 0 else termios.tcgetattr(self._slave)

    def wait_for(self, wanted: str | Callable[[str], bool], deadline_s: float = 30.0) -> str:
        """The screen once it contains a text or satisfies a predicate."""
        holds = wanted if callable(wanted) else lambda screen: wanted in screen
        due_s = time.monotonic() + deadline_s
        while True:
            # Asked before the look: what was written before the end is looked at too.
            is_over = time.monotonic() > due_s or self._is_at_its_end()
            screen = self.text()
            if holds(screen):
                return screen
            assert not is_over, f"never on screen: {wanted} (exit {self.process.poll()})\n{screen}"
            time.sleep(0.05)

    def _is_at_its_end(self) -> bool:
        if self.process.poll() is None:
            return False
        self._read_to_the_end(10.0)
        return True

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        with self._drawing:
            self._screen.resize(rows, columns)
            self._rows = None
            self._set_size(columns, rows)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def exit_code(self, deadline_s: float = 30.0) -> int:
        """Wait for the end, and for what was still on its way to the screen."""
        code = self.process.wait(deadline_s)
        self._read_to_the_end(deadline_s)
        return code

    def _read_to_the_end(self, deadline_s: float) -> None:
        """A terminal that nobody has open any more is at its end once all that was written has been read."""
        if self._slave >= 0:
            self._modes_left = termios.tcgetattr(self._slave)
            os.close(self._slave)
            self._slave = -1
        self._reader.join(deadline_s)
        assert not self._reader.is_alive(), "the command is over, and somebody still has its terminal open"

    def hang_up(self) -> None:
        """The terminal's window is closed."""
        self._let_go()

    def close(self) -> None:
        for ending, patience_s in self.endings:
            if self.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, ending)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(patience_s)
        self._let_go()

    def _let_go(self) -> None:
        self._closing.set()
        self._reader.join()
        for handle in (self._slave, self._master):
            if handle >= 0:
                os.close(handle)
        self._slave = self._master = -1

    def _read(self) -> None:
        while not self._closing.is_set():
            readable, _, _ = select.select([self._master], [], [], 0.1)
            if not readable:
                continue
            data = heard(self._master)
            if not data:
                return
            with self._drawing:
                self.written += data
                self._stream.feed(data)
                self._rows = None

"""The last words of a process are heard, also where the system reports the end before them."""

from __future__ import annotations

import errno
import os

import pytest

from fakes.pseudo_terminal import heard


def test_all_is_heard_until_the_end() -> None:
    master, slave = os.openpty()
    os.write(slave, b"last words")
    os.close(slave)
    assert (heard(master), heard(master)) == (b"last words", b"")
    os.close(master)


def test_words_that_come_after_the_end_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([OSError(errno.EIO, "the end"), b"last words", OSError(errno.EIO, "the end"), OSError()])

    def read(_: int, __: int) -> bytes:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr("fakes.pseudo_terminal.os.read", read)
    assert (heard(7), heard(7)) == (b"last words", b"")

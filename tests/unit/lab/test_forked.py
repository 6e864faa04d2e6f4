"""A function in a process of its own leaves with the code that an interpreter would leave with."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from ralphloop.lab import forked


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [(None, 0, ""), (0, 0, ""), (3, 3, ""), ("it cannot be", 1, "it cannot be\n"), ("", 1, "\n")],
)
def test_leaving_has_the_code_of_an_interpreter(
    tmp_path: Path, said: int | str | None, code: int, told: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside a test runner's threads
        ended = forked.run(lambda: sys.exit(said), env={}, cwd=str(tmp_path))
    assert (ended.code, ended.stderr) == (code, told)

"""A deadline is over by whichever clock passes it first."""

from __future__ import annotations

import math

import pytest

from fakes.patience import eventually
from ralphloop.runner.control import Deadline


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("wall_s", "boot_s", "left_s"),
    [
        (0, 0, 60),
        (20, 20, 40),
        (60, 60, 0),
        (3600, 3600, 0),  # the machine slept
        (-3600, 20, 40),  # the clock was set back
        (-3600, 60, 0),
        (61, 20, 0),  # a halted machine, whose own clock stood still
        (-10, -10, 60),
    ],
)
def test_the_clock_that_has_gone_further_counts(wall_s: float, boot_s: float, left_s: float) -> None:
    wall, boot = Clock(1_000_000.0), Clock(500.0)
    deadline = Deadline(60, wall=wall, boot=boot)
    wall.now += wall_s
    boot.now += boot_s
    assert (deadline.left(), deadline.is_over()) == (left_s, left_s == 0)


def test_a_reset_gives_the_whole_time_again() -> None:
    wall, boot = Clock(1000.0), Clock(5.0)
    deadline = Deadline(60, wall=wall, boot=boot)
    wall.now += 100
    assert deadline.is_over()
    deadline.reset()
    assert deadline.left() == 60
    boot.now += 15
    assert deadline.left() == 45


def test_the_real_clocks_run() -> None:
    deadline = Deadline(3600)
    eventually(lambda: deadline.left() < 3600)
    assert deadline.left() > 0
    assert Deadline(0).is_over()
    assert not Deadline(math.inf).is_over()

"""How long a wait for the API is."""

from __future__ import annotations

import pytest

from ralphloop.domain import outage
from ralphloop.domain.outage import LONGEST_S, backoff_s
from unit.domain.cases import each


@pytest.mark.parametrize(
    ("first_s", "before", "wanted"),
    [
        (30.0, 0, 30.0), (30.0, 1, 60.0), (30.0, 4, 480.0), (30.0, 5, LONGEST_S), (30.0, 10**6, LONGEST_S),
        (3600.0, 0, 3600.0), (3600.0, 3, 3600.0),
    ],
)  # fmt: skip
def test_a_wait_doubles_up_to_its_longest_and_is_never_shorter_than_the_first(
    first_s: float, before: int, wanted: float
) -> None:
    assert backoff_s(first_s, before) == wanted


@each(
    ("announced_in_s", "before", "waits_s"),
    [
        (None, 0, 30.0),
        (None, 2, 120.0),
        (500.0, 0, 500.0),
        (500.0, 5, 900.0),
        (5000.0, 5, 5000.0),
        (-10.0, 0, 30.0),
        (-10.0, 3, 240.0),
        (23 * 3600.0, 0, 23 * 3600.0),
        (23 * 3600.0, 1, 60.0),
        (7 * 86400.0, 0, 7 * 86400.0),
        (9 * 86400.0, 0, 30.0),
    ],
)
def test_when_to_try_again(announced_in_s, before, waits_s):
    now = 1_800_000_000.0
    announced = None if announced_in_s is None else now + announced_in_s
    assert outage.due(announced, before=before, first_s=30.0, now=now) == now + waits_s

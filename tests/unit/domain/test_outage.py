"""How long a wait for the API is."""

from __future__ import annotations

import pytest

from ralphloop.domain import outage
from ralphloop.domain.model import LOGIN
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


@each(
    ("said", "refused"),
    [
        ("Please run /login · API Error: 401 nobody", True),
        ("Not logged in · Please run /login", True),
        ("prompt is too long: 403 pages", False),
        ("the answer has 401 lines", False),
        ("Request failed with status code 401", True),
        ("Failed to authenticate. API Error: 403 OAuth token has expired.", True),
        ("authentication_failed: no key", True),
        ("API Error: 404 no such model", False),
        ("API Error: 500 after 4010 ms", False),
        ("", False),
    ],
)
def test_a_refused_login_is_known_by_what_was_said(said: str, refused: bool) -> None:
    assert outage.refuses_login(said) is refused
    told = outage.reason(said)
    assert told == (f"{LOGIN}: {said}" if refused else said)
    assert outage.reason(told) == told


RETRY = {
    "type": "system", "subtype": "api_error", "retryAttempt": 2, "maxRetries": 10,
    "error": {"status": 401, "formatted": "401 OAuth token has expired."},
}  # fmt: skip


@each(
    ("changed", "told"),
    [
        ({}, f"{LOGIN}: 401 OAuth token has expired; the client tries again (2 of 10)"),
        (
            {"error": {"status": 529, "message": "529 overloaded"}},
            "529 overloaded; the client tries again (2 of 10)",
        ),
        ({"error": {"status": 500}, "retryAttempt": "2"}, "API error 500; the client tries again"),
        ({"error": 3, "maxRetries": None}, "the API failed; the client tries again"),
        ({"error": None, "content": "it broke"}, "it broke; the client tries again (2 of 10)"),
    ],
)
def test_a_retry_says_why_and_which_one_it_is(changed: dict[str, object], told: str) -> None:
    assert outage.retrying({**RETRY, **changed}) == told

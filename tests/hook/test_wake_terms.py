"""Which errors are waited for, and how long."""

from __future__ import annotations

from ralphloop.domain.outage import LONGEST_S
from ralphloop.engine.wake import Failure, Terms, due

NOW = 1_800_000_000.0
TERMS = Terms(margin_s=60.0, backoff_s=30.0)
NO_TIME = "API Error: 529 Overloaded."


CURED = [
    ("rate_limit", "API Error: Request rejected (429) · Rate limit reached"),
    ("rate_limit", "You've hit your limit · resets 3am"),
    ("overloaded", "API Error: 529"),
    ("server_error", "API Error: 529 Overloaded. This is a server-side issue, usually temporary"),
    ("server_error", "API Error: 500 boom"),
    ("server_error", "API Error: Connection refused — a proxy may be blocking it (ECONNREFUSED)"),
    ("unknown", "API Error: Request timed out."),
    ("unknown", "API Error: Connection error."),
    ("unknown", "API Error: 503 upstream"),
    ("unknown", "API Error: 429 too many requests"),
]
HOPELESS = [
    ("authentication_failed", "Please run /login · API Error: 401 nobody"),
    ("authentication_failed", "Please run /login · API Error: 403 Connection to the server"),
    ("oauth_org_not_allowed", "not allowed"),
    ("account_on_hold", "on hold"),
    ("billing_error", "Credit balance is too low"),
    ("billing_error", "You have reached your individual spend limit."),
    ("model_not_found", "There's an issue with the selected model"),
    ("invalid_request", "400 prompt is too long: 5 tokens > 4 maximum"),
    ("max_output_tokens", "the limit of output tokens"),
    ("cloud_credential_error", "timed out"),
    ("server_error", "API Error: 400 bad"),
    ("server_error", "API Error: 404 no such model"),
    ("unknown", "API Error: 413 request too large"),
    ("unknown", "something odd"),
    ("", "API Error: 500"),
]


def test_time_cures_limits_and_outages() -> None:
    assert [one for one in CURED if not Failure(*one).is_cured_by_time] == []


def test_no_time_cures_what_a_person_must_change() -> None:
    assert [one for one in HOPELESS if Failure(*one).is_cured_by_time] == []


def test_a_wait_without_an_announced_end_doubles_up_to_15_minutes() -> None:
    waits = {1: 30, 2: 60, 3: 120, 4: 240, 5: 480, 6: 900, 7: 900, 10**6: 900}
    assert {count: due(NO_TIME, count, terms=TERMS, now=NOW) - NOW for count in waits} == waits


def test_an_announced_reset_is_waited_for_with_its_margin() -> None:
    reset = int(NOW) + 7200
    assert due(f"limit reached|{reset}", 1, terms=TERMS, now=NOW) == reset + 60
    assert due(f"limit reached|{reset}", 1, terms=Terms(margin_s=5.0), now=NOW) == reset + 5


def test_a_reset_that_is_over_is_none() -> None:
    assert due(f"limit reached|{int(NOW) - 600}", 1, terms=TERMS, now=NOW) == NOW + 30


def test_a_reset_that_is_announced_again_and_again_is_not_asked_about_faster() -> None:
    near = f"limit reached|{int(NOW) + 1}"
    assert due(near, 4, terms=Terms(margin_s=0.0), now=NOW) == NOW + 240


def test_a_reset_that_is_just_over_is_not_taken_for_tomorrows() -> None:
    tomorrow = f"limit reached|{int(NOW) + 24 * 3600 - 90}"
    assert due(tomorrow, 1, terms=TERMS, now=NOW) == NOW + 24 * 3600 - 30
    assert due(tomorrow, 2, terms=TERMS, now=NOW) == NOW + 60
    assert due(tomorrow, 20, terms=TERMS, now=NOW) == NOW + LONGEST_S


def test_a_reset_some_days_away_stays_that_after_a_day_of_waiting() -> None:
    reset = int(NOW) + 3 * 24 * 3600
    assert due(f"limit reached|{reset}", 2, terms=TERMS, now=NOW) == reset + 60

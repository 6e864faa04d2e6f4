"""When a limit message says that work can go on."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from ralphloop.agents import limit
from unit.domain.cases import each

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=timezone.utc).timestamp()
UTC, TOKYO, NEW_YORK = "UTC", "Asia/Tokyo", "America/New_York"


def at(zone: str, *when: int, fold: int = 0) -> float:
    return datetime(*when, tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def announced(said: str, now: float = NOW) -> float | None:
    found = limit.resume_at(said, now=now)
    return None if found is None else found - 60


@each(
    ("said", "moment"),
    [
        ("You've hit your limit · resets 7pm (Asia/Tokyo)", at(TOKYO, 2026, 11, 16, 19)),
        ("5-hour limit reached ∙ resets 10pm (Asia/Tokyo)", at(TOKYO, 2026, 11, 15, 22)),
        ("resets at 3:30am (America/New_York)", at(NEW_YORK, 2026, 11, 16, 3, 30)),
        ("resets 12am (UTC)", at(UTC, 2026, 11, 16, 0)),
        ("resets 12pm (UTC)", at(UTC, 2026, 11, 16, 12)),
        ("resets 1 p.m. (UTC)", at(UTC, 2026, 11, 15, 13)),
        ("Resets 15:30 (UTC)", at(UTC, 2026, 11, 15, 15, 30)),
        ("resets 9:05 (UTC)", at(UTC, 2026, 11, 16, 9, 5)),
        ("resets Nov 20, 9am (UTC)", at(UTC, 2026, 11, 20, 9)),
        ("weekly limit, resets Nov 20 at 9:15pm (Asia/Tokyo)", at(TOKYO, 2026, 11, 20, 21, 15)),
        ("resets November 20 at 9am (UTC)", at(UTC, 2026, 11, 20, 9)),
        ("resets Jan 2, 9am (UTC)", at(UTC, 2027, 1, 2, 9)),
        ("resets Nov 3, 9am (UTC)", at(UTC, 2027, 11, 3, 9)),
        ("Claude AI usage limit reached|1794800000", 1794800000.0),
        ('{"error":{"resets_at": 1794800000}}', 1794800000.0),
        ("limit resets 2026-11-15T18:30:00Z", at(UTC, 2026, 11, 15, 18, 30)),
        ("retry at 2026-11-15T18:30:00.5+09:00", at(TOKYO, 2026, 11, 15, 18, 30) + 0.5),
        ("retry at 2026-11-15T18:30:00+0900", at(TOKYO, 2026, 11, 15, 18, 30)),
        ("retry at 2026-11-15T18:30Z", at(UTC, 2026, 11, 15, 18, 30)),
        ("429 retry-after: 30", NOW + 30),
        ('{"retry-after":"120"}', NOW + 120),
        ("try again in 5 minutes", NOW + 300),
        ("Please retry in 45 seconds", NOW + 45),
        ("resets in 2h", NOW + 7200),
        ("resets in 1h 30m", NOW + 5400),
        ("try again in 2 hours and 5 minutes", NOW + 7500),
        ("please retry after 90s", NOW + 90),
    ],
)
def test_an_announced_reset_is_read_in_its_own_zone_and_form(said, moment):
    assert announced(said) == pytest.approx(moment, abs=0.001)


@each(
    "said",
    [
        "", "You have hit your limit", "resets soon", "resets tomorrow", "resets 7", "resets 99pm (UTC)",
        "resets 13pm",
        "resets 0am", "resets 24:00 (UTC)", "resets 9:60 (UTC)", "resets 9:75pm (UTC)",
        "resets Foo 20, 9am (UTC)",
        "resets Feb 30, 9am (UTC)",
        "resets Nov 0, 9am (UTC)", "2026-13-45T99:99:99Z", "2026-02-30T10:00:00Z", "|123",
        "|17948000001234", "retry later",
        "in 5 minutes the tests ran", "reset the counter to 9", "\ud800", "9" * 5000,
    ],
    ids=lambda said: ascii(said)[:30],
)  # fmt: skip
def test_nonsense_announces_nothing(said):
    assert limit.resume_at(said, now=NOW) is None


def test_a_number_too_large_for_a_clock_announces_nothing():
    assert limit.resume_at("retry-after: " + "9" * 400, now=NOW) is None
    assert limit.resume_at("try again in " + "9" * 400 + " hours", now=NOW) is None


# The clocks of New York went from 2:00 to 3:00 on 8 March 2026 and from 2:00 back to 1:00 on 1 November.
@each(
    ("now", "said", "moment"),
    [
        (at(NEW_YORK, 2026, 3, 7, 23), "3:30am", at(NEW_YORK, 2026, 3, 8, 3, 30)),
        (at(NEW_YORK, 2026, 3, 8, 1, 30), "3:30am", at(NEW_YORK, 2026, 3, 8, 3, 30)),
        (at(NEW_YORK, 2026, 3, 8, 4), "3:30am", at(NEW_YORK, 2026, 3, 9, 3, 30)),
        (at(NEW_YORK, 2026, 3, 7, 4), "3:30am", at(NEW_YORK, 2026, 3, 8, 3, 30)),
        (at(NEW_YORK, 2026, 10, 31, 23), "3:30am", at(NEW_YORK, 2026, 11, 1, 3, 30)),
        (at(NEW_YORK, 2026, 11, 1, 0, 30), "3:30am", at(NEW_YORK, 2026, 11, 1, 3, 30)),
        (at(NEW_YORK, 2026, 11, 1, 4), "3:30am", at(NEW_YORK, 2026, 11, 2, 3, 30)),
        (at(NEW_YORK, 2026, 10, 31, 4), "3:30am", at(NEW_YORK, 2026, 11, 1, 3, 30)),
        (at(NEW_YORK, 2026, 11, 1, 0, 30), "1:30am", at(NEW_YORK, 2026, 11, 1, 1, 30)),
        (at(NEW_YORK, 2026, 11, 1, 1, 45), "1:30am", at(NEW_YORK, 2026, 11, 1, 1, 30, fold=1)),
        (at(NEW_YORK, 2026, 11, 1, 1, 45, fold=1), "1:30am", at(NEW_YORK, 2026, 11, 2, 1, 30)),
    ],
)
def test_the_hour_is_right_on_both_days_of_a_change_of_the_clocks(now, said, moment):
    assert announced(f"resets {said} (America/New_York)", now) == moment


@each(
    ("now", "said", "zone"),
    product(
        [NOW, at(NEW_YORK, 2026, 3, 8, 1, 59), at(NEW_YORK, 2026, 11, 1, 1, 59), 1_709_251_200.0],
        ["resets %d:%02d%s (%s)", "resets at %d:%02d%s (%s)"],
        [UTC, TOKYO, NEW_YORK, "Europe/Berlin", "Australia/Lord_Howe"],
    ),
)
def test_a_wall_clock_always_means_the_next_time_it_shows_that_hour(now, said, zone):
    for hour in range(1, 13):
        for half in ("am", "pm"):
            moment = announced(said % (hour, 15, half, zone), now)
            assert now < moment <= now + 25.5 * 3600, (hour, half)


def test_a_date_that_was_just_reached_does_not_wait_for_a_year():
    now = at(UTC, 2026, 11, 15, 19, 0) + 20
    assert now < limit.resume_at("resets Nov 15, 7pm (UTC)", now=now) <= now + 60


def test_a_leap_day_is_no_trap():
    assert limit.resume_at("resets Feb 29, 9am (UTC)", now=at(UTC, 2028, 4, 1, 12)) is None
    assert announced("resets Feb 29, 9am (UTC)", at(UTC, 2028, 2, 1, 12)) == at(UTC, 2028, 2, 29, 9)


def test_explicit_instants_are_taken_as_they_are_even_in_the_past():
    assert announced("limit reached|1700000000") == 1700000000.0
    assert announced("resets 2020-01-01T00:00:00Z") == at(UTC, 2020, 1, 1)


def test_without_a_known_zone_the_machines_own_clock_is_meant(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        for said in ("resets 10pm", "resets 10pm (Not/AZone)", "resets 10pm (../../etc/passwd)"):
            assert announced(said) == at(TOKYO, 2026, 11, 15, 22)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_there_is_a_margin_after_the_announced_instant():
    assert limit.resume_at("limit reached|1794800000", now=NOW) == 1794800060.0

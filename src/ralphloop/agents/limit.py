"""When a client's limit message says that work can go on."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

MARGIN_S = 60.0  # a reset announced for seven is not always there at seven sharp

LIMIT_WORDS = (
    "rate limit", "rate_limit", "usage limit", "limit reached", "reached your limit", "hit your limit",
    "session limit", "weekly limit", "spend limit", "spending limit", "too many requests", "overloaded",
)  # fmt: skip

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_EPOCH = re.compile(r"(?:\||reset[a-z_]*\"?\s*[:=]?\s*)(1[6-9]\d{8}|[2-9]\d{9})\b", re.IGNORECASE)
_ISO = re.compile(r"\b(20\d\d-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d+)?(?:Z|([+-]\d\d):?(\d\d))")
_IN = re.compile(
    r"(?:retry|try again|resets?)\D{0,12}?\b(?:after|in)\s+(\d{1,6})\s*([smh])[a-z]*"
    r"(?:,?\s*(?:and\s+)?(\d{1,6})\s*([sm]))?",
    re.IGNORECASE,
)
_RETRY_AFTER = re.compile(r"retry-after\D{0,4}(\d{1,6})(?!\d)", re.IGNORECASE)
_AT = re.compile(
    r"reset[a-z]*\s+(?:at\s+)?"
    r"(?:(?P<month>[a-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2})(?:,|\s+at)?\s+)?"
    r"(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\.?)?"
    r"(?:\s*\((?P<zone>[A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)*)\))?",
    re.IGNORECASE,
)
_UNIT_S = {"s": 1, "m": 60, "h": 3600}
_DAY_S = 24 * 3600.0


def resume_at(said: str, *, now: float, margin_s: float = MARGIN_S) -> float | None:
    """The instant at which to try again, a margin after the announced reset; None if none is announced."""
    announced = _instant(said, now)
    return None if announced is None else announced + margin_s


def is_limit(said: str) -> bool:
    """Whether an error speaks of a limit that time lifts; the wording drifts from version to version."""
    low = " ".join(said.lower().split())
    return any(words in low for words in LIMIT_WORDS)


def _instant(said: str, now: float) -> float | None:
    if found := _EPOCH.search(said):
        return float(found[1])
    if found := _ISO.search(said):
        return _iso(*found.groups())
    if found := _RETRY_AFTER.search(said):
        return now + int(found[1])
    if found := _IN.search(said):
        rest = int(found[3]) * _UNIT_S[found[4].lower()] if found[3] else 0
        return now + int(found[1]) * _UNIT_S[found[2].lower()] + rest
    if found := _AT.search(said):
        return _wall_clock(found.groupdict(), now)
    return None


def _iso(moment: str, fraction: str | None, hours: str | None, minutes: str | None) -> float | None:
    """In the one form that every supported Python reads."""
    try:
        whole = datetime.fromisoformat(f"{moment}{hours or '+00'}:{minutes or '00'}")
    except ValueError:
        return None
    return whole.timestamp() + float(fraction or 0)


def _wall_clock(said: dict[str, str | None], now: float) -> float | None:
    hour, minute = int(said["hour"] or 0), int(said["minute"] or 0)
    half = (said["half"] or "").lower()[:1]
    if not half and not said["minute"]:
        return None
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        return None
    zone = _zone(said["zone"])
    today = datetime.fromtimestamp(now, zone)
    day = _day(said, today)
    if day is None:
        return None
    for fold in (0, 1):  # an hour that the clocks show twice
        moment = _at(day, hour, minute, fold=fold)
        if moment > now:
            return moment
    if not said["month"]:
        return _at(day + timedelta(days=1), hour, minute)
    if now - moment < _DAY_S:
        return now
    later = _next_year(day)
    return None if later is None else _at(later, hour, minute)


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return timezone.utc if name.upper() in ("UTC", "GMT") else ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None


def _day(said: dict[str, str | None], today: datetime) -> datetime | None:
    month = (said["month"] or "").lower()
    if not month:
        return today
    try:
        return today.replace(month=_MONTHS.index(month) + 1, day=int(said["day"] or 0))
    except ValueError:
        return None


def _next_year(day: datetime) -> datetime | None:
    try:
        return day.replace(year=day.year + 1)
    except ValueError:  # 29 February
        return None


def _at(day: datetime, hour: int, minute: int, *, fold: int = 0) -> float:
    """The wall clock's reading as an instant. Adding days to a local date and only then asking for its
    offset keeps the hour right across a change of the clocks."""
    wall = datetime(day.year, day.month, day.day, hour, minute, fold=fold)
    return (wall.replace(tzinfo=day.tzinfo) if day.tzinfo else wall).timestamp()

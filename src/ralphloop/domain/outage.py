"""Waiting for an API that does not answer: for how long, and which answers no wait changes."""

from __future__ import annotations

from ralphloop.domain.model import LOGIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

LONGEST_S = 15 * 60.0  # of waits that double
STALE_S, DAY_S = 22 * 3600.0, 24 * 3600.0 + 3600.0
FARTHEST_S = 8 * 24 * 3600.0

# the request, the key, the money, the rights, the model's name
HOPELESS = (400, 401, 402, 403, 404, 405, 413, 422)
_LOGIN, _STATUS = ("authentication_failed", "authentication_error"), ("401", "403")
_BEFORE_A_NUMBER = ("", "error", "status", "code")  # it is the first word, or stands behind one of these
_NO_LOGIN = ("not logged in", "please run /login")  # of a client that sends nothing without one (2.1.325)


def backoff_s(first_s: float, before: int) -> float:
    """Twice as long each time, up to a quarter of an hour, and never shorter than the first one."""
    return float(min(first_s * (1 << min(before, 20)), max(LONGEST_S, first_s)))


def due(announced: Optional[float], *, before: int, first_s: float, now: float) -> float:
    """When to try again, after so many waits in a row: at the announced reset, else after one that doubles.
    One that is over says nothing; right after a wait, one in about a day is the same one, read as tomorrow's;
    one that is further away than any limit lasts is a mistake."""
    doubled = now + backoff_s(first_s, before)
    if announced is None or not now < announced <= now + FARTHEST_S:
        return doubled
    if before == 0:
        return announced
    is_stale = STALE_S < announced - now <= DAY_S
    return doubled if is_stale else max(announced, doubled)


def refuses_login(said: str) -> bool:
    """Whether an error speaks of the login or the key; what it says of a status is a word of its own."""
    low = said[:2000].lower()
    words = "".join([ch if ch.isalnum() or ch == "_" else " " for ch in low]).split()
    numbers = [word for before, word in zip(["", *words], words) if before in _BEFORE_A_NUMBER]
    return (
        any(word in words for word in _LOGIN)
        or any(number in numbers for number in _STATUS)
        or any(phrase in low for phrase in _NO_LOGIN)
    )


def reason(said: str) -> str:
    """An error that no wait cures, as a loop's detail has it: a refused login is known by how that begins."""
    is_told = said.startswith(LOGIN) or not refuses_login(said)
    return said if is_told else "%s: %s" % (LOGIN, said)


def retrying(entry: Mapping[str, Any]) -> str:
    """What a transcript's `api_error` entry says: why, and which try comes next (2.1.325)."""
    error, content = entry.get("error"), entry.get("content")
    error = error if isinstance(error, dict) else {}
    status = error.get("status")
    known = [error.get("formatted"), error.get("message"), content]
    said = [text for text in known if isinstance(text, str) and text.strip()]
    said += ["API error %d" % status] if isinstance(status, int) else []
    number, most = entry.get("retryAttempt"), entry.get("maxRetries")
    count = " (%d of %d)" % (number, most) if isinstance(number, int) and isinstance(most, int) else ""
    why = reason(said[0].strip().rstrip(".")) if said else "the API failed"
    return "%s; the client tries again%s" % (why, count)

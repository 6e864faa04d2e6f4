"""The settings: what each one is, how its value is read and told, and what holds without one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ralphloop.agents.registry import NAMES, client
from ralphloop.domain.model import UNLIMITED
from ralphloop.domain.table import COUNT, DOLLARS, END, LIMITS, PERSON, TIME, TOKENS, TURNS
from ralphloop.spelling import meant

PLAN = "plan"  # the client's mode in which nothing is changed
_TEXT_MAX = 200
_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}


# How the value of an option is read, which may stand in a file as well


def count(text: str) -> int:
    """A whole number above zero."""
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
    if not 0 < value < UNLIMITED:
        raise ValueError(f"{text[:40]!r} is not a whole number above zero")
    return value


def turns(text: str) -> int:
    """A number of turns; 0 is no limit."""
    return UNLIMITED if text == "0" else count(text)


def seconds(text: str) -> float:
    found = _TIME.fullmatch(text.strip().lower()) if text.strip() else None
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a time above zero like 90m, 4h or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + rest
    if not 1 <= total < 1e8:
        raise ValueError(f"{text[:40]!r} is no time that a loop can run: it is a second at least")
    return total


def tokens(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmM]?)", text)
    value = float(found[1]) * _THOUSANDS[found[2].lower()] if found else 0.0
    if not 1 <= value < 1e15:
        raise ValueError(f"{text[:40]!r} is not a number of tokens like 500k or 2M")
    return int(value)


def dollars(text: str) -> float:
    try:
        value = float(text.lstrip("$"))
    except ValueError:
        value = 0.0
    if not math.isfinite(value) or not 0 < value < 1e9:
        raise ValueError(f"{text[:40]!r} is not an amount of dollars above zero, like 5 or 2.50")
    return value


# How the value of a key is read: what a file has, which may be of any type


def as_option(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    """As the option of the same name, or as a plain number."""
    return lambda value: read(str(value))


def time_s(value: Any) -> float:
    """A plain number is one of seconds."""
    text = str(value)
    return seconds(text + "s" if _NUMBER.fullmatch(text) else text)


# kind of a limit -> how an option has its amount, and how a setting
AMOUNTS: dict[str, tuple[Callable[[str], float], Callable[[Any], float]]] = {
    TURNS: (turns, as_option(count)),
    COUNT: (count, as_option(count)),
    TIME: (seconds, time_s),
    TOKENS: (tokens, as_option(tokens)),
    DOLLARS: (dollars, as_option(dollars)),
}


def margin_s(value: Any) -> float:
    return 0.0 if str(value) in ("0", "0s") else time_s(value)


def batch(value: Any) -> int:
    return 0 if str(value) == "0" else count(str(value))


def percent(value: Any) -> int:
    text = str(value).rstrip("%")
    if not text.isascii() or not text.isdigit() or int(text[:4]) > 100:
        raise ValueError(f"{str(value)[:40]!r} is not a percentage from 0 to 100")
    return int(text)


def switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{str(value)[:40]!r} is neither true nor false")
    return value


def text(value: Any) -> str:
    """A word that is handed on to another program, and must not be an option there."""
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= _TEXT_MAX:
        raise ValueError(f"{str(value)[:40]!r} is not a short text in quotes")
    if value.startswith("-") or value != value.strip():
        raise ValueError(f"{value[:40]!r} begins with a dash or has spaces around it")
    return value


def token(value: Any) -> str:
    """What the message says never holds the value."""
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,4096}", value):
        raise ValueError("it must be a text in quotes, of letters, digits and signs without spaces")
    return value


def url(value: Any) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(token(value))
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("it must be an address in quotes that begins with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it must hold no name or password; put a token into webhook_token")
    return str(value)


def one_of(*names: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(names)}{meant(value, names)}")
        return str(value)

    return read


def permission_mode(*names: str) -> Callable[[Any], str]:
    """One of the client's modes in which work can be done."""
    known = one_of(*names)
    return lambda value: known(working_mode(value))


def working_mode(value: Any) -> Any:
    """Any mode but that of planning, known or not."""
    if value == PLAN:
        told = "no task can be done in plan mode, in which the agent changes nothing; take acceptEdits"
        raise ValueError(told)
    return value


def some_of(*names: str) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f'{str(value)[:40]!r} is not a list like ["{names[0]}"]')
        return tuple(dict.fromkeys(map(one_of(*names), value)))

    return read


AGENTS = NAMES
PERMISSION_MODES = client().program.PERMISSION_MODES
CONTINUATIONS = ("block", "context")
OCCASIONS = (END, PERSON)
JSON, NTFY, SLACK = WEBHOOK_FORMATS = ("json", "ntfy", "slack")


class Key(NamedTuple):
    read: Callable[[Any], Any]
    default: Any
    told: str
    by_project: bool = True  # whether a repository may set it for whoever works in it


class Target(NamedTuple):
    """A way of telling the person, which the module of the same name in `notify` sends."""

    told: str
    needs: str = ""  # the setting without which nothing is sent
    by_project: bool = True  # whether a repository may switch it on; not if anything leaves the machine


TARGETS = {
    "desktop": Target("by `notify-send`, `osascript` or a Windows toast, whichever is there"),
    "bell": Target("rings in the terminal that the session runs in"),
    "webhook": Target(
        "a POST to an address of your own. It has 10 seconds, and a redirect is not followed",
        needs="webhook_url",
        by_project=False,
    ),
}

KEYS: dict[str, Key] = {
    "batch": Key(batch, 0, "tasks for one session of `run`; 0 for no limit"),
    "model": Key(text, None, "the model, where neither the task nor the list names one"),
    "fallback_model": Key(text, None, "the model while that one is overloaded"),
    "permission_mode": Key(
        permission_mode(*PERMISSION_MODES),
        "acceptEdits",
        "what the agent of `run` may do unasked",
        by_project=False,
    ),
    "agent": Key(one_of(*AGENTS), AGENTS[0], "the client that `run` starts"),
    "idle_timeout": Key(time_s, 1200.0, "a session of `run` that is silent for so long is ended"),
    "context_limit": Key(percent, 70, "per cent of the context after which `run` hands over; 0 for off"),
    "commit": Key(switch, False, "`run` commits each closed task"),
    "branch": Key(text, None, "the branch for those commits"),
    **{row.setting: Key(AMOUNTS[row.kind][1], None, row.told) for row in LIMITS.values() if row.setting},
    "continue_with": Key(one_of(*CONTINUATIONS), CONTINUATIONS[0], "how the next task reaches the agent"),
    "wake": Key(switch, True, "a session that hit a rate limit is woken when that is over"),
    "reset_margin": Key(margin_s, 60.0, "how long after the end of a rate limit the loop goes on"),
    "backoff": Key(time_s, 30.0, "the first wait after an error that names no time"),
    "notify": Key(some_of(*TARGETS), (), f"how you are told: {', '.join(TARGETS)}; empty for not at all"),
    "notify_on": Key(some_of(*OCCASIONS), OCCASIONS, "when: at the end, or when a person is needed"),
    "webhook_url": Key(url, None, "where the webhook sends to", by_project=False),
    "webhook_format": Key(
        one_of(*WEBHOOK_FORMATS), JSON, f"its shape: {', '.join(WEBHOOK_FORMATS)}", by_project=False
    ),
    "webhook_token": Key(token, None, "sent with it as `Authorization: Bearer`", by_project=False),
}  # fmt: skip

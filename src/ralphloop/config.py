"""The settings of ralphloop: what each one is, and where its value comes from."""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ralphloop.domain.model import UNLIMITED
from ralphloop.store import files

# where a value can come from, besides a variable, whose name then stands in this place
DEFAULT, USER, PROJECT = "default", "user file", "project file"

AGENTS = ("claude",)
PERMISSION_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
CONTINUATIONS = ("block", "context")
DESKTOP, BELL, WEBHOOK = CHANNELS = ("desktop", "bell", "webhook")
END, PERSON = OCCASIONS = ("end", "person")
JSON, NTFY, SLACK = WEBHOOK_FORMATS = ("json", "ntfy", "slack")

SIZE_MAX = 1 << 20
_TEXT_MAX = 200
_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}
_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False,
             "off": False}  # fmt: skip


class ConfigError(ValueError):
    """A setting that cannot hold; the message names its place and what to do."""


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
        raise ValueError(f"{text[:40]!r} is not a time like 90m, 4h or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + rest
    if not 1 <= total < 1e8:
        raise ValueError(f"{text[:40]!r} is no time that a loop can run")
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
        raise ValueError(f"{text[:40]!r} is not an amount of dollars like 5 or 2.50")
    return value


# How the value of a key is read: what a file has, which may be of any type


def _as_option(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    """As the option of the same name, or as a plain number."""
    return lambda value: read(str(value))


def _time(value: Any) -> float:
    """A plain number is one of seconds."""
    text = str(value)
    return seconds(text + "s" if _NUMBER.fullmatch(text) else text)


def _margin(value: Any) -> float:
    return 0.0 if str(value) in ("0", "0s") else _time(value)


def batch(value: Any) -> int:
    return 0 if str(value) == "0" else count(str(value))


def percent(value: Any) -> int:
    text = str(value).rstrip("%")
    if not text.isascii() or not text.isdigit() or int(text[:4]) > 100:
        raise ValueError(f"{str(value)[:40]!r} is not a percentage from 0 to 100")
    return int(text)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{str(value)[:40]!r} is neither true nor false")
    return value


def _text(value: Any) -> str:
    """A word that is handed on to another program, and must not be an option there."""
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= _TEXT_MAX:
        raise ValueError(f"{str(value)[:40]!r} is not a short text in quotes")
    if value.startswith("-") or value != value.strip():
        raise ValueError(f"{value[:40]!r} begins with a dash or has spaces around it")
    return value


def _token(value: Any) -> str:
    """What the message says never holds the value."""
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,4096}", value):
        raise ValueError("it must be a text in quotes, of letters, digits and signs without spaces")
    return value


def _url(value: Any) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(_token(value))
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("it must be an address in quotes that begins with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it must hold no name or password; put a token into webhook_token")
    return str(value)


def _one_of(*names: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(names)}{_meant(value, names)}")
        return str(value)

    return read


def _some_of(*names: str) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f'{str(value)[:40]!r} is not a list like ["{names[0]}"]')
        return tuple(dict.fromkeys(map(_one_of(*names), value)))

    return read


class Key(NamedTuple):
    read: Callable[[Any], Any]
    default: Any
    told: str
    by_project: bool = True  # whether a repository may set it for whoever works in it


KEYS: dict[str, Key] = {
    "batch": Key(batch, 0, "tasks for one session of `run`; 0 for no limit"),
    "model": Key(_text, None, "the model, where neither the task nor the list names one"),
    "fallback_model": Key(_text, None, "the model while that one is overloaded"),
    "permission_mode": Key(
        _one_of(*PERMISSION_MODES), "acceptEdits", "what the agent of `run` may do unasked", by_project=False
    ),
    "agent": Key(_one_of(*AGENTS), AGENTS[0], "the client that `run` starts"),
    "idle_timeout": Key(_time, 1200.0, "a session of `run` that is silent for so long is ended"),
    "context_limit": Key(percent, 70, "per cent of the context after which `run` hands over; 0 for off"),
    "commit": Key(_switch, False, "`run` commits each proven task"),
    "branch": Key(_text, None, "the branch for those commits"),
    "max_iterations": Key(_as_option(count), None, "turns at most"),
    "max_attempts": Key(_as_option(count), None, "attempts at one task"),
    "max_time": Key(_time, None, "running time"),
    "max_no_progress": Key(_as_option(count), None, "continuations without progress"),
    "max_tokens": Key(_as_option(tokens), None, "tokens of the whole loop"),
    "max_cost": Key(_as_option(dollars), None, "dollars of the whole loop"),
    "max_task_tokens": Key(_as_option(tokens), None, "tokens of one task"),
    "max_task_cost": Key(_as_option(dollars), None, "dollars of one task"),
    "continue_with": Key(_one_of(*CONTINUATIONS), "block", "how the next task reaches the agent"),
    "wake": Key(_switch, True, "a session that hit a rate limit is woken when that is over"),
    "reset_margin": Key(_margin, 60.0, "how long after the end of a rate limit the loop goes on"),
    "backoff": Key(_time, 30.0, "the first wait after an error that names no time"),
    "notify": Key(_some_of(*CHANNELS), (), "how you are told: desktop, bell, webhook; empty for not at all"),
    "notify_on": Key(_some_of(*OCCASIONS), OCCASIONS, "when: at the end, or when a person is needed"),
    "webhook_url": Key(_url, None, "where the webhook sends to", by_project=False),
    "webhook_format": Key(_one_of(*WEBHOOK_FORMATS), JSON, "its shape: json, ntfy, slack", by_project=False),
    "webhook_token": Key(_token, None, "sent with it as `Authorization: Bearer`", by_project=False),
}  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Every setting with where it comes from."""

    values: Mapping[str, tuple[Any, str]]
    warnings: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        return self.values[key][0]

    def origin(self, key: str) -> str:
        return self.values[key][1]

    def settings(self) -> list[tuple[str, Any, str]]:
        return [(key, value, origin) for key, (value, origin) in self.values.items()]


def load(root: str, env: Mapping[str, str]) -> Config:
    """The settings that hold in this project: environment over project over user over default."""
    values = {key: (known.default, DEFAULT) for key, known in KEYS.items()}
    mine = _in_file(user_file(env))
    values.update({key: (value, USER) for key, value in mine.items()})
    theirs = _in_file(project_file(root), instead=user_file(env))
    values.update({key: (value, PROJECT) for key, value in theirs.items()})
    values.update(_in_environment(env))
    found = {key: value for key, (value, _) in values.items()}
    return Config(values, warnings=tuple(_warnings(found, user_file(env) if "webhook_token" in mine else "")))


def user_file(env: Mapping[str, str]) -> str:
    base = env.get("XDG_CONFIG_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "ralphloop", "config.toml")


def project_file(root: str) -> str:
    return os.path.join(root, ".ralph", "config.toml")


def variable(key: str) -> str:
    return "RALPHLOOP_" + key.upper()


def _in_file(path: str, *, instead: str = "") -> dict[str, Any]:
    """What the file sets, checked; nothing if there is no file. `instead` of a project's is the person's own,
    for what a repository must not say: it would widen its own rights, or send data anywhere."""
    found = {}
    for key, value in _parsed(path).items():
        if key not in KEYS:
            near = _meant(key, KEYS) or "; `ralphloop config` lists them all."
            raise ConfigError(f"{path}: there is no setting {key[:60]}{near}")
        if instead and not KEYS[key].by_project:
            raise ConfigError(f"{path}: {key} is not for a project to say; put it into {instead}.")
        found[key] = _checked(key, value, where=path)
        if instead and key == "notify" and WEBHOOK in found[key]:
            raise ConfigError(
                f'{path}: notify: a project must not send data anywhere; put "{WEBHOOK}" into {instead}.'
            )
    return found


def _parsed(path: str) -> dict[str, Any]:
    try:
        text = files.read_text(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror or error}).") from None
    if text is None:
        return {}
    if len(text) > SIZE_MAX:
        raise ConfigError(f"{path} is too large to be a file of settings.")
    try:
        text.encode("utf-8")
        return _toml(path, text.removeprefix("\ufeff"))
    except UnicodeEncodeError:
        raise ConfigError(f"{path} is not UTF-8; save it as that.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        why = error if isinstance(error, ValueError) else "nested too deeply"
        raise ConfigError(f"{path} is not TOML: {why}. Repair that line.") from None


def _toml(path: str, text: str) -> dict[str, Any]:
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError:
        raise ConfigError(
            f"{path} cannot be read: this Python ({sys.executable}) has no TOML reader; "
            "use Python 3.11 or newer, or install tomli for it."
        ) from None
    found: dict[str, Any] = tomllib.loads(text)
    return found


def _in_environment(env: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    """An empty variable is none at all, but for a list, which it empties."""
    found = {}
    for key, known in KEYS.items():
        name = variable(key)
        said: Any = env.get(name)
        if isinstance(known.default, tuple) and said is not None:
            said = [part.strip() for part in said.split(",") if part.strip()]
        elif not said:
            continue
        elif isinstance(known.default, bool):
            said = _SWITCHES.get(said.strip().lower(), said)
        found[key] = (_checked(key, said, where=name), name)
    return found


def _checked(key: str, value: Any, *, where: str) -> Any:
    try:
        return KEYS[key].read(value)
    except ValueError as error:
        name = "" if where == variable(key) else f" {key}:"
        end = "" if str(error).endswith("?") else "."
        raise ConfigError(f"{where}:{name} {error}{end}") from None


def _meant(said: Any, known: Any) -> str:
    near = difflib.get_close_matches(str(said).lower().replace("-", "_"), known, n=1, cutoff=0.5)
    return f", did you mean {near[0]}?" if near else ""


def _warnings(values: Mapping[str, Any], secret_file: str) -> list[str]:
    found = []
    if secret_file and _is_open_to_others(secret_file):
        found.append(f"{secret_file} holds a token and others can read it: `chmod 600` it.")
    if WEBHOOK in values["notify"] and not values["webhook_url"]:
        found.append("notify names the webhook, but webhook_url is not set, so nothing is sent there.")
    return found


def _is_open_to_others(path: str) -> bool:
    try:
        return os.name == "posix" and os.stat(path).st_mode & 0o077 != 0
    except OSError:
        return False

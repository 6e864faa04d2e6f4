"""The settings: what each one is, how its value is read, and where it comes from: a variable, the project's
file, the person's own, the default."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ralphloop import errors
from ralphloop.agents.registry import NAMES, client
from ralphloop.domain.model import UNLIMITED
from ralphloop.domain.table import COUNT, DOLLARS, END, LIMITS, PERSON, TIME, TOKENS, TURNS
from ralphloop.spelling import meant
from ralphloop.store import files

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


def texts(value: Any) -> tuple[str, ...]:
    """Words of the person's own, each once."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f'{str(value)[:40]!r} is not a list of texts like ["one", "two"]')
    return tuple(dict.fromkeys(map(text, value)))


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
TELL, REFUSE = DOUBTS = ("tell", "refuse")
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
    "try_s": Key(margin_s, 60.0, "how long `start` may try checks before any work is done; 0 for never",
                 by_project=False),
    "apart": Key(switch, True, "checks are asked again apart from the project before a loop is complete",
                 by_project=False),
    "doubts": Key(one_of(*DOUBTS), TELL, "what a doubt about a proof does: tell, or refuse what it is about",
                  by_project=False),
    "criteria": Key(texts, (), "globs of more files that judge the work", by_project=False),
    "daemons": Key(texts, (), "more programs of checks that work through a daemon", by_project=False),
    "notify": Key(some_of(*TARGETS), (), f"how you are told: {', '.join(TARGETS)}; empty for not at all"),
    "notify_on": Key(some_of(*OCCASIONS), OCCASIONS, "when: at the end, or when a person is needed"),
    "webhook_url": Key(url, None, "where the webhook sends to", by_project=False),
    "webhook_format": Key(
        one_of(*WEBHOOK_FORMATS), JSON, f"its shape: {', '.join(WEBHOOK_FORMATS)}", by_project=False
    ),
    "webhook_token": Key(token, None, "sent with it as `Authorization: Bearer`", by_project=False),
}  # fmt: skip

# besides a variable, whose name then stands in this place
DEFAULT, USER, PROJECT = "default", "user file", "project file"

SIZE_MAX = 1 << 20
_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False,
             "off": False}  # fmt: skip

PREFIX = "RALPHLOOP_"
# what is ours and no setting
_TESTED = [name.upper() for name in AGENTS]  # the client that our tests run
OTHERS = tuple(PREFIX + name for name in ("CHECK", *_TESTED, "CLOCK", "GUARDED", "REQUIRE_CLIENT", "RUN"))


@dataclass(frozen=True)
class Config:
    """Every setting with where it comes from."""

    values: Mapping[str, tuple[Any, str]]
    warnings: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        return self.values[key][0]

    def origin(self, key: str) -> str:
        return self.values[key][1]

    def secrets(self) -> list[str]:
        """What nobody else may see: tokens, and addresses that whoever knows them can send to."""
        found = [self.get(key) for key, known in KEYS.items() if known.read in (token, url)]
        return [value for value in found if value]

    def settings(self) -> list[tuple[str, Any, str]]:
        return [(key, value, origin) for key, (value, origin) in self.values.items()]


def load(root: str, env: Mapping[str, str]) -> Config:
    """The settings that hold in this project: environment over project over user over default."""
    values = {key: (known.default, DEFAULT) for key, known in KEYS.items()}
    mine = _in_file(user_file(env))
    values.update({key: (value, USER) for key, value in mine.items()})
    theirs = _in_file(_own(project_file(root), root), instead=user_file(env))
    values.update({key: (value, PROJECT) for key, value in theirs.items()})
    values.update(_in_environment(env))
    found = {key: value for key, (value, _) in values.items()}
    secret = user_file(env) if any(KEYS[key].read is token for key in mine) else ""
    return Config(values, warnings=tuple(_warnings(found, secret, env=env)))


def user_file(env: Mapping[str, str]) -> str:
    base = env.get("XDG_CONFIG_HOME") or ""
    if not os.path.isabs(base):
        base = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "ralphloop", "config.toml")


def project_file(root: str) -> str:
    return os.path.join(root, ".ralph", "config.toml")


def _own(path: str, root: str) -> str:
    """The project's file, unless a link leads out: what lies elsewhere is not a repository's to name."""
    if files.leads_out(path, os.path.realpath(root)) and os.path.lexists(path):
        raise errors.ConfigError(f"{path} leads out of the project; put the file itself there.")
    return path


def variable(key: str) -> str:
    return PREFIX + key.upper()


def _in_file(path: str, *, instead: str = "") -> dict[str, Any]:
    """What the file sets, checked; nothing if there is no file. `instead` of a project's is the person's own,
    for what a repository must not say: it would widen its own rights, or send data anywhere."""
    found = {}
    for key, value in _parsed(path).items():
        if key not in KEYS:
            near = meant(key, KEYS) or "; `ralphloop config` lists them all."
            raise errors.ConfigError(f"{path}: there is no setting {key[:60]}{near}")
        if instead and not KEYS[key].by_project:
            raise errors.ConfigError(f"{path}: {key} is not for a project to say; put it into {instead}.")
        found[key] = _checked(key, value, where=path)
        away = [name for name in found[key] if not TARGETS[name].by_project] if key == "notify" else []
        if instead and away:
            raise errors.ConfigError(
                f'{path}: notify: a project must not send data anywhere; put "{away[0]}" into {instead}.'
            )
    return found


def _parsed(path: str) -> dict[str, Any]:
    try:
        text = files.read_text(path)
    except OSError as error:
        raise errors.ConfigError(f"{path} cannot be read ({error.strerror or error}).") from None
    if text is None:
        return {}
    if len(text) > SIZE_MAX:
        raise errors.ConfigError(f"{path} is too large to be a file of settings.")
    try:
        text.encode("utf-8")
        return _toml(path, text.removeprefix("\ufeff"))
    except UnicodeEncodeError:
        raise errors.ConfigError(f"{path} is not UTF-8; save it as that.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, errors.ConfigError):
            raise
        why = error if isinstance(error, ValueError) else "nested too deeply"
        raise errors.ConfigError(f"{path} is not TOML: {why}. Repair that line.") from None


def _toml(path: str, text: str) -> dict[str, Any]:
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError:
        raise errors.ConfigError(
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
        raise errors.ConfigError(f"{where}:{name} {error}{end}") from None


def _warnings(values: Mapping[str, Any], secret_file: str, *, env: Mapping[str, str]) -> list[str]:
    found = list(_misspelt(env))
    if secret_file and _is_open_to_others(secret_file):
        found.append(f"{secret_file} holds a token and others can read it: `chmod 600` it.")
    needed = [(name, TARGETS[name].needs) for name in values["notify"]]
    found += [
        f"notify names the {name}, but {key} is not set, so nothing is sent there."
        for name, key in needed
        if key and not values[key]
    ]
    return found


def _misspelt(env: Mapping[str, str]) -> Iterator[str]:
    """Variables that are none of ours, and close to one."""
    known = (*map(variable, KEYS), *OTHERS)
    for name in env:
        near = meant(name[len(PREFIX) :], KEYS) if name.startswith(PREFIX) and name not in known else ""
        if near:
            yield f"{name} is no setting{near}"


def _is_open_to_others(path: str) -> bool:
    try:
        return os.name == "posix" and os.stat(path).st_mode & 0o077 != 0
    except OSError:
        return False

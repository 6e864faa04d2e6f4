"""Where the value of a setting comes from: a variable, the project's file, the person's own, the default."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ralphloop import errors
from ralphloop.config.keys import AGENTS, KEYS, TARGETS, token, url
from ralphloop.spelling import meant
from ralphloop.store import files

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

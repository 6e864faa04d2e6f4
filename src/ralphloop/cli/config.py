"""The command `config`: every setting, its value, and where that comes from."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ralphloop import config
from ralphloop.cli.output import complain, say_json, tell
from ralphloop.config import keys as values
from ralphloop.loops.place import here

NOT_SET = "-"
HIDDEN = "(set)"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop config
  ralphloop config --json

An option wins over a variable (RALPHLOOP_MAX_COST), that over
.ralph/config.toml of the project, that over your own file,
~/.config/ralphloop/config.toml. Tokens are not shown, nor more of an address
than its server.
"""


def run(args: argparse.Namespace) -> int:
    place = here(writes=False)
    settings = config.load(place.project, place.env)
    places = {
        config.USER: config.user_file(place.env),
        config.PROJECT: config.project_file(place.project),
    }
    if args.json:
        say_json(_as_json(settings, places))
    else:
        _print(settings, places)
    for warning in settings.warnings:
        complain(warning)
    return 0


def _print(settings: config.Config, places: Mapping[str, str]) -> None:
    for name, path in places.items():
        tell(f"{name}: {path}{'' if os.path.lexists(path) else ' (not there)'}")
    rows = [(key, _shown(key, value), origin) for key, value, origin in settings.settings()]
    wide = max(len(value) for _, value, _ in rows if len(value) < 40)
    tell("")
    for key, value, origin in rows:
        tell(f"{key:<16} {value:<{wide}} {origin}")


def _as_json(settings: config.Config, places: Mapping[str, str]) -> dict[str, Any]:
    return {
        "files": {name.partition(" ")[0]: path for name, path in places.items()},
        "settings": {
            key: {"value": _public(key, value), "origin": origin, "help": config.KEYS[key].told}
            for key, value, origin in settings.settings()
        },
        "warnings": list(settings.warnings),
    }


def _public(key: str, value: Any) -> Any:
    """What may be seen: whoever knows the whole of such an address can send to it."""
    if value and config.KEYS[key].read is values.token:
        return HIDDEN
    if value and config.KEYS[key].read is values.url:
        parts = urlsplit(value)
        return f"{parts.scheme}://{parts.netloc}/…"
    return value


def _shown(key: str, value: Any) -> str:
    """The value as it can be written."""
    value = _public(key, value)
    if value is None:
        return NOT_SET
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(value) or "off"
    if config.KEYS[key].read in (values.time_s, values.margin_s):
        return _time(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _time(seconds: float) -> str:
    """`1h30m`, as an option has it."""
    if seconds % 1 or not seconds:
        return f"{seconds:g}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "".join(f"{value}{unit}" for value, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if value)

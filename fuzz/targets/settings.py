"""Any settings: what install adds uninstall takes out to the byte, and a file that cannot hold says so."""

from __future__ import annotations

import functools
import json
import os

from fuzz.choices import Choices, altered, spoiled, text, written
from fuzz.ground import base_folder
from fuzz.targets.shapes import CONFIG, FRONTMATTER, SETTINGS
from ralphloop.agents.claude import program as claude
from ralphloop.agents.claude import registration, settings
from ralphloop.agents.registration import Ours, Wanted
from ralphloop.config import keys
from ralphloop.domain import jsontext
from ralphloop.errors import ConfigError
from ralphloop.tasklists import frontmatter, specum

KINDS = ("client", "client", "config", "frontmatter", "registration")
WAYS = ("raw", "altered", "spoiled")
PACKAGE = "/opt/ralph loop/ralphloop"


def run(data: bytes) -> None:
    said = Choices(data)
    kind, way = said.pick(KINDS), said.pick(WAYS)
    if kind == "config":
        _config(said.rest() if way == "raw" else spoiled(said, CONFIG.encode()))
    elif kind == "frontmatter":
        _frontmatter(text(said.rest() if way == "raw" else spoiled(said, FRONTMATTER.encode())))
    elif kind == "registration":
        command = claude.hook_command(PACKAGE).encode()
        registration.parse(text(said.rest() if way == "raw" else spoiled(said, command)), PACKAGE)
    else:
        wanted = _wanted(said)
        _client(text(_settings(said, way)), wanted)


def _wanted(said: Choices) -> Wanted:
    return Wanted(
        hook=claude.hook_command(PACKAGE),
        rules=("Bash(ralphloop done:*)", "Bash(ralphloop ask:*)"),
        statusline=claude.statusline_command(PACKAGE),
        raised=not said.chance(4),
        shown=said.chance(2),
    )


def _settings(said: Choices, way: str) -> bytes:
    if way == "raw":
        return said.rest()
    seed = said.pick(SETTINGS)
    if said.chance(6):  # an installation is there already, and perhaps an old one
        seed = json.loads(settings.install(json.dumps(seed), _wanted(said)).text)
    data = written(said, altered(said, seed))
    return spoiled(said, data) if way == "spoiled" else data


def _client(before: str, wanted: Wanted) -> None:
    """As `install` and `uninstall` do it, with the record through JSON as it is kept."""
    blank = settings.is_blank(before)
    try:
        data = {} if blank else jsontext.parse_object(before)
    except ValueError:
        return
    for event in ("Stop", "SessionStart", "PreToolUse"):
        list(registration.entries(data, event))
    if settings.misshapen(data):
        return
    had_ours = any(registration.ours(entry) for event in claude.EVENTS
                   for entry in registration.entries(data, event))  # fmt: skip
    done = settings.install(before, wanted)
    jsontext.parse_object(done.text)
    kept = Ours.from_json(json.loads(json.dumps(done.ours.to_json())))
    again = settings.install(done.text, wanted, kept)
    assert again.text == done.text, "installed twice is installed once"
    removed = settings.uninstall(done.text, kept)
    if blank:
        assert settings.is_empty(removed.text)
    elif not had_ours:
        assert removed.text == before, "uninstall leaves the text as it was"
    settings.uninstall(done.text, None)
    settings.without_plugin(done.text, name="a@b")


@functools.cache
def _place() -> tuple[str, dict[str, str]]:
    base = base_folder()
    os.makedirs(os.path.join(base, "p", ".ralph"))
    os.makedirs(os.path.join(base, "h", ".config", "ralphloop"))
    return os.path.join(base, "p"), {"HOME": os.path.join(base, "h")}


def _config(data: bytes) -> None:
    """The person's file and the project's: values of the known kinds, or one error that names the place."""
    root, env = _place()
    for path in (keys.user_file(env), keys.project_file(root)):
        with open(path, "wb") as file:
            file.write(data)
        try:
            said = json.dumps(keys.load(root, env).settings(), default=str)
        except ConfigError as error:
            said = str(error) if path in str(error) else ""
        assert said, "an error names the file"
        os.unlink(path)


def _frontmatter(said: str) -> None:
    found = frontmatter.parse(said)
    assert all(isinstance(value, str) for values in found.values() for value in values)
    for key in found:
        frontmatter.count(found, key)
        frontmatter.is_off(found, key)
    for folder, pointer in specum.places("/p", found):
        assert (folder + "/").startswith("/p/"), "no setting leads out of the project"
        assert pointer.startswith("/p/")

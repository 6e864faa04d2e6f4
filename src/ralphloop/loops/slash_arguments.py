"""Arguments as the person typed them behind a slash command, turned into those of a command line."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping

from ralphloop.domain.model import SESSION_VARIABLE
from ralphloop.errors import UserError
from ralphloop.store import slash_command
from ralphloop.store.slash_command import Typed
from ralphloop.tasklists.registry import LAYOUTS, traits

# of a command's action: its options, each with the number of values that follow
Options = Mapping[str, int]
HELP = {"-h": 0, "--help": 0}  # of every action
_WORD = re.compile(r"\S+")


def taken(words: list[str], env: Mapping[str, str]) -> Typed:
    """What was typed behind the slash command whose prompt calls us with these words."""
    first, action = [*words, "", ""][:2]
    if first in LAYOUTS and traits(first).phases:  # its plugin's commands are this one's actions
        commands = [f"{traits(first).plugin}:{action}"]
    else:
        commands = [f"{traits(name).plugin}:{first}" for name in LAYOUTS]
    session = env.get(SESSION_VARIABLE) or ""
    found = slash_command.take(env, session, commands=commands, now=time.time()) if session else None
    if found is None:
        raise UserError(
            f"what stands behind /{commands[0]} did not arrive: the plugin's hooks do not run in this "
            "session. `ralphloop doctor` tells why; the same command works in a terminal."
        )
    return found


def argv(text: str, options: Options | None, *, loose: bool = False, named: bool = False) -> list[str]:
    """The words of a typed text. With `options` it is free text: those in front of it are taken, and the rest
    stays one word, byte by byte. `loose` takes them also from behind its first word, a name, and its end;
    `named` makes that a word of its own."""
    if options is None:
        return _words(text)
    options = {**HELP, **options}
    found, rest = _from_front(text, options)
    if loose:
        first = rest.split(None, 1)[0] if rest else ""
        within, after = _from_front(rest[len(first) :], options)
        if within:
            rest = f"{first} {after}".strip()
        behind, rest = _from_back(rest, options)
        found += [*within, *behind]
    if not rest:
        return found
    return [*found, "--", *(rest.split(None, 1) if named else [rest])]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise UserError(f"a quote is not closed in what you typed: {text.strip()}") from None


def _from_front(text: str, options: Options) -> tuple[list[str], str]:
    taken: list[str] = []
    while True:
        text = text.strip()
        count = _length(text.split(), options)
        if not count:
            return taken, text
        for word in text.split()[:count]:
            taken.append(word)
            text = text[text.index(word) + len(word) :]


def _from_back(text: str, options: Options) -> tuple[list[str], str]:
    """The longest end of the text that is nothing but options."""
    most = sum(1 + count for count in options.values())
    found = list(_WORD.finditer(text))[-most:] if most else []
    for at, word in enumerate(found):
        behind = [match.group() for match in found[at:]]
        if _are_options(behind, options):
            return behind, text[: word.start()].strip()
    return [], text


def _are_options(words: list[str], options: Options) -> bool:
    while words:
        count = _length(words, options)
        if not count:
            return False
        words = words[count:]
    return True


def _length(words: list[str], options: Options) -> int:
    """How many words the option takes that these begin with; 0 if they begin with none."""
    if not words:
        return 0
    name, equals, _ = words[0].partition("=")
    if name not in options:
        return 0
    count = 1 if equals else 1 + options[name]
    return count if count <= len(words) else 0

"""What stands behind a slash command, kept for the command line that its prompt calls.

It goes this way because a prompt could pass it on only as a part of a shell command, where the client
has replaced some of it and a line of it can end the quotation.
"""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.store import files, shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Optional, Sequence

FRESH_S = 300.0  # a prompt's command runs at once


class Typed:
    """The text behind a command, and whether a person typed it; else a model called the command."""

    __slots__ = ("by_person", "command", "text")

    def __init__(self, command: str, text: str, *, by_person: bool) -> None:
        self.command = command
        self.text = text
        self.by_person = by_person


def put(env: Mapping[str, str], session: str, typed: Typed, *, now: float) -> None:
    path = _place(env, session)
    files.make_folder(os.path.dirname(path))
    kept = {"command": typed.command, "text": typed.text, "by_person": typed.by_person, "at": now}
    files.write_text(path, jsontext.render(kept) + "\n")


def take(env: Mapping[str, str], session: str, *, commands: Sequence[str], now: float) -> Optional[Typed]:
    """What was just typed behind one of these commands; it can be taken once."""
    path = _place(env, session)
    kept = files.read_object(path)
    command, text, at = kept.get("command"), kept.get("text"), kept.get("at")
    if command not in commands or not isinstance(text, str) or not isinstance(at, float):
        return None
    os.unlink(path)
    found = Typed(str(command), text, by_person=kept.get("by_person") is True)
    return found if abs(now - at) < FRESH_S else None


def _place(env: Mapping[str, str], session: str) -> str:
    return os.path.join(shelf.home(env), "typed", files.file_name(session) + ".json")

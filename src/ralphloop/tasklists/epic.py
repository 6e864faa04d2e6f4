"""The epic that a spec may belong to: where its state is, and the edit that closes one spec in it."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ralphloop.tasklists.registry import Listed


def epic_path(listed: Listed, epic: str) -> str:
    return os.path.join(_specs_root(listed), "_epics", epic, ".epic-state.json")


def epic_pointer(listed: Listed) -> str:
    return os.path.join(_specs_root(listed), ".current-epic")


def _specs_root(listed: Listed) -> str:
    return os.path.dirname(os.path.dirname(listed.paths["state"]))


def close_epic(text: str, name: str) -> Optional[str]:
    """The epic's state with that spec completed; nothing if there is nothing to change."""
    spec = _spec(text, name)
    if spec is None:
        return None
    closed = jsontext.set_member(text, "status", "completed", at=spec.start)
    return closed if closed != text else None


def _spec(text: str, name: str) -> Optional[jsontext.Span]:
    try:
        jsontext.parse_object(text)
    except ValueError:
        return None
    specs = jsontext.member(text, "specs")
    if specs is None or not isinstance(specs.value, list):
        return None
    for spec in jsontext.members(text, specs.start):
        if isinstance(spec.value, dict) and spec.value.get("name") == name:
            return spec
    return None

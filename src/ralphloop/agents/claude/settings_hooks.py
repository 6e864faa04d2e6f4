"""Our hooks in the text of Claude Code's settings: registered once per event, and taken out again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ralphloop.agents.claude import program as claude
from ralphloop.agents.claude.registration import ours, placed
from ralphloop.agents.settings_text import Draft, Path

ADDED, UPDATED, SAME = "added", "updated", "unchanged"


def register(draft: Draft, command: str) -> str:
    """One entry of ours for each event; an old one is brought up to date in its place."""
    wanted = claude.hook_settings(command)["hooks"]
    before = draft.text
    known = [event for event in wanted if any(_entries(draft, event))]
    for event, (group,) in wanted.items():
        if event in known:
            _renew(draft, list(_entries(draft, event)), group["hooks"][0])
        else:
            draft.append(("hooks", event), group)
    for event in draft.value(("hooks",)):
        if event not in wanted:
            _remove(draft, list(_entries(draft, event)))
    if draft.text == before:
        return SAME
    return UPDATED if known else ADDED


def remove(draft: Draft) -> bool:
    """Take out every entry of ours; whether there was one."""
    before = draft.text
    for event in draft.value(("hooks",)) or {}:
        _remove(draft, list(_entries(draft, event)))
    return draft.text != before


def _entries(draft: Draft, event: str) -> Iterator[Path]:
    return (place for place, entry in placed(draft.value(()), event) if ours(entry))


def _renew(draft: Draft, paths: list[Path], entry: Mapping[str, Any]) -> None:
    """Leave only the first of these, with our command; one that has it stays, however it was tuned. What is
    shown for it is added where nothing is said."""
    first, *more = paths
    _remove(draft, more)
    known = draft.value(first)
    is_same = known["command"] == entry["command"]
    for key, value in entry.items():
        if key not in known if key == "statusMessage" else not is_same:
            draft.put((*first, key), value)


def _remove(draft: Draft, paths: list[Path]) -> None:
    """The last first, so that the places of the others hold; a group goes with its last hook."""
    for path in reversed(paths):
        alone = len(draft.value(path[:-1])) == 1
        draft.remove(path[:3] if alone else path)

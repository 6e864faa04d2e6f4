"""Our part of Claude Code's settings: what install writes into a text, and what uninstall takes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ralphloop.agents.claude import program, registration
from ralphloop.agents.registration import (
    ADDED,
    CAP,
    SAME,
    STATUSLINE,
    THEIRS,
    UPDATED,
    Installed,
    Ours,
    Removed,
    Wanted,
)
from ralphloop.agents.settings_text import NEW, SPACE, Draft, Path
from ralphloop.domain import jsontext
from ralphloop.domain.model import CAP_VARIABLE

RULE = re.compile(r"ralphloop['\"]? (done|ask):\*")

AT_CAP: Path = ("env", CAP_VARIABLE)
AT_RULES: Path = ("permissions", "allow")
AT_STATUSLINE: Path = ("statusLine",)


def is_blank(text: str | None) -> bool:
    """Whether a file holds no settings at all, which the client takes for an empty object."""
    return not (text or "").strip(SPACE + "\ufeff")


def is_empty(text: str) -> bool:
    return bool(Draft(text).value(()) == {})


def cap_in(text: str) -> str:
    """The cap that these settings name; empty if none."""
    draft = Draft(text)
    return str(draft.value(AT_CAP)) if draft.has(AT_CAP) else ""


def without_plugin(text: str, *, name: str) -> str | None:
    """The text without this plugin's entry, every other byte as it was; None if it has none."""
    try:
        listed = jsontext.member(text, "enabledPlugins")
    except ValueError:
        return None
    if listed is None or not isinstance(listed.value, dict) or name not in listed.value:
        return None
    return jsontext.remove_member(text, name, at=listed.start)


def fault(text: str) -> str:
    """What keeps us from working on these settings, as the rest of a sentence; empty if nothing does."""
    (found,) = registration.load([("", "")], lambda _: text)
    wrong = "" if found.fault else misshapen(found.data)
    return f"cannot be used: {wrong}" if wrong else found.fault


def rule(command: str) -> str:
    """What allows this command, whatever follows it."""
    return f"Bash({command}:*)"


def misshapen(data: Mapping[str, Any]) -> str:
    """What stands in these settings where something else must; empty if all is well."""
    for path, kind, name in _shapes(data):
        value: Any = data
        for key in path:
            value = value.get(key, kind()) if isinstance(value, dict) else kind()
        if not isinstance(value, kind):
            return f"`{'.'.join(path)}` must be {name}"
    return ""


def _shapes(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], type, str]]:
    for key in ("hooks", "env", "permissions"):
        yield (key,), dict, "an object"
    yield ("permissions", "allow"), list, "a list"
    for event in data.get("hooks", {}):
        yield ("hooks", event), list, "a list"


def install(text: str, wanted: Wanted, ours: Ours | None = None) -> Installed:
    """The text with our part in it; `ours` is what an earlier installation left there."""
    draft = Draft(NEW if is_blank(text) else text)
    known = _still_there(draft, ours or Ours())
    draft.traces = known.traces
    hooks = _register(draft, wanted.hook)
    rules = _allow(draft, wanted.rules, known)
    cap = _raise_cap(draft, wanted, known)
    statusline = _show(draft, wanted, known)
    return Installed(draft.text, known, hooks, rules, cap, statusline)


def uninstall(text: str, ours: Ours | None) -> Removed:
    """The text without our part; without a record only the hooks are known to be ours."""
    draft = Draft(text)
    if ours is None:
        draft.traces = _unrecorded(draft)
        return Removed(["the hooks"] if _remove_all(draft) else [], _like_ours(draft), draft.text)
    known = _still_there(draft, ours)
    draft.traces = known.traces
    gone = ["the hooks"] if _remove_all(draft) else []
    for rule in known.rules:
        _drop_rule(draft, rule)
        gone.append(f"the rule {rule}")
    if known.cap:
        draft.remove(AT_CAP)
        gone.append(CAP_VARIABLE)
    if known.statusline:
        draft.remove(AT_STATUSLINE)
        gone.append("the status line")
    return Removed(gone, [], draft.text)


def _register(draft: Draft, command: str) -> str:
    """One entry of ours for each event; an old one is brought up to date in its place."""
    wanted = program.hook_settings(command)["hooks"]
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


def _remove_all(draft: Draft) -> bool:
    """Take out every entry of ours; whether there was one."""
    before = draft.text
    for event in draft.value(("hooks",)) or {}:
        _remove(draft, list(_entries(draft, event)))
    return draft.text != before


def _entries(draft: Draft, event: str) -> Iterator[Path]:
    found = registration.placed(draft.value(()), event)
    return (place for place, entry in found if registration.ours(entry))


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


def _still_there(draft: Draft, ours: Ours) -> Ours:
    """What the person has not changed or taken out since."""
    allowed = draft.value(AT_RULES) or []
    return Ours(
        {path: blank for path, blank in ours.traces.items() if draft.has(path)},
        [rule for rule in ours.rules if rule in allowed],
        ours.cap and draft.value(AT_CAP) == CAP,
        ours.statusline and _is_our_statusline(draft.value(AT_STATUSLINE)),
    )


def _unrecorded(draft: Draft) -> dict[Path, str | None]:
    """Without a record, lists of hooks that hold nothing but ours are taken for ours."""
    return {("hooks",): None, **{("hooks", event): None for event in draft.value(("hooks",)) or {}}}


def _like_ours(draft: Draft) -> list[str]:
    """What install may have written, or the person."""
    rules = [rule for rule in draft.value(AT_RULES) or [] if isinstance(rule, str) and RULE.search(rule)]
    found = [f"the rule {rule}" for rule in rules]
    found += [CAP_VARIABLE] if draft.value(AT_CAP) == CAP else []
    return found + (["the status line"] if _is_our_statusline(draft.value(AT_STATUSLINE)) else [])


def _allow(draft: Draft, rules: tuple[str, ...], known: Ours) -> str:
    """Add the rules that are not there; one of ours in an old spelling is replaced in its place."""
    before = draft.text
    missing = [rule for rule in rules if rule not in (draft.value(AT_RULES) or [])]
    old = [rule for rule in known.rules if rule not in rules]
    for was, rule in zip(old, missing):  # noqa: B905
        draft.put(_at_rule(draft, was), rule)
    for rule in missing[len(old) :]:
        draft.append(AT_RULES, rule)
    for rule in old[len(missing) :]:
        _drop_rule(draft, rule)
    known.rules = [rule for rule in known.rules if rule not in old] + missing
    if draft.text == before:
        return SAME
    return UPDATED if old else ADDED


def _drop_rule(draft: Draft, rule: str) -> None:
    draft.remove(_at_rule(draft, rule))


def _at_rule(draft: Draft, rule: str) -> Path:
    """Where a rule stands: the last one, if the person wrote it too."""
    return (*AT_RULES, max(place for place, each in enumerate(draft.value(AT_RULES)) if each == rule))


def _raise_cap(draft: Draft, wanted: Wanted, known: Ours) -> str:
    if known.cap:
        return SAME
    if draft.has(AT_CAP) or not wanted.raised:
        return THEIRS
    draft.put(AT_CAP, CAP)
    known.cap = True
    return ADDED


def _show(draft: Draft, wanted: Wanted, known: Ours) -> str:
    """Our status line, never in the place of the person's own."""
    now = draft.value(AT_STATUSLINE)
    if not draft.has(AT_STATUSLINE):
        if not wanted.shown:
            return SAME
        draft.put(AT_STATUSLINE, {"type": "command", "command": wanted.statusline})
        known.statusline = True
        return ADDED
    if not _is_our_statusline(now):
        return THEIRS if wanted.shown else SAME
    if now["command"] == wanted.statusline:
        return SAME
    draft.put((*AT_STATUSLINE, "command"), wanted.statusline)
    return UPDATED


def _is_our_statusline(value: Any) -> bool:
    line = registration.parse(str(value.get("command", ""))) if isinstance(value, dict) else None
    return line is not None and line.name == STATUSLINE

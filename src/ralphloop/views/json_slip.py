"""What is wrong with the text of a feature list, in the words of who wrote it: where, what, and the cure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ralphloop.domain import jsontext
from ralphloop.spelling import near
from ralphloop.store import files
from ralphloop.store.shelf import Record
from ralphloop.tasklists.feature_list import identity
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views.fold import shown

_STORIES = "userStories"  # of a prd.json
_LISTS = ("features", "feature", "tasks", "task", "items", "stories", "todos", "todo", "list", "issues")


def fault(source: Source | Record, error: Exception) -> str:
    """Why a list could not be read, after this error."""
    is_text = "list" in source.paths and isinstance(error, ValueError)
    text = files.read_quietly(own_file(source)) if is_text else None
    return told("feature_list.json", text, str(error)) if text is not None else str(error)


def told(name: str, text: str, otherwise: str = "") -> str:
    """Why the file `name` with this text is no feature list; `otherwise` where nothing is seen here."""
    if not text.strip(" \t\r\n\ufeff"):
        return f"{name} is empty; write a list into it, such as " + _EXAMPLE
    try:
        value = jsontext.parse(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        return f"{name} is not JSON at {where}: {_slip(text[text.startswith(_BOM) :], error)}"
    except ValueError as error:
        return f"{name} is not JSON: {error}"
    return _shape(name, value) or otherwise.replace("feature_list.json", name)


_BOM = "\ufeff"
_EXAMPLE = '{"features": [{"id": "F1", "description": "Log in", "verify": "make test"}]}'


def _slip(text: str, error: json.JSONDecodeError) -> str:
    """The slip that a person made there, most telling first."""
    at, rest, before = error.pos, text[error.pos :], text[: error.pos].rstrip()
    if rest[:1] in ("}", "]") and before.endswith(","):
        return f"a comma before the closing bracket {rest[0]}; remove that comma"
    if rest[:1] == "," and rest[1:].lstrip()[:1] in ("}", "]"):
        return f"a comma before the closing bracket {rest[1:].lstrip()[0]}; remove that comma"
    if rest[:2] in ("//", "/*") or rest[:1] == "#":
        return "a comment, which JSON does not have; remove it"
    if rest[:1] in ("'", "`", "“", "”", "„", "‘", "’"):
        return f'{rest[0]} where JSON wants a double quote; write "…"'
    for word, right in (("True", "true"), ("False", "false"), ("None", "null")):
        if rest.startswith(word):
            return f"{word} is written {right} in JSON"
    return _by_message(error.msg, rest, is_end=at >= len(text.rstrip()))


def _by_message(message: str, rest: str, *, is_end: bool) -> str:
    if "Unterminated string" in message:
        return "a text begins here and has no closing quote; add it"
    if is_end:
        return "the text ends in the middle of the list; a closing bracket or quote is missing"
    if "',' delimiter" in message:
        return 'a comma is missing before this, or a quote inside a text is not written \\"'
    if "':' delimiter" in message:
        return "a colon is missing behind the name of a field"
    if "property name" in message:
        return "the name of a field must stand in double quotes"
    if "control character" in message:
        return "a line break or a tab inside a text; write \\n or \\t"
    if "escape" in message:
        return "a single backslash inside a text; write \\\\"
    if "Extra data" in message:
        return "something stands behind the end of the list; remove it, or bring both into one list"
    return f"no value can begin with {shown(rest, 12)}; a text stands in double quotes"


def _shape(name: str, value: Any) -> str:
    """What is wrong with a JSON value that is to be a feature list; empty if nothing is seen."""
    features = value.get("features") if isinstance(value, dict) else value
    if isinstance(value, dict) and "features" not in value:
        return _elsewhere(name, value)
    if not isinstance(features, list):
        kind = "an object" if isinstance(features, dict) else "something else"
        return f'{name} has no array "features", but {kind}; write a list in brackets: ' + _EXAMPLE
    for place, feature in enumerate(features, 1):
        if not isinstance(feature, dict):
            said = shown(feature, 30) if isinstance(feature, str) else "Log in"
            cure = f'write {{"description": "{said}"}}'
            return f"Task {place} in {name} is not an object in braces; {cure}"
    return next(_twins(name, features), "")


def _elsewhere(name: str, value: dict[str, Any]) -> str:
    if isinstance(value.get(_STORIES), list):
        return (
            f'{name} has its tasks under "{_STORIES}", which is not read, and no array "features". '
            'Rename that to "features", and "acceptanceCriteria" in each story to "steps"; "id", "title" and '
            '"passes" are read as they are. Then give each story a command in "verify" that proves it'
        )
    lists = [key for key, item in value.items() if isinstance(item, list)]
    meant = [key for key in lists if key.lower() in _LISTS or near(key[:40], ("features",), cutoff=0.75)]
    meant = meant or (lists if len(lists) == 1 else [])
    if meant:
        said = shown(meant[0], 40)
        return f'{name} has no array "features", but one called "{said}"; rename "{said}" to "features"'
    if "description" in value or "title" in value:
        return f'{name} has no array "features", but one task; write {{"features": [ … ]}} around it'
    return f'{name} has no array "features"; it looks like ' + _EXAMPLE


def _twins(name: str, features: list[dict[str, Any]]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for place, feature in enumerate(features, 1):
        known = identity(feature.get("id"))
        if known and known in seen:
            yield (
                f"Two tasks in {name} have the id {shown(known)}: number {seen[known]} and number {place} "
                "of the list, but an id is one task's; give one of them another id"
            )
        seen.setdefault(known, place)

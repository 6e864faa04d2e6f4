"""A feature list made from what the person has: a feature_list.json as it is, or a Markdown list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.model import TaskList
from ralphloop.errors import UserError
from ralphloop.tasklists import boxes, feature_list, markdown
from ralphloop.tasklists.markdown import Line
from ralphloop.views import json_slip
from ralphloop.views.fold import bounded, shown

BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX])\](?:[ \t]+|$))?(?P<text>.*)")
# a line of its own, whether or not it is an item: what proves the task, or is meant to
_WORDS = "verify|verification|acceptance(?: criteri(?:a|on)| tests?)?|tests?|checks?|done when"
LABEL = re.compile(rf"[*_]*(?:{_WORDS})[*_ ]*:", re.I)
# what is meant as an item and lacks its space or its dash; `*Note* …` is emphasis, `[x]: …` a link
_WORD = r"(?:[^\W\d_]|[\[`\"'])"
_ALMOST = re.compile(
    rf"(?P<mark>[-+](?=\*\*|{_WORD})|\*(?={_WORD}[^*]*$)|\d{{1,9}}[.)](?=\*\*|{_WORD}))(?P<text>.+)"
)
_NO_DASH = re.compile(r"(?:\[(?P<box>[ xX]?)\](?![(\[:])|[•◦▪‣·])[ \t]*(?P<text>\S.*)")


class Draft(NamedTuple):
    text: str = '{\n  "features": []\n}\n'
    listed: TaskList = TaskList([])
    slips: tuple[str, ...] = ()  # lines that are no item for want of a space or a dash


def from_text(name: str, text: str) -> Draft:
    if _is_json(name, text):
        try:
            return Draft(text, feature_list.parse({"list": text}))
        except ValueError as error:
            raise UserError(json_slip.told(name, text, f"{name} cannot be used: {error}") + ".") from None
    found = from_markdown(text)
    if not found:
        if not text.strip("\ufeff \t\r\n"):
            raise UserError(
                f"{name} is empty, so nothing is to be done; write a line such as `- Log in` for each task."
            )
        why = next(_slips(text), "each top-level line such as `- Log in` becomes a task")
        raise UserError(f"{name} has no list: {why}.")
    slips = tuple(bounded(list(_slips(text, of=f" of {name}"))))
    text = json.dumps({"features": found}, indent=2, ensure_ascii=False) + "\n"
    return Draft(text, feature_list.parse({"list": text}), slips)


def decoded(name: str, data: bytes) -> str:
    """The text of such a file."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{name} is UTF-16 and not UTF-8 text; save it as UTF-8 first.")
    if b"\0" in data:
        raise UserError(f"{name} is no text, but a binary file; save it as Markdown or JSON.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 text (byte {error.start}); convert it first.") from None


def _is_json(name: str, text: str) -> bool:
    start = text[jsontext.opening(text) :][:1]
    if name.endswith(".json") or start == "{":
        return True
    if start != "[":
        return False
    try:
        jsontext.parse(text)
    except ValueError:
        return False  # Markdown may begin with a link
    return True


def from_markdown(text: str) -> list[dict[str, Any]]:
    """Each top-level item as a feature; the items below it are its steps, or checks if they say `Verify:` and
    then one code span; wrapped lines belong above."""
    lines = [line for line in markdown.lines(text) if line.text]
    items = {at: item for at, line in enumerate(lines) if (item := _item(line))}
    top = min((lines[at].indent for at in items), default=0)
    found: list[dict[str, Any]] = []
    inside = False
    for at, line in enumerate(lines):
        this = items.get(at)
        if this and line.indent == top:
            found.append(_feature(len(found) + 1, this))
            inside = True
        elif line.indent <= top:
            inside = False  # a heading or a paragraph
        elif inside and not line.quoted and (command := boxes.command(line)):
            found[-1].setdefault("verify", []).append(command)
        elif inside and (this or (LABEL.match(line.text) and not line.quoted)):
            found[-1]["steps"].append((this["text"] if this else line.text).strip())
        elif inside:
            _wrap(found[-1], line)
    return found


def _item(line: Line) -> re.Match[str] | None:
    found = None if line.quoted else BULLET.fullmatch(line.text)
    return found if found and found["text"].strip() else None


def _slips(text: str, *, of: str = "") -> Iterator[str]:
    for number, line in enumerate(markdown.lines(text), 1):
        lacks, meant = ("", "") if line.quoted else _meant(line.text)
        if meant:
            why = f"is read as text, because a {lacks} is missing"
            yield f'"{shown(line.text)}" in line {number}{of} {why}: write "{shown(meant)}"'


def _meant(text: str) -> tuple[str, str]:
    """What a line lacks to be an item, and the item; empty for any other line."""
    almost = _ALMOST.fullmatch(text)
    if almost:
        return "space", f"{almost['mark']} {almost['text']}"
    bare = _NO_DASH.fullmatch(text)
    if not bare:
        return "", ""
    box = "" if bare["box"] is None else f"[{bare['box'] or ' '}] "
    return "dash", f"- {box}{bare['text']}"


def _feature(number: int, item: re.Match[str]) -> dict[str, Any]:
    done = (item["box"] or "").lower() == "x"
    return {"id": f"F{number}", "description": item["text"].strip(), "steps": [], "passes": done}


def _wrap(feature: dict[str, Any], line: Line) -> None:
    joint = "\n" if line.quoted else " "
    if feature["steps"]:
        feature["steps"][-1] += joint + line.text
    else:
        feature["description"] += joint + line.text

"""A spec on its way to execution: names and numbers, its first texts, and the edits of its state."""

from __future__ import annotations

from ralphloop.domain import jsontext
from ralphloop.domain.model import EXECUTION as EXECUTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Container, Iterable, Mapping, Optional

SCHEMA_VERSION = 1

NAME_MAX = 64
SLUG_WORDS = 5
LAST_NUMBER = 999
# Our own heading first; the other one is what files of the public plugin have.
GOAL_HEADINGS = ("## Goal", "## Original Goal")
NO_GOAL = "(not said yet)"

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
# What a state has before anybody worked on its tasks.
COUNTERS: Mapping[str, Any] = {
    "taskIndex": 0,
    "totalTasks": 0,
    "taskIteration": 1,
    "maxTaskIterations": 5,
    "globalIteration": 1,
    "maxGlobalIterations": 100,
    # the hook writes into what is there
    "recoveryMode": False,
    "fixTaskMap": {},
}


def is_name(text: str) -> bool:
    """Small letters, digits and dashes; a dash in front would be an option on a command line."""
    return 0 < len(text) <= NAME_MAX and text[0] != "-" and not text.strip(_LETTERS + _DIGITS + "-")


def slug(text: str, *, words: int = SLUG_WORDS) -> str:
    """A name made of the first words of a text; empty if it has no letter or digit that a name may have."""
    plain = "".join([char if char in _LETTERS + _DIGITS else " " for char in text.lower()])
    name = ""
    for word in plain.split()[:words]:
        longer = name + "-" + word if name else word[:NAME_MAX]
        if len(longer) > NAME_MAX:
            break
        name = longer
    return name


def free_name(name: str, taken: Container[str]) -> str:
    """The name itself, or the first of name-2, name-3, … that is free."""
    found, count = name, 1
    while found in taken:
        count += 1
        tail = "-%d" % count
        found = name[: NAME_MAX - len(tail)].rstrip("-") + tail
    return found


def number_of(name: str) -> str:
    """The three digits that a feature's folder begins with; empty if it has none."""
    head, dash, rest = name.partition("-")
    return head if len(head) == 3 and not head.strip(_DIGITS) and dash and rest else ""


def next_number(names: Iterable[str]) -> Optional[str]:
    """The number after the highest one; nothing after 999."""
    last = max([int(number_of(name) or 0) for name in names], default=0)
    return "%03d" % (last + 1) if last < LAST_NUMBER else None


def render(fields: Mapping[str, Any]) -> str:
    """A new state file's text, one member in a line."""
    rows = ["  %s: %s" % (jsontext.quote(key), jsontext.render(value)) for key, value in fields.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def edit(text: str, fields: Mapping[str, Any]) -> str:
    """The state with these members; what a reader sees there already stays as it is, byte by byte."""
    for key, value in fields.items():
        text = jsontext.set_member(text, key, value)
    return text


def fault(state: Mapping[str, Any]) -> str:
    """What in a state no version can have meant; empty if there is nothing."""
    phase = state.get("phase")
    return "" if phase is None or isinstance(phase, str) else "`phase` is no text"


def newer(state: Mapping[str, Any]) -> str:
    """The version of a state or an epic, if that is one we do not know; else empty."""
    version = state.get("schemaVersion", SCHEMA_VERSION)
    is_known = version.__class__ is int and version <= SCHEMA_VERSION
    return "" if is_known else "schemaVersion " + jsontext.render(version)


def unknown(state: Mapping[str, Any], phases: tuple[str, ...]) -> str:
    """What in a state only a newer version can have written; empty if we know all that counts."""
    phase = state.get("phase")
    is_known = phase is None or phase in phases
    return newer(state) or ("" if is_known else "phase " + jsontext.render(phase))


def progress(name: str, goal: str) -> str:
    """The notes that a spec begins with; the goal is in them as it was given."""
    return "# %s\n\n%s\n\n%s\n\n## Notes\n" % (name, GOAL_HEADINGS[0], goal or NO_GOAL)


def goal_in(text: str) -> str:
    """The goal that such notes tell, up to the next heading."""
    found: Optional[list[str]] = None
    for row in text.split("\n"):
        if found is None:
            found = [] if row.rstrip() in GOAL_HEADINGS else None
        elif row.startswith("## "):
            break
        else:
            found.append(row)
    return "\n".join(found or []).strip()


def append_item(text: str, key: str, value: Any) -> str:
    """The object with one more item in the list under `key`, laid out as the items before it are."""
    found = jsontext.member(text, key)
    if found is None:
        return jsontext.add_member(text, key, [value])
    last = None
    for item in jsontext.members(text, found.start):
        last = item
    raw = jsontext.render(value)
    if last is None:
        return jsontext.replace_raw(text, found, "[\n    %s\n  ]" % raw)
    first = next(jsontext.members(text, found.start))
    space = text[found.start + 1 : first.start] or " "
    return text[: last.end] + "," + space + raw + text[last.end :]

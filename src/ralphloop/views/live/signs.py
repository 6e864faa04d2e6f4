"""The characters that the view is drawn with, for terminals that know UTF-8 and for those that do not."""

from __future__ import annotations

from typing import NamedTuple

from ralphloop.agents.activity import EDIT, ERROR, FAILED, HOOK, LOOP, PROMPT, TEXT, TOOL
from ralphloop.domain.model import ASKED, CLAIMED, OPEN, SET_ASIDE, SKIPPED


class Signs(NamedTuple):
    activity: dict[str, str]
    task: dict[str, str]
    closed: str
    at_hand: str
    line: str
    upright: str
    between: str
    more: str
    full: str
    empty: str
    levels: str


UNICODE = Signs(
    activity={
        TEXT: "●", TOOL: "→", EDIT: "±", FAILED: "✗", ERROR: "!", HOOK: "↻", LOOP: "◆", PROMPT: "›",
    },
    task={OPEN: "☐", CLAIMED: "~", ASKED: "?", SKIPPED: "–", SET_ASIDE: "–"},
    closed="✓",
    at_hand="▸",
    line="─",
    upright="│",
    between=" · ",
    more="…",
    full="█",
    empty="░",
    levels="▁▂▃▄▅▆▇█",
)  # fmt: skip
ASCII = Signs(
    activity={
        TEXT: "*", TOOL: ">", EDIT: "+", FAILED: "x", ERROR: "!", HOOK: "@", LOOP: "#", PROMPT: ":",
    },
    task={OPEN: ".", CLAIMED: "~", ASKED: "?", SKIPPED: "-", SET_ASIDE: "-"},
    closed="x",
    at_hand=">",
    line="-",
    upright="|",
    between=" | ",
    more="..",
    full="#",
    empty=".",
    levels="_.-=#",
)  # fmt: skip


def signs_for(encoding: str | None) -> Signs:
    try:
        "".join([*UNICODE.activity.values(), UNICODE.closed, UNICODE.levels]).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE

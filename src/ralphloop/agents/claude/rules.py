"""The rules of the plugin hookify that block a stop: how one is known in its file, and switched off there."""

from __future__ import annotations

import re

from ralphloop.tasklists import frontmatter

KEY, OFF = "enabled", "false"
HEAD = re.compile(r"\ufeff?---[ \t]*(\r?\n)")
ENABLED = re.compile(r"^(enabled[ \t]*:)([ \t]*)[^\s#]*", re.MULTILINE)


def is_blocking(text: str) -> bool:
    said = frontmatter.parse(text)
    blocks = said.get("action") == ["block"] and said.get("event") in (["stop"], ["all"])
    return blocks and not frontmatter.is_off(said, KEY)


def switched_off(text: str) -> str | None:
    """The rule with `enabled: false`, every other byte as it was; None for a text where that has no place."""
    head = HEAD.match(text)
    if head is None or not is_blocking(text):
        return None
    end = re.compile(r"^(---|\.\.\.)[ \t]*\r?$", re.MULTILINE).search(text, head.end())
    stop = end.start() if end else len(text)
    settings, found = ENABLED.subn(lambda row: f"{row[1]}{row[2] or ' '}{OFF}", text[head.end() : stop])
    if not found:
        settings = f"{KEY}: {OFF}{head[1]}{settings}"
    after = text[: head.end()] + settings + text[stop:]
    return None if is_blocking(after) else after

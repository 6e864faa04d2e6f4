"""Reads a plugin's prompts: the frontmatter as any client would, its rules, and the block that is run."""

from __future__ import annotations

import re
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
ROOT = "${CLAUDE_PLUGIN_ROOT}"
CALL = f'sh "{ROOT}/bin/ralphloop"'


def value(text: str) -> str:
    """A value that every YAML reader reads the same way: in double quotes without escapes, or plain."""
    if re.fullmatch(r'"[^"\\]+"', text):
        return text[1:-1]
    if not re.match(r"[A-Za-z0-9/]", text) or ": " in text or " #" in text or text[-1] in ": ":
        raise ValueError(f"not a plain value: {text}")
    return text


def frontmatter(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The keys between the dashes, and the body; stricter than any client."""
    head, mark, rest = text.partition("---\n")
    inside, end, body = rest.partition("---\n")
    if head or not mark or not end or not body.startswith("\n"):
        raise ValueError("no frontmatter")
    found: dict[str, str | list[str]] = {}
    listed: list[str] | None = None
    for row in inside.splitlines():
        item = re.fullmatch(r"  - (.+)", row)
        pair = re.fullmatch(r"([a-zA-Z-]+):(?: (.+))?", row)
        if item and listed is not None:
            listed.append(value(item[1]))
        elif pair and pair[1] not in found:
            listed = None if pair[2] else []
            found[pair[1]] = value(pair[2]) if listed is None else listed
        else:
            raise ValueError(f"not a row of frontmatter: {row}")
    if not all(found.values()):
        raise ValueError("a key without a value")
    return found, body


def read(path: Path) -> tuple[dict[str, str | list[str]], str]:
    return frontmatter(path.read_text(encoding="utf-8"))


def rules(path: Path) -> list[str]:
    found = read(path)[0].get("allowed-tools", [])
    assert isinstance(found, list)
    return found


def block(path: Path) -> list[str]:
    (found,) = re.findall(r"^```!\n(.*?)^```$", read(path)[1], re.S | re.M)
    return str(found).splitlines()


def is_allowed(command: str, path: Path) -> bool:
    commands = [rule[len("Bash(") : -len(":*)")] for rule in rules(path) if rule.startswith("Bash(")]
    return any(command == allowed or command.startswith(allowed + " ") for allowed in commands)

"""Whether the person has told Claude Code to trust a folder, and what a folder brings that would run unasked.

Without a terminal the client shows no dialog: it runs a project's hooks and servers at once (2.1.325). Of a
worktree it asks and notes that of the main checkout.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping

# what in a folder makes the client start programs
LOCAL_SETTINGS = ".claude/settings.local.json"  # which `install` writes
PROGRAMS = (".claude/settings.json", LOCAL_SETTINGS, ".mcp.json")


def known_to_client(env: Mapping[str, str]) -> str:
    """The file in which the client notes what the person has accepted."""
    base = env.get("CLAUDE_CONFIG_DIR") or env.get("HOME") or os.path.expanduser("~")
    return os.path.join(base, ".claude.json")


def is_trusted(folder: str, known: str) -> bool:
    """Whether this folder, or one above it, was accepted; `known` is the text of the client's file."""
    try:
        projects = json.loads(known)["projects"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    if not isinstance(projects, dict):
        return False
    accepted = {
        path
        for path, about in projects.items()
        if isinstance(about, dict) and about.get("hasTrustDialogAccepted") is True
    }
    return any(place in accepted for place in upwards(folder))


def programs_in(folder: str, *, exists: Callable[[str], bool] = os.path.lexists) -> list[str]:
    """The files that would start something, in this folder and up to the top of its repository."""
    found = []
    for place in upwards(folder):
        found += [os.path.join(place, name) for name in PROGRAMS if exists(os.path.join(place, name))]
        if exists(os.path.join(place, ".git")):
            break
    return found


def programs_for_worktrees(main: str, *, exists: Callable[[str], bool] = os.path.lexists) -> list[str]:
    """The files of a main checkout that count in its worktrees, too (2.1.325)."""
    path = os.path.join(main, LOCAL_SETTINGS)
    return [path] if exists(path) else []


def upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        yield folder

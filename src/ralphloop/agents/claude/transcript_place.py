"""Where the client writes a session down."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ralphloop.agents.claude.registration import config_folder

NAME_MAX = 255  # bytes that a file system takes


def transcript_of(session: str, *, root: str, known: Iterable[str], env: Mapping[str, str]) -> str:
    """The transcript of a session in this project, `known`, beside one of those, or found elsewhere; empty
    while there is none."""
    name = session + ".jsonl"
    if not _is_file_name(session, name):
        return ""
    others = [os.path.expanduser(path) for path in reversed(list(known))]
    for path in others:
        if os.path.basename(path) == name:
            return path
    base = os.path.join(config_folder(env), "projects")
    usual = "".join(ch if ch.isalnum() and ch.isascii() else "-" for ch in root)
    for folder in (*dict.fromkeys(map(os.path.dirname, others)), usual, *_names(base)):
        path = os.path.join(base, folder, name)
        if os.path.isfile(path):
            return path
    return ""


def _is_file_name(session: str, name: str) -> bool:
    try:
        size = len(os.fsencode(name))
    except ValueError:
        return False
    return bool(session) and os.path.basename(session) == session and "\0" not in name and size <= NAME_MAX


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []

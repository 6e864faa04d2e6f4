"""The working tree that a check saw: where it runs, the commit, and a digest of what differs from it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

from ralphloop.store import files

GIT_S = 10.0  # a tree that takes longer to look at has no digest
FILES_MAX = 2_000
# No program of the repository's own choosing runs for a look at it.
GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")


class Tree(NamedTuple):
    head: str | None
    digest: str | None


def folder_for(root: str, cwd: str) -> str:
    """Where checks run: the project's folder, in the worktree of it that the session works in."""
    folder = os.path.realpath(cwd) if os.path.isabs(cwd) else root
    while folder != os.path.dirname(folder):
        main = _main_checkout(folder)
        if main and (root == main or root.startswith(main.rstrip(os.sep) + os.sep)):
            return os.path.normpath(os.path.join(folder, os.path.relpath(root, main)))
        folder = os.path.dirname(folder)
    return root


def _main_checkout(folder: str) -> str:
    """The folder of the repository that this one is a worktree of."""
    text = (files.read_quietly(os.path.join(folder, ".git")) or "").strip()
    if not text.startswith("gitdir:"):
        return ""
    gitdir = os.path.normpath(os.path.join(folder, text[len("gitdir:") :].strip()))
    main, _, name = gitdir.rpartition(os.sep + os.path.join(".git", "worktrees") + os.sep)
    return os.path.realpath(main) if main and name else ""


def look(folder: str, env: Mapping[str, str]) -> Tree:
    head = _git(folder, env, "rev-parse", "--verify", "--quiet", "HEAD")
    if head is None:
        return Tree(None, None)
    changed = _git(folder, env, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    top = _git(folder, env, "rev-parse", "--show-toplevel")
    if changed is None or top is None:
        return Tree(head.decode().strip(), None)
    return Tree(head.decode().strip(), _digest(os.fsdecode(top).rstrip("\n"), head, changed))


def _git(folder: str, env: Mapping[str, str], *words: str) -> bytes | None:
    plain = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*GIT, *words], cwd=folder, env=plain, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=GIT_S, check=True, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _digest(top: str, head: bytes, changed: bytes) -> str | None:
    """One figure for the commit and every file that differs from it."""
    entries = sorted(entry for entry in changed.split(b"\0") if entry)
    if len(entries) > FILES_MAX:
        return None
    whole = hashlib.sha256(head)
    for entry in entries:
        whole.update(entry + b"\0" + _content(os.path.join(top, os.fsdecode(entry[3:]))))
    return whole.hexdigest()


def _content(path: str) -> bytes:
    if os.path.islink(path):
        return os.fsencode(os.readlink(path))
    return (digest_of(path) or "").encode()


def digest_of(path: str) -> str | None:
    """The sha256 of a regular file; None for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    with open(handle, "rb") as file:
        try:
            files.must_be_regular(handle, path)
            whole = hashlib.sha256()
            while chunk := file.read(1 << 20):
                whole.update(chunk)
        except OSError:
            return None
    return whole.hexdigest()

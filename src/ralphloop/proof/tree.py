"""The working tree that a check saw: the commit, and a digest of what differs from it."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

from ralphloop.proof import executable

GIT_S = 10.0  # a tree that takes longer to look at has no digest
# of a tree whose digest is one of contents
FILES_MAX, BYTES_MAX = 5_000, 64 * 1024 * 1024
# No program of the repository's own choosing runs for a look at it.
OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks")
# Nor is anything fetched: the address of a remote can be a command. An older git does not know the first of
# these; a list of protocols wins over every `protocol.<name>.allow` of the repository.
NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}


class Tree(NamedTuple):
    head: str | None
    digest: str | None


def look(folder: str, env: Mapping[str, str]) -> Tree:
    git = (executable.find_git(folder, env), *OPTIONS)
    head = _run(folder, env, *git, "rev-parse", "--verify", "--quiet", "HEAD")
    if head is None:
        return Tree(None, None)
    # Not `status`: to compare contents it runs the filters that a repository sets up.
    known = _run(folder, env, *git, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return Tree(head.decode().strip(), None if known is None else _digest(folder, known))


def git_env(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of every git that we start: no variable leads it elsewhere, and it fetches nothing."""
    return {**{name: value for name, value in env.items() if not name.startswith("GIT_")}, **NO_FETCH}


def _run(folder: str, env: Mapping[str, str], *words: str) -> bytes | None:
    try:
        done = subprocess.run(
            words, cwd=folder, env=git_env(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=GIT_S, check=True, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _digest(folder: str, known: bytes) -> str:
    """One figure for all files that are not ignored: by content, of a large tree by size and time."""
    paths = sorted(set(known.split(b"\0")) - {b""})
    found = [(path, _stat(os.path.join(os.fsencode(folder), path))) for path in paths]
    size = sum(about.st_size for _, about in found if about is not None)
    by_content = len(paths) <= FILES_MAX and size <= BYTES_MAX
    whole = hashlib.sha256()
    for path, about in found:
        whole.update(path + b"\0")
        if about is None:
            continue
        if by_content:
            whole.update(_content(os.path.join(folder, os.fsdecode(path))))
        else:
            whole.update(b"%d.%d" % (about.st_size, about.st_mtime_ns))
    return ("" if by_content else "stat-") + whole.hexdigest()


def _stat(path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


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
    whole = hashlib.sha256()
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        while chunk := os.read(handle, 1 << 20):
            whole.update(chunk)
    except OSError:
        return None
    finally:
        os.close(handle)
    return whole.hexdigest()

"""What a run leaves uncommitted in the work tree: its own, where what comes to it later is the person's."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralphloop.domain import jsontext
from ralphloop.errors import CommitError, UserError
from ralphloop.proof import worktree
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file


def note(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    files.write_text(_place(loop), jsontext.render({"files": _dirty(loop, cwd=cwd, env=env)}) + "\n")


def forget(loop: LoopFiles) -> None:
    """From now on what is in the tree is this run's; one that is killed notes nothing."""
    files.remove(_place(loop))


def others(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> list[str]:
    """The changes since the last run; none where that one was killed and could not say what it left."""
    try:
        left = jsontext.parse_object(files.read_quietly(_place(loop)) or "")["files"]
    except (ValueError, KeyError):
        return []
    return [path for path in _dirty(loop, cwd=cwd, env=env) if path not in left]


def _dirty(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> list[str]:
    try:
        return worktree.dirty(cwd, env, lists=[os.path.dirname(own_file(loop.record))])
    except CommitError as error:
        raise UserError(str(error)) from None


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "left.json")

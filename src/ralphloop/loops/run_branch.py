"""The branch that a run commits on, and what is in the way of that."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralphloop.config import Config
from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.runner.session_terms import Terms
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source


def of(
    settings: Config,
    place: Place,
    *,
    source: Source,
    loop: LoopFiles | None,
    cwd: str,
    commits: bool | None,
    branch: str | None,
) -> str:
    """Where commits go, once nothing is in their way; empty where nobody asked for them."""
    before = _before(loop, commits=commits, branch=branch)
    if before and loop is not None:
        _must_be_as_left(loop, cwd=cwd, env=place.env)
        return before
    asked = commits if commits is not None else bool(branch) or settings.get("commit")
    if not asked:
        return ""
    from ralphloop.proof import worktree

    wanted, lists = branch or settings.get("branch") or "", [os.path.dirname(own_file(source))]
    return worktree.check(cwd, place.env, branch=wanted, lists=lists)


def _before(loop: LoopFiles | None, *, commits: bool | None, branch: str | None) -> str:
    """Where commits of this loop went until now: what an unfinished session left in the tree is its own."""
    driven = loop.record.supervision if loop is not None else None
    before = driven.branch if driven is not None and commits is not False else ""
    if before and branch not in (None, before):
        raise UserError(f"this loop commits on {before}; leave out --branch, or cancel it and begin anew.")
    return before


def _must_be_as_left(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    from ralphloop.proof import commit

    new = commit.changes_since(loop, cwd=cwd, env=env)
    if new:
        told = ", ".join(new[:10]) + (f" and {len(new) - 10} more" if len(new) > 10 else "")
        raise UserError(
            f"since the last run there are new changes: {told}. Commit, stash or ignore them first."
        )


def catch_up(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    """Make the commits that a run could not make, once nothing but its own work would go into them."""
    from ralphloop.proof import commit

    try:
        _must_be_as_left(loop, cwd=cwd, env=env)
    except UserError as error:
        return commit.hold(loop, str(error))
    commit.catch_up(loop, cwd=cwd, env=env)
    return commit.note_left(loop, cwd=cwd, env=env)


def switch(terms: Terms, *, cwd: str, env: Mapping[str, str]) -> None:
    """Once the loop has begun: nobody's branch changes without their consent."""
    if terms.branch:
        from ralphloop.proof import worktree

        worktree.switch(cwd, env, branch=terms.branch)

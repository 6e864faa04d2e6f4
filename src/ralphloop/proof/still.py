"""Whether what a loop has proven is still what is there: folder, branch, commit and tree, asked of git."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping

from ralphloop.domain.prompt import count, line
from ralphloop.proof import baseline, proof_record
from ralphloop.proof.proof_record import Proven
from ralphloop.proof.worktree import HEADS, Git
from ralphloop.store.loop import LoopFiles

LOOK_S = 10.0
NAME_MAX = 120
Changed = Callable[[LoopFiles, Proven, Mapping[str, str]], "int | None"]
_ID = re.compile(r"[0-9a-f]{40,64}")


def changed_since(loop: LoopFiles, proven: Proven, env: Mapping[str, str]) -> int | None:
    """How many files are other ones than in the proven tree, the loop's own aside; None where nobody can
    tell."""
    base = baseline.load(loop)
    if base is None or not _ID.fullmatch(proven.tree):
        return None
    changed = baseline.changed_from(loop, base, proven.tree, proven.folder, env, budget_s=LOOK_S)
    return None if changed is None else len(changed)


def still_proven(loop: LoopFiles, env: Mapping[str, str], *, changed: Changed = changed_since) -> str:
    """In a sentence without its full stop; empty where nothing is known of what was proven."""
    proven = proof_record.load(loop).proven
    if not os.path.isabs(proven.folder):
        return ""
    if not os.path.isdir(proven.folder):
        return f"the folder that was proven is gone: {line(proven.folder, NAME_MAX)}"
    told = [*_elsewhere(loop, proven), *_tree(changed(loop, proven, env)), *_end(proven, env)]
    return "; ".join(told)


def _elsewhere(loop: LoopFiles, proven: Proven) -> Iterator[str]:
    if os.path.realpath(proven.folder) != os.path.realpath(loop.record.root):
        yield f"it was proven in another worktree: {line(proven.folder, NAME_MAX)}"


def _tree(files: int | None) -> Iterator[str]:
    if files is not None:
        was = "has" if files == 1 else "have"
        yield f"{count(files, 'file')} {was} changed since" if files else "the tree is still the proven one"


def _end(proven: Proven, env: Mapping[str, str]) -> Iterator[str]:
    """Where the branch is that was checked out, and where it ends."""
    if not _ID.fullmatch(proven.head):
        return
    git = Git(proven.folder, env, budget_s=LOOK_S)
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head is None:
        yield "git finds no commit there any more"
        return
    at = (git.ask("symbolic-ref", "--quiet", "HEAD") or "").removeprefix(HEADS)
    if at != proven.branch:
        yield _moved(at, proven.branch)
    if head != proven.head:
        yield _since(git, proven.head)
    elif at == proven.branch:
        yield "branch and commit are still the proven ones" if at else "the commit is still the proven one"


def _moved(at: str, before: str) -> str:
    now = f"the branch is now {line(at, NAME_MAX)}" if at else "no branch is checked out now"
    return f"{now}, and it was {line(before, NAME_MAX)}" if before else f"{now}, and it was none"


def _since(git: Git, before: str) -> str:
    if git.ask("merge-base", "--is-ancestor", before, "HEAD") is None:
        return f"the last commit is not built on the proven one ({before[:10]})"
    made = git.ask("rev-list", "--count", f"{before}..HEAD") or ""
    commits = count(int(made), "commit") if made.isdecimal() else "commits"
    return f"{commits} made since ({before[:10]} was proven)"

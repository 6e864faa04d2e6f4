"""One commit for each task that was closed, on the loop's branch and on no other."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ralphloop import errors
from ralphloop.agents.registry import client
from ralphloop.domain.committed import FAULT, proof, reopened, waiting
from ralphloop.domain.ledger import Ledger, name_tasks
from ralphloop.domain.model import PROVEN, Task
from ralphloop.domain.prompt import line
from ralphloop.evidence import commit_text, record
from ralphloop.evidence.commit_text import Trailers
from ralphloop.evidence.tree import folder_for
from ralphloop.evidence.worktree import HEADS, Index, Worktree
from ralphloop.store import tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file

__all__ = ["catch_up", "catch_up_patiently", "check", "dirty", "hold", "keep_list", "switch"]

BUDGET_S = 40.0  # in one stop: the client waits that much longer than checks may take
PREPARE_S = 120.0
LOOK_BACK = 200  # commits among which one that the ledger does not know of is looked for
TRIES = 3
PAUSES_S = (1.0, 2.0, 4.0)  # between the tries at the end of a run
SHOWN = 10
# in the project's folder: what git never sees, and lists that go into the first commit
RUN, LISTS = ".ralph/run/", ".ralph/loops/"
_LOCKED = re.compile(r"'([^']+\.lock)': File exists")


def check(root: str, env: Mapping[str, str], *, branch: str, lists: Iterable[str] = ()) -> str:
    """Make sure that commits can be made, on this branch or on the one that is checked out; its name.
    `lists` are folders of a task list, which may differ from the last commit."""
    with _in_words():
        place = Worktree(root, env, budget_s=PREPARE_S)
        place.must_be_settled()
        _must_have_author(place)
        _must_be_clean(place, root, lists)
        if branch:
            _must_be_free(place, branch)
        return branch or _checked_out(place)


def switch(root: str, env: Mapping[str, str], *, branch: str) -> str:
    """Check the branch out, made from HEAD if there is none of this name."""
    with _in_words():
        place = Worktree(root, env, budget_s=PREPARE_S)
        if place.branch != branch:
            _must_be_free(place, branch)
            how = ("--no-guess",) if place.end_of(branch) else ("--no-track", "--create")
            place.git.out("switch", "--quiet", *how, branch)
        return branch


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except errors.RefusedError as error:
        raise errors.CommitError(f"{error}. {error.cure}") from error
    except errors.GitError as error:
        raise errors.CommitError(f"git: {error}") from error


def _must_have_author(place: Worktree) -> None:
    try:
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            place.git.out("var", name)
    except errors.GitError as error:
        how = "set `git config user.name` and `git config user.email`"
        raise errors.CommitError(f"git does not know who commits: {how}.") from error


def dirty(root: str, env: Mapping[str, str], *, lists: Iterable[str] = ()) -> list[str]:
    """What differs from the last commit and is neither ours nor a task list."""
    with _in_words():
        return [path for path, _ in _rows(Worktree(root, env, budget_s=PREPARE_S), root, lists)]


def _must_be_clean(place: Worktree, root: str, lists: Iterable[str]) -> None:
    rows = [f"{line(path, 120)} ({kind})" for path, kind in _rows(place, root, lists)]
    if rows:
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        told = ", ".join(rows[:SHOWN]) + more
        own = client().registration.LOCAL_SETTINGS
        is_there = any(row.startswith(own) for row in rows)
        how = f" `echo {own} >> .git/info/exclude` ignores what is this machine's." if is_there else ""
        raise errors.CommitError(
            f"the work tree is not clean: {told}. The agent's commits would mix with that: commit, stash "
            f"(`git stash -u`) or ignore these files first.{how}"
        )


def _rows(place: Worktree, root: str, lists: Iterable[str]) -> list[tuple[str, str]]:
    own = [os.path.join(root, RUN), os.path.join(root, LISTS), *lists]
    free = tuple(os.path.relpath(os.path.realpath(path), os.path.realpath(place.top)) + "/" for path in own)
    status = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    rows = place.git.out(*status, "--ignore-submodules=dirty").split("\0")
    return [(row[3:], _kind(row)) for row in rows if row and not row[3:].startswith(free)]


def _kind(row: str) -> str:
    if row.startswith("??"):
        return "untracked"
    return "changed" if row[1] != " " else "staged"


def _checked_out(place: Worktree) -> str:
    found = place.branch
    if not found:
        raise errors.CommitError("HEAD is detached: switch to a branch first, or name one with --branch.")
    return found


def _must_be_free(place: Worktree, branch: str) -> None:
    git = place.git
    if branch[:1] == "-" or branch == "HEAD" or git.ask("check-ref-format", HEADS + branch) is None:
        like = re.sub(r"[^\w/]+", "-", line(branch, 60)).strip("-/") or "overnight"
        told = f"{line(branch, 60)!r} is no name for a branch: git allows no blank and few signs in one"
        raise errors.CommitError(f"{told}; choose another, such as `{like}`.")
    if place.branch != branch and place.end_of(branch):
        taken = git.ask("for-each-ref", "--format=%(worktreepath)", HEADS + branch)
        if taken:
            raise errors.CommitError(f"the branch {branch} is checked out in {taken}: run it there.")


class Due(NamedTuple):
    """A closed task, the proof that the ledger has of it, and the commit of an earlier proof."""

    task: Task
    proof: str
    about: Trailers
    former: str


def catch_up(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> str:
    """Commit every closed task that has no commit for its present proof. What must be put right before that
    can be done, in words for the agent, or nothing. BusyError and OSError come from the loop's own files."""
    terms = loop.record.supervision
    due = _due(loop) if terms is not None and terms.branch else []
    if terms is None or not due:
        return ""
    about = {"branch": terms.branch, "tasks": [one.task.id for one in due]}
    try:
        loop.make()  # the agent may have taken away what hides our own files from git
        place = Worktree(folder_for(loop.record.root, cwd), env, budget_s=BUDGET_S)
        made = _commit(place, due, branch=terms.branch)
    except errors.RefusedError as error:
        loop.journal("commit_refused", why=str(error), **about)
        _note_fault(loop, due, f"{error}. {error.cure}")
        return f"ralphloop did not commit: {line(str(error), 120)}. {error.cure}"
    except (errors.CommitError, errors.GitError, OSError) as error:
        loop.journal("commit_failed", why=str(error), **about)
        _note_fault(loop, due, _with_cure(str(error), loop.record.root))
        return ""
    _note(loop, due, made=made, branch=terms.branch)
    return ""


def catch_up_patiently(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    """The same at the end of a run, which no stop follows: what another git holds for a moment is tried
    again, what somebody must put right first is not."""
    for pause_s in (*PAUSES_S, 0.0):
        refused, ledger = catch_up(loop, cwd=cwd, env=env), loop.load_ledger()
        if refused or not any(FAULT in ledger.tasks[task] for task in waiting(ledger)):
            return
        time.sleep(pause_s)


def keep_list(loop: LoopFiles, *, branch: str, cwd: str, env: Mapping[str, str]) -> None:
    """Commit what a rest or an end wrote into the list's own files after the last task's commit, so that a
    tree that was clean stays so; not where somebody has staged something else."""
    folder = os.path.dirname(own_file(loop.record))
    try:
        place = Worktree(folder_for(loop.record.root, cwd), env, budget_s=BUDGET_S)
        is_same = place.git.ask("diff", "--quiet", "HEAD", "--", folder) is not None
        if is_same or place.git.ask("diff", "--quiet", "--cached", "HEAD") is None:
            return
        _must_be_in_order(place, branch)
        head = place.end_of(branch)
        with Index(place) as index:
            tree = index.take_tracked(folder)
            told = place.write(tree, f"{loop.record.name}: where the list stands\n", parent=head)
            if _moved(place, branch, old=head, new=told):
                index.publish()
    except (errors.CommitError, errors.GitError, OSError) as error:
        loop.journal("commit_failed", why=str(error), branch=branch)


def hold(loop: LoopFiles, why: str) -> None:
    """Note that what waits for a commit must not be committed now, and why."""
    due = _due(loop)
    if due:
        loop.journal("commit_refused", why=why, tasks=[one.task.id for one in due])
        _note_fault(loop, due, why)


def _with_cure(why: str, root: str) -> str:
    """A lock file that a killed git left is named as seen from the project, with what to do about it."""
    found = _LOCKED.search(why)
    if not found:
        return why
    path = os.path.relpath(found[1], root) if found[1].startswith(root + os.sep) else found[1]
    return f"{path} is in the way: if no git is at work there, remove that file"


def _note_fault(loop: LoopFiles, due: Sequence[Due], why: str) -> None:
    with loop.lock():
        ledger = loop.load_ledger()
        for one in due:
            ledger.note(one.task.id, **{FAULT: line(why)})
        loop.save_ledger(ledger)


def _due(loop: LoopFiles) -> list[Due]:
    """In the list's order; a list that cannot be read now is looked at again at the next stop."""
    with loop.lock():
        ledger = loop.load_ledger()
        again = reopened(ledger)
        for name in again:
            ledger.drop(name, "committed")
        if again:
            loop.save_ledger(ledger)
    wanted = set(waiting(ledger))
    try:
        listed = tasks.parse_source(loop.record) if wanted else None
    except ValueError:
        return []
    if listed is None:
        return []
    name_tasks(listed, ledger)
    named = [task for task in listed.tasks if task.id in wanted]
    known = record.recent(loop, suffices=lambda found: _shows(found, named, ledger))
    return [_one(task, loop=loop, ledger=ledger, known=known) for task in named]


def _shows(found: Sequence[record.Entry], named: Sequence[Task], ledger: Ledger) -> bool:
    """Whether the run that the ledger names is there for each, and a green one of every command before it."""
    places = {entry.id: place for place, entry in enumerate(found)}
    for task in named:
        facts = ledger.tasks[task.id]
        before = found[: places.get(proof(facts), -1) + 1]
        green = {entry.command for entry in before if entry.green}
        if facts.get("state") == PROVEN and not green.issuperset(task.verify):
            return False
    return True


def _one(task: Task, *, loop: LoopFiles, ledger: Ledger, known: Sequence[record.Entry]) -> Due:
    facts = ledger.tasks[task.id]
    why = proof(facts)
    shown = _evidence(task, why, known) if facts.get("state") == PROVEN else why
    about = commit_text.trailers(task.id, loop_id=loop.record.id, evidence=shown)
    return Due(task, why, about, facts.get("commit", ""))


def _evidence(task: Task, last: str, known: Sequence[record.Entry]) -> str:
    """The runs that prove it: of each of its commands the last green one, up to the one in the ledger."""
    places = [place for place, entry in enumerate(known) if entry.id == last]
    before = known[: places[-1] + 1] if places else ()
    green = {entry.command: entry.id for entry in before if entry.green and entry.command in task.verify}
    return ", ".join(sorted({*green.values(), last}))


def _commit(place: Worktree, due: Sequence[Due], *, branch: str) -> dict[str, str]:
    """The commit of each task. Another process may commit at the same time: who comes second looks again."""
    for _ in range(TRIES):
        _must_be_in_order(place, branch)
        head = place.end_of(branch)
        made = _made_before(place, due, head=head)
        with Index(place) as index:
            tree, last = index.take_all(), head
            for one in due:
                if one.task.id not in made:
                    message = commit_text.message(one.task, one.about)
                    last = made[one.task.id] = place.write(tree, message, parent=last)
            if last == head or _moved(place, branch, old=head, new=last):
                index.publish()
                return made
    raise errors.CommitError(f"the branch {branch} moved meanwhile, again and again")


def _must_be_in_order(place: Worktree, branch: str) -> None:
    place.must_be_settled()
    place.must_be_on(branch)


def _moved(place: Worktree, branch: str, *, old: str, new: str) -> bool:
    """False if somebody else was faster."""
    _must_be_in_order(place, branch)
    try:
        place.move(branch, old=old, new=new)
    except errors.GitError:
        if place.end_of(branch) == old:
            raise
        return False
    return True


def _made_before(place: Worktree, due: Sequence[Due], *, head: str) -> dict[str, str]:
    """Commits that a run before this one made, and was ended before it could note them."""
    history = place.history(head, LOOK_BACK + len(due))
    ages = {commit: age for age, (commit, _) in enumerate(history)}
    found = {commit_text.read(message): commit for commit, message in reversed(history)}
    return {
        one.task.id: found[one.about]
        for one in due
        if one.about in found and ages[found[one.about]] < ages.get(one.former, len(ages))
    }


def _note(loop: LoopFiles, due: Sequence[Due], *, made: Mapping[str, str], branch: str) -> None:
    """Tell the ledger; a task that moved on meanwhile gets its next commit at the next stop."""
    with loop.lock():
        ledger = loop.load_ledger()
        for one in due:
            ledger.note(one.task.id, commit=made[one.task.id], committed=one.proof)
            ledger.drop(one.task.id, FAULT)
        loop.save_ledger(ledger)
    for one in due:
        loop.journal(
            "commit", task=one.task.id, commit=made[one.task.id], branch=branch, evidence=one.about.evidence
        )

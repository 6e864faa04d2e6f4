"""One commit for each task that was closed, on the loop's branch and on no other, with its message."""

from __future__ import annotations

import hashlib
import os
import re
import textwrap
import time
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ralphloop import errors
from ralphloop.domain import jsontext
from ralphloop.domain.ledger import COMMIT_FAULT, Ledger, commits_undone, name_tasks, proof, uncommitted
from ralphloop.domain.model import PROVEN, Task
from ralphloop.domain.prompt import TURNS, cut, line
from ralphloop.proof import check_record
from ralphloop.proof.repository import folder_for
from ralphloop.proof.worktree import Index, Worktree, dirty
from ralphloop.store import files, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file

BUDGET_S = 40.0  # in one stop: the client waits that much longer than checks may take
LOOK_BACK = 200  # commits among which one that the ledger does not know of is looked for
TRIES = 3
PAUSES_S = (1.0, 2.0, 4.0)  # between the tries at the end of a run
SUBJECT_MAX = 72
BODY_MAX = 2_000
STEP_MAX = 200
ID_MAX = 120
TASK, LOOP, EVIDENCE = "Ralphloop-Task", "Ralphloop-Loop", "Ralphloop-Evidence"
_LOCKED = re.compile(r"'([^']+\.lock)': File exists")


class Trailers(NamedTuple):
    """Which proof of which task a commit is about."""

    task: str
    loop: str
    evidence: str


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
        if refused or not any(COMMIT_FAULT in ledger.tasks[task] for task in uncommitted(ledger)):
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
            ledger.note(one.task.id, **{COMMIT_FAULT: line(why)})
        loop.save_ledger(ledger)


def _due(loop: LoopFiles) -> list[Due]:
    """In the list's order; a list that cannot be read now is looked at again at the next stop."""
    with loop.lock():
        ledger = loop.load_ledger()
        again = commits_undone(ledger)
        for name in again:
            ledger.drop(name, "committed")
        if again:
            loop.save_ledger(ledger)
    wanted = set(uncommitted(ledger))
    if not wanted:
        return []
    try:
        listed = tasks.parse_source(loop.record)
    except ValueError:
        return []
    name_tasks(listed, ledger)
    named = [task for task in listed.tasks if task.id in wanted]
    known = check_record.recent(loop, suffices=lambda found: _shows(found, named, ledger))
    return [_one(task, loop=loop, ledger=ledger, known=known) for task in named]


def _shows(found: Sequence[check_record.Entry], named: Sequence[Task], ledger: Ledger) -> bool:
    """Whether the run that the ledger names is there for each, and a green one of every command before it."""
    proven = [task for task in named if ledger.tasks[task.id].get("state") == PROVEN]
    return all(set(task.verify) <= _green(found, proof(ledger.tasks[task.id])).keys() for task in proven)


def _one(task: Task, *, loop: LoopFiles, ledger: Ledger, known: Sequence[check_record.Entry]) -> Due:
    facts = ledger.tasks[task.id]
    why = proof(facts)
    shown = why
    if facts.get("state") == PROVEN:
        green = _green(known, why)
        shown = ", ".join(sorted({*(green[text] for text in task.verify if text in green), why}))
    about = trailers_of(task.id, loop_id=loop.record.id, evidence=shown)
    return Due(task, why, about, facts.get("commit", ""))


def _green(known: Sequence[check_record.Entry], last: str) -> dict[str, str]:
    """Of each command the last green run, up to the one that the ledger names."""
    places = [place for place, entry in enumerate(known) if entry.id == last]
    before = known[: places[-1] + 1] if places else ()
    return {entry.command: entry.id for entry in before if entry.green}


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
                    told = message(one.task, one.about)
                    last = made[one.task.id] = place.write(tree, told, parent=last)
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
    found = {trailers_in(message): commit for commit, message in reversed(history)}
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
            ledger.drop(one.task.id, COMMIT_FAULT)
        loop.save_ledger(ledger)
    for one in due:
        loop.journal(
            "commit", task=one.task.id, commit=made[one.task.id], branch=branch, evidence=one.about.evidence
        )


def note_left(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    """What this run leaves uncommitted is its own; what comes to that later is the person's."""
    files.write_text(_left(loop), jsontext.render({"files": _dirty(loop, cwd=cwd, env=env)}) + "\n")


def forget_left(loop: LoopFiles) -> None:
    """From now on what is in the tree is this run's; one that is killed notes nothing."""
    files.remove(_left(loop))


def changes_since(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> list[str]:
    """The changes since the last run; none where that one was killed and could not say what it left."""
    try:
        left = jsontext.parse_object(files.read_quietly(_left(loop)) or "")["files"]
    except (ValueError, KeyError):
        return []
    return [path for path in _dirty(loop, cwd=cwd, env=env) if path not in left]


def _dirty(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> list[str]:
    return dirty(cwd, env, lists=[os.path.dirname(own_file(loop.record))])


def _left(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "left.json")


def trailers_of(task_id: str, *, loop_id: str, evidence: str) -> Trailers:
    return Trailers(_name(task_id), line(_clean(loop_id), ID_MAX), line(_clean(evidence), 1000))


def message(task: Task, about: Trailers) -> str:
    name, title = line(_clean(task.id), 40), " ".join(_clean(task.title).split())
    whole = f"{name}: {title}" if title else name
    ends = f"{TASK}: {about.task}\n{LOOP}: {about.loop}\n{EVIDENCE}: {about.evidence}\n"
    return "\n\n".join(part for part in (cut(whole, SUBJECT_MAX), _body(task, whole), ends) if part)


def trailers_in(text: str) -> Trailers | None:
    """The trailers of a message; only its last paragraph can have them."""
    rows = (row.partition(": ") for row in text.strip().rsplit("\n\n", 1)[-1].split("\n"))
    found = {name: value for name, _, value in rows}
    if not {TASK, LOOP, EVIDENCE} <= set(found):
        return None
    return Trailers(found[TASK], found[LOOP], found[EVIDENCE])


def _name(task_id: str) -> str:
    """The id on one line; one that does not fit there as it is keeps apart from others by its digest."""
    shown = line(_clean(task_id), ID_MAX)
    if shown == task_id:
        return shown
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{shown} ~{digest}"


def _body(task: Task, whole: str) -> str:
    """The rest of a title that was cut, and the steps."""
    title = textwrap.fill(cut(whole, 1000), SUBJECT_MAX) if len(whole) > SUBJECT_MAX else ""
    steps = [line(_clean(step), STEP_MAX) for step in task.steps or task.body.splitlines()[1:]]
    listed = "\n".join(step if step[0] in "-*" else f"- {step}" for step in steps if step)
    return cut("\n\n".join(part for part in (title, listed) if part), BODY_MAX)


def _clean(text: str) -> str:
    """Without what a terminal or git would take for a command; a line end is white space for now."""
    not_plain = ("Cc", "Cs", "Zl", "Zp")
    return "".join(" " if unicodedata.category(ch) in not_plain or ch in TURNS else ch for ch in text)

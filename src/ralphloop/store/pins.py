"""The criteria of a loop as the person started it: a copy of its task file, and what was changed since."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.store import files, repair
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ralphloop.domain.ledger import Ledger
    from ralphloop.domain.model import TaskList
    from ralphloop.store.loop import LoopFiles
    from ralphloop.tasklists.source import Layout, Texts

SHOWN = 8


class Guarded:
    """A list with its pinned criteria in place, and what that took."""

    __slots__ = ("added", "notes", "tasks", "texts")

    def __init__(self, tasks: TaskList, texts: Texts) -> None:
        self.tasks = tasks
        self.texts = dict(texts)
        self.added: list[str] = []
        self.notes: list[str] = []


def pin(loop: LoopFiles, texts: Texts) -> None:
    """From now on these criteria hold."""
    text = texts.get(traits(loop.record.layout).criteria)
    if text is not None and loop.writes:
        files.make_folder(loop.kept)
        files.write_text(_place(loop), text, durable=True)


def pinned(loop: LoopFiles) -> Optional[str]:
    return files.read_quietly(_place(loop))


def weakened(layout: str, original: str, texts: Texts) -> bool:
    """Whether criteria were changed or removed; tasks may have been added."""
    return bool(layout_of(layout).restore(texts, {traits(layout).criteria: original}).faults)


def has_edits(loop: LoopFiles) -> bool:
    """Whether the list of a loop has other criteria now than it began with."""
    original = pinned(loop)
    if original is None:
        return False
    texts = {role: files.read_quietly(path) for role, path in loop.record.paths.items()}
    try:
        return weakened(loop.record.layout, original, texts)
    except ValueError:
        return False


def differs(layout: str, original: str, texts: Texts) -> bool:
    """Whether a list has other criteria than the pinned ones, or more tasks."""
    found = layout_of(layout).restore(texts, {traits(layout).criteria: original})
    return bool(found.texts or found.added)


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "pinned")


def guard(loop: LoopFiles, tasks: TaskList, texts: Texts, ledger: Ledger) -> Guarded:
    """Put back what was changed or removed, mark what was added; a list without pins gets them now."""
    role = traits(loop.record.layout).criteria
    guarded = Guarded(tasks, texts)
    original = pinned(loop)
    if original is None:
        if tasks.phase == "execution":
            pin(loop, texts)
        return guarded
    if original == texts.get(role):
        return guarded
    layout = layout_of(loop.record.layout)
    try:
        restored = layout.restore(texts, {role: original})
    except ValueError as error:
        guarded.notes.append("The pinned criteria cannot be read: %s. `ralphloop approve` pins anew." % error)
        return guarded
    guarded.added = restored.added
    if restored.texts:
        guarded.texts.update(restored.texts)
        guarded.tasks = layout.parse(guarded.texts)
        _tell_restored(guarded, restored.faults)
    if restored.added:
        _hold_additions(guarded, layout, original=original, ledger=ledger)
    if guarded.texts[role] != texts.get(role):
        _write(loop, role, guarded)
    return guarded


def _tell_restored(guarded: Guarded, faults: list[tuple[str, str]]) -> None:
    shown = ", ".join("%s (%s)" % (task or "the list", what) for task, what in faults[:SHOWN])
    more = " and %d more" % (len(faults) - SHOWN) if len(faults) > SHOWN else ""
    guarded.notes.append(
        "The criteria were pinned at the start and are back: %s%s. The changed version is kept in rejected/; "
        "only the person can change them (`ralphloop approve`)." % (shown, more)
    )


def _hold_additions(guarded: Guarded, layout: Layout, *, original: str, ledger: Ledger) -> None:
    """Take out the added tasks that are too many; the ledger learns which task was split how often."""
    known = {name for name, facts in ledger.tasks.items() if facts.get("added")}
    modified = {name: int(facts["modified"]) for name, facts in ledger.tasks.items()
                if facts.get("modified", "").isdigit()}  # fmt: skip
    texts, excess, split = layout.hold_additions(guarded.texts, original, known=known, modified=modified)
    if texts:
        guarded.texts.update(texts)
        guarded.tasks = layout.parse(guarded.texts)
        left = {task.id or task.title for task in guarded.tasks.tasks}
        guarded.added = [name for name in guarded.added if name in left]
        why = "; ".join(excess[:SHOWN])
        guarded.notes.append("Too many added tasks, taken out again (see rejected/): %s." % why)
    for name in split:
        ledger.note(name, modified=str(modified.get(name, 0) + 1))


def _write(loop: LoopFiles, role: str, guarded: Guarded) -> None:
    path = loop.record.paths[role]
    if not loop.writes:
        return
    rejected = repair.reject(loop, path)
    files.write_shared(path, guarded.texts[role] or "", root=loop.record.root)
    loop.journal("restored", what=guarded.notes, rejected=rejected)

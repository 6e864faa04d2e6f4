"""A loop's task files on disk: read, kept as a last good copy, marked, and counted through."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain.model import EXECUTION, SET_BACK
from ralphloop.domain.model import GONE as GONE
from ralphloop.store import files
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import own_file, traits
from ralphloop.tasklists.source import Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Optional

    from ralphloop.domain.ledger import Ledger
    from ralphloop.domain.model import LoopState, TaskList
    from ralphloop.domain.worklist import Worklist
    from ralphloop.store.loop import LoopFiles
    from ralphloop.store.pins import Guarded
    from ralphloop.store.shelf import Record
    from ralphloop.tasklists.source import Source

YOUNG_S = 2.0  # a file this fresh may change again within one tick of its clock
BEGUN = "begun"  # the state with which execution began, beside the last good copies
EINVAL = 22
PATIENCE_S = 1.0  # how long a file that does not parse may still be in the middle of a write


class Reading:
    """What the task files say now, or why they say nothing."""

    __slots__ = ("claimed", "content", "fault", "files", "notes", "reopened", "work")

    def __init__(self) -> None:
        self.work: Optional[Worklist] = None
        self.fault = ""
        self.files = ""
        self.content = ""
        self.claimed: list[str] = []
        self.reopened: list[str] = []
        # what the agent and the person must know: criteria that were put back, tasks that were added
        self.notes: list[str] = []


def read_texts(paths: dict[str, str], roles: tuple[str, ...]) -> dict[str, Optional[str]]:
    return {role: files.read_text(paths[role]) for role in roles if role in paths}


def parse_source(source: Source | Record) -> TaskList:
    """The tasks of a list that no loop has read yet; ValueError or OSError says what is wrong."""
    return read_source(source)[0]


def read_source(source: Source | Record) -> tuple[TaskList, dict[str, Optional[str]]]:
    """The same with the texts that they stand in."""
    truth = traits(source.layout).truth
    _must_stay_inside(source, truth)
    texts = read_texts(source.paths, (*truth, "progress"))
    if texts[truth[0]] is None:
        raise ValueError("%s does not exist" % own_file(source))
    return layout_of(source.layout).parse(texts), texts


def look(loop: LoopFiles) -> tuple[TaskList, Ledger, Worklist]:
    """The tasks as the next stop would find them, with what it would know of them; nothing is written.
    ValueError or OSError says what is wrong."""
    from ralphloop.domain.ledger import name_tasks, settle, survey

    listed, ledger = parse_source(loop.record), loop.load_ledger()
    name_tasks(listed, ledger)
    settle(listed, ledger)
    return listed, ledger, survey(listed, ledger)


def read_work(loop: LoopFiles, state: LoopState, *, now: float) -> Reading:
    """Look at the task files; the ledger learns what was claimed or reopened since."""
    record = loop.record
    truth = traits(record.layout).truth
    reading = Reading()
    marks = [files.signature(record.paths[role]) for role in truth]
    reading.files = marks[-1]
    key = "|".join(marks) + "|%d" % state.ledger
    settled = marks[0] != "" and all(files.age_s(record.paths[role], now) > YOUNG_S for role in truth)
    if settled:
        reading.work = loop.load_cursor(key)
        if reading.work is not None:
            return reading
    found = _parse_patiently(loop, reading)
    if found is None:
        return reading
    if found[0].phase != EXECUTION and state.live and _has_begun(loop):
        reading.fault = "%s %r" % (SET_BACK, found[0].phase[:40])
        reading.content = _content_key(own_file(record))
        return reading
    reading.work = work = _take_in(*found, loop=loop, state=state, reading=reading)
    if settled and state.live and not reading.notes:
        loop.save_cursor("|".join(marks) + "|%d" % state.ledger, work)
    return reading


def _take_in(
    tasks: TaskList, texts: dict[str, Optional[str]], *, loop: LoopFiles, state: LoopState, reading: Reading
) -> Worklist:
    from ralphloop.domain.ledger import name_tasks, settle, survey

    ledger = loop.load_ledger()
    before = len(ledger.names)
    # While a loop rests, its list is the person's to edit: what they did shows when it goes on.
    changed, touched = state.live and _differs(loop, texts), False
    if changed:
        guarded = _guard(tasks, texts, loop=loop, ledger=ledger)
        tasks, texts, reading.notes = guarded.tasks, guarded.texts, guarded.notes
        touched = bool(guarded.added or guarded.notes)
    name_tasks(tasks, ledger)
    reading.claimed, reading.reopened = settle(tasks, ledger)
    if touched or reading.claimed or reading.reopened or len(ledger.names) != before:
        state.ledger += 1
        loop.save_ledger(ledger)
    if changed and not reading.fault:
        _keep(loop, texts)
    return survey(tasks, ledger)


def with_pins(loop: LoopFiles, ledger: Ledger) -> tuple[TaskList, list[str]]:
    """The list with its pinned criteria in place, and what that took; for a command that judges a claim."""
    texts = read_texts(loop.record.paths, traits(loop.record.layout).truth)
    if all(text is None for text in texts.values()):
        raise ValueError("%s does not exist" % own_file(loop.record))
    tasks = layout_of(loop.record.layout).parse(texts)
    found = _guard(tasks, texts, loop=loop, ledger=ledger)
    return found.tasks, found.notes


def _called(tasks: TaskList) -> list[str]:
    from ralphloop.domain.additions import names

    return names(tasks.tasks)


def _guard(tasks: TaskList, texts: dict[str, Optional[str]], *, loop: LoopFiles, ledger: Ledger) -> Guarded:
    """The list with its pinned criteria in place; the ledger learns which tasks are new."""
    from ralphloop.domain.ledger import name_tasks
    from ralphloop.store import pins

    guarded = pins.guard(loop, tasks, texts, ledger)
    called = _called(guarded.tasks) if guarded.added else []
    name_tasks(guarded.tasks, ledger)
    added = [task.id for name, task in zip(called, guarded.tasks.tasks) if name in guarded.added]
    new = [name for name in added if "added" not in ledger.tasks.get(name, {})]
    for name in new:
        ledger.note(name, added="yes")
    if new:
        loop.journal("added", tasks=new)
    guarded.added = new
    return guarded


def _parse_patiently(
    loop: LoopFiles, reading: Reading
) -> Optional[tuple[TaskList, dict[str, Optional[str]]]]:
    """Parse, and try again while a fresh file may be in the middle of a write."""
    record = loop.record
    layout, own = layout_of(record.layout), own_file(record)
    truth = layout.TRAITS.truth
    deadline = time.monotonic() + PATIENCE_S
    while True:
        is_last = time.monotonic() >= deadline  # before it is read: a machine that stalls takes no try away
        try:
            _must_stay_inside(record, truth)
            texts = read_texts(record.paths, truth)
            if texts[truth[0]] is None:
                reading.fault = GONE
                if all(text is None for text in texts.values()):
                    return None
            tasks = layout.parse(texts)
        except (ValueError, OSError) as error:
            reading.fault = str(error) or type(error).__name__
            outside = files.leads_out(own, record.root)  # nothing of what lies there is kept
            reading.content = reading.fault if outside else _content_key(own)
        else:
            return tasks, texts
        if is_last or files.age_s(own, time.time()) > YOUNG_S:
            return None
        reading.fault = reading.content = ""
        time.sleep(0.02)


def _must_stay_inside(record: Source | Record, roles: tuple[str, ...]) -> None:
    for role in roles:
        if files.leads_out(record.paths[role], record.root):
            raise ValueError("%s leads out of the project" % record.paths[role])


def _content_key(path: str) -> str:
    text = files.read_quietly(path) or ""
    return "%d:%s:%s" % (len(text), text[:40], text[-40:])


def _differs(loop: LoopFiles, texts: dict[str, Optional[str]]) -> bool:
    """Whether the files say something else than at the last look."""
    return any(files.read_quietly(os.path.join(loop.kept, role)) != text for role, text in texts.items())


def _keep(loop: LoopFiles, texts: dict[str, Optional[str]]) -> None:
    """Keep a copy of each file that parses, for the day when it does not."""
    for role, text in texts.items():
        place = os.path.join(loop.kept, role)
        if text is not None and loop.writes and files.read_quietly(place) != text:
            files.make_folder(loop.kept)
            files.write_text(place, text)


def keep_begun(loop: LoopFiles, text: Optional[str]) -> None:
    """Keep the state with which execution began: until a stop has read it, there is no other good copy."""
    if text is not None and loop.writes:
        files.make_folder(loop.kept)
        files.write_text(os.path.join(loop.kept, BEGUN), text)


def _has_begun(loop: LoopFiles) -> bool:
    """Whether the loop was in execution already; its last good copy says so from now on."""
    layout = layout_of(loop.record.layout)
    role = layout.TRAITS.own
    place = os.path.join(loop.kept, role)
    for path in (place, os.path.join(loop.kept, BEGUN)):
        text = files.read_quietly(path)
        try:
            has_begun = text is not None and layout.parse({role: text}).phase == EXECUTION
        except ValueError:
            continue
        if has_begun and text is not None:
            if path != place and loop.writes:
                files.write_text(place, text)
            return True
    return False


def has_copy(loop: LoopFiles) -> bool:
    return os.path.exists(os.path.join(loop.kept, traits(loop.record.layout).own))


def is_written(record: Record, work: Worklist) -> bool:
    """Whether the document of the phase before execution exists; of the tasks, whether there are any."""
    if work.phase == EXECUTION:
        return False
    document = traits(record.layout).phases.get(work.phase, "")
    if document == "tasks.md":
        return work.total > 0
    return bool(document) and os.path.isfile(os.path.join(os.path.dirname(own_file(record)), document))


def mark(record: Record, places: Iterable[int], *, done: bool) -> bool:
    """Close or reopen tasks in their own file; False if they were so already."""
    texts = read_texts(record.paths, traits(record.layout).truth)
    try:
        changed = layout_of(record.layout).mark(texts, *places, done=done)
        _must_stay_inside(record, tuple(changed))
    except ValueError as error:  # it is another one than was looked at: the agent may write it at any instant
        raise OSError(EINVAL, str(error), own_file(record)) from None
    for role, text in changed.items():
        files.write_shared(record.paths[role], text, root=record.root)
    return bool(changed)


def show(record: Record, state: LoopState, work: Worklist, *, status: str) -> None:
    """Show the run's figures in the files where people and plugins look for them."""
    role = "progress" if "progress" in record.paths else traits(record.layout).own
    if files.leads_out(record.paths[role], record.root):
        return
    tally = Tally(
        status,
        iteration=state.iteration,
        max_iterations=int(record.limits.iterations),
        index=work.index,
        total=work.total,
        attempt=state.attempts.get(state.current, 0) + 1,
    )
    texts = read_texts(record.paths, (role,))
    if '"fixTaskMap"' in (texts[role] or ""):
        tally.fixes = _fixes(record)
    for changed, text in layout_of(record.layout).record(texts, tally).items():
        files.write_shared(record.paths[changed], text, root=record.root)


def show_now(loop: LoopFiles, state: LoopState, work: Optional[Worklist] = None) -> None:
    """The same after a command; a list that cannot be read must not keep a loop from being paused or
    cancelled."""
    from ralphloop.domain.model import status_word

    try:
        work = look(loop)[2] if work is None else work
    except (ValueError, OSError):
        return
    show(loop.record, state, work, status=status_word(state.outcome))


def _fixes(record: Record) -> dict[str, list[str]]:
    """The fix tasks of each task, for a state file that keeps count of them."""
    from ralphloop.domain.additions import fixes

    try:
        return fixes(parse_source(record).tasks)
    except (ValueError, OSError):
        return {}

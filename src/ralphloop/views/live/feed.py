"""Everything that the view shows of one loop, kept up to date by reading what has changed, of a file that
grows only its new lines."""

from __future__ import annotations

import os
import stat
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import NamedTuple

from ralphloop.agents.registry import client
from ralphloop.agents.transcript import ERROR, FAILED, LOOP, Activity, Context
from ralphloop.domain.model import ASKED, CLAIMED, GIVEN, OPEN, LoopState
from ralphloop.domain.prompt import plain
from ralphloop.engine import account
from ralphloop.engine.api_error import masked
from ralphloop.store import files, shelf, supervisor
from ralphloop.store.loop import JOURNAL, JOURNAL_MAX, PROOF, LoopFiles, iso
from ralphloop.views import journal
from ralphloop.views.figure import Share, elapsed_s
from ralphloop.views.snapshot import LoopView, TaskView, left_at, view_of, worked_until

KEPT = 500  # activities
# seconds between two looks at what costs more than a stat call
HOLDER_S, SPENT_S, CONTEXT_S, SEARCH_S = 1.0, 1.0, 2.0, 0.5
REST_TIMES = 9  # a list that takes long to read is not read again before so many times as long
SPARKS = 16
FIRST_MAX = 1024 * 1024
LINE_MAX = 8 * 1024 * 1024
STEP_MAX = 4 * 1024 * 1024
OLDER_MAX = 16 * 1024 * 1024  # of a file that was moved aside for being too long
# a pipe in the file's place must not hold up the reader
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
# of a loop, out of which a view is made
_FILES = ("loop.json", "ledger.json", "request", "pinned", PROOF)

# journal entries that belong into the stream; the others are in `ralphloop log`
_SHOWN = {
    "session", "session_end", "handover", "wait", "wake", "commit", "proven", "refused", "restored",
    "protected", "added", "ask", "answer", "skip", "accept", "approve", "pause", "resume", "limit",
    "cancel", "interrupted", "stop_failure", "commit_refused", "commit_failed", "run_end", "set_aside",
    "restart", "gave_up", "silent",
}  # fmt: skip
_BAD = (
    "refused", "set_aside", "stop_failure", "interrupted", "protected", "commit_refused", "commit_failed",
    "gave_up", "silent",
)  # fmt: skip


class Frame(NamedTuple):
    """One moment of a loop."""

    view: LoopView
    now: float
    elapsed_s: float
    time_limit_s: float
    tokens: int | None  # None where there is no transcript
    cost_usd: float | None  # None where no model has a price
    token_limit: float
    cost_limit_usd: float
    unpriced: bool
    context: Context | None
    burndown: tuple[int, ...]
    holder: supervisor.Holder | None  # of the supervisor, if one is alive
    goes_on: bool  # whether the loop works, or will without anybody's help
    task: str  # at hand
    session: str
    model: str
    activities: tuple[tuple[int, Activity], ...]  # numbered through, so that a drawing of one can be kept


class Feed:
    """Reads only. `poll` makes a few stat calls where nothing has happened."""

    def __init__(
        self, loop: LoopFiles, env: Mapping[str, str], *, pace: Callable[[], float] = time.monotonic
    ) -> None:
        self._loop, self._env = LoopFiles(loop.record, loop.shelf, writes=False), env
        self._pace = pace
        self._state: LoopState = self._loop.state()
        self._view: LoopView | None = None
        self._marks: tuple[str, ...] = ()
        before = loop.shown(files.older(JOURNAL))
        self._journal = Tail(loop.shown(JOURNAL), first_max=JOURNAL_MAX, older=before)
        self._past: list[tuple[str, str]] | None = None  # when the loop was under way before we looked
        self._before: list[str] = []  # the transcripts until then
        self._entries: list[journal.Entry] = []
        self._transcript: Tail | None = None
        self._session = ""
        self._tally, self._burndown = Tally(), Burndown()
        self._context: Context | None = None
        self._holder: supervisor.Holder | None = None
        self._beat: float | None = None
        self._left_at: float | None = None
        self._numbers = count(1)
        self._ring: deque[tuple[int, Activity]] = deque(maxlen=KEPT)
        self._due: dict[str, float] = {}
        self._has_grown = True

    def poll(self, now: float) -> bool:
        """Look at everything once; whether there is something new to show."""
        held = self._look_at_holder()
        seen = self._look_at_loop(now)
        news = self._look_at_journal() + self._look_at_transcript()
        for told in sorted(news, key=lambda told: told.at):
            self._ring.append((next(self._numbers), told))
        if news:  # a transcript is found a moment after it was begun
            self._ring = deque(sorted(self._ring, key=lambda shown: shown[1].at), maxlen=KEPT)
        spent = self._count(now)
        return held or seen or bool(news) or spent

    def _is_due(self, what: str, every_s: float) -> bool:
        now = self._pace()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + every_s
        return True

    def _look_at_holder(self) -> bool:
        if self._loop.record.supervision is None and self._holder is None and self._view is not None:
            return False
        if not self._is_due("holder", HOLDER_S):
            return False
        before, self._holder = self._holder, supervisor.holder(self._loop)
        self._beat = supervisor.last_beat(self._loop, self._holder)
        self._left_at = left_at(self._loop, self._state, self._holder)
        return _said(before) != _said(self._holder)

    def _look_at_loop(self, now: float) -> bool:
        marks = tuple(files.signature(path) for path in self._places())
        begin = self._pace()
        if (marks == self._marks or begin < self._due.get("view", 0.0)) and self._view is not None:
            return False
        self._marks = marks
        # `resume` changes limits, a new session the owner
        self._loop.record = self._loop.shelf.fresh(self._loop.record)
        self._state = self._loop.state()
        self._view = view_of(self._loop, now=now)
        self._settle()
        end = self._pace()
        self._due["view"] = end + REST_TIMES * (end - begin)
        return True

    def _places(self) -> list[str]:
        """The files out of which a view is made, and the folders through which a record moves."""
        loop, here = self._loop, self._loop.shelf
        own = [os.path.join(folder, name) for folder in (loop.kept, loop.folder) for name in _FILES]
        moves = [os.path.join(here.folder, kind) for kind in (shelf.ARMED, shelf.OWNED, shelf.ENDED)]
        return [*own, *moves, os.path.join(here.folder, "approved.json"), *loop.record.paths.values()]

    def _look_at_journal(self) -> list[Activity]:
        fresh = [entry for raw in self._journal.lines() if (entry := journal.entry_of(raw)) is not None]
        for entry in fresh:
            self._burndown.note(entry)
        self._entries += fresh if self._past is None else []
        if fresh:
            self._settle()
        return [told for entry in fresh if (told := told_of(entry)) is not None]

    def _settle(self) -> None:
        if self._view is not None:
            begin, seen = self._view.started_at, self._view.seen_at
            self._burndown.settle(self._view.tasks, begin=begin, seen=seen)

    def _look_at_transcript(self) -> list[Activity]:
        session = (self._holder.session if self._holder else "") or self._state.owner or ""
        session = session or self._loop.record.session or ""
        if session != self._session:
            self._session, self._transcript, self._context = session, None, None
            self._due.pop("search", None)
        if self._transcript is None and self._is_due("search", SEARCH_S):
            path = self._transcript_of(session)
            self._transcript = Tail(path) if path else None
        if self._transcript is None:
            return []
        lines = self._transcript.lines()
        self._has_grown = self._has_grown or bool(lines)
        of_line = client().activity.of_line
        return [_without_secrets(shown) for raw in lines for shown in of_line(raw)]

    def _transcript_of(self, session: str) -> str:
        known, root = self._state.transcripts, self._loop.record.root
        return client().usage.transcript_of(session, root=root, known=known, env=self._env)

    def _count(self, now: float) -> bool:
        """Tokens, dollars and the context; subagents write into files of their own, so time counts too."""
        current = [self._transcript.path] if self._transcript else []
        changed = False
        if (self._has_grown or self._state.live) and self._is_due("spent", SPENT_S):
            counts = self._was_under_way(now)
            known = map(os.path.expanduser, self._state.transcripts)
            paths = dict.fromkeys([*self._before, *known, *current])
            changed = self._tally.read(
                paths if self._has_grown else current, since=iso(self._state.started_at), counts=counts
            )
        if current and self._has_grown and self._is_due("context", CONTEXT_S):
            self._has_grown = False
            before, self._context = self._context, client().usage.context_of(current[0])
            changed = changed or before != self._context
        return changed

    def _was_under_way(self, now: float) -> Callable[[str], bool]:
        """As `status` counts: in the past by the journal, and from then on while the loop is live."""
        state = self._state
        if self._past is None:
            begin = iso(state.started_at) if state.started_at else ""
            parts = account.parts(self._entries, begin=begin, end=iso(now))
            self._past = [(first, last) for _, first, last, _ in parts]
            self._before = account.transcripts_of(self._loop, state, said=self._entries, env=self._env)
            self._entries = []
        past = self._past
        begin = past[-1][0] if past else ""
        last = "9" if state.live else iso(state.seen_at)
        return lambda at: not at or begin <= at <= last or any(a <= at <= b for a, b in past[:-1])

    def frame(self, now: float) -> Frame:
        """What there is to show at this moment; call `poll` before."""
        limits, total, state = self._loop.record.limits, self._tally.total, self._state
        known, holder = self._tally.known, self._holder
        until = worked_until(state, left_at=self._left_at, now=now)
        view = (self._view or view_of(self._loop, now=now))._replace(
            driver=holder.pid if holder else None, beat=self._beat, left_at=self._left_at
        )
        return Frame(
            view=view,
            now=now,
            elapsed_s=elapsed_s(state, until),
            time_limit_s=limits.time_s,
            tokens=total.tokens if known else None,
            cost_usd=total.cost_usd if known else None,
            token_limit=limits.tokens,
            cost_limit_usd=limits.cost_usd,
            unpriced=bool(total.unpriced),
            context=self._context,
            burndown=tuple(
                self._burndown.samples(SPARKS, begin=view.started_at, end=now if view.live else view.seen_at)
            ),
            holder=holder,
            goes_on=view.live or holder is not None or view.waker is not None,
            task=(state.current if holder else "") or view.claimed or view.next or "",
            session=self._session,
            model=(holder.model if holder else "") or (self._context.model if self._context else ""),
            activities=tuple(self._ring),
        )


class Burndown:
    """Keeps when each task was last said to be done, and when it was added."""

    def __init__(self) -> None:
        self._closed: dict[str, float] = {}
        self._added: dict[str, float] = {}
        self._begins: list[float] = []
        self._ends: list[float] = []

    def note(self, entry: journal.Entry) -> None:
        when, event = journal.at(entry), entry["event"]
        for key in ("claimed", "proven") if event == "stop" else ():
            self._closed.update(dict.fromkeys(account.texts(entry, key), when))
        if event in ("claim", "proven", "accept", "skip", "set_aside"):
            self._closed[account.text(entry, "task")] = when
        for name in account.texts(entry, "tasks") if event == "added" else ():
            self._added.setdefault(name, when)

    def settle(self, tasks: Iterable[TaskView], *, begin: float, seen: float) -> None:
        """Take the tasks as they are now: what is closed without a word was closed by the last look."""
        counted = [task for task in tasks if task.state != GIVEN]
        self._begins = sorted(self._added.get(task.id, begin) for task in counted)
        self._ends = sorted(
            self._closed.get(task.id, seen) for task in counted if task.state not in (OPEN, ASKED, CLAIMED)
        )

    def samples(self, count: int, *, begin: float, end: float) -> list[int]:
        """The open tasks at `count` moments, the first at the begin and the last now."""
        step = max(0.0, end - begin) / max(1, count - 1)
        moments = [begin + step * place for place in range(count - 1)]
        return [self._open(moment) for moment in moments] + [len(self._begins) - len(self._ends)]

    def _open(self, moment: float) -> int:
        return bisect_right(self._begins, moment) - bisect_right(self._ends, moment)


class Tally:
    """Each message once, also where a session that goes on under another id repeats the older one's lines."""

    def __init__(self) -> None:
        self.total = Share()
        self._meter = client().usage.Meter(exact=True)

    @property
    def known(self) -> bool:
        """Whether there was a transcript to count in."""
        return any(map(os.path.isfile, self._meter.transcripts))

    def read(self, paths: Iterable[str], *, since: str, counts: Callable[[str], bool]) -> bool:
        """Count what is new; `counts` says of a time stamp whether the loop was under way then."""
        before, cost_usd = self.total.tokens, client().usage.cost_usd
        for path in paths:
            for charge in self._meter.read(path, since=since):
                if counts(charge.at):
                    self.total.add(charge, cost_usd(charge))
        return self.total.tokens != before


def _without_secrets(shown: Activity) -> Activity:
    """What the service answers to a wrong key may hold the key."""
    return shown._replace(lines=tuple(map(masked, shown.lines))) if shown.kind == ERROR else shown


def _said(holder: supervisor.Holder | None) -> object:
    return None if holder is None else holder.to_json()


def told_of(entry: journal.Entry) -> Activity | None:
    """A decision as a line of the stream; None for what goes on as usual."""
    event = entry["event"]
    if event not in _SHOWN and not (event == "stop" and (entry.get("outcome") or entry.get("refused"))):
        return None
    return Activity(FAILED if event in _BAD else LOOP, (plain(journal.sentence(entry)),), journal.at(entry))


class Tail:
    """Whole lines since the last look; the first look takes the file's end only. A file that moves to
    `older` when it is too long is read to its end there first."""

    def __init__(self, path: str, *, first_max: int = FIRST_MAX, older: str = "") -> None:
        self.path = path
        self._older = older
        self._read_to_end = -1  # the older file's inode
        self._first_max = first_max
        self._inode = -1
        self._at = 0
        self._last = b""  # the byte before `_at`, by which a file that was written anew shows
        self._rest = b""
        self._skips = False  # within a line that is too long, or that began before the first look

    def lines(self) -> list[bytes]:
        """One stat call where nothing is new. A missing file has no lines, and may come back."""
        try:
            found = os.stat(self.path)
        except (OSError, ValueError):
            return self._left_in_older()
        if found.st_ino == self._inode and found.st_size == self._at:
            return []
        if not stat.S_ISREG(found.st_mode):
            return []
        try:
            return self._read()
        except OSError:
            return []

    def _read(self) -> list[bytes]:
        handle = os.open(self.path, _FLAGS)
        try:
            found = os.fstat(handle)
            before = self._left_in_older() if found.st_ino != self._inode else []
            if found.st_ino != self._inode or not self._goes_on(handle, found.st_size):
                self._begin(found)
            os.lseek(handle, self._at, os.SEEK_SET)
            data = os.read(handle, min(STEP_MAX, found.st_size - self._at))
        finally:
            os.close(handle)
        return before + self._take(data) if data else before

    def _left_in_older(self) -> list[bytes]:
        if not self._older:
            return []
        try:
            with open(self._older, "rb", opener=lambda path, _: os.open(path, _FLAGS)) as file:
                found = os.fstat(file.fileno())
                if found.st_ino == self._read_to_end or not stat.S_ISREG(found.st_mode):
                    return []
                self._read_to_end = found.st_ino
                if found.st_ino != self._inode:
                    self._begin(found)
                if found.st_size - self._at > OLDER_MAX:
                    self._at, self._rest, self._skips = found.st_size - OLDER_MAX, b"", True
                file.seek(self._at)
                return self._take(file.read(OLDER_MAX))
        except OSError:
            return []

    def _goes_on(self, handle: int, size: int) -> bool:
        if size < self._at:
            return False
        if not self._at:
            return True
        os.lseek(handle, self._at - 1, os.SEEK_SET)
        return os.read(handle, 1) == self._last

    def _begin(self, found: os.stat_result) -> None:
        self._inode = found.st_ino
        self._at = max(0, found.st_size - self._first_max)
        self._rest, self._skips = b"", self._at > 0

    def _take(self, data: bytes) -> list[bytes]:
        self._at += len(data)
        self._last = data[-1:]
        *whole, rest = data.split(b"\n")
        if whole:
            first = [] if self._skips else [self._rest + whole[0]]
            whole, self._rest, self._skips = [*first, *whole[1:]], rest, False
        elif not self._skips:
            self._rest += rest
        if len(self._rest) > LINE_MAX:
            self._rest, self._skips = b"", True
        return whole

"""The words of the model: tasks, counters, events, and what a look at a list finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RUNNING, WAITING, PAUSED, ENDED = "running", "waiting", "paused", "ended"
LIVE = (RUNNING, WAITING)
CLOSED = ("given", "unverified", "proven", "vouched")
FINAL = ("complete", "cancelled")
GOOD, CORRUPT, GONE = "good", "corrupt", "gone"
ATTEMPTS, STILL, REPLIES, HOURS_S, NEAR_EMPTY = 5, 3, 3, 8 * 3600.0, 20
CAP = 8  # plain replies in a row after which the client ends the turn itself
OWN, EVIL = "own", "evil"  # a check of the list as it was started, and one that the agent added


@dataclass
class Task:
    """One task: what its file says, what the loop knows of it, and what the agent did to its criteria."""

    id: str
    check: str = ""
    done: bool = False
    known: str = ""
    was: str = ""
    asked: bool = False
    answered: bool = False
    is_pinned: bool = False
    pinned_done: bool = False
    is_gone: bool = False
    is_renamed: bool = False

    @property
    def state(self) -> str:
        if self.done:
            return self.known if self.known in CLOSED else "claimed" if self.check else "unverified"
        if self.known in ("vouched", "skipped", "set_aside"):
            return self.known
        return "asked" if self.asked and not self.answered else "open"

    def reopen(self) -> None:
        self.known, self.was = self.was, ""


@dataclass
class Counters:
    """The part of a loop that a decision moves as a whole, or not at all."""

    state: str = RUNNING
    outcome: str | None = None
    iteration: int = 1
    attempts: dict[str, int] = field(default_factory=dict)
    no_progress: int = 0
    reply: str = ""
    same: int = 0
    empty: int = 0
    quiet: int = 0
    current: str = ""
    tasks_seen: Any = None
    files_seen: int = -1
    pending: str = ""
    worked: bool = False
    told: tuple[str, ...] = ()
    restored: bool = False
    elapsed_s: float = 0.0
    seen_at: float = 0.0
    since: float = 0.0

    def run(self) -> None:
        self.state, self.outcome = RUNNING, None


@dataclass(frozen=True)
class Event:
    """One stop of the owner."""

    reply: str
    prompt: str
    active: bool
    now: float
    background: str = ""
    counted: int = 0  # what the state file of a spec counts, and its last good copy
    counted_before: int = 0


@dataclass(frozen=True)
class Answer:
    """What the client hears, and whether anything of it is written."""

    blocks: bool = False
    next: str = ""
    writes: bool = True


@dataclass(frozen=True)
class Need:
    restore: bool = False
    once: bool = False
    checks: str = ""
    aside: str = ""
    tried: int = 0


@dataclass
class Results:
    refused: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # of these, what the loop goes on without
    waiting: list[str] = field(default_factory=list)
    final: bool = False


@dataclass
class Work:
    """What a look at the list finds."""

    tasks: list[Task]
    seen: int  # the version of the file that was looked at
    is_sequential: bool

    def in_state(self, *states: str) -> list[Task]:
        return [task for task in self.tasks if task.state in states]

    @property
    def next(self) -> str:
        for task in self.in_state("open", "asked"):
            if task.state == "open":
                return task.id
            if self.is_sequential:
                return ""
        return ""

    @property
    def is_complete(self) -> bool:
        return bool(self.in_state(*CLOSED)) and not self.in_state("open", "asked", "claimed", "set_aside")

    @property
    def digest(self) -> tuple[Any, ...]:
        is_open = [task.id for task in self.in_state("open", "asked")]
        closed = len(self.in_state(*CLOSED, "claimed"))
        return closed, len(self.in_state("set_aside", "skipped")), len(self.tasks), tuple(is_open)

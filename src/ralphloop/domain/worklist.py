"""The part of a task list that a decision needs: what is closed, what is next, what waits for the person."""

from __future__ import annotations

from ralphloop.domain.model import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Item(Fields):
    """A task that can be worked on now, with all that a prompt says about it."""

    id: str
    title: str
    place: int
    body: str
    steps: list[str]
    marks: list[str]
    model: str
    verify: list[str]
    question: str
    answer: str

    # the same again, because the bundle has no annotations
    NAMES = ("answer", "body", "id", "marks", "model", "place", "question", "steps", "title", "verify")


class Worklist(Fields):
    """The part of a task list that a decision needs; small, whatever the list's size."""

    total: int
    closed: int
    claimed: int
    proven: int
    given: int
    vouched: int
    checkable: bool
    open_total: int
    open_ids: list[str]
    next: list[Item]
    ready: int  # tasks that can be worked on now
    asked: list[list[str]]
    stuck: list[list[str]]
    set_aside: list[list[str]]  # with why
    skipped: int
    phase: str
    quick: bool
    awaiting_approval: bool
    sequential: bool
    index: int
    iteration: int
    max_attempts: int
    epic: str

    NAMES = (
        "asked", "awaiting_approval", "checkable", "claimed", "closed", "epic", "given", "index", "iteration",
        "max_attempts", "next", "open_ids", "open_total", "phase", "proven", "quick", "ready", "sequential",
        "set_aside", "skipped", "stuck", "total", "vouched",
    )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "next": [vars(item) for item in self.next]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Worklist:
        """KeyError if something is missing, as in what another version kept."""
        work = cls(**{name: data[name] for name in cls.NAMES})
        work.next = [Item(**{name: item[name] for name in Item.NAMES}) for item in data["next"]]
        return work

    @property
    def complete(self) -> bool:
        return self.closed > 0 and not (self.open_total or self.claimed or self.set_aside)

    @property
    def unverified(self) -> int:
        """Tasks that are closed by the agent's word alone."""
        return self.closed - self.proven - self.given - self.vouched

    @property
    def digest(self) -> str:
        aside = len(self.set_aside) + self.skipped
        counts = (self.closed + self.claimed, aside, self.total, ",".join(self.open_ids))
        return "%d/%d/%d:%s" % counts

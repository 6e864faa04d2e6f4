"""When a session that `run` drives has done its share, and the next one takes over."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ralphloop.domain.model import LoopState
    from ralphloop.domain.worklist import Item, Worklist

REGISTRATION = "run"  # the name under which a supervisor registers the hook of its sessions
MARK = "usual_model"  # a field of these terms, and a word that no record without them has


class Supervision:
    """The terms of the session that a supervisor has started; its loop has them as long as it drives it."""

    batch: int  # tasks for one session, 0 for no limit
    branch: str  # closed tasks are committed on it; empty for no commits
    context: float  # share of the context window that a session may fill, 0 for all of it
    model: str  # the session's own
    usual_model: str  # where neither the task nor the list names one

    DEFAULTS: dict[str, Any] = {"batch": 0, "branch": "", "context": 0.0, "model": "", MARK: ""}
    __slots__ = tuple(DEFAULTS)

    def __init__(self, **values: Any) -> None:
        for name, default in self.DEFAULTS.items():
            setattr(self, name, values.get(name, default))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Any) -> Optional[Supervision]:
        """None for what is no such object; a value of the wrong type is left out."""
        if not isinstance(data, dict):
            return None
        return cls(
            **{
                name: data[name]
                for name, usual in cls.DEFAULTS.items()
                if type(data.get(name)) is type(usual)
            }
        )

    def model_for(self, item: Item) -> str:
        return item.model or self.usual_model


def share_done(terms: Supervision, loop: LoopState, work: Worklist, *, fullness: Optional[float]) -> str:
    """Why the next task is another session's, or nothing. A task is finished in the session that began it,
    unless that has no room left."""
    if fullness is not None and terms.context and fullness >= terms.context:
        return "the context is %d %% full" % (100 * fullness)
    if not work.next:
        return ""
    model = terms.model_for(work.next[0])
    if model != terms.model:
        return "task %s is for %s" % (work.next[0].id, model or "the client's own model")
    new = [item.id for item in work.next if item.id not in loop.batch]
    if terms.batch and new and loop.batch and len(loop.batch) + len(new) > terms.batch:
        return "%d of %d tasks were this session's" % (len(loop.batch), terms.batch)
    return ""

"""The terms under which `run` drives the sessions of a loop."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ralphloop.domain.worklist import Item

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

"""What a run was asked for: how its sessions are started, and how patient it is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ralphloop.agents.registry import USUAL


@dataclass(frozen=True)
class Terms:
    agent: str = USUAL
    batch: int = 0  # tasks for one session, 0 for no limit
    model: str = ""
    fallback_model: str = ""
    permission_mode: str = ""
    idle_s: float = 20 * 60.0
    context: float = 0.7  # share of the context window after which a session hands over, 0 for never
    branch: str = ""  # commits go there; empty for none
    margin_s: float = 60.0
    backoff_s: float = 30.0
    session: str = ""  # the first one's, if the loop was begun for it
    stays: bool = False  # a paused loop waits for its person, who is at the terminal
    detached: bool = False

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Terms:
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

"""What a run was asked for: how its sessions are started, by which program, and how patient it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Terms:
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})


def program_at(name: str, env: Mapping[str, str]) -> str | None:
    """Where the program is; a folder that is named from where we stand may be anybody's."""
    folders = [folder for folder in (env.get("PATH") or "").split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which(name, path=os.pathsep.join(folders))

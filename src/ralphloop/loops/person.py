"""Refuses inside a coding agent's tools what only the person may do."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.agents.presence import agent_in
from ralphloop.errors import UserError


def require_person(env: Mapping[str, str], what: str) -> None:
    client = agent_in(env)
    if client:
        raise UserError(
            f"{what} is the person's to decide, and this runs inside {client}; "
            "the person must run it in their own terminal, or type its slash command where there is one."
        )

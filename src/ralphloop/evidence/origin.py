"""Who asked for a check: the client and the model that a session runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralphloop.agents.registry import client


class Origin(NamedTuple):
    """Who asked for a check, as the evidence says it."""

    kind: str  # claim, done, final or manual
    client: str = ""
    model: str = ""
    session: str | None = None


def of_session(kind: str, session: str | None, *, transcript: str, env: Mapping[str, str]) -> Origin:
    model = client().usage.model_of(transcript) if transcript else ""
    return Origin(kind, client_in(env), model, session)


def client_in(env: Mapping[str, str]) -> str:
    """`name 2.1.325`, from what a client calls itself."""
    name, _, rest = env.get("AI_AGENT", "")[:80].partition("_")
    version = rest.partition("_")[0].replace("-", ".")
    return f"{name} {version}".strip()

"""What the hook must know of a client: the functions of its one hot module, which `Call.client` names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Mapping, Optional, Protocol

    from ralphloop.domain.model import Turn

    class Reader(Protocol):
        """A module that has these reads a client's payloads and transcripts; `engine/claude.py` is one."""

        def normal(self, payload: dict[str, Any], env: Mapping[str, str]) -> Optional[dict[str, Any]]:
            """A payload in Claude Code's names and events; None for what is no loop's matter: another
            client's, or an event of a client's own that no hook of ours answers."""

        def read_turn(
            self, path: str, *, start: int, since: str, want_reply: bool = ..., after_denials: bool = ...
        ) -> Turn:
            """What a transcript tells of the turn since the last stop."""

        def opening(self, path: str) -> tuple[str, str]:
            """When a session began and what it was first asked."""

        def tool_calls(self, path: str, marker: str) -> Iterator[tuple[str, dict[str, Any]]]:
            """Time and input of the tool calls that name `marker`."""

        def await_reply(self, path: str, reply: Optional[str]) -> None:
            """Give the client a moment to write this reply down."""

        def was_scheduled(self, path: str, text: str) -> bool:
            """Whether the agent, and no person, had a prompt with this text sent."""

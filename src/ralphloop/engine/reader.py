"""What the hook must know of a client: what its one hot module has, the `client` of every `Call`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Mapping, Optional, Protocol

    from ralphloop.domain.model import Turn

    class Reader(Protocol):
        """Reads a client's payloads and transcripts; `Call` names the usual one."""

        # The payload in the usual client's names and events; None for what no hook of ours must answer.
        def normal(self, payload: dict[str, Any], env: Mapping[str, str]) -> Optional[dict[str, Any]]: ...
        # What a transcript tells of the turn since the last stop.
        def read_turn(
            self, path: str, *, start: int, since: str, want_reply: bool = ..., after_denials: bool = ...
        ) -> Turn: ...
        # When the session began, and what it was first asked.
        def opening(self, path: str) -> tuple[str, str]: ...
        # Time and input of the tool calls that name `marker`.
        def tool_calls(self, path: str, marker: str) -> Iterator[tuple[str, dict[str, Any]]]: ...
        # Give the client a moment to write this reply down.
        def await_reply(self, path: str, reply: Optional[str]) -> None: ...
        # Whether the agent, and no person, had a prompt with this text sent.
        def was_scheduled(self, path: str, text: str) -> bool: ...

"""A conversation with the real client, prompt by prompt, as a person has it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from e2e.client import ClientHome, Conversation, PrintRun
from e2e.looping import Outside, plugin
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, text

if TYPE_CHECKING:
    from typing import Self


@dataclass
class Talk:
    """One session of the client, prompt by prompt, with the rights that a person has by default.

    A context manager that starts the client and ends it.
    """

    home: ClientHome
    root: Path
    plugins: Sequence[Path] = field(default_factory=lambda: [plugin("ralphloop")])
    mode: str = "acceptEdits"
    env: Mapping[str, str] = field(default_factory=dict)
    session: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __enter__(self) -> Self:
        self._open = ExitStack()
        self._left: Iterator[Reply] = iter(())
        self._server = self._open.enter_context(ModelServer(self._answer))
        options = {"plugin_dirs": self.plugins, "permission_mode": self.mode, "session_id": self.session}
        self._client = self._open.enter_context(
            Conversation(self.home, self.root, self._server, env=self.env, **options)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _answer(self, _request: ModelRequest) -> Reply:
        return next(self._left, text("Nothing is left to be said."))

    def say(self, prompt: str, *script: Reply) -> tuple[PrintRun, list[ModelRequest]]:
        """What came of this prompt, and what the model was asked meanwhile."""
        asked, self._left = len(self._server.main_requests), iter(script)
        run = self._client.say(prompt)
        assert self.outside.errors() == ""
        return run, self._server.main_requests[asked:]

    @property
    def outside(self) -> Outside:
        return Outside(self.home, self.root)

    @property
    def ending(self) -> tuple[str, str | None]:
        return self.outside.loop["state"], self.outside.loop["outcome"]

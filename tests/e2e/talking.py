"""A conversation with the real client, prompt by prompt, as a person has it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.client import ClientHome, PrintRun, run_print
from e2e.looping import Outside, plugin
from ralphloop.testing.messages_api import ModelRequest
from ralphloop.testing.model_server import ModelServer
from ralphloop.testing.reply import Reply


@dataclass
class Talk:
    """One session of the client, prompt by prompt, with the rights that a person has by default."""

    home: ClientHome
    root: Path
    plugins: Sequence[Path] = field(default_factory=lambda: [plugin("ralphloop")])
    mode: str = "acceptEdits"
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    begun: bool = False

    def say(self, prompt: str, *script: Reply, **env: str) -> tuple[PrintRun, list[ModelRequest]]:
        option: dict[str, Any] = (
            {"args": ("--resume", self.session)} if self.begun else {"session_id": self.session}
        )
        self.begun = True
        with ModelServer(script, default="Nothing is left to be said.") as server:
            run = run_print(
                self.home, self.root, prompt, server,
                plugin_dirs=self.plugins, permission_mode=self.mode, env=env, **option,
            )  # fmt: skip
        assert self.outside.errors() == ""
        return run, server.main_requests

    @property
    def outside(self) -> Outside:
        return Outside(self.home, self.root)

    @property
    def ending(self) -> tuple[str, str | None]:
        return self.outside.loop["state"], self.outside.loop["outcome"]

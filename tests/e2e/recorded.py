"""Recorded stops for tests: a project whose loop is recorded, and transcripts for its session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.cli_project import SESSION, Done, Project


class RecordedProject(Project):
    """A project in which recording is on, with a transcript of its session."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.turns = 0

    def transcript(self, session: str = SESSION) -> Path:
        return self.home / f"{session}.jsonl"

    def add(self, entry: dict[str, Any], session: str = SESSION) -> None:
        with self.transcript(session).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")

    def asked(self, text: str, session: str = SESSION) -> None:
        self.add(
            {"type": "user", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"content": text}}, session
        )

    def called(self, name: str, session: str = SESSION, **given: Any) -> None:
        block = {"type": "tool_use", "id": "t", "name": name, "input": given}
        message = {"role": "assistant", "content": [block]}
        self.add({"type": "assistant", "timestamp": "2036-01-01T00:00:00.000Z", "message": message}, session)

    def turn(self, session: str = SESSION, *, works: bool = True, **payload: Any) -> dict[str, Any] | None:
        """One turn of a session and the stop at its end."""
        self.turns += 1
        if works:
            self.called("Bash", session, command="true")
        said = {"last_assistant_message": f"Turn {self.turns} is over.", "prompt_id": "p1", **payload}
        return self.stop(session, transcript_path=str(self.transcript(session)), **said)

    def records(self) -> list[dict[str, Any]]:
        found = json.loads(self.fine("record", "list", "--json"))["records"]
        assert isinstance(found, list)
        return found

    def again(self, which: str | int) -> tuple[int, dict[str, Any]]:
        """The recorded stop explained, after showing that every file stayed as it was."""
        before = self.digest()
        done = self.run("explain", "--record", str(which), "--json")
        assert done.err == "", done
        assert self.digest() == before
        return done.code, done.data

    def suite(self) -> Path:
        return self.folder / "suite"

    def make_case(self, number: int) -> Path:
        path = self.suite() / "cases" / "recorded" / f"stop-{number}.toml"
        self.fine("record", "case", str(number), "--out", str(path))
        return path

    def play(self, *names: str) -> Done:
        only = [word for name in names for word in ("--only", f"*{name}")]
        return self.run("conformance", "--cases", str(self.suite()), "--json", *only)

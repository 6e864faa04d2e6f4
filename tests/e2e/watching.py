"""A loop with everything to look at: armed by the real command line, its session's files written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.cli_project import SESSION, Project
from e2e.screen import CommandScreen
from ralphloop.store.loop import iso

T0 = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
NOW = T0 + 754
MODEL = "claude-opus-4-5"

JOURNAL: list[tuple[float, dict[str, Any]]] = [
    (0, {"event": "arm", "session": SESSION, "task": "F1"}),
    (300, {"event": "claim", "task": "F1", "by": "agent"}),
    (301, {"event": "proven", "task": "F1", "evidence": "e1"}),
    (302, {"event": "stop", "decision": "continue", "rule": "go_on", "state": "running", "iteration": 2,
           "task": "F2", "claimed": ["F1"], "proven": ["F1"], "session": SESSION}),
]  # fmt: skip
FEEDBACK = "Stop hook feedback:\nLoop shop, iteration 2 of 15: go on with task F2 (2/4).\n\nDo it."


class Watched:
    """One project with the loop `shop`; time stands still at NOW."""

    def __init__(self, folder: Path, *, tasks: int = 4) -> None:
        self.project = Project(folder)
        self.project.begin("shop", tasks=tasks)
        self.env = {"RALPHLOOP_CLOCK": str(NOW), "TZ": "UTC"}
        folder_name = "".join(ch if ch.isalnum() else "-" for ch in str(self.project.root))
        self.transcript = self.project.home / ".claude/projects" / folder_name / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.transcript.touch()
        self.run_folder = next((self.project.root / ".ralph/run").glob("*/journal.jsonl")).parent
        self.journal = self.run_folder / "journal.jsonl"
        self.journal.write_text("")
        self.set_state(started_at=T0, seen_at=T0 + 302, elapsed_s=302.0, iteration=2, current="F2")

    def set_state(self, **values: Any) -> None:
        for file in [*self.project.root.rglob("loop.json"), *self.project.home.rglob("loop.json")]:
            state = json.loads(file.read_text(encoding="utf-8"))
            file.write_text(json.dumps({**state, **values}), encoding="utf-8")

    def prove(self, *ids: str) -> None:
        """As a check that was green leaves it."""
        listed = self.project.root / ".ralph/loops/shop/feature_list.json"
        data = json.loads(listed.read_text())
        for feature in data["features"]:
            feature["passes"] = feature["passes"] or feature["id"] in ids
        listed.write_text(json.dumps(data, indent=2))
        for file in [*self.project.root.rglob("ledger.json"), *self.project.home.rglob("ledger.json")]:
            ledger = json.loads(file.read_text(encoding="utf-8"))
            for name in ids:
                ledger["tasks"].setdefault(name, {})["state"] = "proven"
            file.write_text(json.dumps(ledger), encoding="utf-8")

    def note(self, seconds: float, **entry: Any) -> None:
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"at": iso(T0 + seconds), **entry}) + "\n")

    def log(self, seconds: float, kind: str, **fields: Any) -> None:
        entry = {"type": kind, "timestamp": iso(T0 + seconds), "cwd": str(self.project.root), **fields}
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def say(self, seconds: float, *blocks: dict[str, Any], model: str = MODEL, context: int = 82_000) -> None:
        usage = {"input_tokens": 900, "cache_read_input_tokens": context - 1000, "output_tokens": 100}
        message = {"id": f"msg_{seconds}", "model": model, "content": list(blocks), "usage": usage}
        self.log(seconds, "assistant", message=message)

    def fill(self) -> Watched:
        """The session of the pictures."""
        for seconds, entry in JOURNAL:
            self.note(seconds, **entry)
        self.prove("F1")
        self.say(100, text("I begin with the cart.\n\nIt keeps its items after a reload."))
        self.say(120, call("Write", file_path=str(self.project.root / "cart.py"), content=CART))
        self.log(302, "user", isMeta=True, message={"role": "user", "content": FEEDBACK})
        self.say(320, call("Bash", command="pytest -q tests/test_checkout.py", description="run the tests"))
        failed = {"type": "tool_result", "is_error": True, "content": "Exit code 1\n2 failed"}
        self.log(330, "user", message={"role": "user", "content": [failed]})
        edit = {
            "old_string": "def total():\n    return 0\n",
            "new_string": "def total():\n    return self.sum\n",
        }
        self.say(340, call("Edit", file_path=str(self.project.root / "cart.py"), **edit))
        self.say(
            350, text("The sum was never taken. Now it is, and the checkout page shows it with the tax.")
        )
        return self

    def watch(self, *words: str, **options: Any) -> CommandScreen:
        return self.screen(self.project.argv("watch", *words), **options)

    def screen(
        self, argv: list[str], *, env: Mapping[str, str] | None = None, **options: Any
    ) -> CommandScreen:
        given = self.project.env({**self.env, **(env or {})})
        return CommandScreen(argv, cwd=self.project.root, env=given, **options)


CART = "class Cart:\n    def __init__(self):\n        self.items = []\n"


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": given}


def picture(drawn: str, columns: int, rows: int) -> list[str]:
    """A screen written down in a test: every cell, missing ones blank."""
    lines = drawn.strip("\n").split("\n")
    return [line.ljust(columns) for line in [*lines, *[""] * (rows - len(lines))]]

"""A loop on disk whose files a test writes by hand, and frames made from nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ralphloop.agents.transcript import Activity
from ralphloop.domain.model import Limits, LoopState
from ralphloop.store.loop import LoopFiles, iso
from ralphloop.store.shelf import OWNED, Record, Shelf
from ralphloop.store.supervisor import Holder
from ralphloop.views.live.feed import Frame
from ralphloop.views.snapshot import LoopView, TaskView
from unit.layouts import FEATURES

T0 = 1_800_000_000.0
SESSION = "s-1"
MODEL = "claude-opus-4-5"


class Looked:
    """A features loop with three tasks, owned by one session."""

    def __init__(self, folder: Path, **limits: Any) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.env = {"HOME": str(self.home), "XDG_STATE_HOME": str(folder / "state")}
        self.root.mkdir()
        self.list([False, False, False])
        self.shelf = Shelf(str(self.root), self.env)
        self.record = Record(
            "L1", layout=FEATURES, name="shop", root=str(self.root), paths={"list": str(self._list)},
            limits=Limits(**limits), armed_at=iso(T0), session=SESSION,
        )  # fmt: skip
        self.written = LoopFiles(self.record, self.shelf)
        self.written.make()
        self.shelf.put(self.record, OWNED)
        self.state = LoopState(
            id="L1", state="running", owner=SESSION, started_at=T0, seen_at=T0, iteration=1, current="F1"
        )
        self.save()
        self.loop = LoopFiles(self.record, self.shelf, writes=False)
        self.transcript = self.home / ".claude/projects/-p" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)

    @property
    def _list(self) -> Path:
        return self.root / "feature_list.json"

    def list(self, done: list[bool]) -> None:
        tasks = [
            {"id": f"F{n}", "description": f"Task {n}", "passes": is_done}
            for n, is_done in enumerate(done, 1)
        ]
        self._list.write_text(json.dumps(tasks))

    def save(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self.state, name, value)
        self.written.save(self.state)

    def note(self, seconds: float, event: str, **facts: Any) -> None:
        with open(self.written.path("journal.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps({"at": iso(T0 + seconds), "event": event, **facts}) + "\n")

    def say(
        self, seconds: float, text: str, *, output: int = 100, file: Path | None = None, **usage: int
    ) -> None:
        used = {"input_tokens": 0, "output_tokens": output, **usage}
        content = [{"type": "text", "text": text}]
        message = {"id": f"m{seconds}", "model": MODEL, "content": content, "usage": used}
        entry = {"type": "assistant", "timestamp": iso(T0 + seconds), "message": message}
        place = file or self.transcript
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder: its time and its content."""
    found = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = Path(top) / name
            found[str(path)] = (path.stat().st_mtime_ns, path.read_bytes())
    return found


def task(number: int, state: str = "open", **values: Any) -> TaskView:
    known = {"id": f"F{number}", "title": f"Task {number}", "state": state, "attempts": 0, "question": ""}
    return TaskView(**{**known, **values})


def view(**values: Any) -> LoopView:
    known: dict[str, Any] = dict.fromkeys(LoopView._fields)
    known |= LoopView._field_defaults
    known |= {
        "id": "L1", "name": "shop", "layout": "features", "root": "/p", "path": "/p/feature_list.json",
        "state": "running", "detail": "", "requested": "", "edited": False, "iteration": 3,
        "max_iterations": 30, "done": 1, "total": 3, "next": "F2", "owner": SESSION, "started_at": T0,
        "seen_at": T0 + 60, "fault": "", "tasks": (task(1, "proven"), task(2, attempts=2), task(3)),
    }  # fmt: skip
    return LoopView(**{**known, **values})


def frame(*, holder: Holder | None = None, seen: LoopView | None = None, **values: Any) -> Frame:
    lines = values.pop("activities", ())
    known: dict[str, Any] = {
        "view": seen or view(), "now": T0 + 120, "elapsed_s": 120.0, "time_limit_s": 8 * 3600.0,
        "tokens": 1234, "cost_usd": 0.5, "token_limit": 0, "cost_limit_usd": 0.0, "unpriced": False,
        "context": None,
        "burndown": (3, 3, 2, 2), "holder": holder, "goes_on": True, "task": "F2", "session": SESSION,
        "model": MODEL, "activities": tuple(enumerate(lines, 1)),
    }  # fmt: skip
    return Frame(**{**known, **values})


def said(text: str, kind: str = "text") -> Activity:
    return Activity(kind, tuple(text.split("\n")), T0)

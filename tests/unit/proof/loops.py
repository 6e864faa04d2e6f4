"""A loop over a list with checks, without a session: what a stop would prove of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ralphloop.domain.model import CLAIMS, LoopState
from ralphloop.proof import check_record
from ralphloop.proof.checker import Origin
from ralphloop.proof.prove import Prover
from ralphloop.store import approvals, pins, tasks
from unit.store.conftest import Project

ENV = {"PATH": os.environ["PATH"]}


def task(name: str, *commands: str, passes: bool = True, **fields) -> dict:
    """A feature that is claimed, unless said otherwise."""
    verify = {"verify": list(commands)} if commands else {}
    return {"id": name, "description": f"Do {name}", "passes": passes, **verify, **fields}


class Checked:
    """A loop whose checks are approved, and its state."""

    def __init__(self, folder: Path) -> None:
        (folder / "project").mkdir()
        self.project = Project(folder)
        self.root = Path(self.project.root)
        self.state = LoopState(id="L1", layout="features", name="demo", state="running", iteration=3)

    def begin(self, *features: dict, approve: bool = True, **shared) -> Checked:
        self.write(*features, **shared)
        self.loop = self.project.loop()
        pins.pin(self.loop, tasks.read_source(self.loop.record)[1])
        if approve:
            self.approve()
        return self

    def write(self, *features: dict, **shared) -> None:
        self.project.write("feature_list.json", json.dumps({**shared, "features": list(features)}))

    def approve(self) -> None:
        listed = tasks.parse_source(self.loop.record)
        approvals.approve(self.project.shelf, approvals.unapproved(self.project.shelf, listed), by="terminal")

    def prover(self, **options) -> Prover:
        values = {"cwd": str(self.root), "env": ENV, "origin": Origin("claim"), **options}
        return Prover(self.loop, **values)

    def prove(self, need: str = CLAIMS, *, same_round: bool = False, **options) -> Prover:
        """Plan, run and settle, as one stop does."""
        prover = self.prover(**options)
        prover.plan(need, self.state, same_round=same_round)
        prover.run()
        prover.settle(self.state)
        return prover

    def took(self, command: str, duration_s: float) -> None:
        """Note how long a command took when it was last run."""
        facts = {"at": "", "tasks": ["F0"], "command": command, "green": True, "duration_s": duration_s}
        check_record.add(self.loop, {**facts, "kind": "manual"})

    def ran(self, kind: str = "") -> list[str]:
        """The commands that were run, oldest first."""
        found = [entry for entry in check_record.entries(self.loop) if entry.kind != "manual"]
        return [entry.command for entry in found if not kind or entry.kind == kind]

    def passes(self) -> list[str]:
        features = json.loads((self.root / "feature_list.json").read_text())["features"]
        return [feature["id"] for feature in features if feature["passes"] is True]

    def known(self, name: str) -> dict[str, str]:
        return self.loop.load_ledger().tasks.get(name, {})

    def note(self, name: str, **facts: str) -> None:
        ledger = self.loop.load_ledger()
        ledger.note(name, **facts)
        self.loop.save_ledger(ledger)

    def journal(self, event: str) -> list[dict]:
        lines = Path(self.loop.path("journal.jsonl")).read_text().splitlines()
        return [row for row in map(json.loads, lines) if row["event"] == event]

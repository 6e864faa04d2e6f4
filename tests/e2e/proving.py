"""Loops whose tasks have checks: their files, a session in the client that works on one, and what is left."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.client import PrintRun, run_print
from e2e.looping import Outside, plugin
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply

LIST = ".ralph/loops/demo/feature_list.json"
CHECK = "tests/check.sh"
# Says what is missing, so that a refusal has an output to show.
CHECK_TEXT = 'test -f "made-$1" || { echo "made-$1 is missing"; exit 1; }\n'


def verify(number: int) -> str:
    return f"sh {CHECK} {number}"


def feature(number: int, **fields: Any) -> dict[str, Any]:
    listed = {"id": f"F{number}", "description": f"Make file {number}", "passes": False}
    return {**listed, "verify": verify(number), **fields}


def checked(*features: dict[str, Any], **shared: Any) -> dict[str, str]:
    """A project with a list of features, and the script that checks them."""
    return {
        LIST: json.dumps({**shared, "features": list(features)}, indent=2),
        ".ralph/loops/demo/progress.txt": "Status: NOT_STARTED\nIteration: 1\n",
        CHECK: CHECK_TEXT,
    }


def rewrite(change: str) -> str:
    """A command that loads the list, changes its `features`, and writes it back."""
    code = f"""
import json
listed = json.load(open("{LIST}"))
features = listed["features"]
{change}
json.dump(listed, open("{LIST}", "w"), indent=2)
"""
    return f"python3 - <<'END'{code}END"


def claim(*ids: str) -> str:
    """A command that says of these features that they pass."""
    return rewrite(f"for one in features: one['passes'] |= one['id'] in {ids}")


@dataclass(frozen=True)
class Played:
    """A session that is over: the loop it worked on, and what the model got to see."""

    outside: Outside
    requests: list[ModelRequest]
    run: PrintRun

    @property
    def ending(self) -> tuple[str, str | None]:
        return self.outside.loop["state"], self.outside.loop["outcome"]

    def told(self, fragment: str) -> list[bool]:
        """For each request, whether something new in it says this; a command's sentences come folded."""
        new = [[said.replace("\n  ", " ") for said in request.new_texts] for request in self.requests]
        return [any(fragment in said for said in texts) for texts in new]


@dataclass(frozen=True)
class Bench:
    """A project with checks, in which a scripted session takes place."""

    outside: Outside

    @property
    def root(self) -> Path:
        return self.outside.root

    def start(self, *flags: str) -> str:
        session = str(uuid.uuid4())
        self.outside.ralphloop("start", "--session", session, *flags)
        return session

    def play(self, script: Sequence[Reply], *flags: str, layout: str = "ralphloop") -> Played:
        """Start the loop, its checks approved, and let its session run to the end."""
        return self.go(script, self.start("--yes", *flags), layout=layout)

    def go(
        self,
        script: Sequence[Reply],
        session: str,
        *,
        prompt: str = "begin",
        layout: str = "ralphloop",
        again: bool = False,
    ) -> Played:
        """One prompt to the session that owns the loop; `again` for one that has had a prompt before."""
        option = {"args": ("--resume", session)} if again else {"session_id": session}
        with ModelServer(script, default="Nothing is left to be said.") as server:
            run = run_print(
                self.outside.home, self.root, prompt, server, plugin_dirs=[plugin(layout)], **option
            )
        assert self.outside.errors() == ""
        return Played(self.outside, server.main_requests, run)

    def features(self) -> dict[str, dict[str, Any]]:
        listed = json.loads((self.root / LIST).read_text())["features"]
        return {feature["id"]: feature for feature in listed}

    def passes(self) -> dict[str, bool]:
        return {name: feature["passes"] for name, feature in self.features().items()}

    def evidence(self) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = json.loads(self.outside.ralphloop("evidence", "--json"))["evidence"]
        return said

    def green_at_the_end(self) -> list[str]:
        """What the last stop ran: a check that was green as a claim is not run once more at the same stop."""
        last = [entry for entry in self.evidence() if entry["iteration"] == self.outside.loop["iteration"]]
        assert all(entry["green"] and entry["file"] == "sound" and entry["head"] for entry in last)
        return sorted(entry["command"] for entry in last if entry["kind"] != "done")

    def journal(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.outside.journal() if entry["event"] == event]

    def rejected(self) -> list[str]:
        """The texts that were put aside because something else stands in their place again."""
        return [file.read_text() for file in sorted(self.root.glob(".ralph/run/*/rejected/*"))]

    def ledger(self) -> dict[str, dict[str, str]]:
        (file,) = (self.outside.home.path / ".local/state/ralphloop/by-path").rglob("kept/*/ledger.json")
        tasks: dict[str, dict[str, str]] = json.loads(file.read_text())["tasks"]
        return tasks

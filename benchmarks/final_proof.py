"""The final-proof section: what asking whose green it is takes, beside the time of the checks themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from registration import REPOSITORY
from table import Figure, Section
from timing import Series, WrongAnswerError

SESSION = "bench"
CHECKS = 3
CHECK_S = 1.0
PER_COMMAND_S = 0.15
AIM = 2.5
LIST = ".ralph/loops/bench/feature_list.json"
KINDS = {
    "looks": "sleep {s}; grep -q done {n}.txt",
    "builds": "sleep {s}; mkdir -p build && grep done {n}.txt > build/{n}.txt",
}


def final_proof(scratch: Path, rounds: int) -> Section:
    section = Section("final proof")
    for kind, check in KINDS.items():
        took = [Scene(scratch / f"{kind}{number}", check).took_s() for number in range(rounds)]
        section.series.append(
            Series(f"checks that each {kind.removesuffix('s')}", [1000 * one for one in took])
        )
        section.figures.append(Figure(f"{kind} / own time", median_ratio(took), "x", AIM))
    section.notes.append(
        f"{CHECKS} checks of {CHECK_S:g} s, wall time of the stop that is complete; {PER_COMMAND_S:g} s per "
        "command are taken off. What a check builds is built in the project as well, for the others"
    )
    return section


def median_ratio(took: list[float]) -> float:
    own_s = CHECKS * CHECK_S
    return (sorted(took)[len(took) // 2] - CHECKS * PER_COMMAND_S) / own_s


class Scene:
    """A loop whose checks were all proven, and whose last stop is still to come."""

    def __init__(self, folder: Path, check: str) -> None:
        self.root, self.home = folder / "project", folder / "home"
        self.home.mkdir(parents=True)
        (self.root / LIST).parent.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.env["PYTHONPATH"] = str(REPOSITORY / "src")
        checks = {f"F{n}": check.format(s=CHECK_S, n=n) for n in range(1, CHECKS + 1)}
        checks["F9"] = "test -s 9.txt"
        self.features: list[dict[str, Any]] = [
            {"id": task, "description": "Do it", "passes": False, "verify": text}
            for task, text in checks.items()
        ]

    def took_s(self) -> float:
        """The seconds of the stop that ends the loop."""
        (self.root / ".gitignore").write_text("build\n")
        self.write()
        who = ["-c", "user.name=B", "-c", "user.email=b@example.invalid"]
        for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=self.root, env=self.env, check=True)
        start = [sys.executable, "-m", "ralphloop", "start", "bench", "--yes", "--session", SESSION]
        subprocess.run(start, cwd=self.root, env=self.env, check=True, capture_output=True)
        for n, feature in enumerate(self.features[:-1], 1):
            (self.root / f"{n}.txt").write_text("done\n")
            feature["passes"] = True
        self.write()
        self.stop(ends=False)
        (self.root / "9.txt").write_text("done\n")
        self.features[-1]["passes"] = True
        self.write()
        began = time.monotonic()
        self.stop(ends=True)
        return time.monotonic() - began

    def write(self) -> None:
        (self.root / LIST).write_text(json.dumps({"features": self.features}, indent=1) + "\n")

    def stop(self, *, ends: bool) -> None:
        event = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(self.root)}
        launch = str(REPOSITORY / "src/ralphloop/hook/launch.py")
        done = subprocess.run(
            [sys.executable, "-I", "-S", launch, "settings"], cwd=self.root, env=self.env, check=True,
            input=json.dumps(event), text=True, capture_output=True,
        )  # fmt: skip
        (file,) = (self.root / ".ralph/run").glob("*/loop.json")
        loop = json.loads(file.read_text())
        if (loop["outcome"] == "complete") != ends or "doubt" in done.stdout:
            raise WrongAnswerError(f"{loop['outcome']}: {done.stdout}{done.stderr}")

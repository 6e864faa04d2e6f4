"""A supervisor on a failing disk: killed or refused at one of its calls, and run again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faults.aftermath import LostError, must
from faults.campaign import Outcome, Point
from faults.ground import Ground
from hook.harness import PATH, feature, feature_list, loop_files
from ralphloop.cli import main as command_line
from ralphloop.lab.faults import DENIED, IO_ERROR, KILL_AFTER, KILL_BEFORE, KILLS, NO_SPACE, Fault
from ralphloop.runner.session_terms import Terms

NAME = "supervisor"
KINDS = (KILL_BEFORE, KILL_AFTER, NO_SPACE, IO_ERROR, DENIED)
IDS = ("F1", "F2")
RUNS = 4  # until the loop is complete, the first one among them
LONGEST_S = 300
GONE_S = 60.0


class SupervisorTrial:
    def __init__(self, folder: Path) -> None:
        self._base = folder / NAME
        self._base.mkdir()
        tasks = [feature(name, verify=f"test -s work/{name}") for name in IDS]
        files = loop_files("features")
        files = {**files, next(name for name in files if "feature_list" in name): feature_list(*tasks)}
        self._ground = Ground(self._base, "features", files)
        self._client()
        ended = self._ground.cli("start", "--yes")
        assert ended.code == 0, ended
        self._kept = self._ground.keep()

    def _client(self) -> None:
        program = self._base / "bin" / "claude"
        program.parent.mkdir()
        player = Path(__file__).with_name("player.py")
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{player}" "$@"\n')
        program.chmod(0o755)

    def points(self) -> Iterator[Point]:
        self._ground.go_back(self._kept)
        self._supervise()
        for at in range(1, len(self._ground.calls) + 1):
            yield from (Point(NAME, kind, at) for kind in KINDS)

    def chosen(self, count: int, *, seed: int) -> list[Point]:
        """Without a look at all of its calls, which differ from run to run: by share of them."""
        self._ground.go_back(self._kept)
        self._supervise()
        chance, calls = random.Random(f"{seed} {NAME}"), len(self._ground.calls)
        return [Point(NAME, chance.choice(KINDS), chance.randint(1, calls)) for _ in range(count)]

    def _supervise(self) -> Any:
        ground = self._ground
        (loop,) = ground.loops()
        terms = Terms(detached=True, batch=1, backoff_s=0.1, margin_s=0.0)
        request = {"loop": loop.id, "cwd": str(ground.root), "terms": asdict(terms), "terminal": 0}
        path = os.pathsep.join([str(self._base / "bin"), os.path.dirname(sys.executable), PATH])
        return ground.forked(
            lambda: command_line._guarded(lambda: command_line.run(["supervise"])),
            env={"PATH": path, "HOME": str(ground.home)},
            stdin=json.dumps(request).encode() + b"\n",
            longest_s=LONGEST_S,
            step_s=0.0,  # its sessions are processes with a clock of their own
        )

    def meet(self, point: Point) -> Outcome:
        self._ground.go_back(self._kept)
        try:
            is_struck = self._strike(Fault(point.at, point.kind))
            self._go_on()
            self._check_end(leavings=1 if is_struck else 0)
        except Exception as error:
            steps = "".join(traceback.format_tb(error.__traceback__)[-2:])
            return Outcome(point, f"{type(error).__name__}: {error}\n{steps}", True, 0)
        return Outcome(point, "", is_struck, len(self._ground.spares()))

    def _strike(self, fault: Fault) -> bool:
        self._ground.fault = fault
        ended = self._supervise()
        self._ground.fault = Fault()
        is_struck = len(self._ground.calls) >= fault.at
        codes = (-9,) if is_struck and fault.kind in KILLS else (0, 1)
        must(ended.code in codes, f"the supervisor ended with {ended}")
        self._await_silence()
        return is_struck

    def _await_silence(self) -> None:
        """What the supervisor had started ends when it does."""
        deadline = time.monotonic() + GONE_S
        while self._living() and time.monotonic() < deadline:
            time.sleep(0.02)
        must(not self._living(), f"still alive: {self._living()}")

    def _living(self) -> dict[int, str]:
        mark, found = f"HOME={self._ground.home}".encode(), {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                    found[int(name)] = Path("/proc", name, "cmdline").read_text().replace("\0", " ")
        return found

    def _go_on(self) -> None:
        ground = self._ground
        for _ in range(RUNS - 1):
            status = ground.cli("status", "--json")
            must(status.code == 0 and json.loads(status.stdout)["loops"], f"status: {status}")
            (loop,) = ground.loops()
            if loop.state.outcome == "complete":
                return
            if not loop.state.live:
                ended = ground.cli("resume", "--max-iterations", "60")
                must(ended.code == 0, f"resume: {ended}")
            ended = self._supervise()
            must(ended.code == 0, f"run again: {ended}")
        (loop,) = ground.loops()
        must(loop.state.outcome == "complete", f"{loop.state.to_json()}")

    def _check_end(self, *, leavings: int) -> None:
        """Complete, each task proven once, and worked on once, or once more after the fault."""
        ground = self._ground
        (loop,) = ground.loops()
        must(loop.tasks == dict.fromkeys(IDS, "proven"), loop.tasks)
        entries, torn = ground.journal_of(loop)
        must(torn <= 1, f"{torn} torn lines")
        proven = Counter(entry["task"] for entry in entries if entry["event"] == "proven")
        must(max(proven.values(), default=0) <= 1, f"proven twice: {proven}")
        for task in IDS:
            lines = (ground.root / "work" / task).read_text().splitlines()
            must(len(lines) <= 2, f"{task} was worked on {len(lines)} times")
        for path in ground.troubles():
            raise LostError(f"{path.name}: {path.read_text()}")
        must(len(ground.spares()) <= leavings, f"left behind: {ground.spares()}")
        self._await_silence()

    def close(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)
        shutil.rmtree(self._kept.folder, ignore_errors=True)

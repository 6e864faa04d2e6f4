"""A scratch project whose hook and commands run as forked processes, on a disk that may fail."""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hook.harness import OWNER, PATH, PLUGINS, Answer, LoopProject
from ralphloop.cli import main as command_line
from ralphloop.domain import jsontext
from ralphloop.domain.model import LoopState
from ralphloop.hook import main as hook
from ralphloop.lab import forked
from ralphloop.lab.faults import Disk, Fault
from ralphloop.proof import check_record as evidence
from ralphloop.store import approvals
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import ARMED, ENDED, OWNED

# What the runs would import one by one; a forked process has it already.
COMMANDS = ("start", "status", "done", "cancel", "pause", "resume", "approve", "accept", "ask", "skip")
STEP_S = 5.0  # each run is this much later than the one before, so that no file is too young to be trusted


class Loop(NamedTuple):
    """One loop as its files say now."""

    files: LoopFiles
    state: LoopState
    tasks: dict[str, str]  # what the ledger says of each

    @property
    def id(self) -> str:
        return self.files.record.id


class Ground(LoopProject):
    def __init__(self, base: Path, layout: str, files: Mapping[str, str] | None = None) -> None:
        super().__init__(base, layout, files)
        self.fault = Fault()
        self.calls: list[tuple[str, str]] = []  # of the last run
        self._later_s = 0.0
        self._trace = self.base / "trace"

    # Running

    def run(self, data: bytes, *, event: str = "Stop", registration: str | None = None,
            cwd: Path | None = None, **_: Any) -> Answer:  # fmt: skip
        """The hook, which must not fail; one that was killed has said nothing."""
        words = [registration or PLUGINS[self.layout], self.layout]
        ended = self.forked(lambda: hook.main(words), env=self.env(), cwd=cwd, stdin=data)
        if ended.code == -9 and self.fault.at:
            return Answer(0, b"", "")
        return Answer(ended.code, ended.stdout, ended.stderr)

    def cli(self, *words: str) -> forked.Ended:
        """The person's command line."""
        env = {"PATH": PATH, "HOME": str(self.home)}
        command = command_line._load(f"ralphloop.cli.{words[0]}")

        def work() -> int:
            parser = argparse.ArgumentParser()  # one for every command there is takes longer than the rest
            command.configure(parser)
            return command_line._guarded(lambda: command.run(parser.parse_args(words[1:])))

        return self.forked(work, env=env)

    def forked(
        self,
        work: Callable[[], object],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        stdin: bytes = b"",
        longest_s: int = forked.LONGEST_S,
        step_s: float = STEP_S,
    ) -> forked.Ended:
        """A process of its own, in which the disk has this ground's fault; the clock stands still at 0."""
        self._later_s += step_s
        self._trace.write_bytes(b"")
        place = next(folder for folder in (cwd or self.root, self.base) if folder.is_dir())

        def on_a_failing_disk() -> object:
            with open(self._trace, "ab", buffering=0) as trace:
                seen = lambda name, path: trace.write(f"{name}\0{path}\n".encode())  # noqa: E731
                Disk(self.fault, within=str(self.base), seen=seen).install()
                return work()

        ended = forked.run(
            on_a_failing_disk, env=env, cwd=str(place), stdin=stdin, longest_s=longest_s,
            later_s=self._later_s if step_s else 0.0,
        )  # fmt: skip
        rows = self._trace.read_text().splitlines()
        self.calls = [(name, path) for name, _, path in (row.partition("\0") for row in rows)]
        return ended

    # What is on the disk

    def loops(self) -> list[Loop]:
        """All that the state directory knows here, in the order of their ids."""
        found = {}
        for kind in (OWNED, ARMED, ENDED):
            for record in self.shelf().records(kind):
                files = LoopFiles(record, self.shelf(), writes=False)
                state = files.load()
                if state is not None:
                    ledger = files.load_ledger()
                    tasks = {name: known.get("state", "") for name, known in ledger.tasks.items()}
                    found[record.id] = Loop(files, state, tasks)
        return [found[name] for name in sorted(found)]

    def journal_of(self, loop: Loop) -> tuple[list[dict[str, Any]], int]:
        """Its entries, and how many lines are none."""
        entries, torn = [], 0
        path = Path(loop.files.folder, "journal.jsonl")
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                entries.append(json.loads(line))
            except ValueError:
                torn += 1
        return entries, torn

    def spares(self) -> list[Path]:
        """Files that a write has left behind."""
        found = [path for folder in (self.root, self.home) for path in folder.rglob(".*")]
        return [path for path in found if path.name.endswith(".tmp") or path.name.startswith(".new-")]

    def troubles(self) -> Iterator[Path]:
        """What is written only about a bug of ours."""
        yield from self.state_home.glob("errors.log")
        yield from self.state_home.glob("reports/*")

    def evidence_of(self, loop: Loop) -> dict[str, bytes]:
        """Each file by its name."""
        folder = Path(loop.files.path("evidence"))
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}

    def index_of(self, loop: Loop) -> tuple[list[evidence.Entry], int]:
        return evidence.read_index(loop.files)

    # Going back

    def keep(self) -> Kept:
        folder = self.base.parent / f"{self.base.name}-kept"
        shutil.copytree(self.base, folder, symlinks=True)
        return Kept(folder, self.prompt, self.stops, self._later_s)

    def go_back(self, kept: Kept) -> None:
        """As it was; the project stays the same folder if it can, because approvals are for a folder."""
        self.prompt, self.stops, self._later_s, self.fault = kept.prompt, kept.stops, kept.later_s, Fault()
        self.session = OWNER
        for name in (self.root.name, self.home.name):
            _empty(self.base / name)
            shutil.copytree(kept.folder / name, self.base / name, symlinks=True, dirs_exist_ok=True)
        approved = Path(self.shelf().folder, "approved.json")
        if approved.exists():
            data = json.loads(approved.read_text())
            data["folder"] = approvals._identity(str(self.root))
            approved.write_text(jsontext.render(data))


class Kept(NamedTuple):
    folder: Path
    prompt: str
    stops: int
    later_s: float


def _empty(folder: Path) -> None:
    if not folder.is_dir():
        return
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry)
        else:
            os.unlink(entry)


def load_everything() -> None:
    """Import what the forked runs need, once."""
    from importlib import import_module

    for name in (*COMMANDS, "supervise"):
        import_module(f"ralphloop.cli.{name}")
    for name in ("main", "session_event"):
        import_module(f"ralphloop.hook.{name}")
    for name in ("stop", "session", "claim", "checks"):
        import_module(f"ralphloop.engine.{name}")
    for name in ("prove", "commit"):
        import_module(f"ralphloop.proof.{name}")
    for name in ("runner.driver", "notify.send"):
        import_module(f"ralphloop.{name}")
    for name in ("repair", "pins", "spec_folder"):
        import_module(f"ralphloop.store.{name}")
    gc.collect()
    gc.freeze()  # forked processes share what nobody touches

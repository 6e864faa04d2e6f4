"""Many loops in one project, many sessions stopping at once, for as long as asked: nothing may be lost."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from project import NEVER, assistant_line, command, feature_list, tool_call_line
from race import parses
from registration import hook_env, stop_argv
from timing import finish, start

from ralphloop.store.loop import JOURNAL_MAX

TASKS = 40  # of one loop: it ends in a long run, and another takes its place
FOREIGN_EVERY, PAUSE_EVERY = 7, 40
NEARLY_FULL = JOURNAL_MAX - 1_000  # of a journal, so that it moves aside under load
STARTS_MOST = 20
PROGRESS_S = 10


@dataclass
class Work:
    """One loop, the session that owns it, and what that session saw."""

    name: str
    ground: Ground
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    answered: int = 0
    closed: int = 0
    padding: int = 0  # journal lines that no stop wrote

    @property
    def list_file(self) -> Path:
        return self.ground.root / ".ralph" / "loops" / self.name / "feature_list.json"

    @property
    def folder(self) -> Path:
        return next((self.ground.root / ".ralph" / "run").glob(f"features-{self.name}-*"))

    @property
    def transcript(self) -> Path:
        return self.ground.home / f"{self.session}.jsonl"

    def begin(self) -> None:
        source = self.ground.home / f"{self.name}.json"
        source.write_text(feature_list(self.ground.tasks))
        command(self.ground, "new", self.name, "--from", str(source))
        limits = ("--max-iterations", NEVER, "--max-attempts", NEVER)
        start = ("start", self.name, "--session", self.session, "--yes", *limits)
        for _ in range(STARTS_MOST):
            if command(self.ground, *start, unless="try again in a moment"):
                break
            self.ground.count("starts_tried_again")
        else:
            raise TimeoutError(f"{self.name} could not be started in {STARTS_MOST} attempts")
        self.transcript.touch()

    def fill_journal(self) -> None:
        line = '{"at": "2026-01-01T00:00:00.000Z", "event": "padding", "text": "%s"}\n' % ("x" * 900)
        self.padding = NEARLY_FULL // len(line)
        with (self.folder / "journal.jsonl").open("a") as file:
            file.write(line * self.padding)

    def claim(self) -> str:
        """Close the next task as an agent does; the id of the one after it."""
        text = self.list_file.read_text()
        spare = self.list_file.with_suffix(".agent")
        spare.write_text(text.replace('"passes": false', '"passes": true', 1))
        spare.replace(self.list_file)
        self.closed += 1
        return f"F{self.closed + 1}"


@dataclass
class Ground:
    """The project in which all of it happens, and what went wrong there."""

    root: Path
    home: Path
    tasks: int = TASKS
    durations_ms: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    number: int = 0

    def new_work(self) -> Work:
        with self.lock:
            self.number += 1
            work = Work(f"load{self.number:04}", self)
        work.begin()
        self.count("loops")
        return work

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def stop(self, session: str, transcript: Path, *, said: str, active: bool = True) -> bytes:
        """One stop of one session; what the hook printed."""
        with transcript.open("ab") as file:
            file.write(tool_call_line() + assistant_line({"type": "text", "text": said}))
        payload = {
            "session_id": session, "transcript_path": str(transcript), "cwd": str(self.root),
            "prompt_id": session, "permission_mode": "default", "hook_event_name": "Stop",
            "stop_hook_active": active, "last_assistant_message": said, "background_tasks": [],
        }  # fmt: skip
        run = finish(start(stop_argv(), self.root, env=hook_env(self.home, self.root),
                           stdin=json.dumps(payload).encode()))  # fmt: skip
        self.durations_ms.append(run.elapsed_ms)
        if run.exit_code or run.stderr:
            self.fault(f"exit code {run.exit_code}, stderr {run.stderr[-300:]!r}")
        return run.stdout

    def fault(self, text: str) -> None:
        self.wrong.append(text)


def turn(work: Work, ground: Ground) -> None:
    """Claim a task and stop: the answer names the next one, or says that all are done."""
    following = work.claim()
    out = ground.stop(work.session, work.transcript, said=f"{work.name}: {uuid.uuid4()}")
    work.answered += 1
    if work.closed == ground.tasks:
        if b"complete" not in out.lower():
            ground.fault(f"{work.name}: not complete after the last task: {out[:300]!r}")
    elif f"{following}".encode() not in out or b'"block"' not in out:
        ground.fault(f"{work.name}: expected to go on with {following}, got {out[:300]!r}")


def visit(ground: Ground) -> None:
    """A session that owns nothing stops."""
    session = str(uuid.uuid4())
    transcript = ground.home / f"{session}.jsonl"
    out = ground.stop(session, transcript, said="Just looking.", active=False)  # so it might claim a list
    ground.count("foreign stops")
    transcript.unlink()
    if out:
        ground.fault(f"a foreign session was answered: {out[:300]!r}")


def rest(work: Work, ground: Ground) -> None:
    """A person pauses the loop; its next stop is allowed; the person resumes it."""
    command(ground, "pause", work.name)
    out = ground.stop(work.session, work.transcript, said=f"{work.name}: {uuid.uuid4()}")
    if b'"block"' in out:
        ground.fault(f"{work.name}: blocked although it was paused: {out[:300]!r}")
    command(ground, "resume", work.name)
    ground.count("pauses")


def keep_going(ground: Ground, works: list[Work], until: float, *, done: list[Work]) -> None:
    """One of the sessions' threads: its loops in turn, until the time is over."""
    number = 0
    while time.monotonic() < until:
        number += 1
        place = number % len(works)
        turn(works[place], ground)
        if works[place].closed == ground.tasks:
            done.append(works[place])
            works[place] = ground.new_work()
        elif number % FOREIGN_EVERY == 0:
            visit(ground)
        elif number % PAUSE_EVERY == 0:
            rest(works[place], ground)


def lost_updates(work: Work) -> Iterator[str]:
    """What the files say against what the session saw."""
    state = json.loads((work.folder / "loop.json").read_text())
    journals = (work.folder / "journal.1.jsonl", work.folder / "journal.jsonl")
    text = "".join(path.read_text() for path in journals if path.exists())
    entries = [json.loads(line) for line in text.splitlines() if line]
    counted = Counter(entry["event"] for entry in entries)
    claims = Counter(task for entry in entries if entry["event"] == "stop" for task in entry["claimed"])
    ends = "complete" if work.closed == work.ground.tasks else None
    went_on = sum(entry.get("decision") == "continue" for entry in entries)
    if counted["padding"] != work.padding:
        yield f"{work.name}: {work.padding - counted['padding']} older journal lines lost"
    if state["outcome"] != ends:
        yield f"{work.name}: outcome {state['outcome']}, expected {ends}"
    if sum(claims.values()) != work.closed or set(claims.values()) - {1}:
        yield f"{work.name}: {work.closed} tasks closed, {sum(claims.values())} claims in the journal"
    if went_on != work.answered - bool(ends):
        yield f"{work.name}: {work.answered} stops answered, {went_on} continuations in the journal"


def leftovers(ground: Ground) -> Iterator[str]:
    stamps = set((ground.home / ".local").rglob("feature_list.json"))  # of loops that have ended
    for folder in (ground.root / ".ralph", ground.home / ".local"):
        for path in set(folder.rglob("*")) - stamps:
            if path.name.endswith(".tmp"):
                yield f"a temporary file was left: {path.name}"
            elif path.is_file() and path.suffix in (".json", ".jsonl") and not parses(path):
                yield f"a torn file: {path.name}"
    errors = ground.home / ".local" / "state" / "ralphloop" / "errors.log"
    if errors.exists():
        yield f"errors.log: {errors.read_text()[-500:]}"


def disk_bytes(*folders: Path) -> int:
    return sum(path.lstat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())


def load(scratch: Path, *, minutes: float, loops: int, at_once: int, tasks: int) -> dict[str, object]:
    ground = Ground(scratch / "project", scratch / "home", tasks)
    ground.root.mkdir()
    ground.home.mkdir()
    subprocess.run(["git", "init", "--quiet", str(ground.root)], check=True)
    os.chdir(ground.root)
    say(f"starting {loops} loops …")
    works = [ground.new_work() for _ in range(loops)]
    for work in works[:: max(1, loops // 10)]:
        work.fill_journal()
    shares = [works[place::at_once] for place in range(min(at_once, loops))]
    done: list[Work] = []
    until = time.monotonic() + minutes * 60
    with ThreadPoolExecutor(len(shares)) as pool:
        runs = [pool.submit(keep_going, ground, share, until, done=done) for share in shares]
        while not all(run.done() for run in runs):
            time.sleep(min(PROGRESS_S, minutes * 60))
            say(f"{len(ground.durations_ms)} stops, {max(0, until - time.monotonic()):.0f} s to go")
    ground.wrong += [repr(error) for run in runs if (error := run.exception())]
    every = [*done, *(work for share in shares for work in share)]
    ground.wrong += [text for work in every for text in lost_updates(work)]
    ground.wrong += leftovers(ground)
    return figures(ground, every, at_once=at_once, minutes=minutes)


def figures(ground: Ground, works: list[Work], *, at_once: int, minutes: float) -> dict[str, object]:
    cuts = quantiles(ground.durations_ms, n=100, method="inclusive")
    moved = sum((work.folder / "journal.1.jsonl").exists() for work in works)
    ended = sum(work.closed == ground.tasks for work in works)
    run_bytes = disk_bytes(ground.root / ".ralph" / "run", ground.home / ".local")
    return {
        "minutes": minutes, "at_once": at_once, "stops": len(ground.durations_ms), **ground.counts,
        "loops_ended": ended,
        "tasks_closed": sum(work.closed for work in works),
        "median_ms": round(cuts[49], 1), "p95_ms": round(cuts[94], 1), "p99_ms": round(cuts[98], 1),
        "max_ms": round(max(ground.durations_ms), 1),
        "journals_moved_aside": moved, "disk_kb_per_loop": round(run_bytes / len(works) / 1024, 1),
        "lost_or_wrong": len(ground.wrong), "wrong": ground.wrong[:20],
    }  # fmt: skip


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, metavar="M", help="how long (default: 10)")
    parser.add_argument("--loops", type=int, default=200, metavar="N", help="loops at a time (default: 200)")
    parser.add_argument("--at-once", type=int, default=50, metavar="N", help="stops at once (default: 50)")
    parser.add_argument("--tasks", type=int, default=TASKS, metavar="N", help="of one loop (default: 40)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    args = parser.parse_args()
    place = args.json.resolve() if args.json else None
    with tempfile.TemporaryDirectory(prefix="ralphloop-load-") as folder:
        terms = {"minutes": args.minutes, "loops": args.loops, "at_once": args.at_once, "tasks": args.tasks}
        found = load(Path(folder).resolve(), **terms)
        os.chdir("/")
    if place:
        place.write_text(json.dumps(found, indent=2) + "\n")
    for name, value in found.items():
        print(f"{name:<24}{value}")
    return 1 if found["lost_or_wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())

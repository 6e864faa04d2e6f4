"""Makes the scratch projects, loops, transcripts and stop events that the benchmarks run on."""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from registration import command_argv, command_env, hook_env

MB = 1 << 20
LOOP_NAME = "bench"
NEVER = "1000000"
USAGE = {
    "input_tokens": 1200,
    "output_tokens": 60,
    "cache_read_input_tokens": 40000,
    "cache_creation_input_tokens": 900,
}
# The hook never trusts a feature list younger than 2 s.
SETTLED_AFTER_S = 2.2


@dataclass
class Project:
    """A git project, a home and one session's transcript, all below one scratch folder."""

    root: Path
    home: Path
    transcript: Path
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    prompt: str = field(default_factory=lambda: str(uuid.uuid4()))
    stops: int = 0

    @property
    def env(self) -> dict[str, str]:
        return hook_env(self.home, self.root)

    @property
    def list_file(self) -> Path:
        return self.root / ".ralph" / "loops" / LOOP_NAME / "feature_list.json"

    @property
    def run_folder(self) -> Path:
        (loop,) = (self.root / ".ralph" / "run").glob("*/loop.json")
        return loop.parent

    def iteration(self) -> int:
        return int(json.loads((self.run_folder / "loop.json").read_text())["iteration"])

    def next_stop(self) -> bytes:
        """The payload of a fresh stop, after a tool call and a reply that no earlier stop had."""
        self.stops += 1
        said = f"Step {self.stops} is done: {uuid.uuid4()}."
        with self.transcript.open("ab") as file:
            file.write(tool_call_line() + assistant_line({"type": "text", "text": said}))
        return self.payload(said, self.transcript)

    def next_claim(self) -> bytes:
        """The same after the first task was claimed."""
        text = self.list_file.read_text()
        self.list_file.write_text(text.replace('"passes": false', '"passes": true', 1))
        return self.next_stop()

    def payload(self, said: str, transcript: Path) -> bytes:
        event = {
            "session_id": self.session,
            "transcript_path": str(transcript),
            "cwd": str(self.root),
            "prompt_id": self.prompt,
            "permission_mode": "default",
            "effort": {"level": "medium"},
            "hook_event_name": "Stop",
            "stop_hook_active": self.stops > 1,
            "last_assistant_message": said,
            "background_tasks": [],
            "session_crons": [],
        }
        return json.dumps(event).encode()


def new_project(scratch: Path, name: str, *, transcript_size: int = MB) -> Project:
    """A git project without a loop; its transcript is as large as asked."""
    root, home = scratch / name / "project", scratch / name / "home"
    root.mkdir(parents=True)
    home.mkdir()
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    transcript = scratch / name / "transcript.jsonl"
    write_transcript(transcript, transcript_size)
    return Project(root, home, transcript)


def new_loop(
    scratch: Path, name: str, *, features: int, transcript_size: int = MB, verify: str = ""
) -> Project:
    """A project whose loop was made and started with the real command line."""
    project = new_project(scratch, name, transcript_size=transcript_size)
    source = scratch / name / "features.json"
    source.write_text(feature_list(features, verify=verify))
    command(project, "new", LOOP_NAME, "--from", str(source))
    limits = ("--max-iterations", NEVER, "--max-attempts", NEVER)
    command(project, "start", LOOP_NAME, "--session", project.session, "--yes", *limits)
    return project


def new_reference_loop(scratch: Path, name: str, *, features: int) -> Project:
    """A project with the files that the reference hooks read."""
    project = new_project(scratch, name)
    loop = project.root / ".claude" / "data" / "ralph-loops" / "current"
    loop.mkdir(parents=True)
    (loop / "feature_list.json").write_text(feature_list(features))
    progress = f"Status: IN_PROGRESS\nIteration: 1\nMax Iterations: {NEVER}\n\nNotes\n"
    (loop / "progress.txt").write_text(progress)
    return project


def command(project: Project, *args: str, unless: str = "") -> bool:
    """Run it, which must succeed; False if it failed with what `unless` says."""
    run = subprocess.run(
        command_argv(*args), cwd=project.root, env=command_env(project.home), capture_output=True, text=True
    )
    if run.returncode and unless and unless in run.stderr:
        return False
    if run.returncode:
        raise SystemExit(f"ralphloop {' '.join(args)}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
    return True


def wait_until_settled(file: Path) -> None:
    """Ageing the file by hand would renew its ctime, so wait."""
    status = file.stat()
    age_s = time.time() - max(status.st_mtime, status.st_ctime)
    time.sleep(max(0.0, SETTLED_AFTER_S - age_s))


def feature_list(count: int, *, verify: str = "") -> str:
    listed = {"features": [feature(number) for number in range(1, count + 1)]}
    return json.dumps({"verify": verify, **listed} if verify else listed, indent=2)


def feature(number: int) -> dict[str, Any]:
    return {
        "id": f"F{number}",
        "description": f"The page answers request {number} with the right dialog",
        "steps": ["Open the page", f"Send request {number}", "Compare the answer"],
        "passes": False,
    }


def write_transcript(path: Path, size: int) -> None:
    """Real lines up to 8 MB; above that 4 MB of them, a sparse hole, and 4 MB again."""
    part = min(size, 8 * MB) // 2
    lines = transcript_lines(part)
    with path.open("wb") as file:
        file.write(lines)
        if size > 8 * MB:
            file.seek(size - len(lines) - 1)
            file.write(b"\n")
        file.write(lines)


def transcript_lines(size: int) -> bytes:
    text = {"type": "text", "text": "I read the module and changed the handler. " * 40}
    lines = b"".join(assistant_line(text) for _ in range(16))
    return lines * (size // len(lines) + 1)


def tool_call_line() -> bytes:
    call = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": "Bash"}
    return assistant_line({**call, "input": {"command": "true"}})


def assistant_line(block: dict[str, Any]) -> bytes:
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    entry = {
        "type": "assistant",
        "uuid": str(uuid.uuid4()),
        "timestamp": now.replace("+00:00", "Z"),
        "message": {
            "id": f"msg_{uuid.uuid4().hex}",
            "model": "claude-opus-5-5",
            "role": "assistant",
            "content": [block],
            "usage": USAGE,
        },
    }
    return json.dumps(entry).encode() + b"\n"

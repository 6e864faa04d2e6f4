"""A scratch project whose stops go through what a plugin registers: its command, or the words in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes import warm
from hook.lines import text_line, tool_line, user_line
from ralphloop.engine import find
from ralphloop.hook.main import stop
from ralphloop.store import approvals, arming, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import ARMED, ENDED, OWNED, Shelf

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGINS = {"features": "ralphloop", "specum": "ralph-specum", "speckit": "ralph-speckit"}
LAYOUTS = tuple(PLUGINS)
SEQUENTIAL = ("specum", "speckit")
OWN_FILES = {
    "features": ".ralph/loops/demo/feature_list.json",
    "specum": "specs/demo/.ralph-state.json",
    "speckit": ".specify/specs/001-demo/.speckit-state.json",
}
FOLDERS = {name: os.path.dirname(path) for name, path in OWN_FILES.items()}
POINTERS = {"specum": "specs/.current-spec", "speckit": ".specify/.current-feature"}
SETTINGS = {"specum": ".claude/ralph-specum.local.md", "speckit": ".claude/ralph-speckit.local.md"}
PYTHON_FOLDER = os.path.dirname(os.path.realpath(sys.executable))
PATH = os.pathsep.join([PYTHON_FOLDER, "/usr/bin", "/bin"])
OWNER = "0f6b1f5e-8f0a-4c62-9c1e-000000000001"
OTHER = "0f6b1f5e-8f0a-4c62-9c1e-000000000002"

Running = subprocess.Popen[bytes] | warm.Process


def feature_list(*features: Mapping[str, Any]) -> str:
    return json.dumps({"features": list(features)}, indent=2) + "\n"


def feature(name: str, *, passes: bool = False, **fields: Any) -> dict[str, Any]:
    return {"id": name, "description": f"Do {name}", "steps": ["one", "two"], "passes": passes, **fields}


def boxes(*titles: str, done: int = 0) -> str:
    rows = [f"- [{'x' if n <= done else ' '}] 1.{n} {title}\n" for n, title in enumerate(titles, 1)]
    return "# Tasks\n\n" + "".join(rows)


def spec_state(**fields: Any) -> str:
    state = {
        "source": "spec",
        "name": "demo",
        "basePath": "./specs/demo",
        "phase": "execution",
        "taskIndex": 0,
        "totalTasks": 3,
        "taskIteration": 1,
        "maxTaskIterations": 5,
        "globalIteration": 1,
        "maxGlobalIterations": 100,
        "awaitingApproval": False,
        **fields,
    }
    return json.dumps({key: value for key, value in state.items() if value is not None}, indent=2) + "\n"


def loop_files(layout: str, *, total: int = 3, done: int = 0, **state: Any) -> dict[str, str]:
    """The files of one list with that many tasks, the first of them done."""
    folder = FOLDERS[layout]
    if layout == "features":
        tasks = [feature(f"F{n}", passes=n <= done) for n in range(1, total + 1)]
        return {
            OWN_FILES[layout]: feature_list(*tasks),
            f"{folder}/progress.txt": "Status: IN_PROGRESS\nIteration: 1\n\nfree text\n",
            f"{folder}/RALPH_PROMPT.md": "Work through the list of this project.\n\nOne at a time.\n",
        }
    titles = [f"Task number {n}" for n in range(1, total + 1)]
    return {
        POINTERS[layout]: os.path.basename(folder) + "\n",
        OWN_FILES[layout]: spec_state(**{"taskIndex": done, "totalTasks": total, **state}),
        f"{folder}/tasks.md": boxes(*titles, done=done),
    }


def task_id(layout: str, number: int) -> str:
    return f"F{number}" if layout == "features" else f"1.{number}"


@dataclass
class Answer:
    """What one run of the hook said, checked to be something that a client can read."""

    code: int
    stdout: bytes
    stderr: str
    said: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.code == 0, f"exit code {self.code}: {self.stderr}"
        assert "Traceback" not in self.stderr, self.stderr
        if self.stdout:
            self.said = json.loads(self.stdout)
            assert isinstance(self.said, dict)
            assert self.stdout.count(b"\n") == 1
            assert len(self.reason) < 10_000
            assert not (self.blocks and self.said.get("continue") is False)

    @property
    def blocks(self) -> bool:
        return self.said.get("decision") == "block"

    @property
    def silent(self) -> bool:
        return not self.stdout and not self.stderr

    @property
    def reason(self) -> str:
        return str(self.said.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.said.get("systemMessage", ""))

    @property
    def context(self) -> str:
        return str(self.said.get("hookSpecificOutput", {}).get("additionalContext", ""))


class LoopProject:
    """A project in a folder with spaces in its name, a home of its own, and one session's transcript."""

    is_registered = False  # whether every run is one of the registered command

    def __init__(self, base: Path, layout: str, files: Mapping[str, str] | None = None) -> None:
        self.base = base.resolve()
        self.layout = layout
        self.root = self.base / "my project (1)"
        self.home = self.base / "home of me"
        self.root.mkdir()
        self.home.mkdir()
        self.plugin = REPOSITORY / "plugins" / PLUGINS[layout]
        self.session = OWNER
        self.prompt = str(uuid.uuid4())
        self.shell = "/bin/sh"
        self.extra_env: dict[str, str] = {}
        self.stops = 0
        self.write(loop_files(layout) if files is None else files)

    # Files

    @property
    def own(self) -> Path:
        """The file without which there is no loop: the list, or the state."""
        return self.root / OWN_FILES[self.layout]

    @property
    def folder(self) -> Path:
        return self.own.parent

    @property
    def state_home(self) -> Path:
        return self.home / ".local" / "state" / "ralphloop"

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())

    def git(self, *arguments: str) -> None:
        identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", *identity, *arguments]
        subprocess.run(command, cwd=self.root, env=env, check=True, capture_output=True)

    def commit_all(self) -> None:
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=start")

    def close(self, number: int, *, done: bool = True) -> None:
        """Do what an agent does to claim a task: set `passes`, or check the box."""
        if self.layout == "features":
            data = json.loads(self.own.read_text())
            data["features"][number - 1]["passes"] = done
            self.own.write_text(json.dumps(data, indent=2) + "\n")
            return
        tasks = self.folder / "tasks.md"
        old, new = ("[ ]", "[x]") if done else ("[x]", "[ ]")
        tasks.write_text(tasks.read_text().replace(f"{old} 1.{number} ", f"{new} 1.{number} "))

    def edit_state(self, **fields: Any) -> None:
        state = json.loads(self.own.read_text())
        state.update(fields)
        self.own.write_text(json.dumps(state, indent=2) + "\n")

    def state(self) -> dict[str, Any]:
        value = json.loads(self.own.read_text())
        assert isinstance(value, dict)
        return value

    def digest(self, *folders: Path) -> dict[str, tuple[str, int, int]]:
        """Content, mode and mtime of every file of the project and the home."""
        found = {}
        for folder in folders or (self.root, self.home):
            for path in sorted(folder.rglob("*")):
                stat = path.lstat()
                data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = (hashlib.sha256(data).hexdigest(), stat.st_mtime_ns, stat.st_mode)
        return found

    # The loop's machine files

    def runs(self) -> list[Path]:
        return sorted(path.parent for path in (self.root / ".ralph" / "run").glob("*/loop.json"))

    @property
    def run_folder(self) -> Path:
        (folder,) = self.runs()
        return folder

    def loop(self) -> dict[str, Any]:
        value = json.loads((self.run_folder / "loop.json").read_text())
        assert isinstance(value, dict)
        return value

    def edit_loop(self, **fields: Any) -> None:
        """Change the loop's machine file and its good copy, as a clock or a crash would have left them."""
        text = json.dumps({**self.loop(), **fields})
        (self.run_folder / "loop.json").write_text(text)
        self.kept("loop.json").write_text(text)

    def kept(self, name: str) -> Path:
        return Path(self.shelf().kept(self.loop()["id"])) / name

    def journal(self) -> list[dict[str, Any]]:
        rows = (self.run_folder / "journal.jsonl").read_text().splitlines()
        return [json.loads(row) for row in rows]

    def rejected(self) -> list[Path]:
        return sorted((self.run_folder / "rejected").glob("*"))

    def shelf(self) -> Shelf:
        return Shelf(str(self.root), {"HOME": str(self.home)})

    def arm(
        self, *, session: str | None = OWNER, started: bool = True, approve: bool = True, **options: Any
    ) -> LoopFiles:
        """Begin the loop as `start` does, for this session or for the next one."""
        env = {"HOME": str(self.home), **self.extra_env}
        (source,) = find.locate(self.layout, str(self.root), env)
        if approve:
            self.approve()
        return arming.arm(source, Shelf(str(self.root), env), session=session, started=started, **options)

    def approve(self) -> None:
        """Allow every check that the list has now, as the person does."""
        (source,) = find.locate(self.layout, str(self.root), {"HOME": str(self.home), **self.extra_env})
        with contextlib.suppress(ValueError):
            commands = approvals.unapproved(self.shelf(), tasks.parse_source(source))
            approvals.approve(self.shelf(), commands, by="terminal")

    def the_loop(self) -> LoopFiles:
        here, loop_id = self.shelf(), self.loop()["id"]
        records = [record for kind in (OWNED, ARMED, ENDED) for record in here.records(kind)]
        (record,) = [record for record in records if record.id == loop_id]
        return LoopFiles(record, here)

    # The transcript

    def transcript_of(self, session: str) -> Path:
        return self.home / ".claude" / "projects" / "-my-project" / f"{session}.jsonl"

    @property
    def transcript(self) -> Path:
        return self.transcript_of(self.session)

    def add_lines(self, *entries: Mapping[str, Any] | bytes, path: Path | None = None) -> None:
        place = path or self.transcript
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            for entry in entries:
                file.write(entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n")

    def write_by_tool(self, *, path: Path | None = None, text: str = "{}") -> None:
        """A transcript in which the session itself wrote the loop's own file."""
        call = {"file_path": str(self.own), "content": text}
        self.add_lines(user_line("begin"), tool_line("Write", call), path=path)

    # Running the hook

    def command(self, event: str, *, registration: str | None = None) -> str:
        hooks = json.loads((self.plugin / "hooks" / "hooks.json").read_text())["hooks"]
        group = hooks[event][0]
        (registered,) = {hook["command"] for hook in group["hooks"]}
        command = registered.replace("${CLAUDE_PLUGIN_ROOT}", str(self.plugin))
        name = PLUGINS[self.layout]
        if registration is not None:
            command = command.replace(f"rl_as={name}", f"rl_as={registration}")
        return str(command)

    def env(self) -> dict[str, str]:
        return {
            "PATH": PATH,
            "HOME": str(self.home),
            "CLAUDE_PROJECT_DIR": str(self.root),
            "CLAUDE_PLUGIN_ROOT": str(self.plugin),
            **self.extra_env,
        }

    def payload(self, event: str = "Stop", **fields: Any) -> dict[str, Any]:
        """What the client sends; a field given as `...` is left out."""
        payload: dict[str, Any] = {
            "session_id": self.session,
            "transcript_path": str(self.transcript_of(str(fields.get("session_id", self.session))[:80])),
            "cwd": str(self.root),
            "prompt_id": self.prompt,
            "permission_mode": "default",
            "hook_event_name": event,
        }
        if event in ("Stop", "SubagentStop"):
            payload["effort"] = {"level": "medium"}
            payload["stop_hook_active"] = self.stops > 1
            # Its first sign is none that a hook would wait for in the transcript.
            payload["last_assistant_message"] = f"… turn {self.stops} is over: {uuid.uuid4()}"
            payload["background_tasks"] = []
            payload["session_crons"] = []
        payload.update(fields)
        return {key: value for key, value in payload.items() if value is not ...}

    def words(self, event: str, *, registration: str | None = None) -> list[str]:
        """What the guard passes on to the hook that the command starts."""
        command = self.command(event, registration=registration)
        said = [re.search(rf"\brl_{name}=([\w-]+)", command) for name in ("as", "layouts", "on")]
        return [found[1] for found in said if found]

    def start(
        self,
        data: bytes,
        *,
        event: str = "Stop",
        registration: str | None = None,
        cwd: Path | None = None,
        argv: Iterable[str] | None = None,
    ) -> Running:
        """The registered command, or another one, as a process under way."""
        process = subprocess.Popen(
            list(argv or [self.shell, "-c", self.command(event, registration=registration)]),
            cwd=cwd or self.root,
            env=self.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self._give(process, data)

    def fork(
        self,
        data: bytes,
        *,
        event: str = "Stop",
        registration: str | None = None,
        cwd: Path | None = None,
    ) -> Running:
        """The hook under way with the words that the command passes on, in a warm interpreter."""
        words = self.words(event, registration=registration)
        process = warm.start(words, env=self.env(), cwd=cwd or self.root, program=warm.HOOK)
        return self._give(process, data)

    def _give(self, process: Running, data: bytes) -> Running:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(data)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdin = None
        return process

    def finish(self, process: Running, *, may_report: bool = False) -> Answer:
        out, err = process.communicate(timeout=60)
        assert process.returncode is not None
        errors = self.state_home / "errors.log"
        assert may_report or not errors.exists(), errors.read_text()
        return Answer(process.returncode, out, err.decode("utf-8", "replace"))

    def finish_quietly(self, process: Running) -> None:
        """Wait for a run whose answer nobody reads."""
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert b"Traceback" not in err

    def run(
        self,
        data: bytes,
        *,
        event: str = "Stop",
        registration: str | None = None,
        cwd: Path | None = None,
        argv: Iterable[str] | None = None,
    ) -> Answer:
        """What the hook answers: forked, unless it is the command that is tried."""
        if argv or self.is_registered:
            process = self.start(data, event=event, registration=registration, cwd=cwd, argv=argv)
            return self.finish(process)
        return self.finish(self.fork(data, event=event, registration=registration, cwd=cwd))

    def send(self, event: str, *, registration: str | None = None, cwd: Path | None = None,
             **fields: Any) -> Answer:  # fmt: skip
        data = json.dumps(self.payload(event, **fields)).encode()
        return self.run(data, event=event, registration=registration, cwd=cwd)

    def stop(self, *, registration: str | None = None, cwd: Path | None = None, **fields: Any) -> Answer:
        """One stop, with nothing new in the transcript."""
        self.stops += 1
        return self.send("Stop", registration=registration, cwd=cwd, **fields)

    def turn(self, text: str | None = None, **fields: Any) -> Answer:
        """A turn with a tool call and a reply that no other turn had, and the stop at its end."""
        said = text if text is not None else f"Step {uuid.uuid4()} is done."
        self.add_lines(tool_line("Bash", {"command": "true"}), text_line(said))
        return self.stop(last_assistant_message=said, **fields)

    def mute_turn(self, text: str | None = None, **fields: Any) -> Answer:
        """A turn without a tool call."""
        said = text if text is not None else f"I thought about {uuid.uuid4()}."
        self.add_lines(text_line(said))
        return self.stop(last_assistant_message=said, **fields)

    def new_prompt(self) -> None:
        """The person typed something: another prompt id, and no hook is active yet."""
        self.prompt = str(uuid.uuid4())
        self.stops = 0


def stop_here(project: LoopProject, **fields: Any) -> str:
    """A stop in this process, where what it uses can be replaced."""
    name = PLUGINS[project.layout]
    root = str(project.root)
    call = find.Call(registration=name, layouts=(project.layout,), env=project.env(), cwd=root)
    return stop(project.payload(**fields), call)

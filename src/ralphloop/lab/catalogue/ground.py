"""The place of one entry: a scratch project and home, and who acts there: person, agent, client."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ralphloop.errors import SceneError
from ralphloop.hook import main as hook
from ralphloop.lab import forked
from ralphloop.lab.catalogue import switch
from ralphloop.lab.catalogue.item import FEATURES, Item, Task
from ralphloop.lab.conformance.scene import BYTES
from ralphloop.lab.session_log import SessionLog
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import traits

PACKAGE = Path(__file__).resolve().parents[2]
LIST, SPEC = "demo", "001-demo"
SCRIPT_S = 60.0
SHOWN = 400
GIT_CONFIG = """\
[user]
\tname = Somebody
\temail = somebody@example.invalid
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[advice]
\tdetachedHead = false
"""
# The command line: given its words, its exit code.
Program = Callable[[list[str]], int]


class Ground:
    def __init__(
        self, folder: Path, item: Item, layout: str, *, program: Program, off: Sequence[str] = ()
    ) -> None:
        self.folder, self.item, self.layout = folder, item, layout
        self.root, self.home, self.bin = folder / "project", folder / "home", folder / "bin"
        self.place = Path(os.path.normpath(self.root / item.cwd))  # where the loop begins, and its list is
        self._program, self._off = program, tuple(off)
        self.session = str(uuid.uuid4())
        self.log = SessionLog(self.home, self.root, self.session)
        self.added: dict[str, str] = {}  # variables of the client: its own, and what turns have brought
        self.ids = {task.id: _id(at, task, layout) for at, task in enumerate(item.tasks, 1)}
        self.list_file = _list_file(layout)

    # Texts

    def fill(self, text: str) -> str:
        for mark, value in self._marks.items():
            text = text.replace(mark, value)
        return text

    @property
    def _marks(self) -> dict[str, str]:
        ids = {f"@{name}@": value for name, value in self.ids.items()}
        return {
            "@ROOT@": str(self.root), "@HOME@": str(self.home), "@LIST@": self.list_file, "@PATH@": self.path,
            "@SESSION@": self.session, "@PACKAGE@": str(PACKAGE),
            "@CALLERS_HOME@": os.path.expanduser("~"), **ids,
        }  # fmt: skip

    @property
    def path(self) -> str:
        """Our command first, then this Python, then where the caller finds programs."""
        found = (
            str(self.bin),
            os.path.dirname(sys.executable),
            *os.environ.get("PATH", os.defpath).split(":"),
        )
        return os.pathsep.join(dict.fromkeys(place for place in found if place))

    def filled(self, values: Mapping[str, str]) -> dict[str, str]:
        return {self.fill(key): self.fill(value) for key, value in values.items()}

    # Files

    def lay(self) -> None:
        """The project as the person has it before a loop begins."""
        for made in (self.root, self.home, self.bin, self.folder / "tmp"):
            made.mkdir(parents=True)
        self._write(self.bin / "ralphloop", self._shim(), executable=True)
        self._write(self.home / ".gitconfig", GIT_CONFIG)
        for path, text in self.item.home.items():
            name = self.fill(path)
            self._write(self.home / name, text, executable="bin/" in name)
        # A worktree gets the list from the repository.
        below = self.item.cwd if self.root in self.place.parents else ""
        listed = _list_files(self.item, self.layout)
        self.write({os.path.join(below, path): text for path, text in listed.items()})
        self.write(self.item.files)
        for path, target in self.item.links.items():
            place = self.root / self.fill(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(self.fill(target))
        if self.item.git:
            for words in ("init -q -b main", "add -A", "commit -q -m start"):
                self._must_do(["git", *words.split()])
        self.write(self.item.uncommitted)
        if self.item.setup:
            self.script(self.item.setup, env=self.person_env(), cwd=self.root)

    def write(self, texts: Mapping[str, str]) -> None:
        for path, text in texts.items():
            name = self.fill(path)
            self._write(self.root / name, text, executable=path in self.item.executable)

    def _write(self, place: Path, text: str, *, executable: bool = False) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        data = base64.b64decode(text[len(BYTES) :]) if text.startswith(BYTES) else self.fill(text).encode()
        place.write_bytes(data)
        if executable or text.startswith("#!"):
            place.chmod(0o755)

    def _shim(self) -> str:
        words = [str(PACKAGE)]
        if self._off:
            words = ["-c", switch.AGENTS_COMMAND, ",".join(self._off)]
        return f'#!/bin/sh\nexec {shlex.join([sys.executable, *words])} "$@"\n'

    # Who acts

    def person_env(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home), "PATH": self.path, "LANG": "C.UTF-8", "TMPDIR": str(self.folder / "tmp"),
            # A module that is written twice within a second and has one size would be taken from its cache.
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        return {**own, **self.filled(self.item.env)}

    def agent_env(self) -> dict[str, str]:
        return {
            **self.person_env(), **self.added, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.session,
            "CLAUDE_PID": str(os.getpid()), "AI_AGENT": "claude-code_2-1-325_agent",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }  # fmt: skip

    def start(self) -> None:
        """What the person types to begin the loop, with its checks approved."""
        words = ["start", "--session", self.session, "--yes"]
        ended = forked.run(lambda: self._program(words), env=self.person_env(), cwd=str(self.place))
        if ended.code:
            told = (ended.stderr or ended.stdout.decode("utf-8", "replace")).strip()
            raise SceneError(f"the loop did not begin: {told[-SHOWN:]}")

    def script(self, text: str, *, env: Mapping[str, str], cwd: Path | None = None) -> None:
        """A shell script where the loop is, until its shell has ended; what it left behind goes on."""
        place = self.folder / "said"
        with open(place, "wb") as said:
            process = subprocess.Popen(
                ["/bin/sh", "-c", "set -e\n" + self.fill(text)], cwd=cwd or self.place, env=dict(env),
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(SCRIPT_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
        if code:
            told = place.read_text(encoding="utf-8", errors="replace").strip()
            raise SceneError(f"a script of the entry ended with {code}: {told[-SHOWN:]}")

    def _must_do(self, words: list[str]) -> None:
        done = subprocess.run(
            words, cwd=self.root, env=self.person_env(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SceneError(f"`{shlex.join(words)}` failed: {done.stderr.strip()[-SHOWN:]}")

    def ask_hook(self, event: str, *, cwd: str = "", **fields: Any) -> dict[str, Any]:
        """The registered hook, as the client runs it; its answer."""
        folder = os.path.normpath(self.place / cwd)
        payload = {
            "session_id": self.session, "transcript_path": str(self.log.path), "cwd": folder,
            "hook_event_name": event, **fields,
        }  # fmt: skip
        marks = {"AI_AGENT": "claude-code_2-1-325_harness", "CLAUDE_PROJECT_DIR": str(self.root)}
        env = {**self.agent_env(), **marks}
        words = [traits(self.layout).plugin, self.layout]
        ended = forked.run(lambda: hook.main(words), env=env, cwd=folder, stdin=json.dumps(payload).encode())
        try:
            said = json.loads(ended.stdout or b"{}")
        except ValueError:
            said = None
        if ended.code < 0 and not ended.stdout:
            return {}  # somebody has ended it: nobody objects to the stop
        if ended.code or not isinstance(said, dict):
            raise SceneError(f"the hook ended with {ended.code}: {ended.stderr[-SHOWN:]}")
        return said

    def claim(self, task: str) -> None:
        """What an agent edits to say that a task is done."""
        place = self.place / self.list_file
        text, name = place.read_text(encoding="utf-8"), self.ids[task]
        if self.layout == FEATURES:
            listed = json.loads(text)
            for row in listed["features"]:
                row["passes"] = row.get("passes") or row.get("id") == name
            place.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
            return
        place.write_text(re.sub(rf"- \[ \] (?={re.escape(name)} )", "- [x] ", text), encoding="utf-8")
        state = place.with_name(traits(self.layout).files["state"])
        counted = json.loads(state.read_text(encoding="utf-8"))
        counted["taskIndex"] = list(self.ids).index(task) + 1
        state.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")


def _id(number: int, task: Task, layout: str) -> str:
    return task.id if layout == FEATURES else f"1.{number}"


def _list_file(layout: str) -> str:
    if layout == FEATURES:
        return f".ralph/loops/{LIST}/feature_list.json"
    return f"{_spec_places(layout)[0]}/{SPEC}/{traits(layout).files['tasks']}"


def _spec_places(layout: str) -> tuple[str, str]:
    specs, pointer = layout_of(layout).places("/", {})[0]
    return specs.lstrip("/"), pointer.lstrip("/")


def _list_files(item: Item, layout: str) -> dict[str, str]:
    """The task list in this layout, with its prompt or its counters."""
    if layout == FEATURES:
        rows = [_feature(task) for task in item.tasks]
        shared = {"verify": list(item.listed.verify), "protect": list(item.listed.protect)}
        listed = {**{key: value for key, value in shared.items() if value}, "features": rows}
        prompt = f".ralph/loops/{LIST}/RALPH_PROMPT.md"
        text = json.dumps(listed, indent=2, ensure_ascii=False) + "\n"
        return {_list_file(layout): text, prompt: "Work through the list.\n"}
    boxes = ["# Tasks", ""]
    for at, task in enumerate(item.tasks, 1):
        boxes += [f"- [ ] 1.{at} {_does(task)}", *(f"  - **Verify**: `{command}`" for command in task.verify)]
    counters = {"name": SPEC, "phase": "execution", "taskIndex": 0, "totalTasks": len(item.tasks),
                "globalIteration": 1}  # fmt: skip
    specs, pointer = _spec_places(layout)
    state = f"{specs}/{SPEC}/{traits(layout).files['state']}"
    return {
        _list_file(layout): "\n".join(boxes) + "\n", pointer: SPEC + "\n",
        state: json.dumps(counters, indent=2) + "\n",
    }  # fmt: skip


def _feature(task: Task) -> dict[str, Any]:
    said: dict[str, Any] = {
        "verify": list(task.verify), "depends_on": list(task.depends_on), "timeout_s": task.timeout_s,
        "needs_human": task.needs_human,
    }  # fmt: skip
    row = {"id": task.id, "description": _does(task), "passes": False}
    return {**row, **{key: value for key, value in said.items() if value}}


def _does(task: Task) -> str:
    return task.does or f"Do {task.id}"

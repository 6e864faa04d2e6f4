"""The live proof: the real client, a scripted model and a registered hook go through a loop of two tasks."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphloop.domain.model import COMPLETE
from ralphloop.engine.find import locate
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, call, text
from ralphloop.lab.scratch import client_env, interrupts_held, remove_old, scratch_folder, trust
from ralphloop.store import arming, shelf
from ralphloop.store.loop import JOURNAL
from ralphloop.tasklists.registry import layout as layout_of

PREFIX = "ralphloop-doctor-"
DEADLINE_S = 60.0
GRACE_S = 3.0
TAIL = 3  # lines of the client that a failure shows
PROMPT = "Work through the task list.\n"
LIST_FOLDER = ".ralph/loops/trial"
SPEC = "001-trial"
# A line means that all is well; the end of the pipe without one means that nobody is left to end the group.
LEASH = 'read -r _ || { kill -s TERM -- "-$1"; sleep "$2"; kill -s KILL -- "-$1"; }'
COUNTERS = {"phase": "execution", "taskIndex": 0, "totalTasks": 2, "globalIteration": 1}


@dataclass(frozen=True)
class Hooks:
    """How the client gets the hook: settings that are passed to it, folders of plugins, or both."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    plugins: Sequence[str] = ()

    def arguments(self) -> list[str]:
        given = ["--settings", json.dumps(self.settings)] if self.settings else []
        return given + [word for folder in self.plugins for word in ("--plugin-dir", folder)]


@dataclass(frozen=True)
class Trial:
    """What came of it; not `tried` if the client never asked the model, which says nothing of the hook."""

    proven: bool
    tried: bool
    stops: int
    seconds: float
    told: str
    tail: tuple[str, ...] = ()


def prove(
    client: str,
    hooks: Hooks,
    *,
    layout: str,
    path: str,
    python: str = "",
    deadline_s: float = DEADLINE_S,
) -> Trial:
    """Run the client in a home of its own; `python` is the interpreter that is recorded for the hook."""
    remove_old(PREFIX)
    with scratch_folder(f"{PREFIX}{os.getpid()}-") as folder:
        home, root = folder / "home", folder / "project"
        session = str(uuid.uuid4())
        with interrupts_held() as let_go, ModelServer(_script(layout)) as server:
            let_go()
            env = client_env(home, server.base_url, path=path)
            _furnish(root, home, layout=layout, env=env, python=python)
            _arm(root, layout=layout, env=env, session=session)
            words = [client, *_options(session), *hooks.arguments()]
            began = time.monotonic()
            code = _run(words, root, env=env, output=folder, deadline_s=deadline_s)
            seconds = time.monotonic() - began
            asked = len(server.main_requests)
        return _judge(folder, code=code, asked=asked, seconds=seconds, env=env)


def _options(session: str) -> list[str]:
    rights = ["--allowedTools", "Bash", "--permission-mode", "acceptEdits"]
    return ["-p", "--output-format", "stream-json", "--verbose", "--session-id", session, *rights]


def _files(layout: str, done: int) -> dict[str, str]:
    """The files of a list of two tasks, so many of them done; the first one is what the agent rewrites."""
    names, places = layout_of(layout).TRAITS.files, layout_of(layout).places("/", {})
    if not places:
        listed = [{"id": f"F{n}", "description": f"Task {n}", "passes": n <= done} for n in (1, 2)]
        features = json.dumps({"features": listed}, indent=2) + "\n"
        return {f"{LIST_FOLDER}/{names['list']}": features, f"{LIST_FOLDER}/{names['prompt']}": PROMPT}
    specs, pointer = (path.lstrip("/") for path in places[0])
    boxes = "".join(f"- [{'x' if n <= done else ' '}] 1.{n} Task {n}\n" for n in (1, 2))
    folder, state = f"{specs}/{SPEC}", json.dumps({"name": SPEC, **COUNTERS}, indent=2) + "\n"
    return {f"{folder}/{names['tasks']}": boxes, pointer: SPEC + "\n", f"{folder}/{names['state']}": state}


def _script(layout: str) -> list[Reply]:
    """The agent does one task and stops, and the other one if it is sent on."""
    replies = []
    for done in (1, 2):
        file, content = next(iter(_files(layout, done).items()))
        write = f"printf %s {shlex.quote(content)} > {file}"
        replies += [call("Bash", command=write, description="do a task"), text(f"Task {done} is done.")]
    return replies


def _furnish(root: Path, home: Path, *, layout: str, env: Mapping[str, str], python: str) -> None:
    home.mkdir()
    root.mkdir()
    trust(home, root)
    for name, content in _files(layout, 0).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    git = shutil.which("git", path=env["PATH"])
    if git is not None:
        subprocess.run(
            [git, "init", "--quiet"], cwd=root, env=dict(env), check=False, stdin=subprocess.DEVNULL
        )
    if python:
        state = Path(shelf.home(env))
        state.mkdir(parents=True)
        (state / "python").write_text(python + "\n", encoding="utf-8")


def _arm(root: Path, *, layout: str, env: Mapping[str, str], session: str) -> None:
    (source,) = locate(layout, str(root), env)
    arming.arm(source, shelf.Shelf(str(root), env), session=session, started=True)


def _run(
    words: Sequence[str], root: Path, *, env: Mapping[str, str], output: Path, deadline_s: float
) -> int | None:
    """The client's exit code; None if it was still running at the deadline, or could not be started."""
    with open(output / "stdout", "wb") as out, open(output / "stderr", "wb") as errors:
        try:
            process = subprocess.Popen(
                words,
                cwd=root,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            errors.write(str(error).encode())
            return None
        with _leash(process.pid):
            try:
                process.communicate(PROMPT.encode(), timeout=deadline_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)
    return process.returncode


@contextlib.contextmanager
def _leash(group: int) -> Iterator[None]:
    """While this holds, the group ends with us, however we go; afterwards it is left to itself."""
    watcher = subprocess.Popen(
        ["/bin/sh", "-c", LEASH, "sh", str(group), format(GRACE_S, ".0f")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        watcher.communicate(b"\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the client with all that it started, if it is still there."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def _judge(folder: Path, *, code: int | None, asked: int, seconds: float, env: Mapping[str, str]) -> Trial:
    root = folder / "project"
    stops = sum(entry.get("event") == "stop" for entry in _lines(root.glob(f".ralph/run/*/{JOURNAL}")))
    outcomes = [entry.get("outcome") for entry in _lines(root.glob(".ralph/run/*/loop.json"), whole=True)]
    told = _told(code, asked=asked, stops=stops, outcome=outcomes[0] if outcomes else None)
    proven = not told and stops > 1
    if proven:
        told = f"the hook fired and continued ({stops} stops, {seconds:.1f} s)"
    return Trial(proven, asked > 0, stops, seconds, told, () if proven else _tail(folder, env))


def _told(code: int | None, *, asked: int, stops: int, outcome: object) -> str:
    """What went wrong; empty if nothing did."""
    if not asked:
        ended = "did not end" if code is None else f"ended with exit code {code}"
        return f"the client {ended} before it asked the model anything"
    if code is None:
        return f"the client did not end in time ({stops} stops seen)"
    if not stops:
        return "the hook did not fire: the client ended its turn with a task open"
    if outcome != COMPLETE:
        return f"the hook fired, but the loop is {outcome or 'still open'} after {stops} stops"
    return "" if stops > 1 else "the hook fired only once for two tasks"


def _lines(files: Any, *, whole: bool = False) -> list[dict[str, Any]]:
    """The objects in these files: one per line, or the whole file as one."""
    found = []
    for file in files:
        content = file.read_text(encoding="utf-8", errors="replace")
        for part in [content] if whole else content.splitlines():
            try:
                entry = json.loads(part)
            except ValueError:
                continue
            found.append(entry if isinstance(entry, dict) else {})
    return found


def _tail(folder: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """The last things that were said: by the client, and by the hook about a fault of its own."""
    results = [str(event["result"]) for event in _lines([folder / "stdout"]) if event.get("result")]
    said = results[-1:]
    for file in (folder / "stderr", Path(shelf.home(env)) / "errors.log"):
        if file.exists():
            said.append(file.read_text(encoding="utf-8", errors="replace"))
    lines = [line.strip() for part in said for line in part.splitlines() if line.strip()]
    return tuple(lines[-TAIL:])

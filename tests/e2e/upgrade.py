"""Loops that an earlier version began, laid out from files, and gone on with by command lines alone.

Nothing of the package is imported: an older or newer one lies where it lies, and is started. A scene in
`tests/data/<version>/` holds the files of one project and its home as that version left them, and in `told/`
what its own commands said of them. A leading dot of a name is written `dot_`, so that neither git nor a
client takes these files for its own. Marks stand for what belongs to a place, and are filled in here:

    {{ROOT}} {{HOME}}    the project and the home; the folder `by-path/ROOT` mirrors the path of the one,
                         `installs/HOME` that of the other
    {{PACKAGE}}          the package under test, where a registered line or a reason names it
    {{PYTHON}}           this interpreter, which the state directory names for the hooks
    {{FOLDER}}           by what an approval knows the project's folder: its number and time of birth
    {{SIGNATURE path}}   times, size and number of a task file: `files_seen`, and the key of the cursor
    {{INODE path}}       the number of a transcript, by which the count of tokens knows it again
    {{SHA256 path}}      the digest of an evidence file, which names the folder that its check ran in

Every time that a scene tells of is moved by the same whole seconds, so that it was saved just now: the
running time of a loop goes on while nobody looks, a word that was typed is good for minutes, and no clock may
be behind the files. Besides, a stamp gets the time of the file that it is about, what is ours alone gets its
modes, and a repository is made from its export.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from e2e.upgrade_client import append, turn_entries, user_entry

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
CLIENT = Path(__file__).with_name("upgrade_client.py")
PYTHON = os.path.realpath(sys.executable)
OWNER = "0f6b1f5e-8f0a-4c62-9c1e-000000000001"
PLUGINS = {"features": "ralphloop", "specum": "ralph-specum", "speckit": "ralph-speckit"}
SETTINGS = "settings"  # the registration that `install` makes
MARK = re.compile(r"\{\{([A-Z0-9]+)(?: ([^}]+))?\}\}")
# A time as the journal and the transcripts have it, as logs have it, and as the state has it.
MOMENT = re.compile(r"\b(20\d\d-\d\d-\d\d)([T ])(\d\d:\d\d:\d\d)|\b(1\d{9})(?=\.\d)")
NEAR_S = 2 * 86400.0


# Several commands in one process: starting one costs more than all that it does.
IN_ONE = """
import contextlib, io, json, runpy, sys
said = []
for words in json.loads(sys.argv[1]):
    out, sys.argv = io.StringIO(), ["ralphloop", *words]
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_module("ralphloop", run_name="__main__")
        except SystemExit as ended:
            said.append([ended.code or 0, out.getvalue(), ""])
print(json.dumps(said))
"""


class Version(NamedTuple):
    """One version of the package, and the hook lines under which a client knows it."""

    words: tuple[str, ...]  # how its command line begins
    package: Path
    plugins: Path
    hooks: str  # the hooks file of a plugin, by its name


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass
class Answer:
    """What one run of a hook said."""

    stdout: str
    stderr: str
    said: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.said = json.loads(self.stdout) if self.stdout else {}

    @property
    def blocks(self) -> bool:
        return self.said.get("decision") == "block"

    @property
    def reason(self) -> str:
        return str(self.said.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.said.get("systemMessage", ""))

    @property
    def task(self) -> str:
        """The task that the session is sent to."""
        return self.reason.rpartition("go on with task ")[2].partition(" ")[0]


class Place:
    """A project with a home of its own, and one session in it."""

    def __init__(self, base: Path, version: Version, *, registration: str = SETTINGS) -> None:
        self.base = base.resolve()
        self.version = version
        self.registration = registration
        self.root = self.base / "my project"
        self.home = self.base / "home"
        self.bin = self.base / "bin"
        self.session = OWNER
        self.prompt = str(uuid.uuid4())
        self.stops = 0
        for made in (self.root, self.home, self.bin):
            made.mkdir()

    # Files

    @property
    def state(self) -> Path:
        return self.home / ".local" / "state" / "ralphloop"

    @property
    def transcript(self) -> Path:
        return self.home / ".claude" / "projects" / "-my-project" / f"{self.session}.jsonl"

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def make(self, *tasks: str) -> None:
        """Do what the checks of these tasks look for."""
        for task in tasks:
            self.write(f"made/{task}", task + "\n")

    def change(self, path: str, edit: Callable[[dict[str, Any]], None]) -> None:
        data = json.loads((self.root / path).read_text())
        edit(data)
        self.write(path, json.dumps(data, indent=2) + "\n")

    # The command line

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        path = os.pathsep.join([str(self.bin), os.path.dirname(PYTHON), "/usr/bin", "/bin"])
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TZ": "UTC", **(extra or {})}

    @property
    def agent(self) -> dict[str, str]:
        """What the client puts into the environment of its agent's commands; on PATH is a plugin's `bin`."""
        marks = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.session}
        if self.registration == SETTINGS:
            return marks
        own = str(self.version.plugins / self.registration / "bin")
        return {**marks, "PATH": os.pathsep.join([own, self.env()["PATH"]])}

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        return self.call([*self.version.words, *words], env=env)

    def call(self, words: list[str], *, env: Mapping[str, str] | None = None) -> Done:
        done = subprocess.run(
            words, cwd=self.root, env=self.env(env), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=100, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def fine(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        done = self.run(*words, env=env)
        assert (done.code, done.err) == (0, ""), (words, done)
        return done.out

    def read(self, *commands: tuple[str, ...], env: Mapping[str, str] | None = None) -> list[Done]:
        """What the package that is installed says to each of these."""
        done = self.call([sys.executable, "-c", IN_ONE, json.dumps(commands)], env=env)
        assert (done.code, done.err) == (0, ""), done
        return [Done(*said) for said in done.data]

    def status(self) -> dict[str, Any]:
        (loop,) = json.loads(self.fine("status", "--json"))["loops"]
        assert isinstance(loop, dict)
        return loop

    def tasks(self) -> dict[str, str]:
        return {task["id"]: task["state"] for task in self.status()["tasks"]}

    def install_client(self) -> None:
        """`claude` on PATH is the scripted one; `ralphloop` is this version."""
        programs = {"claude": [PYTHON, str(CLIENT)], "ralphloop": [*self.version.words]}
        for name, words in programs.items():
            program = self.bin / name
            quoted = " ".join(f"'{word}'" for word in words)
            program.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
            program.chmod(0o755)

    # The hooks

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def registered(self) -> dict[str, list[Any]]:
        """The groups of hooks that are registered for each event."""
        own = self.registration == SETTINGS
        path = self.settings if own else Path(self.version.hooks.format(self.registration))
        found = json.loads(path.read_text())["hooks"]
        assert isinstance(found, dict)
        return found

    def line(self, event: str, *, group: int = 0) -> str:
        return str(self.registered()[event][group]["hooks"][0]["command"])

    def hook_env(self) -> dict[str, str]:
        marks = {"CLAUDE_PROJECT_DIR": str(self.root), "CLAUDE_CODE_SESSION_ID": self.session}
        if self.registration != SETTINGS:
            marks["CLAUDE_PLUGIN_ROOT"] = str(self.version.plugins / self.registration)
        return self.env(marks)

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        return {
            "hook_event_name": event,
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.root),
            "prompt_id": self.prompt,
            "permission_mode": "default",
            **fields,
        }

    def hook(
        self, event: str, *, group: int = 0, env: Mapping[str, str] | None = None, **fields: Any
    ) -> Answer:
        """Run what is registered for this event, as the client does."""
        done = subprocess.run(
            ["/bin/sh", "-c", self.line(event, group=group)], input=json.dumps(self.payload(event, **fields)),
            cwd=self.root, env={**self.hook_env(), **(env or {})}, capture_output=True, text=True,
            timeout=100, check=False,
        )  # fmt: skip
        errors = self.state / "errors.log"
        assert done.returncode == 0, done
        assert "Traceback" not in done.stderr, done.stderr
        assert not errors.exists(), errors.read_text()
        return Answer(done.stdout, done.stderr)

    def stop(self, said: str) -> Answer:
        self.stops += 1
        told = {"stop_hook_active": self.stops > 1, "last_assistant_message": said, "background_tasks": []}
        return self.hook("Stop", **told)

    def turn(self, said: str) -> Answer:
        """A tool call, a word about it, and the stop."""
        append(self.transcript, *turn_entries(said))
        return self.stop(said)

    def new_prompt(self, text: str = "go on") -> None:
        """The person typed something."""
        append(self.transcript, user_entry(text))
        self.prompt, self.stops = str(uuid.uuid4()), 0


# Laying a scene out


class Scene(Place):
    """A scene of an earlier version, with the package of today in that one's place."""

    def __init__(self, base: Path, name: str, *, version: str, today: Version) -> None:
        self.folder = DATA / version / name
        self.about = json.loads((self.folder / "scene.json").read_text())
        super().__init__(base, today, registration=self.about["registration"])
        self.session, self.prompt, self.stops = (
            self.about["session"],
            self.about["prompt"],
            self.about["stops"],
        )
        self._shift_s = int(time.time() - self.about["saved_at"])
        self._lay_out()

    @property
    def kept(self) -> Path:
        """What the loop keeps out of the agent's reach."""
        (folder,) = self.mirror.glob("@ralph/kept/*/loop.json")
        return folder.parent

    @property
    def mirror(self) -> Path:
        return self.state / "by-path" / str(self.root).lstrip("/")

    @property
    def run_folder(self) -> Path:
        return self.root / ".ralph" / "run" / self.kept.name

    def journal(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run_folder / "journal.jsonl").read_text().splitlines()]

    def loop(self) -> dict[str, Any]:
        value = json.loads((self.kept / "loop.json").read_text())
        assert isinstance(value, dict)
        return value

    def told(self, name: str) -> str:
        """What the earlier version said of this scene."""
        return self._filled(self._moved((self.folder / "told" / name).read_text()))

    def _lay_out(self) -> None:
        late = []
        for source, place in self._places():
            place.parent.mkdir(parents=True, exist_ok=True)
            text = self._filled(self._moved(source.read_bytes().decode()), late=False)
            place.write_bytes(text.encode())
            if MARK.search(text):
                late.append(place)
        self._set_modes()
        self._restore_repository()
        for place in late:  # by now every file is there that a digest or a signature is about
            place.write_bytes(self._filled(place.read_bytes().decode()).encode())
        self._date_stamps()

    def _places(self) -> Iterator[tuple[Path, Path]]:
        for part, top in (("project", self.root), ("home", self.home)):
            for source in sorted((self.folder / part).rglob("*")):
                if source.is_file():
                    name = source.relative_to(self.folder / part).as_posix()
                    yield source, top / mirrored(plain_name(name), self.root, self.home)

    def _set_modes(self) -> None:
        """What is ours alone nobody else may look into."""
        for top in (self.state, self.root / ".ralph" / "run"):
            for path in (top, *top.rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)

    def _filled(self, text: str, *, late: bool = True) -> str:
        def value(mark: re.Match[str]) -> str:
            name, about = mark.groups()
            if name in LATE and not late:
                return mark[0]
            return self._value(name, about or "")

        return MARK.sub(value, text)

    def _value(self, name: str, about: str) -> str:
        known = {"ROOT": self.root, "HOME": self.home, "PACKAGE": self.version.package, "PYTHON": PYTHON}
        if name in known:
            return str(known[name])
        if name == "FOLDER":
            return identity(self.root)
        part, _, path = about.partition("/")
        file = {"project": self.root, "home": self.home}[part] / path
        return LATE[name](file)

    def _moved(self, text: str) -> str:
        """The text with its times as they would be, had the scene been saved just now."""

        def later(found: re.Match[str]) -> str:
            day, between, clock, seconds = found.groups()
            if seconds:
                is_near = abs(int(seconds) - self.about["saved_at"]) < NEAR_S
                return str(int(seconds) + self._shift_s) if is_near else seconds
            moment = datetime.fromisoformat(f"{day}T{clock}") + timedelta(seconds=self._shift_s)
            return moment.isoformat(between)

        return MOMENT.sub(later, text)

    def _restore_repository(self) -> None:
        export = self.folder / "repository.export"
        if not export.exists():
            return
        for words in (
            ["init", "--quiet"],
            ["fast-import", "--quiet"],
            ["symbolic-ref", "HEAD", f"refs/heads/{self.about['branch']}"],
            ["reset", "--quiet"],
        ):
            given = export.read_bytes() if "fast-import" in words else b""
            subprocess.run(["git", *words], cwd=self.root, env=self.env(), input=given, check=True)

    def _date_stamps(self) -> None:
        """A stamp holds as long as its time is that of the file which it mirrors."""
        for place in self.mirror.rglob("*"):
            original = self.root / place.relative_to(self.mirror)
            if place.is_file() and "@ralph" not in place.parts and original.is_file():
                at = original.stat().st_mtime_ns
                os.utime(place, ns=(at, at))


def plain_name(name: str) -> str:
    """The name of a saved file as it was."""
    return "/".join(
        "." + part[len("dot_") :] if part.startswith("dot_") else part for part in name.split("/")
    )


def saved_name(name: str) -> str:
    """The name under which a file is saved."""
    return "/".join("dot_" + part[1:] if part.startswith(".") else part for part in name.split("/"))


def mirrored(name: str, root: object, home: object) -> str:
    """The path of a file below a home, with the folders in place that mirror a path."""
    return name.replace("by-path/ROOT", f"by-path{root}", 1).replace("installs/HOME", f"installs{home}", 1)


def signature(path: Path) -> str:
    """As 0.3.1 knows a task file again."""
    stat = path.stat()
    return f"{stat.st_mtime_ns}.{stat.st_ctime_ns}.{stat.st_size}.{stat.st_ino}"


def inode(path: Path) -> str:
    return str(path.stat().st_ino)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# What can be told only of a file that is there.
LATE: dict[str, Callable[[Path], str]] = {"SIGNATURE": signature, "INODE": inode, "SHA256": sha256}


def identity(folder: Path) -> str:
    """As 0.3.1 knows a folder again: its number, and when it was made as far as the system tells."""
    stat = folder.stat()
    birth = getattr(stat, "st_birthtime", None)
    return f"{stat.st_ino}.{_birth(folder) if birth is None else repr(birth)}"


def _birth(folder: Path) -> str:
    answer = ctypes.create_string_buffer(256)  # struct statx; what is asked for is STATX_BTIME
    try:
        failed = ctypes.CDLL(None).statx(-100, os.fsencode(folder), 0, 0x800, answer)
    except (OSError, AttributeError):
        return ""
    told = int.from_bytes(answer.raw[0:4], sys.byteorder) & 0x800
    return answer.raw[80:92].hex() if told and not failed else ""

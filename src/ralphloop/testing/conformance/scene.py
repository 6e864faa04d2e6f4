"""The place of one case: a scratch project and home, the sessions there, and what placeholders mean."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

from ralphloop.domain.model import FEATURES, LAYOUTS, SPECKIT, SPECUM
from ralphloop.hook.belongings import HOME, LOGS, ROOT
from ralphloop.hook.find import locate
from ralphloop.tasklists.registry import own_file
from ralphloop.testing.conformance.case import ANY, Case
from ralphloop.testing.session_log import SessionLog

BYTES = "base64:"
ROOT_NAME, HOME_NAME = "my project (1)", "home of me"  # hooks meet such names
GIT_NAME = ("-c", "user.name=Tester", "-c", "user.email=tester@example.invalid", "-c", "commit.gpgsign=false")
OWN_NAMES = {FEATURES: "feature_list.json", SPECUM: ".ralph-state.json", SPECKIT: ".speckit-state.json"}
# A task that the session marked, and took back, so that the list is as it is on disk.
MARKS = ('"passes": false', '"passes": true', '"passes": false')
ELSE = "Look at something else here."

_ISO = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_EPOCH = re.compile(r'("\w+_at":\s*)(\d{10}(?:\.\d+)?)')


class SceneError(Exception):
    """A case that cannot be set up as it says."""


@dataclass
class Session:
    """One session of the client: its transcript, and where it stands within a prompt of the person."""

    id: str
    log: SessionLog
    prompt: str = ""
    asked: str = ""  # typed, as the prompt hook was told
    begun: bool = False
    active: bool = False  # a hook has sent it on, within this prompt


@dataclass(frozen=True)
class Seen:
    """One file as it is."""

    kind: str
    mode: int
    changed_ns: int
    data: bytes = field(repr=False)


class Scene:
    """A folder with a project and a home; nothing else of the machine is in it."""

    def __init__(self, folder: Path, *, shift_s: float = 0.0) -> None:
        self.folder = folder
        self.root = folder / ROOT_NAME
        self.home = folder / HOME_NAME
        self.shift_s = shift_s
        self.root.mkdir(parents=True)
        self.home.mkdir()
        self.logs = str(SessionLog(self.home, self.root, "any").path.parent)
        self._sessions: dict[str, Session] = {}

    def session(self, name: str) -> Session:
        if name not in self._sessions:
            made = str(uuid.uuid4())
            self._sessions[name] = Session(made, SessionLog(self.home, self.root, made))
        return self._sessions[name]

    def fill(self, text: str) -> str:
        """The text with paths and ids where placeholders were."""
        filled = text.replace(LOGS, self.logs)
        filled = filled.replace(ROOT, str(self.root)).replace(HOME, str(self.home))
        return re.sub(r"@([A-Z])@", lambda found: self.session(found[1]).id, filled)

    def blank(self, text: str) -> str:
        """The inverse: the text with placeholders where paths and ids were."""
        blanked = text.replace(self.logs, LOGS)
        blanked = blanked.replace(str(self.root), ROOT).replace(str(self.home), HOME)
        for name, session in self._sessions.items():
            blanked = blanked.replace(session.id, f"@{name}@")
        return blanked

    def fill_all(self, value: Any) -> Any:
        """The same for every text in a value, keys too."""
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, Mapping):
            return {self.fill(key): self.fill_all(item) for key, item in value.items()}
        return [self.fill_all(item) for item in value] if isinstance(value, (list, tuple)) else value

    def path(self, text: str) -> Path:
        """A path of a case: below the project, or below the home where it begins with that."""
        place = Path(os.path.normpath(self.root / self.fill(text)))
        if not any(top in (place, *place.parents) for top in (self.root, self.home)):
            raise SceneError(f"{text} lies outside the project and the home")
        return place

    def _to_change(self, text: str, *, itself: bool = False) -> Path:
        """The same for a file that is changed: no link of a case leads the change out of the scene."""
        place = self.path(text)
        real = Path(os.path.realpath(place.parent if itself else place))
        if Path(os.path.realpath(self.folder)) not in real.parents:
            raise SceneError(f"{text} leads outside the project and the home")
        return place

    def name(self, text: str) -> str:
        """A path or glob of a case by the name that `look` has for it."""
        filled = self.fill(text)
        for top, prefix in ((self.home, HOME), (self.root, "")):
            if filled.startswith(f"{top}/"):
                return (prefix + filled[len(str(top)) :]).lstrip("/")
        return filled

    def lay(self, case: Case) -> None:
        """The files, links and repository that the case begins with."""
        if case.project:
            shutil.copytree(case.projects / case.project, self.root, symlinks=True, dirs_exist_ok=True)
        self.write(case.files)
        self.write({f"{HOME}/{path}": text for path, text in case.home.items()})
        for path, target in case.links.items():
            place = self._to_change(path, itself=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(self.fill(target))
        if case.git:
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
                self.git(*words)

    def git(self, *words: str) -> None:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", *GIT_NAME, *words]
        done = subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SceneError(f"git {words[0]} failed: {done.stderr.strip()}")

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            place = self._to_change(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self.data(text))

    def data(self, text: str) -> bytes:
        """What a text of a case stands for, as bytes; other bytes than UTF-8 are given as base64."""
        if text.startswith(BYTES):
            return base64.b64decode(text[len(BYTES) :])
        return self.moved(self.fill(text)).encode()

    def moved(self, text: str) -> str:
        """Every time in a recorded text, as much later as has passed since."""
        if not self.shift_s:
            return text
        later = _ISO.sub(lambda found: _iso(_moment(found[0]) + timedelta(seconds=self.shift_s)), text)
        return _EPOCH.sub(lambda found: f"{found[1]}{float(found[2]) + self.shift_s}", later)

    def replace(self, path: str, old: str, new: str) -> None:
        place = self._to_change(path)
        before, old = place.read_bytes().decode(), self.fill(old)
        if old not in before:
            raise SceneError(f"{path} does not have the text to replace: {old!r}")
        place.write_bytes(before.replace(old, self.fill(new)).encode())

    def remove(self, path: str) -> None:
        place = self._to_change(path, itself=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()

    def look(self) -> dict[str, Seen]:
        """Every file and folder of the project and the home, by its path as a case writes it."""
        found: dict[str, Seen] = {}
        for top, prefix in ((self.root, ""), (self.home, HOME + "/")):
            for folder, folders, names in os.walk(top):
                for path in (Path(folder, name) for name in (*folders, *names)):
                    with contextlib.suppress(FileNotFoundError):  # a temporary file of somebody
                        found[prefix + path.relative_to(top).as_posix()] = _seen(path)
        return found

    def begin(self, session: Session, owned: Path | None) -> None:
        """The opening of a transcript: what was asked, and how the list was made if it is this session's."""
        told = owned.parent / "RALPH_PROMPT.md" if owned else None
        prompt = told.read_text(encoding="utf-8") if told and told.is_file() else ""
        plan = f"Work through {owned}." if owned else ELSE
        session.log.asked(session.asked or prompt or plan)
        if owned is None or not owned.is_file():
            return
        text = owned.read_text(encoding="utf-8", errors="replace")
        file = {"file_path": str(owned)}
        session.log.used_tool("Write", {**file, "content": text}, result="ok", failed=False)
        if owned.name == OWN_NAMES[FEATURES]:
            # Writing a list is also how one is planned; a task that was marked is work on it.
            for old, new in pairwise(MARKS):
                edit = {**file, "old_string": old, "new_string": new}
                session.log.used_tool("Edit", edit, result="ok", failed=False)

    def lists(self, layout: str, env: Mapping[str, str]) -> list[Path]:
        """The task lists of the project, the one that its pointer names first."""
        layouts = LAYOUTS if layout == ANY else (layout,)
        found = [Path(own_file(source)) for name in layouts for source in locate(name, str(self.root), env)]
        for name in layouts:
            found += sorted(self.root.rglob(OWN_NAMES[name]))
        return found

    def add_line(self, session: Session, line: Any) -> None:
        """A raw line of a transcript: a table, or a text as it is."""
        path = session.log.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(line, Mapping):
            # moved with the times of a recorded line, to now
            now = datetime.now(timezone.utc) - timedelta(seconds=self.shift_s)
            line = json.dumps({"timestamp": _iso(now), **line})
        with path.open("ab") as lines:
            lines.write(self.data(str(line)) + b"\n")


def _seen(path: Path) -> Seen:
    stat = path.lstat()
    if path.is_symlink():
        return Seen("link", 0, 0, os.readlink(path).encode())
    if path.is_dir():
        return Seen("folder", stat.st_mode, 0, b"")
    data = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else b""
    return Seen("file", stat.st_mode, stat.st_mtime_ns, data)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def since(recorded_at: str) -> float:
    """Seconds since a case was recorded; 0 for one that was not."""
    if not recorded_at:
        return 0.0
    return (datetime.now(timezone.utc) - _moment(recorded_at)).total_seconds()

"""The place of one case: a scratch project and home, the sessions there, and what placeholders mean."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

from ralphloop.engine.find import locate
from ralphloop.errors import SceneError
from ralphloop.hook.stop_files import HOME, LOGS, ROOT
from ralphloop.lab.conformance import regular_file
from ralphloop.lab.conformance.case import ANY, Case
from ralphloop.lab.session_log import SessionLog
from ralphloop.tasklists.registry import LAYOUTS, own_file, traits

BYTES = "base64:"
ROOT_NAME, HOME_NAME = "my project (1)", "home of me"  # hooks meet such names
GIT_SETTINGS = (
    "-c", "user.name=Tester", "-c", "user.email=tester@example.invalid", "-c", "commit.gpgsign=false",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
)  # fmt: skip
# No settings but those: a case could name a command there.
GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
LARGE = 8 * 1024 * 1024  # of a larger file only size and time are looked at
LIST = "feature_list.json"
# A task that the session marked, and took back, so that the list is as it is on disk.
MARKS = ('"passes": false', '"passes": true', '"passes": false')
ELSE = "Look at something else here."

_ISO = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_LIKE_HOME = re.compile(rf"\\*{HOME}")
_EPOCH = re.compile(r'("\w+_at":\s*)(\d{10}(?:\.\d+)?)')


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
            log = SessionLog(self.home, self.root, made, append=self._append)
            self._sessions[name] = Session(made, log)
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
        """`fill` for every text in a value."""
        return in_texts(self.fill, value)

    def path(self, text: str) -> Path:
        """A path of a case: below the project, or below the home where it begins with that."""
        place = Path(os.path.normpath(self.root / self.fill(text)))
        if not any(top in (place, *place.parents) for top in (self.root, self.home)):
            raise SceneError(f"{text} lies outside the project and the home")
        return place

    def inside(self, text: str, *, itself: bool = False) -> Path:
        """The same without links, of a case or a hook, so that none leads a change out of the scene."""
        place = self.path(text)
        real = Path(os.path.realpath(place.parent), place.name) if itself else Path(os.path.realpath(place))
        if not self._holds(real):
            raise SceneError(f"{text} leads outside the project and the home")
        return real

    def _holds(self, place: Path) -> bool:
        return Path(os.path.realpath(self.folder)) in place.parents

    def _append(self, path: Path, data: bytes) -> None:
        place = self.inside(str(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        regular_file.append(place, data)

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
            place = self.inside(path, itself=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(self.fill(target))
        self._refuse_repositories(links_too=case.git)
        if case.git:
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
                self.git(*words)

    def _refuse_repositories(self, *, links_too: bool) -> None:
        """The settings of one could name commands; the link of a worktree matters where our git goes."""
        for folder, folders, names in os.walk(self.root):
            for name in (*folders, *names):
                place = Path(folder, name)
                if name.lower() == ".git" and (links_too or place.is_dir()):
                    told = f"{place.relative_to(self.root)} is not for a case to bring"
                    raise SceneError(f"{told}; `git = true` makes a repository")

    def git(self, *words: str) -> None:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), **GIT_ENV}
        command = ["git", *GIT_SETTINGS, *words]
        done = subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SceneError(f"git {words[0]} failed: {done.stderr.strip()}")

    def write(self, texts: Mapping[str, str]) -> None:
        for path, text in texts.items():
            place = self.inside(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            regular_file.write(place, self.data(text))

    def data(self, text: str) -> bytes:
        """What a text of a case stands for, as bytes; other bytes than UTF-8 are given as base64."""
        if text.startswith(BYTES):
            return base64.b64decode(text[len(BYTES) :], validate=True)
        return self.moved(self.fill(text)).encode()

    def moved(self, text: str) -> str:
        """Every time in a recorded text, as much later as has passed since."""
        if not self.shift_s:
            return text
        later = _ISO.sub(lambda found: _iso(_moment(found[0]) + timedelta(seconds=self.shift_s)), text)
        return _EPOCH.sub(lambda found: f"{found[1]}{float(found[2]) + self.shift_s}", later)

    def replace(self, path: str, old: str, new: str) -> None:
        place = self.inside(path)
        before, old = regular_file.read(place).decode(), self.fill(old)
        if old not in before:
            raise SceneError(f"{path} does not have the text to replace: {old!r}")
        regular_file.write(place, before.replace(old, self.fill(new)).encode())

    def remove(self, path: str) -> None:
        place = self.inside(path, itself=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()

    def look(self) -> dict[str, Seen]:
        """Every file and folder of the project and the home, by its path as a case writes it."""
        found = {_in_project(path): seen for path, seen in _all_in(self.root)}
        found.update((f"{HOME}/{path}", seen) for path, seen in _all_in(self.home))
        return found

    def begin(self, session: Session, owned: Path | None) -> None:
        """The opening of a transcript: what was asked, and how the list was made if it is this session's."""
        prompt = self._text(owned.parent / "RALPH_PROMPT.md") if owned else ""
        plan = f"Work through {owned}." if owned else ELSE
        session.log.asked(session.asked or prompt or plan)
        text = self._text(owned) if owned else None
        if owned is None or text is None:
            return
        file = {"file_path": str(owned)}
        session.log.used_tool("Write", {**file, "content": text}, result="ok", failed=False)
        if owned.name == LIST:
            # Writing a list is also how one is planned; a task that was marked is work on it.
            for old, new in pairwise(MARKS):
                edit = {**file, "old_string": old, "new_string": new}
                session.log.used_tool("Edit", edit, result="ok", failed=False)

    def _text(self, path: Path) -> str | None:
        """Of a regular file of the scene."""
        real = Path(os.path.realpath(path))
        is_there = self._holds(real) and real.is_file()
        return regular_file.read(real).decode("utf-8", "replace") if is_there else None

    def lists(self, layout: str, env: Mapping[str, str]) -> list[Path]:
        """The task lists of the project, the one that its pointer names first."""
        layouts = LAYOUTS if layout == ANY else (layout,)
        found = [Path(own_file(source)) for name in layouts for source in locate(name, str(self.root), env)]
        for name in layouts:
            found += sorted(self.root.rglob(traits(name).files[traits(name).own]))
        return found

    def add_line(self, session: Session, line: Any) -> None:
        """A raw line of a transcript: a table, or a text as it is."""
        if isinstance(line, Mapping):
            # moved with the times of a recorded line, to now
            now = datetime.now(timezone.utc) - timedelta(seconds=self.shift_s)
            line = json.dumps({"timestamp": _iso(now), **line})
        self._append(session.log.path, self.data(str(line)) + b"\n")


def in_texts(change: Callable[[str], str], value: Any) -> Any:
    """The value with every text in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): in_texts(change, item) for key, item in value.items()}
    return [in_texts(change, item) for item in value] if isinstance(value, (list, tuple)) else value


def _in_project(path: str) -> str:
    """A folder of the project may be called like the home; a backslash tells them apart."""
    return "\\" + path if _LIKE_HOME.match(path) else path


def _all_in(top: Path) -> Iterator[tuple[str, Seen]]:
    for folder, folders, names in os.walk(top):
        for path in (Path(folder, name) for name in (*folders, *names)):
            with contextlib.suppress(FileNotFoundError):  # a temporary file of somebody
                yield path.relative_to(top).as_posix(), _seen(path)


def _seen(path: Path) -> Seen:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return Seen("link", 0, 0, os.fsencode(os.readlink(path)))
    if stat.S_ISDIR(found.st_mode):
        return Seen("folder", found.st_mode, 0, b"")
    if not stat.S_ISREG(found.st_mode):
        return Seen("other", found.st_mode, 0, b"")
    if found.st_size > LARGE:
        return Seen("large file", found.st_mode, found.st_mtime_ns, str(found.st_size).encode())
    data = regular_file.read(path) if os.access(path, os.R_OK) else b""
    return Seen("file", found.st_mode, found.st_mtime_ns, data)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def since(recorded_at: str) -> float:
    """Seconds since a case was recorded; 0 for one that was not."""
    if not recorded_at:
        return 0.0
    try:
        return (datetime.now(timezone.utc) - _moment(recorded_at)).total_seconds()
    except (ValueError, TypeError):  # no time, or one of no zone
        raise SceneError(f"`recorded_at` is {recorded_at!r}; it is like 2026-01-31T12:00:00Z") from None

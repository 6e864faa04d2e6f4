"""A project with a stage to run commands in, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ralphloop
from ralphloop.proof.apart import Apart
from ralphloop.proof.checker import Ran

ROOT, ORDINARY = "root", "ordinary"
# Nobody has these: neither an account of the machine nor another test.
USER, GROUP, SHARED_GROUP = 20731, 20731, 20732
SOURCE = Path(ralphloop.__file__).parent.parent
GIT = shutil.which("git") or "git"

ACTOR = """
import json, sys
from ralphloop.proof.apart import Stage
from ralphloop.proof.checker import run, stage_trouble
asked = json.load(sys.stdin)
if "trouble" in asked:
    print(json.dumps(stage_trouble(asked["trouble"])))
else:
    plan = asked.pop("stage")
    if plan:
        plan = Stage(**{name: tuple(it) if isinstance(it, list) else it for name, it in plan.items()})
    print(json.dumps(run(stage=plan, **asked)))
"""


def skip(reason: str) -> None:
    """Where every stage must be tried, one that was not is a failure."""
    if os.environ.get("RALPHLOOP_REQUIRE_STAGE") == "1":
        pytest.fail(f"RALPHLOOP_REQUIRE_STAGE is set, and this was skipped: {reason}")
    pytest.skip(reason)


class Person(NamedTuple):
    """Who runs a stage: options for a process of theirs, and a Python that they can start."""

    options: dict[str, Any]
    python: str
    source: Path

    def own(self, *paths: Path) -> None:
        for path in paths:
            if "user" in self.options:
                os.chown(path, self.options["user"], self.options["group"])


def person(who: str, scratch: Path) -> Person:
    if sys.platform != "linux":
        skip("only Linux has stages")
    if who == ROOT and os.geteuid() != 0:
        skip("the suite runs as an ordinary user")
    if who == ROOT or os.geteuid() != 0:
        return Person({}, sys.executable, SOURCE)
    options = {"user": USER, "group": GROUP, "extra_groups": [SHARED_GROUP]}
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        if _can_run(python, options):
            return Person(options, python, _readable_source(scratch))
    skip("an ordinary user can start no Python 3.10 here")
    raise AssertionError


def _can_run(python: str, options: dict[str, Any]) -> bool:
    asks = "import ctypes, sys; sys.exit(sys.version_info < (3, 10))"
    try:
        return subprocess.run([python, "-I", "-c", asks], cwd="/", **options).returncode == 0
    except OSError:
        return False


def _readable_source(scratch: Path) -> Path:
    """A copy where the repository lies in somebody's private folder."""
    if all(above.stat().st_mode & 0o005 == 0o005 for above in (SOURCE, *SOURCE.parents)):
        return SOURCE
    shutil.copytree(SOURCE / "ralphloop", scratch / "source/ralphloop")
    return scratch / "source"


class Scene:
    """A repository and a state directory of one person, both in a scratch folder that is theirs."""

    def __init__(self, folder: Path, owner: Person, name: str = "project") -> None:
        self.folder = folder
        self.owner = owner
        self.top = folder / name
        self.spare = folder / "state/spare"
        self.kept = folder / "state/kept"
        self.home = folder / "home"
        for place in (self.top, self.spare, self.kept, self.home):
            place.mkdir(parents=True)
        owner.own(folder, self.top, self.spare.parent, self.spare, self.kept, self.home)
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "PYTHON": owner.python}
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, env: dict[str, str] | None = None) -> str:
        names = {
            f"GIT_{role}_{part}": "x@y" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
        }
        return self.do([GIT, *words], env={**names, **(env or {})})

    def do(self, words: Sequence[str], *, env: dict[str, str] | None = None) -> str:
        """What a command of that person's says, run in the project itself."""
        done = subprocess.run(
            list(words), cwd=self.top, env={**self.env, **(env or {})}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, **self.owner.options,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sh(self, text: str) -> str:
        return self.do(["/bin/sh", "-ec", text])

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.top / name
            missing = [above for above in path.parents if not above.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            self.owner.own(path, *missing)

    @property
    def kept_env(self) -> dict[str, str]:
        return {
            "GIT_DIR": str(self.top / ".git"), "GIT_WORK_TREE": str(self.top),
            "GIT_INDEX_FILE": str(self.kept / "index"), "GIT_OBJECT_DIRECTORY": str(self.kept / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.top / ".git/objects"), "HOME": str(self.home),
        }  # fmt: skip

    def keep(self) -> None:
        """The tree as it is now, in an index and objects of our own."""
        (self.kept / "objects").mkdir(exist_ok=True)
        self.owner.own(self.kept / "objects")
        self.git("add", "-A", env=self.kept_env)

    def request(self, text: str, *, timeout_s: float = 60.0, cwd: Path | None = None, **stage: Any) -> str:
        plan = {"places": [str(self.top)], "spare": str(self.spare), "git": [GIT], "git_env": self.kept_env}
        asked = {
            "command": text, "cwd": str(cwd or self.top), "env": self.env, "timeout_s": timeout_s,
            "stage": {**plan, **stage},
        }  # fmt: skip
        return json.dumps(asked)

    def start(self, request: str, *, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """A process of that person's that waits for a command in a stage, as the hook does."""
        env = {**self.env, "PYTHONPATH": str(self.owner.source), "PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryFile() as asked:
            asked.write(request.encode())
            asked.seek(0)
            return subprocess.Popen(
                [*before, self.owner.python, "-c", ACTOR],
                cwd="/", env=env, stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                **self.owner.options,
            )  # fmt: skip

    def run(self, text: str, *, before: Sequence[str] = (), **options: Any) -> Ran:
        with self.start(self.request(text, **options), before=before) as actor:
            return ran_of(actor)

    def apart(self, text: str, **options: Any) -> Apart:
        found = self.run(text, **options).apart
        assert found is not None
        return found

    def trouble(self, *, before: Sequence[str] = ()) -> str:
        with self.start(json.dumps({"trouble": str(self.spare)}), before=before) as actor:
            said, errors = actor.communicate(timeout=60)
        assert not errors, errors
        return str(json.loads(said))


def ran_of(actor: subprocess.Popen[str]) -> Ran:
    said, errors = actor.communicate(timeout=100)
    assert not errors, errors
    *fields, apart = json.loads(said)
    stood, why, read, made, wrote = apart
    return Ran(*fields, Apart(stood, why, tuple(read), tuple(made), tuple(wrote)))


@contextmanager
def scene_of(who: str, name: str = "project") -> Iterator[Scene]:
    """pytest's own folder is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="ralphloop-stage-")).resolve()
    try:
        yield Scene(folder, person(who, folder), name)
    finally:
        shutil.rmtree(folder)


def picture(folder: Path) -> dict[str, tuple[Any, ...]]:
    """All that can be seen of every file and folder, taken without leaving a trace on one."""
    found = {}
    for path in [folder, *sorted(_below(folder))]:
        content = b"" if not path.is_symlink() and path.is_dir() else _content(path)
        about = path.lstat()  # now: whoever looks where a link leads has read it
        times = about.st_mtime_ns, about.st_ctime_ns, about.st_atime_ns
        owner = about.st_mode, about.st_uid, about.st_gid, about.st_nlink, about.st_ino
        found[str(path)] = (*owner, *times, content)
    return found


def _below(folder: Path) -> Iterator[Path]:
    handle = os.open(folder, os.O_RDONLY | os.O_NOATIME)
    try:
        names = os.listdir(handle)
    finally:
        os.close(handle)
    for name in names:
        path = folder / name
        yield path
        if not path.is_symlink() and path.is_dir():
            yield from _below(path)


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return b"link"
    handle = os.open(path, os.O_RDONLY | os.O_NOATIME)
    with open(handle, "rb") as file:
        return file.read()


def long_unread(folder: Path) -> None:
    """As if nobody had read anything for days, so that a reading would show."""
    for path in [folder, *_below(folder)]:
        about = path.lstat()
        days_ago = about.st_mtime_ns - 3 * 86400 * 10**9
        os.utime(path, ns=(days_ago, about.st_mtime_ns), follow_symlinks=False)

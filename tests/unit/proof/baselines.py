"""A repository with a loop in it, whose start is kept and compared with what is there later."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from ralphloop.proof import baseline
from ralphloop.proof.baseline import Baseline, Since
from unit.store.conftest import Project

PATH = "/usr/bin:/bin"


class Scene:
    def __init__(self, folder: Path, files: dict[str, str] | None = None) -> None:
        self.base = folder.resolve()
        self.root = self.base / "project"
        self.home = self.base / "home"
        for made in (self.root, self.home):
            made.mkdir()
        self.env = {"PATH": PATH, "HOME": str(self.home), "XDG_STATE_HOME": str(self.base / "state")}
        self.init(self.root)
        for path, text in (
            files or {"a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "*.log\nbuild/\n"}
        ).items():
            self.write(path, text)
        self.commit()
        self.loop = Project(self.base).loop()

    def init(self, folder: Path, *words: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *words, cwd=folder)
        return folder

    def git(self, *words: str, cwd: Path | None = None) -> str:
        who = ["-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"]
        env = {**self.env, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(["git", *who, *words], cwd=cwd or self.root, env=env, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return os.fsdecode(done.stdout).strip()

    def write(self, path: str, text: str | bytes, *, top: Path | None = None) -> Path:
        place = (top or self.root) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def commit(self, cwd: Path | None = None) -> None:
        self.git("add", "--all", cwd=cwd)
        self.git("commit", "--quiet", "--allow-empty", "--message=x", cwd=cwd)

    def take(self, *commands: str, folder: Path | None = None, **options) -> Baseline:
        found, why = self.try_to_take(*commands, folder=folder, **options)
        assert found is not None, why
        assert why == ""
        assert baseline.load(self.loop) == found
        later()
        return found

    def try_to_take(self, *commands: str, folder: Path | None = None, env=None, **options):
        values = {"commands": commands, "terms": {"doubts": "tell", "apart": True}, **options}
        return baseline.take(self.loop, str(folder or self.root), env or self.env, **values)

    def since(self, folder: Path | None = None, **env: str) -> Since:
        known = baseline.load(self.loop)
        assert known is not None
        found, why = baseline.since(self.loop, known, str(folder or self.root), {**self.env, **env})
        assert found is not None, why
        assert why == ""
        return found

    def changed(self, folder: Path | None = None) -> dict[str, str]:
        """Which paths are not as they were, and how."""
        return {one.path: one.kind for one in self.since(folder).changes}

    def put_back(self, *paths: str, prefix: str = "") -> None:
        """As the stage does it."""
        known = baseline.load(self.loop)
        assert known is not None
        words, env = baseline.checkout(known, self.loop, self.env, prefix=prefix)
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        words = (*words, "checkout-index", "-f", "-z", "--stdin")
        subprocess.run(words, env=env, input=given, cwd="/", check=True, capture_output=True)

    def everything(self) -> dict[str, tuple[object, ...]]:
        """Every file and folder of the project: its bytes, mode and times."""
        found: dict[str, tuple[object, ...]] = {}
        for above, folders, names in os.walk(self.root):
            for path in (os.path.join(above, name) for name in (*folders, *names, ".")):
                about = os.lstat(path)
                is_file = os.path.isfile(path) and not os.path.islink(path)
                held = Path(path).read_bytes() if is_file else b""
                found[path] = (about.st_mode, about.st_mtime_ns, about.st_ctime_ns, about.st_ino, held)
        return found


def later() -> None:
    """The clock of a file system ticks every few milliseconds."""
    time.sleep(0.02)

"""A loop of one person whose final proof can be met in the middle: its command line and its hook are real
processes of root's or of an ordinary user's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hook.harness import OWNER, feature
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import OWNED, Shelf
from unit.proof.processes import gone
from unit.proof.stages import GIT, Person, person

LIST = ".ralph/loops/demo/feature_list.json"
WORK = "grep -q done app.txt"
AUTHOR = {f"GIT_{role}_{part}": "x@y" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


class Probed:
    """A repository, a home and a session; the check of each task looks for the work."""

    def __init__(self, folder: Path, owner: Person, *, top: str = "project", below: str = "") -> None:
        self.folder, self.owner = folder, owner
        self.top = folder / top
        self.root = self.top / below
        self.home = folder / "home"
        for place in (self.top, self.root, self.home):
            place.mkdir(parents=True, exist_ok=True)
        owner.own(folder, self.top, self.root, self.home)
        path = os.pathsep.join([os.path.dirname(owner.python), "/usr/local/bin:/usr/bin:/bin"])
        self.env = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        self.extra: dict[str, str] = {}

    # Files

    def write(self, files: Mapping[str, str], *, at: Path | None = None) -> None:
        for name, text in files.items():
            path = (at or self.root) / name
            missing = [above for above in path.parents if not above.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.owner.own(path, *missing)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        return self.do([GIT, "-c", "protocol.file.allow=always", *words], cwd=cwd or self.top)

    def do(self, words: Sequence[str], *, cwd: Path | None = None) -> str:
        done = subprocess.run(
            list(words), cwd=cwd or self.root, env={**self.env, **AUTHOR}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, **self.owner.options,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self) -> None:
        if not (self.top / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "start")

    # The loop

    def listed(self, *commands: str, **shared: Any) -> None:
        features = [feature(f"F{n}", verify=text) for n, text in enumerate(commands, 1)]
        self.write({LIST: json.dumps({**shared, "features": features}, indent=2) + "\n"})

    def begin(self, *commands: str, **shared: Any) -> Probed:
        """A list with these checks, a first commit, and the loop."""
        self.listed(*(commands or (WORK,)), **shared)
        self.write({"app.txt": "nothing\n"})
        self.commit()
        self.start()
        return self

    def start(self) -> str:
        done = self.ralphloop("start", "demo", "--yes", "--session", OWNER)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def claim(self) -> None:
        """The work, and every task said to be done."""
        self.write({"app.txt": "done\n"})
        data = json.loads((self.root / LIST).read_text())
        for one in data["features"]:
            one["passes"] = True
        self.write({LIST: json.dumps(data, indent=2) + "\n"})

    @property
    def _process(self) -> dict[str, Any]:
        return {"cwd": self.root, "env": {**self.env, **self.extra}, "text": True, **self.owner.options}

    def started(self, *words: str) -> subprocess.Popen[str]:
        env = {**self.env, **self.extra, "PYTHONPATH": str(self.owner.source)}
        return subprocess.Popen(
            [self.owner.python, "-m", "ralphloop", *words], **{**self._process, "env": env},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def ralphloop(self, *words: str) -> subprocess.CompletedProcess[str]:
        with self.started(*words) as process:
            out, err = process.communicate(timeout=100)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def hears(self, name: str, **fields: str) -> dict[str, Any]:
        """The answer to another event of the session."""
        event = {"hook_event_name": name, "session_id": OWNER, "cwd": str(self.root), **fields}
        launch = str(self.owner.source / "ralphloop/hook/launch.py")
        done = subprocess.run(
            [self.owner.python, "-I", "-S", launch, "settings"], **self._process, input=json.dumps(event),
            capture_output=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return dict(json.loads(done.stdout or "{}"))

    def baseline(self) -> dict[str, Any]:
        return dict(json.loads((self.kept / "baseline.json").read_text()))

    def stopping(self, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """The hook of a stop, under way."""
        event = {"hook_event_name": "Stop", "session_id": OWNER, "cwd": str(self.root)}
        with tempfile.TemporaryFile("w+") as given:
            json.dump(event, given)
            given.seek(0)
            launch = str(self.owner.source / "ralphloop/hook/launch.py")
            return subprocess.Popen(
                [*before, self.owner.python, "-I", "-S", launch, "settings"], **self._process,
                stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip

    def stop(self) -> dict[str, Any]:
        with self.stopping() as hook:
            return self.answer(hook)

    def answer(self, hook: subprocess.Popen[str]) -> dict[str, Any]:
        out, err = hook.communicate(timeout=100)
        assert (hook.returncode, err) == (0, "")
        errors = self.home / ".local/state/ralphloop/errors.log"
        assert not errors.exists(), errors.read_text()
        said = json.loads(out) if out else {}
        assert isinstance(said, dict)
        return said

    # What came of it

    @property
    def files(self) -> LoopFiles:
        """Of the loop, as the product has them in a process of its own."""
        shelf = Shelf(str(self.root), self.env)
        (record,) = shelf.records(OWNED)
        return LoopFiles(record, shelf)

    def loop(self) -> dict[str, Any]:
        (file,) = (self.root / ".ralph/run").glob("*/loop.json")
        return dict(json.loads(file.read_text()))

    @property
    def outcome(self) -> str | None:
        return self.loop()["outcome"]

    @property
    def state(self) -> Path:
        place = self.extra.get("XDG_STATE_HOME", str(self.home / ".local/state"))
        return Path(place) / "ralphloop"

    @property
    def kept(self) -> Path:
        (folder,) = {file.parent for file in self.state.rglob("kept/*/loop.json")}
        return folder

    def proof(self) -> dict[str, Any]:
        return dict(json.loads((self.kept / "proof.json").read_text()))

    def findings(self) -> list[str]:
        return [f"{one['kind']}: {one['said']}" for one in self.proof()["findings"]]

    # What must not be left

    def processes(self) -> list[int]:
        """Living processes whose environment names this home; a keeper and its stage have it too."""
        mark, found = f"HOME={self.home}".encode(), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found += [int(entry.name)] if not gone(int(entry.name)) else []
            except OSError:
                continue
        return found

    def left(self) -> list[str]:
        """Mounts, scratch folders and files that are half written."""
        mounts = [
            row for row in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.folder) in row
        ]
        odd = re.compile(r"now-.*|tmp_obj.*|.*\.(tmp|lock)")
        names = [str(path) for path in self.state.rglob("kept/**/*") if odd.fullmatch(path.name)]
        spare = [str(path) for path in self.state.rglob("kept/*/stage/*")]
        return [*mounts, *names, *spare]


@contextmanager
def probed(who: str, **place: str) -> Iterator[Probed]:
    """pytest's own folder is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="ralphloop-probe-")).resolve()
    try:
        yield Probed(folder, person(who, folder), **place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

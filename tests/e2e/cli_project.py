"""A git project with a home of its own, in which the command line and the hook run, each as a process."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fakes import warm
from ralphloop.store import files

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "ralphloop"
SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
WIDE = {"COLUMNS": "1000"}  # a screen for which no line is folded
_LISTS: dict[tuple[str, int], dict[str, str]] = {}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


def unfolded(text: str) -> str:
    """Sentences as they were before they were folded; a table loses its rows by that."""
    return re.sub(r"(?<=\S)\n  (?=[^\s$]|\$\d)", " ", text)


@functools.cache
def _repository() -> Path:
    """What `git init` makes, as far as git needs it to know a repository; every project is a copy."""
    folder = Path(tempfile.mkdtemp(prefix="repository-"))
    atexit.register(shutil.rmtree, folder)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, env={"PATH": os.defpath, "HOME": "/"})
    for name in {*os.listdir(folder / ".git")} - {"HEAD", "config", "objects", "refs"}:
        path = folder / ".git" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (folder / ".git").glob("*/*/"):
        path.rmdir()
    return folder / ".git"


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.root = self.folder / "project"
        self.home = self.folder / "home"
        self.bin = self.folder / "bin"
        for made in (self.root, self.home, self.bin):
            made.mkdir()
        shutil.copytree(_repository(), self.root / ".git")

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        path = os.pathsep.join([str(self.bin), "/usr/bin", "/bin"])
        own = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8"}
        # No check runs before it is asked for: tests that count its runs, and are not about that, are many.
        return {**own, "RALPHLOOP_TRY_S": "0", **(extra or {})}

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "ralphloop", *words]

    def run(
        self,
        *words: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Done:
        done = warm.run(words, stdin=stdin, env=self.env(env), cwd=cwd or self.root)
        return Done(done.code, done.stdout.decode(), done.stderr.decode())

    def fine(self, *words: str, **options: Any) -> str:
        """The output of a command that must succeed without a word on stderr."""
        done = self.run(*words, **options)
        assert (done.code, done.err) == (0, ""), done
        return done.out

    def refused(self, *words: str, **options: Any) -> str:
        """The one line of a command that must fail with exit code 1 and write nothing."""
        before = self.digest()
        done = self.run(*words, **options)
        assert (done.code, done.out) == (1, ""), done
        assert done.err.startswith("ralphloop: "), done
        assert done.err.count("\n") == 1, done
        assert self.digest() == before
        return done.err

    def stop(self, session: str = SESSION, **payload: Any) -> dict[str, Any] | None:
        """Let a session stop here, as where `install` registered the hook; its answer."""
        event = {"hook_event_name": "Stop", "session_id": session, "cwd": str(self.root), **payload}
        given = json.dumps(event).encode()
        done = warm.run(["settings"], program=warm.HOOK, stdin=given, env=self.env(), cwd=self.root)
        assert done.code == 0, done
        return json.loads(done.stdout) if done.stdout else None

    def type(self, command: str, text: object, session: str = SESSION, **fields: Any) -> None:
        """Let the prompt hook of a plugin see `/plugin:action text`, as the client runs it."""
        name = {"command_name": command, "command_args": text}
        self.hook(command.partition(":")[0], "UserPromptExpansion", session_id=session, **name, **fields)

    def hook(self, plugin: str, event: str, env: Mapping[str, str] | None = None, **fields: Any) -> None:
        """Run what a plugin registers last for this event; it has nothing to say."""
        folder = PACKAGE.parents[1] / "plugins" / plugin
        group = json.loads((folder / "hooks/hooks.json").read_text())["hooks"][event][-1]
        said = dict(re.findall(r"(rl_\w+)=(\S+?);? ", group["hooks"][0]["command"]))
        assert said["rl_on"] == "typed", "any other event is for the guard, which may leave at once"
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": str(self.root), **fields}
        done = warm.run(
            [said["rl_as"], said["rl_layouts"], said["rl_on"]],
            program=warm.HOOK,
            stdin=json.dumps(payload).encode(),
            env=self.env({"CLAUDE_PLUGIN_ROOT": str(folder), **(env or {})}),
            cwd=self.root,
        )
        assert done == (0, b"", b"")

    def new(self, name: str = "shop", tasks: int = 3) -> Path:
        """A list of tasks as `new` makes it; it makes each but once."""
        folder = self.root / ".ralph" / "loops" / name
        texts = _LISTS.get((name, tasks))
        if texts is not None:
            files.build_folder(str(folder), texts, beside=str(self.root / ".ralph"))
            return folder
        listed = "".join(f"- Task {number}\n" for number in range(1, tasks + 1))
        self.fine("new", name, "--from", "-", stdin=listed.encode())
        _LISTS[name, tasks] = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
        return folder

    def begin(self, name: str = "shop", *words: str, tasks: int = 3, session: str = SESSION) -> Path:
        folder = self.new(name, tasks)
        self.fine("start", name, "--session", session, *words)
        return folder

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def spec(self, name: str = "login", *, phase: str = "execution", tasks: str | None = None) -> Path:
        """A specum spec with three boxes."""
        self.write("specs/.current-spec", name + "\n")
        boxes = "- [ ] 1.1 Form\n- [ ] 1.2 Check\n- [ ] 1.3 Errors\n"
        self.write(f"specs/{name}/tasks.md", boxes if tasks is None else tasks)
        state = {"phase": phase, "taskIndex": 0, "totalTasks": 3, "globalIteration": 1}
        return self.write(f"specs/{name}/.ralph-state.json", json.dumps(state, indent=2) + "\n").parent

    def status(self) -> dict[str, Any]:
        """The only loop here, as a script sees it."""
        (loop,) = json.loads(self.fine("status", "--json"))["loops"]
        assert isinstance(loop, dict)
        return loop

    def program(self, name: str, script: str) -> Path:
        file = self.bin / name
        file.write_text(script, encoding="utf-8")
        file.chmod(0o755)
        return file

    def digest(self) -> dict[str, str]:
        """Every file of the project and the home: its mode, time and content. Empty locks say nothing."""
        found: dict[str, str] = {}
        for top in (self.root, self.home):
            for folder, folders, names in os.walk(top):
                for name in (*folders, *names):
                    path = os.path.join(folder, name)
                    stat, is_file, held = os.lstat(path), os.path.isfile(path), b""
                    if name == "lock" and not os.stat(path).st_size:
                        continue
                    if is_file:
                        with open(path, "rb") as file:
                            held = file.read()
                    moment = stat.st_mtime_ns if is_file else 0
                    found[path] = f"{stat.st_mode} {moment} {hashlib.sha256(held).hexdigest()}"
        return found

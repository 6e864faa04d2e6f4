"""The whole life of a loop, as the person, the agent and the client take part in it, and what it left."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from e2e.checking import LIST, begin, change, claim, task
from e2e.cli_project import SESSION, Project
from e2e.notifying import RECORD, at_work, hook, settle
from fakes.patience import eventually
from ralphloop.store.files import age_s
from ralphloop.store.tasks import YOUNG_S

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
# A client whose login is refused: one session, enough for every file that a supervisor writes.
REFUSED = '{"type": "result", "is_error": true, "api_error_status": 401, "result": "Please run /login"}'
CLIENT = f"""#!/bin/sh
[ "$1" = --version ] && {{ echo "2.1.325 (Claude Code)"; exit; }}
echo '{REFUSED}'
"""
CLEAR = "clear-text-of-a-variable-7f3a"
SECRETS = {
    "SHOP_API_KEY": "first-" + CLEAR,
    "DB_PASSWORD": "second-" + CLEAR,
}


def state_home(project: Project) -> Path:
    return project.home / ".local" / "state" / "ralphloop"


def live(project: Project, env: Mapping[str, str] | None = None) -> None:
    """Begin, check, refuse, prove, restore, ask, vouch, pause, drive, end, install, report."""
    env = env or {}
    project.program("notify-send", RECORD)
    project.program("claude", CLIENT)
    settle(project, 'notify = ["desktop"]\nnotify_on = ["end", "person"]\n')
    project.write("check.sh", "env; test -f made-$1\n")
    checks = [task(f"F{n}", f"sh check.sh {n}") for n in (1, 2, 3)]
    project.run("record", "on", env=env)
    begin(project, *checks, task("F4"), task("F5"), protect=["check.sh"])
    hook(project, env=env)
    _work(project, env)
    _talk(project, env)
    _drive(project, env)
    project.run("install", "--scope", "user", env=env)
    project.run("install", "--scope", "project", env=env)
    project.run("cancel", "shop", env=env)
    eventually(lambda: not at_work(project))


def _work(project: Project, env: Mapping[str, str]) -> None:
    """A claim that is refused, one that is proven, one by the command, criteria put back."""
    claim(project, "F1")
    hook(project, env=env)
    (project.root / "made-1").touch()
    claim(project, "F1")
    hook(project, env=env)
    (project.root / "made-2").touch()
    project.run("done", "F2", env={**env, **AGENT})
    change(project, "F3", verify="true")
    (project.root / "check.sh").write_text("true\n", encoding="utf-8")
    claim(project, "F3")
    hook(project, env=env)
    list_path = project.root / LIST
    good = list_path.read_text(encoding="utf-8")
    list_path.write_text("{", encoding="utf-8")
    hook(project, env=env)
    list_path.write_text(good, encoding="utf-8")


def _talk(project: Project, env: Mapping[str, str]) -> None:
    project.run("ask", "F4", "blue or green?", env={**env, **AGENT})
    hook(project, env=env)
    project.run("answer", "F4", "green", env=env)
    project.run("accept", "F4", env=env)
    project.run("skip", "F5", env=env)
    project.run("verify", "F1", env=env)
    change(project, "F5", verify="echo new")
    project.run("approve", "shop", "--yes", env=env)
    project.type("ralphloop:ask", "F3 what now?")
    project.run("pause", "shop", env=env)
    hook(project, env=env)
    project.run("resume", "shop", env=env)


def _drive(project: Project, env: Mapping[str, str]) -> None:
    project.run("pause", "shop", env=env)
    listed = str(project.root / LIST)
    eventually(lambda: age_s(listed, time.time()) > YOUNG_S)  # a younger one leaves no cursor
    done = project.run("run", "shop", "--yes", "--adopt", env={**env, "IS_SANDBOX": "1"})
    assert "Please run /login" in done.out, done


def written(project: Project) -> Iterator[Path]:
    """Every file and folder that is ours alone, in the state directory and in the project."""
    for top in (state_home(project), project.root / ".ralph" / "run"):
        yield top
        yield from sorted(top.rglob("*"))


def texts(project: Project) -> Iterator[tuple[Path, str]]:
    for path in written(project):
        if path.is_file():
            yield path, path.read_text(encoding="utf-8", errors="replace")


def kinds(project: Project) -> set[str]:
    """The names of what was written, so that a life which left something out shows."""
    return {path.name for path in written(project)} | {path.parent.name for path in written(project)}

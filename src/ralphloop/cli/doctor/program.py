"""`doctor` on the programs that a loop needs: the client, and the Python that the hook starts with."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence

from ralphloop.agents import claude
from ralphloop.agents.registry import missing
from ralphloop.cli.doctor.finding import FATAL, FINE, WARNING, Finding, Repair
from ralphloop.errors import UserError
from ralphloop.lab import process
from ralphloop.lab.process import Ended
from ralphloop.loops.client import real_python, record_python
from ralphloop.loops.place import Place
from ralphloop.loops.run_terms import must_be_trusted
from ralphloop.loops.service import faults
from ralphloop.store import files, shelf
from ralphloop.store.approvals import is_within_reach
from ralphloop.store.shelf import Shelf

TIME_LIMIT_S = 20.0
# Before the first one the hook gets no reply to judge; the second one added what continues without a block.
OLDEST, WANTED = (2, 1, 47), (2, 1, 163)
OLDEST_PYTHON = (3, 9)
PROBE = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)"


def client_path(env: Mapping[str, str]) -> str:
    return shutil.which(claude.PROGRAM, path=env.get("PATH")) or ""


def client(place: Place) -> Finding:
    path = client_path(place.env)
    if not path:
        told, cure = missing(claude)
        return Finding("client", FATAL, told, cure[0].upper() + cure[1:])
    answer = ask([path, "--version"], place.env)
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", answer.output)
    if found is None:
        told = f"{path} --version {_ended(answer)}"
        return Finding("client", FATAL, told, "Install Claude Code again")
    version = tuple(int(part) for part in found.groups())
    if version < OLDEST:
        told = f"Claude Code {found[0]} ({path}) is too old for the hook"
        return Finding("client", FATAL, told, "Run `claude update`")
    if version < WANTED:
        told = f"Claude Code {found[0]} ({path}) is old: the hook may lack what it needs"
        return Finding("client", WARNING, told, "Run `claude update`")
    return Finding("client", FINE, f"Claude Code {found[0]} ({path})")


def trust(place: Place) -> Iterator[Finding]:
    """Only where `run` would refuse: a session of one's own asks by itself."""
    try:
        must_be_trusted(place.project, place.env)
    except UserError as error:
        told, _, fix = error.message.partition(": ")
        yield Finding("trust", WARNING, f"`ralphloop run` refuses here: {told}", fix.rstrip(".").capitalize())


def service(place: Place) -> Iterator[Finding]:
    """Of a service that is in place; nobody needs one."""
    for told, fix in faults(place):
        yield Finding("service", WARNING, told, fix)


def recorded(place: Place) -> str:
    """The interpreter that the shell guard reads first: not one that the project could have named."""
    if is_within_reach(Shelf(place.project, place.env)):
        return ""
    return (files.read_quietly(os.path.join(shelf.home(place.env), "python")) or "").split("\n")[0]


def python(place: Place) -> Finding:
    """What the guard would start: the recorded interpreter if it can be started, else python3 on PATH."""
    known = recorded(place)
    is_used = bool(known) and os.path.isfile(known) and os.access(known, os.X_OK)
    path = known if is_used else shutil.which("python3", path=place.env.get("PATH")) or ""
    lost = f"the recorded {known} is gone, so " if known and not is_used else ""
    if not path:
        return _bad(place, FATAL, f"{lost or 'none is recorded, and '}there is no python3 on PATH")
    answer = ask([path, "-I", "-S", "-c", PROBE], place.env)
    found = re.match(r"(\d+) (\d+) (.*)", answer.output)
    if found is None:
        return _bad(place, FATAL, f"{lost}the hook starts {path}, which {_ended(answer)}")
    version = f"{found[1]}.{found[2]}"
    if (int(found[1]), int(found[2])) < OLDEST_PYTHON:
        return _bad(place, FATAL, f"{lost}the hook starts {path}, which is Python {version}: too old")
    if os.path.realpath(found[3]) != os.path.realpath(path) or _is_script(path):
        told = f"{lost}the hook starts {path}, a shim that looks for {found[3]} at every stop"
        return _bad(place, WARNING, told)
    if lost:
        return _bad(place, WARNING, f"{lost}the hook starts {path}, Python {version}")
    return Finding("python", FINE, f"the hook starts {path}, Python {version}")


def _bad(place: Place, level: str, told: str) -> Finding:
    real = real_python()

    def apply() -> str:
        record_python(place)
        return f"the hook now starts {real}"

    fix = f"Run `ralphloop doctor --fix`, which records {real}"
    return Finding("python", level, told, fix, Repair(f"Record {real} for the hook", apply))


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _ended(answer: Ended) -> str:
    last = answer.output.strip().split("\n")[-1][:100]
    if answer.code is None:
        return f"does not start or end ({last or 'no word in ' + format(TIME_LIMIT_S, '.0f') + ' s'})"
    return f"ends with exit code {answer.code} ({last or 'no output'})"


def ask(words: Sequence[str], env: Mapping[str, str]) -> Ended:
    """Run a program that should answer at once, without the variables of a client around us."""
    kept = {name: value for name, value in env.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
    try:
        return process.run(words, kept, timeout_s=TIME_LIMIT_S)
    except OSError as error:
        return Ended(None, str(error))

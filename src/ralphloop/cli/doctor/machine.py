"""The programs that a loop needs, and whether the project and its state can be written and locked."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from ralphloop.agents import registry
from ralphloop.cli.doctor.diagnosis import FATAL, FINE, WARNING, Finding, Repair
from ralphloop.errors import NoLocksError, UserError
from ralphloop.lab import process
from ralphloop.lab.process import Ended
from ralphloop.loops.place import Place
from ralphloop.loops.proving import why_not_apart
from ralphloop.loops.run_terms import must_be_trusted
from ralphloop.loops.service import faults
from ralphloop.loops.setup import git_trouble, real_python, record_programs, record_python, writable
from ralphloop.store import approvals, disk, files, shelf, tasks
from ralphloop.store.approvals import is_within_reach
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import own_file

TIME_LIMIT_S = 20.0
OLDEST_PYTHON = (3, 9)
PROBE = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)"


def client_path(env: Mapping[str, str]) -> str:
    return shutil.which(registry.client().program.PROGRAM, path=env.get("PATH")) or ""


def client(place: Place) -> Finding:
    path, agent = client_path(place.env), registry.client().program
    if not path:
        told, cure = registry.missing(agent)
        return Finding("client", FATAL, told, _begun(cure))
    answer = ask([path, "--version"], place.env)
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", answer.output)
    if found is None:
        told = f"{path} --version {_ended(answer)}"
        return Finding("client", FATAL, told, f"Install {agent.TITLE} again")
    version = tuple(int(part) for part in found.groups())
    told = f"{agent.TITLE} {found[0]} ({path})"
    if version < agent.OLDEST:
        return Finding("client", FATAL, f"{told} is too old for the hook", f"Run `{agent.UPDATE}`")
    if version < agent.WANTED:
        told = f"{told} is old: the hook may lack what it needs"
        return Finding("client", WARNING, told, f"Run `{agent.UPDATE}`")
    return Finding("client", FINE, told)


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


def git(place: Place) -> Iterator[Finding]:
    """Only where there is none that the hook could start."""
    told, fix = git_trouble(place)
    if not told:
        return

    def apply() -> str:
        record_programs(place)
        return "the git on your PATH is recorded, if it is none of the project's"

    repair = Repair("Record the git on your PATH for the hook", apply) if "--fix" in fix else None
    yield Finding("git", WARNING, told, fix, repair)


def stage() -> Finding:
    """Whether checks can be tried apart from the work."""
    why = why_not_apart()
    if not why:
        return Finding("stage", FINE, "checks can be tried apart from the work on this machine")
    told = f"no check can be tried apart from the work on this machine: {why}"
    fix = 'Loops run all the same, and say `not tried` (docs/proof.md, "What is tried where")'
    return Finding("stage", WARNING, told, fix)


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
    theirs = registry.client().variables.OWN
    kept = {name: value for name, value in env.items() if not name.startswith(theirs)}
    try:
        return process.run(words, kept, timeout_s=TIME_LIMIT_S)
    except OSError as error:
        return Ended(None, str(error))


BLOCK = 4096


def folders(place: Place) -> Iterator[Finding]:
    yield _state_folder(place)
    wrong, cure = _trouble(place.project)
    if wrong:
        yield Finding("project", FATAL, wrong, _begun(cure))
    for source in place.sources():
        if not writable(source).fine:
            below, title = registry.client().registration.FOLDER, registry.client().program.TITLE
            told = f"{own_file(source)} lies below {below}/, where {title} lets the agent edit nothing"
            fix = f"Let it claim with `ralphloop done ID`, or move the list to .ralph/loops/{source.name}/"
            yield Finding("list", WARNING, told, fix)


def _state_folder(place: Place) -> Finding:
    folder = shelf.home(place.env)
    nearest = folder
    while not os.path.lexists(nearest) and nearest != os.path.dirname(nearest):
        nearest = os.path.dirname(nearest)
    if not os.path.isdir(nearest) or not os.access(nearest, os.W_OK | os.X_OK):
        told = f"the state directory {folder} cannot be written ({nearest} is in the way)"
        return Finding("state", FATAL, told, "Make it writable, or set XDG_STATE_HOME to another place")
    wrong, cure = _trouble(nearest)
    if wrong:
        return Finding("state", FATAL, f"the state directory {folder} cannot be used: {wrong}", _begun(cure))
    wrong, cure = approvals.void(Shelf(place.project, place.env))
    if wrong:
        return Finding("state", FATAL if _has_checks(place) else WARNING, wrong, _begun(cure))
    return Finding("state", FINE, f"the state directory {folder} can be written")


def _has_checks(place: Place) -> bool:
    """Whether a list here has checks, of which none could run."""
    for source in place.sources():
        with suppress(ValueError, OSError):
            if any(task.verify for task in tasks.parse_source(source).tasks):
                return True
    return False


def _begun(cure: str) -> str:
    """As the sentence that it is here."""
    return cure[:1].upper() + cure[1:]


def _trouble(folder: str) -> tuple[str, str]:
    """What keeps a loop from writing here or from locking what it wrote, tried with a file without a name,
    and the cure."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(BLOCK))
            file.flush()
            _lock(file.fileno(), folder)
    except OSError as error:
        error.filename = error.filename if isinstance(error, NoLocksError) else os.path.join(folder, "")
        return disk.told(error)
    return "", ""


def _lock(handle: int, folder: str) -> None:
    try:
        files.try_lock(handle)
    except OSError as error:
        raise NoLocksError(error.errno, error.strerror, folder) from None

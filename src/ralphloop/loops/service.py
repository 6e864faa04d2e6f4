"""The service that lets loops go on after a restart of the machine: put in place, taken away, looked at."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ralphloop.agents.registry import client, missing, program_at
from ralphloop.errors import UserError
from ralphloop.loops import init_system, upkeep
from ralphloop.loops.init_system import LAUNCHD, InitSystem, Unit, read_unit, systemd_text
from ralphloop.loops.place import Place, require_person
from ralphloop.loops.result import Result
from ralphloop.loops.run_terms import Care
from ralphloop.loops.setup import PACKAGE
from ralphloop.runner import boot
from ralphloop.store import files, shelf
from ralphloop.store.files import is_locked

NAME = "ralphloop"
NONE_HERE = "neither systemd nor launchd answers here, so nothing was put in place"


class Found(NamedTuple):
    """A service of ours that is in place."""

    path: str
    unit: Unit

    @property
    def gone(self) -> list[str]:
        """The programs that it names and that are not there any more."""
        first = dict(self.unit.env).get("PATH", "").split(os.pathsep)[0]
        named = [*self.unit.words[:1], *self.unit.words[2:3], os.path.join(first, client().program.PROGRAM)]
        return [word for word in named if not os.path.exists(word)]


def install(place: Place, *, only_print: bool = False) -> Result:
    """Write the service down and have it started, now and after each start of the machine."""
    require_person(place.env, "a service that starts loops")
    system, wanted = init_system.found(place.env), _unit(place)
    path = _path(system, wanted.home)
    text = systemd_text(wanted) if system is None else system.text(wanted, path)
    if only_print or system is None:
        told = [] if only_print else [f"! {NONE_HERE}; let this be started whenever the machine is:"]
        lines = text.splitlines() if only_print else ["  $ " + _command(wanted), *_logins(place)]
        facts = {"installed": False, "path": path, "text": text, "command": _command(wanted)}
        return Result(facts, (*told, *lines), int(not only_print))
    before = _ours(path)
    files.make_folder(system.folder)
    files.write_text(path, text, mode=0o644)
    trouble = system.switch_on(path)
    told = _installed(path, before, wanted, trouble)
    told += [*_notes(place, system), *_others(system, path)]
    facts = {"installed": not trouble, "path": path, "replaced": before is not None, "text": text}
    return Result(facts, tuple(told), 1 if trouble else 0)


def uninstall(place: Place) -> Result:
    """Take it away; the loops and their supervisors stay as they are."""
    require_person(place.env, "a service that starts loops")
    system, home = init_system.found(place.env), shelf.home(place.env)
    path = _path(system, home)
    if system is None or not os.path.lexists(path):
        return Result({"removed": None}, (f"No service is in place for {home}.",))
    _ours(path)
    trouble = system.switch_off(path)
    os.unlink(path)
    told = [f"{path} is removed; supervisors that it started go on."]
    told += [f"! it could not be stopped: {trouble}"] if trouble else []
    return Result({"removed": path}, (*told, *_others(system, path)))


def state(place: Place) -> Result:
    """Whether it is in place and can work, and which loops it would start again now."""
    system, home = init_system.found(place.env), shelf.home(place.env)
    found, others = _for(system, home)
    lost, said = _lost(place)
    facts: dict[str, Any] = {
        "manager": system.kind if system is not None else None,
        "installed": [each.path for each in found],
        "active": system is not None and any(system.is_active(each.path) for each in found),
        "running": is_locked(os.path.join(home, upkeep.LOCK)),
        "gone": [word for each in found for word in each.gone],
        "lingers": system.lingers() if system is not None else None,
        "others": [each.path for each in others],
        "lost": lost,
    }
    return Result(facts, (*_standing(facts, home), *said))


def faults(place: Place) -> Iterator[tuple[str, str]]:
    """What keeps a service that is in place from working, each with what to do."""
    system, home = init_system.found(place.env), shelf.home(place.env)
    found = _for(system, home)[0]
    for each in found:
        if each.gone:
            gone = ", ".join(each.gone)
            yield f"{each.path} starts {gone}, which is gone", "Run `ralphloop service install`"
    if len(found) > 1:
        paths = " and ".join(each.path for each in found)
        yield f"several services are in place for {home}: {paths}", "Remove all but one of the files"


def _standing(facts: dict[str, Any], home: str) -> Iterator[str]:
    if facts["running"] and not facts["active"]:
        yield f"A service runs and looks after {home}; nobody starts it again with the machine."
    if facts["manager"] is None:
        yield "! neither systemd nor launchd answers here; `ralphloop service install` shows what to start."
        return
    if not facts["installed"]:
        yield f"No service is in place for {home}; `ralphloop service install` puts one there."
    for path in facts["installed"]:
        yield f"{path} is in place and {'runs' if facts['active'] else 'does not run'}."
    if len(facts["installed"]) > 1:
        yield f"! several services are for {home}; only one of them looks after it: remove the other files."
    for word in facts["gone"]:
        yield f"! {word}, which it starts, is gone; `ralphloop service install` writes it anew."
    if facts["lingers"] is not None and facts["installed"]:
        yield from _lingering(facts["lingers"])
    for path in facts["others"]:
        yield f"{path} is for another state directory."


def _lost(place: Place) -> tuple[list[dict[str, Any]], list[str]]:
    """The loops that were being driven and are not: to be started, or given up."""
    facts: list[dict[str, Any]] = []
    told: list[str] = []
    now = boot.identity()
    for loop in upkeep.driven(place.env, told.append):
        lost = upkeep.lost_of(loop, boot_now=now)
        if lost is None:
            continue
        done, record = Care.of(loop), loop.record
        facts.append({"id": record.id, "name": record.name, "root": record.root, "why": lost.why,
                      "starts": done.starts, "gave_up": done.gave_up})  # fmt: skip
        then = (
            f"given up after {done.starts} tries ({done.why})" if done.gave_up else "would be started again"
        )
        told.append(f"{record.name} in {record.root}: {lost.why}; {then}.")
    return facts, told


def _unit(place: Place) -> Unit:
    """With the paths of now: nothing is looked for on the PATH of a machine that has just started."""
    if not sys.executable:
        raise UserError("this Python does not know where it is; install ralphloop with another one.")
    words = (sys.executable, "-I", PACKAGE, "service", "run")
    env = {**place.env, "PATH": _search_path(place), "HOME": place.env.get("HOME") or os.path.expanduser("~")}
    names = ("HOME", "PATH", "LANG", "XDG_STATE_HOME", "XDG_CONFIG_HOME", *client().variables.PLACES)
    wanted = Unit(words, tuple((name, env[name]) for name in names if env.get(name)), shelf.home(place.env))
    odd = [text for text in (*words, wanted.home, *dict(wanted.env).values()) if not text.isprintable()]
    if odd:  # a line break would be a line of its own in the file
        raise UserError(f"{odd[0]!r} cannot be written down for a service; use a path without such signs.")
    return wanted


def _search_path(place: Place) -> str:
    """The folder of the client first, then those of this shell: checks and the agent's tools are found there,
    too."""
    program = program_at(client().program.PROGRAM, place.env)
    if program is None:
        wrong, cure = missing(client().program, "a service starts it")
        raise UserError(f"{wrong}; {cure}.")
    folders = (place.env.get("PATH") or "").split(os.pathsep)
    kept = [folder for folder in folders if os.path.isabs(folder)]
    return os.pathsep.join(dict.fromkeys([os.path.dirname(program), *kept]))


def _path(system: InitSystem | None, home: str) -> str:
    """One file per state directory; that of the usual one has the plain name."""
    if system is None:
        return ""
    usual = shelf.home({"HOME": system.env.get("HOME") or os.path.expanduser("~")})
    apart = "" if home == usual else "-" + hashlib.sha256(os.fsencode(home)).hexdigest()[:8]
    stem = f"dev.{NAME}.service{apart}" if system.kind == LAUNCHD else f"{NAME}{apart}"
    return os.path.join(system.folder, stem + system.suffix)


def _ours(path: str) -> Found | None:
    """The service in this place; an error if what is there is somebody else's."""
    if not os.path.lexists(path):
        return None
    said = read_unit(files.read_quietly(path) or "")
    if said is None or os.path.islink(path):
        raise UserError(f"{path} is not ours and stays as it is; move it away, then run this again.")
    return Found(path, said)


def _all(system: InitSystem) -> list[Found]:
    found = []
    for name in files.names(system.folder):
        path = os.path.join(system.folder, name)
        said = read_unit(files.read_quietly(path) or "") if name.endswith((".service", ".plist")) else None
        if said is not None:
            found.append(Found(path, said))
    return found


def _for(system: InitSystem | None, home: str) -> tuple[list[Found], list[Found]]:
    """The services for this state directory, and those for others."""
    everything = _all(system) if system is not None else []
    ours = [each for each in everything if each.unit.home == home]
    return ours, [each for each in everything if each not in ours]


def _installed(path: str, before: Found | None, wanted: Unit, trouble: str) -> list[str]:
    how = "is written anew" if before is not None else "is in place"
    told = [f"{path} {how}: it looks after the loops of {wanted.home}."]
    if before is not None and before.unit.words != wanted.words:
        told.append(f"  It started {' '.join(before.unit.words)} before.")
    return [*told, f"! it could not be started: {trouble}"] if trouble else told


def _notes(place: Place, system: InitSystem) -> Iterator[str]:
    lingers = system.lingers()
    if lingers is not None:
        yield from _lingering(lingers)
    yield from _logins(place)


def _logins(place: Place) -> Iterator[str]:
    """What the client gets at a model by, and the service does not have."""
    for name in client().variables.LOGINS:
        if place.env.get(name):
            why = f"{name} is set in this shell only, and is not written down"
            yield f"! {why}: the service's sessions do not have it."
            yield "  Log the client in, or see docs/service.md."


def _lingering(lingers: bool) -> Iterator[str]:
    if lingers:
        yield "Lingering is on: it begins when the machine starts."
    else:
        yield "! Lingering is off: it begins only when you log in."
        yield "  `loginctl enable-linger` lets it begin when the machine starts."


def _others(system: InitSystem, path: str) -> Iterator[str]:
    home = shelf.home(system.env)
    for each in _all(system):
        if each.path != path:
            whose = "the same state directory" if each.unit.home == home else each.unit.home
            yield f"! {each.path} is another service of ours, for {whose}; it stays as it is."


def _command(wanted: Unit) -> str:
    return shlex.join(["env", "-i", *(f"{name}={value}" for name, value in wanted.env), *wanted.words])

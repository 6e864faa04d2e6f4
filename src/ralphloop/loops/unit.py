"""The service as systemd and launchd want it written down, and what stands in such a file."""

from __future__ import annotations

import plistlib
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.parsers.expat import ExpatError

HEAD = "# ralphloop looks after its loops; `ralphloop service uninstall` takes this file away."
# who it is for, in a section that systemd leaves to others
_OWN, _HOME = "[X-Ralphloop]", "StateDirectory="
_START, _SET = "ExecStart=", "Environment="


class Unit(NamedTuple):
    """What is started, with which variables, and whose loops it is for."""

    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    home: str


def systemd_text(unit: Unit) -> str:
    """A supervisor outlives the service that started it (KillMode), also one of which the kernel has killed a
    process for want of memory (OOMPolicy); an error that a person must see to is not tried again."""
    env = "\n".join(_SET + _quoted(f"{name}={value}") for name, value in unit.env)
    # systemd puts variables into every word but the program
    start = " ".join([_quoted(unit.words[0]), *(_quoted(w).replace("$", "$$") for w in unit.words[1:])])
    return f"""\
{HEAD}
[Unit]
Description=ralphloop: loops go on after a restart

[Service]
Type=exec
{_START}{start}
{env}
KillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=60
RestartPreventExitStatus=1 2

[Install]
WantedBy=default.target

{_OWN}
{_HOME}{unit.home}
"""


def launchd_text(unit: Unit, label: str) -> str:
    agent = {
        "Label": label,
        "ProgramArguments": list(unit.words),
        "EnvironmentVariables": dict(unit.env),
        "RunAtLoad": True,
        "KeepAlive": {"Crashed": True},
        "ThrottleInterval": 60,
        "AbandonProcessGroup": True,
        "RalphloopStateDirectory": unit.home,
    }
    return plistlib.dumps(agent, sort_keys=False).decode()


def read(text: str) -> Unit | None:
    """What such a file says; None if it is not one of ours."""
    try:
        return _of_launchd(text) if text.lstrip().startswith("<?xml") else _of_systemd(text)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ExpatError):
        return None


def _of_systemd(text: str) -> Unit | None:
    lines = text.splitlines()
    if _OWN not in lines:
        return None
    homes = [line[len(_HOME) :] for line in lines if line.startswith(_HOME)]
    starts = [line[len(_START) :] for line in lines if line.startswith(_START)]
    sets = [line[len(_SET) :] for line in lines if line.startswith(_SET)]
    env = [_plain(word).partition("=") for said in sets for word in shlex.split(said)]
    program, *rest = map(_plain, shlex.split(starts[0]))
    words = (program, *(word.replace("$$", "$") for word in rest))
    return Unit(words, tuple((name, value) for name, _, value in env), homes[0])


def _of_launchd(text: str) -> Unit | None:
    data = plistlib.loads(text.encode())
    home, words, env = data["RalphloopStateDirectory"], data["ProgramArguments"], data["EnvironmentVariables"]
    return Unit(tuple(map(str, words)), tuple((str(name), str(env[name])) for name in env), str(home))


def variables(env: Mapping[str, str], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Those that are set."""
    return tuple((name, env[name]) for name in names if env.get(name))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _plain(word: str) -> str:
    return word.replace("%%", "%")

"""What starts programs for a person after the machine has started, systemd or launchd: asked by its own
command, and the file that it wants for a service."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import NamedTuple
from xml.parsers.expat import ExpatError

TIME_LIMIT_S = 20.0
SYSTEMD, LAUNCHD = "systemd", "launchd"
HEAD = "# ralphloop looks after its loops; `ralphloop service uninstall` takes this file away."
# who it is for, in a section that systemd leaves to others
_OWN, _HOME = "[X-Ralphloop]", "StateDirectory="
_START, _SET = "ExecStart=", "Environment="


class InitSystem(NamedTuple):
    kind: str
    folder: str  # where it looks for what a person wants started
    suffix: str
    env: Mapping[str, str]

    def text(self, unit: Unit, path: str) -> str:
        """The service as this one wants it written down."""
        return launchd_text(unit, self._label(path)) if self.kind == LAUNCHD else systemd_text(unit)

    def switch_on(self, path: str) -> str:
        """Start what the file says, now and from now on; what went wrong, or nothing."""
        if self.kind == LAUNCHD:
            self.switch_off(path)  # it may not be there yet
            return self._trouble("launchctl", "bootstrap", _domain(), path)
        name = os.path.basename(path)
        steps = (("daemon-reload",), ("enable", name), ("restart", name))
        return next(filter(None, (self._trouble("systemctl", "--user", *words) for words in steps)), "")

    def switch_off(self, path: str) -> str:
        """What was started by it goes on."""
        if self.kind == LAUNCHD:
            return self._trouble("launchctl", "bootout", f"{_domain()}/{self._label(path)}")
        return self._trouble("systemctl", "--user", "disable", "--now", os.path.basename(path))

    def is_active(self, path: str) -> bool:
        if self.kind == LAUNCHD:
            return _ask(self.env, "launchctl", "print", f"{_domain()}/{self._label(path)}")[0]
        said = _ask(self.env, "systemctl", "--user", "is-active", os.path.basename(path))[1]
        return said.strip() == "active"

    def lingers(self) -> bool | None:
        """Whether a service of this person runs while nobody is logged in; None where that is no question."""
        if self.kind == LAUNCHD:
            return None
        is_fine, said = _ask(self.env, "loginctl", "show-user", str(os.getuid()), "--property=Linger")
        return is_fine and "Linger=yes" in said.split()

    def _label(self, path: str) -> str:
        return os.path.basename(path)[: -len(self.suffix)]

    def _trouble(self, *words: str) -> str:
        is_fine, said = _ask(self.env, *words)
        return "" if is_fine else said.strip().rpartition("\n")[2] or "it failed without a word"


def found(env: Mapping[str, str]) -> InitSystem | None:
    """The one that answers here."""
    home = env.get("HOME") or os.path.expanduser("~")
    if _ask(env, "systemctl", "--user", "show-environment")[0]:
        base = env.get("XDG_CONFIG_HOME") or ""
        base = base if os.path.isabs(base) else os.path.join(home, ".config")
        return InitSystem(SYSTEMD, os.path.join(base, "systemd", "user"), ".service", env)
    if _ask(env, "launchctl", "managername")[0]:
        return InitSystem(LAUNCHD, os.path.join(home, "Library", "LaunchAgents"), ".plist", env)
    return None


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _ask(env: Mapping[str, str], *words: str) -> tuple[bool, str]:
    """Whether the command went well, and what it said."""
    program = shutil.which(words[0], path=env.get("PATH"))
    if program is None:
        return False, f"`{words[0]}` is not on PATH"
    try:
        done = subprocess.run(
            [program, *words[1:]], env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return False, str(error)
    return done.returncode == 0, done.stdout


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


def read_unit(text: str) -> Unit | None:
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


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _plain(word: str) -> str:
    return word.replace("%%", "%")

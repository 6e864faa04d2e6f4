"""What starts programs for a person after the machine has started: systemd or launchd, asked by its own
command."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

TIME_LIMIT_S = 20.0
SYSTEMD, LAUNCHD = "systemd", "launchd"


class Answer(NamedTuple):
    ok: bool
    text: str


class InitSystem(NamedTuple):
    kind: str
    folder: str  # where it looks for what a person wants started
    suffix: str
    env: Mapping[str, str]

    def switch_on(self, path: str) -> str:
        """Start what the file says, now and from now on; what went wrong, or nothing."""
        name = os.path.basename(path)
        if self.kind == LAUNCHD:
            self._launchctl("bootout", f"{_domain()}/{name[: -len(self.suffix)]}")  # it may not be there yet
            return _trouble(self._launchctl("bootstrap", _domain(), path))
        for words in (("daemon-reload",), ("enable", name), ("restart", name)):
            answer = self._systemctl(*words)
            if not answer.ok:
                return _trouble(answer)
        return ""

    def switch_off(self, path: str) -> str:
        """What was started by it goes on."""
        name = os.path.basename(path)
        if self.kind == LAUNCHD:
            return _trouble(self._launchctl("bootout", f"{_domain()}/{name[: -len(self.suffix)]}"))
        return _trouble(self._systemctl("disable", "--now", name))

    def is_active(self, path: str) -> bool:
        name = os.path.basename(path)
        if self.kind == LAUNCHD:
            return self._launchctl("print", f"{_domain()}/{name[: -len(self.suffix)]}").ok
        return self._systemctl("is-active", name).text.strip() == "active"

    def lingers(self) -> bool | None:
        """Whether a service of this person runs while nobody is logged in; None where that is no question."""
        if self.kind == LAUNCHD:
            return None
        answer = _ask(["loginctl", "show-user", str(os.getuid()), "--property=Linger"], self.env)
        return answer.ok and "Linger=yes" in answer.text.split()

    def _systemctl(self, *words: str) -> Answer:
        return _ask(["systemctl", "--user", *words], self.env)

    def _launchctl(self, *words: str) -> Answer:
        return _ask(["launchctl", *words], self.env)


def found(env: Mapping[str, str]) -> InitSystem | None:
    """The one that answers here."""
    home = env.get("HOME") or os.path.expanduser("~")
    if _ask(["systemctl", "--user", "show-environment"], env).ok:
        base = env.get("XDG_CONFIG_HOME") or ""
        base = base if os.path.isabs(base) else os.path.join(home, ".config")
        return InitSystem(SYSTEMD, os.path.join(base, "systemd", "user"), ".service", env)
    if _ask(["launchctl", "managername"], env).ok:
        return InitSystem(LAUNCHD, os.path.join(home, "Library", "LaunchAgents"), ".plist", env)
    return None


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _trouble(answer: Answer) -> str:
    return "" if answer.ok else answer.text.strip().rpartition("\n")[2] or "it failed without a word"


def _ask(words: list[str], env: Mapping[str, str]) -> Answer:
    program = shutil.which(words[0], path=env.get("PATH"))
    if program is None:
        return Answer(False, f"`{words[0]}` is not on PATH")
    try:
        done = subprocess.run(
            [program, *words[1:]], env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return Answer(False, str(error))
    return Answer(done.returncode == 0, done.stdout)

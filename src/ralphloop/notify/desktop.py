"""A notice on the desktop, by the first program of the system that can show one."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from ralphloop.config import Config
from ralphloop.domain.table import PERSON
from ralphloop.errors import NotSentError
from ralphloop.notify.message import Message, plain

TIMEOUT_S = 10.0
SAID_MAX = 200
TITLE, BODY = "RALPHLOOP_TITLE", "RALPHLOOP_BODY"

# The text is data for it: an AppleScript gets it as arguments, PowerShell from its environment.
_APPLESCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_WINRT = "Windows.UI.Notifications, ContentType=WindowsRuntime"
_TOAST = f"""\
$ErrorActionPreference = 'Stop'
$manager = [Windows.UI.Notifications.ToastNotificationManager, {_WINRT}]
$null = [Windows.UI.Notifications.ToastNotification, {_WINRT}]
$xml = $manager::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$lines = $xml.GetElementsByTagName('text')
$null = $lines.Item(0).AppendChild($xml.CreateTextNode($env:{TITLE}))
$null = $lines.Item(1).AppendChild($xml.CreateTextNode($env:{BODY}))
$app = '{{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}}\\WindowsPowerShell\\v1.0\\powershell.exe'
$manager::CreateToastNotifier($app).Show([Windows.UI.Notifications.ToastNotification]::new($xml))
"""
# A desktop may read a body as markup, and notify-send reads backslashes in it: neither may mean anything.
_NO_MARKUP = str.maketrans({"<": "‹", ">": "›", "&": "＆", "\\": "＼"})


class Call(NamedTuple):
    """A program to run, and what is added to its environment."""

    words: list[str]
    extra: dict[str, str]


def send(message: Message, _settings: Config, *, env: Mapping[str, str], pid: int) -> str:
    return show(message, env)


def show(message: Message, env: Mapping[str, str]) -> str:
    """The name of the program that showed it."""
    found = calls(message, env)
    if not found:
        raise NotSentError("none of notify-send, osascript and powershell.exe is on PATH")
    failed = []
    for call in found:
        trouble = _run(call, env)
        if not trouble:
            return os.path.basename(call.words[0])
        failed.append(f"{os.path.basename(call.words[0])}: {trouble}")
    raise NotSentError("; ".join(failed))


def calls(message: Message, env: Mapping[str, str]) -> list[Call]:
    """How each program that is there is called."""
    title, body = message.title, message.body
    urgency = "critical" if message.kind == PERSON else "normal"
    shown = [text.translate(_NO_MARKUP) for text in (title, body)]
    script = [word for line in _APPLESCRIPT for word in ("-e", line)]
    toast = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", _TOAST]
    # from Linux in Windows, only the variables named in WSLENV get through
    wsl = ":".join(filter(None, (env.get("WSLENV"), TITLE, BODY)))
    ways: tuple[tuple[str, list[str], dict[str, str]], ...] = (
        ("notify-send", ["--app-name=ralphloop", f"--urgency={urgency}", "--", *shown], {}),
        ("osascript", [*script, title, body], {}),
        ("powershell.exe", toast, {TITLE: title, BODY: body, "WSLENV": wsl}),
    )
    paths = [(_program(name, env), words, extra) for name, words, extra in ways]
    return [Call([path, *words], extra) for path, words, extra in paths if path]


def _program(name: str, env: Mapping[str, str]) -> str:
    """Where it is; a relative folder on PATH would be one of the project's."""
    for folder in (env.get("PATH") or "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _run(call: Call, env: Mapping[str, str]) -> str:
    """Why it could not show the notice, or nothing. What it leaves running has nothing of ours open."""
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                call.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={**env, **call.extra},
                start_new_session=True,
            )
        except OSError as error:
            return error.strerror or str(error)
        try:
            code = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _kill(process)
            return f"did not end within {TIMEOUT_S:.0f} s"
        said.seek(0)
        told = plain(said.read(4 * SAID_MAX).decode("utf-8", "replace"))[:SAID_MAX]
        return "" if code == 0 else told or f"exit code {code}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()

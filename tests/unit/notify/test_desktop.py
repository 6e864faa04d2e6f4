"""Notices on the desktop: which program is called, with which words, and what its failure says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from fakes.patience import eventually
from ralphloop.errors import NotSentError
from ralphloop.notify import desktop
from ralphloop.notify.message import Message

HOSTILE = """-x "q" 'q' $(touch pwned) `touch pwned` <b>b</b> &amp; \\074i\\076 ; touch pwned"""
RECORD = f"""#!{sys.executable}
import json, os, sys
names = ("RALPHLOOP_TITLE", "RALPHLOOP_BODY", "WSLENV")
said = {{"words": sys.argv[1:], "env": {{name: os.environ.get(name) for name in names}}}}
with open(sys.argv[0] + ".called", "w") as file:
    json.dump(said, file)
"""


class Programs:
    """A folder on PATH with programs that write down how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"PATH": os.pathsep.join(["relative", str(folder)])}

    def add(self, name: str, script: str = RECORD) -> None:
        file = self.folder / name
        file.write_text(script)
        file.chmod(0o755)

    def called(self, name: str) -> dict[str, object]:
        found = json.loads((self.folder / f"{name}.called").read_text())
        assert isinstance(found, dict)
        return found


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    return Programs(folder)


def told(kind: str = "end", body: str = HOSTILE) -> Message:
    return Message(kind, "ralphloop: " + HOSTILE, body, {})


def test_notify_send_gets_the_text_without_markup_and_escapes(programs: Programs, tmp_path: Path) -> None:
    programs.add("notify-send")
    assert desktop.show(told("person"), programs.env) == "notify-send"
    words = programs.called("notify-send")["words"]
    assert isinstance(words, list)
    assert words[:3] == ["--app-name=ralphloop", "--urgency=critical", "--"]
    shown = HOSTILE.translate(str.maketrans("<>&\\", "‹›＆＼"))
    assert words[3:] == ["ralphloop: " + shown, shown]
    assert not (tmp_path / "pwned").exists()


def test_osascript_gets_the_text_as_arguments_of_a_fixed_script(programs: Programs) -> None:
    programs.add("osascript")
    assert desktop.show(told(), programs.env) == "osascript"
    words = programs.called("osascript")["words"]
    assert isinstance(words, list)
    assert words[0::2][:3] == ["-e"] * 3
    assert words[1:6:2] == list(desktop._APPLESCRIPT)
    assert words[6:] == ["ralphloop: " + HOSTILE, HOSTILE]


def test_powershell_gets_the_text_by_its_environment(programs: Programs) -> None:
    programs.add("powershell.exe")
    assert desktop.show(told(), {**programs.env, "WSLENV": "A/p"}) == "powershell.exe"
    called = programs.called("powershell.exe")
    assert called["env"] == {
        "RALPHLOOP_TITLE": "ralphloop: " + HOSTILE,
        "RALPHLOOP_BODY": HOSTILE,
        "WSLENV": "A/p:RALPHLOOP_TITLE:RALPHLOOP_BODY",
    }
    words = called["words"]
    assert isinstance(words, list)
    assert not any("pwned" in word for word in words)


def test_a_program_that_fails_leaves_it_to_the_next(programs: Programs) -> None:
    programs.add("notify-send", "#!/bin/sh\necho no bus >&2\nexit 1\n")
    programs.add("osascript")
    assert desktop.show(told(), programs.env) == "osascript"


def test_what_the_failing_program_said_is_told(programs: Programs) -> None:
    programs.add("notify-send", "#!/bin/sh\nprintf 'no \\033[1mbus' >&2\nexit 1\n")
    with pytest.raises(NotSentError, match=r"^notify-send: no \[1mbus$"):
        desktop.show(told(), programs.env)


def test_a_program_that_hangs_is_ended_with_what_it_started(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desktop, "TIMEOUT_S", 2.0)
    programs.add("notify-send", '#!/bin/sh\necho $$ > "$0.pid"\n/bin/sleep 600\n')
    with pytest.raises(NotSentError, match="did not end within 2 s"):
        desktop.show(told(), programs.env)
    group = int((programs.folder / "notify-send.pid").read_text())
    eventually(lambda: not _alive(group), what=lambda: _alive(group))


def _alive(group: int) -> list[Path]:
    """The processes of a group that have not ended; a signal takes a moment on a busy machine."""
    return [path for path in Path("/proc").glob("[0-9]*/stat") if _is_alive(path, group)]


def _is_alive(path: Path, group: int) -> bool:
    try:
        state, _, its_group = path.read_bytes().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(its_group) == group and state != b"Z"


def test_without_a_program_it_says_what_was_looked_for(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(NotSentError, match="notify-send, osascript and powershell"):
        desktop.show(told(), programs.env)
    # a folder of the project on PATH is not searched
    (tmp_path / "relative").mkdir()
    Programs(tmp_path / "relative").add("notify-send")
    with pytest.raises(NotSentError, match="notify-send, osascript and powershell"):
        desktop.show(told(), programs.env)

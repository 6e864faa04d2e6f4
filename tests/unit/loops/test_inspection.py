"""A list is looked over once as long as it stays the same; what was left unread is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.loops import inspection
from ralphloop.loops.inspection import Looked, look, missing
from ralphloop.proof import protect
from ralphloop.tasklists import features
from unit.domain.cases import each

ENV = {"PATH": "/usr/bin:/bin"}


def looked(root: Path, *verify: str, before: Looked | None = None, **shared: Any) -> Looked:
    tasks = [{"id": f"F{n}", "description": "x", "verify": one} for n, one in enumerate(verify, 1)]
    texts = {"list": json.dumps({"features": tasks, **shared})}
    return look(str(root), features.parse(texts), texts, env=ENV, before=before)


def shell(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """One that reads a command by this script, and finds every program."""
    program = folder / "shell"
    program.write_text(f'#!/bin/sh\n[ "$1" = -n ] || exit 0\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr(inspection, "SHELL", str(program))


def test_the_shell_reads_a_list_again_only_once_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = tmp_path / "read"
    shell(tmp_path, monkeypatch, f'printf "%s\\n" "$3" >> {read}')
    first = looked(tmp_path, "make a", "make b")
    assert looked(tmp_path, "make a", "make b", before=first) is first
    assert read.read_text() == "make a\nmake b\n"
    looked(tmp_path, "make c", before=first)
    assert read.read_text() == "make a\nmake b\nmake c\n"


def test_checks_that_there_was_no_time_to_read_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell(tmp_path, monkeypatch, "sleep 1.2")
    monkeypatch.setattr(inspection, "ALL_READ_S", 1.0)
    told = looked(tmp_path, "make a", "make b", "make c").doubts
    assert told == ("only the first 1 of 3 checks were read by `sh -n`",)


def test_more_checks_than_the_shell_reads_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "READ_MOST", 2)
    told = looked(tmp_path, "make a", "make b", "make c").doubts
    assert told == ("only the first 2 of 3 checks were read by `sh -n`",)


def test_what_protect_names_is_told_and_too_many_files_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    found = looked(tmp_path, "make", protect=["a", "gone/**", "[bc]"])
    assert found.doubts == ("`protect` names no file yet: gone/**",)
    assert not found.fault
    monkeypatch.setattr(protect, "FILES_MAX", 1)
    found = looked(tmp_path, "make", protect=["a", "[bc]"])
    assert found.doubts == (found.fault,)
    assert found.fault == "`protect` cannot hold: more than 1 files to protect; name fewer"


def program(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_a_program_that_is_not_there_is_told_with_the_one_that_is_meant(tmp_path: Path) -> None:
    program(tmp_path / "bin", "pytest")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    commands = ["pytset -q", "pytset -k cart", "CI=1 no-such-thing", "pytest -q", "Tests pass", "gerp -q a"]
    meant = {"pytset": "pytest", "no-such-thing": "", "Tests": "test", "gerp": "grep"}
    assert missing(str(tmp_path), commands, env) == meant


FINE = [
    "pytest -q", "test -f a", "[ -f a ]", "[[ -f a ]]", "if true; then true; fi", "cd web && nosuch", ":",
    "./run-tests", "bin/nosuch -q", "/opt/nosuch", "~/nosuch", "$TOOL -q", "${TOOL:-nosuch} -q", ". ./env",
    "'no such' -q", "nosuch -q || true", "nosuch | grep -q x", "nosuch; true", "nosuch & wait", "(nosuch)",
    "{ nosuch; }", "! nosuch -q", "`which nosuch` -q", "$(which nosuch) -q", "nosuch() { :; }; nosuch",
    "PATH=./bin nosuch", "A=1 PATH=./bin nosuch", "A=$B nosuch", "command -v nosuch", "exec true", "",
    "true\nnosuch", "nosuch \\\n  && true", "env nosuch", "sh -c 'nosuch'", "local-tool -q", "# nosuch",
    "case a in a) nosuch;; esac", "for one in a; do nosuch; done", "export A=1", "trap - EXIT", "nöten -q",
    '"$TOOL" -q', "eval nosuch", "-q nosuch",
]  # fmt: skip


@each("command", FINE)
def test_no_alarm_is_false(tmp_path: Path, command: str) -> None:
    program(tmp_path / "bin", "pytest")
    program(tmp_path / "tools", "local-tool")
    env = {"PATH": f"tools:{tmp_path / 'bin'}:/usr/bin:/bin"}
    assert missing(str(tmp_path), [command], env) == {}


def test_a_missing_program_is_told_once_for_all_its_checks(tmp_path: Path) -> None:
    told = looked(tmp_path, "nosuch 1", "nosuch 2", "true", "nosuch 3", "nosuch 4").doubts
    cure = "install it, mend the check, or let a task bring it"
    assert told == (
        f"there is no program `nosuch` on PATH, so the check of F1, F2, F4 and 1 more cannot pass: {cure}",
    )


def test_without_a_path_or_a_shell_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(str(tmp_path), ["nosuch"], {}) == {}
    assert missing(str(tmp_path / "gone"), ["nosuch"], ENV) == {}
    monkeypatch.setattr(inspection, "SHELL", str(tmp_path / "no-shell"))
    assert missing(str(tmp_path), ["nosuch"], ENV) == {}

"""A list is looked over once as long as it stays the same; what was left unread is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.loops import inspection
from ralphloop.loops.inspection import Looked, look
from ralphloop.proof import protect
from ralphloop.tasklists import features


def looked(root: Path, *verify: str, before: Looked | None = None, **shared: Any) -> Looked:
    tasks = [{"id": f"F{n}", "description": "x", "verify": one} for n, one in enumerate(verify, 1)]
    texts = {"list": json.dumps({"features": tasks, **shared})}
    return look(str(root), features.parse(texts), texts, before=before)


def shell(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "shell"
    program.write_text(f"#!/bin/sh\n{script}\n")
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

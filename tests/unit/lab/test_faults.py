"""The failing disk: what happens at the call that meets the fault, and at those before and after it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ralphloop.lab.faults import (
    DENIED,
    FULL,
    IO_ERROR,
    KILL_AFTER,
    KILL_BEFORE,
    NO_SPACE,
    REMOVE,
    SHORT_FULL,
    SHORT_KILL,
)

# Makes two files by the way that the hot path does, and says how far it came: open, write, close, each twice.
WRITER = """
import sys
from ralphloop import system
from ralphloop.lab.faults import Disk, Fault
folder, at, kind, gone = sys.argv[1:]
Disk(Fault(int(at), kind, gone), within=folder, seen=lambda name, path: print(name, flush=True)).install()
for name in ("one", "two"):
    try:
        handle = system.open(folder + "/" + name, system.O_WRONLY | system.O_CREAT, 0o600)
        try:
            done = system.write(handle, b"12345678")
        finally:
            system.close(handle)
        print("wrote", done, flush=True)
    except OSError as error:
        print("error", error.errno, flush=True)
"""


class Wrote(NamedTuple):
    code: int
    said: list[str]
    files: dict[str, bytes]


def wrote(folder: Path, at: int, kind: str, *, gone: str = "") -> Wrote:
    ended = subprocess.run(
        [sys.executable, "-c", WRITER, str(folder), str(at), kind, gone],
        env={"PATH": os.defpath}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    found = {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}
    return Wrote(ended.returncode, ended.stdout.split("\n")[:-1], found)


def test_without_a_fault_every_call_is_seen_and_nothing_happens(tmp_path: Path) -> None:
    done = wrote(tmp_path, 0, "")
    assert done.code == 0
    assert done.said == ["open", "write", "close", "wrote 8"] * 2
    assert done.files == {"one": b"12345678", "two": b"12345678"}


@pytest.mark.parametrize(
    ("kind", "at", "left"),
    [
        (KILL_BEFORE, 1, {}),
        (KILL_AFTER, 1, {"one": b""}),
        (KILL_BEFORE, 2, {"one": b""}),
        (KILL_AFTER, 2, {"one": b"12345678"}),
        (SHORT_KILL, 2, {"one": b"1234"}),
        (KILL_AFTER, 4, {"one": b"12345678", "two": b""}),
    ],
)
def test_a_killed_process_leaves_what_it_had_done(tmp_path: Path, kind: str, at: int, left: dict[str, bytes]):
    done = wrote(tmp_path, at, kind)
    assert done.code == -9
    assert done.files == left


@pytest.mark.parametrize(("kind", "number"), [(NO_SPACE, 28), (IO_ERROR, 5), (DENIED, 13)])
def test_one_call_is_refused_and_the_next_ones_work(tmp_path: Path, kind: str, number: int) -> None:
    done = wrote(tmp_path, 2, kind)
    assert done.said[-5:] == [f"error {number}", "open", "write", "close", "wrote 8"]
    assert done.files == {"one": b"", "two": b"12345678"}


def test_a_handle_is_closed_where_closing_it_fails(tmp_path: Path) -> None:
    done = wrote(tmp_path, 3, IO_ERROR)
    assert done.said[2:4] == ["close", "error 5"]
    assert done.files["two"] == b"12345678"


@pytest.mark.parametrize(("kind", "first"), [(FULL, ["error 28"]), (SHORT_FULL, ["wrote 4"])])
def test_a_full_disk_stays_full(tmp_path: Path, kind: str, first: list[str]) -> None:
    done = wrote(tmp_path, 2, kind)
    assert [line for line in done.said if " " in line] == [*first, "error 28"]
    assert "two" not in done.files


def test_a_folder_is_gone_before_the_call(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    done = wrote(place, 4, REMOVE, gone=str(place))
    assert done.said[-2:] == ["open", "error 2"]
    assert not place.exists()


def test_calls_elsewhere_are_not_counted(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    within = tmp_path / "within"
    script = WRITER.replace("within=folder", f"within={str(within)!r}")
    ended = subprocess.run(
        [sys.executable, "-c", script, str(elsewhere), "1", KILL_BEFORE, ""],
        env={"PATH": os.defpath}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ended.stdout.split("\n")[:-1] == ["wrote 8", "wrote 8"]

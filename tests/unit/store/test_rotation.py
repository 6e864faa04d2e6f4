"""Nothing of ours grows for ever: what is too long moves aside, once, and loses no line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ralphloop.store import files
from ralphloop.store.files import older, rotate

WRITER = """
import sys
from ralphloop.store import files
path, name, count, most = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for number in range(count):
    files.append(path, "%s-%d\\n" % (name, number), most=most)
"""


def lines(*paths: Path) -> list[str]:
    return [line for path in paths if path.exists() for line in path.read_text().splitlines() if line]


def test_a_file_moves_aside_when_it_is_longer_than_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for number in range(5):
        files.append(str(path), f"line {number}\n", most=20)
    assert lines(tmp_path / "journal.1.jsonl") == ["line 0", "line 1", "line 2"]
    assert lines(path) == ["line 3", "line 4"]


def test_one_older_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "hook.log"
    for number in range(100):
        files.append(str(path), f"line {number}\n", most=20)
    assert sorted(os.listdir(tmp_path)) == ["hook.1.log", "hook.log"]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 60
    assert lines(Path(older(str(path))), path)[-1] == "line 99"


def test_without_a_bound_nothing_moves(tmp_path: Path) -> None:
    files.append(str(tmp_path / "index.jsonl"), "x" * 10_000)
    assert os.listdir(tmp_path) == ["index.jsonl"]


def test_who_comes_late_leaves_the_new_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("old\n")
    late = files.open_to_append(str(path))
    path.rename(older(str(path)))
    path.write_text("new\n")
    rotate(str(path), late)
    os.write(late, b"late\n")
    os.close(late)
    assert lines(Path(older(str(path)))) == ["old", "late"]
    assert lines(path) == ["new"]


def test_processes_that_write_at_once_lose_no_line_to_one_rotation(tmp_path: Path) -> None:
    path, count = tmp_path / "journal.jsonl", 400
    each = len("w0-100\n")
    most = 8 * count * each * 2 // 3  # once, and not twice
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"w{n}", str(count), str(most)])
        for n in range(8)
    ]
    assert [writer.wait(60) for writer in writers] == [0] * 8
    found = lines(Path(older(str(path))), path)
    assert Path(older(str(path))).exists()
    assert sorted(found) == sorted(f"w{n}-{number}" for n in range(8) for number in range(count))

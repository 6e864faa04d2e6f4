"""A disk that is really full, under the hook as it is registered: the stop is allowed and says so."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hook.harness import LAYOUTS, OWNER, Answer, LoopProject
from hook.lines import text_line, tool_line
from hook.proven import cli

SIZE_KB = 400
pytestmark = pytest.mark.slow


def started(base: Path, layout: str) -> LoopProject:
    found = LoopProject(base, layout)
    found.arm()
    assert found.turn().blocks
    return found


def stop_limited(found: LoopProject) -> Answer:
    """A stop whose processes may not make any file longer than nothing."""
    found.add_lines(tool_line("Bash", {"command": "true"}), text_line("Another step is done."))
    found.stops += 1
    payload = found.payload("Stop", last_assistant_message="Another step is done.")
    command = "ulimit -f 0; " + found.command("Stop")
    process = found.start(json.dumps(payload).encode(), argv=["/bin/sh", "-c", command])
    return found.finish(process)


def check_it_goes_on(found: LoopProject, iteration: int) -> None:
    status = cli(found, "status", "--json")
    assert status.returncode == 0, status.stderr
    (loop,) = json.loads(status.stdout)["loops"]
    assert (loop["state"], loop["owner"]) == ("running", OWNER)
    assert loop["iteration"] == iteration
    assert found.turn().blocks
    assert found.loop()["iteration"] == iteration + 1
    for number in (1, 2, 3):
        found.close(number)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"


def assert_said(answer: Answer) -> None:
    assert not answer.blocks
    assert "cannot write" in answer.message
    assert "the stop is allowed" in answer.message


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_stop_that_can_write_nothing_is_allowed_and_says_so(tmp_path: Path, layout: str) -> None:
    found = started(tmp_path, layout)
    iteration = found.loop()["iteration"]
    assert_said(stop_limited(found))
    assert not list(found.base.rglob(".*.tmp"))
    check_it_goes_on(found, iteration)


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KB}k", "ralphloop-test", str(place)],
        capture_output=True, text=True,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip(f"nothing may be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> Path:
    """Take all that is left, to the last byte."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (place / "probe").write_bytes(b"x")
    return filler


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_full_disk_ends_a_turn_and_no_loop(tmp_path: Path, layout: str) -> None:
    with small_disk(tmp_path / "disk") as place:
        found = started(place, layout)
        iteration = found.loop()["iteration"]
        found.add_lines(tool_line("Bash", {"command": "true"}), text_line("Another step is done."))
        filler = fill(place)
        answer = found.stop(last_assistant_message="Another step is done.")
        assert_said(answer)
        status = cli(found, "status", "--json")
        assert status.returncode == 0, status.stderr
        filler.unlink()
        (place / "probe").unlink(missing_ok=True)
        check_it_goes_on(found, iteration)

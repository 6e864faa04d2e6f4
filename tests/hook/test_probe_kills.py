"""Whoever is killed in the middle of a proof, nothing is left of it, and the next stop is complete."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hook.probing import Probed, probed
from unit.proof.processes import gone, wait_until
from unit.proof.stages import GIT, ORDINARY, ROOT
from unit.proof.test_stage_ends import below

pytestmark = pytest.mark.slow

# The runs of a check are counted outside of the stage; the wanted one says that it is there, and waits.
COUNTED = """\
n=$(cat ../n 2>/dev/null || echo 0); echo $((n + 1)) > ../n
if [ "$n" = "$(cat ../hold 2>/dev/null)" ]; then rm ../hold; echo > ../begun; sleep 300; fi
"""
FIRST, CLAIM, ALONE, NEXT, LAST = range(5)
# git itself waits where a word of its command line is the wanted one
SLOW_GIT = f"""\
#!/bin/sh
wanted=$(cat "$0.hold" 2>/dev/null)
for word; do
    if [ -n "$wanted" ] && [ "$word" = "$wanted" ]; then
        rm "$0.hold"; echo > "$0.begun"; while ! [ -e "$0.go" ]; do sleep 0.1; done
    fi
done
exec {GIT} "$@"
"""
WHO = {"the hook": 0, "the keeper": 1, "the builder": 2, "the first process": 3, "the command": 4}


@pytest.fixture(params=[ROOT, ORDINARY])
def found(request: pytest.FixtureRequest) -> Iterator[Probed]:
    with probed(request.param) as made:
        made.write({"tests/check.sh": f"{COUNTED}grep -q done app.txt\n"})
        yield made
        wait_until(lambda: not made.processes())
        assert made.left() == []


def killed(found: Probed, process: subprocess.Popen[str], *, begun: Path, place: int = 0) -> None:
    """Meet a proof in the middle, and kill one of those who are at it."""
    wait_until(begun.exists)
    begun.unlink()
    living = [process.pid, *below(process.pid)]
    os.kill(living[place], signal.SIGKILL)
    if (found.folder / "bin").exists():
        (found.folder / "bin/git.go").touch()  # a git whose hook was killed ends by itself, with its work
    process.communicate(timeout=60)
    wait_until(lambda: all(gone(pid) for pid in (living if place == 0 else living[1:])))


def held_at(found: Probed, run: int) -> None:
    found.write({"../hold": f"{run}\n"})


def ends_complete(found: Probed, *, doubts: int = 0) -> None:
    if found.outcome is None:
        found.stop()
    assert found.outcome == "complete"
    assert sum(one["kind"] in ("criteria", "idle") for one in found.proof()["findings"]) == doubts
    assert found.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("place", WHO.values(), ids=WHO)
@pytest.mark.parametrize("state", [ALONE, NEXT], ids=["alone", "without"])
def test_a_kill_while_whose_green_it_is_is_asked(found: Probed, state: int, place: int) -> None:
    found.begin("sh tests/check.sh")
    found.claim()
    held_at(found, state)
    with found.stopping() as hook:
        killed(found, hook, begun=found.folder / "begun", place=place)
    ends_complete(found)


@pytest.mark.slow
@pytest.mark.parametrize("place", WHO.values(), ids=WHO)
@pytest.mark.parametrize("state", [NEXT, LAST], ids=["plain", "judged"])
def test_a_kill_while_the_cause_is_looked_for(found: Probed, state: int, place: int) -> None:
    found.write({"tests/check.sh": f"{COUNTED}exit 1\n"})
    found.begin("sh tests/check.sh")
    found.claim()
    found.write({"tests/check.sh": f"{COUNTED}exit 0\n"})
    held_at(found, state)
    with found.stopping() as hook:
        killed(found, hook, begun=found.folder / "begun", place=place)
    if place == 0:
        ends_complete(found, doubts=2)
    else:
        found.stop()
        assert found.outcome == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("place", WHO.values(), ids=WHO)
def test_a_kill_while_start_tries_a_check(found: Probed, place: int) -> None:
    found.listed("sh tests/check.sh")
    found.write({"app.txt": "nothing\n"})
    found.commit()
    held_at(found, FIRST)
    with found.started(
        "start", "demo", "--yes", "--session", "0f6b1f5e-8f0a-4c62-9c1e-000000000001"
    ) as start:
        killed(found, start, begun=found.folder / "begun", place=place)
    if place == 0:
        assert found.ralphloop("status").returncode == 0
    found.claim()
    ends_complete(found)


WORDS = ["add", "write-tree", "diff-tree", "checkout-index", "cat-file", "update-index"]


@pytest.fixture
def slow_git(found: Probed) -> Path:
    place = found.folder / "bin/git"
    found.write({"bin/git": SLOW_GIT}, at=found.folder)
    place.chmod(0o755)
    found.env["PATH"] = f"{place.parent}:{found.env['PATH']}"
    return place


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS)
def test_a_kill_while_git_is_at_it(found: Probed, slow_git: Path, word: str) -> None:
    found.begin("sh tests/check.sh")
    found.claim()
    found.write({"bin/git.hold": word}, at=found.folder)
    with found.stopping() as hook:
        killed(found, hook, begun=Path(f"{slow_git}.begun"))
    ends_complete(found)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["add", "write-tree", "diff-tree"])
def test_a_kill_while_start_keeps_the_tree(found: Probed, slow_git: Path, word: str) -> None:
    found.listed("sh tests/check.sh")
    found.write({"app.txt": "nothing\n"})
    found.commit()
    found.write({"bin/git.hold": word}, at=found.folder)
    words = ("start", "demo", "--yes", "--session", "0f6b1f5e-8f0a-4c62-9c1e-000000000001")
    with found.started(*words) as start:
        killed(found, start, begun=Path(f"{slow_git}.begun"))
    if not list((found.root / ".ralph/run").glob("*/loop.json")):
        found.start()
    found.claim()
    ends_complete(found)

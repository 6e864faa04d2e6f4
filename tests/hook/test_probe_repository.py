"""What the agent does to the repository, so that nothing can be put back, is told all the same."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from hook.probing import Probed, probed
from unit.proof.stages import ORDINARY, ROOT

pytestmark = pytest.mark.slow

CHECK = "tests/check.sh"
HONEST, GUTTED = "grep -q done app.txt\n", "grep -q nothing app.txt\n"
# the blob of the check, written anew under its name: git does not look whether it is that
POISON = """
import os, subprocess, zlib
name = subprocess.check_output(["git", "rev-parse", "HEAD:tests/check.sh"], text=True).strip()
path = f".git/objects/{name[:2]}/{name[2:]}"
text = open("tests/check.sh", "rb").read()
os.remove(path)
open(path, "wb").write(zlib.compress(b"blob %d\\0" % len(text) + text))
"""


@pytest.fixture(params=[ROOT, ORDINARY])
def found(request: pytest.FixtureRequest) -> Iterator[Probed]:
    """With files that are older than the index: git does not keep such a one a second time by itself."""
    with probed(request.param) as made:
        made.write({CHECK: HONEST, "app.txt": "nothing\n"})
        long_ago = time.time() - 90_000
        for path in (made.top / CHECK, made.top / "app.txt"):
            os.utime(path, (long_ago, long_ago))
        yield made


def begun(found: Probed, check: str = CHECK) -> Probed:
    found.listed(f"sh {check}")
    found.commit()
    found.git("status")
    found.start()
    return found


def gut(found: Probed) -> None:
    found.claim()
    found.write({CHECK: GUTTED, "app.txt": "nothing at all\n"})


def loses_the_blob(found: Probed) -> None:
    name = found.git("rev-parse", f"HEAD:{CHECK}").strip()
    (found.top / ".git/objects" / name[:2] / name[2:]).unlink()


def writes_the_blob_anew(found: Probed) -> None:
    words = [found.owner.python, "-c", POISON]
    subprocess.run(words, cwd=found.top, env=found.env, check=True, **found.owner.options)


def forgets_the_past(found: Probed) -> None:
    found.git("add", "-A")
    found.git("commit", "-q", "--amend", "-m", "start")
    found.git("reflog", "expire", "--expire=now", "--all")
    found.git("gc", "-q", "--prune=now")


def locks_the_folder(found: Probed) -> None:
    (found.top / "tests").chmod(0o555)


def begins_git_anew(found: Probed) -> None:
    subprocess.run(["rm", "-rf", ".git/objects"], cwd=found.top, check=True)
    found.git("init", "-q")
    found.git("add", "-A")


@pytest.mark.parametrize(
    "harm", [loses_the_blob, writes_the_blob_anew, forgets_the_past, locks_the_folder, begins_git_anew]
)
def test_a_gutted_check_is_told_whatever_became_of_the_repository(
    found: Probed, harm: Callable[[Probed], None]
) -> None:
    begun(found)
    gut(found)
    harm(found)
    found.stop()
    assert found.outcome == "complete"
    assert f"criteria: F1 is green only with changes to {CHECK}" in found.findings()


def test_work_that_cannot_be_taken_away_is_a_doubt(found: Probed) -> None:
    begun(found)
    name = found.git("rev-parse", "HEAD:app.txt").strip()
    found.claim()
    (found.top / ".git/objects" / name[:2] / name[2:]).unlink()
    found.stop()
    said = "git: F1 cannot be tried apart: git has lost what was there at the start"
    assert (found.outcome, found.findings()[:1]) == ("complete", [said])


def test_a_script_beside_the_list_judges_and_a_note_of_the_work_is_work(found: Probed) -> None:
    own = ".ralph/loops/demo/check.sh"
    found.write({own: HONEST})
    begun(found, own)
    found.claim()
    found.write({own: GUTTED, "app.txt": "nothing at all\n", ".ralph/specs/a.md": "words\n"})
    found.stop()
    assert f"criteria: F1 is green only with changes to {own}" in found.findings()

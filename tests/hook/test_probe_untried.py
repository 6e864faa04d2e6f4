"""Where nothing can be tried apart, `start` says so and why, the end says it again, and what needs no run is
still told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hook.probing import Probed, probed
from unit.proof.stages import ORDINARY

pytestmark = pytest.mark.slow

NO_GIT = "no check was tried apart from the work: there is no git repository here"
OFF = "no check was tried apart from the work: `apart` is false in your settings"


@pytest.fixture
def found() -> Iterator[Probed]:
    with probed(ORDINARY) as made:
        yield made


def test_without_git_start_and_end_say_why(found: Probed) -> None:
    found.listed("grep -q done app.txt")
    found.write({"app.txt": "nothing\n"})
    assert f"! {NO_GIT}.\n" in found.start()
    assert found.findings() == [f"not tried: {NO_GIT}"]
    found.claim()
    found.stop()
    assert (found.outcome, found.findings()) == ("complete", [f"not tried: {NO_GIT}"])


def test_without_git_a_list_without_checks_has_nothing_to_say(found: Probed) -> None:
    found.write({".ralph/loops/demo/feature_list.json": '{"features": [{"id": "F1", "description": "x"}]}'})
    assert "tried" not in found.start()


def test_what_is_switched_off_is_said_and_what_needs_no_run_is_still_told(found: Probed) -> None:
    found.extra = {"RALPHLOOP_APART": "false"}
    found.listed("grep -q done app.txt")
    found.write({"app.txt": "nothing\n", "tests/test_app.py": "assert True\n"})
    found.commit()
    assert f"! {OFF}.\n" in found.start()
    found.claim()
    (found.root / "tests/test_app.py").unlink()
    found.git("switch", "-qc", "other")
    said = found.stop()["systemMessage"]
    assert "complete: 1/1 proven, 2 doubts" in said
    assert found.findings() == [
        "removed: the test file tests/test_app.py is gone",
        "elsewhere: the work (F1) is on other, and the loop began on main",
        f"not tried: {OFF}",
    ]


def test_what_is_switched_off_runs_each_check_as_often_as_ever(found: Probed) -> None:
    found.extra = {"RALPHLOOP_APART": "false"}
    found.begin("echo ran >> ../ran; grep -q done app.txt")
    found.claim()
    found.stop()
    assert (found.outcome, (found.folder / "ran").read_text()) == ("complete", "ran\n")


def test_a_file_that_is_too_large_is_named_and_the_rest_is_tried(found: Probed) -> None:
    with (found.root / "data.bin").open("wb") as file:
        file.truncate(80 * 1024**3)
    found.listed("test -f made.bin && grep -q done app.txt")
    found.write({"app.txt": "nothing\n"})
    found.git("init", "-q", "-b", "main")
    found.git("add", "app.txt")
    found.git("commit", "-qm", "start")
    told = "data.bin: more than 200 MB, which is not looked at"
    assert f"! {told}.\n" in found.start()
    with (found.root / "made.bin").open("wb") as file:
        file.truncate(80 * 1024**3)
    found.claim()
    found.stop()
    assert (found.outcome, found.findings()) == (
        "complete",
        ["not tried: data.bin and 1 more: more than 200 MB, which is not looked at"],
    )
    assert [one["without"] for one in found.proof()["tried"].values()] == ["red"]


def test_what_is_too_long_to_be_read_is_named(found: Probed) -> None:
    found.begin()
    found.write({f"src/a{number}.py": "x = 1\n" for number in range(250)})
    found.write(
        {"tests/test_long.py": "x = 1\n" * 60_000, "zz/test_last.py": "import pytest\npytest.skip('x')\n"}
    )
    found.claim()
    found.stop()
    told = found.findings()
    assert [one for one in told if one.startswith("line") and "zz/test_last.py:2" in one]
    assert told[-1] == (
        "not tried: not every added line was looked at: too much was added to tests/test_long.py"
    )

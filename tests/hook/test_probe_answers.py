"""Which answers serve as the final run, how long they hold, and how often a doubt opens its task again."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest

from hook.probing import LIST, Probed, probed
from ralphloop.proof.checker import Due
from ralphloop.proof.probe import Probe
from unit.proof.stages import ROOT

pytestmark = pytest.mark.slow

LOOKS = "grep -q done app.txt"
BUILDS = "grep -q done app.txt && cp app.txt built"


@pytest.fixture
def found() -> Iterator[Probed]:
    with probed(ROOT) as made:
        yield made


def probing(found: Probed, *commands: str, round_no: int = 1, is_only: bool = False) -> Probe:
    probe = Probe(found.files, folder=str(found.root), env=found.env, deadline=time.monotonic() + 60)
    probe.begin([Due("F1", commands, 60.0)], round_no=round_no, is_only=is_only)
    return probe


def test_the_work_alone_serves_where_all_is_as_it_is_and_nobody_misses_what_it_made(
    found: Probed,
) -> None:
    found.write({".gitignore": "built\n"})
    found.begin(LOOKS, BUILDS)
    found.claim()
    probe = probing(found, LOOKS, BUILDS)
    assert probe.alone(LOOKS) is not None
    assert probe.alone(BUILDS) is None, "another command may look at what it built"
    assert probe.record.tried[BUILDS].alone == "green"
    assert probing(found, BUILDS, is_only=True).alone(BUILDS) is not None
    found.write({"tests/check.sh": "true\n"})
    probe = probing(found, LOOKS, is_only=True)
    assert probe.alone(LOOKS) is None, "a criterion changed, so the project itself was not asked"
    assert LOOKS not in probe.record.tried or probe.record.tried[LOOKS].alone == "untried"


def test_time_is_counted_while_the_work_stays_and_answers_while_the_round_does(found: Probed) -> None:
    found.begin(LOOKS)
    found.claim()
    first = probing(found, LOOKS)
    assert first.ask()
    first.put_off()
    for round_no, stops, alone in ((1, 2, "green"), (2, 2, "untried")):
        again = Probe.__new__(Probe)
        again.__dict__.update(first.__dict__)
        again.begin([Due("F1", (LOOKS,), 60.0)], round_no=round_no)
        assert (again.record.stops, again.record.tried[LOOKS].alone) == (stops, alone), round_no
        assert again.alone(LOOKS) is None, "it has cost two stops already"
    found.write({"app.txt": "done again\n"})
    first.begin([Due("F1", (LOOKS,), 60.0)], round_no=3)
    assert first.record.stops == 0


def strict(found: Probed) -> None:
    (found.home / ".config/ralphloop").mkdir(parents=True)
    (found.home / ".config/ralphloop/config.toml").write_text('doubts = "refuse"\n')


def claimed(found: Probed, *tasks: str) -> None:
    data = json.loads((found.root / LIST).read_text())
    for one in data["features"]:
        one["passes"] = one["passes"] or one["id"] in tasks
    found.write({LIST: json.dumps(data)})


def test_a_task_is_opened_again_once_however_many_doubts_it_has(found: Probed) -> None:
    """A rewritten test is green only by its change, and green without the work."""
    strict(found)
    found.write({"tests/check.sh": LOOKS + "\n"})
    found.begin("sh tests/check.sh")
    found.write({"tests/check.sh": "true\n", "app.txt": "nothing else\n"})
    claimed(found, "F1")
    assert found.stop()["decision"] == "block"
    assert sorted(one["kind"] for one in found.proof()["findings"]) == ["criteria", "idle"]
    assert sorted(found.proof()["refused"]) == ["criteria F1", "idle F1"]
    claimed(found, "F1")
    assert "needs you" in found.stop()["systemMessage"]
    assert found.outcome == "needs_input"


EDITED = "is green only with changes to tests/check.sh"


def test_the_command_that_the_pause_names_is_the_way_out_of_it(found: Probed) -> None:
    """It said that the task is proven already, and there was no other."""
    strict(found)
    found.write({"tests/check.sh": LOOKS + "\n"})
    found.begin("sh tests/check.sh", "test -s app.txt && grep -q here more.txt")
    found.write({"tests/check.sh": "grep -q . app.txt\n", "app.txt": "other\n", "more.txt": "here\n"})
    claimed(found, "F1", "F2")
    assert found.stop()["decision"] == "block"
    assert "F2 is proven already" in found.ralphloop("accept", "F2").stdout
    claimed(found, "F1")
    told = found.stop()["systemMessage"]
    (command,) = re.findall("`(ralphloop accept [^`]*)`", told)
    accepted = found.ralphloop(*command.split()[1:])
    assert "F1 counts as done on your word." in accepted.stdout
    assert "F1 is vouched already" in found.ralphloop("accept", "F1").stdout
    assert "all is answered" in found.ralphloop("status", "demo").stdout
    assert found.ralphloop("resume").returncode == 0
    told = f"1/2 proven (+ 1 vouched), 2 doubts: F1 {EDITED}; F1 is green without the work"
    assert found.stop()["systemMessage"].endswith(told)
    assert found.outcome == "complete"
    assert found.findings()[:2] == [f"criteria: F1 {EDITED}", "idle: F1 is green without the work"]
    assert "complete, 2 doubts" in found.ralphloop("status", "demo").stdout


def test_of_two_tasks_both_are_named_and_what_is_vouched_for_is_still_told_with_the_rest(
    found: Probed,
) -> None:
    strict(found)
    found.write({"tests/check.sh": LOOKS + "\n"})
    found.begin("sh tests/check.sh", "sh tests/check.sh; sh tests/check.sh", "grep -q here more.txt")
    found.write({"tests/check.sh": "true\n", "app.txt": "other\n", "more.txt": "here\n"})
    claimed(found, "F1", "F2", "F3")
    assert found.stop()["decision"] == "block"
    assert "F3 is proven already" in found.ralphloop("accept", "F3").stdout
    claimed(found, "F1", "F2")
    told = found.stop()["systemMessage"]
    assert sorted(re.findall("`ralphloop accept ([^`]*)`", told)) == ["F1", "F2"]
    assert told.endswith(" vouch for them, then send any message.")
    said = " ".join(found.ralphloop("status", "demo").stdout.split())
    assert re.search("the doubt about F[12], F[12] is yours to decide: `", said)
    named = re.findall("`ralphloop accept ([^`]*)`", said)
    assert sorted(named) == ["F1 --loop demo", "F2 --loop demo"]
    assert said.partition("yours to decide")[2].count("vouch for them, then send the session any message.")
    assert "F3 is proven already" in found.ralphloop("accept", "F3").stdout
    found.ralphloop("accept", "F1", "--loop", "demo")
    assert "the doubt about F2 is yours" in " ".join(found.ralphloop("status", "demo").stdout.split())
    found.ralphloop("accept", "F2", "--loop", "demo")
    found.hears("UserPromptSubmit", prompt="go on")
    ends = found.stop()["systemMessage"]
    assert "complete: 1/3 proven (+ 2 vouched), " in ends
    assert f"F1 {EDITED}" in ends
    assert f"F2 {EDITED}" in ends
    assert found.outcome == "complete"

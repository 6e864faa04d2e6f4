"""An agent that takes the short way, in the real client: whatever it does, its loop does not end complete."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from e2e.client import PRINT_OPTIONS, UNATTENDED, ClientHome
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, plugin
from e2e.proving import CHECK, CHECK_TEXT, LIST, Bench, checked, claim, feature, rewrite, verify
from ralphloop.lab.reply import call, text
from ralphloop.proof.approval import digest

pytestmark = pytest.mark.client

PROMISE = "ALL_TASKS_COMPLETE"
TWO = checked(feature(1), feature(2))


@pytest.fixture
def bench(client_home: ClientHome, project: ProjectFactory) -> Bench:
    """Two features, each with a check."""
    return Bench(Outside(client_home, project(TWO)))


def state_files(home: Path, *patterns: str) -> dict[str, str]:
    """The files out of the agent's reach that say what the person allowed."""
    folder = home / ".local/state/ralphloop/by-path"
    return {str(path): path.read_text() for pattern in patterns for path in sorted(folder.rglob(pattern))}


def test_passes_without_work_are_turned_back_until_every_task_is_set_aside(bench: Bench) -> None:
    all_true = json.dumps({"features": [feature(1, passes=True), feature(2, passes=True)]})
    played = bench.play(
        [
            bash(f"sed -i 's/\"passes\": false/\"passes\": true/' {LIST}"), text("Both are made."),
            call("Read", file_path=str(bench.root / LIST)),
            call("Write", file_path=str(bench.root / LIST), content=all_true), text("Now they are."),
        ],
        "--max-attempts", "2",
    )  # fmt: skip
    assert played.ending == ("ended", "failed")
    why = "set aside: F1 (task F1 was tried 2 times), F2 (task F2 was tried 2 times)"
    assert played.outside.loop["detail"] == why
    assert bench.passes() == {"F1": False, "F2": False}
    assert [(entry["green"], entry["exit_code"]) for entry in bench.evidence()] == [(False, 1)] * 4
    assert played.told("The claim of task F1 is refused: `sh tests/check.sh 1` exited with 1")[2]
    assert played.told("made-2 is missing")[2]
    assert [entry["refused"] for entry in bench.journal("stop")][:1] == ["F1, F2"]
    assert len(played.requests) == 5


def test_edited_check_is_put_back_and_the_claim_judged_by_the_pinned_one(bench: Bench) -> None:
    lie = rewrite("for one in features: one.update(verify='true', passes=True)")
    played = bench.play(
        [bash(lie), text("Both are made."), bash(f"{lie}\nralphloop done F1"), text("F1 at least.")],
        "--max-iterations", "2",
    )  # fmt: skip
    assert played.ending == ("ended", "limit")
    assert bench.passes() == {"F1": False, "F2": False}
    assert {name: entry["verify"] for name, entry in bench.features().items()} == {
        "F1": verify(1),
        "F2": verify(2),
    }
    assert {entry["command"] for entry in bench.evidence()} == {verify(1), verify(2)}
    assert not any(entry["green"] for entry in bench.evidence())
    assert played.told("The criteria were pinned at the start and are back: F1 (verify), F2 (verify)")[2]
    assert played.told("The claim of task F1 is refused: `sh tests/check.sh 1` exited with 1")[2]
    assert played.told("F1 is not done: `sh tests/check.sh 1` exited with 1")[3]
    assert [json.loads(kept)["features"][0]["verify"] for kept in bench.rejected()] == ["true", "true"]


def test_claim_that_touched_a_protected_file_is_refused_and_the_file_put_back(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    bench = Bench(Outside(client_home, project(checked(feature(1), protect=["tests"]))))
    lies = {"removed": f"rm {CHECK}", "changed": f"echo 'exit 0' > {CHECK}"}
    script = []
    for lie in lies.values():
        script += [bash(f"{lie}\n{claim('F1')}"), text("F1 is made."), bash(f"{lie}; ralphloop done F1")]
        script += [text("F1 is made now.")]
    played = bench.play(script, "--max-attempts", "4")
    assert played.ending == ("ended", "failed")
    for place, what in enumerate(lies):
        touched = f"protected files were touched: tests/check.sh ({what}); it is as it was again"
        assert played.told(f"The claim of task F1 is refused: {touched}")[4 * place + 2], what
        assert played.told(f"F1 is not done: {touched}")[4 * place + 3], what
    assert (bench.root / CHECK).read_text() == CHECK_TEXT
    assert bench.passes() == {"F1": False}
    kept = [[f"{CHECK} ({what})"] for what in lies for _ in range(2)]
    assert [entry["files"] for entry in bench.journal("protected")] == kept
    assert bench.evidence() == []
    assert bench.rejected() == ["exit 0\n"] * 2


def test_word_that_all_is_done_is_refused_each_time_with_the_open_tasks(bench: Bench) -> None:
    played = bench.play(
        [
            text(f"Every task is done.\n\n{PROMISE}"),
            text("I have finished both features and nothing is left to do."),
            bash("ls"), text(f"I looked again, and everything is in place.\n{PROMISE}"),
            text(f"As I said, all of it is done.\n{PROMISE}"),
        ],
        "--max-iterations", "4",
    )  # fmt: skip
    assert played.ending == ("ended", "limit")
    refused = played.told(f"{PROMISE} is refused: 2 tasks are open: F1, F2.")
    assert refused == [False, True, False, False, True]
    assert played.told("go on with task F1 (1/2)") == [False, True, True, False, True]
    assert [entry["refused"] for entry in bench.journal("stop")] == [PROMISE, "", PROMISE, ""]
    assert any("limit: iteration 4 of 4; open: F1, F2" in str(event) for event in played.run.events)


def test_empty_words_set_a_task_aside_at_the_third_and_stall_the_loop_at_the_last_task(bench: Bench) -> None:
    played = bench.play([text("Holding.")] * 9)
    assert played.ending == ("ended", "stalled")
    assert played.told("Task F1 is set aside: the same reply 3 times.") == [False] * 3 + [True, False, False]
    assert len(played.requests) == 6  # three about each task
    assert played.outside.loop["detail"] == "3 continuations without a tool call or a changed task"
    assert bench.passes() == {"F1": False, "F2": False}


def test_neither_removed_nor_added_tasks_stand_in_for_the_pinned_ones(bench: Bench) -> None:
    easy = [feature(3, verify="touch ran-unasked", passes=True), feature(4, verify="", passes=True)]
    played = bench.play(
        [
            bash("touch made-1\n" + rewrite("features[0]['passes'] = True; del features[1]")),
            text(f"The list is done.\n\n{PROMISE}"),
            bash(f"rm {LIST}"), text(f"There is no list any more.\n\n{PROMISE}"),
            bash(rewrite(f"features += {easy}")), text(f"F3 and F4 are done.\n\n{PROMISE}"),
            bash("ralphloop done F3"), text(f"Done again.\n\n{PROMISE}"),
        ],
        "--max-iterations", "4",
    )  # fmt: skip
    assert played.ending == ("ended", "limit")
    assert bench.passes() == {"F1": True, "F2": False, "F3": True, "F4": True}
    assert bench.ledger()["F1"]["state"] == "proven"
    assert played.told("The criteria were pinned at the start and are back: F2 (removed)")[2]
    assert played.told(f"{PROMISE} is refused: 1 tasks are open: F2.") == [
        place in (2, 4, 6) for place in range(8)
    ]
    assert [[one["id"] for one in json.loads(kept)["features"]] for kept in bench.rejected()] == [["F1"]]
    assert played.told("The checks of F3 wait for the person's approval; go on with the rest.")[6]
    assert played.told("its check waits for the person's approval")[7]
    assert not (bench.root / "ran-unasked").exists()
    assert {entry["command"] for entry in bench.evidence()} == {verify(1)}
    assert [bench.ledger()[task].get("added") for task in ("F3", "F4")] == ["yes", "yes"]
    assert [entry["tasks"] for entry in bench.journal("added")] == [["F3", "F4"]]
    assert any("limit: iteration 4 of 4; open: F2" in str(event) for event in played.run.events)


def test_commands_of_the_person_are_refused_to_the_agent_and_change_nothing(bench: Bench) -> None:
    wanted = {
        "approve --yes": "an approval",
        "accept F1": "vouching for a task",
        "skip F1": "leaving out a task",
        "resume --max-iterations 999": "a higher limit (iterations 999 instead of 2)",
    }
    tries = [bash(f"ralphloop {words}; echo code $?") for words in wanted]
    tries.append(call("Skill", skill="ralphloop:approve", args=digest(["true"])))
    added = bash(rewrite("features.append({'id': 'F3', 'description': 'x', 'verify': 'true'})"))
    kept = ("approved.json", "pinned")
    session = bench.start("--yes", "--max-iterations", "2")
    before = state_files(bench.outside.home.path, *kept), bench.journal("approve")
    played = bench.go([added, *tries, text("Done."), text("Done indeed.")], session)
    assert played.ending == ("ended", "limit")
    for place, what in enumerate(wanted.values(), 2):
        assert played.told(f"{what} is the person's to decide, and this runs inside Claude Code")[place]
        assert played.told("code 1")[place]
    assert played.told("Skill ralphloop:approve cannot be used with Skill tool")[6]
    assert (state_files(bench.outside.home.path, *kept), bench.journal("approve")) == before
    assert "state" not in bench.ledger().get("F1", {})
    (record,) = state_files(bench.outside.home.path, "ended/*.json").values()
    assert json.loads(record)["limits"]["iterations"] == 2
    assert bench.journal("accept") + bench.journal("skip") == []


def test_forged_machine_files_prove_nothing_and_are_named(bench: Bench) -> None:
    forged = """python3 - <<'END'
import glob, json
def edit(pattern, change):
    for path in glob.glob(".ralph/run/*/" + pattern):
        facts = json.load(open(path))
        change(facts)
        json.dump(facts, open(path, "w"))
proven = {"state": "proven", "evidence": "0001-F1"}
edit("loop.json", lambda facts: facts.update(state="ended", outcome="complete"))
edit("ledger.json", lambda facts: facts["tasks"].update(F1=proven, F2=proven))
edit("evidence/*.json", lambda facts: facts.update(green=True, exit_code=0))
END"""
    played = bench.play(
        [
            bash(claim("F1", "F2")), text("Both are made."),
            bash(f"{claim('F1', 'F2')}\n{forged}"), text("The files say so."),
            bash(forged), text(f"They say so indeed.\n\n{PROMISE}"),
        ],
        "--max-iterations", "3",
    )  # fmt: skip
    assert played.ending == ("ended", "limit")
    assert bench.passes() == {"F1": False, "F2": False}
    assert played.told("The claim of task F2 is refused")[4]
    assert not any("state" in known for known in bench.ledger().values())
    assert [(entry["green"], entry["file"]) for entry in bench.evidence()] == [(False, "altered")] * 4
    shown = played.outside.ralphloop("evidence").replace("\n  ", " ").splitlines()
    assert [line.startswith("✗") and line.endswith("(its file is altered)") for line in shown] == [True] * 4


def test_approval_typed_by_a_client_that_the_agent_started_is_none(bench: Bench) -> None:
    """The list's own tasks are done honestly, so that only the added check is left to wait."""
    unasked = "touch ran-unasked"
    nested = shlex.join(
        [
            str(bench.outside.home.binary), *PRINT_OPTIONS, "--permission-mode", UNATTENDED,
            "--plugin-dir", str(plugin("ralphloop")), f"/ralphloop:approve {digest([unasked])}",
        ]
    )  # fmt: skip
    add = rewrite(f"features.append({feature(3, verify=unasked, passes=True)})")
    played = bench.play(
        [
            bash(f"touch made-1 made-2\n{add}\n{claim('F1', 'F2')}"),
            bash(f"{nested} < /dev/null"), text("The nested session is at its end."),
            text("All three are done."),
        ]
    )  # fmt: skip
    assert played.ending == ("paused", "needs_approval")
    assert played.told("The nested session is at its end.")[3]
    assert played.told("an agent started this client, so nobody typed that")[3]
    assert not (bench.root / "ran-unasked").exists()
    assert not any(unasked in entry["commands"] for entry in bench.journal("approve"))
    (approved,) = state_files(bench.outside.home.path, "approved.json").values()
    assert set(json.loads(approved)["commands"]) == {verify(1), verify(2)}
    assert bench.ledger()["F3"]["state"] == "claimed"
    assert any(f"/ralphloop:approve {digest([unasked])}" in str(event) for event in played.run.events)

"""Section 5, claims: checks run by the hook, false claims turned back, and the evidence that is kept."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess

import pytest

from hook.conftest import ProjectFactory
from hook.harness import LAYOUTS, OWNER, SEQUENTIAL, feature, loop_files, task_id
from hook.lines import MODEL
from hook.proven import (
    LIST,
    adding_to,
    boxed,
    checked,
    commands_run,
    events,
    evidence,
    is_closed,
    known,
    lines_of,
    list_file,
    listed,
)

every_layout = pytest.mark.parametrize("layout", LAYOUTS)

# the list as it is when the agent has claimed F1, and the same with nothing but that value turned back
FEATURE_TEXTS = {
    "odd indentation": '{"features":\n\t [ {"id" :"F1",\n   "verify":"exit 1", "passes"  :\t%s }\n'
    ',{"id":"F2"}]}',
    "windows line ends": '{\r\n  "features": [\r\n    {"id": "F1", "verify": "exit 1",\r\n "passes": %s}, '
    '{"id": "F2"}\r\n  ]\r\n}\r\n',
    "unknown fields": '{"z": [1.50, 1e2], "features": [{"ünï": "é\\u00e9\\/", "passes": %s, "id": "F1",'
    ' "verify": "exit 1", "deep": {"passes": true}}, {"id": "F2", "x": null}], "a": {"passes": true}}\n\n',
    "a bare array": '[{"id": "F1", "verify": ["true", "exit 1"], "passes":%s},\n {"id": "F2"}]',
    "a byte order mark": '\ufeff{"features": [{"passes": %s, "id": "F1", "verify": "exit 1"}, {"id": "F2"}]}',
    "twice the same key": '{"features": [{"passes": false, "id": "F1", "verify": "exit 1", "passes": %s}, '
    '{"id": "F2"}]}\n',
}
BOX_TEXTS = {
    "plain": "# Tasks\n\n- [%s] 1.1 One\n  - **Verify**: `exit 1`\n- [ ] 1.2 Two\n",
    "windows line ends": "# Tasks\r\n\r\n- [%s] 1.1 One\r\n  - **Verify**: `exit 1`\r\n- [ ] 1.2 Two\r\n",
    "odd spaces": "\ufeff\t*   [%s]   **1.1**  One  \n\t  \tVerify:   `exit 1`   \n\n\n\t* [ ] 1.2 Two",
    "boxes below": "- [%s] 1.1 One\n  - [x] step\n  - **Verify**: `exit 1`\n  - [ ] step\n- [ ] 1.2 Two\n",
    "boxes in code": "```\n- [x] 1.1 One\n```\n- [%s] 1.1 One\n  **Verify**: `exit 1`\n- [ ] 1.2 Two\n",
}


# A false claim


def test_a_false_claim_is_turned_back_and_no_other_byte_changes(project: ProjectFactory) -> None:
    for kind, text in FEATURE_TEXTS.items():
        found = project("features", {LIST: text % "false"})
        found.arm()
        found.own.write_bytes((text % "true").encode())
        assert "next F1" in found.turn().message, kind
        assert found.own.read_bytes() == (text % "false").encode(), kind
        assert found.rejected() == [], kind


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_a_box_that_was_checked_too_early_is_cleared_and_no_other_byte_changes(
    project: ProjectFactory, layout: str
) -> None:
    for kind, text in BOX_TEXTS.items():
        found = boxed(project, layout, text % " ")
        list_file(found).write_bytes((text % "X").encode())
        assert "Task 1/2" in found.turn().message, kind
        assert list_file(found).read_bytes() == (text % " ").encode(), kind
        assert found.rejected() == [], kind


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_the_index_is_set_back_with_the_claim(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "exit 1", "")
    found.close(1)
    found.edit_state(taskIndex=1)
    found.turn()
    assert found.state()["taskIndex"] == 0
    assert found.state()["taskIteration"] == 2


@every_layout
def test_the_agent_is_told_what_was_run_and_how_it_ended(project: ProjectFactory, layout: str) -> None:
    command = "echo first; echo the reason is above >&2; exit 7"
    found = checked(project, layout, command, "")
    found.close(1)
    answer = found.turn()
    told = f"The claim of task {task_id(layout, 1)} is refused: `{command}` exited with 7."
    assert f"{told} The end of its output:\nfirst\nthe reason is above" in answer.reason
    assert answer.blocks
    assert found.loop()["attempts"] == {task_id(layout, 1): 1}
    assert found.loop()["current"] == task_id(layout, 1)
    (row,) = events(found, "refused")
    assert (row["task"], row["command"], row["detail"]) == (task_id(layout, 1), command, "exited with 7")


@pytest.mark.parametrize(
    ("command", "why"),
    [("kill -9 $$", "was ended by signal 9"), ("no-such-program-here", "exited with 127")],
)
def test_the_agent_is_told_of_other_ends_too(project: ProjectFactory, command: str, why: str) -> None:
    found = checked(project, "features", command)
    found.close(1)
    assert f"`{command}` {why}" in found.turn().reason


@every_layout
def test_a_true_claim_is_proven(project: ProjectFactory, layout: str) -> None:
    found = checked(project, layout, "test -f one", "")
    found.write({"one": ""})
    found.close(1)
    answer = found.turn()
    assert answer.blocks
    assert "refused" not in answer.reason
    assert found.loop()["current"] == task_id(layout, 2)
    assert is_closed(found, 1)
    (record,) = evidence(found)
    assert known(found, task_id(layout, 1)) == {"state": "proven", "evidence": record["id"]}
    assert [row["proven"] for row in events(found, "stop")] == [[task_id(layout, 1)]]


# What is kept


def test_evidence_says_what_ran_where_how_it_ended_and_for_whom(project: ProjectFactory) -> None:
    found = checked(project, "features", "printf 'a\\nb\\n'; exit 4", "")
    found.commit_all()
    found.extra_env["AI_AGENT"] = "claude-code_2-1-325_harness"
    found.turn()
    found.close(1)
    found.turn()
    (record,) = evidence(found)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=found.root, capture_output=True, text=True)
    assert record["command"] == "printf 'a\\nb\\n'; exit 4"
    assert (record["exit_code"], record["signal"], record["timed_out"]) == (4, None, False)
    assert (record["green"], record["tasks"], record["kind"]) == (False, ["F1"], "claim")
    assert 0 <= record["duration_s"] < 60
    assert (record["output_bytes"], record["output_tail"]) == (4, "a\nb\n")
    assert record["output_sha256"] == hashlib.sha256(b"a\nb\n").hexdigest()
    assert record["head"] == head.stdout.strip()
    assert len(record["tree"]) == 64
    assert (record["client"], record["model"]) == ("claude-code 2.1.325", MODEL)
    assert (record["session"], record["loop"]) == (OWNER, found.loop()["id"])
    assert (record["iteration"], record["cwd"]) == (2, str(found.root))
    assert record["at"].startswith("20")
    assert record["at"].endswith("Z")


def test_the_tree_of_the_evidence_tells_one_state_of_the_files_from_another(project: ProjectFactory) -> None:
    found = checked(project, "features", "exit 1")
    found.write({"work.py": "a"})
    found.commit_all()
    for text in ("a", "b", "b"):
        found.write({"work.py": text})
        found.close(1)
        found.turn()
    first, second, third = (record["tree"] for record in evidence(found))
    assert first != second
    assert second == third


def test_evidence_of_a_project_without_git_has_no_commit(project: ProjectFactory) -> None:
    found = checked(project, "features", "exit 1")
    found.close(1)
    found.turn()
    (record,) = evidence(found)
    assert (record["head"], record["tree"]) == (None, None)


def test_evidence_is_private_and_never_written_over(project: ProjectFactory) -> None:
    found = checked(project, "features", "echo $$; exit 1", "")
    kept: dict[str, bytes] = {}
    for attempt in range(1, 5):
        found.close(1)
        found.turn()
        files = sorted((found.run_folder / "evidence").iterdir())
        assert len(files) == attempt
        assert {name: (found.run_folder / "evidence" / name).read_bytes() for name in kept} == kept
        kept = {path.name: path.read_bytes() for path in files}
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((found.run_folder / "evidence").stat().st_mode) == 0o700
    index = [json.loads(line) for line in found.kept("evidence.jsonl").read_text().splitlines()]
    assert [f"{line['id']}.json" for line in index] == sorted(kept)


def test_evidence_has_an_id_of_its_own_even_if_older_files_are_gone(project: ProjectFactory) -> None:
    found = checked(project, "features", "exit 1", "")
    for _ in range(2):
        found.close(1)
        found.turn()
        for path in (found.run_folder / "evidence").iterdir():
            path.unlink()
    ids = [json.loads(line)["id"] for line in found.kept("evidence.jsonl").read_text().splitlines()]
    assert len(set(ids)) == 2


# Several claims


def test_a_command_that_several_claims_share_runs_once(project: ProjectFactory) -> None:
    ran = project("features").base / "ran"
    shared, own = adding_to(ran, "shared"), adding_to(ran, "own")
    found = checked(project, "features", shared, own, shared, "")
    for number in (1, 2, 3):
        found.close(number)
    found.turn()
    assert lines_of(ran) == ["shared", "own"]
    assert [known(found, f"F{n}")["state"] for n in (1, 2, 3)] == ["proven"] * 3
    assert [record["tasks"] for record in evidence(found)] == [
        ["F1", "F3"],
        ["F2"],
    ]


@pytest.mark.slow
def test_what_is_known_to_be_cheap_runs_first(project: ProjectFactory) -> None:
    slow, unknown, fast = "sleep 2; exit 1", "exit 2", "exit 1"
    found = checked(project, "features", slow, unknown, fast, "")
    for numbers in ((1, 3), (1, 2, 3)):
        for number in numbers:
            found.close(number)
        found.turn()
    assert commands_run(found) == [slow, fast, fast, slow, unknown]


def test_one_red_claim_does_not_turn_back_another(project: ProjectFactory) -> None:
    found = checked(project, "features", "true", "false", "true", "")
    for number in (1, 2, 3):
        found.close(number)
    answer = found.turn()
    assert [is_closed(found, number) for number in (1, 2, 3)] == [True, False, True]
    assert "next F2" in answer.message
    assert "2/4 proven" in answer.message


def test_of_a_list_of_commands_the_first_red_one_decides(project: ProjectFactory) -> None:
    ran = project("features").base / "ran"
    found = listed(project, feature("F1", verify=[adding_to(ran, "one"), "exit 5", adding_to(ran, "three")]))
    found.close(1)
    assert "`exit 5` exited with 5" in found.turn().reason
    assert lines_of(ran) == ["one"]


def test_the_lists_own_check_holds_for_tasks_without_one(project: ProjectFactory) -> None:
    ran = project("features").base / "ran"
    features = [feature("F1"), feature("F2", verify=adding_to(ran, "own")), feature("F3"), feature("F4")]
    found = listed(project, *features, verify=[adding_to(ran, "shared"), "test -f ready"])
    for number in (1, 2, 3):
        found.close(number)
    assert "`test -f ready` exited with 1" in found.turn().reason
    assert lines_of(ran) == ["shared", "own"]
    assert [is_closed(found, number) for number in (1, 2, 3)] == [False, True, False]
    found.write({"ready": ""})
    found.close(1)
    found.turn()
    assert known(found, "F1")["state"] == "proven"


def test_a_loop_whose_checks_go_on_is_not_stalled(project: ProjectFactory) -> None:
    """Fifty claims are judged in one stop; the agent is told to do nothing but wait for the rest."""
    total = 260
    found = listed(project, *(feature(f"F{n}", verify="true") for n in range(1, total + 1)))
    found.own.write_text(found.own.read_text().replace('"passes": false', '"passes": true'))
    said = [found.turn().blocks]
    while said[-1] and len(said) < 9:
        said.append(found.mute_turn("I wait for the checks.").blocks)
    assert found.loop()["outcome"] == "complete", found.loop()["detail"]


# Which text of a tasks.md is a command


ROWS = {
    "- **Verify**: `{}`": True,
    "**Verify:** `{}`": True,
    "- _Verify_: ``{}``": True,
    "Verify: `{}`": True,
    "- **Verify**: {}": False,
    "- **Verify**: run `{}`": False,
    "- **Verify**: `{}` and look at it": False,
    "- **Verify**: `{}` `true`": False,
    "- **Verification**: `{}`": False,
    "- **Do**: `{}`": False,
    "- **Verify**: ```{}": False,
}


@pytest.mark.parametrize("layout", SEQUENTIAL)
def test_only_fully_backticked_text_after_verify_is_run(project: ProjectFactory, layout: str) -> None:
    for row, runs in ROWS.items():
        ran = project("features").base / "ran"
        text = f"- [ ] 1.1 One\n  {row.format(adding_to(ran))}\n- [ ] 1.2 Two\n"
        found = boxed(project, layout, text)
        found.close(1)
        assert found.turn().blocks, row
        assert lines_of(ran) == ["ran"] * runs, row
        assert known(found, "1.1")["state"] == ("proven" if runs else "unverified"), row


# The final run


@every_layout
def test_what_broke_while_another_task_was_worked_on_is_opened_again(
    project: ProjectFactory, layout: str
) -> None:
    found = checked(project, layout, "test -f one", "test -f two")
    found.write({"one": ""})
    found.close(1)
    found.turn()
    (found.root / "one").rename(found.root / "two")
    found.close(2)
    answer = found.turn("ALL_TASKS_COMPLETE")
    first = task_id(layout, 1)
    assert answer.blocks
    assert f"Task {first} is open again: `test -f one` exited with 1." in answer.reason
    assert f"1 tasks are open: {first}." in answer.reason
    assert [is_closed(found, 1), is_closed(found, 2)] == [False, True]
    assert found.loop()["current"] == first
    assert known(found, first).get("state") is None
    found.write({"one": ""})
    found.close(1)
    assert not found.turn().blocks
    assert found.loop()["outcome"] == "complete"


@every_layout
def test_the_final_run_repeats_each_command_that_did_not_run_in_this_stop(
    project: ProjectFactory, layout: str
) -> None:
    ran = project("features").base / "ran"
    first, last = adding_to(ran, "first"), adding_to(ran, "last")
    found = checked(project, layout, first, first, last, "")
    for number in (1, 2):
        found.close(number)
        found.turn()
    assert lines_of(ran) == ["first", "first"]
    found.close(3)
    found.close(4)
    answer = found.turn()
    assert not answer.blocks
    assert lines_of(ran) == ["first", "first", "last", "first"]
    assert [record["kind"] for record in evidence(found)] == ["claim", "claim", "claim", "final"]
    if layout == "features":
        assert "complete: 3/4 proven (+ 1 unverified)" in answer.message
    assert found.turn().silent
    assert len(lines_of(ran)) == 4


def test_the_final_run_also_checks_what_was_done_before_the_start(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", passes=True, verify="test -f old"), feature("F2", verify="true"))
    found.close(2)
    answer = found.turn()
    assert "Task F1 is open again: `test -f old` exited with 1." in answer.reason
    assert not is_closed(found, 1)
    found.write({"old": ""})
    found.close(1)
    assert "complete: 2/2 proven" in found.turn().message


def test_a_list_without_checks_says_done_and_not_proven(project: ProjectFactory) -> None:
    found = project("features", loop_files("features", total=2))
    found.arm()
    found.close(1)
    assert "1/2 done" in found.turn().message
    found.close(2)
    assert "complete: 2/2 done" in found.turn().message


def test_a_final_run_starts_anew_after_more_work_that_no_transcript_shows(project: ProjectFactory) -> None:
    found = checked(project, "features", "test -f one", "test -f two", "test -f three")
    found.write({"one": "", "two": "", "three": ""})
    found.close(1)
    found.close(2)
    assert found.stop().blocks
    (found.root / "two").unlink()
    found.close(3)
    assert "`test -f two` exited with 1" in found.stop().reason
    (found.root / "one").rename(found.root / "two")
    found.close(2)
    answer = found.stop()
    assert answer.blocks, answer.message
    assert "`test -f one` exited with 1" in answer.reason

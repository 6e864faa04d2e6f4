"""The read model of a loop's life, over real files: whole, damaged, and with parts missing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hook.harness import LoopProject, feature
from hook.lines import text_line
from hook.proven import cli
from ralphloop.domain.finding import Finding
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import ProofRecord, Tried
from ralphloop.views.report import Report, report_of
from ralphloop.views.report_html import html
from ralphloop.views.report_json import to_json
from ralphloop.views.report_section import facts, sections
from ralphloop.views.report_text import markdown

FEATURES = [feature("F1", verify="test -f one"), feature("F2"), feature("F0", passes=True)]


def run_through(project: LoopProject) -> LoopProject:
    """A loop to its end: a claim refused, a protected file put back, a criterion restored, a task added."""
    project.commit_all()
    project.extra_env["AI_AGENT"] = "claude-code_2-1-325_agent"
    project.arm(limits={"cost_usd": 5.0})
    project.close(1)
    project.turn()
    (project.root / "one").touch()
    (project.root / "keep.txt").write_text("changed")
    project.close(1)
    project.turn()
    project.close(1)
    project.turn()
    data = json.loads(project.own.read_text())
    data["features"][1]["description"] = "something easier"
    data["features"].append(feature("F9"))
    project.own.write_text(json.dumps(data))
    project.turn("ALL_TASKS_COMPLETE")
    project.close(2)
    project.close(4)
    assert "complete" in project.turn().message
    return project


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> LoopProject:
    listed = json.dumps({"protect": ["keep.txt"], "features": FEATURES})
    files = {".ralph/loops/demo/feature_list.json": listed, "keep.txt": "as it was\n"}
    return run_through(LoopProject(tmp_path_factory.mktemp("finished"), "features", files))


def report(project: LoopProject) -> Report:
    now = project.the_loop().load().seen_at + 60  # type: ignore[union-attr]
    return report_of(project.the_loop(), now=now, env=project.env())


@pytest.fixture(scope="module")
def made(finished: LoopProject) -> Report:
    return report(finished)


def task(found: Report, name: str) -> Any:
    (one,) = [task for task in found.tasks if task.id == name]
    return one


def test_each_task_says_how_it_is_closed(made: Report) -> None:
    states = {task.id: task.state for task in made.tasks}
    assert states == {"F1": "proven", "F2": "unverified", "F0": "given", "F9": "unverified"}
    assert made.added == ["F9"]
    assert made.counts == {"proven": 1, "unverified": 2, "given": 1}
    assert made.faults == ()


def test_refused_claims_have_their_command_and_why(made: Report) -> None:
    told = [(claim.task, claim.command, claim.why.split(";")[0]) for claim in made.refused]
    assert told == [
        ("F1", "test -f one", "exited with 1"),
        ("F1", "", "protected files were touched: keep.txt (changed)"),
        ("", "", "ALL_TASKS_COMPLETE was said while tasks were open"),
    ]
    assert len(task(made, "F1").refused) == 2
    assert task(made, "F1").attempts == 2


def test_evidence_says_how_each_run_ended(made: Report) -> None:
    runs = [(check.kind, check.green, check.exit_code, check.file) for check in task(made, "F1").checks]
    assert runs == [
        ("claim", False, 1, "sound"),
        ("claim", True, 0, "sound"),
        ("final", True, 0, "sound"),
    ]
    assert made.final_run is not None
    assert made.final_run.green
    assert made.clients == ("claude-code 2.1.325",)


def test_what_was_put_back_is_told(made: Report) -> None:
    (restored,) = made.of_kind("restored")
    assert "F2 (description)" in restored["what"][0]
    assert restored["rejected"] in made.rejected
    assert [entry["files"] for entry in made.of_kind("protected")] == [["keep.txt (changed)"]]


def test_tokens_and_time_add_up_over_the_tasks(made: Report) -> None:
    spent = [task.spent.tokens for task in made.tasks if task.spent is not None]
    assert sum(spent) == made.spending.total.tokens == 10 * 14  # five turns of two messages
    assert task(made, "F0").spent.tokens == 0
    assert sum(task.time_s for task in made.tasks) == pytest.approx(made.working_s)
    assert 0 < made.working_s <= made.elapsed_s
    used = {limit.name: limit.used for limit in made.limits}
    assert used["cost_usd"] == pytest.approx(made.spending.total.known_usd)
    assert used["iterations"] == 5


def test_the_json_has_every_fact(made: Report) -> None:
    data = json.loads(json.dumps(to_json(made)))
    assert (data["outcome"], data["state"], data["loop"]["name"]) == ("complete", "ended", "demo")
    assert data["started_at"] < data["ended_at"] < data["made_at"]
    assert data["tasks"][0]["tokens"] > 0
    assert data["spending"]["by_model"]["claude-opus-5-5"]["cost_usd"] > 0
    assert [entry["event"] for entry in data["timeline"]][:2] == ["arm", "refused"]


@pytest.fixture
def damaged(tmp_path: Path) -> LoopProject:
    files = {".ralph/loops/demo/feature_list.json": json.dumps({"features": FEATURES})}
    project = LoopProject(tmp_path, "features", files)
    project.arm()
    (project.root / "one").touch()
    project.close(1)
    project.turn()
    return project


def told(project: LoopProject) -> str:
    """Every rendering works; what is wrong, in one text."""
    found = report(project)
    assert html(found).endswith("</html>\n")
    assert json.dumps(to_json(found))
    assert markdown(found).startswith("# demo: ")
    return "; ".join(found.faults)


def test_a_sound_loop_has_no_faults(damaged: LoopProject) -> None:
    assert told(damaged) == ""


def test_lines_of_the_journal_that_cannot_be_read_are_counted(damaged: LoopProject) -> None:
    journal = damaged.run_folder / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"at": "2026-01-01T00:00:00.000Z"\n[]\n\xff\xfe\n{"at": "soon", "event": "stop"}\n')
        file.write(b'{"at": "2026-01-01T00:00:00.000Z", "event": 3}\n{"unfinished')
    assert told(damaged) == "5 of the journal's lines cannot be read"


def test_a_journal_without_its_beginning_is_named(damaged: LoopProject) -> None:
    journal = damaged.run_folder / "journal.jsonl"
    journal.write_bytes(b"\n".join(journal.read_bytes().split(b"\n")[1:]))
    assert told(damaged) == "the journal's beginning is missing"
    assert task(report(damaged), "F1").time_s > 0


def test_a_lost_journal_is_named_and_the_rest_is_told(damaged: LoopProject) -> None:
    (damaged.run_folder / "journal.jsonl").unlink()
    assert "the journal is missing" in told(damaged)
    found = report(damaged)
    assert task(found, "F1").state == "proven"
    assert found.spending.by_task[""].tokens == found.spending.total.tokens == 28


def test_a_journal_that_is_no_file_is_as_good_as_none(damaged: LoopProject) -> None:
    journal = damaged.run_folder / "journal.jsonl"
    journal.unlink()
    journal.mkdir()
    assert "the journal is missing" in told(damaged)


def test_evidence_that_was_changed_or_removed_is_named(damaged: LoopProject) -> None:
    (file,) = (damaged.run_folder / "evidence").iterdir()
    file.write_text(file.read_text().replace('"exit_code": 0', '"exit_code": 7'))
    assert told(damaged) == "evidence that is altered: 0001-F1"
    (check,) = task(report(damaged), "F1").checks
    assert (check.exit_code, check.ended, check.green) == (None, "unknown", True)
    file.unlink()
    assert told(damaged) == "evidence that is missing: 0001-F1"


def test_evidence_that_nobody_recorded_is_named(damaged: LoopProject) -> None:
    (damaged.run_folder / "evidence" / "0002-F2.json").write_text('{"green": true}')
    assert told(damaged) == "files in evidence/ that ralphloop did not record: 0002-F2.json"


@pytest.mark.parametrize("line", ["{", '{"id": 1}', "[]"])
def test_a_damaged_index_is_named(damaged: LoopProject, line: str) -> None:
    with damaged.kept("evidence.jsonl").open("a") as file:
        file.write(line + "\n")
    assert told(damaged) == "1 line of the evidence's index cannot be read"


def test_an_index_with_odd_values_is_named(damaged: LoopProject) -> None:
    index = damaged.kept("evidence.jsonl")
    index.write_text(json.dumps({**json.loads(index.read_text()), "tasks": 7, "duration_s": "long"}) + "\n")
    assert "1 line of the evidence's index cannot be read" in told(damaged)
    assert "F1 counts as proven, but its evidence (0001-F1) is not in the index" in told(damaged)


def test_a_lost_ledger_is_named(damaged: LoopProject) -> None:
    damaged.kept("ledger.json").write_text("{")
    (damaged.run_folder / "ledger.json").unlink()
    assert "the ledger is lost" in told(damaged)


def test_a_list_that_cannot_be_read_leaves_what_the_journal_knows(damaged: LoopProject) -> None:
    damaged.own.write_text("{")
    assert "the tasks cannot be read" in told(damaged)
    assert {task.id: task.state for task in report(damaged).tasks} == {"F1": "proven", "F2": "unknown"}


def test_a_lost_state_is_named(damaged: LoopProject) -> None:
    loop = damaged.the_loop()
    damaged.kept("loop.json").write_text("")
    (damaged.run_folder / "loop.json").write_text("")
    found = report_of(loop, now=2e9, env={})
    assert found.outcome == "corrupt"
    assert "the loop's state is lost" in "; ".join(found.faults)
    assert "corrupt" in markdown(found)
    assert html(found)


def test_a_loop_that_has_just_begun_has_a_report(tmp_path: Path) -> None:
    project = LoopProject(tmp_path, "specum")
    project.arm(session=None)
    found = report(project)
    assert (found.outcome, found.ended_at, found.working_s) == ("armed", None, 0.0)
    assert "tokens unknown" in markdown(found)
    assert "<svg" not in html(found)


def test_tokens_after_the_end_are_not_the_loops(finished: LoopProject, made: Report) -> None:
    later = text_line("something else", timestamp="2099-01-01T00:00:00.000Z")
    before = finished.transcript.read_bytes()
    finished.add_lines(later)
    assert report(finished).spending.total.tokens == made.spending.total.tokens
    finished.transcript.write_bytes(before)


def test_sessions_whose_transcript_is_forgotten_are_counted(damaged: LoopProject) -> None:
    with (damaged.run_folder / "journal.jsonl").open("a") as file:
        for number in range(3):
            at = f"2026-01-01T00:00:0{number}.000Z"
            file.write(json.dumps({"at": at, "event": "adopt", "session": f"s{number}"}) + "\n")
    assert told(damaged) == "the transcripts of 3 sessions are not known: their tokens are not counted"


def final_notes(tmp_path: Path, *features: dict[str, Any], words: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What a report says of the final run of a loop in which the first task was claimed."""
    files = {".ralph/loops/demo/feature_list.json": json.dumps({"features": features})}
    project = LoopProject(tmp_path, "features", files)
    project.arm()
    if words:
        assert cli(project, *words).returncode == 0
    if words[:1] != ("accept",):
        project.close(1)
    project.turn()
    found = report(project)
    assert found.outcome == "complete"
    (section,) = [section for section in sections(found) if section.key == "final"]
    return section.notes


ONE, TWO = {"id": "F1", "verify": "true"}, {"id": "F2", "verify": "test -d ."}
GREEN = "every check had just been green, as the claims of the same stop"


def test_a_final_run_tells_only_of_checks_that_ran(tmp_path: Path) -> None:
    for place in range(4):
        (tmp_path / str(place)).mkdir()
    assert final_notes(tmp_path / "0", ONE) == (GREEN,)
    assert final_notes(tmp_path / "1", ONE, TWO, words=("skip", "F2")) == (
        "every check that ran had just been green, as the claims of the same stop",
        "not checked: F2 (skipped)",
    )
    assert final_notes(tmp_path / "2", ONE, words=("accept", "F1")) == (
        "no check was run",
        "not checked: F1 (vouched)",
    )
    assert final_notes(tmp_path / "3", {"id": "F1"}) == ("no check was run", "not checked: F1 (unverified)")


def test_a_red_final_run_of_before_is_not_the_last_word(tmp_path: Path) -> None:
    """F1 is opened again by the final run, and closed by a claim that is the last thing that runs."""
    features = [feature("F1", verify="test -f one"), feature("F2")]
    files = {".ralph/loops/demo/feature_list.json": json.dumps({"features": features})}
    project = LoopProject(tmp_path, "features", files)
    one = project.root / "one"
    project.arm()
    one.touch()
    project.close(1)
    project.turn()
    one.unlink()
    project.close(2)
    project.turn()
    one.touch()
    project.close(1)
    project.turn()
    found = report(project)
    assert found.outcome == "complete"
    assert found.final_run is not None
    assert not found.final_run.green
    (section,) = [section for section in sections(found) if section.key == "final"]
    green, unchecked, before = section.notes
    assert green == "every check that ran had just been green, as the claims of the same stop"
    assert unchecked == "not checked: F2 (unverified)"
    assert before.startswith("before that, ")
    assert before.endswith(": not everything was green (0002-F1)")


def test_a_task_that_is_vouched_for_after_a_red_final_run_is_named(tmp_path: Path) -> None:
    features = [feature("F1", verify="test -f one"), feature("F2")]
    files = {".ralph/loops/demo/feature_list.json": json.dumps({"features": features})}
    project = LoopProject(tmp_path, "features", files)
    project.arm()
    (project.root / "one").touch()
    project.close(1)
    project.turn()
    (project.root / "one").unlink()
    project.close(2)
    project.turn()
    assert cli(project, "accept", "F1").returncode == 0
    project.turn()
    found = report(project)
    assert found.outcome == "complete"
    (section,) = [section for section in sections(found) if section.key == "final"]
    assert section.notes[:2] == (
        "no check was run at the end",
        "not checked: F1 (vouched), F2 (unverified)",
    )


def doubtful(project: LoopProject, said: str, files: tuple[str, ...] = ()) -> Report:
    """The report on a loop with such a doubt and note."""
    doubt = Finding("criteria", said=said, task="F1", files=files)
    note = Finding("weak", said=said, task="F1", files=files)
    tried = {said: Tried("green", said, "red", counted={"node": 3, "tap": 2})}
    record = ProofRecord((note, doubt), tried, {"F1": files})
    proof_record.save(project.the_loop(), record)
    found = report(project)
    os.unlink(os.path.join(project.the_loop().kept, "proof.json"))
    return found


def test_doubts_stand_right_under_the_outcome(finished: LoopProject) -> None:
    found = doubtful(finished, "F1 is green only with changes to a.py", ("a.py",))
    assert found.outcome == "complete, with 1 doubt"
    assert facts(found)[:2] == [
        ("outcome", "complete, with 1 doubt"),
        ("doubt", "F1 is green only with changes to a.py"),
    ]
    told = {section.key: section for section in sections(found)}
    assert [row[:2] for row in told["findings"].rows] == [("criteria", "F1"), ("weak", "F1")]
    assert told["tried"].rows[0][1:] == ("green", "unknown, 3 tests", "red")
    assert told["tasks"].columns[-1] == "turned by"
    assert [row[-1] for row in told["tasks"].rows] == ["a.py", "–", "–", "–"]


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", "d/" * 2048, "測" * 4096])
def test_a_name_in_a_doubt_adds_no_element_and_no_end(finished: LoopProject, made: Report, name: str) -> None:
    found = doubtful(finished, f"F1 reads {name}", (name,))
    assert "<img" not in html(found)
    assert len(html(found)) < len(html(made)) + 10_000 + len(f"F1 reads {name}".encode())
    assert json.loads(json.dumps(to_json(found)))["doubts"][0]["files"] == [name]


def test_a_name_in_a_doubt_is_no_markup(finished: LoopProject) -> None:
    found = doubtful(finished, "F1 reads `a`|b|*c*")
    assert "\n- doubt: F1 reads \\`a\\`\\|b\\|\\*c\\*\n" in markdown(found)


def test_of_many_doubts_the_first_ten_stand_at_the_top(finished: LoopProject) -> None:
    found = doubtful(finished, "F1 is green without the work")
    many = found.view.proof._replace(findings=found.view.proof.findings * 12)
    told = [
        value
        for name, value in facts(found._replace(view=found.view._replace(proof=many)))
        if name == "doubt"
    ]
    assert len(told) == 11
    assert told[-1] == "and 2 more, below"

"""The checks of one stop: what is due, in which order, how much fits, and what follows from it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphloop.domain.model import FINAL_RUN
from ralphloop.proof import check_record, checker, prove, tree
from ralphloop.proof.checker import Origin
from ralphloop.store import tasks
from unit.proof.loops import ENV, Checked, task

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"


class Clock:
    """The time that a stop has used: it passes when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def passes(self, seconds: float) -> Callable[[str], None]:
        """With each command that is begun."""

        def say(text: str) -> None:
            self.now_s += seconds

        return say

    time = staticmethod(time.time)


@pytest.fixture
def checked(tmp_path) -> Checked:
    return Checked(tmp_path)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(checker, "time", made)
    return made


# What follows


def test_a_green_claim_is_proven_with_its_evidence(checked):
    checked.begin(task("F1", "true"), task("F2", passes=False))
    checked.note("F1", why="exited with 1")
    results = checked.prove().results
    (entry,) = check_record.entries(checked.loop)
    assert (results.proven, results.refused, results.unfinished) == (["F1"], [], [])
    assert checked.known("F1") == {"state": "proven", "evidence": entry.id}
    assert checked.passes() == ["F1"]
    assert [row["task"] for row in checked.journal("proven")] == ["F1"]
    assert checked.state.ledger == 1


def test_a_red_claim_is_turned_back_with_its_reason(checked):
    checked.begin(task("F1", "echo no; exit 3"))
    (refusal,) = checked.prove().results.refused
    assert (refusal.task, refusal.command, refusal.why) == ("F1", "echo no; exit 3", "exited with 3")
    assert (refusal.tail, refusal.again) == ("no\n", False)
    assert checked.known("F1") == {"why": "exited with 3"}
    assert checked.passes() == []


def test_a_task_without_a_check_is_none_of_ours(checked):
    checked.begin(task("F1"), task("F2", "true", passes=False))
    results = checked.prove().results
    assert (results.proven, results.refused, checked.ran()) == ([], [], [])


@pytest.mark.parametrize("state", ["proven", "vouched", "given", "unverified"])
def test_what_is_closed_is_not_claimed_again(checked, state):
    checked.begin(task("F1", "false"))
    checked.note("F1", state=state)
    checked.prove()
    assert checked.ran() == []


def test_every_command_of_a_task_must_be_green(checked):
    checked.begin(task("F1", "true", "exit 4", "echo never"), task("F2", "true", "echo two"))
    results = checked.prove().results
    assert [refusal.command for refusal in results.refused] == ["exit 4"]
    assert results.proven == ["F2"]
    assert checked.ran() == ["true", "exit 4", "echo two"]


def test_a_command_that_stands_twice_runs_once(checked):
    checked.begin(task("F1", "echo x", "echo x"), task("F2", "echo x"))
    assert checked.prove().results.proven == ["F1", "F2"]
    assert checked.ran() == ["echo x"]


def test_a_command_of_several_tasks_has_the_longest_of_their_limits(checked):
    checked.begin(task("F1", "sleep 1.5", timeout_s=1), task("F2", "sleep 1.5", timeout_s=60))
    assert checked.prove().results.proven == ["F1", "F2"]


def test_a_command_that_runs_into_its_limit_is_red(checked):
    checked.begin(task("F1", "sleep 60", timeout_s=1))
    (refusal,) = checked.prove().results.refused
    assert refusal.why == "ran into its time limit of 1 s"


def test_a_claim_that_was_taken_back_meanwhile_is_left_alone(checked):
    checked.begin(task("F1", "true"), task("F2", "false"))
    back = [task("F1", "true", passes=False), task("F2", "false", passes=False)]
    prover = checked.prover(say=lambda text: checked.write(*back))
    prover.plan("claims", checked.state)
    prover.run()
    prover.settle(checked.state)
    assert (prover.results.proven, prover.results.refused) == ([], [])
    assert checked.passes() == []


def test_a_place_that_moved_meanwhile_is_found_by_its_id(checked):
    features = [task("F1", "false"), task("F2", "true"), task("F3", "true")]
    checked.begin(*features)
    prover = checked.prover(say=lambda text: checked.write(*features[::-1]))
    prover.plan("claims", checked.state)
    prover.run()
    prover.settle(checked.state)
    assert sorted(checked.passes()) == ["F2", "F3"]


def test_what_runs_is_said_before_it_runs(checked):
    said: list[str] = []
    checked.begin(task("F1", "true", "false"))
    checked.prove(say=said.append)
    assert said == ["true", "false"]


def test_evidence_names_kind_iteration_and_who_asked(checked):
    checked.begin(task("F1", "true"))
    checked.prove(origin=Origin("done", "a client 1.0", "a model", "S"))
    (entry,) = check_record.entries(checked.loop)
    facts = check_record.load(checked.loop, entry.id)
    assert (facts["kind"], facts["iteration"], facts["session"]) == ("done", 3, "S")
    assert (facts["client"], facts["model"], facts["tasks"]) == ("a client 1.0", "a model", ["F1"])
    assert (facts["cwd"], facts["loop"]) == (str(checked.root), "L1")


# Order and number


def test_what_is_known_to_be_cheap_comes_first_and_the_unknown_last(checked):
    commands = {"F1": "echo slow", "F2": "echo new", "F3": "echo fast", "F4": "echo newer"}
    checked.begin(*(task(name, text) for name, text in commands.items()))
    checked.took("echo slow", 9.0)
    checked.took("echo fast", 0.5)
    checked.prove()
    assert checked.ran() == ["echo fast", "echo slow", "echo new", "echo newer"]


def test_a_task_is_as_slow_as_all_its_commands(checked):
    checked.begin(task("F1", "echo a", "echo b"), task("F2", "echo c"), task("F3", "echo a", "echo new"))
    for text, duration_s in (("echo a", 1.0), ("echo b", 1.0), ("echo c", 1.5)):
        checked.took(text, duration_s)
    checked.prove()
    assert checked.ran() == ["echo c", "echo a", "echo b", "echo new"]


def test_how_long_it_last_took_is_what_counts(checked):
    checked.begin(task("F1", "echo a"), task("F2", "echo b"))
    for text, duration_s in (("echo a", 1.0), ("echo b", 2.0), ("echo a", 5.0)):
        checked.took(text, duration_s)
    checked.prove()
    assert checked.ran() == ["echo b", "echo a"]


def test_so_many_claims_are_judged_in_one_stop(checked):
    total = prove.CLAIMS_MAX + 7
    checked.begin(*(task(f"F{n}", "true") for n in range(total)))
    first = checked.prove().results
    assert (len(first.proven), len(first.unfinished)) == (prove.CLAIMS_MAX, 7)
    second = checked.prove().results
    assert second.proven == first.unfinished
    assert second.unfinished == []
    assert len(checked.passes()) == total


def test_a_final_run_has_no_such_number(checked):
    total = prove.CLAIMS_MAX + 7
    checked.begin(*(task(f"F{n}", "true") for n in range(total)))
    for number in range(total):
        checked.note(f"F{number}", state="proven")
    assert checked.prove(FINAL_RUN).results.final


# The budget of a stop


def test_without_time_nothing_runs_and_all_goes_on_at_the_next_stop(checked):
    checked.begin(task("F1", "true"), task("F2", "false"))
    results = checked.prove(budget_s=0).results
    assert (results.proven, results.refused, results.unfinished) == ([], [], ["F1", "F2"])
    assert (checked.ran(), checked.passes()) == ([], ["F1", "F2"])
    again = checked.prove().results
    assert (again.proven, again.unfinished, checked.passes()) == (["F1"], [], ["F1"])


@pytest.mark.parametrize(("used_s", "begun"), [(9, True), (11, False)])
def test_what_is_known_to_take_longer_than_is_left_is_not_begun(checked, clock, used_s, begun):
    checked.begin(task("F1", "echo short"), task("F2", "echo long"))
    checked.took("echo short", 1.5)
    checked.took("echo long", 60.0)
    results = checked.prove(budget_s=70, say=clock.passes(used_s)).results
    assert (results.proven, results.unfinished) == ((["F1", "F2"], []) if begun else (["F1"], ["F2"]))
    assert checked.ran() == ["echo short", "echo long"][: 1 + begun]
    assert checked.prove().results.proven == ["F2"] * (not begun)


def test_what_does_not_fit_into_the_rest_is_ended_and_not_held_against_it(checked, clock):
    checked.begin(task("F1", "echo first"), task("F2", "test -f again || sleep 60"))
    results = checked.prove(budget_s=8, say=clock.passes(7)).results
    assert (results.proven, results.unfinished, results.refused) == (["F1"], ["F2"], [])
    assert checked.ran() == ["echo first"]
    assert checked.known("F2") == {}
    (checked.root / "again").touch()
    assert checked.prove().results.proven == ["F2"]


@pytest.mark.usefixtures("clock")
def test_the_first_command_of_a_stop_has_all_of_its_time_and_is_red_after_it(checked):
    """Otherwise what takes longer than a whole stop would be tried for ever."""
    checked.begin(task("F1", "sleep 60", timeout_s=50))
    results = checked.prove(budget_s=1).results
    assert ([refusal.task for refusal in results.refused], results.unfinished) == (["F1"], [])
    assert results.refused[0].why == "ran into its time limit of 1 s"


def test_what_asking_for_a_green_answer_took_is_not_held_against_the_command(checked, clock):
    checked.begin(task("F1", "sleep 60", timeout_s=50))
    options = {"folder": str(checked.root), "env": ENV, "origin": Origin("final"), "budget_s": 8}
    asking = checker.Checker(checked.loop, say=lambda text: None, **options)
    asking.alone = clock.passes(7)
    verdicts = asking.judge([checker.Due("F1", ("sleep 60",), 50)], iteration=1, round_no=1)
    assert verdicts["F1"].state == checker.UNFINISHED
    assert checked.ran() == []


def test_a_task_of_several_commands_is_proven_when_the_last_one_was_green(checked):
    checked.begin(task("F1", "echo short", "echo long"))
    checked.took("echo long", 60.0)
    assert checked.prove(budget_s=20).results.unfinished == ["F1"]
    assert checked.passes() == ["F1"]


def test_a_stop_that_uses_all_of_its_time_is_answered_before_the_client_gives_up():
    worst = prove.BUDGET_S + checker.MARGIN_S + checker.ENDING_S + 3 * tree.GIT_S
    for plugin in ("ralphloop", "ralph-specum", "ralph-speckit"):
        hooks = json.loads((PLUGINS / plugin / "hooks" / "hooks.json").read_text())["hooks"]
        assert hooks["Stop"][0]["hooks"][0]["timeout"] > worst


# The final run


def done(checked: Checked, **commands: str) -> Checked:
    checked.begin(*(task(name, command) for name, command in commands.items()))
    for name in commands:
        checked.note(name, state="proven")
    return checked


def test_a_final_run_runs_each_distinct_command_once(checked):
    done(checked, F1="echo a", F2="echo b", F3="echo a")
    results = checked.prove(FINAL_RUN).results
    assert (results.final, results.proven, results.refused) == (True, [], [])
    assert checked.ran("final") == ["echo a", "echo b"]
    assert checked.known("F1") == {"state": "proven"}


def test_what_broke_again_is_opened_by_the_final_run(checked):
    done(checked, F1="exit 2", F2="true")
    results = checked.prove(FINAL_RUN).results
    assert not results.final
    assert [(refusal.task, refusal.again) for refusal in results.refused] == [("F1", True)]
    assert checked.passes() == ["F2"]
    assert checked.known("F1") == {"why": "exited with 2"}
    assert [row["final"] for row in checked.journal("refused")] == [True]


@pytest.mark.parametrize(
    ("state", "runs"), [("given", True), ("unverified", True), ("proven", True), ("vouched", False)]
)
def test_only_the_persons_word_spares_a_task_the_final_run(checked, state, runs):
    checked.begin(task("F1", "true"))
    checked.note("F1", state=state)
    assert checked.prove(FINAL_RUN).results.final
    assert checked.ran("final") == ["true"] * runs


def test_what_ran_in_this_stop_is_not_run_again_for_the_final_run(checked):
    checked.begin(task("F1", "echo a"), task("F2", "echo b"))
    checked.note("F1", state="proven")
    prover = checked.prove()
    assert checked.ran() == ["echo b"]
    prover.plan(FINAL_RUN, checked.state)
    prover.run()
    prover.settle(checked.state)
    assert prover.results.final
    assert checked.ran() == ["echo b", "echo a"]


@pytest.mark.parametrize(("same_round", "again"), [(True, ["echo long"]), (False, ["echo a", "echo long"])])
def test_a_final_run_goes_on_at_the_next_stop_unless_there_was_work(checked, same_round, again):
    done(checked, F1="echo a", F2="echo long")
    checked.took("echo a", 1.5)
    checked.took("echo long", 60.0)
    first = checked.prove(FINAL_RUN, budget_s=20).results
    assert (first.final, first.unfinished, checked.ran()) == (False, ["F2"], ["echo a"])
    checked.state.iteration += 1
    second = checked.prove(FINAL_RUN, same_round=same_round).results
    assert second.final
    assert checked.ran()[1:] == again


def test_a_red_command_is_run_again_in_the_same_round(checked):
    done(checked, F1="test -f mended")
    assert not checked.prove(FINAL_RUN).results.final
    (checked.root / "mended").touch()
    checked.write(task("F1", "test -f mended"))
    checked.note("F1", state="proven")
    assert checked.prove(FINAL_RUN, same_round=True).results.final


# Approval


def test_a_pinned_check_that_nobody_approved_holds_everything(checked):
    checked.begin(task("F1", "echo a"), task("F2", "echo b", passes=False), approve=False)
    results = checked.prove().results
    assert (results.blocked, results.waiting) == (True, ["F1"])
    assert results.commands == ["echo a", "echo b"]
    assert len(results.digest) == 12
    assert (checked.ran(), checked.passes()) == ([], ["F1"])


def test_an_added_check_that_nobody_approved_holds_only_its_task(checked):
    checked.begin(task("F1", "echo a"))
    checked.write(task("F1", "echo a"), task("F2", "echo new"))
    checked.note("F2", added="yes")
    results = checked.prove().results
    assert (results.blocked, results.waiting, results.proven) == (False, ["F2"], ["F1"])
    assert (results.commands, checked.ran()) == (["echo new"], ["echo a"])
    assert checked.passes() == ["F1", "F2"]
    checked.approve()
    assert checked.prove().results.proven == ["F2"]


def test_in_a_sequence_an_unapproved_check_leaves_its_task_unverified(checked):
    loop = checked.project.spec(
        '{"phase": "execution"}', "- [x] 1.1 a\n  **Verify**: `echo a`\n- [ ] 1.2 b\n"
    )
    checked.loop = loop
    results = checked.prove().results
    assert (results.blocked, results.waiting, checked.ran()) == (False, [], [])
    assert checked.known("1.1") == {"state": "unverified"}


def test_named_tasks_are_run_only_if_all_of_them_are_approved(checked):
    checked.begin(task("F1", "echo a"), task("F2", "echo b", passes=False), approve=False)
    listed = tasks.parse_source(checked.loop.record).tasks
    prover = checked.prover()
    assert prover.plan_tasks(listed, checked.state) == ["F1", "F2"]
    prover.run()
    assert checked.ran() == []
    checked.approve()
    assert prover.plan_tasks(listed, checked.state) == []
    prover.run()
    assert checked.ran() == ["echo a", "echo b"]
    assert {name: verdict.state for name, verdict in prover.verdicts.items()} == {
        "F1": "green",
        "F2": "green",
    }
    assert json.loads((checked.root / "feature_list.json").read_text())["features"][1]["passes"] is False


# Protected files


def test_a_claim_is_refused_unrun_if_protected_files_were_touched(checked):
    checked.begin(task("F1", "echo a"), protect=["tests"])
    (checked.root / "tests").mkdir()
    (checked.root / "tests" / "a").write_text("a")
    checked.prove(budget_s=0)
    (checked.root / "tests" / "a").write_text("b")
    prover = checked.prove()
    assert [entry.path for entry in prover.touched] == ["tests/a"]
    assert "protected files were touched: tests/a (changed)" in prover.results.refused[0].why
    assert (checked.ran(), (checked.root / "tests" / "a").read_text()) == ([], "a")


def test_a_final_run_puts_protected_files_back_and_goes_on(checked):
    checked.begin(task("F1", "grep -q a tests/a"), protect=["tests"])
    (checked.root / "tests").mkdir()
    (checked.root / "tests" / "a").write_text("a")
    assert checked.prove().results.proven == ["F1"]
    (checked.root / "tests" / "a").write_text("b")
    prover = checked.prove(FINAL_RUN)
    assert prover.results.final
    assert (checked.root / "tests" / "a").read_text() == "a"


def test_a_final_run_that_touches_protected_files_itself_is_refused(checked):
    checked.begin(task("F1", "test -f go || echo b > tests/a"), protect=["tests"])
    (checked.root / "tests").mkdir()
    (checked.root / "tests" / "a").write_text("a")
    (checked.root / "go").write_text("")
    assert checked.prove().results.proven == ["F1"]
    (checked.root / "go").unlink()
    prover = checked.prove(FINAL_RUN)
    assert not prover.results.final
    assert "tests/a (changed)" in prover.results.refused[0].why

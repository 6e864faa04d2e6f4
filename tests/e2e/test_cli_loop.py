"""The commands on a loop that exists: pause, resume, cancel, done, ask, answer, skip, log."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.cli_project import OTHER, SESSION, WIDE, Project, unfolded
from security.life import CLIENT

AGENTS = ["CLAUDECODE", "AI_AGENT", "CODEX_SANDBOX", "GEMINI_CLI", "COPILOT_CLI", "QWEN_CODE"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def run_folder(project: Project) -> Path:
    return project.root / ".ralph" / "run" / str(project.status()["id"])


def kept(project: Project) -> Path:
    (folder,) = (project.home / ".local/state/ralphloop").rglob("@ralph/kept/*")
    return folder


def events(project: Project) -> list[str]:
    return [json.loads(line)["event"] for line in project.fine("log", "--json").splitlines()]


@contextmanager
def busy(project: Project) -> Iterator[None]:
    """Hold the loop's lock, as a stop does while it is decided."""
    handle = os.open(kept(project) / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# Going on in a terminal


def test_who_goes_on_in_a_terminal_has_their_git_recorded(project: Project) -> None:
    """As for a loop that an earlier version began."""
    project.begin()
    place = project.home / ".local/state/ralphloop/git"
    place.unlink()
    project.run("resume", env={"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION})
    assert not place.exists(), "an agent's PATH is the agent's"
    project.fine("resume")
    assert place.read_text().endswith("/git\n")
    place.unlink()
    project.program("claude", CLIENT)
    said = project.run("run", "shop", "--plain", "--adopt", "--max-iterations", "3")
    assert place.exists(), said


# pause and cancel


def test_a_paused_loop_lets_the_session_stop_until_it_is_resumed(project: Project) -> None:
    folder = project.begin()
    assert "`ralphloop resume shop` goes on" in unfolded(project.fine("pause"))
    assert project.stop() is None
    loop = project.status()
    assert (loop["state"], loop["outcome"]) == ("paused", "interrupted")
    assert "Status: INTERRUPTED" in (folder / "progress.txt").read_text(encoding="utf-8")
    going_on = "shop goes on (iteration 1 of 15) with a new window of 8 h 00 min: "
    assert going_on in unfolded(project.fine("resume"))
    assert "Status: IN_PROGRESS" in (folder / "progress.txt").read_text(encoding="utf-8")
    assert project.stop() is not None


def test_pause_and_cancel_may_be_said_twice(project: Project) -> None:
    project.begin()
    project.fine("pause")
    before = project.digest()
    assert "is paused already" in project.fine("pause")
    assert project.digest() == before
    project.fine("cancel")
    before = project.digest()
    assert "is cancelled already" in project.fine("cancel")
    assert "is cancelled already" in project.fine("cancel", "shop")
    assert project.digest() == before
    assert "there is nothing to pause" in project.refused("pause", "shop")


def half_end(project: Project) -> Path:
    """Leave the cancelled loop as a kill does after its last state, before its record; where that is."""
    project.fine("cancel", "shop")
    (record,) = (project.home / ".local/state/ralphloop").rglob("@ralph/ended/*.json")
    return record.rename(record.parents[1] / "owned" / f"{SESSION}.json")


@pytest.mark.parametrize("session", [SESSION, OTHER])
def test_a_list_whose_cancel_was_killed_can_be_started_again(project: Project, session: str) -> None:
    project.begin()
    record = half_end(project)
    assert "Loop features-shop" in project.fine("start", "shop", "--session", session)
    assert session == SESSION or not record.exists()
    assert project.stop(session) is not None


def test_of_two_starts_at_once_one_gets_the_list(project: Project) -> None:
    project.new("shop")
    for _ in range(4):
        running = [
            subprocess.Popen(
                project.argv("start", "shop", "--session", session),
                cwd=project.root, env=project.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for session in (SESSION, OTHER)
        ]  # fmt: skip
        told = [process.communicate(timeout=60)[1].decode() for process in running]
        codes = [process.returncode for process in running]
        assert sorted(codes) == [0, 1], told
        assert "is under way already" in told[codes.index(1)]
        (owned,) = project.home.rglob("@ralph/owned/*.json")
        assert owned.stem == (SESSION, OTHER)[codes.index(0)]
        project.fine("cancel", "shop")


def test_a_session_whose_cancel_was_killed_can_take_another_loop_over(project: Project) -> None:
    project.begin("other", session=OTHER)
    project.begin()
    record = half_end(project)
    project.fine("resume", "other", "--adopt", "--session", SESSION)
    assert json.loads(record.read_text())["name"] == "other"


def test_a_loop_whose_cancel_was_killed_is_not_in_the_way_of_another(project: Project) -> None:
    project.begin("other", session=OTHER)
    project.begin()
    half_end(project)
    assert "other is paused" in project.fine("pause")


def test_a_second_cancel_brings_it_to_rest(project: Project) -> None:
    project.begin()
    record = half_end(project)
    assert "is cancelled already" in project.fine("cancel")
    assert not record.exists()
    assert "Loop features-shop" in project.fine("start", "shop", "--session", SESSION)


def test_a_cancelled_loop_is_over_for_good(project: Project) -> None:
    folder = project.begin()
    project.fine("cancel")
    assert project.stop() is None
    assert project.status()["outcome"] == "cancelled"
    assert "Status: CANCELLED" in (folder / "progress.txt").read_text(encoding="utf-8")
    assert "`ralphloop start shop` begins a new one" in project.refused("resume", "shop")
    assert "`ralphloop start shop` begins a new one" in project.refused("done", "F1")
    assert "Loop features-shop-" in project.fine("start", "--session", SESSION)
    assert project.stop() is not None


@pytest.mark.slow
@pytest.mark.parametrize(("command", "outcome"), [("pause", "interrupted"), ("cancel", "cancelled")])
def test_a_request_holds_even_while_a_stop_is_being_decided(
    project: Project, command: str, outcome: str
) -> None:
    project.begin()
    with busy(project):
        assert "holds when it is answered" in project.fine(command)
        assert f"a {command} was asked for; it holds at the next stop." in project.fine("status")
    assert project.status()["state"] == "running"
    assert project.stop() is None
    assert project.status()["outcome"] == outcome


def test_a_paused_loop_journals_no_further_stops(project: Project) -> None:
    project.begin()
    project.stop()
    project.fine("pause")
    before = project.digest()
    assert project.stop() is None
    assert project.digest() == before


def test_cancel_works_without_the_run_folder(project: Project) -> None:
    project.begin()
    shutil.rmtree(project.root / ".ralph" / "run")
    assert "shop is cancelled" in project.fine("cancel")
    assert project.stop() is None
    assert project.status()["outcome"] == "cancelled"


def test_cancel_works_with_every_copy_of_the_state_lost(project: Project) -> None:
    project.begin()
    shutil.rmtree(project.root / ".ralph" / "run")
    (kept(project) / "loop.json").write_text("{broken", encoding="utf-8")
    assert "paused (corrupt)" in project.fine("status")
    project.fine("cancel")
    assert project.status()["outcome"] == "cancelled"


def test_cancel_works_with_a_broken_list(project: Project) -> None:
    folder = project.begin()
    (folder / "feature_list.json").write_text("{", encoding="utf-8")
    assert "the tasks cannot be read: " in project.fine("status")
    project.fine("cancel")
    assert project.status()["outcome"] == "cancelled"


# resume


def test_resume_of_a_running_loop_changes_nothing(project: Project) -> None:
    project.begin()
    before = project.digest()
    assert project.fine("resume").startswith("shop is running already; if its session is gone, ")
    assert project.digest() == before


def limited(project: Project) -> None:
    project.begin("shop", "--max-iterations", "1")
    answer = project.stop()
    assert answer is not None
    assert "limit: iteration 1 of 1" in answer["systemMessage"]


def test_a_loop_at_its_limit_needs_a_higher_one(project: Project) -> None:
    limited(project)
    assert "shop has used 1 of 1 iterations" in project.refused("resume")
    assert "N at least 2" in project.refused("resume", "--max-iterations", "1")
    assert "`ralphloop resume shop --max-iterations 16` goes on." in project.fine("status")
    assert "(iteration 1 of 5)" in project.fine("resume", "--max-iterations=5")
    assert project.stop() is not None


def test_the_agent_cannot_raise_its_limit(project: Project) -> None:
    limited(project)
    for variable in AGENTS:
        told = project.refused("resume", "--max-iterations", "5", env={variable: "1"})
        assert "the person must run it in their own terminal" in told, variable


def test_the_agent_may_lower_its_limit(project: Project) -> None:
    project.begin()
    project.fine("pause")
    project.fine("resume", "--max-iterations", "5", env={"CLAUDECODE": "1"})
    assert project.status()["max_iterations"] == 5


def test_another_session_takes_over_only_with_adopt(project: Project) -> None:
    project.begin()
    assert "add --adopt to take it over" in project.refused("resume", "--session", OTHER)
    project.fine("resume", "--adopt", "--session", OTHER)
    assert project.stop(SESSION) is None
    assert project.stop(OTHER) is not None
    assert project.status()["owner"] == OTHER
    assert "adopt" in events(project)


def test_adopt_means_the_clients_own_session(project: Project) -> None:
    project.begin()
    project.fine("resume", "--adopt", env={"CLAUDE_CODE_SESSION_ID": OTHER})
    assert project.status()["owner"] == OTHER


def test_without_adopt_a_resume_from_another_session_is_for_the_owner(project: Project) -> None:
    project.begin()
    project.fine("pause")
    told = unfolded(project.fine("resume", env={"CLAUDE_CODE_SESSION_ID": OTHER}))
    assert f"send session {SESSION} any message. `ralphloop resume shop --adopt` takes it over" in told
    assert project.status()["owner"] == SESSION


def test_adopt_without_any_session_waits_for_the_next_one(project: Project) -> None:
    project.begin()
    assert "in the next session started here" in unfolded(project.fine("resume", "--adopt"))
    loop = project.status()
    assert (loop["state"], loop["owner"]) == ("armed", None)
    assert project.stop(SESSION) is None


def test_a_session_with_a_loop_adopts_no_other(project: Project) -> None:
    project.begin("one")
    project.begin("two", session=OTHER)
    told = project.refused("resume", "one", "--adopt", "--session", OTHER)
    assert "another loop is in the way: features-two-" in told


def test_a_loop_is_not_resumed_over_a_list_that_has_a_newer_one(project: Project) -> None:
    limited(project)
    old = project.status()["id"]
    project.fine("start", "--session", OTHER)
    told = project.refused("resume", str(old), "--max-iterations", "9")
    assert "another loop is in the way" in told


# done, ask, answer, skip


def test_done_marks_the_task_in_its_own_file(project: Project) -> None:
    folder = project.begin()
    told = project.fine("done", "F2")
    assert unfolded(told) == (
        "F2 is marked done (unverified: it has no check that ralphloop runs). 1/3 done, next F1.\n"
    )
    data = json.loads((folder / "feature_list.json").read_text(encoding="utf-8"))
    assert [feature["passes"] for feature in data["features"]] == [False, True, False]
    assert "claim" in events(project)
    before = project.digest()
    assert "F2 is done already (unverified). 1/3 done, next F1." in project.fine("done", "F2")
    assert project.digest() == before


def test_done_changes_only_the_bytes_of_its_task(project: Project) -> None:
    text = '[\r\n\t{"x": 1, "id": "A", "passes" : false},\r\n\t{"id": 2.0}\r\n]'
    file = project.write(".ralph/loops/shop/feature_list.json", "")
    file.write_bytes(text.encode())
    project.fine("start")
    project.fine("done", "A")
    assert file.read_bytes().decode() == text.replace("false", "true")
    assert "2 is marked done" in project.fine("done", "2")


def test_the_last_done_lets_the_loop_complete(project: Project) -> None:
    project.begin(tasks=1)
    assert "1/1 done, nothing is left to do." in unfolded(project.fine("done", "F1"))
    answer = project.stop()
    assert answer is not None
    assert answer["systemMessage"] == "ralphloop shop: complete: 1/1 done"


def test_done_is_seen_by_a_stop_that_has_read_the_list_before(project: Project) -> None:
    folder = project.begin()
    old = time.time() - 60
    os.utime(folder / "feature_list.json", (old, old))
    time.sleep(2.1)  # only a settled list is remembered between stops
    project.stop()
    project.fine("ask", "F1", "Which?")
    answer = project.stop()
    assert answer is not None
    assert answer["systemMessage"].endswith("next F2")


def test_a_checked_box_moves_the_index_of_the_spec(project: Project) -> None:
    folder = project.spec()
    project.fine("start", "login", "--session", SESSION)
    project.fine("done", "1.1")
    assert (folder / "tasks.md").read_text(encoding="utf-8").startswith("- [x] 1.1 Form\n- [ ] 1.2")
    state = json.loads((folder / ".ralph-state.json").read_text(encoding="utf-8"))
    assert (state["phase"], state["taskIndex"], state["totalTasks"]) == ("execution", 1, 3)


def test_tasks_without_boxes_are_done_in_order(project: Project) -> None:
    folder = project.spec()
    (folder / "tasks.md").unlink()
    project.fine("start", "login", "--session", SESSION)
    assert "done in order; 1 is next" in project.refused("done", "3")
    assert "1 is marked done" in project.fine("done", "1")


def test_an_unknown_task_is_refused_with_those_that_are_near(project: Project) -> None:
    project.begin()
    assert "shop has no task f2; did you mean F2? " in project.refused("done", "f2")
    assert "shop has no task f9; did you mean F1 or F2 or F3? " in project.refused("done", "f9")
    assert "`ralphloop status shop` lists the ids." in project.refused("done", "../../etc/passwd")


def test_done_tells_a_script_what_is_next(project: Project) -> None:
    project.begin()
    told = project.run("done", "F1", "--json").data
    assert (told["task"], told["changed"], told["state"]) == ("F1", True, "unverified")
    assert (told["done"], told["total"], told["next"]) == (1, 3, "F2")


@pytest.mark.slow
def test_a_busy_loop_is_an_expected_error(project: Project) -> None:
    project.begin()
    with busy(project):
        assert "is busy with a stop; try again" in project.refused("done", "F1")


def test_an_answer_says_who_is_at_work_and_what_goes_on(project: Project) -> None:
    project.begin(tasks=2)
    project.fine("ask", "F1", "Which?")
    assert project.fine("answer", "F1", "That") == "F1 is answered. The agent gets it with the task.\n"
    project.fine("ask", "F1", "Which?")
    project.fine("ask", "F2", "Which?")
    project.stop()
    assert unfolded(project.fine("answer", "F1", "That")) == (
        "F1 is answered. F2 waits for an answer, too. Nobody is at work on shop now: "
        "send its session any message.\n"
    )
    project.fine("resume")
    project.fine("pause")
    told = project.fine("answer", "F2", "This")
    assert told == "F2 is answered. shop rests (interrupted): `ralphloop resume shop` goes on.\n"


def test_after_an_answer_a_loop_that_nobody_drives_says_how_it_goes_on(project: Project) -> None:
    project.program("claude", CLIENT)
    listed = [{"id": "F1", "description": "Pay", "needs_human": "Which service?", "passes": False}]
    project.write(".ralph/loops/shop/feature_list.json", json.dumps(listed))
    done = project.run("run", "shop", "--plain")
    assert "shop · paused (needs_input) · " in done.out
    assert "`ralphloop answer F1 TEXT --loop shop`, then `ralphloop run shop`." in done.out
    told = project.fine("answer", "F1", "The one that we have")
    assert told == "F1 is answered. Nobody drives shop now: `ralphloop run shop` goes on.\n"


def test_a_question_lets_the_loop_go_on_with_the_others(project: Project) -> None:
    project.begin(tasks=2)
    assert "F1 waits for the person's answer. 0/2 done, next F2." in project.fine("ask", "F1", "Which?")
    assert project.run("ask", "F2", "And $(this)?", "--json").data["next"] is None
    answer = project.stop()
    assert answer is not None
    assert "needs you: F1, F2" in answer["systemMessage"]
    assert project.status()["outcome"] == "needs_input"
    told = project.fine("status")
    assert "asks: F1: Which?" in told
    assert "asks: F2: And $(this)?" in told
    assert "F1 is answered. F2 waits for an answer, too." in project.fine("answer", "F1", "The blue one")
    answer = project.stop()
    assert answer is not None
    assert 'You asked: "Which?" The answer: The blue one' in answer["reason"]


def test_a_new_question_drops_the_old_answer(project: Project) -> None:
    project.begin()
    project.fine("ask", "F1", "Which?")
    project.fine("answer", "F1", "Blue")
    assert project.status()["next"] == "F1"
    project.fine("ask", "F1", "Which blue?")
    assert project.status()["next"] == "F2"


def test_what_was_not_asked_is_not_answered(project: Project) -> None:
    project.begin()
    assert "nothing was asked about F1" in project.refused("answer", "F1", "yes")
    assert "the answer is empty" in project.refused("answer", "F1", " ")
    assert "the question is empty" in project.refused("ask", "F1", "")


def test_a_task_that_needs_a_person_can_be_answered(project: Project) -> None:
    listed = '[{"id": "A", "needs_human": "the password"}, {"id": "B"}]'
    project.write(".ralph/loops/shop/feature_list.json", listed)
    project.fine("start")
    assert project.status()["next"] == "B"
    project.fine("answer", "A", "hunter2")
    assert project.status()["next"] == "A"


def test_a_skipped_task_is_left_out(project: Project) -> None:
    project.begin(tasks=2)
    assert "F1 is skipped. 0/2 done, next F2." in project.fine("skip", "F1")
    assert "F1 is skipped already." in project.fine("skip", "F1")
    project.fine("done", "F2")
    answer = project.stop()
    assert answer is not None
    assert "complete: 1/2 done, 1 skipped" in answer["systemMessage"]


def test_what_is_done_is_neither_skipped_nor_asked_about(project: Project) -> None:
    project.begin()
    project.fine("done", "F1")
    assert "nothing to skip" in project.refused("skip", "F1")
    assert "ask about an open task" in project.refused("ask", "F1", "Why?")


def test_the_agent_neither_skips_nor_answers(project: Project) -> None:
    project.begin()
    project.fine("ask", "F1", "Which?")
    for variable in AGENTS:
        for words in (("skip", "F1"), ("answer", "F1", "yes")):
            told = project.refused(*words, env={variable: "1"})
            assert "the person must run it in their own terminal" in told, (variable, words)


def test_many_claims_at_once_lose_nothing(project: Project) -> None:
    """On a busy machine one may give up on the lock: it says so, has claimed nothing, and can be repeated."""
    project.begin(tasks=12)
    racers = {
        f"F{number}": subprocess.Popen(
            project.argv("done", f"F{number}"),
            env=project.env(),
            cwd=project.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(1, 13)
    }
    told = {task: racer.communicate(timeout=100)[1] for task, racer in racers.items()}
    late = [task for task, racer in racers.items() if racer.returncode]
    assert [told[task] for task in late if "try again in a moment" not in told[task]] == []
    states = {task["id"]: task["state"] for task in project.status()["tasks"]}
    assert [task for task, state in states.items() if state == "open"] == late
    for task in late:
        project.fine("done", task)
    assert project.status()["done"] == 12
    assert events(project).count("claim") == 12


# log


def test_the_log_tells_each_decision_and_why(project: Project) -> None:
    project.begin()
    project.stop()
    project.fine("cancel")
    told = project.fine("log", env=WIDE).splitlines()
    assert [line.split()[2] for line in told] == ["arm", "stop", "cancel"]
    assert "goes on with task F1, iteration 2, by the rule go_on" in told[1]
    assert "cancel        cancelled by the person" in told[2]
    assert events(project) == ["arm", "stop", "cancel"]


def test_the_log_follows_a_loop_as_it_goes_on(project: Project) -> None:
    project.begin()
    process = subprocess.Popen(
        project.argv("log", "-f"), env=project.env(WIDE), cwd=project.root, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert b" arm " in process.stdout.readline()
        project.stop()
        assert b" stop " in process.stdout.readline()
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_a_journal_that_is_gone_is_an_expected_error(project: Project) -> None:
    project.begin()
    (run_folder(project) / "journal.jsonl").unlink()
    assert "shop has no journal" in project.refused("log")


def test_a_broken_line_of_the_journal_is_shown_as_such(project: Project) -> None:
    project.begin()
    with (run_folder(project) / "journal.jsonl").open("ab") as file:
        file.write(b'{"at": "x", \x1b[2J\xff\n{"half')
    told = project.fine("log", env=WIDE).splitlines()
    assert len(told) == 2
    assert told[1].startswith("(not readable) ")
    assert "\x1b" not in told[1]


@pytest.mark.parametrize("words", [("done", "F1"), ("ask", "F1", "which one?")])
def test_another_sessions_agent_does_not_speak_for_the_loop(project: Project, words: tuple[str, ...]) -> None:
    project.begin()
    assert "belongs to session" in project.refused(*words, env={"CLAUDE_CODE_SESSION_ID": OTHER})
    project.fine(*words, env={"CLAUDE_CODE_SESSION_ID": SESSION})


def test_a_question_does_not_bring_back_a_skipped_task(project: Project) -> None:
    project.begin()
    project.fine("skip", "F2")
    assert "F2 is skipped already" in project.refused("ask", "F2", "really?")


def test_a_bare_pause_is_for_the_one_loop_that_does_not_rest(project: Project) -> None:
    project.begin("shop")
    project.fine("pause", "shop")
    project.begin("cart", session=OTHER)
    assert "cart is paused" in project.fine("pause")
    assert "several loops" in project.run("pause").err


def test_help_that_nobody_reads_is_no_error(project: Project) -> None:
    for words in ("--help", "--version", "run --help"):
        line = f"{shlex.join(project.argv())} {words} | true"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=project.env(), capture_output=True)
        assert (done.returncode in (0, 141), done.stderr) == (True, b""), words

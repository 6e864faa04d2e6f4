"""`approve` and `accept`: what the person allows, adopts and vouches for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.checking import LIST, Asked, begin, change, claim, leaving, mark, states, task, write_list
from e2e.cli_project import SESSION, Project
from ralphloop.proof.approval import digest


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def running(project: Project) -> Project:
    """A loop over two checked tasks, approved."""
    begin(project, task("F1", "true"), task("F2", "true"), task("F3"))
    return project


def listed(project: Project, name: str) -> dict[str, object]:
    data = json.loads((project.root / LIST).read_text(encoding="utf-8"))
    (found,) = [found for found in data["features"] if found["id"] == name]
    assert isinstance(found, dict)
    return found


# approve

ONLY_SHOWN = "This is only shown. `ralphloop approve shop` allows it; until then it does not count"


def flat(said: str) -> str:
    return " ".join(said.split())


def test_nothing_to_approve_is_fine(running: Project) -> None:
    for words in ([], ["--yes"], ["--show"]):
        before = running.digest()
        assert running.fine("approve", *words) == "Nothing in shop waits for your approval.\n"
        assert running.digest() == before


def test_a_claim_alone_is_nothing_to_approve(running: Project) -> None:
    claim(running, "F1")
    assert "Nothing in shop waits" in running.fine("approve", "--show")


def test_the_persons_own_edit_is_shown_adopted_and_stays(running: Project) -> None:
    change(running, "F1", description="Do F1 better", verify=[leaving(running)])
    with Asked(running, "approve") as asked:
        code, said = asked.answer("y\n", "Approve? [y/N] ")
    assert code == 0
    assert "The list differs from what was pinned at the start:\n--- pinned\n+++ " in said
    assert '-      "description": "Do F1",\n+      "description": "Do F1 better",\n' in said
    assert f"  $ {leaving(running)}\n" in said
    assert "Approved. shop goes on" in said
    claim(running, "F1")
    answer = running.stop()
    assert answer is not None
    assert "are back" not in answer["systemMessage"]
    assert listed(running, "F1")["description"] == "Do F1 better"
    assert mark(running).read_text() == "run\n"
    assert states(running)["F1"] == "proven"


def test_an_edit_that_nobody_approved_is_put_back(running: Project) -> None:
    change(running, "F1", description="Do less")
    answer = running.stop()
    assert answer is not None
    assert "The criteria were pinned at the start and are back: F1 (description)" in answer["systemMessage"]
    assert listed(running, "F1")["description"] == "Do F1"


def test_what_was_adopted_is_pinned(running: Project) -> None:
    change(running, "F1", description="Do F1 better")
    running.fine("approve", "--yes")
    running.stop()
    change(running, "F1", description="Do less")
    running.stop()
    assert listed(running, "F1")["description"] == "Do F1 better"


@pytest.mark.parametrize("keys", ["n\n", "\n", "\x04"])
def test_no_leaves_everything_as_it_is(running: Project, keys: str) -> None:
    change(running, "F1", verify=[leaving(running)])
    before = running.digest()
    with Asked(running, "approve") as asked:
        code, said = asked.answer(keys)
    assert code == 1
    assert "Nothing is approved." in said
    assert running.digest() == before


def test_an_interrupt_leaves_everything_as_it_is(running: Project) -> None:
    change(running, "F1", verify=[leaving(running)])
    before = running.digest()
    with Asked(running, "approve") as asked:
        code, _ = asked.interrupt()
    assert code == 130
    assert running.digest() == before


def test_show_changes_nothing(running: Project) -> None:
    change(running, "F1", verify=["echo new"])
    before = running.digest()
    said = running.fine("approve", "shop", "--show")
    assert "  $ echo new\n" in said
    assert '+        "echo new"\n' in said
    assert f"{ONLY_SHOWN}, and a stop may put the list back." in flat(said)
    assert running.digest() == before


def test_without_a_terminal_and_without_yes_it_exits_with_1(running: Project) -> None:
    change(running, "F1", verify=["echo new"])
    before = running.digest()
    done = running.run("approve")
    assert done.code == 1
    assert "Nothing is approved. `--yes` approves without asking.\n" in done.out
    assert running.digest() == before


@pytest.mark.parametrize(
    ("words", "code", "approved"), [(["--yes"], 0, True), (["--show"], 0, False), ([], 1, False)]
)
def test_json_says_what_waits_and_whether_it_was_approved(
    running: Project, words: list[str], code: int, approved: bool
) -> None:
    change(running, "F1", verify=["echo new"])
    done = running.run("approve", "--json", *words)
    assert (done.code, done.err) == (code, "")
    told = done.data
    assert told["commands"] == ["echo new"]
    assert told["digest"] == digest(["echo new"])
    assert told["approved"] is approved
    assert '+        "echo new"' in told["diff"]
    assert told["protected"] == []


def test_json_of_nothing(running: Project) -> None:
    told = json.loads(running.fine("approve", "--json"))
    assert (told["commands"], told["digest"], told["diff"], told["approved"]) == ([], "", [], False)


def test_a_list_that_changed_while_the_person_looked_is_looked_at_again(running: Project) -> None:
    change(running, "F1", verify=["echo new"])
    with Asked(running, "approve") as asked:
        asked.wait_for("[y/N] ")
        change(running, "F1", verify=[leaving(running)])
        before = running.digest()
        code, said = asked.answer("y\n")
    assert code == 1
    assert "something changed while you looked; run `ralphloop approve` again." in said
    assert running.digest() == before


def test_a_list_that_cannot_be_read_is_named(running: Project) -> None:
    running.write(LIST, "{")
    told = running.refused("approve", "--yes")
    assert "the list cannot be read" in told
    assert LIST in told


def test_an_unknown_loop_and_a_finished_one_are_refused(running: Project) -> None:
    assert "there is no loop cart here" in running.refused("approve", "cart", "--yes")
    running.fine("cancel", "shop")
    assert "the loop shop is cancelled" in running.refused("approve", "shop", "--yes")


@pytest.mark.parametrize("protect", ["check.sh", "criteria"])
def test_changed_protected_files_are_shown_and_adopted(project: Project, protect: str) -> None:
    project.write("check.sh", "true\n")
    begin(project, task("F1", "sh check.sh"), task("F2"), protect=protect)
    project.write("check.sh", leaving(project) + "\n")
    assert f"{ONLY_SHOWN}, and a stop may put the protected files back." in flat(
        project.fine("approve", "--show")
    )
    said = project.fine("approve", "--yes")
    assert "Protected files differ:\n  check.sh (changed)\n" in said
    claim(project, "F1")
    project.stop()
    assert mark(project).read_text() == "run\n"
    assert states(project)["F1"] == "proven"


def test_an_approval_before_the_first_session_holds_for_it(project: Project) -> None:
    write_list(project, task("F1", leaving(project)), task("F2"))
    project.fine("start", "shop", "--unapproved")
    assert "Approved. shop is armed." in project.fine("approve", "--yes")
    project.fine("resume", "shop", "--adopt", "--session", SESSION)
    claim(project, "F1")
    project.stop()
    assert mark(project).exists()


def test_an_approved_check_with_an_escape_sequence_is_shown_harmlessly(running: Project) -> None:
    change(running, "F1", verify=["echo \x1b[2Jhidden"], description="Do \x1b]0;F1\x07")
    with Asked(running, "approve") as asked:
        _, said = asked.answer("n\n")
    assert "\x1b" not in said.replace("\x1b[?2004h", "").replace("\x1b[?2004l", "")


def test_a_list_without_a_loop_can_be_approved_before_its_start(project: Project) -> None:
    write_list(project, task("F1", leaving(project)), task("F2"))
    before = project.digest()
    said = project.fine("approve", "--show")
    assert f"  $ {leaving(project)}\n" in said
    assert flat(said).endswith(f"{ONLY_SHOWN}."), "no loop, and nothing to put back"
    assert project.digest() == before
    assert "Approved. `ralphloop start shop` begins the loop." in project.fine("approve", "--yes")
    assert json.loads(project.fine("status", "--json"))["loops"] == []
    assert "To prove the tasks" not in project.fine("start", "shop", "--session", SESSION)
    claim(project, "F1")
    project.stop()
    assert mark(project).read_text() == "run\n"


# accept


def test_a_vouched_task_survives_the_final_run_although_its_check_is_red(project: Project) -> None:
    begin(project, task("F1", leaving(project, code=1)), task("F2", "true"))
    assert project.fine("accept", "F1") == "F1 counts as done on your word. 1/2 done, next F2.\n"
    assert listed(project, "F1")["passes"] is True
    claim(project, "F2")
    answer = project.stop()
    assert answer is not None
    assert project.status()["outcome"] == "complete"
    assert "1 vouched" in answer["systemMessage"]
    assert states(project) == {"F1": "vouched", "F2": "proven"}
    assert not mark(project).exists()


def test_a_refused_claim_can_be_vouched_for(project: Project) -> None:
    begin(project, task("F1", leaving(project, code=1)), task("F2"))
    claim(project, "F1")
    project.stop()
    assert listed(project, "F1")["passes"] is False
    project.fine("accept", "F1")
    assert "F1 is vouched already." in project.fine("accept", "F1")
    answer = project.stop()
    assert answer is not None
    assert states(project)["F1"] == "vouched"
    assert mark(project).read_text() == "run\n"


def test_accept_of_an_unknown_task_names_near_ones(running: Project) -> None:
    assert "shop has no task F9; did you mean" in running.refused("accept", "F9")


@pytest.mark.parametrize("words", [["accept", "F1"], ["skip", "F1"], ["approve", "--yes"]])
def test_inside_a_client_they_are_refused(running: Project, words: list[str]) -> None:
    change(running, "F1", verify=["echo new"])
    told = running.refused(*words, env={"CLAUDECODE": "1"})
    assert "the person must run it in their own terminal" in told

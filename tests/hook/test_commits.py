"""One commit per closed task: when, what is in it, and on which branch."""

from __future__ import annotations

import json

import pytest

from hook.branches import IDENTITY, commits, drive, driven, files_of, git, is_clean, turn
from hook.conftest import ProjectFactory
from hook.harness import LoopProject, feature
from hook.proven import LIST, boxed, cli, events, known


def checked(*numbers: int) -> list[dict]:
    return [feature(f"F{n}", verify=f"test -f work{n}.txt") for n in numbers]


def test_each_proven_task_gets_one_commit_with_its_evidence(project: ProjectFactory):
    found = driven(project, *checked(1, 2, 3))
    assert turn(found, 1).blocks
    (first,) = commits(found)
    assert first.subject == "F1: Do F1"
    assert first.body.startswith("- one\n- two\n")
    assert (first.task, first.loop, first.evidence) == ("F1", found.loop()["id"], "0001-F1")
    assert files_of(found, first) >= {"work1.txt", LIST}
    assert is_clean(found)
    assert turn(found, 2).blocks
    second = commits(found)[1]
    assert (second.task, second.evidence) == ("F2", "0002-F2")
    assert "work2.txt" in files_of(found, second)
    assert "work1.txt" not in files_of(found, second)
    (row, other) = events(found, "commit")
    assert {name: row[name] for name in ("task", "commit", "branch", "evidence")} == {
        "task": "F1", "commit": first.sha, "branch": "work", "evidence": "0001-F1",
    }  # fmt: skip
    assert known(found, "F1")["commit"] == first.sha
    assert other["commit"] == second.sha
    assert git(found, "log", "-1", "--format=%an <%ae>") == "Person <person@example.invalid>"


def test_a_turn_that_closes_nothing_commits_nothing(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    (found.root / "half.txt").write_text("half\n")
    assert turn(found).blocks
    assert commits(found) == []
    assert not events(found, "commit_failed") + events(found, "commit_refused")


def test_a_refused_claim_is_not_committed(project: ProjectFactory):
    found = driven(project, feature("F1", verify="false"), feature("F2"))
    assert "refused" in turn(found, 1).reason
    assert commits(found) == []


def test_two_tasks_in_one_stop_get_two_commits_in_the_list_s_order(project: ProjectFactory):
    found = driven(project, *checked(1, 2, 3))
    turn(found, 2, 1)
    first, second = commits(found)
    assert [first.task, second.task] == ["F1", "F2"]
    assert {"work1.txt", "work2.txt"} <= files_of(found, first)
    assert files_of(found, second) == set()


def test_the_last_task_is_committed_with_the_end_of_the_loop(project: ProjectFactory):
    found = driven(project, *checked(1))
    answer = turn(found, 1)
    assert not answer.blocks
    assert found.loop()["outcome"] == "complete"
    assert [commit.task for commit in commits(found)] == ["F1"]
    assert is_clean(found)


def test_a_task_without_a_check_says_that_it_has_no_evidence(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    turn(found, 1)
    turn(found)
    (only,) = commits(found)
    assert only.evidence == "none (unverified)"


def test_every_command_of_a_task_is_named(project: ProjectFactory):
    found = driven(project, feature("F1", verify=["true", "test -f work1.txt"]), feature("F2"))
    turn(found, 1)
    assert commits(found)[0].evidence == "0001-F1, 0002-F1"


def test_tasks_that_were_done_before_get_no_commit(project: ProjectFactory):
    found = driven(project, feature("F1", passes=True), feature("F2"), feature("F3"))
    turn(found, 2)
    assert [commit.task for commit in commits(found)] == ["F2"]


def test_a_task_that_the_final_run_reopened_gets_another_commit(project: ProjectFactory):
    found = driven(project, feature("F1", verify="! test -f broken"), feature("F2"))
    turn(found, 1)
    (found.root / "broken").touch()
    assert "open again" in turn(found, 2).reason
    (found.root / "broken").unlink()
    turn(found, 1)
    assert found.loop()["outcome"] == "complete"
    about = [(commit.task, commit.evidence) for commit in commits(found)]
    assert [task for task, _ in about] == ["F1", "F2", "F1"]
    assert len(set(about)) == 3


def test_an_unverified_task_that_was_opened_again_gets_another_commit(project: ProjectFactory):
    found = driven(project, feature("F1"), feature("F2"))
    turn(found, 1)
    found.close(1, done=False)
    turn(found)
    assert len(commits(found)) == 1
    (found.root / "work1.txt").write_text("better\n")
    found.close(1)
    turn(found)
    first, second = commits(found)
    assert first.evidence == second.evidence == "none (unverified)"
    assert "work1.txt" in files_of(found, second)


def test_the_agent_s_own_commit_does_no_harm(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    (found.root / "work1.txt").write_text("work on 1\n")
    git(found, "add", "--all")
    git(found, "commit", "--quiet", "--message=mine")
    turn(found, 1)
    (only,) = commits(found)
    assert "work1.txt" not in files_of(found, only)
    assert git(found, "log", "-1", "--format=%s", f"{only.sha}~1") == "mine"
    assert is_clean(found)


def test_a_loop_without_a_branch_commits_nothing(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    drive(found, branch="")
    assert "Commit" in turn(found, 1).reason
    assert commits(found) == []


def test_the_agent_is_told_to_leave_commits_alone(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    reason = turn(found, 1).reason
    assert "- Do not commit, and stay on the branch `work`" in reason
    assert "- Note what you did in" in reason
    assert "- Commit" not in reason


# Where it is refused


def refuse(found: LoopProject) -> tuple[str, str]:
    """What the agent is told, and why; nothing was committed."""
    before = git(found, "for-each-ref")
    reason = turn(found, 1).reason
    assert git(found, "for-each-ref") == before
    row = events(found, "commit_refused")[-1]
    assert row["tasks"] == ["F1"]
    return reason, row["why"]


def test_on_another_branch_nothing_is_committed_until_the_agent_is_back(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    git(found, "switch", "--quiet", "--create", "other")
    reason, why = refuse(found)
    assert why == "the work tree is on `other`"
    assert reason.startswith("ralphloop did not commit: the work tree is on `other`. Switch back to `work`")
    assert "task F2" in reason
    git(found, "switch", "--quiet", "work")
    turn(found)
    assert [commit.task for commit in commits(found)] == ["F1"]


def test_a_detached_head_gets_no_commit(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    git(found, "switch", "--quiet", "--detach")
    assert refuse(found)[1] == "HEAD is detached"


def test_during_a_merge_nothing_is_committed(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    git(found, "switch", "--quiet", "--create", "side")
    git(found, "commit", "--quiet", "--allow-empty", "--message=side")
    git(found, "switch", "--quiet", "work")
    git(found, "merge", "--quiet", "--no-ff", "--no-commit", "side")
    reason, why = refuse(found)
    assert why == "a merge is under way"
    assert "`git merge --abort`" in reason


def test_a_conflict_without_a_merge_is_not_committed_either(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    place = found.root / "x.txt"
    for text in ("a\n", "b\n"):
        place.write_text(text)
        git(found, "add", "x.txt")
        if text == "a\n":
            git(found, "commit", "--quiet", "--message=x")
    git(found, "stash", "--quiet")
    place.write_text("c\n")
    git(found, "commit", "--quiet", "--all", "--message=c")
    git(found, "stash", "pop", check=False)
    assert refuse(found)[1] == "there are unmerged files"


def test_at_a_handover_the_next_session_is_told(project: ProjectFactory):
    found = driven(project, *checked(1), feature("F2", model="other-model"))
    git(found, "switch", "--quiet", "--create", "other")
    assert not turn(found, 1).blocks
    assert found.loop()["carry"].startswith("ralphloop did not commit")
    assert json.loads(found.kept("loop.json").read_text())["carry"] == found.loop()["carry"]


def test_a_failing_commit_is_tried_again_at_the_next_stop(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    (found.home / ".gitconfig").unlink()
    assert "task F2" in turn(found, 1).reason
    assert events(found, "commit_failed")[-1]["tasks"] == ["F1"]
    git(found, "config", "user.name", "Person")
    git(found, "config", "user.email", "person@example.invalid")
    assert turn(found).blocks
    assert [commit.task for commit in commits(found)] == ["F1"]


@pytest.mark.parametrize("layout", ["specum", "speckit"])
def test_the_other_layouts_commit_too(project: ProjectFactory, layout):
    tasks = "- [ ] 1.1 Begin\n  - **Do**: something\n- [ ] 1.2 End\n- [ ] 1.3 More\n"
    found = boxed(project, layout, tasks, armed=False)
    (found.home / ".gitconfig").write_text(IDENTITY)
    found.commit_all()
    found.arm()
    drive(found, branch="main")
    found.close(1)
    assert found.turn(registration="run").blocks
    (only,) = commits(found, "main")
    assert (only.subject, only.evidence) == ("1.1: Begin", "none (unverified)")
    assert "- **Do**: something" in only.body


def test_the_report_names_the_commit(project: ProjectFactory):
    found = driven(project, *checked(1, 2))
    turn(found, 1)
    sha = commits(found)[0].sha
    told = json.loads(cli(found, "report", "--format", "json").stdout)
    assert [task["commit"] for task in told["tasks"]] == [sha, None]
    shown = cli(found, "report").stdout
    assert f"`{sha[:10]}`" in shown
    assert f"{sha[:10]} on work, evidence 0001-F1" in cli(found, "log").stdout

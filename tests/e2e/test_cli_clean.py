"""`clean`: what loops that are over have left goes once the person has seen it; everything else stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from e2e.checking import Asked
from e2e.cli_project import OTHER, SESSION, Project

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def armed(project: Project, name: str, session: str = SESSION) -> str:
    """A loop with one task of two proven; its id."""
    folder = project.root / ".ralph/loops" / name
    if not folder.exists():
        listed = {"features": [{"id": "F1", "description": "One", "verify": "true"}, {"id": "F2"}]}
        project.fine("new", name, "--from", "-", stdin=json.dumps(listed).encode())
    project.fine("start", name, "--yes", "--session", session)
    assert project.stop(session) is not None
    project.fine("done", "F1", "--loop", name)
    (loop,) = [loop for loop in loops(project) if loop["name"] == name and loop["state"] == "running"]
    return str(loop["id"])


def over(project: Project, name: str = "shop") -> str:
    """The same, cancelled."""
    loop_id = armed(project, name)
    project.fine("cancel", name)
    return loop_id


def loops(project: Project) -> list[dict[str, Any]]:
    return list(project.run("status", "--json").data["loops"])


def kept(project: Project, loop_id: str) -> Path:
    return project.home / f".local/state/ralphloop/by-path{project.root}/@ralph/kept/{loop_id}"


def test_it_removes_what_can_be_made_again_and_the_report_is_the_same(project: Project) -> None:
    loop_id = over(project, "shop")
    before = project.run("report", "shop", "--format", "json").data
    told = project.fine("clean", "--yes")
    assert "copies and indexes of shop (cancelled, 20" in told
    left = {path.name for path in kept(project, loop_id).iterdir()}
    assert {"list", "cursor.json"}.isdisjoint(left)
    assert {"loop.json", "ledger.json", "pinned"} <= left
    assert project.run("report", "shop", "--format", "json").data["tasks"] == before["tasks"]
    assert "Nothing to remove" in project.fine("clean", "--yes")


def test_all_takes_records_and_state_and_leaves_the_list(project: Project) -> None:
    loop_id = over(project, "shop")
    listed = (project.root / ".ralph/loops/shop/feature_list.json").read_bytes()
    told = project.fine("clean", "--all", "--yes")
    assert "journal, evidence and state of shop" in told
    assert "your approvals" in told
    assert not kept(project, loop_id).exists()
    assert not (project.root / ".ralph/run" / loop_id).exists()
    assert (project.root / ".ralph/loops/shop/feature_list.json").read_bytes() == listed
    assert project.run("status", "--json").data["loops"] == []
    again = project.run("start", "shop")
    assert again.code == 1
    assert "$ true" in again.out  # its command must be approved anew
    project.fine("start", "shop", "--yes", "--session", SESSION)


def test_without_a_terminal_and_without_yes_nothing_goes(project: Project) -> None:
    over(project, "shop")
    before = project.digest()
    for words in (["clean"], ["clean", "--all"], ["clean", "shop", "--all"]):
        done = project.run(*words)
        assert done.code == 1, words
        assert "To be removed in" in done.out
        assert "nothing was removed" in done.err
        assert "--yes" in done.err
    assert project.digest() == before


def test_json_shows_and_removes_only_with_yes(project: Project) -> None:
    loop_id = over(project, "shop")
    shown = project.run("clean", "--all", "--json").data
    assert shown["removed"] is False
    assert [each["loop"] for each in shown["found"]] == [loop_id, None]
    assert shown["bytes"] == sum(each["bytes"] for each in shown["found"]) > 0
    done = project.run("clean", "--all", "--json", "--yes").data
    assert done["removed"] is True
    assert done["bytes"] == shown["bytes"]
    assert not kept(project, loop_id).exists()


def test_a_loop_under_way_stays_and_is_named(project: Project) -> None:
    ended, running = over(project), armed(project, "cart", OTHER)
    before = [loop["tasks"] for loop in loops(project) if loop["id"] == running]
    told = project.fine("clean", "--all", "--yes")
    assert "cart is not over and stays" in told
    assert "approvals" not in told
    assert not kept(project, ended).exists()
    assert [loop["tasks"] for loop in loops(project)] == before
    assert project.stop(OTHER) is not None
    named = project.fine("clean", "cart", "--all", "--yes")
    assert "Nothing to remove" in named
    assert "cart is not over and stays" in named


def test_a_name_takes_only_its_own_loops_and_an_id_only_one(project: Project) -> None:
    first, other = over(project, "shop"), over(project, "cart")
    second = over(project, "shop")
    project.fine("clean", second, "--all", "--yes")
    assert not kept(project, second).exists()
    assert kept(project, first).exists()
    project.fine("clean", "shop", "--all", "--yes")
    assert not kept(project, first).exists()
    assert kept(project, other).exists()
    assert project.run("clean", "shop", "--all", "--yes").code == 1  # nobody knows it any more


def test_the_agent_may_not(project: Project) -> None:
    over(project, "shop")
    before = project.digest()
    for words in (["clean", "--yes"], ["clean", "--all", "--json"]):
        done = project.run(*words, env=AGENT)
        assert done.code == 1, words
        assert "is the person's to decide" in done.err
    assert project.digest() == before


def test_what_a_kill_left_goes_and_what_another_machine_runs_stays(project: Project) -> None:
    """A record that is gone before its files, and a folder whose loop has not ended for whoever runs it."""
    loop_id = over(project, "shop")
    (record,) = (project.home / ".local").rglob("ended/*.json")
    record.unlink()
    foreign = project.root / ".ralph/run/features-far-20260101T000000Z"
    foreign.mkdir()
    (foreign / "loop.json").write_text('{"state": "running"}')
    told = project.fine("clean", "--all", "--yes")
    assert f"of no loop known here: {loop_id}" in told
    assert not kept(project, loop_id).exists()
    assert not (project.root / ".ralph/run" / loop_id).exists()
    assert foreign.exists()


@pytest.mark.parametrize("below", ["", "features-x", "evidence"])
def test_links_are_not_followed(project: Project, below: str) -> None:
    """In the place of the runs, of a loop's folder and inside of it."""
    loop_id = over(project, "shop")
    precious = project.folder / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    runs = project.root / ".ralph/run"
    place = {"": runs, "features-x": runs / loop_id, "evidence": runs / loop_id / "evidence"}[below]
    os.rename(place, project.folder / "moved")
    place.symlink_to(precious)
    project.run("clean", "--all", "--yes")
    assert (precious / "file").read_text() == "mine"


def test_two_at_once_remove_it_once(project: Project) -> None:
    """The loops, that is; the second may meet what the first is still removing, and says so."""
    ids = [over(project, name) for name in ("shop", "cart", "till")]
    words = project.argv("clean", "--all", "--yes", "--json")
    both = [
        subprocess.Popen(words, cwd=project.root, env=project.env(), stdout=PIPE, stderr=PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=60) for process in both]
    assert [(process.returncode, err) for process, (_, err) in zip(both, told, strict=True)] == [(0, "")] * 2
    removed = [part["loop"] for out, _ in told for part in json.loads(out)["found"] if part["loop"]]
    assert sorted(removed) == sorted(ids)
    assert not [*project.home.rglob("loop.json"), *(project.root / ".ralph/run").glob("*/")]


def test_a_terminal_is_asked_and_no_is_no(project: Project) -> None:
    over(project)
    before = project.digest()
    with Asked(project, "clean", "--all") as asked:
        code, said = asked.answer("n\n", "Remove them? [y/N] ")
    assert code == 1
    assert "nothing was removed" in said
    with Asked(project, "clean", "--all") as asked:
        code, said = asked.interrupt()
    assert code == 130
    assert "Nothing was removed." in said
    assert project.digest() == before
    with Asked(project, "clean", "--all") as asked:
        code, said = asked.answer("y\n")
    assert code == 0
    assert not list((project.home / ".local").rglob("loop.json"))


def asked_meanwhile(project: Project, work: Callable[[], object]) -> tuple[int, str]:
    """`clean --all` at a terminal; something happens between the question and the yes."""
    with Asked(project, "clean", "--all") as asked:
        asked.wait_for("[y/N] ")
        work()
        return asked.answer("y\n", "")


def test_a_link_that_comes_while_it_asks_is_not_followed(project: Project) -> None:
    loop_id = over(project)
    precious = project.folder / "precious"
    (precious / loop_id).mkdir(parents=True)
    runs = project.root / ".ralph/run"

    def swap() -> None:
        runs.rename(project.folder / "moved")
        runs.symlink_to(precious)

    code, said = asked_meanwhile(project, swap)
    assert code == 1
    assert "Not all could be removed." in said
    assert (precious / loop_id).exists()


def test_what_begins_while_it_asks_keeps_its_approvals(project: Project) -> None:
    over(project)
    code, said = asked_meanwhile(project, lambda: project.fine("start", "shop", "--session", OTHER))
    assert code == 0
    assert "your approvals: you are asked again: taken up or gone meanwhile" in " ".join(said.split())
    assert not loops(project)[0]["unapproved"]


@pytest.mark.parametrize("target", ["loops", "../src"])
def test_a_link_inside_the_project_is_not_followed_either(project: Project, target: str) -> None:
    """A repository can bring one."""
    over(project)
    name = "features-shop-20260101T000000Z"
    place = project.write(f".ralph/{target}/{name}/loop.json", '{"state": "ended"}')
    runs = project.root / ".ralph/run"
    runs.rename(project.folder / "moved")
    runs.symlink_to(target)
    project.run("clean", "--all", "--yes")
    assert place.exists()


def test_a_record_that_cannot_be_read_keeps_what_it_may_name(project: Project) -> None:
    running = armed(project, "shop")
    (record,) = (project.home / ".local").rglob("owned/*.json")
    record.write_text("{")
    told = project.fine("clean", "--all", "--yes")
    assert "cannot be read, so what no record names stays" in " ".join(told.split())
    assert (kept(project, running) / "loop.json").exists()
    assert list((project.home / ".local").rglob("approved.json"))


def test_a_folder_that_says_it_is_a_worktree_cleans_no_other_project(project: Project) -> None:
    loop_id = over(project)
    forged = project.folder / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {project.root}/.git/worktrees/zz\n")
    for words in (["clean", "--all", "--yes"], ["clean", "shop", "--all", "--yes"]):
        project.run(*words, cwd=forged)
        assert kept(project, loop_id).exists(), words


def test_what_a_killed_removal_left_is_found_again(project: Project) -> None:
    loop_id = over(project)
    (project.root / ".ralph/run" / loop_id / "loop.json").unlink()
    for record in (project.home / ".local").rglob("ended/*.json"):
        record.unlink()
    project.fine("clean", "--all", "--yes")
    assert not (project.root / ".ralph/run" / loop_id).exists()


def test_a_loop_whose_state_is_lost_can_be_removed(project: Project) -> None:
    loop_id = over(project)
    shutil.rmtree(kept(project, loop_id))
    project.fine("clean", "--all", "--yes")
    assert loops(project) == []


def test_what_cannot_be_removed_is_named_and_the_rest_goes(project: Project) -> None:
    """Folders nested deeper than anybody goes."""
    first, second = over(project, "shop"), over(project, "cart")
    deep = project.root / ".ralph/run" / first
    here = os.open(deep, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    done = project.run("clean", "--all", "--yes")
    assert (done.code, "Traceback" in done.err) == (1, False), done
    assert f"Not all could be removed. {deep}" in done.out.replace("\n  ", " ")
    assert not (project.root / ".ralph/run" / second).exists()
    subprocess.run(["rm", "-r", str(deep)], check=True)

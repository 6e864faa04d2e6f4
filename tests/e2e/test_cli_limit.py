"""Limits that the person changes while a loop runs, rests or has ended: nothing else changes with them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import SESSION, Project, unfolded
from hook.lines import text_line
from security.life import CLIENT

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def work(project: Project, dollars: float) -> dict[str, Any] | None:
    """A turn of the owner's that costs so much, and its stop."""
    file = project.home / f"{SESSION}.jsonl"
    line = text_line(f"This was worth {dollars} and {file.exists() and file.stat().st_size}.")
    line["message"]["model"] = "claude-opus-4-5"  # 25 dollars for a million
    line["message"]["usage"] = {"input_tokens": 0, "output_tokens": round(dollars * 40_000)}
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
    return project.stop(transcript_path=str(file))


def spent(project: Project) -> tuple[float, float]:
    """In dollars, as `status` and `report` tell it."""
    report = json.loads(project.run("report", "--format", "json").out)
    return project.status()["spent"]["cost_usd"], report["spending"]["cost_usd"]


def counted(project: Project) -> float:
    (file,) = (project.home / ".local/state/ralphloop").rglob("usage.json")
    return float(json.loads(file.read_text())["spent"]["cost_usd"])


def elapsed(project: Project) -> float:
    return float(project.status()["limits"]["time_s"]["used"])


def test_a_higher_limit_on_a_running_loop_forgets_nothing(project: Project) -> None:
    """Neither with `resume` nor with `limit`."""
    project.begin("shop", "--max-cost", "5")
    assert work(project, 1.0)
    assert work(project, 1.0)
    for words in (("resume", "shop", "--max-cost", "9"), ("limit", "shop", "--max-cost", "12")):
        told = project.fine(*words)
        assert f"$2.00 of ${words[-1]}.00" in told, told
        assert spent(project) == (2.0, 2.0)
        assert project.status()["limits"]["cost_usd"]["most"] == float(words[-1])
    assert "dollars $12.00 (before: $9.00)" in project.fine("log", "shop")
    report = json.loads(project.run("report", "--format", "json").out)
    assert sum(task["cost_usd"] for task in report["tasks"]) == 2.0
    assert work(project, 1.0)
    assert (counted(project), *spent(project)) == (3.0, 3.0, 3.0)


def test_a_limit_is_changed_without_resuming(project: Project) -> None:
    project.begin("shop", "--max-cost", "5", "--max-time", "2h")
    work(project, 1.0)
    project.fine("pause")
    before = project.status()
    told = project.fine("limit", "shop", "--max-cost", "9", "--max-time", "3h")
    assert "  dollars             $1.00 of $9.00 (before: $5.00)\n" in told
    assert "of 3 h 00 min (before: 2 h 00 min)\n" in told
    assert unfolded(told).endswith(
        "shop is paused (interrupted); `ralphloop resume shop` goes on, with a new window of 3 h 00 min.\n"
    )
    after = project.status()
    varying = {"limits", "seen_at"}
    assert {k: v for k, v in after.items() if k not in varying} == {
        k: v for k, v in before.items() if k not in varying
    }
    assert after["limits"]["time_s"] == {"used": elapsed(project), "most": 3 * 3600.0}


def test_a_loop_that_a_budget_ended_goes_on_once_it_is_raised(project: Project) -> None:
    project.begin("shop", "--max-cost", "1")
    work(project, 1.5)
    assert (project.status()["state"], project.status()["outcome"]) == ("ended", "budget")
    assert "higher --max-tokens or --max-cost" in project.refused("resume", "shop")
    told = project.fine("limit", "shop", "--max-cost", "9")
    assert "$1.50 of $9.00 (before: $1.00)" in told
    going_on = "shop has ended (budget); `ralphloop resume shop` goes on, with a new window of 8 h 00 min.\n"
    assert unfolded(told).endswith(going_on)
    assert project.status()["state"] == "ended"
    project.fine("resume", "shop")
    assert work(project, 1.0)
    assert (counted(project), *spent(project)) == (2.5, 2.5, 2.5)


def test_a_new_loop_after_a_budget_says_that_it_has_none(project: Project) -> None:
    project.begin("shop", "--max-cost", "1")
    work(project, 1.5)
    told = unfolded(project.fine("start", "shop", "--session", SESSION))
    assert "! the loop before ended at its budget ($1.00), and this one has none: `ralphloop limit" in told
    project.fine("cancel", "shop")
    assert "budget" not in project.fine("start", "shop", "--session", SESSION)


def test_a_loop_that_its_iterations_ended_goes_on_once_they_are_raised(project: Project) -> None:
    project.begin("shop", "--max-iterations", "1")
    work(project, 1.0)
    assert project.status()["outcome"] == "limit"
    project.fine("limit", "shop", "--max-iterations", "8")
    assert "iteration 1 of 8" in project.fine("resume", "shop")


def test_a_first_budget_is_one_for_all_that_was_spent(project: Project) -> None:
    project.begin("shop")
    work(project, 2.0)
    assert "dollars             $2.00 of $2.50 (before: off)" in project.fine("limit", "--max-cost", "2.5")
    assert work(project, 1.0) is not None
    assert project.status()["outcome"] == "budget"


def test_a_lower_limit_ends_the_loop_at_its_next_stop(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    work(project, 2.0)
    told = " ".join(project.fine("limit", "--max-cost", "1").split())
    assert told.endswith("shop is running; it stops at the end of the agent's present turn: dollars used up.")
    work(project, 0.1)
    assert project.status()["outcome"] == "budget"


def test_without_options_the_limits_are_shown(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    work(project, 1.25)
    before = project.digest()
    told = project.fine("limit").splitlines()
    assert told[0] == "shop · running"
    assert "  dollars             $1.25 of $5.00" in told
    assert "  iterations          2 of 15" in told
    assert all(len(line) <= 80 for line in told)
    data = json.loads(project.fine("limit", "--json"))
    assert data["limits"]["cost_usd"] == {"used": 1.25, "most": 5.0}
    assert (data["name"], data["state"], data["before"]) == ("shop", "running", {})
    assert project.digest() == before


def test_only_the_person_changes_a_limit(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    work(project, 1.0)
    refused = project.refused("limit", "--max-cost", "9", env=AGENT)
    assert "another limit is the person's to decide" in refused
    assert refused == project.refused("limit", "--max-cost", "4", env=AGENT)
    assert "$1.00 of $5.00" in project.fine("limit", env=AGENT)


def test_a_loop_that_is_over_has_no_limits_to_change(project: Project) -> None:
    project.begin("shop")
    project.fine("cancel")
    refused = project.refused("limit", "shop", "--max-cost", "9")
    assert "the loop shop is cancelled; `ralphloop start shop` begins a new one." in refused
    assert project.fine("limit", "shop").startswith("shop · cancelled\n")
    assert "--i-know" in project.refused("limit", "shop", "--max-iterations", "0")


def test_a_change_stands_where_a_stop_that_began_before_ends_the_loop(project: Project) -> None:
    """Its record was read before, and is written with the end."""
    from ralphloop.loops.place import Place, pick

    project.begin("shop", "--max-cost", "5")
    loop = pick(Place(str(project.root), project.env()), "shop")
    project.fine("limit", "shop", "--max-cost", "9")
    state = loop.state()
    state.state, state.outcome = "ended", "limit"
    loop.rest(state)
    assert project.status()["limits"]["cost_usd"]["most"] == 9.0


def test_what_the_loop_was_told_once_it_is_not_told_again(project: Project) -> None:
    """But for how near a limit is: that is another figure now."""
    project.begin("shop", "--max-cost", "5")
    work(project, 1.0)
    told = ["iterations", "dollars", "prices", "limit", "needs_approval x", "idle"]
    for file in [*project.home.rglob("kept/*/loop.json"), *project.root.rglob(".ralph/run/*/loop.json")]:
        file.write_text(json.dumps({**json.loads(file.read_text()), "told": told}))
    project.fine("limit", "shop", "--max-cost", "9")
    (file,) = project.home.rglob("kept/*/loop.json")
    assert json.loads(file.read_text())["told"] == ["prices", "limit", "needs_approval x", "idle"]


def test_a_newer_versions_loop_is_in_the_way_of_no_other(project: Project) -> None:
    project.begin("shop")
    (file,) = project.home.rglob("kept/*/loop.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "moon": "full"}))
    project.new("cafe")
    project.fine("start", "cafe", "--session", "another-session")
    assert "of 50" in project.fine("limit", "cafe", "--max-iterations", "50")
    assert "cafe is paused" in project.fine("pause", "cafe")
    assert "newer version" in project.refused("pause", "shop")


def test_a_limit_below_what_is_used_is_told_as_used_up(project: Project) -> None:
    project.begin("shop", "--max-cost", "2")
    work(project, 2.5)
    assert project.status()["outcome"] == "budget"
    for most in ("1", "2.50"):
        told = project.fine("limit", "shop", "--max-cost", most)
        assert "goes on only with more: dollars used up" in told, told
        assert "with a higher --max-cost" in project.fine("status", "shop")
    assert "has used its budget" in project.refused("resume", "shop", "--max-cost", "1.5")
    assert "`ralphloop resume shop` goes on" in project.fine("limit", "shop", "--max-cost", "9")
    assert "`ralphloop resume shop` goes on" in project.fine("status", "shop")
    assert "shop goes on" in project.fine("resume", "shop")


def test_a_budget_is_taken_off_again_by_the_person_alone(project: Project) -> None:
    project.begin("shop", "--max-cost", "5")
    refused = project.refused("resume", "shop", "--max-cost", "off", env={"CLAUDECODE": "1"})
    assert "a higher limit (cost_usd off instead of $5.00) is the person's to decide" in refused
    assert "is the person's" in project.refused("limit", "shop", "--max-cost", "off", env={"CLAUDECODE": "1"})
    told = project.fine("limit", "shop", "--max-cost", "off")
    assert "  dollars             off (before: $5.00)\n" in told
    assert "cost_usd" not in project.status()["limits"]
    assert "dollars" not in project.fine("limit", "shop")
    project.fine("limit", "shop", "--max-tokens", "2M")
    project.fine("pause", "shop")
    assert "  tokens              off\n" in project.fine("resume", "shop", "--max-tokens", "OFF")


def test_off_at_the_start_is_no_budget_whatever_the_settings_say(project: Project) -> None:
    project.write(".ralph/config.toml", "max_cost = 3\n")
    project.begin("shop", "--max-cost", "off")
    assert "cost_usd" not in project.status()["limits"]
    assert project.run("start", "shop", "--max-time", "off").code == 2


def test_no_limit_of_turns_is_no_large_number(project: Project) -> None:
    project.begin("shop", "--max-iterations", "0", "--i-know")
    assert "shop · running · iteration 1 · 0/3 done" in project.fine("status")
    assert "10000" not in project.fine("status") + project.fine("limit", "shop")


def test_a_loop_that_rests_is_told_that_its_time_begins_anew(project: Project) -> None:
    project.begin("shop", "--max-time", "1s")
    assert "goes on" not in project.fine("limit"), "it does not rest"
    time.sleep(1.1)
    assert project.stop() is not None
    assert project.status()["outcome"] == "limit"
    told = "shop has ended (limit); `ralphloop resume shop` goes on, with a new window of 1 s.\n"
    assert unfolded(project.fine("limit")).endswith(told)
    assert "shop goes on (iteration 1 of 15) with a new window of 1 s: " in unfolded(project.fine("resume"))
    assert elapsed(project) < 1
    project.fine("cancel")
    assert "goes on" not in project.fine("limit", "shop"), "and never will"


def test_a_run_that_goes_on_has_its_time_anew_and_numbers_its_sessions_on(project: Project) -> None:
    project.program("claude", CLIENT)
    project.begin("shop", "--max-time", "2h")
    project.fine("pause")
    done = project.run("run", "shop", "--plain")
    assert done.out.startswith("shop goes on (iteration 1 of 15) with a new window of 2 h 00 min.\n"), done
    assert project.run("run", "shop", "--plain", "--json").data["name"] == "shop"
    entries = [json.loads(line) for line in project.fine("log", "shop", "--json").splitlines()]
    for event in ("session", "session_end"):
        assert [entry["number"] for entry in entries if entry["event"] == event] == [1, 2]


def test_the_help_says_so_too(project: Project) -> None:
    for command in ("run", "resume", "limit"):
        assert "running time, anew at each go-on (default: 8h)" in " ".join(
            project.fine(command, "--help").split()
        )

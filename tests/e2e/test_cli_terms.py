"""On which terms an agent may begin a loop: none that are easier than before, whatever it calls the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cli_project import Project, unfolded
from e2e.spec_project import INSIDE

BOXES = "# Tasks\n\n- [ ] 1.1 Form\n  - **Verify**: `test -f form`\n- [ ] 1.2 Check\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--max-iterations", "500"], "iterations 500 instead of 15"),
        (["--max-iterations", "0", "--i-know"], "iterations no limit instead of 15"),
        (["--max-attempts", "50"], "attempts 50 instead of 5"),
        (["--max-time", "90h"], "time_s 90 h 00 min instead of 8 h 00 min"),
    ],
)
def test_agent_starts_within_the_usual_limits(project: Project, options: list[str], told: str) -> None:
    project.new()
    assert told in project.refused("start", "shop", *options, env=INSIDE)
    assert "at most 9 iterations" in project.fine("start", "shop", "--max-iterations", "9", env=INSIDE)


def test_agent_starts_within_what_the_persons_settings_allow(project: Project) -> None:
    """Neither an option nor a variable takes off or raises the budget in the person's own file."""
    settings = project.home / ".config/ralphloop/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("max_cost = 5\nmax_iterations = 12\n")
    project.new()
    for option, told in (("off", "off instead of $5.00"), ("500", "$500.00 instead of $5.00")):
        assert told in project.refused("start", "shop", "--max-cost", option, env=INSIDE), option
    assert "iterations 14 instead of 12" in project.refused(
        "start", "shop", "--max-iterations", "14", env=INSIDE
    )
    project.fine(
        "start", "shop", env={**INSIDE, "RALPHLOOP_MAX_COST": "500", "RALPHLOOP_MAX_ITERATIONS": "9"}
    )
    limits = project.status()["limits"]
    assert (limits["cost_usd"]["most"], limits["iterations"]["most"]) == (5.0, 9)


def test_run_refuses_plan_mode_with_a_reason(project: Project) -> None:
    project.new()
    done = project.run("run", "shop", "--permission-mode", "plan")
    assert done.code == 2
    assert "no task can be done in plan mode" in done.err


def test_person_sets_any_limit(project: Project) -> None:
    project.new()
    assert "500 iterations" in project.fine("start", "shop", "--max-iterations", "500")


@pytest.mark.parametrize("weaker", [True, False])
def test_list_under_another_name_is_held_to_the_terms_that_it_had(project: Project, weaker: bool) -> None:
    """The agent cancels, renames the spec, and begins anew."""
    project.write("specs/.current-spec", "login\n")
    project.write("specs/login/tasks.md", BOXES)
    project.fine("specum", "implement", "--max-global-iterations", "5", env=INSIDE)
    project.fine("specum", "cancel", env=INSIDE)
    (project.root / "specs/login").rename(project.root / "specs/other")
    if weaker:
        project.write("specs/other/tasks.md", BOXES.replace("  - **Verify**: `test -f form`\n", ""))
    project.fine("specum", "switch", "other", env=INSIDE)
    if weaker:
        told = project.refused("specum", "implement", env=INSIDE)
        assert "other criteria than before" in told
    else:
        told = project.refused("specum", "implement", "--max-global-iterations", "50", env=INSIDE)
        assert "iterations 50 instead of 5" in told
        assert "at most 5 iterations" in unfolded(project.fine("specum", "implement", env=INSIDE))

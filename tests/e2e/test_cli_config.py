"""`config`, and the limits that `start` takes from the settings, as real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.cli_project import SESSION, WIDE, Project, unfolded

TOKEN, TOPIC = "tk_do_not_show_me", "a-topic-that-nobody-guesses"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def mine(project: Project, text: str) -> Path:
    file = project.home / ".config/ralphloop/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return file


def limits(project: Project) -> dict[str, float]:
    return {name: figures["most"] for name, figures in project.status()["limits"].items()}


def rows(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.partition("\n\n")[2].splitlines()}


def test_each_value_is_printed_with_where_it_came_from(project: Project) -> None:
    file = mine(project, 'max_time = "2h"\nbatch = 1\n')
    project.write(".ralph/config.toml", "batch = 2\nmax_cost = 2.5\n")
    out = project.fine("config", env={"RALPHLOOP_NOTIFY": "desktop,bell", **WIDE})
    assert out.startswith(f"user file: {file}\nproject file: {project.root}/.ralph/config.toml\n\n")
    found = rows(out)
    assert found["max_time"] == ["2h", "user", "file"]
    assert found["batch"] == ["2", "project", "file"]
    assert found["max_cost"] == ["2.50", "project", "file"]
    assert found["notify"] == ["desktop,", "bell", "RALPHLOOP_NOTIFY"]
    assert found["idle_timeout"] == ["20m", "default"]
    assert found["model"] == ["-", "default"]


def test_it_works_from_a_folder_inside_and_writes_nothing(project: Project) -> None:
    project.write(".ralph/config.toml", "batch = 2\n")
    inner = project.root / "src/deep"
    inner.mkdir(parents=True)
    before = project.digest()
    assert rows(project.fine("config", cwd=inner))["batch"] == ["2", "project", "file"]
    assert project.digest() == before


def test_scripts_get_json(project: Project) -> None:
    mine(project, "max_cost = 5\nnotify = ['bell']\n")
    data = json.loads(project.fine("config", "--json"))
    assert data["settings"]["max_cost"]["value"] == 5.0
    assert data["settings"]["max_cost"]["origin"] == "user file"
    assert data["settings"]["notify"]["value"] == ["bell"]
    assert data["settings"]["model"]["value"] is None
    assert data["files"]["project"] == f"{project.root}/.ralph/config.toml"


@pytest.mark.parametrize("words", [("config",), ("config", "--json")])
def test_secrets_are_not_shown(project: Project, words: tuple[str, ...]) -> None:
    mine(project, f'webhook_url = "https://ntfy.sh/{TOPIC}"\nwebhook_token = "{TOKEN}"\n')
    out = project.fine(*words)
    assert TOKEN not in out
    assert TOPIC not in out
    assert "https://ntfy.sh/" in out


def test_a_token_that_others_can_read_is_warned_of(project: Project) -> None:
    file = mine(project, f'webhook_token = "{TOKEN}"\n')
    file.chmod(0o644)
    done = project.run("config")
    assert done.code == 0
    assert done.err == f"ralphloop: {file} holds a token and others can read it: `chmod 600` it.\n"


@pytest.mark.parametrize("command", [("config",), ("start", "shop"), ("notify", "--test")])
def test_a_mistake_in_a_file_is_one_line_that_says_where(project: Project, command: tuple[str, ...]) -> None:
    project.new()
    project.write(".ralph/config.toml", "max_iteration = 3\n")
    told = project.refused(*command)
    assert told == (
        f"ralphloop: {project.root}/.ralph/config.toml: there is no setting max_iteration, "
        "did you mean max_iterations?\n"
    )


def test_a_hostile_key_cannot_write_to_the_terminal(project: Project) -> None:
    project.write(".ralph/config.toml", '"\\u001b]0;x\\u0007\\nforged" = 1\n')
    told = project.refused("config")
    assert "\x1b" not in told


def test_start_takes_limits_and_continuation_from_the_settings(project: Project) -> None:
    mine(project, 'max_time = "2h"\nmax_iterations = 50\nmax_attempts = 2\n')
    project.write(".ralph/config.toml", 'max_cost = 2.5\ncontinue_with = "context"\n')
    project.new()
    out = project.fine("start", "shop", "--session", SESSION)
    assert "at most 50 iterations, 2 h 00 min, $2.50." in unfolded(out).splitlines()[0]
    assert limits(project)["cost_usd"] == 2.5
    answer = project.stop()
    assert answer is not None
    assert "additionalContext" in answer["hookSpecificOutput"]


def test_an_option_wins_over_a_variable_over_a_file(project: Project) -> None:
    mine(project, "max_iterations = 50\nmax_cost = 9\n")
    project.write(".ralph/config.toml", 'max_cost = 8\ncontinue_with = "context"\n')
    project.new()
    words = ("start", "shop", "--session", SESSION, "--max-iterations", "20", "--continue-with", "block")
    out = project.fine(*words, env={"RALPHLOOP_MAX_COST": "7", "RALPHLOOP_MAX_ITERATIONS": "40"})
    assert "at most 20 iterations, 8 h 00 min, $7.00." in unfolded(out).splitlines()[0]
    assert (project.stop() or {})["decision"] == "block"


def test_without_settings_the_limits_are_the_usual_ones(project: Project) -> None:
    project.new()
    out = project.fine("start", "shop", "--session", SESSION)
    assert "at most 15 iterations, 8 h 00 min." in unfolded(out).splitlines()[0]


def test_a_spec_takes_its_limits_from_the_settings_too(project: Project) -> None:
    mine(project, "max_cost = 4\n")
    project.spec()
    project.fine("specum", "implement")
    assert limits(project)["cost_usd"] == 4.0


AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}


def test_in_an_agents_tools_no_setting_raises_a_limit(project: Project) -> None:
    project.write(".ralph/config.toml", 'max_iterations = 900\nmax_time = "100h"\nmax_attempts = 2\n')
    project.new()
    out = project.fine("start", "shop", env={**AGENT, "RALPHLOOP_MAX_NO_PROGRESS": "99"})
    assert "at most 15 iterations, 8 h 00 min." in unfolded(out).splitlines()[0]
    kept = json.loads(next((project.home / ".local/state").rglob("owned/*.json")).read_text())["limits"]
    assert (kept["no_progress"], kept["attempts"]) == (3, 2)


def test_a_loop_that_an_agent_begins_anew_has_no_higher_limits_than_before(project: Project) -> None:
    project.begin("shop", "--max-iterations", "5", session=SESSION)
    project.fine("cancel", "shop", env=AGENT)
    project.write(".ralph/config.toml", "max_iterations = 12\nmax_cost = 3\n")
    out = project.fine("start", "shop", env=AGENT)
    assert "at most 5 iterations, 8 h 00 min, $3.00." in unfolded(out).splitlines()[0]

"""The skills of the plugin ralphloop: what each runs and allows, and who may call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphloop.cli.main import COMMANDS
from unit.domain.cases import each
from unit.plugins.prompts import CALL, PLUGINS, block, is_allowed, read, rules

# Published names are final.
NAMES = ("answer", "approve", "cancel", "pause", "plan", "report", "resume", "start", "status")
SKILLS = [PLUGINS / "ralphloop/skills" / name / "SKILL.md" for name in NAMES]
RUNNING = [path for path in SKILLS if path.parent.name != "approve"]
# What a model asked for by itself may look at; the rest is for the person to type.
OPEN = {"plan", "report", "status"}
LOOP = {f"Bash({call} {verb}:*)" for call in ("ralphloop", CALL) for verb in ("done", "ask", "status")}

every_skill = each("path", SKILLS, ids=lambda path: path.parent.name)


def test_published_names_stay() -> None:
    assert sorted(folder.name for folder in (PLUGINS / "ralphloop/skills").iterdir()) == sorted(NAMES)


@every_skill
def test_skill_says_what_it_is_for_and_who_may_call_it(path: Path) -> None:
    head, _ = read(path)
    assert head["name"] == path.parent.name
    assert str(head["description"]).endswith(".")
    assert (head.get("disable-model-invocation") == "true") is (path.parent.name not in OPEN)


@pytest.mark.parametrize("path", RUNNING, ids=lambda path: path.parent.name)
def test_skill_runs_its_command_and_passes_nothing_through_a_shell(path: Path) -> None:
    (command,) = block(path)
    assert command.removeprefix(f"{CALL} --typed ").split()[0] == path.parent.name
    assert path.parent.name in COMMANDS
    assert is_allowed(command, path)
    assert "$ARGUMENTS" not in path.read_text()


@every_skill
def test_skill_allows_its_own_call_and_at_most_the_loops_commands(path: Path) -> None:
    name = path.parent.name
    own = {f"Bash({CALL} --typed {name}:*)"} if name != "approve" else set()
    own |= {"Bash(ralphloop plan:*)", f"Bash({CALL} plan:*)"} if name == "plan" else set()
    own |= LOOP if name in ("start", "resume", "approve", "answer") else set()
    assert set(rules(path)) == own


@pytest.mark.parametrize("name", ["answer", "approve"])
def test_what_all_plugins_have_is_the_same_in_each(name: str) -> None:
    """The client follows no link there, so each has a copy."""
    texts = [path.read_text() for path in PLUGINS.glob(f"*/skills/{name}/SKILL.md")]
    assert len(texts) == 3
    assert len(set(texts)) == 1


def test_prompts_are_short() -> None:
    assert all(len(path.read_text().split()) <= 400 for path in SKILLS)


def test_readme_tells_every_skill() -> None:
    told = (PLUGINS / "ralphloop/README.md").read_text()
    assert [name for name in NAMES if f"/ralphloop:{name}" not in told] == []

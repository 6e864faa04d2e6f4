"""The prompts of the spec plugins: what a command runs and allows, what it names, what none may ask for."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from ralphloop.cli import main
from ralphloop.domain import additions
from ralphloop.tasklists import boxes
from unit.domain.cases import each
from unit.plugins.prompts import CALL, PLUGINS, ROOT, block, frontmatter, is_allowed, read, rules

KEYS = {"description", "argument-hint", "allowed-tools", "disable-model-invocation"}
TOOLS = {"Read", "Grep", "Glob", "Write", "Edit", "Bash", "WebSearch", "WebFetch"}
READERS = {"spec-reviewer", "qa-engineer"}
CLAIMING = {"specum": {"implement", "start", "new"}, "speckit": {"implement"}}
QUICK = ("research", "requirements", "design", "tasks", "implement")

# Published names are final.
NAMES = {
    "ralph-specum": {
        "commands": "start new research requirements design tasks implement status switch cancel triage help",
        "agents": "research-analyst product-manager architect-reviewer task-planner spec-executor "
        "qa-engineer spec-reviewer triage-analyst",
        "templates": "research requirements design tasks epic",
    },
    "ralph-speckit": {
        "commands": "start constitution specify clarify plan tasks analyze checklist implement status switch "
        "cancel",
        "agents": "spec-analyst plan-architect task-planner spec-executor qa-engineer",
        "templates": "constitution spec plan tasks checklist",
    },
}

# What the hook and the command line do, and no model is to be asked for.
FORBIDDEN = [
    r"\bcount", r"\bincrement", r"ALL_TASKS_COMPLETE", r"TASK_COMPLETE", r"output exactly",
    r"taskIndex", r"totalTasks", r"taskIteration", r"globalIteration", r"ralph-state", r"speckit-state",
    r"awaitingApproval", r"<promise>", r"magic word",
    r"\b(two|three|five|ten) (to|and) \w+",  # how many there are is for the goal to say
]  # fmt: skip


def files(folder: str) -> list[Path]:
    return sorted(path for plugin in NAMES for path in (PLUGINS / plugin / folder).glob("*.md"))


def shown(path: Path) -> str:
    return f"{path.parts[-3]}/{path.stem}"


COMMANDS, AGENTS, TEMPLATES = files("commands"), files("agents"), files("templates")
RUNNING = [path for path in COMMANDS if path.stem != "help"]
every_command = each("path", COMMANDS, ids=shown)
every_running_command = each("path", RUNNING, ids=shown)
every_agent = each("path", AGENTS, ids=shown)
every_prompt = each("path", [*COMMANDS, *AGENTS, *TEMPLATES], ids=shown)
every_plugin = pytest.mark.parametrize("plugin", list(NAMES))


def layout(path: Path) -> str:
    return path.parts[-3].removeprefix("ralph-")


@each(
    "head",
    [
        "", "a: b\n", "---\na: b\n\nbody", "---\na b\n---\n\nx", "---\na: [x]\n---\n\nx",
        "---\na: b: c\n---\n\nx", "---\na: b #c\n---\n\nx", "---\na: b\na: c\n---\n\nx", "---\na:\n---\n\nx",
        "---\na: b\n  - c\n---\n\nx", '---\na: "b" c\n---\n\nx', "---\na: *b\n---\n\nx",
    ],
)  # fmt: skip
def test_frontmatter_that_readers_disagree_on_is_refused(head: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        frontmatter(head)


def options_in(text: str) -> set[str]:
    return set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text))


@pytest.mark.parametrize(("plugin", "kind"), [(plugin, kind) for plugin in NAMES for kind in NAMES[plugin]])
def test_published_names_stay(plugin: str, kind: str) -> None:
    there = {path.stem for path in (PLUGINS / plugin / kind).iterdir()}
    assert there == set(NAMES[plugin][kind].split())


@every_command
def test_a_command_says_what_it_is_for(path: Path) -> None:
    found, body = read(path)
    assert set(found) <= KEYS
    assert 20 <= len(found["description"]) <= 100
    assert body.strip()


@every_running_command
def test_a_command_runs_one_action_that_its_frontmatter_allows(path: Path) -> None:
    command = f"{CALL} --typed {layout(path)} {path.stem}"
    assert block(path) == [command]
    assert rules(path)[0] == f"Bash({command}:*)"


@every_command
def test_what_is_typed_is_pasted_nowhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "$ARGUMENTS" not in text
    # the client would replace the first by a typed word, run the second, and paste the file of the third
    assert not re.search(r"\$\d|!`|(?<!\w)@\w", text)


@every_running_command
def test_the_command_line_knows_the_action_and_its_options(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main.run([layout(path), path.stem, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert f"examples:\n  ralphloop {layout(path)} {path.stem}" in said
    hint = str(read(path)[0].get("argument-hint", ""))
    assert options_in(hint) - options_in(said) == set()
    words = re.findall(r"[A-Z]{2,}", re.sub(r"--[a-z-]+ [A-Z]+", "", hint))
    assert bool(words) == ("positional arguments:" in said)


@every_running_command
def test_an_error_is_shown_to_the_person(path: Path) -> None:
    sentence = (
        "If the output above begins with `ralphloop:`, it is an error for the person: show it and stop."
    )
    after = read(path)[1].partition("\n```\n\n")[2]
    assert after.startswith(sentence)


@every_running_command
def test_a_command_allows_nothing_but_ralphloop_and_the_plugins_own_files(path: Path) -> None:
    name, calls = layout(path), ("ralphloop", CALL)
    expected = {f"Bash({CALL} --typed {name} {path.stem}:*)"}
    if path.stem in CLAIMING[name]:
        expected |= {f"Bash({call} {action}:*)" for call in calls for action in ("done", "ask")}
        expected.add("Bash(ralphloop status:*)")
    if name == "specum" and path.stem in ("start", "new"):  # quick mode; the loop is not its own to end
        expected |= {f"Bash({call} specum {action}:*)" for call in calls for action in QUICK}
        expected.add(f"Read(/{ROOT}/commands/**)")
    if path.stem == "triage":
        expected |= {f"Bash({call} specum triage:*)" for call in calls}
    assert set(rules(path)) - {f"Read(/{ROOT}/templates/**)"} == expected


@every_command
def test_a_command_that_the_text_names_is_allowed(path: Path) -> None:
    named = re.findall(
        r"`((?:ralphloop|sh \"\$\{CLAUDE_PLUGIN_ROOT\}/bin/ralphloop\") [^`]+)`", read(path)[1]
    )
    assert [command for command in named if path.stem != "help" and not is_allowed(command, path)] == []


@every_prompt
def test_files_that_a_prompt_names_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"\$\{CLAUDE_PLUGIN_ROOT\}/([\w./-]*\w)", text)
    assert [name for name in named if not (path.parents[1] / name).exists()] == []


def agents_of(path: Path) -> list[Path]:
    """The agents that a command hands work to; another plugin's is none of ours to name."""
    named = re.findall(r"`(ralph-\w+):([\w-]+)`", path.read_text(encoding="utf-8"))
    return [PLUGINS / plugin / "agents" / f"{agent}.md" for plugin, agent in dict.fromkeys(named)]


@every_command
def test_agents_that_a_command_names_are_its_plugins_own(path: Path) -> None:
    assert [
        agent for agent in agents_of(path) if not agent.exists() or agent.parts[-3] != path.parts[-3]
    ] == []


def test_every_agent_has_work() -> None:
    assert {agent for path in COMMANDS for agent in agents_of(path)} == set(AGENTS)


def templates_of(path: Path) -> set[Path]:
    named = re.findall(r"\$\{CLAUDE_PLUGIN_ROOT\}/templates/([\w-]+\.md)", path.read_text(encoding="utf-8"))
    return {path.parents[1] / "templates" / name for name in named}


def test_every_template_is_used() -> None:
    assert set().union(*map(templates_of, [*COMMANDS, *AGENTS])) == set(TEMPLATES)


@every_running_command
def test_templates_are_readable_where_they_are_needed(path: Path) -> None:
    # analyze hands the analyst no document to write
    needed = set().union(*map(templates_of, [path, *agents_of(path)])) if path.stem != "analyze" else set()
    assert (f"Read(/{ROOT}/templates/**)" in rules(path)) == bool(needed)


@every_agent
def test_an_agent_is_named_and_has_the_tools_of_its_job(path: Path) -> None:
    found, body = read(path)
    assert set(found) <= {"name", "description", "tools"}
    assert found["name"] == path.stem
    assert len(found["description"]) >= 40
    assert body.strip()
    tools = set(str(found["tools"]).split(", ")) if "tools" in found else TOOLS
    assert tools <= TOOLS
    assert ({"Write", "Edit"} & tools == set()) == (path.stem in READERS)
    assert ("Bash" in tools) == (path.stem in ("spec-executor", "qa-engineer"))
    # the client tells subagents not to write report files
    writes_document = "Write" in tools and "Bash" not in tools
    assert writes_document == ("he file is what was ordered: write it" in " ".join(body.split()))


@every_plugin
def test_implementing_loads_few_words(plugin: str) -> None:
    """With the agents it works with, and every file that it tells the model to read."""
    command = PLUGINS / plugin / "commands/implement.md"
    loaded = [command, *agents_of(command), *templates_of(command)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in loaded)
    assert not re.search(r"\$\{CLAUDE_PLUGIN_ROOT\}/(?!bin/ralphloop)", text), "it names another file"
    assert len(text.split()) <= 1200
    assert len(command.read_text(encoding="utf-8").split()) <= 500


@every_prompt
def test_no_prompt_asks_for_bookkeeping(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [phrase for phrase in FORBIDDEN if re.search(phrase, text, re.I)] == []


@every_plugin
def test_a_list_written_from_the_template_can_be_proven(plugin: str) -> None:
    tasks = boxes.parse((PLUGINS / plugin / "templates/tasks.md").read_text(encoding="utf-8"))
    assert len(tasks) >= 5
    assert [task.title for task in tasks if not task.id or len(task.verify) != 1 or task.done] == []
    pattern = r"\d+\.\d+|VE1|VF" if plugin == "ralph-specum" else r"T\d{3}"
    assert [task.id for task in tasks if not re.fullmatch(pattern, task.id)] == []
    assert {mark for task in tasks for mark in task.marks} >= {"P", "VERIFY"}
    assert any("P" in a.marks and "P" in b.marks for a, b in pairwise(tasks))


def test_templates_for_tasks_name_the_parts_of_a_task() -> None:
    specum = (PLUGINS / "ralph-specum/templates/tasks.md").read_text(encoding="utf-8")
    first = boxes.parse(specum)[0].body
    assert re.findall(r"\*\*([\w ]+)\*\*:", first) == ["Do", "Files", "Done when", "Verify", "Commit"]
    speckit = boxes.parse((PLUGINS / "ralph-speckit/templates/tasks.md").read_text(encoding="utf-8"))
    assert {"US1", "US2"} <= {mark for task in speckit for mark in task.marks}


@every_plugin
def test_the_fix_task_of_the_prompt_is_one_for_the_hook(plugin: str) -> None:
    body = read(PLUGINS / plugin / "commands/implement.md")[1]
    (example,) = re.findall(r"^```markdown\n(.*?)^```$", body, re.S | re.M)
    (task,) = boxes.parse(example)
    assert list(task.verify) == ["one command"]
    assert boxes.is_id(task.id)
    assert boxes.is_id(additions.original(task))


@every_plugin
def test_only_the_person_cancels(plugin: str) -> None:
    assert read(PLUGINS / plugin / "commands/cancel.md")[0]["disable-model-invocation"] == "true"


@every_plugin
def test_the_readme_tells_every_command_agent_and_setting(plugin: str) -> None:
    text = (PLUGINS / plugin / "README.md").read_text(encoding="utf-8")
    commands = [*NAMES[plugin]["commands"].split(), "approve", "answer"]
    assert [name for name in commands if f"| `/{plugin}:{name}" not in text] == []
    assert [name for name in NAMES[plugin]["agents"].split() if f"| `{name}` |" not in text] == []
    hints = [str(read(path)[0].get("argument-hint", "")) for path in COMMANDS if path.parts[-3] == plugin]
    assert options_in(" ".join(hints)) - options_in(text) == {"--json"}
    settings = ["enabled"]
    if plugin == "ralph-specum":
        settings += ["default_max_iterations", "auto_commit_spec", "quick_mode_default", "specs_dirs"]
    assert [name for name in settings if f"\n{name}: " not in text] == []
    assert f"claude plugin install {plugin}@ralphloop" in text
    assert len(text.split()) >= 40
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert [link for link in links if not (PLUGINS / plugin / link).exists()] == []


def test_help_shows_the_whole_way_on_one_screen() -> None:
    body = read(PLUGINS / "ralph-specum/commands/help.md")[1]
    screen = re.findall(r"^```\n(.*?)^```$", body, re.S | re.M)[0].splitlines()
    named = {word for row in screen for word in re.findall(r"/ralph-specum:([a-z]+)", row)}
    assert named == {*NAMES["ralph-specum"]["commands"].split(), "approve"} - {"help"}
    assert len(screen) <= 24
    assert max(map(len, screen)) <= 100

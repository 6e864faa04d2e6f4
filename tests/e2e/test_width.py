"""No line of any command is wider than a terminal of 80 columns, however long names, ids and titles are.

In a pipe that holds for what people look at; a sentence and an error stay one line there, for scripts. What
is to be copied is never broken: a command or a path that is too long has a line of its own.
"""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len

from e2e.checking import Asked
from e2e.cli_project import OTHER, SESSION, Project
from ralphloop.cli.main import COMMANDS
from security.life import CLIENT

pytestmark = pytest.mark.slow

COLUMNS = 80
NAME = "a-loop-whose-name-is-just-about-as-long-as-any-name-may-be-x"
SECOND = "another-loop-with-a-name-that-is-as-long-as-the-first-one-is"
THIRD = "a-list-that-nobody-has-begun-yet-and-that-has-a-long-name-xx"
ASKED, FAILING, FINE, OPEN = (
    f"{word}-task-whose-id-is-as-long-as-the-name-of-its-loop-{'x' * 30}"[:60]
    for word in ("asked", "failing", "fine", "open")
)
LONG = "A title that goes on and on, as titles do that somebody wrote in a hurry, and never comes to an end"

CJK = "端末の幅を超えるとても長い題名です" * 4 + " 🚀🎉 " * 12
SAYS = "echo " + "said-without-a-blank-" * 8 + "; echo " + "'words that a check says' " * 6 + "; exit 1"

# Each command as people call it, first those that only look.
WAYS = [
    ["status"],
    ["status", NAME],
    ["status", "--ended"],
    ["watch", NAME, "--plain", "--once"],
    ["plan", "--show", THIRD],
    ["log", NAME],
    ["report", NAME],
    ["evidence", "--loop", NAME],
    ["evidence", FAILING, "--loop", NAME],
    ["limit", NAME],
    ["config"],
    ["doctor", "--no-live"],
    ["record", "list"],
    ["record", "show", "1"],
    ["explain"],
    ["explain", "--record", "1"],
    ["verify", FAILING, "--loop", NAME],
    ["verify", "--all", "--loop", NAME],
    ["specum", "status"],
    ["speckit", "status"],
    ["run", SECOND, "--plain", "--yes"],
    ["watch", SECOND, "--plain"],
    ["report", SECOND],
    ["conformance", "--list", "--only", "none/*"],
    ["conformance", "--only", "none/no-list.toml"],
    ["approve", NAME, "--show"],
    ["approve", THIRD],
    ["start", THIRD, "--session", OTHER],
    ["start", THIRD, "--session", OTHER, "--unapproved"],
    ["answer", ASKED, "The one that we have", "--loop", NAME],
    ["answer", OPEN, "Nobody asked", "--loop", NAME],
    ["ask", OPEN, LONG, "--loop", NAME],
    ["accept", OPEN, "--loop", NAME],
    ["skip", OPEN, "--loop", NAME],
    ["done", FAILING, "--loop", NAME],
    ["done", FINE, "--loop", NAME],
    ["pause", NAME],
    ["resume", NAME],
    ["resume", NAME, "--session", OTHER],
    ["limit", NAME, "--max-cost", "5"],
    ["notify", NAME],
    ["notify", "--test"],
    ["service", "status"],
    ["service", "install"],
    ["install"],
    ["uninstall"],
    ["new", NAME],
    ["new", NAME + "-and-four", "--from", "nowhere.md"],
    ["new", "n" * 60, "--from", "ideas.md"],
    ["plan", "--name", "p" * 60, LONG],
    ["plan", LONG],
    ["specum", "start", LONG],
    ["speckit", "specify", LONG],
    ["record", "off"],
    ["report", NAME, "--output", "nowhere/report.md"],
    ["report", NAME, "--output", "report.md"],
    ["status", "no-" + NAME],
    ["cancel", NAME],
    ["cancel", NAME],
    ["run", NAME, "--plain"],
    ["clean", NAME],
]
# Its output is one line of the client's own screen, which cuts it.
LEFT_OUT = {"statusline"}
ELSEWHERE = {"demo"}  # has a test of its own


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Loops with long names, at work and ended, with everything in their lists that is long, too."""
    found = Project(tmp_path_factory.mktemp("wide"))
    found.program("claude", CLIENT)
    found.write("ideas.md", f"- {LONG}\n- {CJK}\n  - Verify: `{SAYS}`\n")
    for name in (NAME, SECOND, THIRD):
        listed = [
            {"id": ASKED, "description": LONG, "needs_human": LONG},
            {"id": FAILING, "description": CJK, "verify": SAYS, "steps": [LONG, CJK]},
            {"id": FINE, "description": LONG, "verify": "true", "depends_on": [FAILING]},
            {"id": OPEN, "description": LONG},
        ]
        found.write(f".ralph/loops/{name}/feature_list.json", json.dumps({"features": listed}))
    found.run("record", "on")
    found.fine("start", NAME, "--session", SESSION, "--yes", "--max-cost", "5")
    for text in (LONG, CJK, "ALL_TASKS_COMPLETE"):
        found.run("done", FAILING, "--loop", NAME)
        found.stop(last_assistant_message=text)
    for _ in range(6):
        found.run("new", "x" * 60)
        found.run("start", "x" * 60)
        found.run("cancel", "x" * 60)
    return found


def test_no_command_is_left_out() -> None:
    assert {words[0] for words in WAYS} == set(COMMANDS) - LEFT_OUT - ELSEWHERE


def test_no_line_is_wider_than_a_terminal(project: Project) -> None:
    found = [
        (" ".join(words), line)
        for words in WAYS
        for line in on_terminal(project, *words).splitlines()
        if is_too_wide(line)
    ]
    assert found == [], "\n".join(f"$ ralphloop {way}\n{line}" for way, line in found)


def test_nor_is_any_in_a_pipe(project: Project) -> None:
    event = json.dumps({"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(project.root)}).encode()
    found = []
    for words in WAYS:
        said = project.run(*words, stdin=event)
        assert said.out or said.err, words
        found += [(" ".join(words), line) for line in said.out.splitlines() if is_too_wide(line)]
    assert found == [], "\n".join(f"$ ralphloop {way}\n{line}" for way, line in found)


@pytest.mark.parametrize("line", ["x" * 81, "word " * 20, "語" * 41, "a `command` " * 8, "🚀" * 41])
def test_a_line_that_is_too_wide_would_be_found(line: str) -> None:
    assert is_too_wide(line)


def is_too_wide(line: str) -> bool:
    return cell_len(line) > COLUMNS and not is_to_be_copied(line.strip())


def is_to_be_copied(text: str) -> bool:
    """A command, or a path, and nothing else on the line."""
    is_command = re.fullmatch(r"([-·] )?[^\s`]{0,12}(`+)[^`]+\2[^\s`]{0,12}", text) is not None
    return text.startswith("$ ") or is_command or (" " not in text and "/" in text)


def on_terminal(project: Project, *words: str) -> str:
    """What a person sees who calls it in a terminal of 80 columns, and answers every question with no."""
    with Asked(project, *words, env={"TERM": "xterm-256color"}, columns=COLUMNS) as asked:
        asked.type("n\n" if words[0] != "explain" else "\x04")
        _, shown = asked.end()
    assert shown, words
    assert "this is a bug" not in shown, shown
    shown = shown.replace("\r\x1b[K", "\n")  # a row that another one takes the place of
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown)

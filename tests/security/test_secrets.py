"""Secrets of the environment, and texts shaped like one, are in nothing that we write, show or send."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.checking import begin, claim, task
from e2e.cli_project import Project
from e2e.notifying import RECORD, hook, settle, wait_until_told
from hook.lines import text_line, tool_line
from security.hostile import transcript
from security.life import AGENT, CLEAR, SECRETS, live, texts

pytestmark = pytest.mark.slow

SHAPED = "sk-ant-api03-" + "Zx9" * 12


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A life in whose checks the whole environment is printed."""
    project = Project(tmp_path_factory.mktemp("secrets"))
    live(project, SECRETS)
    return project


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A loop whose agent reads a secret aloud: in its last message, its transcript and a question."""
    project = Project(tmp_path_factory.mktemp("spoken"))
    project.program("notify-send", RECORD)
    settle(project, 'notify = ["desktop"]\nnotify_on = ["end", "person"]\n')
    project.fine("record", "on")
    begin(project, task("F1", f"echo {SHAPED[:6]}''{SHAPED[6:]}; exit 1"), task("F2"))
    said = f"The key is {SHAPED} and {SECRETS['DB_PASSWORD']}."
    path = transcript(project, [text_line(said), tool_line("Bash", {"command": f"curl -H {SHAPED}"})])
    claim(project, "F1")
    for _ in range(2):
        hook(project, env=SECRETS, transcript_path=str(path), last_assistant_message=said)
    asked = {**AGENT, **SECRETS}
    assert project.run("ask", "F1", said, env=asked).code == 0
    assert project.run("ask", "F2", said, env=asked).code == 0
    hook(project, env=SECRETS, transcript_path=str(path), last_assistant_message=said)
    wait_until_told(project)
    return project


def holding(project: Project, *secrets: str) -> list[str]:
    """The files of ours, and what was sent, that have one of them."""
    sent = project.bin / "notify-send.calls"
    found = [*texts(project), (sent, sent.read_text(encoding="utf-8"))]
    return [str(path) for path, text in found if any(secret in text for secret in secrets)]


def test_nothing_that_a_life_leaves_has_a_secret_of_the_environment(lived: Project) -> None:
    held = dict(texts(lived))
    evidence = [text for path, text in held.items() if path.parent.name == "evidence"]
    assert any("SHOP_API_KEY=***" in text for text in evidence), "the check did print it"
    assert holding(lived, CLEAR) == []


def test_nothing_keeps_what_the_agent_read_aloud(spoken: Project) -> None:
    assert holding(spoken, SHAPED, CLEAR) == []


SHOWING = [
    ["status"], ["status", "--json"], ["log"], ["log", "--json"], ["evidence"], ["evidence", "--json"],
    ["report"], ["report", "--format", "html"], ["report", "--format", "json"], ["notify"],
    ["record", "list"], ["record", "show", "1"], ["record", "case", "1"],
]  # fmt: skip


def test_nothing_shows_it(spoken: Project) -> None:
    for words in SHOWING:
        done = spoken.run(*words, env=SECRETS)
        assert done.out, done
        assert SHAPED not in done.out + done.err, words
        assert CLEAR not in done.out + done.err, words


def test_an_answer_reaches_the_agent_whole_and_the_journal_without_secrets(spoken: Project) -> None:
    spoken.fine("answer", "F2", f"Use {SHAPED}.")
    told = {path.name: text for path, text in texts(spoken)}
    assert SHAPED in told["ledger.json"]
    assert "Use ***." in told["journal.jsonl"]
    assert SHAPED not in told["journal.jsonl"] + spoken.fine("log") + spoken.run("report").out


def test_a_bug_report_has_no_environment(tmp_path: Path) -> None:
    project = Project(tmp_path)
    broken = project.write(
        "sitecustomize.py", "import ralphloop.cli.status as s\ns.run = lambda args: 1 / 0\n"
    )
    done = project.run("status", env={**SECRETS, "PYTHONPATH": str(broken.parent)})
    assert done.code == 3
    (report,) = project.home.rglob("reports/*.txt")
    assert "ZeroDivisionError" in report.read_text(encoding="utf-8")
    assert CLEAR not in report.read_text(encoding="utf-8")
    assert report.stat().st_mode & 0o077 == 0

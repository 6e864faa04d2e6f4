"""No command lets a text of a repository, a task, an agent or a check speak to the person's terminal."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from e2e.cli_project import Project
from e2e.notifying import RECORD, settle
from ralphloop.cli.main import COMMANDS
from ralphloop.domain.finding import CRITERIA, WEAK, Finding
from ralphloop.loops import Place, pick
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import ProofRecord, Proven, Tried
from security.hostile import (
    EVIL,
    NAME,
    branch,
    hostile_list,
    hostile_spec,
    hostile_task,
    obeyed,
    transcript,
)
from security.life import AGENT, CLIENT

pytestmark = pytest.mark.slow

SAYS = f"printf %s {shlex.quote(EVIL)}"
OWNER = "o" + EVIL
STOP = {"hook_event_name": "Stop", "session_id": OWNER, "last_assistant_message": EVIL}

# Every command, in the ways that show texts of others. A new one is to be added here: a test compares.
WAYS: dict[str, list[list[str]]] = {
    "plan": [["--show", NAME], ["--show", NAME, "--json"], ["--name", EVIL, EVIL]],
    "new": [[EVIL], ["fresh", "--from", EVIL]],
    "start": [[NAME], [EVIL], ["other" + NAME, "--unapproved"], ["--no-such-" + EVIL]],
    "run": [[NAME], [EVIL]],
    "status": [[], ["--json"], [NAME], [EVIL]],
    "watch": [["--plain", "--once"], ["--once", NAME], [EVIL]],
    "pause": [[EVIL]],
    "resume": [[EVIL], [NAME, "--session", "x" + EVIL]],
    "limit": [[NAME], [NAME, "--json"], [NAME, "--max-iterations", "90"], [EVIL]],
    "cancel": [[EVIL]],
    "clean": [[], ["--all"], ["--all", "--json"], [NAME], [EVIL]],
    "done": [[EVIL], ["F1" + EVIL], ["F1" + EVIL, "--json"]],
    "verify": [[EVIL], ["F1" + EVIL], ["--all"], ["--all", "--json"]],
    "evidence": [[], ["--json"], ["F1" + EVIL], ["0001-F1"], [EVIL]],
    "approve": [["--show"], ["--show", "--json"], [EVIL]],
    "accept": [[EVIL]],
    "ask": [["F2", EVIL], [EVIL, EVIL]],
    "answer": [["F2", EVIL], [EVIL, EVIL]],
    "skip": [[EVIL]],
    "report": [["--format", shape] for shape in ("md", "json", "html")] + [["--output", EVIL], [EVIL]],
    "log": [[], ["--json"], [EVIL]],
    "explain": [[], ["--json"], [EVIL]],
    "config": [[], ["--json"]],
    "notify": [[NAME], ["--test"], [EVIL]],
    "service": [["status"], ["status", "--json"], ["install"], ["install", "--print"], [EVIL]],
    "demo": [["--" + EVIL]],
    "install": [[], ["--json"], ["--scope", EVIL]],
    "uninstall": [[], ["--json"]],
    "doctor": [["--no-live"], ["--no-live", "--json"]],
    "conformance": [["--cases", EVIL], ["--hook", EVIL, "--list", "--only", EVIL]],
    "record": [["on"], ["list"], ["show", "1"], ["case", "1"], ["show", EVIL], ["off"]],
    "statusline": [[]],
    "specum": [["status"], ["status", "--json"], ["switch", EVIL], ["implement"], [EVIL]],
    "speckit": [["status"], ["switch", EVIL], ["implement"], [EVIL]],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A hostile checkout below folders with hostile names, whose loop has seen a refusal, a proof, a question
    and a restored criterion."""
    folder = tmp_path_factory.mktemp("hostile") / EVIL
    folder.mkdir()
    found = Project(folder)
    found.program("notify-send", RECORD)
    found.program("claude", CLIENT)
    settle(found, 'notify = ["desktop"]\n')
    branch(found)
    tasks = [
        hostile_task("F1" + EVIL, f"{SAYS}; test -f made"),
        hostile_task("F2", needs_human=EVIL),
        hostile_task("F3"),
    ]
    path = hostile_list(found, NAME, *tasks)
    hostile_list(found, "other" + NAME, hostile_task("F1", SAYS))
    found.run("record", "on")
    begun = found.run("start", NAME, "--session", OWNER, "--yes")
    assert begun.code == 0, begun
    for made in (False, True):
        path.write_text(path.read_text().replace('"passes": false', '"passes": true', 1))
        if made:
            (found.root / "made").touch()
        found.stop(OWNER, transcript_path=str(transcript(found)), last_assistant_message=EVIL)
    path.write_text(path.read_text().replace('"steps"', f'"verify": {json.dumps(SAYS + ";")}, "steps"', 1))
    found.stop(OWNER, transcript_path=str(transcript(found)), last_assistant_message=EVIL)
    found.run("ask", "F3", EVIL, env={**AGENT, "CLAUDE_CODE_SESSION_ID": OWNER})
    hostile_spec(found)
    return found


@pytest.fixture(scope="module")
def doubted(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A loop that is complete, whose doubts and notes name files of a hostile checkout."""
    found = Project(tmp_path_factory.mktemp("doubted"))
    found.program("notify-send", RECORD)
    settle(found, 'notify = ["desktop"]\n')
    branch(found)
    path = hostile_list(found, NAME, hostile_task("F1" + EVIL))
    assert found.run("start", NAME, "--session", OWNER, "--yes").code == 0
    path.write_text(path.read_text().replace('"passes": false', '"passes": true'))
    found.stop(OWNER)
    loop = pick(Place(str(found.root), found.env()), NAME)
    long = EVIL + "測" * 4096
    findings = [
        Finding(kind, said=f"F1 reads {name}", task="F1" + EVIL, files=(name,))
        for kind in (CRITERIA, WEAK)
        for name in (EVIL, long)
    ]
    proven = Proven("", "0" * 40, EVIL, str(found.root), EVIL)
    record = ProofRecord(tuple(findings), {EVIL: Tried(EVIL)}, {"F1" + EVIL: (EVIL, long)}, proven)
    proof_record.save(loop, record)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["status", NAME],
        ["status", "--json"],
        ["watch", "--plain"],
        ["watch", "--plain", "--once"],
        *(["report", "--format", shape] for shape in ("md", "json", "html")),
        ["report", "--output", "kept"],
        ["log"],
        ["notify", NAME],
        ["run", NAME],
        ["run", NAME, "--json"],
    ],
)
def test_no_doubt_speaks_to_the_terminal(doubted: Project, words: list[str]) -> None:
    done = doubted.run(*words)
    assert done.code == (19 if words[0] in ("report", "run") else 0), done
    assert obeyed(done.out, done.err) == []
    if words[0] == "notify":
        calls = (doubted.bin / "notify-send.calls").read_text().splitlines()
        assert calls
        assert obeyed(*(word for call in calls for word in json.loads(call))) == []
    else:
        assert "doubt" in done.out


def test_every_command_is_looked_at() -> None:
    assert set(COMMANDS) == set(WAYS)


def test_the_texts_are_there_to_be_shown(project: Project) -> None:
    loop = json.loads(project.fine("status", NAME, "--json"))["loops"][0]
    assert loop["name"] == NAME
    assert [task["state"] for task in loop["tasks"]] == ["proven", "asked", "asked"]
    assert len(json.loads(project.fine("evidence", "--json"))["evidence"]) >= 2


def test_nothing_that_a_terminal_obeys_is_printed(project: Project) -> None:
    event = json.dumps({**STOP, "cwd": str(project.root)}).encode()
    said = {}
    for command, words in ((command, words) for command, ways in WAYS.items() for words in ways):
        done = project.run(command, *words, stdin=event)
        assert done.code != 3, (command, words, done)
        assert done.out or done.err or command == "statusline", (command, words)
        said[" ".join([command, *words])] = obeyed(done.out, done.err)
    assert len(said) > 2 * len(WAYS)
    assert {way: signs for way, signs in said.items() if signs} == {}


@pytest.mark.parametrize("words", [["--typed", EVIL], [EVIL], ["--" + EVIL], ["supervise", EVIL]])
def test_nor_for_what_is_no_command(project: Project, words: list[str]) -> None:
    done = project.run(*words)
    assert obeyed(done.out, done.err) == []


@pytest.mark.parametrize("text", ["[x\x1b]52;c;aGk=\x07]", '"\x1b[2J" = 1', 'notify = ["\\u001b[2J\\u202e"]'])
def test_nor_for_settings_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    project = Project(tmp_path)
    project.write(".ralph/config.toml", text)
    done = project.run("config")
    assert done.code == 1
    assert obeyed(done.out, done.err) == []


def test_the_hook_says_nothing_of_the_kind_to_the_client(project: Project) -> None:
    """What the client shows to the person, and what the model reads."""
    said = project.stop(OWNER, last_assistant_message=EVIL)
    assert said is not None
    shown = said.get("systemMessage", "") + said.get("reason", "").replace("\t", "")
    assert "F" in shown
    assert obeyed(shown) == []

"""A message goes to the address that the person configured, and nobody else names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cli_project import Project
from e2e.notifying import hook, journal, settle, wait_until_told
from unit.notify.server import HookServer

TOKEN = "tk_of_the_person_1234567890"
MINE = 'notify = ["webhook"]\nwebhook_url = "%s/topic-nobody-knows?key=k1"\nwebhook_token = "%s"\n'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def ended(project: Project) -> None:
    """A loop that has nothing left to do."""
    folder = project.begin(tasks=1)
    path = folder / "feature_list.json"
    path.write_text(path.read_text().replace('"passes": false', '"passes": true'))
    hook(project)
    wait_until_told(project)


@pytest.mark.parametrize(
    "lines",
    [
        ['webhook_url = "%s/theirs"'],
        ['webhook_url = "%s/theirs"', 'notify = ["webhook"]'],
        ['notify = ["webhook"]'],
        ['webhook_token = "theirs"'],
        ['webhook_format = "slack"'],
    ],
)
def test_a_repository_sends_nothing_anywhere(project: Project, lines: list[str]) -> None:
    with HookServer() as theirs, HookServer() as mine:
        settle(project, MINE % (mine.url, TOKEN))
        folder = project.begin(tasks=1)
        text = "\n".join(lines)
        project.write(".ralph/config.toml", text % theirs.url if "%s" in text else text)
        refused = project.run("notify", "--test")
        assert refused.code == 1
        assert "project" in refused.err
        path = folder / "feature_list.json"
        path.write_text(path.read_text().replace('"passes": false', '"passes": true'))
        hook(project)
        wait_until_told(project)
        assert (theirs.got, mine.got) == ([], [])
    assert [entry["ok"] for entry in journal(project)] == [False]


def test_a_redirect_takes_message_and_token_nowhere(project: Project) -> None:
    with HookServer() as theirs, HookServer(307, location=theirs.url + "/stolen") as mine:
        settle(project, MINE % (mine.url, TOKEN))
        ended(project)
        assert theirs.got == []
        (got,) = mine.got
    assert got.headers["Authorization"] == f"Bearer {TOKEN}"
    (entry,) = journal(project)
    assert not entry["ok"]


def test_address_and_token_are_shown_and_kept_nowhere(project: Project) -> None:
    """Whoever knows the whole address can send to it, or read what is sent."""
    with HookServer() as mine:
        settle(project, MINE % (mine.url, TOKEN))
        ended(project)
        assert mine.got
    ways = (["config"], ["config", "--json"], ["log"], ["report"], ["report", "--format", "html"], ["notify"])
    told = [project.run(*words) for words in ways]
    told += [project.run("doctor", "--no-live"), project.run("notify", "--test")]
    for done in told:
        assert TOKEN not in done.out + done.err
        assert "topic-nobody-knows" not in done.out + done.err
        assert "k1" not in done.out + done.err
    kept = [
        path for top in (project.root, project.home / ".local") for path in top.rglob("*") if path.is_file()
    ]
    assert [path for path in kept if TOKEN.encode() in path.read_bytes()] == []
    assert [path for path in kept if b"topic-nobody-knows" in path.read_bytes()] == []


def test_a_name_and_a_password_in_the_address_are_refused_and_not_repeated(project: Project) -> None:
    settle(project, 'notify = ["webhook"]\nwebhook_url = "https://me:hunter22@example.invalid/x"\n')
    for words in (["config"], ["notify", "--test"], ["doctor", "--no-live"]):
        done = project.run(*words)
        assert done.code == 1
        assert "hunter22" not in done.out + done.err

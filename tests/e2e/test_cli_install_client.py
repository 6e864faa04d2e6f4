"""What `install` registers, in the real client: the hook fires, the rules let claims through, and after
`uninstall` neither does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.cli_project import PACKAGE
from e2e.client import ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, feature_turns, features
from ralphloop.engine import claude_past
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, text

pytestmark = pytest.mark.client

TOOLS = os.pathsep.join(["/usr/bin", "/bin"])  # no `ralphloop` among them


@dataclass(frozen=True)
class Copy:
    """The package in another folder, which the person runs, and the client beside it."""

    home: ClientHome
    root: Path
    package: Path

    def ralphloop(self, *words: str) -> str:
        env = {"HOME": str(self.home.path), "PATH": TOOLS}
        done = subprocess.run(
            [sys.executable, str(self.package), *words],
            cwd=self.root, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def transcript(self, session: str) -> bytes:
        (file,) = (self.home.path / ".claude/projects").glob(f"*/{session}.jsonl")
        return file.read_bytes()


@pytest.fixture(params=["copy", "with a space", 'it\'s (a) "copy"'])
def copy(
    request: pytest.FixtureRequest, client_home: ClientHome, project: ProjectFactory, tmp_path: Path
) -> Copy:
    package = tmp_path.resolve() / request.param / "ralphloop"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    return Copy(client_home, project(features(2)), package)


def test_the_hook_fires_after_install_and_not_after_uninstall(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    outside = Outside(client_home, project(features(2)))
    settings = outside.root / ".claude/settings.local.json"
    session = str(uuid.uuid4())
    outside.ralphloop("install", "--scope", "local")
    outside.ralphloop("start", "demo", "--session", session)
    with ModelServer(feature_turns(1, 2)) as server:
        run = run_print(client_home, outside.root, "begin", server, session_id=session)
    assert run.result["is_error"] is False
    assert server.main_requests[2].mentions("go on with task F2")
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "complete")
    assert outside.errors() == ""

    outside.ralphloop("uninstall", "--scope", "local")
    assert not settings.exists()
    listed = outside.root / ".ralph/loops/demo/feature_list.json"
    listed.write_text(features(2)[".ralph/loops/demo/feature_list.json"], encoding="utf-8")
    second = str(uuid.uuid4())
    outside.ralphloop("start", "demo", "--session", second)
    with ModelServer([text("I stop here.")]) as server:
        run_print(client_home, outside.root, "begin", server, session_id=second)
    assert len(server.main_requests) == 1


def obedient(request: ModelRequest) -> Reply:
    """Does what a continuation names, to the letter: claims F1, asks about F2, and stops otherwise."""
    said = "\n".join(request.new_texts)
    before = "claim it: `" if "go on with task F1" in said else "goes through `"
    _, found, rest = said.partition(before)
    return bash(rest.partition("`")[0]) if found else text("That is all.")


def test_the_rules_let_claims_and_questions_through_however_the_path_is_spelt(copy: Copy) -> None:
    """In the mode of a print run that nobody watches, with nothing else allowed."""
    session = str(uuid.uuid4())
    copy.ralphloop("install")
    copy.ralphloop("start", "demo", "--session", session)
    with ModelServer(obedient) as server:
        run_print(
            copy.home, copy.root, "begin", server,
            session_id=session, permission_mode="default", env={"PATH": TOOLS},
        )  # fmt: skip
    assert claude_past.denials(copy.transcript(session), "") == []
    assert claude_past.worked(copy.transcript(session), "") == {"Bash"}
    loop = Outside(copy.home, copy.root).loop
    assert (loop["outcome"], loop["detail"]) == ("needs_input", "F2")

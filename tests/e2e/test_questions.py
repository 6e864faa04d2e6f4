"""What the page of questions says of a loop under way: edits by the person, and the shell of a check."""

from __future__ import annotations

import json

import pytest

from e2e.client import ClientHome
from e2e.conftest import ProjectFactory
from e2e.looping import bash
from e2e.running import LOOP, list_of, running, task_in
from ralphloop.lab.model_server import ModelRequest
from ralphloop.lab.reply import Reply, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

EDIT = "Speak plainly, from now on."
CHECKS = ("bash -c '[[ $MARK == mine ]]'", 'test "$MARK" = mine && test "$0" = sh')


def test_an_edit_of_the_prompt_counts_from_the_next_session_on_and_one_of_the_list_does_not(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    root = project(list_of({"verify": CHECKS[0]}, {"verify": CHECKS[1]}))
    prompt, listed = root / LOOP / "RALPH_PROMPT.md", root / LOOP / "feature_list.json"
    told: dict[str, list[bool]] = {}

    def answer(request: ModelRequest) -> Reply:
        """The person edits both files while the first session is at work."""
        task = task_in(request)
        told.setdefault(task, []).append(EDIT in json.dumps(request.body["messages"]))
        if len(told[task]) > 1:
            return text(f"{task} is done.")
        if task == "F1":
            prompt.write_text(EDIT, encoding="utf-8")
            listed.write_text(listed.read_text(encoding="utf-8").replace("Make file 2", "Make no file"))
        return bash(f"ralphloop done {task}")

    with running(client_home, root, answer, env={"MARK": "mine"}) as stage:
        done = stage.run("--batch", "1")
    assert done.code == 19, (
        done.stdout + done.stderr
    )  # complete; that its checks were green all along is told
    assert told == {"F1": [False, False], "F2": [True, True]}
    assert "Make file 2" in listed.read_text(encoding="utf-8")
    assert ["Make no file" in file.read_text() for file in root.glob(".ralph/run/*/rejected/*")] == [True]

"""One hopeless task in the real client: it is set aside, in a session and under `run`; the rest goes on."""

from __future__ import annotations

import pytest

from e2e.client import ClientHome
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash
from e2e.proving import Bench, checked, claim, feature
from e2e.running import list_of, running, task_in
from e2e.test_run_bad_clients import put_in_place_of_the_client
from ralphloop.lab.model_server import ModelRequest
from ralphloop.lab.reply import Reply, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

SAME = "It is finished, and everything is in place."
WHY = "set aside: F2 (task F2 was tried 5 times)"


def answers(request: ModelRequest) -> Reply:
    """Makes each file but the second, which it claims for ever in the same words."""
    if any(isinstance(part, dict) and part.get("type") == "tool_result" for part in _last(request)):
        return text(SAME)
    task = task_in(request)
    work = f"date >> tried-{task}\n" if task == "F2" else f"touch made-{task[1:]}\n"
    return bash(work + claim(task))


def _last(request: ModelRequest) -> list[object]:
    content = request.body["messages"][-1]["content"]
    return content if isinstance(content, list) else []


def test_in_a_session_the_others_are_proven_and_the_end_names_it(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    bench = Bench(Outside(client_home, project(checked(feature(1), feature(2), feature(3)))))
    script = []
    for number in (1, 2, 2, 2, 2, 2, 3):
        work = f"date >> tried-{number}\n" if number == 2 else f"touch made-{number}\n"
        script += [bash(work + claim(f"F{number}")), text(SAME)]
    played = bench.play(script)
    assert played.ending == ("ended", "failed")
    assert played.outside.loop["detail"] == WHY
    states = {name: known["state"] for name, known in bench.ledger().items()}
    assert states == {"F1": "proven", "F2": "set_aside", "F3": "proven"}
    assert played.outside.loop["attempts"] == {"F2": 5}
    assert played.told("Task F2 is set aside: task F2 was tried 5 times.")[12]
    assert any(f"failed: {WHY}" in str(event) for event in played.run.events)
    assert len(played.requests) == 14


def test_one_run_proves_the_others_and_ends_failed(client_home: ClientHome, project: ProjectFactory) -> None:
    root = project(checked(feature(1), feature(2), feature(3)))
    with running(client_home, root, answers) as stage:
        done = stage.run()
    assert done.code == 15, done
    assert stage.ending == ("ended", "failed")
    assert stage.loop["detail"] == WHY
    assert stage.tasks() == {"F1": "proven", "F2": "set_aside", "F3": "proven"}
    assert [entry["task"] for entry in stage.events("set_aside")] == ["F2"]
    assert stage.processes() == {}


def test_one_run_goes_on_until_the_lists_own_check_is_green(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    def answer(request: ModelRequest) -> Reply:
        if any("The list's own check is red" in said for said in request.new_texts):
            return bash("touch all.txt")
        return answers(request)

    root = project(checked(feature(1), feature(3), verify="test -f all.txt"))
    with running(client_home, root, answer) as stage:
        done = stage.run("--batch", "1")
    assert done.code == 0, done
    assert stage.ending == ("ended", "complete")
    assert stage.tasks() == {"F1": "proven", "F3": "proven"}
    assert [entry["command"] for entry in stage.events("refused")] == ["test -f all.txt"]


CRASHES_AT_F2 = """
said=$(cat)
case "$said" in *"go on with task F2 "*) exit 3;; esac
printf '%s' "$said" | "$REAL" "$@"
"""


def test_a_task_at_which_every_session_crashes_does_not_end_the_run(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    put_in_place_of_the_client(client_home, CRASHES_AT_F2)
    root = project(checked(feature(1), feature(2), feature(3)))
    client_home.trust(root)
    with running(client_home, root, answers) as stage:
        done = stage.run("--batch", "1")
    assert done.code == 15, done
    assert stage.tasks() == {"F1": "proven", "F2": "set_aside", "F3": "proven"}
    assert stage.loop["detail"] == "set aside: F2 (the client exited with 3 (5 times in a row))"
    assert [entry["task"] for entry in stage.events("session")] == ["F1", *["F2"] * 5, "F3"]
    assert stage.loop["attempts"] == {"F2": 5}


def test_a_client_that_crashes_at_every_task_ends_the_run_at_the_second(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    put_in_place_of_the_client(client_home, "cat >/dev/null; exit 3")
    with running(client_home, project(list_of({}, {}, {})), []) as stage:
        done = stage.run()
    assert done.code == 15, done
    assert [entry["task"] for entry in stage.events("session")] == [*["F1"] * 5, *["F2"] * 5]
    assert "the client exited with 3 (5 times in a row)" in stage.loop["detail"]

"""Notices from the real client: a slow receiver neither costs the loop an answer nor holds the client."""

from __future__ import annotations

import uuid

import pytest

from e2e.client import ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, feature_turns, features, plugin
from fakes.patience import eventually
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import text
from unit.notify.server import HookServer

pytestmark = pytest.mark.client


def test_a_question_and_an_end_are_told_while_the_receiver_is_slow(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    outside, session = Outside(client_home, project(features(3))), str(uuid.uuid4())
    outside.ralphloop("start", "demo", "--session", session)
    asks = [bash("ralphloop ask F1 'Which service?'"), text("I asked about the first one.")]
    with HookServer(holds=True) as receiver, ModelServer([*asks, *feature_turns(2, 3)]) as server:
        env = {"RALPHLOOP_NOTIFY": "webhook", "RALPHLOOP_WEBHOOK_URL": receiver.url + "/x"}
        run = run_print(
            client_home, outside.root, "begin", server, session_id=session, env=env,
            plugin_dirs=[plugin("ralphloop")],
        )  # fmt: skip
        eventually(lambda: len(receiver.got) >= 2, what=lambda: receiver.got)
    assert (run.exit_code, run.result["is_error"]) == (0, False)
    assert [got.data["about"] for got in receiver.got] == ["asked", "needs_input"]
    assert [row["text"] for row in receiver.got[1].data["questions"]] == ["Which service?"]
    assert outside.loop["outcome"] == "needs_input"
    # every answer of the hook was honoured: a child with its output open would have cost one
    assert [entry["decision"] for entry in outside.journal() if entry["event"] == "stop"] == [
        "continue", "continue", "allow",
    ]  # fmt: skip
    assert not any("stdio went quiet" in str(event) for event in run.events)
    assert outside.errors() == ""

"""Stops of the real client are recorded, decided again, and become cases."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from e2e.client import ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, feature_turns, features, plugin
from ralphloop.lab.model_server import ModelServer


@pytest.mark.client
def test_every_stop_of_the_real_client_can_be_replayed(
    client_home: ClientHome, project: ProjectFactory, tmp_path: Path
) -> None:
    outside = Outside(client_home, project(features(2)))
    session = str(uuid.uuid4())
    outside.ralphloop("start", "demo", "--session", session)
    outside.ralphloop("record", "on")
    with ModelServer(feature_turns(1, 2)) as server:
        run_print(
            client_home, outside.root, "begin", server, session_id=session, plugin_dirs=[plugin("ralphloop")]
        )
    rows = json.loads(outside.ralphloop("record", "list", "--json"))["records"]
    assert [row["answer"] for row in rows] == ["continue", "allow"]
    assert rows[-1]["outcome"] == "complete"
    for row in rows:
        told = json.loads(outside.ralphloop("explain", "--record", str(row["number"]), "--json"))
        assert told["record"]["same"] is True
        out = tmp_path / "suite" / "cases" / "recorded" / f"{row['number']}.toml"
        outside.ralphloop("record", "case", str(row["number"]), "--out", str(out))
    played = json.loads(outside.ralphloop("conformance", "--cases", str(tmp_path / "suite"), "--json"))
    assert (played["passed"], played["total"]) == (2, 2)
    assert outside.errors() == ""

"""`watch` beside the real client: it finds the session of a loop by itself, shows what it does, and ends."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from e2e.client import ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, features, plugin
from e2e.screen import CommandScreen
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import call, text

pytestmark = pytest.mark.client


def test_a_session_in_the_client_is_watched_to_its_end(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    outside = Outside(client_home, project(features(2)))
    outside.ralphloop("start", "demo")
    go_on = threading.Event()
    turns = [
        call("Write", file_path=str(outside.root / "made-1"), content="one\ntwo\n"),
        bash("ralphloop done F1"),
        text("Feature 1 is made."),
        bash("exit 3"),
        text("Not yet.").held(go_on),
        bash("ralphloop done F2"),
        text("Feature 2 is made."),
    ]
    env = {"HOME": str(client_home.path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    argv = [sys.executable, "-m", "ralphloop", "watch"]
    with ModelServer(turns) as server, CommandScreen(argv, cwd=outside.root, env=env, columns=100) as screen:
        screen.wait_for("no session yet")
        options = {"plugin_dirs": [plugin("ralphloop")], "permission_mode": "acceptEdits"}
        client = threading.Thread(
            target=run_print, args=(client_home, outside.root, "begin", server), kwargs=options
        )
        client.start()
        try:
            screen.wait_for("✗ This command requires approval", 60)
            shown = screen.wait_for("context ", 60)
        finally:
            go_on.set()
            client.join()
        assert screen.exit_code() == 0
        end = screen.text()
    assert "demo · running · iteration 2/15 · 1/2 done" in shown
    assert "± Write made-1" in shown
    assert "  + one" in shown
    assert "● Feature 1 is made." in shown
    assert "↻ Loop demo, iteration 2 of 15: go on with task F2 (2/2)." in shown
    assert "▸ ☐ F2  open" in shown
    assert end.startswith("demo · complete · iteration ")
    assert outside.errors() == ""

"""`start --launch` with the real client: from a shell prompt to a completed loop, nothing registered."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.client import ClientHome
from e2e.looping import Outside, feature_turns, features
from e2e.terminal import Terminal
from ralphloop.lab.model_server import ModelServer

pytestmark = pytest.mark.client

PROMPTS = {
    "as it is": "Work through the feature list.\n",
    "begins with a dash": "- one: do $(it) with 'care'\n- two\n",
    "begins with two dashes": "--help is not what this says\n",
}


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_launch_runs_the_loop_to_completion_with_hooks_of_its_own(
    client_home: ClientHome, project: Callable[..., Path], tmp_path: Path, prompt: str
) -> None:
    files = features(2)
    files[".ralph/loops/demo/RALPH_PROMPT.md"] = prompt
    root = project(files)
    bins = tmp_path / "bin"
    script(bins / "claude", f'exec {client_home.binary} --permission-mode bypassPermissions "$@"')
    start = script(bins / "start", f"exec {sys.executable} -m ralphloop start demo --launch")
    path = f"{bins}:{Path(sys.executable).parent}:/usr/bin:/bin"
    home = replace(client_home, binary=start, extra_env={"PATH": path})
    with (
        ModelServer(feature_turns(1, 2)) as server,
        Terminal(home, root, server, permission_mode=None) as terminal,
    ):
        terminal.wait_for("ralphloop demo: complete: 2/2 done")
    outside = Outside(home, root)
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "complete")
    assert server.main_requests[0].mentions(prompt.strip().splitlines()[0])
    assert outside.errors() == ""

"""The status line under the input box of the real client: it follows the loop of its session."""

from __future__ import annotations

import pytest

from e2e.client import REPOSITORY, ClientHome
from e2e.conftest import ProjectFactory
from e2e.looping import Outside, bash, feature_turns, features, plugin
from e2e.terminal import COLUMNS, Terminal
from ralphloop.agents.claude.program import statusline_command
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import text

pytestmark = pytest.mark.client

COMMAND = statusline_command(str(REPOSITORY / "src" / "ralphloop"))
# On a loaded machine the client may give up on its first run, and an idle session has no event for another.
SETTINGS = {"statusLine": {"type": "command", "command": COMMAND, "refreshInterval": 2}}


def line_of(screen: str) -> str:
    """What stands under the input box about a loop."""
    return next((row.strip() for row in screen.splitlines() if row.strip().startswith("ralphloop demo")), "")


def test_the_line_follows_the_loop_of_the_session(client_home: ClientHome, project: ProjectFactory) -> None:
    outside = Outside(client_home, project(features(2)))
    outside.ralphloop("start", "demo")
    turns = [*feature_turns(1, 1), bash("ralphloop ask F2 'Which colour?'"), text("I asked.")]
    options = {"plugin_dirs": [plugin("ralphloop")], "settings": SETTINGS}
    with (
        ModelServer(turns) as server,
        Terminal(outside.home, outside.root, server, **options) as terminal,
    ):
        terminal.wait_for(lambda screen: "· 0/2 done · iteration 1/15 · next F1 · $0.00" in line_of(screen))
        terminal.submit("begin")
        hint = (
            "ralphloop demo · paused (needs_input): ralphloop answer F2 TEXT · 1/2 done · iteration 2/15 · "
        )
        screen = terminal.wait_for(lambda screen: line_of(screen).startswith(hint))
    assert len(line_of(screen)) <= COLUMNS
    assert " · context " in line_of(screen)
    assert [entry["event"] for entry in outside.journal()].count("stop") == 2
    assert outside.errors() == ""


def test_the_line_alone_binds_no_loop(client_home: ClientHome, project: ProjectFactory) -> None:
    """Without the hooks, the status line tells of a loop that waits, and leaves it waiting."""
    outside = Outside(client_home, project(features(2)))
    outside.ralphloop("start", "demo")
    before = outside.loop
    with (
        ModelServer([text("Nothing to do.")]) as server,
        Terminal(outside.home, outside.root, server, settings=SETTINGS) as terminal,
    ):
        terminal.submit("hello")
        terminal.wait_for("Nothing to do.")
        terminal.wait_for(lambda screen: line_of(screen) == "ralphloop demo waits for a session")
    assert outside.loop == before
    assert [entry["event"] for entry in outside.journal()] == ["arm"]
    assert outside.errors() == ""

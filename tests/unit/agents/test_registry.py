"""The table of clients: each name leads to a module that can start sessions and read what they report."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ralphloop import config
from ralphloop.agents import registry
from ralphloop.agents.event import Limit


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_client_builds_its_command_line_and_reads_its_output(name: str) -> None:
    client = registry.client(name).program
    command = client.hook_command("/package", registration="run")
    settings = json.dumps(client.run_settings(command))
    words = client.print_argv(session="S", settings=settings, model="m")
    assert words[0] == client.PROGRAM
    assert {"S", settings, "m"} <= set(words)
    assert client.parse(b"no event") is None


def test_claude_reports_its_limits() -> None:
    line = b'{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"}}'
    assert registry.client("claude").program.parse(line) == Limit("rejected", None)


def test_the_setting_takes_every_name_of_the_table_and_no_other() -> None:
    read = config.KEYS["agent"].read
    assert [read(name) for name in registry.NAMES] == list(registry.NAMES)
    with pytest.raises(ValueError, match="is none of"):
        read("ralphloop.agents.limit")


def test_a_part_of_a_client_is_imported_only_when_it_is_wanted() -> None:
    code = (
        "import sys; from ralphloop.agents import registry; client = registry.client('claude'); "
        "loaded = lambda: [name for name in sys.modules if name.startswith('ralphloop.agents.claude')]; "
        "assert not loaded(); client.variables; "
        "assert loaded() == ['ralphloop.agents.claude', 'ralphloop.agents.claude.variables'], loaded()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

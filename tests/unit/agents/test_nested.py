"""A client that we start does not take itself for another client's child, and keeps what the person set."""

from __future__ import annotations

from ralphloop.agents.presence import scrubbed
from ralphloop.agents.registry import agent_in, agent_tools
from unit.domain.cases import each

# What Claude Code 2.1.325 adds for its agent's commands, its hooks, and those of plugins.
OF_THE_CLIENT = {
    "AI_AGENT": "claude-code_2-1-325_agent",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_CHILD_SESSION": "1",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
    "CLAUDE_CODE_EXECPATH": "/opt/claude",
    "CLAUDE_CODE_MESSAGING_SOCKET": "/tmp/1.sock",
    "CLAUDE_CODE_MESSAGING_TOKEN": "0",
    "CLAUDE_CODE_SESSION_ATTENDED": "0",
    "CLAUDE_CODE_SESSION_ID": "0",
    "CLAUDE_CODE_SSE_PORT": "1234",
    "CLAUDE_EFFORT": "medium",
    "CLAUDE_ENV_FILE": "/tmp/env",
    "CLAUDE_PID": "1",
    "CLAUDE_PLUGIN_DATA": "/data",
    "CLAUDE_PLUGIN_ROOT": "/root",
    "CLAUDE_PROJECT_DIR": "/project",
    "RALPHLOOP_CHECK": "1",
}
OF_THE_PERSON = {
    "ANTHROPIC_API_KEY": "key",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_MODEL": "opus",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "CLAUDE_CODE_OAUTH_TOKEN": "token",
    "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "CLAUDE_CONFIG_DIR": "/config",
    "DISABLE_TELEMETRY": "1",
    "EMPTY": "",
    "HOME": "/home/me",
    "HTTPS_PROXY": "http://proxy",
    "PATH": "/bin",
}


def test_marks_of_a_client_go_and_what_the_person_set_stays() -> None:
    assert scrubbed({**OF_THE_CLIENT, **OF_THE_PERSON}) == {**OF_THE_PERSON, "RALPHLOOP_RUN": "1"}


@each("name", sorted(agent_tools()))
def test_no_agent_is_seen_in_what_is_left(name: str) -> None:
    assert agent_in({name: "1"})
    assert agent_in(scrubbed({name: "1"})) == ""


def test_the_environment_that_is_given_stays_as_it_is() -> None:
    env = {"CLAUDECODE": "1", "RALPHLOOP_RUN": "other"}
    assert scrubbed(env) == {"RALPHLOOP_RUN": "1"}
    assert env == {"CLAUDECODE": "1", "RALPHLOOP_RUN": "other"}

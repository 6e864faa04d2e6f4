"""The variables that Claude Code sets for its hooks and its agent's commands (2.1.325), or is told by."""

from __future__ import annotations

from ralphloop.domain import model

TITLE = "Claude Code"
TOOLS = {"CLAUDECODE": TITLE}  # set for the commands that its agent runs
# What it sets for its hooks and those commands, not what a person sets for it.
MARKS = frozenset({
    model.ATTENDED_VARIABLE, model.PID_VARIABLE, model.PLUGIN_VARIABLE, model.PROJECT_VARIABLE,
    model.SESSION_VARIABLE,
    "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_DATA",
})  # fmt: skip
MARK_FAMILIES: tuple[str, ...] = ("CLAUDE_CODE_MESSAGING_",)
OWN: tuple[str, ...] = ("CLAUDE", "ANTHROPIC")  # how all names begin that it sets or reads
PLACES: tuple[str, ...] = ("CLAUDE_CONFIG_DIR",)  # where its files are
# those by which it gets at a model: a person's, and in no file of ours
LOGINS: tuple[str, ...] = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
)  # fmt: skip

"""The variables that Claude Code sets for its hooks and its agent's commands (2.1.325), or is told by."""

from __future__ import annotations

from ralphloop import system as os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PLACES = ("CLAUDE_CONFIG_DIR",)  # variables that say where its files are
# those by which it gets at a model: a person's, and in no file of ours
LOGINS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
)  # fmt: skip


def config_folder(env: Mapping[str, str]) -> str:
    """Where the person's own settings and plugins are."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".claude")

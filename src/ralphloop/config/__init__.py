"""The settings of ralphloop: what each one is, and where its value comes from."""

from __future__ import annotations

from ralphloop.config.keys import (
    AGENTS,
    BELL,
    CONTINUATIONS,
    DESKTOP,
    END,
    JSON,
    KEYS,
    NTFY,
    PERMISSION_MODES,
    PERSON,
    SLACK,
)
from ralphloop.config.source import (
    PROJECT,
    USER,
    Config,
    load,
    project_file,
    user_file,
    variable,
)

__all__ = [
    "AGENTS", "BELL", "CONTINUATIONS", "DESKTOP", "END", "JSON", "KEYS", "NTFY", "PERMISSION_MODES", "PERSON",
    "PROJECT", "SLACK", "USER", "Config", "load", "project_file", "user_file", "variable",
]  # fmt: skip

"""The settings of ralphloop: what each one is, and where its value comes from."""

from __future__ import annotations

from ralphloop.config.keys import (
    AGENTS,
    CONTINUATIONS,
    JSON,
    KEYS,
    NTFY,
    PERMISSION_MODES,
    PROJECT,
    SLACK,
    TARGETS,
    USER,
    Config,
    load,
    project_file,
    user_file,
    variable,
)

__all__ = [
    "AGENTS", "CONTINUATIONS", "JSON", "KEYS", "NTFY", "PERMISSION_MODES", "PROJECT", "SLACK", "TARGETS",
    "USER", "Config", "load", "project_file", "user_file", "variable",
]  # fmt: skip

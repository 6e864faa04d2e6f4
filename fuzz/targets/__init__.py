"""The targets by name; each module has `run(data)`, which raises where something that must hold does not."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

NAMES = ("stdin", "task_list", "state", "transcript", "settings")


def load(name: str) -> Callable[[bytes], None]:
    found: Callable[[bytes], None] = import_module(f"fuzz.targets.{name}").run
    return found

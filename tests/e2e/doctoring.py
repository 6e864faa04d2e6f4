"""What the tests of `doctor` share: a client that only tells its version, settings, and findings by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from e2e.cli_project import PACKAGE, Project
from ralphloop.agents.claude import program as claude

SETTINGS = ".claude/settings.json"
LOCAL = ".claude/settings.local.json"


def client(project: Project, version: str = "2.1.325") -> None:
    project.program("claude", f"#!/bin/sh\necho '{version} (Claude Code)'\n")


def register(project: Project, path: str = LOCAL, *, package: Path = PACKAGE, **said: Any) -> Path:
    hooks = claude.hook_settings(claude.hook_command(str(package)))
    return project.write(path, json.dumps({**said, **hooks}, indent=2) + "\n")


def enable(project: Project, *names: str, path: str = SETTINGS) -> Path:
    return project.write(path, json.dumps({"enabledPlugins": dict.fromkeys(names, True)}, indent=2) + "\n")


def plugin(project: Project, name: str, *, package: Path | None = PACKAGE, market: str = "ralphloop") -> Path:
    """An installed plugin, as the client's own files tell of it; its hook is ours if it has our package."""
    root = project.folder / "cache" / market / name
    (root / "hooks").mkdir(parents=True)
    if package is not None:
        (root / "lib").symlink_to(package)
        own = PACKAGE.parents[1] / "plugins" / name / "hooks/hooks.json"
        shutil.copy(own, root / "hooks")
    file = project.home / ".claude/plugins/installed_plugins.json"
    known = json.loads(file.read_text()) if file.exists() else {"version": 2, "plugins": {}}
    known["plugins"][f"{name}@{market}"] = [{"scope": "user", "installPath": str(root)}]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known))
    return root


def examine(project: Project, *words: str, **options: Any) -> tuple[int, list[dict[str, str]]]:
    """The exit code and the findings of a run without the live proof, which must leave no trace."""
    before = project.digest()
    done = project.run("doctor", "--no-live", "--json", *words, **options)
    assert done.err == ""
    if "--fix" not in words:
        assert project.digest() == before
    return done.code, done.data


def about(found: list[dict[str, str]], name: str) -> list[tuple[str, str]]:
    """Level and text of each finding of this name."""
    return [(each["level"], f"{each['told']}. {each['fix']}") for each in found if each["name"] == name]


def only(project: Project, name: str, **options: Any) -> tuple[str, str]:
    """The one finding of this name."""
    (found,) = about(examine(project, **options)[1], name)
    return found

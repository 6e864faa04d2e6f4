"""The status line of a scratch project, through the command line that is registered and by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ralphloop
from fakes import warm
from hook.harness import LoopProject
from hook.proven import cli
from ralphloop.agents.claude.program import statusline_command

COMMAND = statusline_command(str(Path(ralphloop.__file__).parent))
DEMO = {"features": "demo", "specum": "demo", "speckit": "001-demo"}
MOST = {"features": 15, "specum": 100, "speckit": 100}


def payload(found: LoopProject, **fields: Any) -> dict[str, Any]:
    """What client 2.1.325 sends; a field given as `...` is left out."""
    said = {
        "session_id": found.session,
        "transcript_path": str(found.transcript),
        "cwd": str(found.root),
        "prompt_id": found.prompt,
        "effort": {"level": "medium"},
        "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
        "workspace": {"current_dir": str(found.root), "project_dir": str(found.root), "added_dirs": []},
        "version": "2.1.325",
        "output_style": {"name": "default"},
        "cost": {"total_cost_usd": 1.2, "total_duration_ms": 1319},
        "context_window": {"context_window_size": 1_000_000, "used_percentage": 41},
        "exceeds_200k_tokens": False,
        **fields,
    }
    return {key: value for key, value in said.items() if value is not ...}


def printed(
    found: LoopProject,
    data: bytes,
    *,
    start_in: Path | None = None,
    command: str = COMMAND,
    real: bool = False,
) -> str:
    """What the registered command prints: one line or nothing, without a word of trouble. Only the `real` one
    goes through a shell and the guard."""
    if real:
        process = found.start(data, argv=["/bin/sh", "-c", command], cwd=start_in)
        said = process.communicate(timeout=60)
        ended = warm.Ended(process.wait(), *said)
    else:
        place = start_in or found.root
        ended = warm.run(words_of(command), env=found.env(), cwd=place, stdin=data, program=warm.HOOK)
    assert (ended.code, ended.stderr) == (0, b"")
    assert not (found.state_home / "errors.log").exists()
    assert ended.stdout.count(b"\n") == bool(ended.stdout)
    return ended.stdout.decode().removesuffix("\n")


def words_of(command: str) -> list[str]:
    """What the guard passes on: who is registered, and the layouts."""
    said = re.search(r"\brl_as=(\S+) rl_layouts='([\w ]+)'", command)
    assert said is not None, command
    return [said[1], *said[2].split()]


def shown(found: LoopProject, *, start_in: Path | None = None, real: bool = False, **fields: Any) -> str:
    return printed(found, json.dumps(payload(found, **fields)).encode(), start_in=start_in, real=real)


def bare(found: LoopProject, **fields: Any) -> list[str]:
    """The parts of the line without the client's own figures."""
    return shown(found, cost=..., context_window=..., **fields).split(" · ")


def by_hand(found: LoopProject, stdin: str, **env: str) -> str:
    done = cli(found, "statusline", stdin=stdin, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout

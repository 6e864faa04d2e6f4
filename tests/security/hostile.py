"""A project in which every text that somebody else wrote tries to speak to the person's terminal."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from e2e.cli_project import Project
from hook.lines import text_line, tool_line

# OSC 52 sets the clipboard, OSC 0 the title, CSI 2J clears the screen; C1 forms of both; marks that turn the
# direction; what takes back or overwrites what stands on the line.
EVIL = (
    "e\x1b]52;c;aGk=\x07\x1b[2J\x1bPq\x1b\\\x9b31m\x9d0;t\x9c\u202er\u2066i\u061c"
    "\r\x08\x7f\x0b\x0c\x85\u2028v"
)
EVIL_REF = "b\u202e\x9b31m\x85"  # git takes no other controls
NAME = "n" + EVIL
FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def obeyed(*texts: bytes | str) -> list[str]:
    """What of these texts a terminal would obey."""
    decoded = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts)
    return sorted({repr(sign) for text in decoded for sign in FORBIDDEN.findall(text)})


def hostile_task(name: str, *verify: str, **fields: Any) -> dict[str, Any]:
    words = {"id": name, "description": "d" + EVIL, "steps": ["s" + EVIL], "notes": EVIL, "category": EVIL}
    return {**words, "passes": False, **({"verify": list(verify)} if verify else {}), **fields}


def hostile_list(project: Project, name: str, *tasks: dict[str, Any]) -> Path:
    folder = f".ralph/loops/{name}"
    project.write(f"{folder}/RALPH_PROMPT.md", f"Work. {EVIL}\n")
    project.write(f"{folder}/progress.txt", f"Status: {EVIL}\nIteration: 1\n{EVIL}\n")
    return project.write(f"{folder}/feature_list.json", json.dumps({"features": tasks, "model": EVIL}))


def hostile_spec(project: Project) -> None:
    boxes = f"- [ ] 1.1 {EVIL}\n  - **Do**: {EVIL}\n- [ ] 1.2 b\n".replace("\r", "").replace("\n\n", "\n")
    project.write(f"specs/{NAME}/tasks.md", boxes)
    project.write("specs/.current-spec", NAME + "\n")
    state = {"phase": "p" + EVIL, "taskIndex": 0, "totalTasks": 2, "name": NAME}
    project.write(f"specs/{NAME}/.ralph-state.json", json.dumps(state))
    project.write(f".specify/specs/001-{NAME}/tasks.md", boxes)
    project.write(".specify/.current-feature", f"001-{NAME}\n")
    project.write(f".specify/specs/001-{NAME}/.speckit-state.json", json.dumps(state))


def transcript(project: Project, lines: Iterable[dict[str, Any]] | None = None) -> Path:
    path = project.home / "session.jsonl"
    said = lines or [text_line(EVIL), tool_line("Bash", {"command": EVIL}), text_line(f"a\n{EVIL}")]
    path.write_text("".join(json.dumps(line) + "\n" for line in said), encoding="utf-8")
    return path


def branch(project: Project) -> None:
    identity = ["-c", "user.name=" + EVIL_REF, "-c", "user.email=a@example.invalid"]
    for words in (["commit", "--quiet", "--allow-empty", "-m", EVIL_REF], ["checkout", "-q", "-b", EVIL_REF]):
        subprocess.run(["git", *identity, *words], cwd=project.root, env=project.env(), check=True)

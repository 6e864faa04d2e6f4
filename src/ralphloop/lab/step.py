"""What a scripted agent can do in a turn: say something, or use a tool for real."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphloop.lab import process

PROMISE = "ALL_TASKS_COMPLETE"


@dataclass(frozen=True)
class Say:
    """A text block; the last one after the last tool call is the turn's final message."""

    text: str


@dataclass(frozen=True)
class Shell:
    """A command for /bin/sh, run in the project with the environment of the agent's tools."""

    command: str
    timeout_s: float = 60.0


@dataclass(frozen=True)
class Write:
    """A whole file; the path counts from the project."""

    path: str
    text: str


@dataclass(frozen=True)
class Edit:
    """One replacement in a file, which must hold `old` exactly once."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Pass:
    """The claim of a task in a feature_list.json: `passes` turns true."""

    path: str
    task: str


Tool = Shell | Write | Edit | Pass
Step = Say | Tool
Turn = Sequence[Step]
# Called with what the agent was told last (the prompt, then each reason) and the number of the turn, from 1.
Script = Sequence[Turn] | Callable[[str, int], Turn]


def claim(task: str, *, command: str = "ralphloop") -> Shell:
    """The claim of a task by the command of the tool."""
    return Shell(f"{command} done {shlex.quote(task)}")


def check_box(path: str, task: str) -> Edit:
    """The claim of a task in a tasks.md: its box turns checked."""
    return Edit(path, f"- [ ] {task}", f"- [x] {task}")


def claim_all(text: str = "Every task is done.") -> Say:
    """The claim that nothing is left to do."""
    return Say(f"{text}\n\n{PROMISE}")


@dataclass(frozen=True)
class ToolResult:
    """One tool call as the transcript has it, and what came back."""

    tool: str
    tool_input: Mapping[str, Any]
    output: str
    failed: bool = False


def use_tool(step: Tool, *, project: Path, env: Mapping[str, str]) -> ToolResult:
    """Do it for real. What goes wrong is the tool's result, as it is for an agent."""
    if isinstance(step, Shell):
        return _run(step, project, env)
    path = project / step.path
    try:
        if isinstance(step, Write):
            return _write(path, step.text)
        if isinstance(step, Pass):
            return _write(path, _with_passed(path.read_text(encoding="utf-8"), step.task))
        return _edit(path, step)
    except (OSError, ValueError) as error:
        tool = "Edit" if isinstance(step, Edit) else "Write"
        return ToolResult(tool, {"file_path": str(path)}, str(error), failed=True)


def _run(step: Shell, project: Path, env: Mapping[str, str]) -> ToolResult:
    ended = process.run(["/bin/sh", "-c", step.command], env, timeout_s=step.timeout_s, cwd=project)
    output = ended.output if ended.code is not None else f"timed out after {step.timeout_s:g} s"
    return ToolResult("Bash", {"command": step.command}, output, failed=ended.code != 0)


def _write(path: Path, text: str) -> ToolResult:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return ToolResult("Write", {"file_path": str(path), "content": text}, f"File written: {path}")


def _edit(path: Path, step: Edit) -> ToolResult:
    text = path.read_text(encoding="utf-8")
    if text.count(step.old) != 1:
        raise ValueError(f"{path} holds the text to replace {text.count(step.old)} times")
    path.write_text(text.replace(step.old, step.new), encoding="utf-8")
    tool_input = {"file_path": str(path), "old_string": step.old, "new_string": step.new}
    return ToolResult("Edit", tool_input, f"File edited: {path}")


def _with_passed(text: str, task: str) -> str:
    document = json.loads(text)
    features = document["features"] if isinstance(document, dict) else document
    chosen = [feature for feature in features if str(feature.get("id")) == task]
    if not chosen:
        raise ValueError(f"no feature has the id {task}")
    chosen[0]["passes"] = True
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

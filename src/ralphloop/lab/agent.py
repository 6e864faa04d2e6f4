"""A scripted agent: plays a session of a coding agent's client, with real tools and the real hook."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphloop.lab.hook_call import CONTINUE, PREVENT, HookAnswer, read_answer, run_hook
from ralphloop.lab.session_log import SessionLog
from ralphloop.lab.step import Say, Script, Tool, ToolResult, Turn, use_tool

# how a prompt's run ended
ALLOWED, PREVENTED, CAPPED, RAN_ON = "allowed", "prevented", "capped", "ran_on"

DEFAULT_CAP = 8
CAP_WARNING = (
    "A hook blocked the turn from ending {count} consecutive times — overriding and ending turn. "
    "For Stop/SubagentStop hooks, check stop_hook_active in the input and return success while it's true. "
    "Set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to raise this limit."
)
NOTHING_LEFT: Turn = (Say("I have nothing more to do."),)


@dataclass(frozen=True)
class ClientSetup:
    """Where the client runs and which hook it has: nothing is inherited from the caller's environment.

    `hook` is the command as registered, a text for /bin/sh. `env` is added to the environment of the hook
    and of the tools, for example CLAUDE_PLUGIN_ROOT. A `block_cap` of 0 means no cap, None the client's own.
    """

    project: Path
    home: Path
    hook: str
    path: str = os.defpath
    env: Mapping[str, str] = field(default_factory=dict)
    block_cap: int | None = None
    hook_timeout_s: float = 60.0
    most_turns: int = 200

    @property
    def cap(self) -> int:
        return DEFAULT_CAP if self.block_cap is None else self.block_cap


@dataclass(frozen=True)
class TurnBegan:
    number: int
    told: str


@dataclass(frozen=True)
class Said:
    text: str


@dataclass(frozen=True)
class ToolUsed:
    step: Tool
    result: ToolResult


@dataclass(frozen=True)
class HookAnswered:
    event_name: str
    answer: HookAnswer


@dataclass(frozen=True)
class RunEnded:
    ending: str
    turns: int


Event = TurnBegan | Said | ToolUsed | HookAnswered | RunEnded


@dataclass(frozen=True)
class Run:
    """One prompt from its first turn to its end."""

    ending: str
    turns: int
    answers: tuple[HookAnswer, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(answer.feedback for answer in self.answers if answer.continues)


class ScriptedAgent:
    """One session. `begin`, then `ask` once or more, then `finish`; or all three with `play`."""

    def __init__(
        self,
        setup: ClientSetup,
        *,
        session_id: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.setup = setup
        self.session_id = session_id or str(uuid.uuid4())
        self.log = SessionLog(setup.home, setup.project, self.session_id)
        self._on_event = on_event or (lambda event: None)
        self._blocks_in_a_row = 0

    def play(self, prompt: str, script: Script) -> Run:
        self.begin()
        run = self.ask(prompt, script)
        self.finish()
        return run

    def begin(self, source: str = "startup") -> HookAnswer:
        return self._call("SessionStart", {"source": source, "model": "scripted"})

    def finish(self, reason: str = "other") -> HookAnswer:
        return self._call("SessionEnd", {"reason": reason})

    def interrupt(self) -> None:
        """What the transcript keeps when the person presses Esc; no hook hears of it."""
        self.log.interrupted()

    def ask(self, prompt: str, script: Script) -> Run:
        """Play the turns of one prompt until a stop is allowed, prevented, or forced by the cap."""
        prompt_id = str(uuid.uuid4())
        self._blocks_in_a_row = 0
        self._call("UserPromptSubmit", {"prompt_id": prompt_id, "prompt": prompt})
        self.log.asked(prompt)
        answers: list[HookAnswer] = []
        told, ending = prompt, ""
        while not ending:
            reply = self._play_turn(_turn(script, told, len(answers) + 1), told, len(answers) + 1)
            answer = self._stop(prompt_id, reply, again=bool(answers))
            answers.append(answer)
            told, ending = answer.feedback, self._ending(answer, len(answers))
        self._on_event(RunEnded(ending, len(answers)))
        return Run(ending, len(answers), tuple(answers))

    def _play_turn(self, turn: Turn, told: str, number: int) -> str:
        self._on_event(TurnBegan(number, told))
        reply = ""
        for step in turn:
            if isinstance(step, Say):
                reply = step.text
                self.log.said(step.text)
                self._on_event(Said(step.text))
                continue
            reply = ""
            # A tool call between two stops opens the cap again.
            self._blocks_in_a_row = 0
            result = use_tool(step, project=self.setup.project, env=self.tool_env())
            self.log.used_tool(result.tool, result.tool_input, result=result.output, failed=result.failed)
            self._on_event(ToolUsed(step, result))
        return reply

    def _stop(self, prompt_id: str, reply: str, *, again: bool) -> HookAnswer:
        return self._call(
            "Stop",
            {
                "prompt_id": prompt_id,
                "permission_mode": "acceptEdits",
                "effort": {"level": "medium"},
                "stop_hook_active": again,
                "last_assistant_message": reply,
                "background_tasks": [],
                "session_crons": [],
            },
        )

    def _ending(self, answer: HookAnswer, turns: int) -> str:
        """How the run ends after this stop, empty if it goes on; the transcript gets what the client adds."""
        if answer.verdict != CONTINUE:
            self._log_stop(answer, heard=False)
            return PREVENTED if answer.verdict == PREVENT else ALLOWED
        self._blocks_in_a_row += 1
        if 0 < self.setup.cap < self._blocks_in_a_row:
            self._log_stop(answer, heard=False)
            self.log.warned(CAP_WARNING.format(count=self._blocks_in_a_row))
            return CAPPED
        self._log_stop(answer, heard=True)
        return "" if turns < self.setup.most_turns else RAN_ON

    def _log_stop(self, answer: HookAnswer, *, heard: bool) -> None:
        reason, context = (answer.reason, answer.context) if heard else ("", "")
        duration_ms = answer.output.duration_ms
        self.log.stopped(self.setup.hook, duration_ms=duration_ms, reason=reason, context=context)

    def _call(self, event_name: str, fields: Mapping[str, Any]) -> HookAnswer:
        setup = self.setup
        payload = {
            "session_id": self.session_id,
            "transcript_path": str(self.log.path),
            "cwd": str(setup.project),
            "hook_event_name": event_name,
            **fields,
        }
        output = run_hook(
            setup.hook, payload, env=self.hook_env(), cwd=setup.project, timeout_s=setup.hook_timeout_s
        )
        answer = read_answer(event_name, setup.hook, output)
        self._on_event(HookAnswered(event_name, answer))
        return answer

    def tool_env(self) -> dict[str, str]:
        """The whole environment of the agent's commands."""
        return {
            "HOME": str(self.setup.home),
            "PATH": self.setup.path,
            "LANG": "C.UTF-8",
            **self.setup.env,
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": self.session_id,
            "CLAUDE_PID": str(os.getpid()),
            "AI_AGENT": "claude-code_2-1-325_agent",
        }

    def hook_env(self) -> dict[str, str]:
        """The whole environment of the hook."""
        cap = self.setup.block_cap
        return {
            **self.tool_env(),
            "AI_AGENT": "claude-code_2-1-325_harness",
            "CLAUDE_PROJECT_DIR": str(self.setup.project),
            "CLAUDE_EFFORT": "medium",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_CODE_SESSION_ATTENDED": "1",
            "CLAUDE_CODE_CHILD_SESSION": "1",
            **({} if cap is None else {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": str(cap)}),
        }


def _turn(script: Script, told: str, number: int) -> Turn:
    if callable(script):
        return script(told, number)
    return script[number - 1] if number <= len(script) else NOTHING_LEFT

"""Plays a case: lays its files, goes through its steps with the hook under test, and judges each."""

from __future__ import annotations

import dataclasses
import json
import os
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphloop.errors import SceneError
from ralphloop.lab.conformance.case import Case, Expect, Step
from ralphloop.lab.conformance.hook import Hook
from ralphloop.lab.conformance.processes import Answer, Processes
from ralphloop.lab.conformance.scene import Scene, Session, since
from ralphloop.lab.conformance.verdict import Saw, complaints

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
FILES = ("unchanged", "absent", "present", "has", "lacks", "equals", "json")  # keys or lists of paths
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "Stop": {"effort": {"level": "medium"}, "background_tasks": [], "session_crons": []},
    "SubagentStop": {"effort": {"level": "medium"}, "background_tasks": [], "session_crons": []},
    "SessionStart": {"source": "startup", "model": "scripted"},
    "SessionEnd": {"reason": "other"},
}


@dataclass(frozen=True)
class Result:
    """What became of a case; `why` has one line per complaint."""

    case: Case
    result: str
    why: str = ""
    duration_ms: float = 0.0
    folder: Path | None = None


def play(case: Case, hook: Hook, *, folder: Path, processes: Processes | None = None) -> Result:
    """Play it in a folder that is not there yet."""
    why = hook.lacks(case)
    if why:
        return Result(case, SKIPPED, why)
    begun = time.perf_counter()
    try:
        found = _Play(case, hook, folder=folder, processes=processes or Processes()).steps()
    except (SceneError, OSError, ValueError, OverflowError, RecursionError) as error:
        found = [f"the case cannot be set up: {error}"]
    duration_ms = (time.perf_counter() - begun) * 1000
    return Result(case, FAILED if found else PASSED, "\n".join(found), duration_ms, folder)


class _Play:
    def __init__(self, case: Case, hook: Hook, *, folder: Path, processes: Processes) -> None:
        self.case = case
        self.hook = hook
        self.processes = processes
        self.scene = Scene(folder, shift_s=since(case.recorded_at))
        self.prompts: dict[str, str] = {}

    def steps(self) -> list[str]:
        """The complaints of the first step that has any: what comes after it says little."""
        self.scene.lay(self.case)
        for number, step in enumerate(self.case.steps, 1):
            for time_ in range(1, step.times + 1):
                try:
                    found = self._step(step)
                except SceneError as error:
                    found = [f"cannot be played: {error}"]
                if found:
                    again = f" (time {time_} of {step.times})" if step.times > 1 else ""
                    return [f"step {number}{again}: {self.scene.blank(each)}" for each in found]
        return []

    def _step(self, step: Step) -> list[str]:
        for path, text in step.writes.items():
            self.scene.write({path: text})
        for path, (old, new) in step.replaces.items():
            self.scene.replace(path, old, new)
        for path in step.removes:
            self.scene.remove(path)
        session = self.scene.session(step.session)
        data = b"" if step.run else self._turn(step, session)
        before = self.scene.look()
        answers = [self._run(step)] if step.run else self._ask(step, data)
        left = self.processes.end_left(self.scene.folder)
        after = self.scene.look()
        self._heard(step, session, answers)
        expect = self._filled(step.expect)
        saw = Saw(answers, before, after, self._loop(expect), left=left, is_run=bool(step.run))
        return complaints(expect, saw)

    def _filled(self, expect: Expect) -> Expect:
        """The expectation with ids and paths in its texts, and files named as the scene names them."""
        values: dict[str, Any] = {}
        for each in dataclasses.fields(Expect):
            value, names_files = getattr(expect, each.name), each.name in FILES
            if isinstance(value, Mapping):
                name = self.scene.name if names_files else str
                values[each.name] = {name(key): self.scene.fill_all(item) for key, item in value.items()}
            elif names_files:
                values[each.name] = [self.scene.name(glob) for glob in value]
            else:
                values[each.name] = self.scene.fill_all(value)
        return Expect(**values)

    def _turn(self, step: Step, session: Session) -> bytes:
        """Let the transcript grow by this turn; the payload that the hook is then given."""
        self._prompted(step, session)
        says = step.says
        if step.event == "Stop":
            says = f"Step {uuid.uuid4()} is done." if says is None else self.scene.fill(says)
            owned = None if session.begun else self._owned(step)
            if not session.begun and (owned or step.transcript is None):
                self.scene.begin(session, owned)
            session.begun = True
            self._grow(step, session, says)
        elif step.transcript is not None or step.calls or step.says:
            self._grow(step, session, self.scene.fill(says or ""))
        if step.stdin is not None:
            return self.scene.data(step.stdin)
        return json.dumps(self._payload(step, session, says or "")).encode()

    def _prompted(self, step: Step, session: Session) -> None:
        """The person typed something: another prompt id, and no hook is active yet."""
        asked = step.payload.get("prompt") if step.event == "UserPromptSubmit" else None
        if isinstance(asked, str):
            session.asked = self.scene.fill(asked)
        name = step.prompt or session.prompt or "first"
        if name != session.prompt:
            if session.begun:
                session.log.asked(session.asked or f"Go on with {name}.")
            session.prompt, session.active = name, False

    def _owned(self, step: Step) -> Path | None:
        if step.session in self.case.owners:
            return self.scene.path(self.case.owners[step.session])
        if step.session != self.case.owner:
            return None
        lists = self.scene.lists(self.case.layout, self._env(step, {}))
        return lists[0] if lists else None

    def _grow(self, step: Step, session: Session, says: str) -> None:
        if step.transcript is not None:
            for line in step.transcript:
                self.scene.add_line(session, self.scene.fill_all(line))
            return
        calls = step.calls
        for call in ({"name": "Bash", "input": {"command": "true"}},) if calls is None else calls:
            given = self.scene.fill_all(call.get("input", {}))
            failed = bool(call.get("failed"))
            session.log.used_tool(str(call["name"]), given, result=str(call.get("result", "")), failed=failed)
        if says:
            session.log.said(says)

    def _payload(self, step: Step, session: Session, says: str) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "session_id": session.id,
            "transcript_path": str(session.log.path),
            "cwd": str(self.scene.path(step.cwd)),
            "prompt_id": self.prompts.setdefault(session.id + session.prompt, str(uuid.uuid4())),
            "permission_mode": "default",
            "hook_event_name": step.event,
            **FIELDS.get(step.event, {}),
        }
        if step.event in ("Stop", "SubagentStop"):
            payload["stop_hook_active"] = session.active
            payload["last_assistant_message"] = says
        payload.update(self.scene.fill_all(step.payload))
        return {key: value for key, value in payload.items() if key not in step.without}

    def _ask(self, step: Step, data: bytes) -> list[Answer]:
        line = self.hook.command(step.event, self.case.layout, registration=step.registration)
        session = self.scene.session(step.session)
        env = {
            **self._env(step, self._agent_env(session)),
            "AI_AGENT": "claude-code_2-1-325_harness",
            "CLAUDE_PROJECT_DIR": str(self.scene.root),
            **self.hook.variables(self.case.layout),
            **self.scene.fill_all(step.env),
        }
        cwd = self.scene.inside(step.cwd)

        def ask() -> Answer:
            words = ["/bin/sh", "-c", line]
            said = self.processes.run(words, data=data, env=env, cwd=cwd, limit_s=self.hook.limit_s)
            return dataclasses.replace(said, event=step.event)

        with ThreadPoolExecutor(step.at_once) as pool:
            asked = [pool.submit(ask) for _ in range(step.at_once)]
            return [each.result() for each in asked]

    def _heard(self, step: Step, session: Session, answers: list[Answer]) -> None:
        """What the client writes down and remembers of its hook's answer."""
        if step.run or step.event != "Stop" or step.stdin is not None:
            return
        session.active = any(answer.heard.continues for answer in answers)
        if step.transcript is None:
            answer = answers[0]
            reason = answer.text("reason") if answer.blocks else ""
            session.log.stopped("hook", duration_ms=answer.duration_ms, reason=reason, context=answer.context)

    def _run(self, step: Step) -> Answer:
        given = self._agent_env(self.scene.session(step.session)) if step.by == "agent" else {}
        words = [*self.hook.tool, *(self.scene.fill(word) for word in step.run)]
        return self.processes.run(
            words, data=b"", env=self._env(step, given), cwd=self.scene.inside(step.cwd)
        )

    def _agent_env(self, session: Session) -> dict[str, str]:
        return {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": session.id,
            "CLAUDE_PID": str(os.getpid()),
            "AI_AGENT": "claude-code_2-1-325_agent",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }

    def _env(self, step: Step, more: Mapping[str, str]) -> dict[str, str]:
        """The whole environment: nothing of the caller's but where programs are."""
        own = {"HOME": str(self.scene.home), "PATH": self.hook.path, "LANG": "C.UTF-8"}
        return {**own, **more, **self.scene.fill_all(step.env)}

    def _loop(self, expect: Expect) -> dict[str, Any]:
        """The first loop of `status`, which has active ones first, then the newest."""
        if not expect.asks_the_tool:
            return {}
        env = self._env(Step(), {})
        words = [*self.hook.tool, "status", "--json"]
        told = self.processes.run(words, data=b"", env=env, cwd=self.scene.root).said
        loops = told.get("loops")
        first = loops[0] if isinstance(loops, list) and loops else {}
        return first if isinstance(first, dict) else {}

"""Real shapes of what the hook reads: payloads of the client, lines of its transcripts, files of a loop."""

from __future__ import annotations

from typing import Any

from fuzz.ground import OWNER

STAMP = "2030-01-01T00:00:00.000Z"

PAYLOADS: tuple[dict[str, Any], ...] = (
    {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "Turn 1 is over.",
     "background_tasks": [], "session_crons": [], "effort": {"level": "medium"}},
    {"hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "ALL_TASKS_COMPLETE"},
    {"hook_event_name": "Stop", "last_assistant_message": "ok", "background_tasks": [
        {"id": "a", "type": "shell", "status": "running", "description": "a server", "command": "npm start"},
        {"id": "b", "type": "subagent", "status": "running", "description": "looks", "agent_type": "x"}],
     "session_crons": [{"id": "c", "schedule": "37 19 * * *", "recurring": False, "prompt": "WAKE"}]},
    {"hook_event_name": "SubagentStop", "agent_id": "a1", "last_assistant_message": "done"},
    {"hook_event_name": "SessionStart", "source": "compact"},
    {"hook_event_name": "SessionStart", "source": "startup"},
    {"hook_event_name": "SessionStart", "source": "resume"},
    {"hook_event_name": "SessionEnd", "reason": "clear"},
    {"hook_event_name": "UserPromptSubmit", "prompt": "go on"},
    {"hook_event_name": "UserPromptSubmit", "prompt": "/ralphloop:approve 00000000"},
    {"hook_event_name": "UserPromptExpansion", "command_name": "ralphloop:status", "command_args": "a b",
     "prompt": "/ralphloop:status a b"},
    {"hook_event_name": "StopFailure", "error": "rate_limit",
     "error_details": "429 limit resets at 3pm (UTC)"},
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ralphloop done F1"}},
    {"hook_event_name": "PreToolUse", "tool_name": "Skill", "tool_input": {"skill": "ralphloop:status"}},
    {"workspace": {"current_dir": "/", "project_dir": "/"}, "model": {"id": "m"}, "cost": {}},
)  # fmt: skip


def _assistant(*blocks: dict[str, Any], model: str = "claude-opus-5-5", **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 5, "cache_read_input_tokens": 0,
             "cache_creation_input_tokens": 1}  # fmt: skip
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": list(blocks),
               "stop_reason": None, "usage": usage}  # fmt: skip
    return {"type": "assistant", "uuid": "u", "timestamp": STAMP, "isSidechain": False, "message": message,
            "requestId": "req_1", "version": "2.1.325", "cwd": "/p",
            "sessionId": OWNER, **fields}  # fmt: skip


def _user(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "v", "timestamp": STAMP, "isSidechain": False,
            "message": {"role": "user", "content": content}, **fields}  # fmt: skip


def _call(name: str, given: dict[str, Any], ident: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": ident, "name": name, "input": given}


def _result(said: str, *, failed: bool = True) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": "toolu_1", "content": said, "is_error": failed}]


LINES: tuple[dict[str, Any], ...] = (
    _user("Work through the list."),
    _assistant({"type": "text", "text": "I begin."}),
    _assistant(_call("Bash", {"command": "cd a && FOO=1 npm test > out.txt; echo '{}' > .ralph-state.json"})),
    _assistant(_call("Write", {"file_path": "/p/feature_list.json", "content": '{"passes": true}'})),
    _assistant(_call("CronCreate", {"prompt": "/ralphloop:approve 1", "schedule": "* * * * *"})),
    _user(_result("This command requires approval"), toolDenialKind="rule"),
    _user(_result("Permission to use WebFetch has been denied."),
          permissionDecision={"decision": "reject", "reasonCode": "bashMiss:no-rule-match"}),
    _user(_result("fine", failed=False)),
    _user([{"type": "text", "text": "[Request interrupted by user]"}], interruptedMessageId="msg_1"),
    {"type": "system", "subtype": "informational", "level": "warning", "timestamp": STAMP,
     "content": "A hook blocked the turn from ending 9 consecutive times"},
    _assistant({"type": "text", "text": "API Error: 429 limit, resets at Nov 15, 3:30pm (Europe/Berlin)"},
               model="<synthetic>", isApiErrorMessage=True),
    _assistant({"type": "text", "text": "API Error: 400 too long"}, model="<synthetic>"),
    {"type": "queue-operation", "operation": "enqueue", "content": "stop it", "timestamp": STAMP},
    {"type": "queue-operation", "operation": "dequeue", "timestamp": STAMP},
    {"type": "queue-operation", "operation": "remove", "content": "stop it", "timestamp": STAMP},
    {"type": "system", "subtype": "compact_boundary", "timestamp": STAMP,
     "compactMetadata": {"trigger": "auto", "preTokens": 990086, "postTokens": 2626}},
    {"type": "system", "subtype": "scheduled_task_fire", "prompt": "/ralphloop:approve 1"},
    {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["x"]}},
)  # fmt: skip

FEATURES: dict[str, Any] = {
    "verify": "make test", "model": "opus", "protect": ["tests/**"],
    "features": [
        {"id": "F1", "description": "Do F1", "steps": ["one", "two"], "passes": False, "verify": "true"},
        {"id": 2, "title": "Two", "passes": True, "depends_on": ["F1"], "notes": "n", "timeout_s": 5},
        {"description": "no id", "passes": False, "needs_human": "which?", "category": "ui", "priority": 1},
        {"id": "F4", "description": "Do F4", "steps": [], "passes": False, "verify": ["a", "b"],
         "x": {"y": []}},
    ],
}  # fmt: skip

BOXES = """\
# Tasks

## Phase 1: make it work

- [ ] 1.1 [P] First task
  - **Do**: the thing
  - **Files**: a.py
  - **Verify**: `true`
  - _Requirements: FR-1_
- [x] 1.2 [P] Second task
  1. a step
  - [ ] a box within
- [ ] 1.3 [VERIFY] Quality check
  - **Verify**: `npm test`

```
- [ ] 9.9 not a task
```

<!-- - [ ] 9.8 nor this -->
* [ ] T004 [US1] Fourth in src/x.py
- [X] 1.3.1 [FIX 1.3] Mend it
"""

PROGRESS = "# Progress\n\n- **Status:** IN_PROGRESS\nIteration: 3\nMax Iterations: 20\n\nfree text: 5\n"

STATE: dict[str, Any] = {
    "source": "spec", "name": "demo", "basePath": "./specs/demo", "phase": "execution", "taskIndex": 1,
    "totalTasks": 5, "taskIteration": 1, "maxTaskIterations": 5, "globalIteration": 1, "quickMode": False,
    "maxGlobalIterations": 100, "awaitingApproval": False, "epicName": "big",
    "fixTaskMap": {"1.3": {"attempts": 1, "fixTaskIds": ["1.3.1"], "lastError": "x"}},
    "maxFixTasksPerOriginal": 3,
}  # fmt: skip

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"env": {}, "permissions": {"allow": []}, "hooks": {}},
    {"model": "opus", "permissions": {"allow": ["Bash(ls:*)"], "deny": []}, "env": {"A": "1"}},
    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine.sh", "timeout": 5}]}],
               "PreToolUse": [{"matcher": "Bash", "hooks": []}]},
     "statusLine": {"type": "command", "command": "line.sh"}, "enabledPlugins": {"a@b": True}},
    {"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "3"}, "hooks": {"Stop": []}, "permissions": {}},
)  # fmt: skip

CONFIG = """\
max_iterations = 30
max_time = "8h"
max_cost = 5.0
notify = ["desktop"]
batch = 1
webhook_url = "https://example.com/x"
"""

FRONTMATTER = """\
---
enabled: true
specs_dirs: ["./specs", './more # x', a]
default_max_iterations: 30  # a comment
list:
  - one
  - "two"
---
text
"""

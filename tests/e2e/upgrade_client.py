"""In the client's place under a supervisor: plays a session with the hook that it is given, and does each
task that it is sent to. Where the file `hang` in its home names that task, it does nothing more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

GIVEN = "go on with task "
MODEL = "claude-opus-5-5"


def stamp() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


def user_entry(text: str) -> dict[str, Any]:
    """A message as the client writes it into a session's transcript."""
    return {"parentUuid": None, "isSidechain": False, "type": "user", "uuid": str(uuid.uuid4()),
            "timestamp": stamp(), "message": {"role": "user", "content": text}}  # fmt: skip


def agent_entry(block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 900, "output_tokens": 50, "cache_read_input_tokens": 0}
    message = {"id": f"msg_{uuid.uuid4().hex[:12]}", "type": "message", "role": "assistant", "model": MODEL,
               "content": [block], "stop_reason": None, "usage": usage}  # fmt: skip
    return {"parentUuid": None, "isSidechain": False, "type": "assistant", "uuid": str(uuid.uuid4()),
            "timestamp": stamp(), "message": message, "version": "2.1.325"}  # fmt: skip


def turn_entries(said: str) -> list[dict[str, Any]]:
    """A tool call and a word about it; neither names a place, so that their length is the same everywhere."""
    call = {
        "type": "tool_use",
        "id": f"toolu_{uuid.uuid4().hex[:12]}",
        "name": "Bash",
        "input": {"command": "make"},
    }
    return [agent_entry(call), agent_entry({"type": "text", "text": said})]


def append(transcript: Path, *entries: dict[str, Any]) -> None:
    transcript.parent.mkdir(parents=True, exist_ok=True)
    with transcript.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


class Session:
    def __init__(self, words: list[str]) -> None:
        said = {option: words[words.index(option) + 1] for option in ("--session-id", "--settings")}
        self.id = said["--session-id"]
        self.home = Path(os.environ["HOME"])
        self.transcript = self.home / ".claude" / "projects" / "-my-project" / f"{self.id}.jsonl"
        self._hook = json.loads(said["--settings"])["hooks"]["Stop"][0]["hooks"][0]["command"]
        self._prompt = str(uuid.uuid4())
        with (self.home / "calls.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([word for word in words if word != said["--settings"]]) + "\n")

    def play(self, told: str) -> str:
        append(self.transcript, user_entry("begin"))
        stops = 0
        while told:
            task = told.rpartition(GIVEN)[2].partition(" ")[0]
            said = self._work(task) if GIVEN in told else f"Nothing is left to be done ({stops})."
            stops += 1
            told = self._stop(said, active=stops > 1)
        return said

    def _work(self, task: str) -> str:
        append(self.transcript, *turn_entries(f"I begin with {task}."))
        hang = self.home / "hang"
        if hang.exists() and hang.read_text().strip() == task:
            (self.home / "hangs").touch()
            signal.pause()
        own = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.id}
        command = f"mkdir -p made; echo {task} >> made/{task}; ralphloop done {task}"
        subprocess.run(["/bin/sh", "-c", command], env={**os.environ, **own}, check=True, capture_output=True)
        append(self.transcript, *turn_entries(f"{task} is done."))
        return f"{task} is done."

    def _stop(self, said: str, *, active: bool) -> str:
        """What the hook sends on, or nothing."""
        payload = {
            "hook_event_name": "Stop",
            "session_id": self.id,
            "transcript_path": str(self.transcript),
            "cwd": os.getcwd(),
            "prompt_id": self._prompt,
            "permission_mode": "default",
            "stop_hook_active": active,
            "last_assistant_message": said,
        }
        own = {"CLAUDE_PROJECT_DIR": os.getcwd(), "CLAUDE_CODE_SESSION_ID": self.id}
        done = subprocess.run(
            ["/bin/sh", "-c", self._hook], input=json.dumps(payload).encode(), env={**os.environ, **own},
            check=True, capture_output=True,
        )  # fmt: skip
        answer = json.loads(done.stdout) if done.stdout else {}
        return str(answer["reason"]) if answer.get("decision") == "block" else ""


def main(words: list[str]) -> int:
    said = Session(words).play(sys.stdin.read())
    result = {"type": "result", "subtype": "success", "is_error": False, "result": said}
    print(json.dumps({**result, "terminal_reason": "completed", "num_turns": 1}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

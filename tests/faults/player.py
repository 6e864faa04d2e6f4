"""In the client's place under a supervisor: a scripted agent with the real hook and real tools, which does
the task that it was sent to and says so as the client does."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ralphloop.lab.agent import ClientSetup, ScriptedAgent
from ralphloop.lab.step import Say, Shell, Turn

GIVEN = "go on with task "


def work(told: str, number: int) -> Turn:
    """One line in the task's file per time that it was worked on, then the claim."""
    task = told.rpartition(GIVEN)[2].partition(" ")[0]
    if not task:
        return (Say(f"Nothing is left to be done ({number})."),)
    command = f"mkdir -p work; echo done >> work/{task}; ralphloop done {task}"
    return (Shell(command), Say(f"{task} is done, in turn {number}."))


def main(words: list[str]) -> int:
    said = {option: words[words.index(option) + 1] for option in ("--session-id", "--settings")}
    hook = json.loads(said["--settings"])["hooks"]["Stop"][0]["hooks"][0]["command"]
    own = {name: value for name, value in os.environ.items() if name.startswith("RALPHLOOP_")}
    setup = ClientSetup(
        Path.cwd(), Path(os.environ["HOME"]), hook, path=os.environ["PATH"], env=own, hook_timeout_s=300.0
    )
    run = ScriptedAgent(setup, session_id=said["--session-id"]).play(sys.stdin.read(), work)
    result = {"type": "result", "subtype": "success", "is_error": False, "result": run.ending}
    print(json.dumps({**result, "terminal_reason": "completed", "num_turns": run.turns}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

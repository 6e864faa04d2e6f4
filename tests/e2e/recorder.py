"""A hook of the tests' own: notes every event it gets, and blocks the first stops with numbered reasons."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


class Recorder:
    """Settings that register this file as a hook, and the events it has noted."""

    def __init__(self, log: Path, *, blocks: int = 0, events: tuple[str, ...] = ("Stop",)) -> None:
        self._log = log
        hook = {"type": "command", "command": sys.executable, "args": [__file__, str(log), str(blocks)]}
        self.settings = {"hooks": {event: [{"hooks": [hook]}] for event in events}}

    def noted(self, event: str) -> list[dict[str, Any]]:
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [noted for noted in map(json.loads, lines) if noted["hook_event_name"] == event]


def main() -> None:
    log, blocks = Path(sys.argv[1]), int(sys.argv[2])
    event = json.load(sys.stdin)
    with log.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({**event, "env": sorted(os.environ)}) + "\n")
    stops = log.read_text(encoding="utf-8").count('"hook_event_name": "Stop"')
    if event["hook_event_name"] == "Stop" and stops <= blocks:
        print(json.dumps({"decision": "block", "reason": f"REASON {stops} of {blocks}"}))


if __name__ == "__main__":
    main()

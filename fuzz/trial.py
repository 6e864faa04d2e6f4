"""What must hold for every answer of the hook, whatever it was given."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from fuzz.ground import Ground, Tree
from ralphloop.lab.conformance.verdict import REASON_MAX


def answer(said: str) -> dict[str, Any]:
    """One JSON object or nothing, in a form that the client takes."""
    assert isinstance(said, str)
    if not said:
        return {}
    assert "\n" not in said, "one line"
    value = json.loads(said)
    assert isinstance(value, dict), "one object"
    assert value.get("decision", "block") == "block"
    assert len(value.get("reason", "")) < REASON_MAX
    assert value.get("continue") is not False
    assert not any(ch in "\x00\x1b\x9b" for ch in json.dumps(value, ensure_ascii=False)), "no escapes"
    return value


def nothing_else_written(ground: Ground, before: Tree, after: Tree) -> None:
    """Nothing but our own files and the loop's own list changed, and no check ran."""
    for path in before.keys() | after.keys():
        if before.get(path) == after.get(path):
            continue
        assert ground.is_ours(path), f"wrote {path}"
    assert not os.path.exists(os.path.join(ground.state_home, "errors.log"))
    assert not os.path.exists(ground.mark), "a command ran that nobody approved"


class Silenced:
    """The hook's stderr is the person's; a fuzzer's terminal needs none of it."""

    def __enter__(self) -> None:
        self._before = sys.stderr
        self._nowhere = open(os.devnull, "w")
        sys.stderr = self._nowhere

    def __exit__(self, *_: object) -> None:
        sys.stderr = self._before
        self._nowhere.close()

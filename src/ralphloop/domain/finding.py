"""What is doubtful about a proof, and what was not tried: a sentence each, about a task or the whole loop."""

from __future__ import annotations

from ralphloop.domain.model import Fields
from ralphloop.domain.prompt import count, cut, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Any, Optional

# doubts: never under a plain `complete`
CRITERIA, IDLE, NOTHING, REMOVED, LINE = "criteria", "idle", "nothing", "removed", "line"
PROGRAM, VARIABLE, GIT, ELSEWHERE, FLAKY = "program", "variable", "git", "elsewhere", "flaky"
DOUBTS = (CRITERIA, IDLE, NOTHING, REMOVED, LINE, PROGRAM, VARIABLE, GIT, ELSEWHERE, FLAKY)
# of these, what opens its tasks again where doubts are refused
REFUSED = (CRITERIA, IDLE, NOTHING)
# notes: shown, and nothing follows from them
ALREADY_GREEN, WEAK, PLACE, NOT_TRIED = "already green", "weak", "place", "not tried"
NOTES = (ALREADY_GREEN, WEAK, PLACE, NOT_TRIED)
TOLD_MAX, SENTENCE_MAX = 600, 200  # characters of a message that doubts may have


class Finding(Fields):
    """A doubt or a note. Without a task it is about the whole loop."""

    FIRST = ("kind",)

    kind: str
    _: KW_ONLY
    said: str  # a sentence without its full stop, which names the task
    task: str = ""
    files: tuple[str, ...] = ()

    @property
    def is_doubt(self) -> bool:
        return self.kind in DOUBTS

    def to_json(self) -> dict[str, Any]:
        return {"task": self.task, "kind": self.kind, "files": list(self.files), "said": self.said}


def read(data: Any) -> Optional[Finding]:
    """One as `to_json` wrote it; None for anything else."""
    if not isinstance(data, dict) or data.get("kind") not in DOUBTS + NOTES:
        return None
    task, said, named = data.get("task"), data.get("said"), data.get("files")
    if not isinstance(task, str) or not isinstance(said, str) or not isinstance(named, list):
        return None
    files = tuple(name for name in named if isinstance(name, str))
    return Finding(data["kind"], said=said, task=task, files=files)


def told(found: list[Finding]) -> str:
    """`2 doubts: F1 is green without the work; …`: as many sentences as fit into a message."""
    said = "; ".join([line(one.said, SENTENCE_MAX) for one in found])
    return "%s: %s" % (count(len(found), "doubt"), cut(said, TOLD_MAX))

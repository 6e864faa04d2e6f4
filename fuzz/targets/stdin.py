"""Any bytes on stdin, in a project with a running loop: no error, one object or nothing, no other write."""

from __future__ import annotations

import functools
import json

from fuzz import trial
from fuzz.choices import Choices, altered, spoiled, written
from fuzz.ground import OTHER, OWNER, Ground, Tree, feature, feature_list, files_of, quick
from fuzz.targets.shapes import LINES, PAYLOADS
from ralphloop.tasklists.registry import LAYOUTS, traits

WAYS = ("raw", "altered", "spoiled")


@functools.cache
def _ground(layout: str) -> tuple[Ground, Tree]:
    """A loop with a task done, two open, and one that the agent added with a check nobody approved."""
    quick()
    if layout == "features":
        tasks = [feature("F1", passes=True), feature("F2"), feature("F3")]
        found = Ground(layout, files_of(layout, feature_list(*tasks)))
        found.arm()
        added = feature("F4", passes=True, verify=f"touch '{found.mark}'")
        found.write(found.own, feature_list(*tasks, added))
    else:
        rows = "# Tasks\n\n- [x] 1.1 One\n- [ ] 1.2 Two\n- [ ] 1.3 Three\n"
        found = Ground(layout, files_of(layout, rows))
        found.arm()
        found.write(found.listed, rows + f"- [x] 1.4 Four\n  - **Verify**: `touch '{found.mark}'`\n")
    found.write(found.transcript, "".join(json.dumps(line) + "\n" for line in LINES[:4]))
    return found, found.tree()


def run(data: bytes) -> None:
    said = Choices(data)
    way = said.pick(WAYS)
    ground, before = _ground(said.pick(LAYOUTS))
    argv = [said.pick((traits(ground.layout).plugin, "settings", "statusline", "", "run")), ground.layout]
    try:
        with trial.Silenced():
            for _ in range(1 + said.number(3)):
                given = said.rest() if way == "raw" else _payload(said, ground, is_spoiled=way == "spoiled")
                answered = ground.respond(given, argv)
                if argv[0] != "statusline":
                    trial.answer(answered)
        trial.nothing_else_written(ground, before, ground.tree())
    finally:
        ground.put_back(before)


def _payload(said: Choices, ground: Ground, *, is_spoiled: bool) -> bytes:
    payload = {
        "session_id": said.pick((OWNER, OWNER, OWNER, OTHER)),
        "transcript_path": ground.transcript,
        "cwd": ground.root,
        "prompt_id": said.pick(("p1", "p2")),
        "permission_mode": "default",
        **said.pick(PAYLOADS),
    }
    data = written(said, altered(said, payload))
    return spoiled(said, data) if is_spoiled else data

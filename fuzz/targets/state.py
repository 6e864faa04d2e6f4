"""Damaged machine files of a loop: the next stops still answer, `status` still reads, and where neither its
counters nor its record were damaged, its limit of iterations holds."""

from __future__ import annotations

import functools
import json
import os
import time

from fuzz import trial
from fuzz.choices import Choices, altered, spoiled, written
from fuzz.ground import OWNER, Ground, Tree, feature, feature_list, files_of, quick
from ralphloop.loops.place import UNDER_WAY
from ralphloop.store import shelf
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import LAYOUTS
from ralphloop.views.snapshot import view_of

LIMIT, STOPS = 3, 3
NAMES = ("loop.json", "ledger.json", "pinned", "cursor.json", "list", "state", "tasks", "usage.json",
         "request", "loop.json here", "ledger.json here", "record", "approved.json", "own",
         "listed")  # fmt: skip
LIMITING = ("loop.json", "record")  # what the iterations are counted in, and what says how many may be


@functools.cache
def _ground(layout: str) -> tuple[Ground, Tree]:
    quick()
    if layout == "features":
        listed = feature_list(feature("F1", passes=True), feature("F2", depends_on=["F1"]), feature("F3"))
    else:
        listed = "# Tasks\n\n- [x] 1.1 One\n- [ ] 1.2 [P] Two\n- [ ] 1.3 [P] Three\n"
    found = Ground(layout, files_of(layout, listed))
    found.arm(limits={"iterations": LIMIT, "tokens": 1000})
    found.respond(_payload(found, 0))  # so that every file is there
    return found, found.tree()


def _payload(ground: Ground, turn: int) -> bytes:
    payload = {
        "session_id": OWNER,
        "transcript_path": ground.transcript,
        "cwd": ground.root,
        "prompt_id": "p1",
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": f"Step {turn} of the work is done now.",
    }
    return json.dumps(payload).encode()


def run(data: bytes) -> None:
    said = Choices(data)
    ground, before = _ground(said.pick(LAYOUTS))
    try:
        damaged = []
        for _ in range(1 + said.number(2)):
            damaged.append(said.pick(NAMES))
            _damage(said, _place(ground, damaged[-1]))
        blocks = _go_on(ground, ground.tree())
        assert blocks <= _most(ground.layout) or set(damaged) & set(LIMITING), "the limit holds"
    finally:
        ground.put_back(before)


def _place(ground: Ground, name: str) -> str:
    kept = os.path.join(ground.shelf.folder, "kept")
    (loop_id,) = os.listdir(kept)
    places = {
        "record": os.path.join(ground.shelf.folder, "owned", OWNER + ".json"),
        "approved.json": os.path.join(ground.shelf.folder, "approved.json"),
        "own": ground.own,
        "listed": ground.listed,
    }
    if name.endswith(" here"):
        return os.path.join(ground.root, ".ralph", "run", loop_id, name[: -len(" here")])
    return places.get(name) or os.path.join(kept, loop_id, name)


def _damage(said: Choices, place: str) -> None:
    """Write something else there: a changed value, changed bytes, or anything."""
    try:
        with open(place, "rb") as file:
            data = file.read()
    except OSError:
        data = b"{}"
    way = said.number(4)
    if way == 0:
        data = said.share()
    elif way == 1:
        data = spoiled(said, data)
    else:
        try:
            data = written(said, altered(said, json.loads(data)))
        except (ValueError, RecursionError):  # spoiled before, or nested too deeply
            data = spoiled(said, data)
    with open(place, "wb") as file:
        file.write(data)


def _most(layout: str) -> int:
    """Iteration 2 is on the ground before any damage; specum says once more that the limit is reached."""
    return LIMIT - 2 + (layout == "specum")


def _go_on(ground: Ground, damaged: Tree) -> int:
    """The next stops, and a look at what they leave; how many of them were blocked."""
    blocks = 0
    with trial.Silenced():
        for turn in range(1, STOPS + 1):
            blocks += trial.answer(ground.respond(_payload(ground, turn))).get("decision") == "block"
        for kind in (*UNDER_WAY, shelf.ENDED):
            for record in ground.shelf.records(kind):
                loop = LoopFiles(record, ground.shelf, writes=False)
                state = loop.state()
                view_of(loop, now=time.time()).to_json()
                assert state.state in ("armed", "running", "waiting", "paused", "ended")
    after = ground.tree()
    named = _named(ground)  # a record says where its loop's files are
    folders = {os.path.dirname(path) for path in named}
    above = {path for path in after if any(place.startswith(path + os.sep) for place in named)}
    elsewhere = above | {path for path in after if os.path.dirname(path) in folders}
    for path in elsewhere:
        after[path] = damaged.get(path, after[path])
        damaged = {**damaged, path: after[path]}
    trial.nothing_else_written(ground, damaged, after)
    return blocks


def _named(ground: Ground) -> list[str]:
    kinds = (*UNDER_WAY, shelf.ENDED)
    paths = [
        path for kind in kinds for record in ground.shelf.records(kind) for path in record.paths.values()
    ]
    assert all(map(os.path.isabs, paths)), "a path that depends on where the client stands is no place"
    return paths

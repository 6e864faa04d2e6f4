"""Faults by the hundred: each call of each scene is met by one kind of fault after the other, in an order
that a seed gives, and some of them by a second fault at the stop after."""

from __future__ import annotations

import random
import shutil
import traceback
from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from faults.aftermath import Aftermath, look
from faults.ground import Ground, Kept
from faults.scene import Scene
from ralphloop.lab.faults import (
    DENIED,
    FULL,
    IO_ERROR,
    KILL_AFTER,
    KILL_BEFORE,
    NO_SPACE,
    REMOVE,
    SHORT,
    SHORT_FULL,
    SHORT_KILL,
    Fault,
)

LOOP_GONE, PROJECT_GONE, STATE_GONE = "loop-gone", "project-gone", "state-gone"
KINDS = (
    KILL_BEFORE, KILL_AFTER, SHORT_KILL, NO_SPACE, FULL, SHORT_FULL, IO_ERROR, DENIED,
    LOOP_GONE, PROJECT_GONE, STATE_GONE,
)  # fmt: skip
GONE = (LOOP_GONE, PROJECT_GONE, STATE_GONE)
SECOND = (KILL_BEFORE, KILL_AFTER, NO_SPACE, FULL, IO_ERROR, DENIED)
SECOND_MOST = 60  # calls of a stop; a fault behind the last one never comes
DEAR_SHARE, CHEAP_SHARE = 4, 10
DOUBLE = 0.25  # of the points have a second fault


class Point(NamedTuple):
    """One fault, and perhaps one more at the stop after it."""

    scene: str
    kind: str
    at: int
    second_kind: str = ""
    second_at: int = 0

    def __str__(self) -> str:
        second = f"+{self.second_kind}:{self.second_at}" if self.second_kind else ""
        return f"{self.scene}:{self.kind}:{self.at}{second}"

    @classmethod
    def read(cls, text: str) -> Point:
        first, _, second = text.partition("+")
        scene, kind, at = first.split(":")
        second_kind, _, second_at = second.partition(":")
        return cls(scene, kind, int(at), second_kind, int(second_at or 0))


class Outcome(NamedTuple):
    point: Point
    lost: str  # what does not hold; empty if all does
    is_struck: bool
    spares: int


class Trial:
    """One scene, built once below a folder and then met with one fault after the other."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self._scene = scene
        self._base = folder / scene.name.replace("/", "-")
        self._base.mkdir()
        self._ground: Ground = scene.build(self._base)
        self._kept: Kept = self._ground.keep()

    def points(self) -> Iterator[Point]:
        """Every call with every kind that means something there."""
        return (Point(self._scene.name, kind, at) for at, kinds in self._kinds() for kind in kinds)

    def _kinds(self) -> Iterator[tuple[int, list[str]]]:
        self._ground.go_back(self._kept)
        self._scene.act(self._ground)
        for at, (name, _) in enumerate(self._ground.calls, 1):
            yield at, [kind for kind in KINDS if kind not in SHORT or name == "write"]

    def chosen(self, count: int, *, seed: int) -> list[Point]:
        """So many points, the same for the same seed: no call is met twice before each was met once, and what
        is more than there are has a second fault."""
        chance = random.Random(f"{seed} {self._scene.name}")
        columns = [
            [Point(self._scene.name, kind, at) for kind in chance.sample(kinds, len(kinds))]
            for at, kinds in self._kinds()
        ]
        chance.shuffle(columns)
        every = [point for point in chain(*zip_longest(*columns)) if point is not None]
        found = [
            _doubled(point, chance) if point.kind not in GONE and chance.random() < DOUBLE else point
            for point in every[:count]
        ]
        lasting = [point for point in every if point.kind not in GONE]
        return found + [_doubled(chance.choice(lasting), chance) for _ in range(count - len(found))]

    def meet(self, point: Point) -> Outcome:
        ground = self._ground
        ground.go_back(self._kept)
        life = Aftermath(ground, self._scene, look(ground))
        try:
            life.strike(self._fault(point))
            if point.second_kind:
                life.strike_next(Fault(point.second_at, point.second_kind))
            life.go_on()
        except Exception as error:
            steps = "".join(traceback.format_tb(error.__traceback__)[-2:])
            return Outcome(point, f"{type(error).__name__}: {error}\n{steps}", True, 0)
        return Outcome(point, "", life.is_struck, life.spares)

    def _fault(self, point: Point) -> Fault:
        ground = self._ground
        folders = {
            LOOP_GONE: ground.root / ".ralph" / "run",
            PROJECT_GONE: ground.root,
            STATE_GONE: ground.state_home,
        }
        if point.kind in folders:
            return Fault(point.at, REMOVE, str(folders[point.kind]))
        return Fault(point.at, point.kind)

    def close(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)
        shutil.rmtree(self._kept.folder, ignore_errors=True)


def _doubled(point: Point, chance: random.Random) -> Point:
    return point._replace(second_kind=chance.choice(SECOND), second_at=chance.randint(1, SECOND_MOST))


def shares(scenes: list[Scene], count: int) -> dict[str, int]:
    """How many of so many points each scene gets; the sum is exact."""
    weights = {scene.name: DEAR_SHARE if scene.is_dear else CHEAP_SHARE for scene in scenes}
    whole, passed, found = sum(weights.values()), 0, {}
    for name, weight in weights.items():
        begun = passed * count // whole
        passed += weight
        found[name] = passed * count // whole - begun
    return found

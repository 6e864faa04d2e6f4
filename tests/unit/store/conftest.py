"""A project with a list of features, and the shelf that belongs to it."""

from __future__ import annotations

import json
import os

import pytest

from ralphloop.domain.model import Limits
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record, Shelf
from unit.layouts import FEATURES, SPECUM


class Project:
    def __init__(self, folder):
        self.root = os.path.realpath(folder / "project")
        self.env = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
        self.shelf = Shelf(self.root, self.env)

    def write(self, path: str, text: str, *, age_s: float = 0.0) -> str:
        place = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if age_s:
            stat = os.stat(place)
            os.utime(place, (stat.st_mtime - age_s, stat.st_mtime - age_s))
        return place

    def features(self, *features: dict, **age) -> str:
        return self.write("feature_list.json", json.dumps({"features": list(features)}), **age)

    def record(self, loop_id: str = "L1", **values) -> Record:
        about = {
            "layout": FEATURES,
            "name": "demo",
            "root": self.root,
            "paths": {"list": os.path.join(self.root, "feature_list.json")},
            "limits": Limits(),
            "armed_at": "2026-01-01T00:00:00.000Z",
        }
        return Record(loop_id, **{**about, **values})

    def loop(self, **values) -> LoopFiles:
        loop = LoopFiles(self.record(**values), self.shelf)
        loop.make()
        return loop

    def spec(self, state: str | None, tasks: str) -> LoopFiles:
        """A specum loop over these two files."""
        paths = {
            role: os.path.join(self.root, name) for role, name in (("state", "s.json"), ("tasks", "t.md"))
        }
        if state is not None:
            self.write("s.json", state)
        self.write("t.md", tasks)
        return self.loop(layout=SPECUM, paths=paths)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return Project(tmp_path)

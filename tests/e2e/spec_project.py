"""A project whose specs and features are made by the command line, inside a client's session or outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.cli_project import OTHER, SESSION, Done, Project, unfolded
from fakes import warm
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import OWNED, Shelf

STATES = {"specum": ".ralph-state.json", "speckit": ".speckit-state.json"}
BOXES = "# Tasks\n\n- [x] 1.1 Form\n- [ ] 1.2 Check\n- [ ] 1.3 Errors\n"


def client(session: str = SESSION) -> dict[str, str]:
    """What a client puts into the environment of its tools and of a prompt's commands."""
    return {"CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-325_agent", "CLAUDE_CODE_SESSION_ID": session}


INSIDE = client()
ELSEWHERE = client(OTHER)


class SpecProject(Project):
    """`layout` is the command under test: specum or speckit."""

    def __init__(self, folder: Path, layout: str = "specum") -> None:
        super().__init__(folder)
        self.layout = layout
        self.home_of_specs = "specs" if layout == "specum" else ".specify/specs"

    def say(self, *words: str, **options: Any) -> str:
        """Run an action as a plugin's prompt does; it must succeed. Its sentences, each in one line."""
        return unfolded(self.fine(self.layout, *words, **{"env": INSIDE, **options}))

    def refuse(self, *words: str, **options: Any) -> str:
        return self.refused(self.layout, *words, **{"env": INSIDE, **options})

    def prompt(self, action: str, text: str) -> str:
        """Run an action with what the person typed behind it in the client."""
        self.type(f"ralph-{self.layout}:{action}", text)
        return unfolded(self.fine("--typed", self.layout, action, env=INSIDE))

    def at_once(self, *lines: str, env: Mapping[str, str] = INSIDE) -> list[Done]:
        """Run these lines in processes that begin together; forked ones are closer than started ones."""
        running = [
            warm.start([self.layout, *line.split()], env=self.env(env), cwd=self.root) for line in lines
        ]
        told = [process.communicate(timeout=60) for process in running]
        return [
            Done(process.wait(), out.decode(), err.decode())
            for process, (out, err) in zip(running, told, strict=True)
        ]

    def digest(self) -> dict[str, str]:
        """Without the folders of the home: one that holds nothing but a lock says nothing."""
        home = str(self.home)
        return {
            path: value
            for path, value in super().digest().items()
            if not (path.startswith(home) and Path(path).is_dir())
        }

    def path(self, name: str, file: str = "") -> Path:
        return self.root / self.home_of_specs / name / file

    def doc(self, name: str, *files: str, text: str = "# Written\n") -> None:
        for file in files:
            self.write(f"{self.home_of_specs}/{name}/{file}", text)

    def state_file(self, name: str) -> Path:
        return self.path(name, STATES[self.layout])

    def state(self, name: str) -> dict[str, Any]:
        value = json.loads(self.state_file(name).read_text(encoding="utf-8"))
        assert isinstance(value, dict)
        return value

    @property
    def pointer(self) -> str:
        file = "specs/.current-spec" if self.layout == "specum" else ".specify/.current-feature"
        return (self.root / file).read_text(encoding="utf-8")

    def planned(self, name: str = "login", boxes: str = BOXES) -> Path:
        """A spec whose tasks are written."""
        self.say("new", name, "Let people log in")
        self.doc(name, "research.md", "requirements.md", "design.md")
        self.doc(name, "tasks.md", text=boxes)
        return self.path(name)

    def running(self, name: str = "login", boxes: str = BOXES) -> Path:
        """A spec whose loop this session owns."""
        folder = self.planned(name, boxes)
        self.say("implement")
        return folder

    def the_loop(self) -> LoopFiles:
        """The one loop that a session owns here."""
        here = Shelf(str(self.root), {"HOME": str(self.home)})
        (record,) = here.records(OWNED)
        return LoopFiles(record, here)

    def stop_of_plugin(self, session: str = SESSION) -> str:
        """What the agent is told at a stop; empty if it may stop."""
        answer = self.stop(session)
        return str(answer.get("reason", "")) if answer else ""

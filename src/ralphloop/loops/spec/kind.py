"""The two kinds of specs: how each calls its files, and what each of its steps needs, writes and leads to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ralphloop.domain.model import EXECUTION, PHASES, SPECKIT, SPECUM
from ralphloop.errors import UserError
from ralphloop.store import files
from ralphloop.tasklists import speckit, specum
from ralphloop.tasklists.source import Source

Settings = dict[str, list[str]]

NOTES = ".progress.md"
TASKS = "tasks.md"
IMPLEMENT = "implement"
GRANULARITIES = ("fine", "coarse")


@dataclass(frozen=True)
class Step:
    """One step of a spec before its tasks are run."""

    following: str = ""  # the action that comes after it; empty: what comes next anyway
    phase: str = ""  # what the state says from now on; empty: as before
    writes: str = ""
    needs: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()  # read if they are there, and missed if not
    reads: tuple[str, ...] = ()  # read if they are there


@dataclass(frozen=True)
class Kind:
    layout: str
    word: str  # what people call one of them
    state: str
    begins: str  # the action that makes a new one
    steps: Mapping[str, Step]
    settings: str  # the file with the plugin's settings, from the project's root
    places: Callable[[str, Settings], list[tuple[str, str]]]
    source: Callable[[str, str, Settings], Source]
    shared: tuple[str, ...] = ()  # documents of the project that every step reads, from its root
    choices: Mapping[str, Any] = field(default_factory=dict)  # what its state has beyond what all have
    numbered: bool = False  # whether a folder's name begins with its number
    anew: tuple[str, ...] = ()  # the action and option that make another one of the same name
    epics: bool = False

    def typed(self, action: str, *words: str) -> str:
        """An action as the person types it in the client."""
        return " ".join([f"/ralph-{self.layout}:{action}", *words])

    def writer(self, document: str) -> str:
        """The action that writes this document."""
        return next(action for action, step in self.steps.items() if step.writes == document)

    @property
    def phases(self) -> tuple[str, ...]:
        return (*PHASES[self.layout], EXECUTION)

    @property
    def documents(self) -> list[str]:
        """The documents of its phases, in their order."""
        return [step.writes for step in self.steps.values() if step.phase]


SPECUM_KIND = Kind(
    SPECUM,
    "spec",
    specum.STATE,
    "new",
    {
        "research": Step("requirements", "research", "research.md"),
        "requirements": Step("design", "requirements", "requirements.md", wants=("research.md",)),
        "design": Step("tasks", "design", "design.md", ("requirements.md",), reads=("research.md",)),
        "tasks": Step(IMPLEMENT, "tasks", TASKS, ("design.md",), reads=("requirements.md", "research.md")),
    },
    specum.SETTINGS,
    specum.places,
    specum.source,
    choices={"commitSpec": True, "quickMode": False, "granularity": GRANULARITIES[0], "relatedSpecs": []},
    anew=("start", "--fresh"),
    epics=True,
)
SPECKIT_KIND = Kind(
    SPECKIT,
    "feature",
    speckit.STATE,
    "specify",
    {
        "specify": Step("plan", "specify", "spec.md"),
        "plan": Step("tasks", "plan", "plan.md", ("spec.md",)),
        "tasks": Step(IMPLEMENT, "tasks", TASKS, ("plan.md",), reads=("spec.md",)),
        "clarify": Step("plan", writes="spec.md", needs=("spec.md",)),
        "checklist": Step(needs=("spec.md",), reads=("plan.md",)),
        "analyze": Step(needs=("spec.md", "plan.md", TASKS)),
    },
    speckit.SETTINGS,
    speckit.places,
    speckit.source,
    shared=(os.path.join(".specify", "memory", "constitution.md"),),
    numbered=True,
)


@dataclass(frozen=True)
class Spec:
    """One spec or feature: its folder, and the settings that hold for it."""

    kind: Kind
    root: str
    folder: str
    settings: Settings

    @property
    def name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def state_path(self) -> str:
        return os.path.join(self.folder, self.kind.state)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def has(self, name: str) -> bool:
        return os.path.isfile(self.path(name))

    def read(self, name: str) -> str | None:
        """A file's text; one that links out of the project is not for us to read."""
        self.must_keep_inside(name)
        try:
            return files.read_text(self.path(name))
        except OSError as error:
            why = error.strerror or error
            raise UserError(f"{self.shown(name)} cannot be read ({why}); move it away.") from None

    def must_keep_inside(self, *names: str) -> None:
        """Refuse the spec if links take one of these files out of the project."""
        for name in names:
            must_stay(self.path(name), self.root)

    def must_keep_documents_inside(self, *more: str) -> None:
        self.must_keep_inside(NOTES, *self.kind.documents, *more)
        for path in self.kind.shared:
            must_stay(os.path.join(self.root, path), self.root)

    def shown(self, name: str = "") -> str:
        """A file of it, or its folder, as seen from where the command runs."""
        return os.path.relpath(self.path(name))

    def typed(self, action: str, *words: str) -> str:
        return self.kind.typed(action, *words)

    def source(self) -> Source:
        return self.kind.source(self.root, self.folder, self.settings)


def must_stay(path: str, root: str) -> None:
    """Refuse a path that links take out of the project."""
    if files.leads_out(path, root):
        raise UserError(f"{os.path.relpath(path)} leads out of the project; move it inside.")

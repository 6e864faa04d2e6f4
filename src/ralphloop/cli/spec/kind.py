"""The two kinds of specs: how each calls its files, and what each of its steps needs, writes and leads to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ralphloop.domain.model import SPECKIT, SPECUM
from ralphloop.tasklists import frontmatter, spec_phase
from ralphloop.tasklists.source import Source

NOTES = ".progress.md"
TASKS = "tasks.md"
IMPLEMENT = "implement"
GRANULARITIES = ("fine", "coarse")


@dataclass(frozen=True)
class Step:
    """One step of a spec before its tasks are run."""

    following: str  # the action that comes after it
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
    phases: tuple[str, ...]
    steps: Mapping[str, Step]
    shared: tuple[str, ...] = ()  # documents of the project that every step reads, from its root

    def typed(self, action: str, *words: str) -> str:
        """An action as the person types it in the client."""
        return " ".join([f"/ralph-{self.layout}:{action}", *words])

    def writer(self, document: str) -> str:
        """The action that writes this document."""
        return next(action for action, step in self.steps.items() if step.writes == document)


SPECUM_KIND = Kind(
    SPECUM,
    "spec",
    ".ralph-state.json",
    "new",
    spec_phase.SPECUM_PHASES,
    {
        "research": Step("requirements", "research", "research.md"),
        "requirements": Step("design", "requirements", "requirements.md", wants=("research.md",)),
        "design": Step("tasks", "design", "design.md", ("requirements.md",), reads=("research.md",)),
        "tasks": Step(IMPLEMENT, "tasks", TASKS, ("design.md",), reads=("requirements.md", "research.md")),
    },
)
SPECKIT_KIND = Kind(
    SPECKIT,
    "feature",
    ".speckit-state.json",
    "specify",
    spec_phase.SPECKIT_PHASES,
    {
        "specify": Step("plan", "specify", "spec.md"),
        "plan": Step("tasks", "plan", "plan.md", ("spec.md",)),
        "tasks": Step(IMPLEMENT, "tasks", TASKS, ("plan.md",), reads=("spec.md",)),
        "clarify": Step("plan", writes="spec.md", needs=("spec.md",)),
        "checklist": Step("plan", needs=("spec.md",), reads=("plan.md",)),
        "analyze": Step(IMPLEMENT, needs=("spec.md", "plan.md", TASKS)),
    },
    shared=(os.path.join(".specify", "memory", "constitution.md"),),
)


@dataclass(frozen=True)
class Spec:
    """One spec or feature: its folder, and the settings that hold for it."""

    kind: Kind
    root: str
    folder: str
    settings: dict[str, list[str]]

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

    def shown(self, name: str = "") -> str:
        """A file of it, or its folder, as seen from where the command runs."""
        return os.path.relpath(self.path(name))

    def typed(self, action: str, *words: str) -> str:
        return self.kind.typed(action, *words)

    def source(self) -> Source:
        return Source(
            self.kind.layout,
            self.name,
            root=self.root,
            paths={"state": self.state_path, "tasks": self.path(TASKS)},
            enabled=not frontmatter.is_off(self.settings, "enabled"),
            max_iterations=frontmatter.count(self.settings, "default_max_iterations"),
        )

"""The specs of a project: the two kinds of them, one with its files, and where all of them are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ralphloop import spelling
from ralphloop.domain.layout import Traits
from ralphloop.domain.model import EXECUTION
from ralphloop.errors import UserError
from ralphloop.loops.place import Place
from ralphloop.loops.spec import wording
from ralphloop.store import files
from ralphloop.tasklists import frontmatter, spec_state, speckit, specum
from ralphloop.tasklists.source import Source

Settings = dict[str, list[str]]

NOTES = ".progress.md"
TASKS = "tasks.md"
IMPLEMENT = "implement"
GRANULARITIES = ("fine", "coarse")
WHAT = "WHAT IT SHALL DO"


@dataclass(frozen=True)
class Step:
    """One step of a spec before its tasks are run."""

    following: str = ""  # the action that comes after it; empty: what comes next anyway
    phase: str = ""  # what the state says from now on; empty: as before
    writes: str = ""
    needs: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()  # read if they are there, and missed if not
    reads: tuple[str, ...] = ()  # read if they are there
    folder: str = ""  # where it writes a document for each thing that the person says

    def document(self, text: str) -> str:
        """The file that it writes; empty if it changes none."""
        if not self.folder:
            return self.writes
        return os.path.join(self.folder, (wording.slug(text) or "requirements") + ".md")


@dataclass(frozen=True)
class Kind:
    layout: str
    traits: Traits
    begins: str  # the action that makes a new one
    asks: str  # the action behind which the person says what a new one shall do
    steps: Mapping[str, Step]
    places: Callable[[str, Settings], list[tuple[str, str]]]
    source: Callable[[str, str, Settings], Source]
    principles: str = ""  # where the project writes them down, from its root
    choices: Mapping[str, Any] = field(default_factory=dict)  # what its state has beyond what all have
    numbered: bool = False  # whether a folder's name begins with its number
    anew: tuple[str, ...] = ()  # the action and option that make another one of the same name
    epics: bool = False

    @property
    def word(self) -> str:
        """What people call one of them."""
        return self.traits.kind

    @property
    def state(self) -> str:
        return self.traits.files["state"]

    @property
    def settings(self) -> str:
        """The file with the plugin's settings, from the project's root."""
        return self.traits.settings

    @property
    def phases(self) -> tuple[str, ...]:
        return (*self.traits.phases, EXECUTION)

    def typed(self, action: str, *words: str) -> str:
        """An action as the person types it in the client."""
        return " ".join([self.traits.typed(action), *words])

    @property
    def empty(self) -> str:
        """What is said where there is none yet."""
        return f"There is no {self.word} here yet. Next: `{self.typed(self.asks, WHAT)}`"

    def shared(self, root: str) -> str:
        """The project's principles, which every step reads; empty where its kind has none."""
        return os.path.join(root, self.principles) if self.principles else ""

    def writer(self, document: str) -> str:
        """The action that writes this document."""
        return next(action for action, step in self.steps.items() if step.writes == document)

    @property
    def documents(self) -> list[str]:
        """The documents of its phases, in their order."""
        return [step.writes for step in self.steps.values() if step.phase]


SPECUM_KIND = Kind(
    specum.NAME,
    specum.TRAITS,
    "new",
    "start",
    {
        "research": Step("requirements", "research", "research.md"),
        "requirements": Step("design", "requirements", "requirements.md", wants=("research.md",)),
        "design": Step("tasks", "design", "design.md", ("requirements.md",), reads=("research.md",)),
        "tasks": Step(IMPLEMENT, "tasks", TASKS, ("design.md",), reads=("requirements.md", "research.md")),
    },
    specum.places,
    specum.source,
    choices={"commitSpec": True, "quickMode": False, "granularity": GRANULARITIES[0], "relatedSpecs": []},
    anew=("start", "--fresh"),
    epics=True,
)
SPECKIT_KIND = Kind(
    speckit.NAME,
    speckit.TRAITS,
    "specify",
    "specify",
    {
        "specify": Step("plan", "specify", "spec.md"),
        "plan": Step("tasks", "plan", "plan.md", ("spec.md",)),
        "tasks": Step(IMPLEMENT, "tasks", TASKS, ("plan.md",), reads=("spec.md",)),
        "clarify": Step("plan", writes="spec.md", needs=("spec.md",)),
        "checklist": Step(needs=("spec.md",), reads=("plan.md",), folder="checklists"),
        "analyze": Step(needs=("spec.md", "plan.md", TASKS)),
    },
    speckit.places,
    speckit.source,
    principles=os.path.join(".specify", "memory", "constitution.md"),
    numbered=True,
)
KINDS = (SPECUM_KIND, SPECKIT_KIND)


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
        return self.path(self.kind.state)

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
        if self.kind.principles:
            must_stay(self.kind.shared(self.root), self.root)

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


@dataclass(frozen=True)
class Specs:
    kind: Kind
    root: str
    settings: Settings
    # each folder of specs with the pointer that may lead into it; the first pair is written
    places: tuple[tuple[str, str], ...]

    @property
    def home(self) -> str:
        """The folder that new specs go to."""
        return self.places[0][0]

    @property
    def pointer(self) -> str:
        return self.places[0][1]

    def spec(self, folder: str) -> Spec:
        must_stay(folder, self.root)
        return Spec(self.kind, self.root, folder, self.settings)

    def pointed_at(self) -> str | None:
        """The folder that the pointer names, whether it is there or not."""
        for folder, pointer in self.places:
            text = files.read_quietly(pointer)
            if text is not None and text.strip() and not files.leads_out(pointer, self.root):
                return spec_state.resolve(self.root, text, specs_dir=folder)
        return None

    def current(self) -> Spec | None:
        folder = self.pointed_at()
        return self.spec(folder) if folder and os.path.isdir(folder) else None

    def before(self) -> Spec | None:
        """The current one for who is about to leave it; one that leads out of the project is none."""
        try:
            return self.current()
        except UserError:
            return None

    def must_have_current(self) -> Spec:
        spec, word = self.current(), self.kind.word
        if spec is not None:
            return spec
        folder = self.pointed_at()
        if folder:
            known = self.kind.typed("switch", "NAME")
            raise UserError(f"the current {word} {os.path.relpath(folder)} is gone; `{known}` takes another.")
        raise UserError(f"there is no current {word} here; `{self.kind.typed('start', WHAT)}` begins one.")

    def folders(self) -> list[str]:
        """Every folder that holds a spec, in the order of the settings."""
        found = [
            os.path.join(home, name)
            for home, _ in self.places
            for name in files.names(home)
            if name[0] not in "._" and _is_spec(self.kind, os.path.join(home, name))
        ]
        current = self.pointed_at()
        if current and os.path.isdir(current) and current not in found:
            found.append(current)
        return found

    def named(self, text: str) -> list[Spec]:
        """The specs that a name, a number or a path means."""
        if "/" in text or text in (".", ".."):
            folder = spec_state.inside(self.root, text)
            return [self.spec(folder)] if folder in self.folders() and folder else []
        return [self.spec(folder) for folder in self.folders() if text in _calls(folder)]

    def path_of(self, folder: str) -> str:
        """The folder as a pointer and a person can name it, whatever it is called."""
        return "./" + os.path.relpath(folder, self.root)

    def called(self, folder: str) -> str:
        """What a person types to mean this folder: its name, or its path where others have that name."""
        name = os.path.basename(folder)
        same = [other for other in self.folders() if other != folder and name in _calls(other)]
        return self.path_of(folder) if same else name

    def must_have(self, text: str) -> Spec:
        """The one spec that a person names."""
        found, word = self.named(text), self.kind.word
        if len(found) > 1:
            paths = " or ".join(self.path_of(spec.folder) for spec in found)
            raise UserError(f"several {word}s are called {text}; name one by its path: {paths}")
        if found:
            return found[0]
        known, begins = map(self.called, self.folders()), self.kind.typed(self.kind.begins)
        told = spelling.or_known(text, known, else_=f"`{begins}` makes one")
        raise UserError(f"there is no {word} {text} here; {told}")

    def point_at(self, spec: Spec) -> None:
        """Make it the current one: a bare name where it lies beside the pointer's own folder, else a path."""
        must_stay(self.pointer, self.root)
        os.makedirs(os.path.dirname(self.pointer), exist_ok=True)
        near = os.path.dirname(spec.folder) == self.home
        text = spec.name if near else self.path_of(spec.folder)
        files.write_shared(self.pointer, text + "\n", root=self.root)


def _calls(folder: str) -> tuple[str, ...]:
    """The words that mean this folder: its name, and of a numbered one the number and the rest."""
    name = os.path.basename(folder)
    number, rest = wording.numbered(name)
    return (name, number, rest) if number else (name,)


def _is_spec(kind: Kind, folder: str) -> bool:
    known = (kind.state, NOTES, *(step.writes for step in kind.steps.values()))
    return any(name and os.path.isfile(os.path.join(folder, name)) for name in known)


def specs_at(kind: Kind, root: str) -> Specs:
    settings = frontmatter.parse(files.read_quietly(os.path.join(root, kind.settings)) or "")
    return Specs(kind, root, settings, tuple(kind.places(root, settings)))


def specs_here(kind: Kind, place: Place, *, inside: bool = False) -> Specs:
    """The specs of the nearest folder with a pointer, as a stop would find it, else of the project; `inside`
    looks no further than the project: that is where a new one belongs."""
    top = place.project.rstrip(os.sep) + os.sep
    for root in place.roots:
        if not inside or (root + os.sep).startswith(top):
            specs = specs_at(kind, root)
            if any((files.read_quietly(pointer) or "").strip() for _, pointer in specs.places):
                return specs
    specs = specs_at(kind, place.project)
    if not specs.places:
        raise UserError(f"`specs_dirs` in {kind.settings} names no folder of this project; repair it.")
    return specs

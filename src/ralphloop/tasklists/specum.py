"""The `specum` layout: a spec that <specs root>/.current-spec points at."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.layout import RECOVER, Traits
from ralphloop.domain.model import TaskList
from ralphloop.tasklists import frontmatter, spec_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

    from ralphloop.tasklists.source import Source, Texts

NAME = "specum"
TRAITS = Traits(
    plugin="ralph-specum",
    action="implement",
    voice="Ralph-specum",
    kind="spec",
    files={"state": ".ralph-state.json", "tasks": "tasks.md"},
    truth=("state", "tasks"),
    phases={
        "research": "research.md",
        "requirements": "requirements.md",
        "design": "design.md",
        "tasks": "tasks.md",
    },
    settings=os.path.join(spec_state.SETTINGS, "ralph-specum.local.md"),
    chosen_by="",
    iterations=spec_state.ITERATIONS,
    closing="its box checked",
    delegates=True,
    waits_for_approval=False,
    rests_empty=True,
    tells_completion=False,
    at_limit=RECOVER,
)
mark = spec_state.mark
is_work = spec_state.is_work
record = spec_state.record
restore = spec_state.restore
hold_additions = spec_state.hold_additions
protect = spec_state.protect


def locate(
    root: str,
    *,
    env: Mapping[str, str],
    read: Callable[[str], Optional[str]],
    names: Callable[[str], list[str]],
) -> list[Source]:
    said = read(os.path.join(root, TRAITS.settings))
    settings = frontmatter.parse(said) if said else {}
    for specs_dir, pointer in places(root, settings):
        text = read(pointer)
        if text is None or not text.strip():
            continue
        folder = spec_state.resolve(root, text, specs_dir=specs_dir)
        return [source(root, folder, settings)] if folder else []
    return []


def places(root: str, settings: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Each folder of specs inside the root, with the pointer that may lead into it."""
    named = settings.get("specs_dirs")
    usual = os.path.join(os.path.normpath(root), "specs")
    found = [spec_state.inside(root, path) for path in named] if named else [usual]
    return [(path, os.path.join(path, ".current-spec")) for path in found if path]


def source(root: str, folder: str, settings: dict[str, list[str]]) -> Source:
    found = spec_state.source(NAME, TRAITS, root=root, folder=folder, settings=settings)
    found.max_iterations = frontmatter.count(settings, "default_max_iterations")
    return found


def parse(texts: Texts) -> TaskList:
    state = spec_state.read_state(texts)
    found = spec_state.task_list(state, texts)
    found.quick = state.get("quickMode") is True
    found.epic = spec_state.safe_name(state.get("epicName"))
    return found

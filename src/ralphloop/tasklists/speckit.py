"""The `speckit` layout: a feature that .specify/.current-feature points at."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.layout import LOG, Traits
from ralphloop.tasklists import frontmatter, spec_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

    from ralphloop.tasklists.source import Source

NAME = "speckit"
TRAITS = Traits(
    plugin="ralph-speckit",
    action="implement",
    voice="Ralph-speckit",
    kind="feature",
    files={"state": ".speckit-state.json", "tasks": "tasks.md"},
    truth=("state", "tasks"),
    phases={"specify": "spec.md", "plan": "plan.md", "tasks": "tasks.md"},
    settings=os.path.join(spec_state.SETTINGS, "ralph-speckit.local.md"),
    chosen_by="",
    iterations=spec_state.ITERATIONS,
    closing="its box checked",
    delegates=True,
    waits_for_approval=False,
    rests_empty=True,
    tells_completion=False,
    at_limit=LOG,
)
parse = spec_state.parse
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
    ((specs_dir, pointer),) = places(root, {})
    text = read(pointer)
    folder = spec_state.resolve(root, text, specs_dir=specs_dir) if text else None
    if folder is None:
        return []
    return [source(root, folder, frontmatter.parse(read(os.path.join(root, TRAITS.settings)) or ""))]


def places(root: str, settings: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The folder of the features, with the pointer that may lead into it; no setting moves them."""
    home = os.path.join(os.path.normpath(root), ".specify")
    return [(os.path.join(home, "specs"), os.path.join(home, ".current-feature"))]


def source(root: str, folder: str, settings: dict[str, list[str]]) -> Source:
    return spec_state.source(NAME, TRAITS, root=root, folder=folder, settings=settings)

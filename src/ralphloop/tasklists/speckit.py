"""The `speckit` layout: a feature that .specify/.current-feature points at."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.model import SPECKIT
from ralphloop.tasklists import frontmatter, spec_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

    from ralphloop.tasklists.source import Source

NAME = SPECKIT
STATE = ".speckit-state.json"
SETTINGS = os.path.join(".claude", "ralph-speckit.local.md")
parse = spec_state.parse
mark = spec_state.mark
record = spec_state.record
restore = spec_state.restore
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
    return [source(root, folder, frontmatter.parse(read(os.path.join(root, SETTINGS)) or ""))]


def places(root: str, settings: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The folder of the features, with the pointer that may lead into it; no setting moves them."""
    home = os.path.join(os.path.normpath(root), ".specify")
    return [(os.path.join(home, "specs"), os.path.join(home, ".current-feature"))]


def source(root: str, folder: str, settings: dict[str, list[str]]) -> Source:
    return spec_state.source(NAME, root, folder=folder, state=STATE, settings=settings)

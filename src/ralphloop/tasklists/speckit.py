"""The `speckit` layout: a feature that .specify/.current-feature points at."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.model import SPECKIT
from ralphloop.tasklists import frontmatter, spec_state
from ralphloop.tasklists.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

NAME = SPECKIT
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
    home = os.path.join(os.path.normpath(root), ".specify")
    specs_dir = os.path.join(home, "specs")
    pointer = read(os.path.join(home, ".current-feature"))
    folder = spec_state.resolve(root, pointer, specs_dir=specs_dir) if pointer else None
    if folder is None:
        return []
    settings = frontmatter.parse(read(os.path.join(root, ".claude", "ralph-speckit.local.md")) or "")
    paths = {
        "state": os.path.join(folder, ".speckit-state.json"),
        "tasks": os.path.join(folder, "tasks.md"),
    }
    return [
        Source(
            NAME,
            os.path.basename(folder),
            root=root,
            paths=paths,
            enabled=not frontmatter.is_off(settings, "enabled"),
        )
    ]

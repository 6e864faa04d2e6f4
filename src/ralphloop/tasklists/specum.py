"""The `specum` layout: a spec that <specs root>/.current-spec points at."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.model import SPECUM, TaskList
from ralphloop.tasklists import frontmatter, spec_state
from ralphloop.tasklists.epic import safe_name
from ralphloop.tasklists.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

    from ralphloop.tasklists.source import Texts

NAME = SPECUM
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
    settings = frontmatter.parse(read(os.path.join(root, ".claude", "ralph-specum.local.md")) or "")
    for specs_dir in _specs_dirs(root, settings):
        pointer = read(os.path.join(specs_dir, ".current-spec"))
        if pointer is None or not pointer.strip():
            continue
        folder = spec_state.resolve(root, pointer, specs_dir=specs_dir)
        return [_source(root, folder, settings)] if folder else []
    return []


def _specs_dirs(root: str, settings: dict[str, list[str]]) -> list[str]:
    found = [spec_state.inside(root, path) for path in settings.get("specs_dirs") or ["specs"]]
    return [path for path in found if path]


def _source(root: str, folder: str, settings: dict[str, list[str]]) -> Source:
    return Source(
        NAME,
        os.path.basename(folder),
        root=root,
        paths={
            "state": os.path.join(folder, ".ralph-state.json"),
            "tasks": os.path.join(folder, "tasks.md"),
        },
        enabled=not frontmatter.is_off(settings, "enabled"),
        max_iterations=frontmatter.count(settings, "default_max_iterations"),
    )


def parse(texts: Texts) -> TaskList:
    state = spec_state.read_state(texts)
    found = spec_state.task_list(state, texts)
    found.quick = state.get("quickMode") is True
    found.epic = safe_name(state.get("epicName"))
    return found

"""The layouts by name, each imported when it is asked for, and the files that decide for each."""

from __future__ import annotations

from ralphloop.domain.model import FEATURES, SPECKIT, SPECUM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ralphloop.tasklists.source import Layout

    class Listed(Protocol):
        """What has the files of a task list: a source, or the record of a loop over one."""

        layout: str
        paths: dict[str, str]


# The roles whose content decides. The first one is the loop's own file: without it, no loop.
TRUTH = {FEATURES: ("list",), SPECUM: ("state", "tasks"), SPECKIT: ("state", "tasks")}


# The only names that files of these roles can have.
NAMES = {
    "list": ("feature_list.json",),
    "progress": ("progress.txt",),
    "prompt": ("RALPH_PROMPT.md",),
    "state": (".ralph-state.json", ".speckit-state.json"),
    "tasks": ("tasks.md",),
}


def own_file(listed: Listed) -> str:
    return listed.paths[TRUTH[listed.layout][0]]


def layout(name: str) -> Layout:
    if name == FEATURES:
        from ralphloop.tasklists import features

        return features
    if name == SPECUM:
        from ralphloop.tasklists import specum

        return specum
    if name == SPECKIT:
        from ralphloop.tasklists import speckit

        return speckit
    raise ValueError("no such layout: " + name)

"""The layouts by name, each imported when it is asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ralphloop.domain.layout import Traits
    from ralphloop.tasklists import features, speckit, specum
    from ralphloop.tasklists.source import Layout

    OFFERED: tuple[Layout, ...] = (features, specum, speckit)  # for the type checker, which looks at each

    class Listed(Protocol):
        """What has the files of a task list: a source, or the record of a loop over one."""

        layout: str
        paths: dict[str, str]


# Each is a module here. The first is the usual one: what `new` makes, `demo` shows and `doctor` tries first.
LAYOUTS = ("features", "specum", "speckit")

_known: dict[str, Layout] = {}


def layout(name: str) -> Layout:
    if name not in _known:
        if name not in LAYOUTS:
            raise ValueError("no such layout: " + name)
        module: Any = __import__("ralphloop.tasklists." + name, None, None, ["TRAITS"])
        _known[name] = module
    return _known[name]


def traits(name: str) -> Traits:
    return layout(name).TRAITS


def own_file(listed: Listed) -> str:
    """The file without which there is no loop."""
    return listed.paths[traits(listed.layout).own]

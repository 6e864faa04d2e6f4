"""What a reason must name: how the agent calls us, and where the files are."""

from __future__ import annotations

import sys

from ralphloop import system as os
from ralphloop.domain import prompt
from ralphloop.domain.model import PLUGIN_VARIABLE
from ralphloop.tasklists.registry import traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping

    from ralphloop.store.loop import LoopFiles


def words_for(loop: LoopFiles, cwd: str, env: Mapping[str, str]) -> prompt.Words:
    paths, layout = loop.record.paths, traits(loop.record.layout)
    listed = paths[layout.criteria]
    if layout.criteria != layout.own and not os.path.exists(listed):
        listed = paths[layout.own]
    notes = paths.get("progress") or os.path.join(os.path.dirname(listed), ".progress.md")
    return prompt.Words(
        command=command(env),
        traits=layout,
        list_path=shown(listed, cwd),
        notes_path=shown(notes, cwd),
        plugin=layout.plugin if env.get(PLUGIN_VARIABLE) else "",
        run=loop.record.name if loop.record.supervision is not None else "",
        branch=loop.record.supervision.branch if loop.record.supervision is not None else "",
    )


def command(env: Mapping[str, str]) -> str:
    """How the agent calls us: by name if that is on PATH, else in full. A plugin's own `bin` is on the PATH
    of the agent's shell; where it may not be executed, the plugin's prompts allow the spelling with `sh`."""
    for folder in (env.get("PATH") or "").split(os.pathsep):
        if folder and os.access(os.path.join(folder, "ralphloop"), os.X_OK):
            return "ralphloop"
    own = own_script()
    if os.access(own, os.X_OK):
        return "ralphloop"
    if os.path.isfile(own) and not any(char in own for char in '"$`\\'):
        return 'sh "%s"' % own
    # The hook runs under the real interpreter, and a rule must match what it says.
    python = os.path.realpath(sys.executable) if sys.executable else "python3"
    return "%s %s" % (prompt.shell_word(python), prompt.shell_word(package()))


def own_script() -> str:
    """The command line in the plugin that this package lies in, if it lies in one."""
    return os.path.join(os.path.dirname(package()), "bin", "ralphloop")


def package() -> str:
    """The folder that we lie in."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shown(path: str, cwd: str) -> str:
    """The path as short as it can be said from the session's folder."""
    near = os.path.realpath(cwd).rstrip(os.sep) + os.sep
    return path[len(near) :] if path.startswith(near) else path

"""The door to our exceptions, which `error_tree` draws and defines.

Making a class costs a stop 0.2 %, and a stop that goes well neither raises nor catches any. So what the hook
may load says `errors.BusyError` where it is raised or caught, and no class is made before that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.error_tree import *  # noqa: F403
else:

    def __getattr__(name):
        from ralphloop import error_tree

        return getattr(error_tree, name)

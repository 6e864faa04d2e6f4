"""The part of `os` that the hot path needs, under the same names, without what `os` itself imports.

Importing `os` costs more than a decision, most of it for classes that a hook never uses. Where `os` is
loaded already, or there is no `posix`, it is `os`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING or "os" in sys.modules or sys.platform == "win32":
    from os import *  # noqa: F403
    from os import _exit as _exit
    from os import fsencode as fsencode
    from os import path as path
else:
    from posix import *  # noqa: F403
    from posix import _exit as _exit
    from posix import environ as _environ

    from ralphloop import posix_path as path

    sep, pathsep, SEEK_SET = "/", ":", 0
    environ = {key.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
               for key, value in _environ.items()}  # fmt: skip

    def fsencode(text: str) -> bytes:
        return text.encode("utf-8", "surrogateescape")

    def makedirs(name: str, mode: int = 0o777, exist_ok: bool = False) -> None:
        """As in `os`, the folders above are made too, and one that is there already is no error."""
        above = path.dirname(name.rstrip("/"))
        if above and not path.exists(above):
            makedirs(above, exist_ok=True)
        try:
            mkdir(name, mode)  # noqa: F405
        except FileExistsError:
            if not exist_ok or not path.isdir(name):
                raise

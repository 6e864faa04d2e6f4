"""Serves the hot modules out of one file of byte code. Not imported: `launch.py` runs this code out of
the bundle itself, with its open `file`, its `index` and `folder` set, and imports modules one by one if
it raises."""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat
    from typing import Any, BinaryIO

    file: BinaryIO
    index: dict[str, Any]
    folder: str
else:
    try:
        from posix import stat
    except ImportError:  # Windows
        from nt import stat

for path, size, written in index["sources"]:
    found = stat(folder + path)
    if found.st_size != size or found.st_mtime_ns != written:
        raise ImportError(path)


class Finder:
    """An import hook: a module that is in the bundle is run from there, any other is left alone."""

    spec: Any = type(sys.__spec__)

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        entry = index["modules"].get(name)
        if entry is None:
            return None
        spec = cls.spec(name, cls, origin=folder + entry[0], is_package=entry[1])
        spec.has_location = True
        return spec

    @staticmethod
    def create_module(spec: Any) -> None:
        """The import system makes the module."""

    @staticmethod
    def exec_module(module: Any) -> None:
        _, _, start, size = index["modules"][module.__name__]
        file.seek(codes + start)
        exec(marshal.loads(file.read(size)), module.__dict__)  # noqa: S102, S302 - our own byte code, kept beside our source


codes = file.tell()
sys.meta_path.insert(0, Finder)

"""The interpreter that the shell guard starts: the real one behind links, recorded for it."""

from __future__ import annotations

import os
import sys

from ralphloop.loops.place import Place
from ralphloop.store import files, shelf


def real() -> str:
    """This Python without the links that lead to it; empty if it does not know where it is."""
    return os.path.realpath(sys.executable) if sys.executable else ""


def record(place: Place) -> None:
    """The shell guard starts this Python: the one on the client's PATH may be another, or none."""
    if not real():
        return
    folder = shelf.home(place.env)
    path, text = os.path.join(folder, "python"), real() + "\n"
    if files.read_quietly(path) != text:
        files.make_folder(folder)
        files.write_text(path, text)

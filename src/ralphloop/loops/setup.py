"""What the client would load for a session here: its settings, its plugins, and our hooks in them."""

from __future__ import annotations

import os

from ralphloop.agents.registration import Setup as Setup
from ralphloop.agents.registry import client
from ralphloop.engine.words import package
from ralphloop.loops.place import Place
from ralphloop.store import files

PACKAGE = package()


def look(place: Place, root: str = "") -> Setup:
    """For a session in this folder; `root` is another one whose settings it reads, by default the project."""
    folders = (root or place.project, os.path.realpath(place.cwd))
    return client().registration.look(place.env, folders, files.read_text)

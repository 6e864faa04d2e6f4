"""What the service has done about a loop so far, kept beside it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles


class Care(NamedTuple):
    """`kept/<loop id>/service.json` holds exactly these fields."""

    starts: int = 0
    at: float = 0.0  # when the last of them was
    iteration: int = 0  # of the loop then
    why: str = ""  # the last one failed
    gave_up: bool = False
    silent: float = 0.0  # the last sign of life of a supervisor that the person was told of


def of(loop: LoopFiles) -> Care:
    """Of tries that a turn has come after nothing is left."""
    said = files.read_object(_place(loop))
    usual: dict[str, Any] = Care()._asdict()
    care = Care(**{name: said[name] for name in usual if type(said.get(name)) is type(usual[name])})
    is_of_now = loop.state().iteration == care.iteration and care.starts >= 0
    return care if is_of_now else Care(silent=care.silent)


def keep(loop: LoopFiles, care: Care) -> None:
    files.make_folder(loop.kept)
    files.write_text(_place(loop), jsontext.render(care._asdict()) + "\n")


def forget(loop: LoopFiles) -> None:
    """A person drives it anew."""
    files.remove(_place(loop))


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "service.json")

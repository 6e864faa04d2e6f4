"""Meets stops with faults while our store is made careless in one way: prints how many were lost, and met."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from faults.campaign import Trial  # noqa: E402
from faults.ground import load_everything  # noqa: E402
from faults.scene import scenes  # noqa: E402
from ralphloop.lab.faults import FULL, KILL_AFTER, NO_SPACE  # noqa: E402
from ralphloop.store import files  # noqa: E402
from ralphloop.store.loop import LoopFiles  # noqa: E402

WRITE, APPEND = files.write_bytes, files.append


def write_in_place(path: str, data: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def say_nothing(path: str, data: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    with contextlib.suppress(OSError):
        WRITE(path, data, mode=mode, durable=durable)


def add_nothing(path: str, text: str, *, most: int = 0) -> None:
    with contextlib.suppress(OSError):
        APPEND(path, text, most=most)


def torn() -> None:
    files.write_bytes = write_in_place


def unsaid() -> None:
    files.write_bytes, files.append = say_nothing, add_nothing


def forgetful() -> None:
    """A ledger that forgets what it knows whenever it is written again."""
    save = LoopFiles.save_ledger

    def forget(loop: LoopFiles, ledger: object) -> None:
        ledger.tasks.clear()  # type: ignore[attr-defined]
        save(loop, ledger)  # type: ignore[arg-type]

    LoopFiles.save_ledger = forget  # type: ignore[method-assign,assignment]


EVERY = 2  # of the calls
CARELESS: dict[str, tuple[Callable[[], None], str, str]] = {
    "torn": (torn, "features/resume", KILL_AFTER),
    "unsaid": (unsaid, "features/continues", FULL),
    "forgetful": (forgetful, "features/claim", NO_SPACE),
}


def main(name: str, folder: Path) -> None:
    load_everything()
    spoil, wanted, kind = CARELESS[name]
    (scene,) = (one for one in scenes() if one.name == wanted)
    trial = Trial(scene, folder)
    spoil()
    met = [trial.meet(point) for point in trial.points() if point.kind == kind and point.at % EVERY == 0]
    print(sum(bool(one.lost) for one in met), len(met))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

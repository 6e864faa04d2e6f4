"""What grows moves aside when it is too long: one older file is kept, so that nothing grows for ever."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.store.lock import try_lock


def older(path: str) -> str:
    """`journal.jsonl` was `journal.1.jsonl` before it was moved aside."""
    stem, _, extension = path.rpartition(".")
    return "%s.1.%s" % (stem, extension)


def rotate(path: str, handle: int) -> None:
    """Move the file aside, if it is still the one that was found too long. Of several who find it so, one
    holds its lock; who has it open writes into it still, and nothing is lost."""
    try:
        if try_lock(handle) and os.stat(path).st_ino == os.fstat(handle).st_ino:
            os.replace(path, older(path))
    except OSError:
        pass  # it is no more than too long

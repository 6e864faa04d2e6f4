"""What the transcript of a session tells, whichever client wrote it: what was done as it is shown, what each
message used, how full the session is, and when."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Activity(NamedTuple):
        """A few short lines of one kind; those of an edit after its first begin with `- ` or `+ `."""

        kind: str
        lines: tuple[str, ...]
        at: float = 0.0

    class _Charge(NamedTuple):
        at: str
        model: str
        input: int
        output: int
        cache_write: int
        cache_write_1h: int
        cache_read: int
        prompt: int = 0
        fast: bool = False
        us_only: bool = False

    class Context(NamedTuple):
        """How full a session's context is; the window is None for a model that the table does not know."""

        tokens: int
        model: str
        window: int | None

else:
    # `typing` takes longer to import than a whole stop of the hook that counts.
    from collections import namedtuple

    _Charge = namedtuple(
        "_Charge",
        "at model input output cache_write cache_write_1h cache_read prompt fast us_only",
        defaults=(0, False, False),
    )
    Context = namedtuple("Context", "tokens model window")
    Activity = namedtuple("Activity", "kind lines at", defaults=(0.0,))

TEXT, TOOL, EDIT, FAILED, ERROR = "text", "tool", "edit", "failed", "error"
HOOK, LOOP, PROMPT = "hook", "loop", "prompt"
SENT = (PROMPT, HOOK)  # what the session is sent, by us or by the person


class Charge(_Charge):
    """What one message of a model used, or what was added to it since it was last counted.

    `prompt` is the whole message's input with all caches: some models cost more above a length.
    """

    __slots__ = ()

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_write_1h + self.cache_read


def moment(stamp: object) -> float | None:
    """`2026-01-31T10:00:05.123Z` in seconds; None for what is no such stamp of a transcript or a journal."""
    from calendar import timegm  # more to import than a hook that counts can wait for

    text = stamp if isinstance(stamp, str) else ""
    try:
        seconds = timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    return seconds + (int(text[20:23]) / 1000 if text[20:23].isdigit() and len(text) == 24 else 0.0)

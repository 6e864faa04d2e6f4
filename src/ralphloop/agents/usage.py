"""What a session used, message by message, and how full it is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

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


class Charge(_Charge):
    """What one message of a model used, or what was added to it since it was last counted.

    `prompt` is the whole message's input with all caches: some models cost more above a length.
    """

    __slots__ = ()

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_write + self.cache_write_1h + self.cache_read

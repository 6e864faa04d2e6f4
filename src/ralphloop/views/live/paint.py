"""A terminal's whole screen while the view has it: its characters, and only rows that changed drawn again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.text import Text

from ralphloop.agents.transcript import EDIT, ERROR, FAILED, HOOK, LOOP, PROMPT, TEXT, TOOL
from ralphloop.domain.model import ASKED, CLAIMED, OPEN, SET_ASIDE, SKIPPED
from ralphloop.views.fold import size_of


class Signs(NamedTuple):
    activity: dict[str, str]
    task: dict[str, str]
    closed: str
    at_hand: str
    line: str
    upright: str
    between: str
    more: str
    full: str
    empty: str
    levels: str


UNICODE = Signs(
    activity={
        TEXT: "●", TOOL: "→", EDIT: "±", FAILED: "✗", ERROR: "!", HOOK: "↻", LOOP: "◆", PROMPT: "›",
    },
    task={OPEN: "☐", CLAIMED: "~", ASKED: "?", SKIPPED: "–", SET_ASIDE: "–"},
    closed="✓",
    at_hand="▸",
    line="─",
    upright="│",
    between=" · ",
    more="…",
    full="█",
    empty="░",
    levels="▁▂▃▄▅▆▇█",
)  # fmt: skip
ASCII = Signs(
    activity={
        TEXT: "*", TOOL: ">", EDIT: "+", FAILED: "x", ERROR: "!", HOOK: "@", LOOP: "#", PROMPT: ":",
    },
    task={OPEN: ".", CLAIMED: "~", ASKED: "?", SKIPPED: "-", SET_ASIDE: "-"},
    closed="x",
    at_hand=">",
    line="-",
    upright="|",
    between=" | ",
    more="..",
    full="#",
    empty=".",
    levels="_.-=#",
)  # fmt: skip


def signs_for(encoding: str | None) -> Signs:
    try:
        "".join([*UNICODE.activity.values(), UNICODE.closed, UNICODE.levels]).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE


# The other screen, no cursor, and no wrapping: a character that is wider than we think ends at the edge.
_OPEN, _CLOSE = "\033[?1049h\033[?25l\033[?7l\033[2J", "\033[0m\033[?7h\033[?25h\033[?1049l"
_CACHE_MAX = 2000
LEAST_ROWS = 24  # of a terminal that does not say how many it has


class Painter:
    """A context manager: whatever happens inside, the terminal has its own screen back afterwards."""

    def __init__(self, out: TextIO, env: Mapping[str, str]) -> None:
        self._out = out
        self._console = Console(
            file=out,
            force_terminal=True,
            no_color=bool(env.get("NO_COLOR")),
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        self._shown: list[str] = []
        self._size = (0, 0)
        self._cache: dict[object, str] = {}

    def __enter__(self) -> Painter:
        self._shown = []
        self._write(_OPEN)
        return self

    @contextmanager
    def away(self) -> Iterator[None]:
        """While the person is back in the shell."""
        self._write(_CLOSE)
        yield
        self.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the terminal is gone, and its screen with it
            self._write(_CLOSE)

    def size(self) -> tuple[int, int]:
        return size_of(self._out, {}, rows=LEAST_ROWS)

    def paint(self, rows: Sequence[Text], size: tuple[int, int]) -> None:
        """After a resize nobody knows what is on the screen: then it is drawn as a whole."""
        told = [self.told(text) for text in rows]
        before = self._shown if size == self._size and len(self._shown) == len(told) else []
        parts = [] if before else ["\033[2J"]
        for place, line in enumerate(told):
            if not before or before[place] != line:
                parts.append(f"\033[{place + 1};1H\033[2K{line}")
        self._shown, self._size = told, size
        if parts:
            self._write("".join(parts))

    def told(self, text: Text) -> str:
        """The row as the terminal gets it."""
        key = text.plain, tuple(text.spans)
        known = self._cache.get(key)
        if known is None:
            if len(self._cache) > _CACHE_MAX:
                self._cache.clear()
            with self._console.capture() as captured:
                self._console.print(text, end="", no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
            known = self._cache[key] = captured.get()
        return known

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

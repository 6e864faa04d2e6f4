"""What a loop's proof leaves in doubt, and what was noted about it, in words: counted, and few of many. The
names in them are others' texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ralphloop.domain.prompt import count
from ralphloop.views.fold import SHOWN, cut, few, shown

if TYPE_CHECKING:
    from ralphloop.domain.finding import Finding
    from ralphloop.views.snapshot import LoopView

DOUBTS_SHOWN = 5  # where there is more to see than doubts
FILES_SHOWN = 5  # beside a task
SAID_MAX, NOTE_MAX, NAME_MAX = 400, 120, 120


def counted(view: LoopView) -> str:
    """`2 doubts`; empty for a loop that is not complete, or of whose proof nothing is doubtful."""
    return count(len(view.proof.doubts), "doubt") if view.doubted else ""


def lines(view: LoopView, most: int) -> list[str]:
    """A line for each of the first doubts, and one for all notes."""
    doubts, notes = view.proof.doubts, view.proof.notes
    told = [f"doubt: {sentence(one, most)}" for one in doubts[:DOUBTS_SHOWN]]
    more = len(doubts) - DOUBTS_SHOWN
    if more > 0:
        told.append(f"and {count(more, 'more doubt')}: `ralphloop report {view.name}` names all")
    if notes:
        first = [sentence(one, NOTE_MAX) for one in notes[:SHOWN]]
        told.append("noted: " + _joined(first, len(notes)))
    return told


def sentence(one: Finding, most: int = SAID_MAX) -> str:
    """Without its full stop, on one line, with nothing in it that a terminal obeys."""
    return cut(shown(one.said, most), most) or one.kind


def names(files: Sequence[str], most: int = FILES_SHOWN) -> str:
    """The first of these files, and how many more there are."""
    return few([cut(shown(name, NAME_MAX), NAME_MAX) for name in files[:most]], len(files))


def _joined(first: Sequence[str], all_of_them: int) -> str:
    more = all_of_them - len(first)
    return "; ".join([*first, *([f"and {more:,} more"] if more else [])])

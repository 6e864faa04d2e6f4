"""The pinned tasks of a tasks.md: a block that was changed or removed is put back, boxes as they stand."""

from __future__ import annotations

from ralphloop.tasklists import boxes, markdown, restoring
from ralphloop.tasklists.restoring import Restored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

    from ralphloop.tasklists.source import Texts

_DIGITS = "0123456789"
_REMOVED = ["removed"]


class _Boxes:
    """A tasks.md as read: its lines, which of them each task has, and the tasks."""

    __slots__ = ("blocks", "lines", "tasks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = markdown.lines(text)
        self.blocks = boxes.blocks(self.lines)
        self.tasks = boxes.read_tasks(text, [self.block(place) for place in range(len(self.blocks))])

    def block(self, place: int) -> list[markdown.Line]:
        start, end = self.blocks[place]
        return self.lines[start:end]

    def own(self, place: int) -> list[markdown.Line]:
        block = self.block(place)
        return block[: boxes.own(block)]

    def extent(self, place: int) -> tuple[int, int]:
        """Where the task's own lines start, with their indent, and where they end."""
        own = self.own(place)
        return own[0].start, markdown.end(self.text, own[-1])

    def rows(self, lines: list[markdown.Line]) -> list[str]:
        return [self.text[line.start : markdown.end(self.text, line)] for line in lines]


def restore(texts: Texts, pinned: Texts) -> Restored:
    old, new = pinned.get("tasks"), texts.get("tasks")
    if old is None or old == new:
        return Restored()
    if new is None:
        return Restored({"tasks": old}, faults=[("", "removed")])
    then, now = _Boxes(old), _Boxes(new)
    pairs = restoring.pair(then.tasks, now.tasks)
    changed = _changes(then, now, pairs)
    if not any(changed):
        return Restored(added=restoring.added(now.tasks, pairs))
    edits = _edits(then, now, pairs=pairs, changed=changed) if now.tasks else []
    text = restoring.splice(new, edits)
    mended = _Boxes(text)  # a fence or an indent around them can still hide tasks that are back
    pairs = restoring.pair(then.tasks, mended.tasks)
    if any(_changes(then, mended, pairs)):
        return _start_over(then, now)
    faults = [(restoring.shown(task), what) for task, found in zip(then.tasks, changed) for what in found]
    return Restored({"tasks": text}, faults=faults, added=restoring.added(mended.tasks, pairs))


def _changes(then: _Boxes, now: _Boxes, pairs: list[int]) -> list[list[str]]:
    """For each pinned task what is no longer as it was."""
    return [
        _changed(then, now, at=at, place=place) if place >= 0 else _REMOVED for at, place in enumerate(pairs)
    ]


def _changed(then: _Boxes, now: _Boxes, *, at: int, place: int) -> list[str]:
    is_verified = then.tasks[at].verify == now.tasks[place].verify
    if is_verified and then.rows(then.block(at)) == now.rows(now.block(place)):
        return []
    found = [] if is_verified else ["verify"]
    own = then.own(at)
    wanted = [
        _erased(row)
        for row, line in zip(then.rows(own), own)
        if line.text and (is_verified or not boxes.command(line))
    ]
    if not _starts_and_has([_erased(row) for row in now.rows(now.block(place))], wanted):
        found.append("text")
    return found


def _starts_and_has(rows: list[str], wanted: list[str]) -> bool:
    """Whether both begin with the same row, and the wanted ones are among the others in their order."""
    rest = iter(rows)
    return rows[0] == wanted[0] and all(row in rest for row in wanted)


def _erased(row: str) -> str:
    """The row without white space at its end, and with its box, if it has one, cleared."""
    row = row.rstrip(" \t\r\ufeff")
    at = _state_at(row)
    return row[:at] + " " + row[at + 1 :] if at else row


def _state_at(row: str) -> int:
    """Where the state of the row's box stands, 0 if it has none; in numbered lists there are boxes, too."""
    rest = row.lstrip(" \t\ufeff")
    bare = rest.lstrip(_DIGITS)
    marks = ("-", "*", "+") if bare == rest else (".", ")")
    box = bare[1:].lstrip(" \t")
    is_box = box[:3] in ("[ ]", "[x]", "[X]") and box[3:4] in ("", " ", "\t")
    return len(row) - len(box) + 1 if is_box and bare[:1] in marks and bare[1:2] in (" ", "\t") else 0


def _edits(then: _Boxes, now: _Boxes, *, pairs: list[int], changed: list[list[str]]) -> list[restoring.Edit]:
    """Each changed block as it has to be, and each removed one behind the one that it stood behind."""
    edits: list[restoring.Edit] = []
    newline = _newline(now.text if "\n" in now.text else then.text)
    anchor = -1
    for at, (place, found) in enumerate(zip(pairs, changed)):
        rows = then.rows(then.own(at))
        if place >= 0:
            start, anchor = now.extent(place)
            if found:
                rows = _with_states(rows, now.rows(now.own(place)))
                edits.append((start, anchor, newline.join(rows)))
        elif anchor >= 0:
            gap = newline * (1 + boxes.blanks(then.lines, then.blocks[at][0] - 1, -1))
            edits.append((anchor, anchor, gap + newline.join(rows)))
        else:
            first = now.extent(0)[0]
            gap = newline * (1 + boxes.blanks(then.lines, then.blocks[at][0] + len(rows), 1))
            edits.append((first, first, newline.join(rows) + gap))
    return edits


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _with_states(rows: list[str], present: list[str]) -> list[str]:
    """The rows with their boxes as the same rows have them at present."""
    states: dict[str, list[str]] = {}
    for row in reversed(present[1:]):
        states.setdefault(_erased(row), []).append(row[_state_at(row)] if row else "")
    found = [_with_state(rows[0], present[0][_state_at(present[0])])]
    for row in rows[1:]:
        known = states.get(_erased(row))
        found.append(_with_state(row, known.pop()) if known else row)
    return found


def _with_state(row: str, state: str) -> str:
    at = _state_at(row)
    return row[:at] + state + row[at + 1 :] if at else row


def _start_over(then: _Boxes, now: _Boxes) -> Restored:
    """The pinned text with the claims of the present one: there is nothing to mend block by block."""
    claims = dict(zip(restoring.keys(now.tasks), [task.done for task in now.tasks]))
    text = restoring.splice(then.text, list(_claimed(then, claims)))
    return Restored({"tasks": text}, faults=[("", "structure")])


def _claimed(then: _Boxes, claims: dict[tuple[str, str], bool]) -> Iterable[restoring.Edit]:
    for place, key in enumerate(restoring.keys(then.tasks)):
        done = claims.get(key, then.tasks[place].done)
        if done != then.tasks[place].done:
            at = then.text.index("[", then.block(place)[0].offset) + 1
            yield at, at + 1, "x" if done else " "

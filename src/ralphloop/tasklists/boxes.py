"""The boxes of a tasks.md: read, marked, and put back to what was pinned."""

from __future__ import annotations

from ralphloop.domain.model import Task
from ralphloop.tasklists import markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

    from ralphloop.tasklists.markdown import Line
    from ralphloop.tasklists.restoring import Edit, Restored
    from ralphloop.tasklists.source import Texts

_DIGITS = "0123456789"
_SEPARATORS = (":", "-", "–", "—")
_LONGEST_MARK = 40
_REMOVED = ["removed"]


def parse(text: str) -> list[Task]:
    lines = markdown.lines(text)
    return read_tasks(text, [lines[start:end] for start, end in blocks(lines)])


def read_tasks(text: str, found: list[list[Line]]) -> list[Task]:
    """The tasks that these blocks of lines are."""
    tasks: list[Task] = []
    seen: set[str] = set()
    for block in found:
        task = _task(text, block)
        if task.id in seen:
            task.id = ""
        seen.add(task.id)
        tasks.append(task)
    return tasks


def set_box(text: str, place: int, *, done: bool) -> str:
    """The text with the box of the task at `place` checked or cleared."""
    lines = markdown.lines(text)
    places = _places(lines)
    if not 0 <= place < len(places):
        raise ValueError("tasks.md has no task %d." % (place + 1))
    line = lines[places[place]]
    if _is_checked(line) == done:
        return text
    at = text.index("[", line.offset) + 1
    return text[:at] + ("x" if done else " ") + text[at + 1 :]


def remove(text: str, place: int) -> str:
    """The text without the task at `place` and the blank lines that set it apart."""
    lines = markdown.lines(text)
    found = blocks(lines)
    if not 0 <= place < len(found):
        raise ValueError("tasks.md has no task %d." % (place + 1))
    start, end = found[place]
    end = start + own(lines[start:end])
    above, below = blanks(lines, start - 1, -1), blanks(lines, end, 1)
    kept = start - (above if end + below == len(lines) else min(above, below))
    if kept == 0:
        rest = end + below
        return text[: lines[0].start] + (text[lines[rest].start :] if rest < len(lines) else "")
    return text[: markdown.end(text, lines[kept - 1])] + text[markdown.end(text, lines[end - 1]) :]


def blanks(lines: list[Line], at: int, step: int) -> int:
    """How many lines are blank from there on, upwards or downwards."""
    count = 0
    while 0 <= at < len(lines) and not lines[at].text:
        count += 1
        at += step
    return count


def blocks(lines: list[Line]) -> list[tuple[int, int]]:
    """For each task its first line, and the first one that is no longer its own."""
    places = _places(lines)
    return [
        (start, start + len(_block(lines[start:end])))
        for start, end in zip(places, [*places[1:], len(lines)])
    ]


def _places(lines: list[Line]) -> list[int]:
    """The lines that are tasks: the boxes that are indented least."""
    boxes = [at for at, line in enumerate(lines) if not line.quoted and _box(line)]
    least = min([lines[at].indent for at in boxes], default=0)
    return [at for at in boxes if lines[at].indent == least]


def _box(line: Line) -> str:
    """The line from its box on, or nothing if it has none."""
    rest = line.text[1:].lstrip(" \t") if markdown.is_item(line) else ""
    is_box = rest[:3] in ("[ ]", "[x]", "[X]") and rest[3:4] in ("", " ", "\t")
    return rest if is_box else ""


def _is_checked(line: Line) -> bool:
    return _box(line)[1] != " "


def _task(text: str, block: list[Line]) -> Task:
    identity, title, marks = read_title(_box(block[0])[3:])
    last = block[-1]
    body = text[block[0].offset : last.offset + len(last.text)].replace("\r\n", "\n")
    verify = [command(line) for line in block[1:]]
    return Task(
        identity,
        title,
        done=_is_checked(block[0]),
        body=body,
        marks=marks,
        verify=[found for found in verify if found],
    )


def _block(lines: list[Line]) -> list[Line]:
    """The task's own lines: what follows a heading is not about it."""
    end = 1
    for at, line in enumerate(lines[1:], 1):
        if markdown.is_heading(line) and line.indent < lines[0].indent + 2:
            break
        if line.text:
            end = at + 1
    return lines[:end]


def own(block: list[Line]) -> int:
    """How many of a task's lines are about it alone: a paragraph that stands apart below it, such as a
    phase's checkpoint, is about more, unless a command follows."""
    count = 0
    for at, line in enumerate(block[1:], 1):
        above = block[at - 1]
        if command(line):
            count = 0
        elif not (count or above.text or above.quoted) and line.text and line.indent <= block[0].indent:
            count = at
    count = count or len(block)
    return count - blanks(block, count - 1, -1)


def read_title(text: str) -> tuple[str, str, list[str]]:
    """Id, title and marks of a task, from what stands behind its box."""
    identity = ""
    marks: list[str] = []
    bold = False
    at = 0
    while at < len(text):
        mark, end = _mark_at(text, at)
        if text[at] in " \t":
            at += 1
        elif text.startswith("**", at):
            bold = not bold
            at += 2
        elif mark:
            marks.append(mark)
            at = end
        else:
            token = "" if identity else _first_word(text[at:])
            if not is_id(_bare(token)):
                break
            identity = _bare(token)
            bold = bold != ("**" in token)
            at = text.index(token, at) + len(token)
    text = text[at:]
    if bold:
        text = text.replace("**", "", 1)
    if (identity or marks) and text[:1] in _SEPARATORS and text[1:2] in ("", " ", "\t"):
        text = text[1:]
    return identity, text.strip(" \t"), marks


def _first_word(text: str) -> str:
    words = text.split(None, 1)
    return words[0] if words else ""


def _bare(token: str) -> str:
    return token.rstrip("*.:)")


def is_id(token: str) -> bool:
    """1.1, 1.3.1, 2, T001, V4, VE1, VF: what the plugins generate; any other word is title."""
    letters = token.rstrip(_DIGITS)
    if letters in ("T", "V", "VE", "VF"):
        return len(token) > len(letters) or letters == "VF"
    return all(part and not part.strip(_DIGITS) for part in token.split("."))


def _mark_at(text: str, at: int) -> tuple[str, int]:
    """The tag in brackets that starts here, and where it ends; a link is not a tag."""
    quote = "`" if text.startswith("`[", at) else ""
    if not text.startswith(quote + "[", at):
        return "", at
    close = text.find("]" + quote, at)
    end = close + 1 + len(quote)
    mark = text[at + len(quote) + 1 : close].strip()
    if close < 0 or len(mark) > _LONGEST_MARK or "[" in mark or "]" in mark or text.startswith("(", end):
        return "", at
    return mark, end


def command(line: Line) -> str:
    """The command of a Verify line: its whole text, if that is one code span."""
    if line.quoted:
        return ""
    text = line.text[1:].lstrip(" \t") if markdown.is_item(line) else line.text
    label, colon, value = text.partition(":")
    opened = label[: len(label) - len(label.lstrip("*_"))]
    if not colon or label.strip("*_ \t").lower() != "verify":
        return ""
    if opened and not label.endswith(opened):
        if not value.startswith(opened):
            return ""
        value = value[len(opened) :]
    return _code_span(value.strip())


def _code_span(text: str) -> str:
    ticks = len(text) - len(text.lstrip("`"))
    fence = "`" * ticks
    inner = text[ticks : len(text) - ticks]
    if not ticks or not text.endswith(fence) or len(text) <= 2 * ticks:
        return ""
    runs = "".join([char if char == "`" else " " for char in inner]).split()
    if fence in runs or inner.endswith("`"):
        return ""
    return inner.strip()


class _Boxes:
    """A tasks.md as read: its lines, which of them each task has, and the tasks."""

    __slots__ = ("blocks", "lines", "tasks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = markdown.lines(text)
        self.blocks = blocks(self.lines)
        self.tasks = read_tasks(text, [self.block(place) for place in range(len(self.blocks))])

    def block(self, place: int) -> list[markdown.Line]:
        start, end = self.blocks[place]
        return self.lines[start:end]

    def own(self, place: int) -> list[markdown.Line]:
        block = self.block(place)
        return block[: own(block)]

    def extent(self, place: int) -> tuple[int, int]:
        """Where the task's own lines start, with their indent, and where they end."""
        own = self.own(place)
        return own[0].start, markdown.end(self.text, own[-1])

    def rows(self, lines: list[markdown.Line]) -> list[str]:
        return [self.text[line.start : markdown.end(self.text, line)] for line in lines]


def restore(texts: Texts, pinned: Texts) -> Restored:
    from ralphloop.tasklists import restoring

    old, new = pinned.get("tasks"), texts.get("tasks")
    if old is None or old == new:
        return restoring.Restored()
    if new is None:
        return restoring.Restored({"tasks": old}, faults=[("", "removed")])
    then, now = _Boxes(old), _Boxes(new)
    pairs = restoring.pair(then.tasks, now.tasks)
    changed = _changes(then, now, pairs)
    if not any(changed):
        return restoring.Restored(added=restoring.added(now.tasks, pairs))
    edits = _edits(then, now, pairs=pairs, changed=changed) if now.tasks else []
    text = restoring.splice(new, edits)
    mended = _Boxes(text)  # a fence or an indent around them can still hide tasks that are back
    pairs = restoring.pair(then.tasks, mended.tasks)
    if any(_changes(then, mended, pairs)):
        return _start_over(then, now)
    faults = [(restoring.shown(task), what) for task, found in zip(then.tasks, changed) for what in found]
    return restoring.Restored({"tasks": text}, faults=faults, added=restoring.added(mended.tasks, pairs))


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
        if line.text and (is_verified or not command(line))
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


def _edits(then: _Boxes, now: _Boxes, *, pairs: list[int], changed: list[list[str]]) -> list[Edit]:
    """Each changed block as it has to be, and each removed one behind the one that it stood behind."""
    edits: list[Edit] = []
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
            gap = newline * (1 + blanks(then.lines, then.blocks[at][0] - 1, -1))
            edits.append((anchor, anchor, gap + newline.join(rows)))
        else:
            first = now.extent(0)[0]
            gap = newline * (1 + blanks(then.lines, then.blocks[at][0] + len(rows), 1))
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
    from ralphloop.tasklists import restoring

    claims = dict(zip(restoring.keys(now.tasks), [task.done for task in now.tasks]))
    text = restoring.splice(then.text, list(_claimed(then, claims)))
    return restoring.Restored({"tasks": text}, faults=[("", "structure")])


def _claimed(then: _Boxes, claims: dict[tuple[str, str], bool]) -> Iterable[Edit]:
    from ralphloop.tasklists import restoring

    for place, key in enumerate(restoring.keys(then.tasks)):
        done = claims.get(key, then.tasks[place].done)
        if done != then.tasks[place].done:
            at = then.text.index("[", then.block(place)[0].offset) + 1
            yield at, at + 1, "x" if done else " "

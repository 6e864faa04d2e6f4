"""The check boxes of a tasks.md: one task each, and the edit that sets one."""

from __future__ import annotations

from ralphloop.domain.model import Task
from ralphloop.tasklists import markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.tasklists.markdown import Line

_DIGITS = "0123456789"
_SEPARATORS = (":", "-", "–", "—")
_LONGEST_MARK = 40


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

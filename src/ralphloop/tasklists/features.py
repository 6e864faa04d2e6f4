"""The `features` layout: where its files are, and the lines of progress.txt that a run keeps current."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.layout import TELL, Traits
from ralphloop.domain.model import OUTCOMES
from ralphloop.tasklists.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

    from ralphloop.domain.model import TaskList
    from ralphloop.tasklists.restoring import Restored
    from ralphloop.tasklists.source import Tally, Texts

NAME = "features"
_FILES = {"list": "feature_list.json", "progress": "progress.txt", "prompt": "RALPH_PROMPT.md"}
TRAITS = Traits(
    plugin="ralphloop",
    action="",
    voice="",
    kind="list",
    files=_FILES,
    truth=("list",),
    phases={},
    settings="",
    chosen_by="RALPH_LOOP_DIR",
    iterations=0,
    closing='"passes": true',
    delegates=False,
    waits_for_approval=True,
    rests_empty=False,
    tells_completion=True,
    at_limit=TELL,
)
_LOOPS = (".ralph", "loops")
_DOCUMENTED_LOOPS = (".claude", "data", "ralph-loops")

# the lines of progress.txt
STATUS, ITERATION, MAX_ITERATIONS = "status", "iteration", "max iterations"
_LABELS = (STATUS, ITERATION, MAX_ITERATIONS)
_ENDS = frozenset([outcome.upper() for outcome in OUTCOMES] + ["REACHED_LIMIT"])
_WORDS = _ENDS | {"IN_PROGRESS"}
_BEFORE_LABEL = " \t\r\ufeff-*+#>_`"
_AROUND_VALUE = " \t\r*`"
_DIGITS = "0123456789"
_LONGEST_LABEL = 60  # with its dress; a colon further right is prose
_LONGEST_NUMBER = 9


def locate(
    root: str,
    *,
    env: Mapping[str, str],
    read: Callable[[str], Optional[str]],
    names: Callable[[str], list[str]],
) -> list[Source]:
    chosen = env.get(TRAITS.chosen_by)
    if chosen:
        folder = os.path.normpath(os.path.join(root, chosen))
        return [_source(root, folder)] if _FILES["list"] in names(folder) else []
    return [_source(root, folder) for folder in _folders(os.path.join(root, *_LOOPS), names)] + [
        _source(root, folder)
        for folder in _documented(os.path.join(root, *_DOCUMENTED_LOOPS), read=read, names=names)
    ]


def _folders(parent: str, names: Callable[[str], list[str]]) -> list[str]:
    folders = [os.path.join(parent, name) for name in names(parent)]
    return [folder for folder in folders if _FILES["list"] in names(folder)]


def _documented(
    parent: str, *, read: Callable[[str], Optional[str]], names: Callable[[str], list[str]]
) -> list[str]:
    """The folder `current`, else the only one that has not ended: among several none is meant."""
    folders = _folders(parent, names)
    current = os.path.join(parent, "current")
    if current in folders:
        return [current]
    running = [
        folder for folder in folders if not ended(read(os.path.join(folder, _FILES["progress"])) or "")
    ]
    return running if len(running) == 1 else []


def _source(root: str, folder: str) -> Source:
    paths = {role: os.path.join(folder, file) for role, file in _FILES.items()}
    return Source(NAME, os.path.basename(folder), root=root, paths=paths)


def places(root: str, settings: dict[str, list[str]]) -> list[tuple[str, str]]:
    """No pointer leads to these lists."""
    return []


def parse(texts: Texts) -> TaskList:
    from ralphloop.tasklists import feature_list

    found, notes = feature_list.parse(texts), texts.get("progress") or ""
    found.iteration = number(notes, ITERATION) or 0
    found.max_iterations = number(notes, MAX_ITERATIONS)
    return found


def mark(texts: Texts, *places: int, done: bool) -> dict[str, str]:
    from ralphloop.tasklists import feature_list

    return feature_list.mark(texts, *places, done=done)


def is_work(written: str, *, by_shell: bool) -> bool:
    """Only with a task passed, because writing a list is also how a loop is planned."""
    said = written.replace(" ", "").replace('\\"', '"')
    by_jq = by_shell and (".passes=true" in said or ".passes|=true" in said)
    return by_jq or '"passes":true' in said


def record(texts: Texts, tally: Tally) -> dict[str, str]:
    text = texts.get("progress")
    if text is None:
        return {}
    values = {
        STATUS: tally.status,
        ITERATION: str(tally.iteration),
        MAX_ITERATIONS: str(tally.max_iterations),
    }
    written = write(text, values)
    return {"progress": written} if written != text else {}


def restore(texts: Texts, pinned: Texts) -> Restored:
    from ralphloop.tasklists import feature_list

    return feature_list.restore(texts, pinned)


def hold_additions(
    texts: Texts, pinned: str, *, known: set[str], modified: dict[str, int]
) -> tuple[dict[str, str], list[str], list[str]]:
    """However many are added, they only make the list longer."""
    return {}, [], []


def protect(texts: Texts) -> list[str]:
    from ralphloop.tasklists import feature_list

    text = texts.get("list")
    return [] if text is None else feature_list.protect(text)


def ended(text: str) -> bool:
    """Whether the status line says that the loop is over."""
    span = _fields(text).get(STATUS)
    return span is not None and _leading_word(text, span) in _ENDS


def number(text: str, label: str) -> Optional[int]:
    """The figure on the line with that label, if it has one above zero."""
    span = _fields(text).get(label)
    digits = _leading_digits(text, span) if span else ""
    return int(digits) or None if digits else None


def write(text: str, values: dict[str, str]) -> str:
    """The text with these values on the lines that exist; all else stays as it is."""
    edits = []
    for label, (start, end) in _fields(text).items():
        value = values[label]
        if start == end:
            gap = "" if text[start - 1] in " \t" else " "
            edits.append((start, end, gap + value))
        elif label == STATUS:
            word = _leading_word(text, (start, end))
            known = word in _WORDS or word == value
            edits.append((start, start + len(word) if known else end, value))
        else:
            edits.append((start, start + len(_leading_digits(text, (start, end))), value))
    for start, end, value in sorted(edits, reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _fields(text: str) -> dict[str, tuple[int, int]]:
    """Where the values of the first line with each label are."""
    found: dict[str, tuple[int, int]] = {}
    at = 0
    while at < len(text) and len(found) < len(_LABELS):
        end = text.find("\n", at)
        if end < 0:
            end = len(text)
        colon = text.find(":", at, min(end, at + _LONGEST_LABEL))
        if colon >= 0:
            label = " ".join(text[at:colon].strip(_BEFORE_LABEL).lower().split())
            if label in _LABELS and label not in found:
                span = _value(text, colon + 1, end)
                if label == STATUS or span[0] == span[1] or _leading_digits(text, span):
                    found[label] = span
        at = end + 1
    return found


def _value(text: str, start: int, end: int) -> tuple[int, int]:
    while text[end - 1] == "\r":
        end -= 1
    while start < end and text[start] in _AROUND_VALUE:
        start += 1
    while end > start and text[end - 1] in _AROUND_VALUE:
        end -= 1
    return start, end


def _leading_word(text: str, span: tuple[int, int]) -> str:
    at, end = span
    while at < end and (text[at] == "_" or text[at].isalnum()):
        at += 1
    return text[span[0] : at]


def _leading_digits(text: str, span: tuple[int, int]) -> str:
    """The figure that the value starts with; a word such as `3rd`, or no figure, is prose."""
    word = _leading_word(text, span)
    return word if len(word) <= _LONGEST_NUMBER and not word.strip(_DIGITS) else ""

"""The lines of progress.txt that a run keeps current: Status, Iteration, Max Iterations."""

from __future__ import annotations

from ralphloop.domain.model import OUTCOMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

STATUS, ITERATION, MAX_ITERATIONS = "status", "iteration", "max iterations"
_LABELS = (STATUS, ITERATION, MAX_ITERATIONS)
_ENDS = frozenset([outcome.upper() for outcome in OUTCOMES] + ["REACHED_LIMIT"])
_WORDS = _ENDS | {"IN_PROGRESS"}

_BEFORE_LABEL = " \t\r\ufeff-*+#>_`"
_AROUND_VALUE = " \t\r*`"
_DIGITS = "0123456789"
_LONGEST_LABEL = 60  # with its dress; a colon further right is prose
_LONGEST_NUMBER = 9


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

"""What an added line does that no honest work needs: skip a test, end the program at import, make equality
always true, patch an assertion, ask who runs it. A table of patterns by language, as data."""

from __future__ import annotations

import fnmatch
import functools
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "added_line.txt")
SHOWN_MOST = 120  # characters of a line that is told
LINES_MOST = 50_000
LONGEST = 1_000  # characters of a line that are looked at: a longer one was made by a program
TOP = 10  # lines
_EARLY = 20
_END = "⏎"
_JOINED_MOST = 6
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc", ".html", ".ipynb", ".svg", ".lock", ".min.js")
_KNOWN_NAMES = frozenset(
    ["makefile", "gnumakefile", "justfile", ".justfile", "rakefile", ".rspec", ".coveragerc"]
)
_HASH = frozenset(["python", "ruby", "elixir", "shell", "settings"])
_TRIPLE = re.compile(r"\"\"\"|'''")
# a line below which another one is done only at times, or is tried
_CONDITION = re.compile(
    r"\s*[})\]]*\s*(?:if|elif|elsif|else|unless|when|case|except|catch|rescue|try|for|while|until|switch|match|guard|"
    r"default|then|#\s*if\w*)\b"
)
_WAY_OUT = re.compile(r"\s*(?:return|yield|break)\b")
_TEXT = r"\"(?:\\.|[^\"\\])*\"?|`(?:\\.|[^`\\])*`?"
_WITH_HASH = re.compile(rf"(?P<text>{_TEXT}|'(?:\\.|[^'\\])*'?)|(?P<comment>(?<![\w$'\"{{])#.*)")
# a single quote is a character there, or a lifetime
_WITH_SLASHES = re.compile(rf"(?P<text>{_TEXT}|'(?:\\.|[^'\\])*')|(?P<comment>(?<!:)//.*|/\*.*?(?:\*/|$))")


class Line(NamedTuple):
    number: int
    text: str


class _Rule(NamedTuple):
    does: str
    where: frozenset[str]
    pattern: re.Pattern[str]


class _Language(NamedTuple):
    name: str
    files: tuple[str, ...]
    rules: tuple[_Rule, ...]


def suspicious(
    path: str, lines: Sequence[tuple[int, str]], *, is_criterion: bool
) -> list[tuple[int, str, str]]:
    """The number of such a line, its text, and what it does in a few words. `lines` are those that were added
    to the file, with their numbers."""
    added = [Line(number, text[:LONGEST]) for number, text in lines[:LINES_MOST]]
    found: dict[int, tuple[int, str, str]] = {}
    for language in _languages_of(path, added, is_criterion=is_criterion):
        look = _Look(added, language.name, is_criterion=is_criterion)
        for number, text, does in look.told(language.rules):
            found.setdefault(number, (number, text, does))
    return [found[number] for number in sorted(found)]


def _languages_of(path: str, added: Sequence[Line], *, is_criterion: bool) -> list[_Language]:
    name = posixpath.basename(path)
    if name.lower().endswith(_PROSE):
        return []
    if "." not in name.lstrip(".") and name.lower() not in _KNOWN_NAMES:
        # a script without an ending: its first line says in what it is written, else a shell's is likely
        first = added[0].text if added and added[0].text.startswith("#!") else "sh" if is_criterion else ""
        name = f"{name}.{'py' if 'python' in first else 'sh' if 'sh' in first else ''}"
    return [one for one in _table() if any(fnmatch.fnmatchcase(name, glob) for glob in one.files)]


class _Look:
    """The added lines of one file, read as one language."""

    def __init__(self, lines: Sequence[Line], language: str, *, is_criterion: bool) -> None:
        self._lines = lines
        self._is_criterion = is_criterion
        self._kept = [_without_comment(one.text, language, keep=True) for one in lines]
        self._bare = [_without_comment(one.text, language, keep=False) for one in lines]
        if language == "python":
            for place in _in_docstring(lines):
                self._kept[place] = self._bare[place] = ""
            _join_decorators(lines, self._kept)
            _join_decorators(lines, self._bare)
        code = [place for place, text in enumerate(self._kept) if text.strip()]
        self._last = code[-1] if code else -1
        numbers = [one.number for one in lines]
        self._is_whole = numbers == list(range(1, len(numbers) + 1))
        self._forks = any("fork(" in text for text in self._bare)

    def told(self, rules: Sequence[_Rule]) -> Iterator[tuple[int, str, str]]:
        rules = [rule for rule in rules if ("work" if self._is_criterion else "criteria") not in rule.where]
        for place, line in enumerate(self._lines):
            if not line.text.strip():
                continue
            for rule in rules:
                if self._matches(rule, place) and not self._is_honest(rule, place):
                    yield line.number, line.text.strip()[:SHOWN_MOST], rule.does
                    break

    def _matches(self, rule: _Rule, place: int) -> bool:
        if "comments" in rule.where:
            return rule.pattern.search(self._lines[place].text) is not None
        texts = self._kept if "strings" in rule.where else self._bare
        if rule.pattern.search(texts[place]):
            return True
        if _END not in rule.pattern.pattern:
            return False
        before = self._before(texts, place)
        found = rule.pattern.search(before + _END + texts[place]) if before else None
        return found is not None and _END in found[0]

    def _before(self, texts: Sequence[str], place: int) -> str:
        """The line above, and where that is only a bracket the one above it too."""
        if not self._follows(place):
            return ""
        above = texts[place - 1].rstrip()
        if above.strip() == "{" and self._follows(place - 1):
            return texts[place - 2].rstrip() + " {"
        return above

    def _follows(self, place: int) -> bool:
        return place > 0 and self._lines[place - 1].number == self._lines[place].number - 1

    def _is_honest(self, rule: _Rule, place: int) -> bool:
        where, number = rule.where, self._lines[place].number
        if "condition" in where and self._is_conditional(place):
            return True
        if "top" in where and number > TOP:
            return True
        if "fork" in where and self._forks:
            return True
        if "end" in where and place == self._last:
            return self._is_criterion or self._lines[0].text.startswith("#!")
        if "early" in where and place == self._last:
            return self._is_whole or number > _EARLY
        return "equality" in rule.does and self._is_wildcard(place)

    def _is_conditional(self, place: int) -> bool:
        """Whether what was added above it makes it one of two ways: the line that it is indented under, or a
        way out before it."""
        depth = _indent(self._lines[place].text)
        while self._follows(place):
            place -= 1
            text = self._lines[place].text
            if _indent(text) > depth and _WAY_OUT.match(text):
                return True
            if text.strip() and _indent(text) < depth:
                return _CONDITION.match(text) is not None
        return False

    def _is_wildcard(self, place: int) -> bool:
        """A test's own stand-in for any value says so in its name."""
        above = [one.text for one in self._lines[max(0, place - 4) : place]]
        return any(re.search(r"\bclass\s+_?\w*(?:Any|ANY|Wildcard|Whatever)\w*", text) for text in above)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _without_comment(text: str, language: str, *, keep: bool) -> str:
    """The line without its comment; texts in quotes stay, or are empty."""
    if language not in _HASH and language != "any" and text.lstrip().startswith(("*", "/*", "<!--")):
        return ""
    pattern = _WITH_HASH if language in _HASH else _WITH_SLASHES
    if language == "any" or (language == "c" and text.lstrip().startswith("#")):
        return text

    def left(found: re.Match[str]) -> str:
        if found["comment"]:
            return ""
        return found[0] if keep else found[0][0] * 2

    return pattern.sub(left, text)


def _in_docstring(lines: Sequence[Line]) -> Iterator[int]:
    """The places of lines in a text of several lines that was opened among them."""
    opened, before = "", 0
    for place, (number, text) in enumerate(lines):
        opened = opened if number == before + 1 else ""
        before = number
        was_open = opened
        for mark in _TRIPLE.findall(text):
            opened = "" if opened == mark else opened or mark
        if was_open or text.lstrip().startswith(('"""', "'''")):
            yield place


def _join_decorators(lines: Sequence[Line], texts: list[str]) -> None:
    """Of a decorator over several lines the first has all of it."""
    for place, text in enumerate(texts):
        if not text.lstrip().startswith(("@", "pytestmark")):
            continue
        until = place + 1
        while text.count("(") > text.count(")") and until < min(len(texts), place + _JOINED_MOST):
            if lines[until].number != lines[until - 1].number + 1:
                break
            text += " " + texts[until].strip()
            until += 1
        texts[place] = text


@functools.lru_cache(maxsize=1)
def _table() -> tuple[_Language, ...]:
    """The file of the table."""
    found: list[_Language] = []
    does, where = "", frozenset[str]()
    rules: list[_Rule] = []
    with open(TABLE, encoding="utf-8") as file:
        for line in filter(str.strip, file):
            if line.startswith("["):
                name, _, files = line.strip()[1:-1].partition(":")
                found.append(_Language(name, tuple(files.split()), ()))
                rules = []
            elif line.startswith("    "):
                rules.append(_Rule(does, where, re.compile(line.strip())))
                found[-1] = found[-1]._replace(rules=tuple(rules))
            elif not line.startswith("#"):
                does, _, said = line.strip().rstrip(")").partition(" (")
                where = frozenset(said.split())
    return tuple(found)

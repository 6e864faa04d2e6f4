"""What an added line does that no honest work needs: skip a test, end the program at import, make equality
always true, patch an assertion, ask who runs it, tell a checker to overlook it. A table of patterns by
language, as data."""

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
_AHEAD = 2
_END = "⏎"
_JOINED_MOST = 6
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc", ".html", ".ipynb", ".svg", ".lock", ".min.js")
_KNOWN_NAMES = frozenset(
    ["makefile", "gnumakefile", "justfile", ".justfile", "rakefile", ".rspec", ".coveragerc"]
)
_HASH = frozenset(["python", "modules", "ruby", "perl", "elixir", "shell", "settings"])
_TRIPLE = re.compile(r"\"\"\"|'''")
# a line below which another one is done only at times, or is tried
_CONDITION = re.compile(
    r"\s*[})\]]*\s*(?:if|elif|elsif|else|unless|when|case|except|catch|rescue|try|for|while|until|switch|match|guard|"
    r"default|then|#\s*if\w*)\b"
)
_WAY_OUT = re.compile(r"\s*(?:return|yield|break)\b")
_HEREDOC = re.compile(r"<<-?\s*\\?[\"']?([A-Za-z_]\w*)")
_CLOSES = re.compile(r"\s*(?:;;|fi\b|else\b|elif\b|esac\b|done\b|[})])")
_DIRECTIVE = re.compile(r"\s*#\s*(?:if|elif|else)")
# what a function may do that is called at the end, or at a failure, so that the end is a good one
_ENDS_WELL = re.compile(
    r"(?:^|[{;>:])\s*(?:\w+(?:\.|::|->))*(?:_?exit|_Exit|halt)!?\s*\(?\s*(?:0|true|EXIT_SUCCESS)\b|\bexitCode\s*=\s*0\b"
)
_BODY_MOST = 20  # lines
# where a double of something, or what a test expects, is in its place
_FOR_TESTS = re.compile(
    r"(?<![A-Za-z])(?i:(?:py|unit|self)?test|mock|fake|stub|doubl|dumm|plugin|fixture|spec|bats|bench|eval|example|"
    r"demo|scripts?/|tools?/|dev/|docs?/|seed|stor(?:y|ies)\b|helper|harness|simulat|noxfile|setup\.py|build\.)|"
    r"(?<=[a-z])(?:Test|Mock|Fake|Stub|Double|Fixture)|\.(?:config|bench|stories|setup)\."
)
_HAS_TESTS = re.compile(
    r"\bdef\s+test_|\bTestCase\)|\b(?:pytest|unittest)\.main\b|^\s*@(?:pytest\.fixture|Test)\b|\bdef\s+pytest_|"
    r"^\s*(?:describe|it|test)\s*\(|#\[(?:cfg\(test|(?:\w+::)*test\b)"
)
_GENERATED = re.compile(
    r"(?i)@generated\b|\b(?:auto(?:matically)?[\s-]?)?generated\s+(?:by|from|with|code|file)|do not edit"
)
_OF_OTHERS = re.compile(r"(?:^|/)(?:vendor|third_party|third-party|external|generated|__generated__|gen)/")
# what the text of a check says that it is about
_ABOUT = {
    "lint": re.compile(
        r"(?i)lint(?:s|er|ers|ing)?(?![a-z])|\b(?:ruff|flake8|pyflakes|clippy|vet|golangci|staticcheck|rubocop|"
        r"standardrb|shellcheck|phpstan|psalm|phpcs|detekt|checkstyle|spotbugs|pmd|bandit|gosec|semgrep|biome|"
        r"clang-tidy|cppcheck|perlcritic|credo|pre-commit)\b|-D\s?warnings\b|-Werror\b"
    ),
    "types": re.compile(
        r"(?i)\b(?:mypy|dmypy|pyright|basedpyright|pytype|pyre|tsc|vue-tsc|tsgo|phpstan|psalm|dialyzer)\b|"
        r"type-?_?check|check-?_?types?\b"
    ),
    "coverage": re.compile(
        r"(?i)coverage|\bcov\b|[-_]cov\b|\b(?:nyc|c8|tarpaulin|jacoco|simplecov|istanbul|gcovr?|lcov)\b"
    ),
}  # fmt: skip
# what a pattern begins with, where that is plain
_WORDS = r"(?:\w|\\\.)+"
_BEGIN = re.compile(
    rf"\^?(?:\\s\*)?(?:\\b)?(?:\(\?:({_WORDS}(?:\|{_WORDS})*)\)(?![?*{{])|({_WORDS})(?![?*{{+]))"
)
_WITHIN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_GROUP = re.compile(r"\([^()]*\)")
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
    beside: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    pattern: re.Pattern[str]
    words: tuple[str, ...]  # of which one is in what the pattern finds; none if that cannot be said


class _Language(NamedTuple):
    name: str
    files: tuple[str, ...]
    rules: tuple[_Rule, ...]


def suspicious(
    path: str, lines: Sequence[tuple[int, str]], *, is_criterion: bool, commands: Sequence[str] = ()
) -> list[tuple[int, str, str]]:
    """The number of such a line, its text, and what it does in a few words. `lines` are those that were added
    to the file, with their numbers; `commands` the checks, which say what they are about."""
    added = [Line(number, text[:LONGEST]) for number, text in lines[:LINES_MOST]]
    about = {name for name, words in _ABOUT.items() if any(map(words.search, commands))}
    found: dict[int, tuple[int, str, str]] = {}
    for language in _languages_of(path, added, is_criterion=is_criterion):
        look = _Look(path, added, language.name, is_criterion=is_criterion)
        unasked = {"work" if is_criterion else "criteria"} | _ABOUT.keys() - about
        for number, text, does in look.told([rule for rule in language.rules if not rule.where & unasked]):
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

    def __init__(self, path: str, lines: Sequence[Line], language: str, *, is_criterion: bool) -> None:
        self._path = path
        self._lines = lines
        self._is_criterion = is_criterion
        self._kept = [_left(one.text, language) for one in lines]
        self._bare = [_left(one.text, language, texts=False) for one in lines]
        self._said = [_left(one.text, language, texts=False, comments=True) for one in lines]
        self._has_directives = language == "c"
        inside = {"python": _in_docstring, "modules": _in_docstring, "shell": _in_heredoc}.get(language)
        for place in inside(lines) if inside is not None else ():
            self._kept[place] = self._bare[place] = self._said[place] = ""
        if language == "python":
            _join_decorators(lines, self._kept)
            _join_decorators(lines, self._bare)
        self._whole = "\n".join(one.text for one in lines)
        self._code = [place for place, text in enumerate(self._kept) if text.strip()]
        numbers = [one.number for one in lines]
        self._is_whole = numbers == list(range(1, len(numbers) + 1))

    def told(self, rules: Sequence[_Rule]) -> Iterator[tuple[int, str, str]]:
        does: dict[int, str] = {}
        for rule in filter(self._is_asked, rules):
            for place in self._places(rule):
                if place not in does and not self._is_honest(rule, place):
                    does[place] = rule.does
        for place in sorted(does):
            yield self._lines[place].number, self._lines[place].text.strip()[:SHOWN_MOST], does[place]

    def _is_asked(self, rule: _Rule) -> bool:
        """Whether the file, and what was added to it, is such that the rule says anything."""
        if "product" in rule.where and (_FOR_TESTS.search(self._path) or _any(_HAS_TESTS, self._kept)):
            return False
        if "own" in rule.where and (_OF_OTHERS.search(self._path) or self._is_generated):
            return False
        if rule.unless is not None and _any(rule.unless, self._texts(rule)):
            return False
        return rule.beside is None or _any(rule.beside, self._kept)

    @functools.cached_property
    def _is_generated(self) -> bool:
        return _any(_GENERATED, [one.text for one in self._lines[:TOP]])

    def _texts(self, rule: _Rule) -> list[str]:
        if "comments" in rule.where:
            return self._said
        return self._kept if "strings" in rule.where else self._bare

    def _places(self, rule: _Rule) -> Iterator[int]:
        """Where the pattern is found, in a line or in it and the one before."""
        texts, search = self._texts(rule), rule.pattern.search
        if rule.words and not any(word in self._whole for word in rule.words):
            return
        joins = _END in rule.pattern.pattern
        for place, text in enumerate(texts):
            found = search(text) if text else None
            if found is None and joins and text and (before := self._before(texts, place)):
                found = search(before + _END + text)
                found = found if found is not None and _END in found[0] else None
            if found is None:
                continue
            handler = found.groupdict().get("handler")
            if handler is None or self._ends_well(handler):
                yield place

    def _ends_well(self, name: str) -> bool:
        """Whether the function of this name was added as well, and ends the program with 0 whatever was."""
        begin = re.compile(
            rf"\b(?:def|sub|function|func|fn|fun|void)\s+{name}\b|^\s*{name}\s*\(\s*\)|"
            rf"\b{name}\s*=\s*(?:async\b|function\b|lambda\b|\(|\w+\s*=>)"
        )
        for place, text in enumerate(self._bare):
            if not begin.search(text):
                continue
            if _ENDS_WELL.search(text):
                return True
            for inner in range(place + 1, min(place + _BODY_MOST, len(self._bare))):
                line = self._bare[inner]
                if line.strip(" \t{") and _indent(line) <= _indent(text):
                    break
                if _ENDS_WELL.search(line) and not self._is_conditional(inner):
                    return True
        return False

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
        is_last = bool(self._code) and place == self._code[-1]
        if "condition" in where and self._is_conditional(place):
            return True
        if "top" in where and number > TOP:
            return True
        if "end" in where and is_last:
            return self._is_criterion or self._lines[0].text.startswith("#!")
        if "early" in where and is_last:
            return (self._is_whole and len(self._code) > 1) or number > _EARLY
        if "ahead" in where and is_last:
            return len(self._code) > 1 or number > _AHEAD
        return "equality" in rule.does and self._is_wildcard(place)

    def _is_conditional(self, place: int) -> bool:
        """Whether what was added above it makes it one of two ways: the line that it is indented under, or a
        way out before it."""
        depth = _indent(self._lines[place].text)
        has_next = place + 1 < len(self._lines) and self._follows(place + 1)
        if depth == 0 and has_next and _CLOSES.match(self._lines[place + 1].text):
            return True
        if self._has_directives and self._follows(place) and _DIRECTIVE.match(self._lines[place - 1].text):
            return True
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


def _any(pattern: re.Pattern[str], texts: Sequence[str]) -> bool:
    return any(map(pattern.search, texts))


def _left(text: str, language: str, *, texts: bool = True, comments: bool = False) -> str:
    """The line, where it is asked for without what stands in quotes, or without its comment."""
    is_within = language not in _HASH and text.lstrip().startswith(("*", "/*", "<!--"))
    if language == "any" or (language == "c" and text.lstrip().startswith("#")) or (is_within and comments):
        return text
    if is_within:
        return ""
    pattern = _WITH_HASH if language in _HASH else _WITH_SLASHES

    def left(found: re.Match[str]) -> str:
        if found["comment"]:
            return found[0] if comments else ""
        return found[0] if texts else found[0][0] * 2

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


def _in_heredoc(lines: Sequence[Line]) -> Iterator[int]:
    """The places of lines in a text that a shell's script hands on."""
    mark, before = "", 0
    for place, (number, text) in enumerate(lines):
        mark = mark if number == before + 1 else ""
        before = number
        if mark and text.strip() == mark:
            mark = ""
        elif mark:
            yield place
        elif found := _HEREDOC.search(text):
            mark = found[1]


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


def _words(pattern: str) -> tuple[str, ...]:
    """Most rules need not look at any line of a file, because none has the word that they begin with."""
    begin, rest, count = _BEGIN.match(pattern), _WITHIN.sub("", pattern), 1
    while count:
        rest, count = _GROUP.subn("", rest)
    if begin is None or "|" in rest:
        return ()
    return tuple((begin[1] or begin[2]).replace("\\.", ".").split("|"))


@functools.lru_cache(maxsize=1)
def _table() -> tuple[_Language, ...]:
    """The file of the table."""
    found: list[_Language] = []
    does, where = "", frozenset[str]()
    beside: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    rules: list[_Rule] = []
    with open(TABLE, encoding="utf-8") as file:
        for line in filter(str.strip, file):
            if line.startswith("["):
                name, _, files = line.strip()[1:-1].partition(":")
                found.append(_Language(name, tuple(files.split()), ()))
                rules = []
            elif line.startswith("    beside "):
                beside = re.compile(line.strip().removeprefix("beside "))
            elif line.startswith("    not beside "):
                unless = re.compile(line.strip().removeprefix("not beside "))
            elif line.startswith("    "):
                pattern = re.compile(line.strip())
                rules.append(_Rule(does, where, beside, unless, pattern, _words(pattern.pattern)))
                found[-1] = found[-1]._replace(rules=tuple(rules))
            elif not line.startswith("#"):
                does, _, said = line.strip().rstrip(")").partition(" (")
                where, beside, unless = frozenset(said.split()), None, None
    return tuple(found)

"""The simple commands of a shell command, as the words that each of them is made of; nothing is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST = 20_000  # characters of a command that are read
_DEEPEST = 4  # commands in commands
_REDIRECTION = re.compile(r"\d*(?:<<-|<<<|<<|<&|>&|>>|>\||<>|<|>)|&>>?")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[\n;&|()]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.A)
RESERVED = frozenset(
    ["!", "{", "}", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
     "in", "time"]
)  # fmt: skip
SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])
# programs that run what follows their options; of the second ones after one more word
_WRAPPERS = frozenset(
    ["env", "command", "exec", "nice", "nohup", "sudo", "doas", "stdbuf", "setsid", "xargs", "chronic"]
)  # fmt: skip
_WITH_WORD = frozenset(["timeout", "gtimeout", "flock", "chroot"])
_TAKES_VALUE = frozenset(
    ["-u", "-n", "-C", "-s", "-k", "-I", "-P", "-L", "-g", "-o", "--signal", "--kill-after", "--chdir"]
)
# what runs the program of a project: the words before it
_RUNNERS = frozenset(
    ["npx", "bunx", "pnpx", "uvx", "pnpm", "yarn", "cross-env", "npm exec", "npm run", "pnpm exec",
     "pnpm dlx", "pnpm run", "yarn exec", "yarn dlx", "yarn run", "bun x", "bun run", "uv run", "poetry run",
     "pdm run", "hatch run", "rye run", "pipenv run", "pipx run", "conda run", "pixi run", "bundle exec",
     "mise exec", "direnv exec", "devbox run"]
)  # fmt: skip


class Simple(NamedTuple):
    words: tuple[str, ...]  # without quotes; what the shell would put in stays as it is written
    after: str  # the operator behind it: one of `; & && || |`, empty at the end; a line's end is `;`
    depth: int  # how many brackets are around it
    inputs: tuple[str, ...] = ()  # the files that it reads by `<`


def read(command: str) -> list[Simple]:
    """In the order in which they are written."""
    return _Reader(command[:LONGEST]).commands()


def programs(command: str, *, deep: int = 0) -> Iterator[tuple[str, ...]]:
    """Each command that would be run, from its program on: those in `$(…)` and behind `sh -c` as well, and
    behind a wrapper such as `env`, `timeout 5` or `npx` both of them."""
    reader = _Reader(command[:LONGEST])
    for one in reader.commands():
        for words in _behind_wrappers(one.words):
            yield words
            text = _script_given(words)
            if text and deep < _DEEPEST:
                yield from programs(text, deep=deep + 1)
    for inner in reader.inner if deep < _DEEPEST else ():
        yield from programs(inner, deep=deep + 1)


def given(command: str, *, deep: int = 0) -> Iterator[tuple[str, ...]]:
    """Each command as it is written, with what it reads by `<` behind its words: those in `$(…)` and behind
    `sh -c` as well. Nothing is left out before its program, not even an assignment."""
    reader = _Reader(command[:LONGEST])
    inner = []
    for one in reader.commands():
        yield (*one.words, *one.inputs)
        inner += [text for text in map(_script_given, _behind_wrappers(one.words)) if text]
    for text in (*inner, *reader.inner) if deep < _DEEPEST else ():
        yield from given(text, deep=deep + 1)


def _behind_wrappers(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    left = bare(words)
    while left:
        yield left
        left = _wrapped(left)


def bare(words: Sequence[str]) -> tuple[str, ...]:
    """Without reserved words and assignments before the program."""
    at = 0
    while at < len(words) and (words[at] in RESERVED or _ASSIGNMENT.match(words[at])):
        at += 1
    return tuple(words[at:])


def name(word: str) -> str:
    """A program by its own name, wherever it is."""
    return os.path.basename(word.replace("\\", "/"))


def _script_given(words: Sequence[str]) -> str:
    """What `sh -c` is given, or `eval`."""
    if words[0] == "eval":
        return " ".join(words[1:])
    if name(words[0]) not in SHELLS:
        return ""
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[at + 1]
        if not word.startswith(("-", "+")) and words[at - 1] != "-o":
            break
    return ""


def _wrapped(words: Sequence[str]) -> tuple[str, ...]:
    """What a wrapper runs; nothing for a command that is none."""
    first = name(words[0])
    if first in _WRAPPERS or first in _WITH_WORD:
        left = _behind_options(words[1:])
        return bare(left[1:] if first in _WITH_WORD else left)
    for count in (2, 1):
        if " ".join([first, *words[1:count]]) in _RUNNERS and len(words) > count:
            return bare(_behind_options(words[count:]))
    return ()


def _behind_options(words: Sequence[str]) -> Sequence[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or _ASSIGNMENT.match(words[at])):
        at += 2 if words[at] in _TAKES_VALUE else 1
    return words[at:]


class _Reader:
    """One pass over a command's text; a quote that is never closed goes to the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._ends: list[str] = []  # of here-documents whose text begins with the next line
        self._inputs: list[str] = []  # of the command that is read
        self.inner: list[str] = []  # the commands in `$(…)` and backticks

    def commands(self) -> list[Simple]:
        found: list[Simple] = []
        words: list[str] = []
        depth = 0
        self._inputs = []
        while (token := self._next()) is not None:
            is_operator, text = token
            if not is_operator:
                words.append(text)
                continue
            if words:
                found.append(Simple(tuple(words), "", depth, tuple(self._inputs)))
                words, self._inputs = [], []
            depth = max(0, depth + {"(": 1, ")": -1}.get(text, 0))
            if found and text not in "()":
                joined = {"\n": ";", ";;": ";", "|&": "|"}.get(text, text)
                # behind an operator a line's end only goes on
                if not found[-1].after or text not in "\n;":
                    found[-1] = found[-1]._replace(after=joined)
        if words:
            found.append(Simple(tuple(words), "", depth, tuple(self._inputs)))
        return _without_last_end(found)

    def _next(self) -> tuple[bool, str] | None:
        """The next operator or word; redirections and comments are left out."""
        while self._at < len(self._text):
            text, at = self._text, self._at
            if text[at] in " \t\r" or text.startswith("\\\n", at):
                self._at += 1 if text[at] != "\\" else 2
            elif text[at] == "#":
                end = text.find("\n", at)
                self._at = end if end >= 0 else len(text)
            elif (found := _REDIRECTION.match(text, at)) and not text.startswith(("<(", ">("), at):
                self._redirect(found)
            elif found := _OPERATOR.match(text, at):
                self._at = found.end()
                if found[0] == "\n":
                    self._skip_documents()
                return True, found[0]
            else:
                return False, self._word()
        return None

    def _redirect(self, found: re.Match[str]) -> None:
        self._at = found.end()
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        target = self._word()
        if found[0].lstrip("0123456789") in ("<<", "<<-"):
            self._ends.append(target)
        elif found[0] in ("<", "0<"):
            self._inputs.append(target)

    def _skip_documents(self) -> None:
        for end in self._ends:
            while self._at < len(self._text):
                line, _, _ = self._text[self._at :].partition("\n")
                self._at += len(line) + 1
                if line.strip("\t") == end:
                    break
        self._ends = []

    def _word(self) -> str:
        parts: list[str] = []
        text = self._text
        while self._at < len(text):
            at = self._at
            if text[at] in " \t\r\n;&|()" or (text[at] in "<>" and not text.startswith("(", at + 1)):
                break
            parts.append(self._part())
        return "".join(parts)

    def _part(self) -> str:
        """The next piece of a word: a quoted one, a substitution, or a character."""
        text, at = self._text, self._at
        if text[at] == "'":
            end = text.find("'", at + 1)
            return self._to(end if end >= 0 else len(text), at + 1)
        if text[at] == '"':
            self._at += 1
            return self._double()
        if text[at] == "\\":
            self._at += 2
            return text[at + 1 : at + 2]
        if text.startswith(("$(", "<(", ">("), at) or text[at] == "`":
            return self._substitution()
        self._at += 1
        return text[at]

    def _to(self, end: int, start: int) -> str:
        self._at = end + 1
        return self._text[start:end]

    def _double(self) -> str:
        parts: list[str] = []
        text = self._text
        while self._at < len(text) and text[self._at] != '"':
            at = self._at
            if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`"):
                self._at += 2
                parts.append(text[at + 1])
            elif text.startswith("$(", at) or text[at] == "`":
                parts.append(self._substitution())
            else:
                self._at += 1
                parts.append(text[at])
        self._at += 1
        return "".join(parts)

    def _substitution(self) -> str:
        """A command in a word: its text is kept apart; arithmetic is none."""
        start, text = self._at, self._text
        if text[start] == "`":
            end = text.find("`", start + 1)
            end = len(text) if end < 0 else end
            self.inner.append(text[start + 1 : end])
            self._at = end + 1
            return text[start : self._at]
        end = _closing(text, start + 2)
        if not text.startswith("$((", start):
            self.inner.append(text[start + 2 : end])
        self._at = end + 1
        return text[start : self._at]


def _closing(text: str, at: int) -> int:
    """Where the bracket that is open closes; quotes hide others."""
    depth, quote = 1, ""
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if not depth:
                return at
        at += 1
    return len(text)


def _without_last_end(found: list[Simple]) -> list[Simple]:
    """A `;` behind the last command says nothing."""
    if found and found[-1].after == ";":
        found[-1] = found[-1]._replace(after="")
    return found

"""Which files judge the work: a table of patterns as data, and what a check names besides; and which programs
of a check work where no stage reaches."""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ralphloop.proof import command_words

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "criteria.txt")
TESTS, GOLDEN = "tests", "golden files"
KINDS = (
    TESTS, "runner configuration", "linter and type checker configuration", "task runners", GOLDEN,
    "continuous integration", "shadows",
)  # fmt: skip
SCRIPTS_MOST = 50  # scripts that are read for the files that they name
NAMED_MOST = 400  # words of one script that may be a file
SCRIPT_LONGEST = 200_000
_PATH = re.compile(r"[\w.@+-]*(?:/[\w.@+-]+)+|[\w@+-]+\.[A-Za-z][\w]{0,9}\b", re.A)
_EXTENSION = re.compile(r"(?<=\w)\.\w{1,5}$")
# What runs the script that follows it, and what tests the files that follow it
_INTERPRETERS = re.compile(
    r"(?:python|pypy)[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|source|\."
)
_TESTERS = re.compile(r"pytest|py\.test|bats|prove|rspec|jest|vitest|mocha|phpunit|busted|unittest|shellspec")
_GLOB = re.compile(r"\[!?\]?[^\]]*\]|.", re.S)
_WILD = re.compile(r"[*?\[]")
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
_HEAD = re.compile(r"\[\[?([^\[\]=]+)\]\]?")
_MARK = re.compile(r"-|\]$|[!=]=?$")
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)", re.M)
# where tests begin in a file of the work (Rust, Zig, D, vitest), and a line of them that judges
INLINE = (".rs", ".zig", ".d", ".ts", ".js", ".mts", ".mjs")
_INLINE_TESTS = re.compile(
    r"^\s*#\[(?:cfg\s*\(\s*test\s*\)|test)\]|^test \"|^unittest\b|^if \(import\.meta\.vitest\)", re.M
)
_ASSERTION = re.compile(r"\b(?:debug_)?assert\w*!?\s*\(|\bexpect\w*\s*\(|#\[should_panic")
# programs that only look, and of these the one that has another meaning of `-f` than "patterns from a file"
_TEST = ("test", "[")
_LOOKERS = frozenset(
    (*_TEST, "grep", "egrep", "fgrep", "rg", "jq", "yq", "wc", "stat", "ls", "file", "true", "xmllint")
)


class Matcher:
    """Globs as they stand under `protect`, made ready for many paths."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._names: set[str] = set()
        self._folders: set[str] = set()
        named, others = [], []
        for glob in globs:
            inside = glob.removeprefix("**/")
            if inside == glob or "/" in inside.removesuffix("/**") or inside.startswith("**"):
                others.append(_as_pattern(glob))
            elif inside.endswith("/**") and not _WILD.search(inside[:-3]):
                self._folders.add(inside[:-3])
            elif inside.endswith("/**"):
                others.append(_as_pattern(glob))
            elif _WILD.search(inside):
                named.append(_GLOB.sub(_wild, inside))
            else:
                self._names.add(inside)
        self._named = re.compile(f"(?:{'|'.join(named) or '(?!)'})$")
        self._others = re.compile("|".join(others) or "(?!)")

    def __call__(self, path: str) -> bool:
        parts = path.split("/")
        # a folder's own name is all that is in it
        if not self._names.isdisjoint(parts) or not self._folders.isdisjoint(parts[:-1]):
            return True
        return any(map(self._named.match, parts)) or self._others.match(path) is not None


def _as_pattern(glob: str) -> str:
    parts = posixpath.normpath(glob).split("/")
    made = []
    for place, part in enumerate(parts):
        is_last = place == len(parts) - 1
        if part == "**":
            made.append("[^/]+" if is_last else "(?:[^/]+/)*")
        else:
            made.append(_GLOB.sub(_wild, part) + ("" if is_last else "/"))
    return f"(?:{''.join(made)}(?:/|$))" if parts != ["."] else ""


def _wild(found: re.Match[str]) -> str:
    char = found[0]
    if char in "*?":
        return "[^/]*" if char == "*" else "[^/]"
    inside = char[1:-1].replace("\\", r"\\") if len(char) > 2 and char[0] == "[" else ""
    one_of = f"[{'^' + inside[1:] if inside[0] == '!' else inside}]" if inside else ""
    return one_of if one_of and _is_pattern(one_of) else re.escape(char)


def _is_pattern(text: str) -> bool:
    """A range may run backwards."""
    try:
        return bool(re.compile(text))
    except re.error:
        return False


class Criteria:
    """The table, with what the person's settings add to it. A path is relative to the repository's top, with
    slashes."""

    def __init__(self, sections: Mapping[str, Sequence[str]], extra: Sequence[str] = ()) -> None:
        self._judges = Matcher([*(glob for kind in KINDS for glob in sections[kind]), *extra])
        self._is_test = Matcher(sections[TESTS])
        self._is_golden = Matcher(sections[GOLDEN])
        self._first = frozenset(sections["first words of a judging script"])
        self._last = frozenset(sections["last words of a judging script"])
        self._places = frozenset(sections["folders of judging scripts"])
        self.others = frozenset(sections["others"])  # folders in which nobody looks for criteria
        self._parts = {
            name: rest.split() for name, _, rest in (row.partition(":") for row in sections["parts"])
        }

    def judges(self, path: str) -> bool:
        """Whether it is a criterion, by its name or place."""
        return self._judges(path)

    def is_golden(self, path: str) -> bool:
        """Whether it says what a check expects."""
        return self._is_golden(path)

    def is_test(self, path: str) -> bool:
        return self._is_test(path)

    def has_work(self, path: str) -> bool:
        """Whether a criterion is work as well, so that only a part of it judges."""
        return posixpath.basename(path) in self._parts and not self._is_test(path)

    def judges_change(self, path: str, before: str | None, after: str | None) -> bool:
        """The same of a change, with the texts where there are any: one to a file that is work as well judges
        only where it is in the part that a check reads."""
        if not self.judges(path):
            return False
        if not self.has_work(path):
            return True
        return self.judging_part(path, before or "") != self.judging_part(path, after or "")

    def judging_part(self, path: str, text: str) -> str:
        """All of a text, but of a file like package.json only what a check reads."""
        wanted = self._parts.get(posixpath.basename(path))
        if wanted is None:
            return text
        return _fields(text, wanted) if path.endswith((".json", ".jsonc")) else _sections(text, wanted)

    def is_script(self, path: str) -> bool:
        """Whether a script that a check runs judges, by its name or its place."""
        *folders, name = path.split("/")
        stem = _EXTENSION.sub("", name).replace("-", "_")
        words = [word.lower() for word in _WORD.findall(stem)] or [""]
        named = words[0] in self._first or words[-1] in self._last or stem in self._first
        return named or "_".join(words[:2]) in self._first or not self._places.isdisjoint(folders)


def table(extra: Sequence[str] = ()) -> Criteria:
    return _made(tuple(extra))


@functools.lru_cache(maxsize=4)
def _made(extra: tuple[str, ...]) -> Criteria:
    return Criteria(sections(), extra)


@functools.lru_cache(maxsize=1)
def sections() -> Mapping[str, list[str]]:
    """The file of the table: what stands under each heading."""
    found: dict[str, list[str]] = {}
    with open(TABLE, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("[") and line.endswith("]"):
                found[line[1:-1]] = heading = []
            elif line and not line.startswith("#"):
                heading.append(line)
    return found


def inline_assertions(text: str) -> list[str]:
    """The lines that judge in a file of the work which has its tests in it, as a Rust module has."""
    begins = _INLINE_TESTS.search(text)
    lines = text[begins.start() :].splitlines() if begins else []
    return [line.strip() for line in lines if _ASSERTION.search(line)]


def _fields(text: str, wanted: Sequence[str]) -> str:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict):
        return text
    return json.dumps({name: value[name] for name in wanted if name in value}, sort_keys=True)


def _sections(text: str, wanted: Sequence[str]) -> str:
    """The lines of the sections that are wanted, and of the keys."""
    if '"""' in text or "'''" in text:
        return text  # what looks like a section may be a text there
    keys = [name[:-1] for name in wanted if name.endswith("=")]
    kept, depth, is_wanted = [], 0, False
    for line in text.splitlines():
        bare = _STRING.sub("", line).partition("#")[0]
        head = _HEAD.fullmatch(line.partition("#")[0].strip()) if not depth else None
        if head is not None:
            is_wanted = _is_wanted(re.sub(r"[\s\"']", "", head[1]), wanted)
        else:
            depth = max(0, depth + bare.count("[") - bare.count("]"))
        if bare.strip() and (is_wanted or bare.partition("=")[0].strip() in keys):
            kept.append(line.rstrip())
    return "\n".join(kept)


def _is_wanted(head: str, wanted: Sequence[str]) -> bool:
    # all of [tool], which may hold any of them
    return head == "tool" or any(fnmatch.fnmatchcase(head, name) for name in wanted)


def named_by(commands: Sequence[str], read: Callable[[str], str | None], criteria: Criteria) -> set[str]:
    """The scripts that these checks run and that are named or placed like a judge, and the files that such a
    script names and that fit the table, or such a name, as well. `read` has the text of a file by its path
    from the top, None where there is no such text. What a check runs besides is the work."""
    found: set[str] = set()
    waiting = [
        path for command in commands for path in _run_by(command)
        if criteria.judges(path) or criteria.is_script(path)
    ]  # fmt: skip
    looked = 0
    while waiting and looked < SCRIPTS_MOST:
        path = waiting.pop(0)
        if path in found:
            continue
        found.add(path)
        looked += 1
        for name in _named_in(path, (read(path) or "")[:SCRIPT_LONGEST]):
            fits = name not in found and (criteria.judges(name) or _is_named(criteria, name))
            if fits and read(name) is not None:
                waiting.append(name)
    return found.union(waiting)


def _is_named(criteria: Criteria, path: str) -> bool:
    """Named like a judge: what only lies beside one may be the program that it runs."""
    return criteria.is_script(posixpath.basename(path))


def _run_by(command: str) -> Iterator[str]:
    """The paths of the scripts that a command runs, and of the files that a runner in it is given."""
    folder = ""
    for words in command_words.programs(command):
        if words[0] == "cd" and len(words) > 1:
            folder = posixpath.join(folder, words[1])
            continue
        for word in _scripts(words):
            path = _inside(posixpath.join(folder, word))
            if path:
                yield path


def _scripts(words: Sequence[str]) -> Iterator[str]:
    first, rest = words[0], words[1:]
    program = command_words.name(first)
    if "/" in first:
        yield first
    if program in command_words.SHELLS or _INTERPRETERS.fullmatch(program):
        if "-m" in rest[:-1]:
            module = rest[rest.index("-m") + 1]
            words, program = rest[rest.index("-m") + 1 :], module
            if not _TESTERS.fullmatch(module):
                yield from (module.replace(".", "/") + end for end in (".py", "/__main__.py"))
        else:
            given = [word for word in rest if not word.startswith("-") and word != "run"]
            yield from given[:1] if "-c" not in rest and "-e" not in rest else ()
    if _TESTERS.fullmatch(program) or "--test" in rest:
        yield from (word.partition("::")[0] for word in words[1:] if not word.startswith("-"))


def _inside(path: str) -> str:
    """From the top of the project; empty for what is not in there."""
    plain = posixpath.normpath(path)
    return "" if plain == "." or plain.startswith(("/", "..", "~", "$")) else plain


def _named_in(script: str, text: str) -> Iterator[str]:
    """What may be a file in the text of a script, beside it and from the top."""
    folder, end = posixpath.dirname(script), posixpath.splitext(script)[1]
    named = _PATH.findall(text)
    if end == ".py":
        named = [name.replace(".", "/") + end for name in _IMPORT.findall(text)] + named
    for name in list(dict.fromkeys(named))[:NAMED_MOST]:
        plain = name.lstrip("/") if name.startswith("/") else name  # as behind "$(dirname "$0")"
        for path in (posixpath.join(folder, plain), plain):
            inside = _inside(path)
            yield from [inside] if "." in posixpath.basename(inside) or not end else [inside, inside + end]


def only_looked_at(command: str) -> set[str]:
    """The files that a check does nothing with but look for or into them (`test -f Makefile`, `grep -q x
    package.json`): for this check they are the work, whatever the table says. Empty where it runs anything
    else."""
    found: set[str] = set()
    for words in command_words.programs(command):
        reads_patterns = words[0] not in _TEST and not {"-f", "--file"}.isdisjoint(words)
        if command_words.name(words[0]) not in _LOOKERS or reads_patterns:
            return set()
        found.update(filter(None, map(_inside, (word for word in words[1:] if not _MARK.match(word)))))
    return found


@functools.lru_cache(maxsize=1)
def _daemons() -> frozenset[str]:
    return frozenset(sections()["daemons"])


def daemon_in(command: str, extra: Sequence[str] = ()) -> str:
    """The program of a check that lets a daemon outside of the stage do the work; empty if there is none."""
    for words in command_words.programs(command):
        name = command_words.name(words[0])
        is_client = name == "sbt" and not {"--client", "client"}.isdisjoint(words[1:])
        if name in _daemons() or name in extra or is_client:
            return name
    return ""

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
from itertools import chain, pairwise

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
LINES_MOST = 2_000  # of a task runner's file
RUNNERS_DEEPEST = 3  # task runners that run others
WRAPPED_MOST = 4  # words among which a program is looked for that only reads
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
_KEY = re.compile(r"^[\w.-]+\s*[:=]\s+")
# the top of a project, or a folder that only its script knows, before a path
_TOP = re.compile(r"\$(?:\([^()]*\)+|\{(?!HOME|TMP)\w+\}|\$?(?!HOME|TMP)\w+)/")
_PATTERNS = re.compile(r"-\w*f|--file|--from-file|--schema|--relaxng")
_CHANGES_FOLDER = ("cd", "pushd")
_FOLDER_OPTIONS = frozenset(["-C", "--directory", "--prefix", "--cwd", "--dir", "-d", "-w"])
_FILE_OPTIONS = frozenset(
    ["-f", "--file", "--makefile", "--justfile", "--rakefile", "--taskfile", "-t", "-c"]
)
_COMPARING = frozenset(["diff", "cmp", "comm"])
# programs whose files are run only where an interpreter stands beside them
_CARRIERS = frozenset(["cat", "cp", "head", "tail", "tee", "install", "ln", "mv", "tr", "sort"])
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)", re.M)
_JUDGING = re.compile(r"\bassert|\bexit\(|\braise\b|\bunittest\b|\bpytest\b|SystemExit")
_HELPER = re.compile(r"(?:^|[/_])(?:helpers?|harness|oracle|support|common|utils?)\.py$")
# where tests begin in a file of the work (Rust, Zig, D, vitest), and a line of them that judges
INLINE = (".rs", ".zig", ".d", ".ts", ".js", ".mts", ".mjs")
_INLINE_TESTS = re.compile(
    r"^\s*#\[(?:cfg\s*\(\s*test\s*\)|test)\]|^test \"|^unittest\b|^if \(import\.meta\.vitest\)", re.M
)
_ASSERTION = re.compile(r"\b(?:debug_)?assert\w*!?\s*\(|\bexpect\w*\s*\(|#\[should_panic")
_CODE = frozenset(
    ["py", "js", "ts", "mjs", "cjs", "mts", "tsx", "jsx", "rb", "go", "rs", "c", "h", "cc", "cpp", "hpp",
     "java", "kt", "cs", "swift", "php", "lua", "pl", "ex", "exs", "hs", "ml", "d", "zig"]
)  # fmt: skip
_COMPILED = (".c", ".cc", ".cpp", ".go", ".rs", ".swift", ".java")  # which a task runner builds as work
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
        self._ends = frozenset(sections["endings of scripts"])
        self._work_places = frozenset(sections["folders of work"])
        self._passing = frozenset(sections["first words of a script that runs others"])
        self._runners = _rows(sections["files of task runners"])
        self.others = frozenset(sections["others"])  # folders in which nobody looks for criteria
        self._parts = _rows(sections["parts"])

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

    def is_run(self, path: str) -> bool:
        """Whether a word of a command is a script that judges: where sources are, it is work."""
        end = posixpath.splitext(path)[1][1:]
        is_code = end in self._ends if end else "/" in path
        return is_code and self._work_places.isdisjoint(path.split("/")[:-1]) and self.is_script(path)

    def is_expected(self, path: str) -> bool:
        """Whether a file that a check or its script names says by its name what is expected."""
        stem, end = posixpath.splitext(posixpath.basename(path))
        words = {word.lower() for word in _WORD.findall(stem)}
        return end[1:] not in _CODE and not words.isdisjoint(("expected", "golden"))

    def passes_on(self, path: str) -> bool:
        """Whether a script that a check runs is there to run others."""
        stem, end = posixpath.splitext(posixpath.basename(path))
        return end in ("", ".sh", ".bash") and (_WORD.findall(stem) or [""])[0] in self._passing

    def files_of(self, runner: str) -> Sequence[str]:
        """In which files it stands what a task runner runs; none for another program."""
        return self._runners.get(runner, ())


def _rows(lines: Sequence[str]) -> dict[str, list[str]]:
    """Names, each with the words behind its colon."""
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


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
    """The scripts that these checks run and that are named or placed like a judge, what they hold outputs
    against, and the files that such a script names and that fit the table, or such a name, as well. Where a
    check runs a task runner, its file says what is run. `read` has the text of a file by its path from the
    top, None where there is no such text. What a check runs besides is the work."""
    waiting, passing = [], [(path, 0) for command in commands for path in _passed_on(command, criteria)]
    for command in commands:
        waiting += [path for path in _run_by(command) if criteria.judges(path) or criteria.is_script(path)]
        waiting += [path for path in _given(command, criteria) if read(path) is not None]
    waiting += _passed(passing, read, criteria)
    found: set[str] = set()
    looked = 0
    while waiting and looked < SCRIPTS_MOST:
        path = waiting.pop(0)
        if path in found:
            continue
        found.add(path)
        looked += 1
        text = (read(path) or "")[:SCRIPT_LONGEST]
        leans = _leant_on(path, text)
        for name in _named_in(path, text):
            is_judge = criteria.judges(name) and not criteria.has_work(name)
            fits = is_judge or _is_named(criteria, name) or criteria.is_expected(name) or name in leans
            if fits and name not in found and read(name) is not None:
                waiting.append(name)
    return found.union(waiting)


def _leant_on(path: str, text: str) -> set[str]:
    """The helpers that a judging module leaves it to to judge: where it does so itself, they may be work."""
    if not path.endswith(".py") or _JUDGING.search(text):
        return set()
    modules = (name.replace(".", "/") + ".py" for name in _IMPORT.findall(text))
    helpers = [name for name in modules if _HELPER.search(name)]
    places = (posixpath.dirname(path), "")
    return {_inside(posixpath.join(place, name)) for name in helpers for place in places}


def _passed(
    passing: list[tuple[str, int]], read: Callable[[str], str | None], criteria: Criteria
) -> Iterator[str]:
    """What the files of task runners run that is named like a judge, themselves or through others."""
    seen: set[str] = set()
    while passing and len(seen) < SCRIPTS_MOST:
        path, deep = passing.pop(0)
        text = None if path in seen else read(path)
        seen.add(path)
        folder = posixpath.dirname(path)
        for line in _lines_of(path, (text or "")[:SCRIPT_LONGEST], criteria):
            for name in _given(line, criteria, folder=folder):
                is_judge = _is_named(criteria, name) and not name.endswith(_COMPILED)
                if is_judge or criteria.is_expected(name):
                    yield from [name] if read(name) is not None else ()
            if deep < RUNNERS_DEEPEST:
                passing += [(name, deep + 1) for name in _passed_on(line, criteria, folder=folder)]


def _passed_on(command: str, criteria: Criteria, *, folder: str = "") -> Iterator[str]:
    """The files in which it stands what a command runs."""
    for words in command_words.programs(command):
        if words[0] in _CHANGES_FOLDER and len(words) > 1:
            folder = posixpath.join(folder, words[1])
            continue
        places = [folder, *(posixpath.join(folder, word) for word in _behind(words, _FOLDER_OPTIONS))]
        names = criteria.files_of(command_words.name(words[0]))
        if names:
            names = [*names, *_behind(words, _FILE_OPTIONS)]
        else:
            names = [word for word in _scripts(words) if criteria.passes_on(word)]
        yield from filter(None, (_inside(posixpath.join(place, name)) for place in places for name in names))


def _behind(words: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    """The values of these options."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, _, value = word.partition("=")
        if option in options:
            yield value or following


def _lines_of(path: str, text: str, criteria: Criteria) -> Iterator[str]:
    """What may be a command in the file of a task runner: a line, or the strings in it."""
    part = criteria.judging_part(path, text).replace("\\\n", " ").replace("$(MAKE)", "make")
    for line in part.splitlines()[:LINES_MOST] if not path.endswith((".json", ".jsonc")) else [part]:
        strings = [found[1:-1].replace('\\"', '"') for found in _STRING.findall(line)]
        yield from strings[:LINES_MOST]
        yield _KEY.sub("", line.strip().lstrip("@-+ ")) if not strings else " ".join(strings[:LINES_MOST])


def _given(command: str, criteria: Criteria, *, folder: str = "") -> Iterator[str]:
    """The paths among a command's words that are named or placed like a judging script, whatever runs them,
    and those of what is expected; not where a program only looks at them."""
    starts = [command_words.name(words[0]) for words in command_words.programs(command)]
    is_run = any(name in command_words.SHELLS or _INTERPRETERS.fullmatch(name) for name in starts)
    is_run = is_run or not {"eval", "source"}.isdisjoint(starts)
    for words in command_words.given(command):
        plain = command_words.bare(words)
        if plain and plain[0] in _CHANGES_FOLDER and len(plain) > 1:
            folder = posixpath.join(folder, plain[1])
            continue
        compares = not _COMPARING.isdisjoint(map(command_words.name, plain[:WRAPPED_MOST]))
        for name in chain.from_iterable(map(_paths_of, _acted_on(words, is_run=is_run))):
            for path in filter(None, {_inside(posixpath.join(folder, name)), _inside(name)}):
                if criteria.is_expected(path) or (not compares and criteria.is_run(path)):
                    yield path


def _acted_on(words: Sequence[str], *, is_run: bool) -> Sequence[str]:
    """The words of a command without those that it only looks at."""
    names = {command_words.name(word) for word in command_words.bare(words)[:WRAPPED_MOST]}
    first = command_words.name((*command_words.bare(words), "")[0])
    if not names.isdisjoint(_readers()) or (first in _CARRIERS and not is_run):
        return ()
    if first in _TEST:
        return ()
    return list(_behind_patterns(words)) if first in _LOOKERS else words


def _behind_patterns(words: Sequence[str]) -> Iterator[str]:
    """The files in which it stands what is looked for."""
    for word, following in pairwise(words):
        if _PATTERNS.fullmatch(word):
            yield following


def _paths_of(word: str) -> Iterator[str]:
    plain = _TOP.sub("", word)
    if re.search(r"[\s()'\"]", plain):
        yield from _PATH.findall(plain)  # code
    else:
        yield plain.rpartition("=")[2].partition("::")[0]


def _is_named(criteria: Criteria, path: str) -> bool:
    """Named like a judge: what only lies beside one may be the program that it runs."""
    return criteria.is_script(posixpath.basename(path))


def _run_by(command: str) -> Iterator[str]:
    """The paths of the scripts that a command runs, and of the files that a runner in it is given."""
    folder = ""
    for words in command_words.programs(command):
        if words[0] in _CHANGES_FOLDER and len(words) > 1:
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
def _readers() -> frozenset[str]:
    return frozenset(sections()["readers"])


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

"""Whether a check is green although what it runs is red: told by its text, and only where that is sure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralphloop.proof import command_words
from ralphloop.proof.command_words import Simple, bare, name

# These hand on what they get, and are content with anything.
_FILTERS = frozenset(
    ["tee", "cat", "head", "tail", "tr", "sed", "sort", "uniq", "wc", "less", "more", "cut", "column", "nl",
     "fold", "fmt", "ts", "pv", "rev", "tac", "ansifilter"]
)  # fmt: skip
_GREEN = frozenset(["true", ":", "echo", "printf"])
# Where one of these stands, somebody has thought of a failure, and a flat reading is not enough.
_THOUGHT_OF = re.compile(
    r"(?:^|[\s;&|({])(?:exit\s+(?!0\b)\S|false\b|return\b|trap\b|kill\b|break\b|"
    r"set\s+(?:-\w*e\w*\b|-o\s+errexit))"
)
_PIPEFAIL = re.compile(r"\bpipefail\b")
_FORGIVING = {
    "--passWithNoTests": "is green without a single test",
    "--pass-with-no-tests": "is green without a single test",
    "--exit-zero": "is green whatever is found",
    "--if-present": "is green where there is no such script",
    "-DskipTests": "runs no test",
    "-Dmaven.test.skip=true": "runs no test",
    "-Dmaven.test.failure.ignore=true": "is green whatever fails",
    "--fail-never": "is green whatever fails",
    "--ignore-errors": "goes on after an error",
    "--collect-only": "runs no test",
}


def weak(command: str) -> str:
    """Why, in a few words; empty for a check that is not, or that is not understood."""
    commands = command_words.read(command)
    given = _only_script(commands)
    if given:
        return weak(given)
    if not commands:
        return "it runs nothing"
    return (
        _by_option(commands)
        or _by_shape(command, commands)
        or _by_pipe(command, commands)
        or _by_end(command, commands)
    )


def _only_script(commands: Sequence[Simple]) -> str:
    """What `bash -c` is given, where that is all of the check; with `-e` or pipefail it is none."""
    words = bare(commands[0].words) if len(commands) == 1 and not commands[0].after else ()
    is_shell = len(words) == 3 and name(words[0]) in command_words.SHELLS
    return words[2] if is_shell and words[1] in ("-c", "-lc") else ""


def _by_option(commands: Sequence[Simple]) -> str:
    """An option that forgives, of a command that decides."""
    for one in commands:
        words = one.words if one.after in ("", "&&", ";") else ()
        for word in words[1:]:
            if word in _FORGIVING and words[0] not in _GREEN and name(words[0]) not in ("grep", "rg"):
                return f"`{word}` {_FORGIVING[word]}"
        if words and name(words[0]) in ("make", "gmake") and {"-i", "-n"} & {*words}:
            return "`make -i` goes on after an error" if "-i" in words else "`make -n` runs nothing"
    return ""


def _by_shape(command: str, commands: Sequence[Simple]) -> str:
    """An `if` without an `else`, and a `for` whose last turn alone decides."""
    first, last = commands[0].words[0], commands[-1].words[0]
    starts = [one.words[0] for one in commands]
    if _THOUGHT_OF.search(command) or commands[-1].words[1:]:
        return ""
    if first == "if" and last == "fi" and starts.count("if") == 1 and not {"else", "elif"} & {*starts}:
        return "an `if` without `else` is green when its condition fails"
    forgets = not any(one.after in ("&&", "||") for one in commands)
    if first == "for" and last == "done" and starts.count("for") == 1 and forgets:
        return "only the last turn of its `for` decides"
    return ""


def _by_pipe(command: str, commands: Sequence[Simple]) -> str:
    """A pipe at the end, whose last command is content with anything."""
    if len(commands) < 2 or commands[-2].after != "|" or commands[-2].depth != commands[-1].depth:
        return ""
    words = bare(commands[-1].words)
    if commands[-1].after or not words or name(words[0]) not in _FILTERS or _PIPEFAIL.search(command):
        return ""
    return f"only the last command of its pipe decides, and that is `{name(words[0])}`"


def _by_end(command: str, commands: Sequence[Simple]) -> str:
    """A last command that is always green, or that nobody waits for."""
    last = commands[-1]
    words = bare(last.words)
    if last.words[0] in command_words.RESERVED - {"time"} or not words:
        return _by_group(command, commands) if last.words == ("}",) else ""
    if last.after == "&":
        return "it runs in the background, and nobody waits for it"
    if name(words[0]) == "find" and "-exec" in words and words[-1] == ";":
        return r"`find … -exec … \;` is green whatever the command says; end it with `+`"
    if len(commands) > 1 and words == ("wait",):
        return "its last command is `wait`, which is green whatever it waited for"
    return _by_green_end(command, commands, words)


def _by_green_end(command: str, commands: Sequence[Simple], words: Sequence[str]) -> str:
    is_exit = tuple(words) == ("exit", "0")
    is_green = is_exit or name(words[0]) in _GREEN
    if not is_green or _THOUGHT_OF.search(command) or _is_guarded(commands):
        return ""
    told = " ".join(words if is_exit else words[:1])
    before = commands[-2].after if len(commands) > 1 else ""
    if before == "||":
        return f"`|| {told}` makes it green"
    if before in ("&&", "|"):
        return "" if before == "&&" and _is_asked(commands) else f"it is always green: `{told}`"
    return f"its last command is `{told}`"


def _is_guarded(commands: Sequence[Simple]) -> bool:
    """Whether a bracket around the end is reached only if what is before it was green."""
    return any(one.after == "&&" and one.depth < commands[-1].depth for one in commands)


def _is_asked(commands: Sequence[Simple]) -> bool:
    """Whether something before `&& echo fine` can be red."""
    return any(name((bare(one.words) or one.words)[0]) not in _GREEN for one in commands)


def _by_group(command: str, commands: Sequence[Simple]) -> str:
    """`cmd || { echo no; }`: the same with braces."""
    if _THOUGHT_OF.search(command) or len(commands) < 3:
        return ""
    inside = bare(commands[-2].words)
    opens = [place for place, one in enumerate(commands) if one.words[0] == "{"]
    if len(opens) != 1 or not opens[0] or not inside or name(inside[0]) not in _GREEN:
        return ""
    return f"`|| {{ {name(inside[0])} … }}` makes it green" if commands[opens[0] - 1].after == "||" else ""

"""Programs, and the file that each one is: those that a shell command names, and the git that we start. That
is by an absolute path that a person's `start` or `install` recorded, else from a place of the system's own;
never by the PATH of a session, on which an agent can put another. Nothing is run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping

from ralphloop.proof import repository
from ralphloop.store import files, shelf

COMMAND_MAX = 20_000  # characters of a command that are looked at
# A larger file is known by its size and times: a runtime of 100 MB takes longer to read than a whole tree.
DIGEST_MAX = 1024 * 1024
LINKS_MAX = 20
_BEFORE = {"!", "{", "if", "then", "elif", "else", "while", "until", "do"}  # a command follows at once
_CLOSING = {"}", "fi", "done", "esac", "in", "case", "for", "select", "function"}
# programs that start the one that they are given behind their options
_STARTERS = {
    "builtin", "chronic", "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "time", "timeout", "unbuffer", "xargs",
}  # fmt: skip
_WITH_VALUE = {"-u", "-g", "-I", "-C", "-S", "-k", "-s"}  # of those: options whose value is the next word
_SHELLS = {"sh", "bash", "dash", "ksh", "zsh"}
BUILT_IN = {
    ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "echo",
    "eval", "exec", "exit", "export", "false", "fg", "getopts", "hash", "jobs", "kill", "let", "local",
    "printf", "pwd", "read", "readonly", "return", "set", "shift", "source", "test", "time", "times",
    "trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait",
}  # fmt: skip
_ASSIGNMENT = r"[A-Za-z_]\w*\+?="
_AMOUNT = r"[+-]?\d+(\.\d+)?[smhd%]?|\{\}"
_SIGNS = "();<>|&\n"

GIT_RECORD = "git"  # in the state directory
GIT_PLACES = (  # the system's own
    "/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/opt/local/bin", "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/pkg/bin",
)  # fmt: skip


def programs(command: str) -> list[str]:
    """The words in command position, each once, in order."""
    return list(dict.fromkeys(_programs(_words(command[:COMMAND_MAX]))))


def _words(command: str) -> list[str]:
    import shlex  # a claim that is judged asks for git alone

    reader = shlex.shlex(command, posix=True, punctuation_chars=_SIGNS)
    reader.whitespace, reader.whitespace_split, reader.commenters = " \t\r", True, ""
    try:
        return list(reader)
    except ValueError:  # a quote that nobody closes
        return command.split()


def _programs(words: list[str]) -> Iterator[str]:
    is_first, starter, shell, skip = True, "", "", 0
    for place, word in enumerate(words):
        if skip or not word:
            skip = max(0, skip - 1)
        elif set(word) <= set(_SIGNS):
            if set(word) & set("<>"):
                skip = 1  # what a redirection leads to
            else:
                is_first, starter, shell = True, "", ""
        elif shell and re.fullmatch(r"-[a-z]*c", word):
            yield from _programs(_words("".join(words[place + 1 : place + 2])))
            shell = ""
        elif is_first and _is_passed_over(word, starter):
            skip = 1 if word in _WITH_VALUE else 0
        elif is_first:
            name = os.path.basename(word)
            yield word
            starter = name if name in _STARTERS else ""
            is_first, shell = bool(starter), name if name in _SHELLS else ""


def _is_passed_over(word: str, starter: str) -> bool:
    if word in _BEFORE or word in _CLOSING or re.match(_ASSIGNMENT, word):
        return True
    return bool(starter) and (word.startswith("-") or re.fullmatch(_AMOUNT, word) is not None)


def offered(name: str, path: str, *, folder: str = "") -> Iterator[str]:
    """The programs of this name on a PATH, in order; relative places are seen from the folder, and without
    one they count for nothing."""
    for place in path.split(os.pathsep):
        found = os.path.join(folder, place, name)
        if _is_program(found):
            yield found


def _is_program(path: str) -> bool:
    return files.is_path(path) and os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)


def lead(word: str, path: str, *, folder: str) -> str:
    """The file that a shell in this folder would start for the word, links not resolved; empty if it starts
    none, or what it starts cannot be told."""
    if word in BUILT_IN or not files.is_path(word) or any(sign in word for sign in "$`*?"):
        return ""
    if "/" in word:
        found = os.path.normpath(os.path.join(folder, os.path.expanduser(word)))
        return found if _is_program(found) else ""
    return next(offered(word, path, folder=folder), "")


def content(path: str) -> str:
    """What changes when the program does: its digest, of a large one its size and times."""
    try:
        with open(path, "rb") as file:
            data = file.read(DIGEST_MAX + 1)
    except OSError:
        return ""
    return hashlib.sha256(data).hexdigest() if len(data) <= DIGEST_MAX else "stat-" + files.signature(path)


def latest_change(path: str) -> float:
    """When the file, or a link that leads to it, was last changed; the clock of the file system, which nobody
    but the system sets."""
    latest = 0.0
    for _ in range(LINKS_MAX):
        try:
            latest = max(latest, os.lstat(path).st_ctime)
            if not os.path.islink(path):
                break
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            break
    return latest


def find_git(folder: str, env: Mapping[str, str]) -> str:
    """The git to start in this folder; where there is none, a path that is not there."""
    known = (files.read_quietly(_git_record(env)) or "").strip()
    if known and _is_program(known) and not _is_in(known, _tops(folder, env)):
        return known
    usual = [os.path.join(place, "git") for place in GIT_PLACES]
    return next(filter(_is_program, usual), usual[0])


def record_git(folder: str, env: Mapping[str, str]) -> None:
    """Keep the git of the person who stands in this folder, but none that the repository brings along."""
    tops = _tops(folder, env)
    found = next((path for path in offered("git", env.get("PATH", "")) if not _is_in(path, tops)), "")
    if found and files.read_quietly(_git_record(env)) != found + "\n":
        files.make_folder(shelf.home(env))
        files.write_text(_git_record(env), found + "\n")


def _git_record(env: Mapping[str, str]) -> str:
    return os.path.join(shelf.home(env), GIT_RECORD)


def _tops(folder: str, env: Mapping[str, str]) -> list[str]:
    """The repositories that the folder lies in, each with the checkout that it is a worktree of; without one
    the folder itself. Not every repository there is: Homebrew's own git lies in one; nor the home of a person
    who keeps it in git."""
    home = os.path.realpath(env.get("HOME") or "/")
    tops = []
    found = repository.find(folder)
    while found is not None and found.top != home:
        tops += [found.top, *[os.path.dirname(found.common)] * found.common.endswith(os.sep + ".git")]
        found = repository.find(os.path.dirname(found.top))
    real = os.path.realpath(folder)
    return tops or [top for top in [real] if top not in (home, os.sep)]


def _is_in(path: str, tops: list[str]) -> bool:
    """Whether the file, or the link to it, lies in one of these folders."""
    link = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return any(one.startswith(top + os.sep) for one in (link, os.path.realpath(path)) for top in tops)

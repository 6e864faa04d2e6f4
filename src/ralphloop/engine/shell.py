"""Takes a shell command apart, as far as needed to tell which files it writes; nothing is run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

# Of the shell: what ends a word, the redirections (longest first) with those that write, and what may
# stand before the name of a command.
BREAKS = " \t\r\n();<>|&"
REDIRECTIONS = ("<<<", "<<-", "&>>", "<<", ">>", ">|", ">&", "&>", "<>", "<&", "<", ">")
WRITING = ("&>>", ">>", ">|", ">&", "&>", ">")


def commands(text: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Each simple command: how deep in parentheses, its words, and the files that it redirects into."""
    depth, before = 0, ""
    words: list[str] = []
    targets: list[str] = []
    for token, is_operator in _tokens(text):
        if not is_operator:
            if not before:
                words.append(token)
            elif before in WRITING:
                targets.append(token)
            before = ""
        elif token in REDIRECTIONS:
            before = token
        else:
            yield depth, words, targets
            words, targets, before = [], [], ""
            depth = max(0, depth + (token == "(") - (token == ")"))  # noqa: S105 - a bracket, no password
    yield depth, words, targets


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a shell text without their quotes, and its operators, which are marked; no comment and
    no body of a heredoc. ValueError if a quote is not closed."""
    text += "\n"
    at, before = 0, ""
    bodies: list[tuple[str, str]] = []
    while at < len(text):
        if text[at] in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif text[at] == "#":
            at = text.index("\n", at)
        elif text[at] in BREAKS:
            found = [operator for operator in REDIRECTIONS if text.startswith(operator, at)]
            before = found[0] if found else text[at]
            at += len(before)
            if before == "\n":
                at = _after(bodies, text, at)
                bodies = []
            yield before, True
        else:
            word, at = _word(text, at)
            if before in ("<<", "<<-"):
                bodies.append((word, before))
            if not (word.isdigit() and text[at : at + 1] in ("<", ">")):  # of a descriptor
                yield word, False
            before = ""


def _word(text: str, at: int) -> tuple[str, int]:
    parts = []
    while at < len(text) and text[at] not in BREAKS:
        if text[at] == "'":
            end = text.index("'", at + 1)
            parts.append(text[at + 1 : end])
            at = end + 1
        elif text[at] == '"':
            end = _closing_quote(text, at + 1)
            parts.append(text[at + 1 : end].replace('\\"', '"'))
            at = end + 1
        else:
            at += text[at] == "\\"
            parts.append(text[at : at + 1])
            at += 1
    return "".join(parts), at


def _closing_quote(text: str, at: int) -> int:
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
        if at >= len(text):
            raise ValueError("a quote is not closed")
    return at


def _after(bodies: list[tuple[str, str]], text: str, at: int) -> int:
    """Where the text goes on after the bodies of the heredocs of a line."""
    for delimiter, operator in bodies:
        line = None
        while line != delimiter and at < len(text):
            end = text.index("\n", at)
            line = text[at:end].lstrip("\t") if operator == "<<-" else text[at:end]
            at = end + 1
    return at

"""Which loop becomes a session's own: one that waits for it, or one that it has begun itself."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop import system as os
from ralphloop.engine import shell
from ralphloop.engine.find import locate, roots
from ralphloop.store import arming, ended, files, shelf
from ralphloop.store.loop import iso
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists.registry import layout as layout_of
from ralphloop.tasklists.registry import own_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.engine.find import Call
    from ralphloop.engine.reader import Reader
    from ralphloop.store.loop import LoopFiles
    from ralphloop.store.shelf import Record
    from ralphloop.tasklists.source import Source

# What the input of a tool that writes has beside the path; one that reads has none of it.
WRITTEN = ("content", "new_string", "edits")
LEFT_OUT = ("edits", "old_string")  # of which only what comes instead is written

PROMPT_MIN = 40  # characters; a shorter one, like "continue", is typed by whoever never saw the file

ELSEWHERE = "$OLDPWD"  # a folder that only a shell knows
PREFIXES = ("!", "{", "do", "elif", "else", "if", "sudo", "then", "time", "until", "while")


def for_stop(event: StopEvent, call: Call) -> Optional[LoopFiles]:
    """The loop that this stop of a session without one is about, bound or claimed now."""
    if any(True for _ in armed(event.cwd, call)):
        begun, asked = call.client.opening(event.transcript)
        found = waiting(event, call, begun=begun, asked=asked)
        if found is not None:
            return arming.bind(found[1], found[0], session=event.session or "", writes=call.writes)
    return None if event.active else _claim(event, call)


def waiting(event: StopEvent, call: Call, *, begun: str, asked: str) -> Optional[tuple[Shelf, Record]]:
    """The armed loop that waits for this session: the one whose prompt it got, else the only one, armed
    before the session began, or released by this very session."""
    found = list(armed(event.cwd, call))
    for here, record in found:
        if event.session in (None, record.session) or is_prompt(record, asked):
            return here, record
    return found[0] if len(found) == 1 and begun > found[0][1].armed_at else None


def armed(cwd: str, call: Call) -> Iterator[tuple[Shelf, Record]]:
    for root in roots(cwd, call.env):
        here = Shelf(root, call.env)
        for record in here.records(shelf.ARMED):
            if record.layout in call.layouts:
                yield here, record


def is_prompt(source: Source | Record, asked: str) -> bool:
    """Whether this is the prompt that the loop's own file holds, white space aside."""
    path = source.paths.get("prompt")
    text = files.read_quietly(path) if path and asked.strip() else None
    return bool(text and text.split() == asked.split())


def _is_telling(source: Source, asked: str) -> bool:
    """Whether it is the list's prompt, and one that nobody types by chance."""
    return len("".join(asked.split())) >= PROMPT_MIN and is_prompt(source, asked)


def sources(cwd: str, call: Call) -> Iterator[Source]:
    """The task lists that files point at, the nearest pointer of each layout only."""
    for name in call.layouts:
        for root in roots(cwd, call.env):
            found = locate(name, root, call.env)
            if found:
                yield from found
                break


def for_prompt(event: StopEvent, call: Call, *, asked: str) -> Optional[LoopFiles]:
    """The list that nobody armed and whose own prompt is the first that this session is given."""
    first = call.client.opening(event.transcript)[1]
    if first and first.split() != asked.split():
        return None
    for source, here in _free(event, call):
        if _is_telling(source, asked) and arming.is_due(source):
            return _arm(source, here, event=event, call=call, since=iso(time.time()))
    return None


def _claim(event: StopEvent, call: Call) -> Optional[LoopFiles]:
    awaits = event.session is not None  # once for all lists the client gets its moment
    past = _Past(event.transcript, call.client)
    for source, here in _free(event, call):
        if awaits:
            call.client.await_reply(event.transcript, event.reply)
            awaits = False
        since = _own_since(source, here, event, past)
        # Last, because it parses the list, however large and whosever it is.
        if since is not None and arming.is_due(source):
            return _arm(source, here, event=event, call=call, since=since)
    return None


def _free(event: StopEvent, call: Call) -> Iterator[tuple[Source, Shelf]]:
    """The lists here that no loop is over."""
    taken: dict[str, set[str]] = {}  # by root: looked up once for all of its lists
    for source in sources(event.cwd, call):
        here = Shelf(source.root, call.env)
        if source.root not in taken:
            taken[source.root] = {own_file(record) for record in arming.under_way(here)}
        path = own_file(source)
        if source.enabled and path not in taken[source.root] and files.signature(path) != "":
            yield source, here


def _arm(source: Source, here: Shelf, *, event: StopEvent, call: Call, since: str) -> Optional[LoopFiles]:
    try:
        loop = arming.arm(source, here, session=event.session or "", writes=call.writes, since=since)
    except errors.TakenError:
        return None
    if call.writes:
        from ralphloop.engine.checks import pin_protected

        pin_protected(loop)
    return loop


class _Past:
    """What the session's transcript shows, read once for however many lists."""

    def __init__(self, path: str, client: Reader) -> None:
        self._path = path
        self._client = client
        self._opening: Optional[tuple[str, str]] = None
        self._calls: dict[str, list[tuple[str, dict[str, Any]]]] = {}

    def opening(self) -> tuple[str, str]:
        if self._opening is None:
            self._opening = self._client.opening(self._path)
        return self._opening

    def tool_calls(self, marker: str) -> list[tuple[str, dict[str, Any]]]:
        if marker not in self._calls:
            self._calls[marker] = list(self._client.tool_calls(self._path, marker))
        return self._calls[marker]


def _own_since(source: Source, here: Shelf, event: StopEvent, past: _Past) -> Optional[str]:
    """When the session began this loop, as its transcript shows, after any earlier loop ended; else None."""
    ended_at = ended.ended_at(here, own_file(source))
    if event.session is None:
        return None if ended_at else ""
    begun, asked = past.opening()
    if begun > ended_at and _is_telling(source, asked):
        return begun
    for stamp, tool_input in past.tool_calls(os.path.basename(own_file(source))):
        if stamp > ended_at and writes(tool_input, source):
            return stamp
    return None


def writes(tool_input: Mapping[str, object], source: Source) -> bool:
    """Whether a tool call wrote the loop's own file, as one does who works on it."""
    path = own_file(source)
    target = tool_input.get("file_path")
    if isinstance(target, str):
        if not any(key in tool_input for key in WRITTEN) or not files.is_path(target):
            return False
        if not _same_file(os.path.join(source.root, target), path):
            return False
    elif not _shell_writes(str(tool_input.get("command", "")), source):
        return False
    return layout_of(source.layout).is_work(_put_in(tool_input), by_shell=target is None)


def _put_in(tool_input: Mapping[str, object]) -> str:
    """What a tool call was given, without the texts that it takes away."""
    edits = tool_input.get("edits")
    parts = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    given = [item for part in (tool_input, *parts) for item in part.items()]
    return " ".join(str(value) for key, value in given if key not in LEFT_OUT)


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _shell_writes(command: str, source: Source) -> bool:
    """Whether a shell command redirects into the file, or ends a mv, cp, tee, sed -i with it."""
    path = own_file(source)
    try:
        parts = list(shell.commands(command)) if os.path.basename(path) in command else []
    except ValueError:
        return False
    near = _near(os.path.dirname(path), source.root)
    is_named = any(near in word for _, words, targets in parts for word in words + targets)
    folders = [""]  # of each level of parentheses, as far as `cd` tells
    pushed: list[str] = []
    for depth, words, targets in parts:
        del folders[depth + 1 :]
        folders += folders[-1:] * (depth + 1 - len(folders))
        run = _without_prefix(words)
        folders[-1] = _moved(folders[-1], run, pushed)
        for word in targets + (run[-1:] if _writes_last(run) else []):
            if _means(word, path, folder=folders[-1], is_named=is_named):
                return True
    return False


def _near(folder: str, root: str) -> str:
    """The folder as seen from the project, or as it is if it is not in there."""
    is_inside = (folder + os.sep).startswith(root.rstrip(os.sep) + os.sep)
    return folder[len(root) :].strip(os.sep) if is_inside else folder


def _moved(folder: str, run: list[str], pushed: list[str]) -> str:
    """The folder after this command; `pushed` has those to come back to."""
    name, word = "".join(run[:1]), run[-1] if len(run) > 1 else ""
    if name == "cd":
        return _from(folder, word or "~")
    if name == "pushd":
        pushed.append(folder)
        return _from(folder, word) if word[:1] not in ("", "+", "-") else ELSEWHERE
    return (pushed.pop() if pushed else ELSEWHERE) if name == "popd" else folder


def _from(folder: str, word: str) -> str:
    """Where a path leads from a folder; what the shell would expand first can lead anywhere."""
    if word == "-":
        return ELSEWHERE
    return word if word[:1] in ("$", "`", "~") else os.path.join(folder, word)


def _without_prefix(words: list[str]) -> list[str]:
    """The words of a command from its name on."""
    at = 0
    while at < len(words) and (words[at] in PREFIXES or _is_assignment(words[at])):
        at += 1
    return words[at:]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _writes_last(words: list[str]) -> bool:
    if len(words) < 2:
        return False
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[1:end] if word.startswith("-")]
    if "--help" in options or "--version" in options:
        return False
    if words[0] in ("mv", "cp", "install"):  # with -t the last word is what is read
        return not _has(options, "t", long="--t", valued="Sgmo")
    if words[0] == "sed":
        return _has(options, "i", long="--in-place", valued="efl")
    return words[0] in ("tee", "truncate")


def _has(options: list[str], letter: str, *, long: str, valued: str) -> bool:
    """Whether an option is given, alone or among other letters; behind a `valued` one stands its value."""
    for word in options:
        letters = "" if word.startswith("--") else word[1:]
        for sign in valued:
            letters = letters.partition(sign)[0]
        if letter in letters or word.startswith(long):
            return True
    return False


def _means(word: str, path: str, *, folder: str, is_named: bool) -> bool:
    """Whether a word of a command can stand for the file, as far as it can be told without a shell."""
    if os.path.basename(word) != os.path.basename(path):
        return False
    told = _from(folder, word)
    if os.path.isabs(told):
        return files.is_path(told) and _same_file(told, path)
    agreed = max(_agreed(told, path), _agreed(told, os.path.realpath(path)))
    # The bare name alone may be that of any spec.
    is_bare = agreed == 1 and not os.path.dirname(word).strip("./")
    return agreed > 0 and (is_named or not is_bare)


def _agreed(word: str, path: str) -> int:
    """How many parts of the path the word tells, up to one that only a shell knows; 0 if one differs."""
    known = path.replace(os.sep, "/").split("/")
    told = word.split("/")
    count = 0
    while told and told[-1] not in ("", ".", "..") and not set(told[-1]) & set("$`~*?{}()\"'"):
        if not known or told.pop() != known.pop():
            return 0
        count += 1
    return count

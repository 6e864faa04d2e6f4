"""What a session of Claude Code tells beside the end of a turn: how it began, what it called, and for each
call that was denied the permission rule that would allow it."""

from __future__ import annotations

import time

from ralphloop import system as os
from ralphloop.domain.model import is_older
from ralphloop.engine.entries import (
    FIRST_TAIL,
    FLAGS,
    TAIL_MAX,
    blocks,
    entries_with,
    entry_of,
    last_text,
    new_bytes,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional

HEAD_MAX = 4 * 1024 * 1024
PATIENCE_S, STEP_S = 1.0, 0.05  # for a transcript that is still being written

# How a denial begins. Claude Code 2.1.197 says it in these words only; 2.1.325 also writes
# `toolDenialKind` and `permissionDecision` beside the message.
WORDS = (
    "This command requires approval",
    "This Bash command contains multiple operations",
    "Claude requested permissions to ",
    "Permission to use ",
)
MARKERS: tuple[bytes, ...] = (b'"toolDenialKind"', b'"reject"', *[b'":"' + w.encode() for w in WORDS])

# A person's no is a decision, not a missing rule; Esc and the end of a session are neither.
PERSON = "The user doesn't want to proceed"
BROKEN_OFF = ("interrupted", "cancelled")
# Reason codes that no allow rule lifts: a deny or ask rule, a hook, plan mode, a protected file.
FINAL = ("rule:", "hook:", "mode:plan", "safetyCheck")

# The client has no rules for Write: it asks those for Edit.
FILE_RULES = {"Edit": "Edit", "MultiEdit": "Edit", "NotebookEdit": "Edit", "Read": "Read", "Write": "Edit"}
# Of a command line: what the client looks behind, what it allows of itself, what it cannot look into.
LEADS = ("!", "if", "then", "else", "elif", "time", "nohup")
HARMLESS = (
    "fi", "cd", "ls", "cat", "echo", "head", "tail", "grep", "wc", "pwd", "true", "find", "sort", "uniq",
    "which", "date", "test",
)  # fmt: skip
OPAQUE = ("for", "while", "until", "case", "select", "function", "{", "source", ".", "eval")
EXACT_MAX = 150


def opening(path: str) -> tuple[str, str]:
    """When the session began and what it was first asked; empty texts if that cannot be seen."""
    begun = ""
    for entry in _head(path):
        stamp = entry.get("timestamp")
        begun = begun or (stamp if isinstance(stamp, str) else "")
        if entry.get("type") == "user" and not entry.get("isMeta") and not entry.get("isSidechain"):
            asked = text_of(entry)
            if asked:
                return begun, asked
    return begun, ""


def _head(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(os.open(os.path.expanduser(path), FLAGS), "rb") as lines:
            left = HEAD_MAX
            while left > 0:
                raw = lines.readline(left)
                if not raw:
                    return
                left -= len(raw)
                entry = entry_of(raw)
                if entry is not None:
                    yield entry
    except (OSError, ValueError):
        return


def has_reply(path: str, reply: Optional[str]) -> bool:
    """Whether the transcript has come as far as this reply, by the part of it that JSON leaves as it is: at a
    stop the client may still be writing, and of a print run's first turn there is no file yet (2.1.325).
    Without such a part nobody can tell."""
    words = (reply or "").strip()
    plain = 0
    while plain < len(words) and " " <= words[plain] <= "~" and words[plain] not in '"\\':
        plain += 1
    found = new_bytes(path, 0, FIRST_TAIL) if plain else None
    said = last_text(found[0]) if found else None
    return not plain or (said is not None and said.strip().startswith(words[:plain]))


def await_reply(path: str, reply: Optional[str]) -> None:
    """Give the client a moment to write this reply down."""
    deadline = time.monotonic() + PATIENCE_S
    while not has_reply(path, reply) and time.monotonic() < deadline:
        time.sleep(STEP_S)


def was_scheduled(path: str, text: str) -> bool:
    """Whether the agent scheduled a prompt with this text: when it comes due, it reaches the hook like one
    that was typed (2.1.325, CronCreate and ScheduleWakeup)."""
    for _, given in tool_calls(path, text):
        if any(text in str(given.get(key, "")) for key in ("prompt", "message")):
            return True
    found = new_bytes(path, 0, TAIL_MAX)
    fired = entries_with(found[0] if found else b"", b"scheduled_task_fire")
    return any(text in str(entry.get("prompt", "")) for entry in fired)


def tool_calls(path: str, marker: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Time and input of the tool calls that name `marker`, in this transcript and its subagents'."""
    for place in (path, *_subagents(path)):
        found = new_bytes(place, 0, TAIL_MAX)
        for entry in entries_with(found[0] if found else b"", marker.encode()):
            stamp = entry.get("timestamp")
            for block in blocks(entry) if entry.get("type") == "assistant" else ():
                if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
                    yield stamp if isinstance(stamp, str) else "", block["input"]


def _subagents(path: str) -> list[str]:
    base = os.path.expanduser(path)
    folder = os.path.join(base[: -len(".jsonl")] if base.endswith(".jsonl") else base, "subagents")
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    except (OSError, ValueError):
        return []


def denials(data: bytes, since: str) -> list[tuple[str, str]]:
    """In order, the tool and the permission rule to add for each denied call in these transcript lines.

    Where a call needs several rules they are joined by commas; where none would help there is none.
    """
    found = []
    calls = _calls(data)
    for raw in data.splitlines():
        entry = entry_of(raw) if any(marker in raw for marker in MARKERS) else None
        for result in _results(entry, since) if entry else ():
            name, given = calls.get(result["tool_use_id"], ("", {}))
            said = _text(result.get("content"))
            if entry and name and result.get("is_error") is True and _is_denial(entry, said):
                found.append((name, _rule(name, given, said, entry)))
    return found


def worked(data: bytes, since: str) -> set[str]:
    """The tools that had a result without an error in these lines."""
    names = set()
    calls = _calls(data)
    for entry in entries_with(data, b'"tool_result"'):
        for result in _results(entry, since):
            if result.get("is_error") is not True:
                names.add(calls.get(result["tool_use_id"], ("", {}))[0])
    return names - {""}


def _calls(data: bytes) -> dict[str, tuple[str, dict[str, Any]]]:
    """The name and the input of each tool call by its id."""
    found = {}
    for entry in entries_with(data, b'"tool_use"'):
        for block in blocks(entry) if entry.get("type") == "assistant" else ():
            name, given, ident = block.get("name"), block.get("input"), block.get("id")
            if block.get("type") == "tool_use" and isinstance(name, str) and isinstance(ident, str):
                found[ident] = name, given if isinstance(given, dict) else {}
    return found


def _results(entry: dict[str, Any], since: str) -> list[dict[str, Any]]:
    stamp = entry.get("timestamp")
    if entry.get("type") != "user" or (isinstance(stamp, str) and is_older(stamp, since)):
        return []
    found = [block for block in blocks(entry) if block.get("type") == "tool_result"]
    return [block for block in found if isinstance(block.get("tool_use_id"), str)]


def _text(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join([text for text in texts if isinstance(text, str)])
    return content if isinstance(content, str) else ""


def _is_denial(entry: dict[str, Any], said: str) -> bool:
    kind, decision = entry.get("toolDenialKind"), entry.get("permissionDecision")
    if said.startswith(PERSON) or kind in BROKEN_OFF:
        return False
    if isinstance(decision, dict):
        return decision.get("decision") == "reject"
    return isinstance(kind, str) or said.startswith(WORDS)


def _rule(name: str, given: dict[str, Any], said: str, entry: dict[str, Any]) -> str:
    decision, folder = entry.get("permissionDecision"), entry.get("cwd")
    code = str(decision.get("reasonCode")) if isinstance(decision, dict) else ""
    folder = folder if isinstance(folder, str) else "/"
    command, url = given.get("command"), given.get("url")
    path = given.get("file_path", given.get("notebook_path"))
    if name == "Bash" and code == "safetyCheck":
        return name
    if code.startswith(FINAL) or (not code and said.endswith("has been denied.")):
        return ""
    if name == "Bash" and isinstance(command, str) and command.strip():
        return _bash_rule(command, said, code, folder)
    if name in FILE_RULES and isinstance(path, str):
        return _file_rule(FILE_RULES[name], path, folder)
    if name == "WebFetch" and isinstance(url, str):
        return "WebFetch(domain:" + _host(url) + ")"
    return name


def _file_rule(kind: str, path: str, folder: str) -> str:
    """Two slashes begin a path from the root, and the rest is a pattern as in .gitignore."""
    if not path.startswith("~"):
        path = "/" + os.path.join(folder, path[2:] if path.startswith("./") else path)
    return kind + "(" + path.replace("[", "\\[") + ")"


def _host(url: str) -> str:
    place = url.partition("://")[2]
    for end in "/?#":
        place = place.partition(end)[0]
    return place.rpartition("@")[2].partition(":")[0].lower()


def _bash_rule(command: str, said: str, code: str, folder: str) -> str:
    """A rule for each part of the command line, and for each file that it writes into."""
    from ralphloop.engine import shell

    try:
        parts = [(depth, _bare(words), targets) for depth, words, targets in shell.commands(command)]
    except (ValueError, IndexError):
        return "Bash"
    lines = [words for _, words, _ in parts if words]
    is_grouped = "$(" not in command and any(depth for depth, _, _ in parts)
    if is_grouped or command.rstrip().endswith("&") or any(_leaves(words, folder) for words in lines):
        return "Bash"
    asked = said.partition(" approval: ")[2]
    wanted = [words for words in lines if words[0] not in HARMLESS]
    rules = [_command_rule(words) for words in wanted if not asked or " ".join(words[:2]) in asked]
    written = [path for _, _, targets in parts for path in targets]
    rules += [_file_rule("Edit", path, folder) for path in [*written, _outside(said)] if _is_file(path)]
    if _is_opaque(command, code, lines) or not rules:
        return "Bash" if len(command) > EXACT_MAX or "\n" in command else "Bash(" + command + ")"
    return ", ".join(dict.fromkeys(rules))


def _bare(words: list[str]) -> list[str]:
    """The words without those that only lead to a command."""
    while words and (words[0] in LEADS or (words[0] == "timeout" and words[1:2] and words[1][0].isdigit())):
        words = words[2 if words[0] == "timeout" else 1 :]
    return words


def _leaves(words: list[str], folder: str) -> bool:
    there = words[1] if words[0] == "cd" and len(words) > 1 else ""
    return there.startswith("/") and not (there + "/").startswith(folder + "/")


def _is_opaque(command: str, code: str, lines: list[list[str]]) -> bool:
    """Whether the client cannot look into the command: then it allows it as a whole only."""
    if code.startswith("bashMiss:") and code != "bashMiss:no-rule-match":
        return True
    if "`" in command or "$(" in command.replace("$(cat <<", ""):
        return True
    for words in lines:
        first = _assignments(words)
        if first == len(words) or words[0] in OPAQUE or " " in "".join(words[:first]):
            return True
    return False


def _assignments(words: list[str]) -> int:
    """How many words before the command set variables for it."""
    count = 0
    while count < len(words) and "=" in words[count] and words[count].partition("=")[0].isidentifier():
        count += 1
    return count


def _command_rule(words: list[str]) -> str:
    """`npm test` of `npm test --all`; assignments stay, since the client knows only some as harmless."""
    end = _assignments(words) + 1
    if end < len(words) and _is_subcommand(words[end]):
        end += 1
    return "Bash(" + " ".join(words[:end]) + ":*)"


def _is_subcommand(word: str) -> bool:
    return word[:1].isalpha() and word.replace("-", "").replace("_", "").isalnum() and word.islower()


def _is_file(path: str) -> bool:
    return bool(path) and not path.isdigit() and not path.startswith("/dev/")


def _outside(said: str) -> str:
    """The file in `rm in '/tmp/x' needs approval. The path is outside the working directories …`."""
    path, found, _ = said.partition("' needs approval. The path is outside")
    return path.rpartition("'")[2] if found else ""

"""A git repository as its files say, read by hand: where it and its worktrees are, what is checked out, its
own settings, and the flags in its index. No process, nothing written, and no setting of the repository's is
obeyed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from ralphloop.store import files

HEADS = "refs/heads/"
LINKS_MAX = 5
# Settings of a repository's own that can make a check, or a look at the tree, see something else.
_TELLING = (  # patterns are compiled by who reads settings, which a judged claim does not
    r"alias\..*|filter\..*|include(if\..*)?\.path|extensions\..*|url\..*\.(pushinsteadof|insteadof)"
    r"|core\.(attributesfile|autocrlf|bare|checkstat|editor|eol|excludesfile|filemode|fsmonitor|gitproxy"
    r"|hookspath|ignorecase|ignorestat|pager|precomposeunicode|safecrlf|sparsecheckout\w*|splitindex|sshcommand"
    r"|symlinks|trustctime|untrackedcache|worktree)"
    r"|diff\.(.*\.(textconv|command|binary|xfuncname|cachetextconv)|external|ignoresubmodules|renames)"
    r"|merge\..*\.driver|remote\..*\.(uploadpack|receivepack|vcs|proxy|promisor)|submodule\..*\.(ignore|update)"
    r"|status\..*|index\..*|pager\..*|grep\..*|log\..*|credential\..*helper|gc\..*command|interactive\..*"
)
_HEADER = r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]'
_KEY = r"\s*([A-Za-z][\w-]*)[ \t]*(=?)[ \t]*"
_PLAIN = r'([^"\\#;\n]*)(?=\n|$)'
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_ASSUMED, _EXTENDED, _SKIPPED = (
    0x80,
    0x40,
    0x40,
)  # in the high byte of an entry's flags, and of the second pair
_GITLINK, _FOLDER = 0xE0, 0x40  # in an entry's mode
_ENTRY = 40  # bytes of an entry before its id


class Repository(NamedTuple):
    top: str  # of the work tree
    git_folder: str
    common: str  # the git folder that all worktrees share

    @property
    def objects(self) -> str:
        return os.path.join(self.common, "objects")


def find(folder: str) -> Repository | None:
    """The repository that the folder lies in; its top is where `.git` is, whatever a setting says."""
    place = os.path.realpath(folder)
    while True:
        found = at(place)
        if found is not None or place == os.path.dirname(place):
            return found
        place = os.path.dirname(place)


def at(top: str) -> Repository | None:
    """The repository with this top."""
    git = os.path.join(top, ".git")
    if os.path.isfile(git):
        text = (files.read_quietly(git) or "").strip()
        if not text.startswith("gitdir:") or not files.is_path(text):
            return None
        git = os.path.join(top, text[len("gitdir:") :].strip())
    git = os.path.realpath(git)
    if not os.path.isfile(os.path.join(git, "HEAD")):
        return None
    common = (files.read_quietly(os.path.join(git, "commondir")) or "").strip()
    return Repository(top, git, os.path.realpath(os.path.join(git, common)) if files.is_path(common) else git)


def folder_for(root: str, cwd: str) -> str:
    """Where checks run: the project's folder, in the worktree of it that the session works in."""
    folder = os.path.realpath(cwd) if os.path.isabs(cwd) else root
    while folder != os.path.dirname(folder):
        main = main_checkout(folder)
        if main and (root == main or root.startswith(main.rstrip(os.sep) + os.sep)):
            return os.path.normpath(os.path.join(folder, os.path.relpath(root, main)))
        folder = os.path.dirname(folder)
    return root


def main_checkout(folder: str) -> str:
    """The folder of the repository that has this one as a worktree, and knows it."""
    gitdir, main = files.worktree_link(folder)
    known = (files.read_quietly(os.path.join(gitdir, "gitdir")) or "").strip() if main else ""
    if not known or not files.is_path(known):
        return ""
    return main if os.path.realpath(known) == os.path.realpath(os.path.join(folder, ".git")) else ""


def head(repository: Repository) -> tuple[str, str]:
    """The commit that is checked out and its branch; empty before the first commit, and on no branch."""
    text = (files.read_quietly(os.path.join(repository.git_folder, "HEAD")) or "").strip()
    ref = _target(text)
    is_known = (
        ref.startswith(HEADS) and ref != HEADS + ".invalid"
    )  # what stands there where refs are in a table
    branch = ref[len(HEADS) :] if is_known else ""
    for _ in range(LINKS_MAX):
        if not text.startswith("ref:"):
            break
        text = _ref(repository, _target(text))
    return (text if re.fullmatch(r"[0-9a-f]{40,64}", text) else ""), branch


def _target(text: str) -> str:
    return text[len("ref:") :].strip() if text.startswith("ref:") and files.is_path(text) else ""


def _ref(repository: Repository, name: str) -> str:
    if not name.startswith("refs/") or ".." in name:
        return ""
    for folder in (repository.git_folder, repository.common):
        text = files.read_quietly(os.path.join(folder, name))
        if text and text.strip():
            return text.strip()
    packed = files.read_quietly(os.path.join(repository.common, "packed-refs")) or ""
    before = packed.partition(f" {name}\n")
    return before[0].rpartition("\n")[2] if before[1] else ""


def exclude(repository: Repository) -> str:
    """The digest of the ignore rules that only this clone has; empty if there are none."""
    return _digest(os.path.join(repository.common, "info", "exclude"))


def _digest(path: str) -> str:
    text = files.read_quietly(path)
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def settings(repository: Repository) -> list[tuple[str, str]]:
    """Every setting of the repository's own, in order; a file that one includes is named from the root."""
    found: list[tuple[str, str]] = []
    for path in (
        os.path.join(repository.common, "config"),
        os.path.join(repository.git_folder, "config.worktree"),
    ):
        for name, value in parse(files.read_quietly(path) or ""):
            is_file = name.startswith("include") and name.endswith(".path") and not value.startswith("~")
            found.append((name, os.path.join(os.path.dirname(path), value) if is_file else value))
    return found


def telling(every: list[tuple[str, str]]) -> dict[str, str]:
    """Those that can make somebody see something else; of an included file also what is in it."""
    found: dict[str, str] = {}
    for name, value in every:
        if not re.fullmatch(_TELLING, name):
            continue
        said = value
        if name.startswith("include"):
            said += " " + _digest(os.path.expanduser(value))[:12] if files.is_path(value) else ""
        found[name] = f"{found[name]}\n{said}" if name in found else said
    return found


def parse(text: str) -> Iterator[tuple[str, str]]:
    """The settings in a file of git's; what is no setting is passed over."""
    text, at, section = text.removeprefix("\ufeff").replace("\r\n", "\n"), 0, ""
    headers, keys = re.compile(_HEADER), re.compile(_KEY)
    while at < len(text):
        header, key = headers.match(text, at), keys.match(text, at)
        if header:
            section, at = _section(header[1], header[2]), header.end()
        elif key and section:
            value, at = _value(text, key.end()) if key[2] else ("true", _line_end(text, key.end()))
            yield f"{section}.{key[1].lower()}", value
        else:
            start = at + len(text[at:]) - len(text[at:].lstrip()) if text[at].isspace() else at
            at = _line_end(text, start) + 1


def _section(name: str, inner: str | None) -> str:
    return name.lower() if inner is None else name.lower() + "." + re.sub(r"\\(.)", r"\1", inner)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str, int]:
    plain = re.compile(_PLAIN).match(text, at)
    if plain:
        return plain[1].strip(), plain.end()
    out: list[str] = []
    kept, is_quoted = 0, False
    while at < len(text) and text[at] != "\n":
        sign = text[at]
        if sign == "\\":
            at += 1
            sign = text[at : at + 1]
            out += [_ESCAPES.get(sign, sign)] if sign != "\n" else []
            kept = len(out)
        elif sign == '"':
            is_quoted = not is_quoted
        elif sign in "#;" and not is_quoted:
            at = _line_end(text, at)
            break
        else:
            out.append(sign)
            kept = len(out) if is_quoted or not sign.isspace() else kept
        at += 1
    return "".join(out[:kept]), at


class Flagged(NamedTuple):
    """An index without flags that let git overlook a file, and what had them."""

    data: bytes
    assumed: list[str]  # assume-unchanged
    skipped: list[str]  # skip-worktree
    gitlinks: list[str]
    folders: list[tuple[int, int]]  # where an entry stands for a whole folder that is not checked out


def unflagged(data: bytes, *, id_size: int = 20) -> Flagged | None:
    """None for an index in a form that only git reads: compressed or split. ValueError for a file that is
    none."""
    if len(data) < 12 + id_size or data[:4] != b"DIRC":
        raise ValueError("it is no index")
    if int.from_bytes(data[4:8], "big") not in (2, 3):
        return None
    buffer, found = bytearray(data), Flagged(data, [], [], [], [])
    try:
        end = _clear(buffer, found, id_size)
    except (IndexError, ValueError):
        raise ValueError("it ends too early") from None
    if end > len(data) - id_size:
        raise ValueError("it ends too early")
    if _is_split(data, end, id_size):
        return None
    if not found.assumed and not found.skipped and not found.folders:
        return found
    whole = bytes(buffer[:-id_size]) if not found.folders else _without(bytes(buffer[:end]), found.folders)
    kind = "sha1" if id_size == 20 else "sha256"
    return found._replace(data=whole + hashlib.new(kind, whole, usedforsecurity=False).digest())


def _clear(buffer: bytearray, found: Flagged, id_size: int) -> int:
    """Take the flags out; where the entries end. One pass over tens of thousands, so nothing is called."""
    at, flags = 12, _ENTRY + id_size
    for _ in range(int.from_bytes(buffer[8:12], "big")):
        high = buffer[at + flags]
        size = (high & 0x0F) << 8 | buffer[at + flags + 1]
        if high & (_ASSUMED | _EXTENDED) or size == 0xFFF or buffer[at + 26] == _GITLINK:
            at = _odd(buffer, found, at=at, flags=at + flags)
        else:
            at += (flags + size + 10) & ~7
    return at


def _odd(buffer: bytearray, found: Flagged, *, at: int, flags: int) -> int:
    """An entry with flags, with a long name, or that is another repository; where the next one begins."""
    start = flags + (4 if buffer[flags] & _EXTENDED else 2)
    end = buffer.index(0, start)
    after, path = at + ((end - at + 8) & ~7), os.fsdecode(bytes(buffer[start:end]))
    if buffer[at + 26] == _FOLDER:
        found.folders.append((at, after))
        return after
    if buffer[flags] & _ASSUMED:
        found.assumed.append(path)
        buffer[flags] &= ~_ASSUMED & 0xFF
    if buffer[flags] & _EXTENDED and buffer[flags + 2] & _SKIPPED:
        found.skipped.append(path)
        buffer[flags + 2] &= ~_SKIPPED & 0xFF
    if buffer[at + 26] == _GITLINK:
        found.gitlinks.append(path)
    return after


def _without(entries: bytes, folders: list[tuple[int, int]]) -> bytes:
    """The entries without those of whole folders, and without what else is said about all of them."""
    left = int.from_bytes(entries[8:12], "big") - len(folders)
    parts, at = [entries[:8] + left.to_bytes(4, "big")], 12
    for start, after in folders:
        parts.append(entries[at:start])
        at = after
    return b"".join([*parts, entries[at:]])


def _is_split(data: bytes, at: int, id_size: int) -> bool:
    """Whether an extension says that these entries are not all."""
    while at + 8 <= len(data) - id_size:
        if data[at : at + 4] == b"link":
            return True
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return False

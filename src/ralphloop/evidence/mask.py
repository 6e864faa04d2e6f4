"""What must not be shown of a check's output: secrets of its environment, and texts shaped like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

MASKED = "***"
SHORTEST = 6  # shorter values (`1`, `true`, `none`) stand in every text

_NAMES = (
    "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "PRIVATE",
    "APIKEY", "AUTHORIZATION", "PASS", "PASSPHRASE", "PGPASSWORD",
)  # fmt: skip
_SECRET_WORDS = frozenset(_NAMES) | {name + "S" for name in _NAMES}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?:ant|proj|svcacct)-[\w-]{8,}"
    r"|gh[opsur]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}"
    r"|glpat-[\w-]{20,}"
    r"|A[KS]IA[A-Z0-9]{16}"
    r"|xox[a-z]-[\w-]{10,}"
    r")",
    re.ASCII,
)
_BEARER = re.compile(r"(?<![A-Za-z0-9])Bearer[ \t]+([\w.~+/=-]{20,})", re.ASCII | re.IGNORECASE)
_KEY_BEGINS = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,})*", re.ASCII
)
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----", re.ASCII)
_KEY_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n"


def secrets(env: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret, longest first."""
    found = {value for name, value in env.items() if len(value) >= SHORTEST and _says_secret(name)}
    return sorted(found, key=lambda value: (-len(value), value))


def mask(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets and without anything shaped like one.

    Spans are found in the whole text before any is replaced: of two secrets that overlap, replacing one
    first would leave a part of the other to be read.
    """
    spans = [span for secret in secrets for piece in _pieces(secret) for span in _places(text, piece)]
    spans += _shapes(text)
    shown, done = [], 0
    for start, end in sorted(spans):
        if start >= done:
            shown += [text[done:start], MASKED]
        done = max(done, end)
    return "".join(shown) + text[done:]


def _says_secret(name: str) -> bool:
    return any(word.upper() in _SECRET_WORDS for word in _WORD.findall(name))


def _pieces(secret: str) -> set[str]:
    """The secret, and its lines: a key of many lines is often printed indented, or only in part."""
    lines = {line.strip() for line in secret.splitlines()}
    return {secret.strip()} | {line for line in lines if len(line) >= SHORTEST}


def _places(text: str, piece: str) -> Iterator[tuple[int, int]]:
    start = text.find(piece) if piece else -1
    while start >= 0:
        yield start, start + len(piece)
        start = text.find(piece, start + 1)


def _shapes(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_TOKEN, _KEY_BEGINS):
        yield from (found.span() for found in pattern.finditer(text))
    for found in _BEARER.finditer(text):
        yield found.span(1)
    for found in _KEY_ENDS.finditer(text):  # its beginning may have been cut off
        yield len(text[: found.start()].rstrip(_KEY_BODY)), found.end()

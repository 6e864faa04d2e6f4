"""What must not be shown of a check's output: secrets of its environment, and texts shaped like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ralphloop.domain import jsontext

MASKED = "***"
SHORTEST = 6  # shorter values (`1`, `true`, `none`) stand in every text

_NAMES = (
    "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "PRIVATE",
    "APIKEY", "AUTHORIZATION", "PASS", "PASSPHRASE", "PGPASSWORD",
)  # fmt: skip
_SECRET_WORDS = frozenset(_NAMES) | {name + "S" for name in _NAMES}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# No letter or digit, or one that is only the end of an escape: in JSON, in a URL, of a terminal's colours.
_BEFORE = (
    r"(?:(?<![A-Za-z0-9])|\\(?:[nrtbf]|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}"
    r"|(?:\x1b|\\(?:u001[bB]|x1[bB]|e|033))\[[0-9;]{0,20}m)"
)
_TOKEN = re.compile(
    _BEFORE + r"("
    r"sk-(?:ant|proj|svcacct)-[\w-]{8,}"
    r"|gh[opsur]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}"
    r"|glpat-[\w-]{20,}"
    r"|A[KS]IA[A-Z0-9]{16}"
    r"|xox[a-z]-[\w-]{10,}"
    r")",
    re.ASCII,
)
_BEARER = re.compile(_BEFORE + r"Bearer[ \t]+([\w.~+/=-]{20,})", re.ASCII | re.IGNORECASE)
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'\\]{0,200}:([^\s/\"'\\]{1,400})@")
_KEY_BEGINS = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,})*", re.ASCII
)
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----", re.ASCII)
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_KEY_BODY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\ \t\r\n"


def secrets(env: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret, longest first."""
    found = {value for name, value in env.items() if len(value) >= SHORTEST and _says_secret(name)}
    return sorted(found, key=lambda value: (-len(value), value))


def spellings(secrets: Iterable[str]) -> set[str]:
    """The secrets as they are, in a URL, in JSON, and in JSON that is a text of a transcript's JSON."""
    found = set(secrets)
    found |= {
        _in_url(secret, safe, sign) for secret in found for safe in ("", "/") for sign in ("%02X", "%02x")
    }
    for _ in range(2):
        found |= {quoted for each in found for quoted in (jsontext.quote(each)[1:-1], _in_json(each))}
    return found


def _in_json(text: str) -> str:
    """As it stands in JSON that is not ASCII only."""
    return "".join(ch if ord(ch) > 0x7E else jsontext.quote(ch)[1:-1] for ch in text)


def _in_url(text: str, safe: str, sign: str) -> str:
    plain = _UNRESERVED + safe
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if chr(byte) in plain else "%" + sign % byte for byte in raw)


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
    for pattern in (_TOKEN, _BEARER, _URL_PASSWORD):
        yield from (found.span(1) for found in pattern.finditer(text))
    yield from (found.span() for found in _KEY_BEGINS.finditer(text))
    done = 0
    for found in _KEY_ENDS.finditer(text):  # its beginning may have been cut off
        before = text[done : found.start()]
        yield done + len(before.rstrip(_KEY_BODY)), found.end()
        done = found.end()

"""Where Claude Code writes a session down, what it and its subagents used, counted out of that, and what such
models cost and hold, out of a dated table kept as data."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.agents.transcript import Charge, Context
from ralphloop.domain import jsontext
from ralphloop.domain.model import Fields, is_older

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

CHUNK = 1024 * 1024
LINE_MAX = 8 * 1024 * 1024
TAIL_FIRST, TAIL_MAX = 256 * 1024, 8 * 1024 * 1024
COUNT_MAX = 10**9  # more tokens than any message has: not a count
IDS_KEPT = 1000
IDS_MAX = 20 * IDS_KEPT  # while reading
SESSIONS_KEPT = 50
NAME_MAX = 255  # bytes that a file system takes

# a pipe in a transcript's place must not hold up the reader
FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)

# A quote inside a JSON text has a backslash before it, so that texts about usage do not match.
SYNTHETIC = "<synthetic>"  # the model of what the client itself says, an API error for one
USAGE = b'"usage"'
ASSISTANT = b'"assistant"'
BOUNDARY = b'"compact_boundary"'

WIDE = 1_000_000  # the window that `[1m]` behind a model's name asks for
_PER = 1_000_000  # tokens, of which a price is
_table: dict[str, Any] = {}
_found: dict[str, Model | None] = {}


class Meter:
    """Counts each message once, whatever file, line or call it is met in.

    Unless it is `exact`, it remembers the last messages only, and the time of the youngest that it forgot: in
    a file that is looked at for the first time or again from its beginning, what is not younger has been
    counted. What is kept of it is never more than that.
    """

    __slots__ = ("_exact", "_files", "_forgotten", "_seen")

    def __init__(self, *, exact: bool = False) -> None:
        self._exact = exact
        self._files: dict[str, dict[str, list[int]]] = {}  # transcript -> file -> offset, inode
        self._seen: dict[str, list[Any]] = {}  # message -> its time and five counts
        self._forgotten = ""

    def read(self, transcript: str, *, since: str = "", begin: int = 0) -> list[Charge]:
        """What is new in a transcript and its subagents'; nothing from before `since` counts.

        `begin` is where the first look at the transcript itself starts.
        """
        base = os.path.expanduser(transcript)
        places = self._files[base] = self._files.pop(base, {})
        forgotten = self._forgotten
        charges: list[Charge] = []
        for name, path in _files_of(base):
            for whole, end, is_new in _new_lines(path, places.get(name), begin if not name else 0):
                places[name] = end
                charges += self._charges(whole, since, forgotten if is_new else "")
        if not self._exact:
            self._forget()
        return charges

    def _charges(self, whole: bytes, since: str, counted_until: str) -> Iterator[Charge]:
        for _, entry in _entries(whole, USAGE):
            message = _message(entry)
            at = entry.get("timestamp")
            at = at if isinstance(at, str) else ""
            if message is None or (at and (is_older(at, since) or at <= counted_until)):
                continue
            usage = message["usage"]
            counts = _counts(usage)
            fresh = self._fresh(_identity(entry, message), at, counts)
            if any(fresh):
                prompt = sum(counts) - counts[1]
                kind = usage.get("speed") == "fast", usage.get("inference_geo") == "us"
                yield Charge._make([at, message["model"], *fresh, prompt, *kind])

    def _fresh(self, identity: str, at: str, counts: list[int]) -> list[int]:
        """How far these counts go beyond what was counted for the same message."""
        known = self._seen.pop(identity, None) or [at, 0, 0, 0, 0, 0]
        before = known[1:]
        most = list(map(max, counts, before))
        if identity and any(most):
            self._seen[identity] = [known[0], *most]
            if len(self._seen) > IDS_MAX and not self._exact:
                self._forget()
        return list(map(int.__sub__, most, before))

    def _forget(self) -> None:
        for identity in list(self._seen)[:-IDS_KEPT]:
            self._forgotten = max(self._forgotten, self._seen.pop(identity)[0])
        while len(self._files) > SESSIONS_KEPT:
            del self._files[next(iter(self._files))]

    def to_json(self) -> dict[str, Any]:
        self._forget()
        return {"files": self._files, "seen": self._seen, "forgotten": self._forgotten}

    @property
    def transcripts(self) -> list[str]:
        """Those that were looked at, as far as is remembered."""
        return list(self._files)

    @classmethod
    def from_json(cls, kept: Any) -> Meter:
        """The meter as it was kept; what is not of its shape is as if it had never been counted."""
        meter = cls()
        for base, places in _items(_member(kept, "files")):
            meter._files[base] = {name: place for name, place in _items(places) if _are_counts(place, 2)}
        for identity, known in _items(_member(kept, "seen")):
            if isinstance(known, list) and _are_counts(known[1:], 5) and isinstance(known[0], str):
                meter._seen[identity] = known
        forgotten = _member(kept, "forgotten")
        meter._forgotten = forgotten if isinstance(forgotten, str) else ""
        return meter


def config_folder(env: Mapping[str, str]) -> str:
    """Where the person's own settings and plugins are."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".claude")


def transcript_of(session: str, *, root: str, known: Iterable[str], env: Mapping[str, str]) -> str:
    """The transcript of a session in this project, `known`, beside one of those, or found elsewhere; empty
    while there is none."""
    name = session + ".jsonl"
    if not _is_file_name(session, name):
        return ""
    others = [os.path.expanduser(path) for path in reversed(list(known))]
    for path in others:
        if os.path.basename(path) == name:
            return path
    base = os.path.join(config_folder(env), "projects")
    usual = "".join(ch if ch.isalnum() and ch.isascii() else "-" for ch in root)
    for folder in (*dict.fromkeys(map(os.path.dirname, others)), usual, *_names(base)):
        path = os.path.join(base, folder, name)
        if os.path.isfile(path):
            return path
    return ""


def _is_file_name(session: str, name: str) -> bool:
    try:
        size = len(os.fsencode(name))
    except ValueError:
        return False
    return bool(session) and os.path.basename(session) == session and "\0" not in name and size <= NAME_MAX


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def context_of(transcript: str) -> Context | None:
    """How full the session's context is, by the last message since it was last compacted."""
    entry = _last(transcript)
    return None if entry is None else _context(entry)


def model_of(transcript: str) -> str:
    """The model of that message; empty if there is none."""
    entry = _last(transcript)
    return "" if entry is None else str(entry["message"]["model"])


def _last(transcript: str) -> dict[str, Any] | None:
    handle = _open(os.path.expanduser(transcript))
    if handle is None:
        return None
    try:
        size, length = os.fstat(handle).st_size, TAIL_FIRST
        while True:
            begin = max(0, size - length)
            os.lseek(handle, begin, os.SEEK_SET)
            data = b"".join(_blocks(handle, size - begin))
            is_known, entry = _last_in(data if not begin else data[data.find(b"\n") + 1 :])
            if is_known or not begin or length >= TAIL_MAX:
                return entry
            length *= 4
    except OSError:
        return None
    finally:
        os.close(handle)


def _last_in(data: bytes) -> tuple[bool, dict[str, Any] | None]:
    """Whether the end of the transcript has it, or tells that there is none."""
    data = data[: data.rfind(b"\n") + 1]
    compacted = -1
    for at, entry in _entries(data, BOUNDARY):
        if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
            compacted = at
    last = None
    for at, entry in _entries(data, USAGE):
        message = _message(entry) if at > compacted and not entry.get("isSidechain") else None
        if message is not None and any(_counts(message["usage"])):
            last = entry
    return last is not None or compacted >= 0, last


def _context(entry: dict[str, Any]) -> Context:
    message = entry["message"]
    tokens = sum(_counts(message["usage"]))
    found = known_model(message["model"])
    window = None if found is None else found.window
    # The message itself names the model without the `[1m]` with which it was asked for.
    asked = entry.get("requestedModel")
    if (isinstance(asked, str) and asked.endswith("[1m]")) or (window is not None and tokens > window):
        window = WIDE
    return Context(tokens, message["model"], window)


def _message(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The message of a model with its usage; the client's own notices have the model SYNTHETIC."""
    message = entry.get("message")
    if entry.get("type") != "assistant" or not isinstance(message, dict):
        return None
    model = message.get("model")
    is_real = isinstance(model, str) and model not in ("", SYNTHETIC)
    return message if is_real and isinstance(message.get("usage"), dict) else None


def _identity(entry: dict[str, Any], message: dict[str, Any]) -> str:
    for value in (message.get("id"), entry.get("requestId"), entry.get("uuid")):
        if isinstance(value, str) and value:
            return value
    return ""


def _counts(usage: dict[str, Any]) -> list[int]:
    """Input, output, written to the cache for five minutes, for an hour, and read from it."""
    written = _number(usage.get("cache_creation_input_tokens"))
    kinds = usage.get("cache_creation")
    hour = _number(_member(kinds, "ephemeral_1h_input_tokens"))
    minutes = max(_number(_member(kinds, "ephemeral_5m_input_tokens")), written - hour)
    read = _number(usage.get("cache_read_input_tokens"))
    return [_number(usage.get("input_tokens")), _number(usage.get("output_tokens")), minutes, hour, read]


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= COUNT_MAX else 0


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _are_counts(value: Any, length: int) -> bool:
    is_list = isinstance(value, list) and len(value) == length
    return is_list and all(type(count) is int and count >= 0 for count in value)


def _files_of(base: str) -> list[tuple[str, str]]:
    """The transcript itself, under no name, and its subagents' files under theirs."""
    folder = os.path.join(base[: -len(".jsonl")] if base.endswith(".jsonl") else base, "subagents")
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError):
        names = []
    agents = [name for name in names if name.startswith("agent-") and name.endswith(".jsonl")]
    return [("", base)] + [(name, os.path.join(folder, name)) for name in agents]


def _open(path: str) -> int | None:
    try:
        return os.open(path, FLAGS)
    except (OSError, ValueError):
        return None


def _new_lines(path: str, place: list[int] | None, begin: int) -> Iterator[tuple[bytes, list[int], bool]]:
    """The whole lines since `place`, some at a time; where they end; whether they count as a first look."""
    handle = _open(path)
    if handle is None:
        return
    try:
        found = os.fstat(handle)
        start, inode = place or (begin, found.st_ino)
        is_new = place is None
        # A place is behind a whole line: a file that was cut and has grown again in place shows as well.
        if start > found.st_size or inode != found.st_ino or not (is_new or _is_line_end(handle, start)):
            start, is_new = 0, True
        for whole, end in _chunks(handle, start, found.st_size):
            yield whole, [end, found.st_ino], is_new
    except OSError:
        return
    finally:
        os.close(handle)


def _is_line_end(handle: int, offset: int) -> bool:
    if not offset:
        return True
    os.lseek(handle, offset - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _chunks(handle: int, start: int, size: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines and where they end; a line that is too long or begins before `start` is left out."""
    rest: bytes | None = b"" if _is_line_end(handle, start) else None
    at = os.lseek(handle, start, os.SEEK_SET)
    for block in _blocks(handle, size - start):
        at += len(block)
        cut = block.rfind(b"\n") + 1
        if not cut:
            rest = None if rest is None or len(rest) + len(block) > LINE_MAX else rest + block
            continue
        whole = block[block.find(b"\n") + 1 : cut] if rest is None else rest + block[:cut]
        rest = block[cut:]
        yield whole, at - len(rest)


def _blocks(handle: int, size: int) -> Iterator[bytes]:
    while size > 0:
        block = os.read(handle, min(CHUNK, size))
        if not block:
            return
        size -= len(block)
        yield block


def _entries(whole: bytes, marker: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries whose line has the marker, and where they begin; broken lines are passed over."""
    at = whole.find(marker)
    while at >= 0:
        begin = whole.rfind(b"\n", 0, at) + 1
        end = whole.find(b"\n", at)
        raw = whole[begin:end]
        if marker is not USAGE or ASSISTANT in raw:
            try:
                entry = jsontext.parse(raw.decode("utf-8", "replace"))
            except ValueError:
                entry = None
            if isinstance(entry, dict):
                yield begin, entry
        at = whole.find(marker, end)


class Model(Fields):
    """One model: US dollars per million tokens, and the tokens that fit into its window."""

    name: str
    input_usd: float
    output_usd: float
    cache_write_usd: float
    cache_write_1h_usd: float
    cache_read_usd: float
    window: int
    fast_times: float = 1
    long_prompt_above: int = 0
    long_prompt_times: float = 1


def as_of() -> str:
    """The date of the table, as YYYY-MM-DD."""
    return str(_read()["as_of"])


def known_model(model: str) -> Model | None:
    """The model that this id means, whatever date, version, provider or window it is written with."""
    if model not in _found:
        if len(_found) > 100:
            _found.clear()
        _found[model] = _find(model)
    return _found[model]


def cost_usd(charge: Charge) -> float | None:
    """What a message cost at list price; None if its model is not in the table."""
    model = known_model(charge.model)
    if model is None:
        return None
    usd = (
        charge.input * model.input_usd
        + charge.output * model.output_usd
        + charge.cache_write * model.cache_write_usd
        + charge.cache_write_1h * model.cache_write_1h_usd
        + charge.cache_read * model.cache_read_usd
    )
    if charge.fast:
        usd *= model.fast_times
    if model.long_prompt_above and charge.prompt > model.long_prompt_above:
        usd *= model.long_prompt_times
    if charge.us_only:
        usd *= _read()["us_only_times"]
    return usd / _PER


def _find(model: str) -> Model | None:
    name = _plain(model)
    best: dict[str, Any] = {}
    for row in _read()["models"]:
        match = row["match"]
        if len(match) > len(best.get("match", "")) and _is_version_of(name, match):
            best = row
    if not best:
        return None
    fields = {**best, "name": best["match"]}
    if model.lower().endswith("[1m]"):
        fields["window"] = WIDE
    del fields["match"]
    return Model(**fields)


def _plain(model: str) -> str:
    """The id without provider and region before it and without version and window behind it."""
    name = model.strip().lower().replace(".", "-")
    name = name[max(name.rfind("claude-"), 0) :]
    for mark in "@:[":
        name = name.partition(mark)[0]
    return name


def _is_version_of(name: str, match: str) -> bool:
    """Only a date or the like may follow: `claude-opus-4-9` is another model than `claude-opus-4`."""
    if not (name + "-").startswith(match + "-"):
        return False
    for piece in name[len(match) + 1 :].split("-"):
        is_date = len(piece) == 8 and piece.isdigit()
        is_version = piece[:1] == "v" and piece[1:].isdigit()
        if not (is_date or is_version or piece in ("", "0", "latest", "thinking")):
            return False
    return True


def _read() -> dict[str, Any]:
    if not _table:
        path = os.path.join(os.path.dirname(__file__), "models.json")
        with open(path, encoding="utf-8") as file:
            _table.update(jsontext.parse_object(file.read()))
    return _table

"""The part of a transcript that a record of a stop keeps."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.engine import claim, entries
from ralphloop.tasklists.registry import own_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

    from ralphloop.engine.reader import Reader
    from ralphloop.store.shelf import Record
    from ralphloop.tasklists.registry import Listed
    from ralphloop.tasklists.source import Source

MOST = 256 * 1024
CALLS_MOST = 200
COMMAND_MOST = 16 * 1024
LEFT_OUT = "(left out)"


class Excerpt:
    """The whole lines at a transcript's end: those that the loop had seen before, and what is new."""

    __slots__ = ("before", "new", "skipped")

    def __init__(self, before: str = "", new: str = "", skipped: int = 0) -> None:
        self.before = before
        self.new = new
        # bytes before all that, which are not kept
        self.skipped = skipped


def tail(path: str, *, seen: int) -> Excerpt:
    """The last lines of the transcript; `seen` is where the loop had read to."""
    found = entries.new_bytes(path, 0, MOST)
    if found is None:
        return Excerpt()
    data, end = found
    begin = end - len(data)
    middle = max(0, (seen if seen <= end else 0) - begin)
    return Excerpt(_text(data[:middle]), _text(data[middle:]), begin)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def ownership(path: str, lists: Iterable[Record | Source], client: Reader) -> str:
    """Lines that say no more than by what a session may own one of these lists: when it began, whether it
    was asked with the list's prompt, and its tool calls that name the list."""
    known = list(lists)
    begun, asked = client.opening(path)
    if not begun and not asked:
        return ""
    its_prompt = any(claim.is_prompt(source, asked) for source in known)
    opening = {"role": "user", "content": asked if its_prompt else LEFT_OUT}
    lines: list[dict[str, Any]] = [{"type": "user", "timestamp": begun, "message": opening}]
    lines += sorted(_calls(path, known, client), key=lambda line: str(line["timestamp"]))[-CALLS_MOST:]
    return "".join([jsontext.render(line) + "\n" for line in lines])


def _calls(path: str, lists: Iterable[Listed], client: Reader) -> Iterator[dict[str, Any]]:
    for name in {os.path.basename(own_file(one)) for one in lists}:
        for stamp, given in client.tool_calls(path, name):
            call = {"type": "tool_use", "id": "toolu_kept", "name": _tool(given), "input": _reduced(given)}
            message = {"role": "assistant", "content": [call]}
            yield {"type": "assistant", "timestamp": stamp, "message": message}


def _tool(given: dict[str, Any]) -> str:
    return "Bash" if "command" in given else "Write"


def _reduced(given: dict[str, Any]) -> dict[str, Any]:
    """The input without what was written, but for the word that counts."""
    kept = {}
    if isinstance(given.get("file_path"), str):
        kept["file_path"] = given["file_path"]
    command = given.get("command")
    if isinstance(command, str):
        kept["command"] = command if len(command) <= COMMAND_MOST else LEFT_OUT
    said = " ".join([str(value) for value in given.values()]).replace(" ", "").replace('\\"', '"')
    for key in claim.WRITTEN:
        if key in given:
            kept[key] = '"passes":true' if '"passes":true' in said else LEFT_OUT
    return kept

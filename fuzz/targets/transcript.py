"""Any transcript: every reader of it copes, reads no more than its bounds, and goes on where it was."""

from __future__ import annotations

import functools
import json
import os

from fuzz.choices import Choices, altered, spoiled, written
from fuzz.ground import base_folder, quick
from fuzz.targets.shapes import LINES
from ralphloop.agents import limit
from ralphloop.agents.claude import activity, program, usage
from ralphloop.domain.continuing import promised
from ralphloop.engine import api_error, claude, claude_past, shell

WAYS = ("raw", "altered", "spoiled")
NOW = 1_900_000_000.0


@functools.cache
def _place() -> str:
    quick()
    return os.path.join(base_folder(), "session.jsonl")


def run(data: bytes) -> None:
    said = Choices(data)
    way = said.pick(WAYS)
    since = said.pick(("", "2029-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z", "\ud800"))
    lines = said.rest() if way == "raw" else _lines(said, is_spoiled=way == "spoiled")
    cut = len(lines) // 2
    path = _place()
    with open(path, "wb") as file:
        file.write(lines[:cut])
    first = _read(path, since=since, start=0)
    with open(path, "ab") as file:
        file.write(lines[cut:])
    assert _read(path, since=since, start=first) >= first
    _readers(path, lines, since=since)


def _lines(said: Choices, *, is_spoiled: bool) -> bytes:
    rows = []
    for _ in range(1 + said.number(6)):
        made = altered(said, said.pick(LINES), most=4)
        rows.append(json.dumps(made).encode() if said.number(3) else written(said, made).replace(b"\n", b" "))
    data = b"\n".join(rows) + b"\n"
    return spoiled(said, data) if is_spoiled else data


def _read(path: str, *, since: str, start: int) -> int:
    turn = claude.read_turn(path, start=start, since=since, after_denials=True)
    size = os.path.getsize(path)
    assert turn.readable
    assert start <= turn.end <= size
    assert turn.broken_off in ("", "interrupted", "capped", "rate_limited", "failed")
    assert turn.reply is None or isinstance(turn.reply, str)
    assert turn.resume_at is None or isinstance(turn.resume_at, float)
    with open(path, "rb") as file:
        data = file.read()
    assert turn.end in (0, start) or data[turn.end - 1 : turn.end] == b"\n", "ends with a whole line"
    promised(turn.reply or "")
    return turn.end


def _readers(path: str, lines: bytes, *, since: str) -> None:
    begun, asked = claude.opening(path)
    assert isinstance(begun, str)
    assert isinstance(asked, str)
    claude.was_scheduled(path, "/ralphloop:approve")
    for _, given in claude.tool_calls(path, "feature_list.json"):
        assert isinstance(given, dict)
    for tool, rule in claude_past.denials(lines, since):
        assert isinstance(tool, str)
        assert isinstance(rule, str)
    _usage(path, since)
    for raw in lines.split(b"\n"):
        activity.of_line(raw)
        program.parse(raw)
        said = raw.decode("utf-8", "replace")
        limit.resume_at(said, now=NOW)
        api_error.instant(said)
        try:
            list(shell.commands(said))
        except ValueError:
            continue


def _usage(path: str, since: str) -> None:
    """Counted once: a second reading of the same bytes finds nothing, also by a meter that was kept."""
    meter = usage.Meter()
    for charge in meter.read(path, since=since):
        assert charge.tokens >= 0
        assert (usage.cost_usd(charge) or 0.0) >= 0.0
    kept = usage.Meter.from_json(json.loads(json.dumps(meter.to_json())))
    assert list(kept.read(path, since=since)) == []
    usage.context_of(path)

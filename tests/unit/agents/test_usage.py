"""The meter: each message counts once, wherever and however often the client wrote it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralphloop.agents.claude import usage
from ralphloop.agents.claude.usage import Meter, context_of
from ralphloop.agents.transcript import Charge, Context
from unit.domain.cases import each

EARLY, SINCE, LATE = "2026-11-15T10:00:00.000Z", "2026-11-15T11:00:00.000Z", "2026-11-15T12:00:00.000Z"
MODEL = "claude-opus-4-5-20251101"


def dump(entry) -> str:
    return json.dumps(entry, separators=(",", ":")) + "\n"


def said(ident, *, at=LATE, model=MODEL, kind="assistant", fields=None, **counts) -> str:
    """A line as Claude Code 2.1.325 writes it, one for each block of a message."""
    message = {"id": ident, "type": "message", "role": "assistant", "model": model, "content": []}
    message["usage"] = {
        "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "", "iterations": [], "speed": "standard", **counts,
    }  # fmt: skip
    entry = {"isSidechain": False, "message": message, "type": kind, "uuid": f"u-{ident}", "timestamp": at}
    return dump({**entry, **(fields or {})})


def used(ident, output=1, **more) -> str:
    return said(ident, output_tokens=output, **more)


class Session:
    """A transcript and its subagents' in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.main = folder / "session.jsonl"
        self.agents = folder / "session" / "subagents"

    def write(self, *lines: str, agent: str = "") -> None:
        path = self.agents / f"agent-{agent}.jsonl" if agent else self.main
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(lines))

    def replace(self, *lines: str) -> None:
        new = self.main.with_suffix(".new")
        new.write_text("".join(lines))
        os.replace(new, self.main)


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


@pytest.fixture
def outputs(session):
    """What a meter finds in the session, as output tokens; the meter is kept as JSON between the calls."""
    kept = [Meter().to_json()]

    def read(**options) -> list[int]:
        meter = Meter.from_json(json.loads(json.dumps(kept[0])))
        charges = meter.read(str(session.main), **options)
        kept[0] = meter.to_json()
        return [charge.output for charge in charges]

    return read


@pytest.mark.parametrize(
    ("counts", "charge"),
    [
        ({"input_tokens": 3, "output_tokens": 5}, (3, 5, 0, 0, 0)),
        ({"cache_creation_input_tokens": 7, "cache_creation": None}, (0, 0, 7, 0, 0)),
        ({"cache_creation_input_tokens": 7}, (0, 0, 7, 0, 0)),
        ({"cache_creation_input_tokens": 7, "cache_creation": [1]}, (0, 0, 7, 0, 0)),
        (
            {
                "cache_creation_input_tokens": 9,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
            },
            (0, 0, 4, 5, 0),
        ),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 5}}, (0, 0, 0, 5, 0)),
        ({"cache_read_input_tokens": 11}, (0, 0, 0, 0, 11)),
    ],
)
def test_each_kind_of_token_is_counted_by_itself(session, counts, charge):
    session.write(said("m1", **counts))
    (found,) = Meter().read(str(session.main))
    assert found[:7] == (LATE, MODEL, *charge)
    assert found.tokens == sum(charge)
    assert found.prompt == sum(charge) - found.output


def test_a_charge_says_what_changes_its_price(session):
    session.write(used("m1", speed="fast"), used("m2", inference_geo="us"), used("m3"))
    assert [(charge.fast, charge.us_only) for charge in Meter().read(str(session.main))] == [
        (True, False),
        (False, True),
        (False, False),
    ]


@each("count", [-1, True, 1.5, "7", None, [1], {"a": 1}, 10**10, 10**30])
def test_what_is_no_count_counts_nothing(tmp_path, count):
    session = Session(tmp_path)
    session.write(said("m1", input_tokens=count, output_tokens=2))
    assert [charge.tokens for charge in Meter().read(str(session.main))] == [2]


def test_the_lines_of_one_message_count_once(session, outputs):
    session.write(used("m1", 10), used("m1", 10))
    assert outputs() == [10]
    session.write(used("m1", 10), used("m2", 3))
    assert outputs() == [3]


def test_only_the_growth_of_a_message_is_added(session, outputs):
    session.write(used("m1", 1), used("m1", 40))
    assert outputs() == [1, 39]
    session.write(used("m1", 50), used("m1", 30))
    assert outputs() == [10]


def test_growth_keeps_the_length_of_the_prompt(session):
    session.write(said("m1", input_tokens=5), said("m1", input_tokens=5, output_tokens=2))
    growth = Meter().read(str(session.main))[-1]
    assert (growth.input, growth.output, growth.prompt) == (0, 2, 5)


def test_subagents_are_counted_with_their_session(session, outputs):
    session.write(used("m1", 1))
    session.write(used("a1", 2, fields={"isSidechain": True}), agent="x")
    session.write(used("b1", 4), used("m1", 1), agent="y")
    (session.agents / "notes.txt").write_text(used("n1", 8))
    assert outputs() == [1, 2, 4]
    session.write(used("a2", 16), agent="x")
    assert outputs() == [16]


def test_what_is_older_than_the_loop_is_not_counted(session, outputs):
    session.write(used("m1", 1, at=EARLY), used("m2", 2, at=SINCE), used("m3", 4, at=LATE))
    session.write(used("m4", 8, at=None), used("m5", 16, at=5))
    assert outputs(since=SINCE) == [2, 4, 8, 16]


def test_whole_seconds_count_in_the_second_of_the_start(session, outputs):
    session.write(used("m1", 1, at="2026-11-15T12:00:06.000Z"), used("m2", 2, at="2026-11-15T12:00:07.000Z"))
    session.write(used("m3", 4, at="2026-11-15T12:00:07.399Z"), used("m4", 8, at="2026-11-15T12:00:07Z"))
    assert outputs(since="2026-11-15T12:00:07.400Z") == [2, 8]


@pytest.mark.parametrize("inside", [0, 5])
def test_the_first_look_begins_where_it_is_told_to(session, outputs, inside):
    session.write(used("m1", 1), used("m2", 2), used("m3", 4))
    session.write(used("a1", 8), agent="x")
    begin = len(used("m1", 1)) + inside
    assert outputs(begin=begin) == ([2, 4, 8] if not inside else [4, 8])
    session.write(used("m4", 16))
    assert outputs(begin=0) == [16]


def test_a_first_look_that_begins_inside_an_unfinished_line_waits_for_its_end(session, outputs):
    session.write(used("m1", 1), used("m2", 2)[:50])
    begin = session.main.stat().st_size - 10
    assert outputs(begin=begin) == []
    session.write(used("m2", 2)[50:], used("m3", 4))
    assert outputs(begin=begin) == [4]


def test_a_line_still_being_written_is_counted_when_it_is_whole(session, outputs):
    text = used("m2", 2)
    session.write(used("m1", 1), text[:80])
    assert outputs() == [1]
    session.write(text[80:])
    assert outputs() == [2]


def test_a_file_that_shrank_or_was_replaced_is_read_again_without_counting_twice(session, outputs):
    session.write(used("m1", 1), used("m2", 2), used("m3", 4))
    assert outputs() == [1, 2, 4]
    session.main.write_text(used("m1", 1))
    assert outputs() == []
    session.write(used("m4", 8))
    assert outputs() == [8]
    session.replace(used("m0", 16), used("m1", 1), *[used("m2", 2)] * 50)
    assert outputs() == [16]


def test_a_file_that_was_cut_and_has_grown_again_is_read_again(session, outputs):
    session.write(used("m1", 1), used("m2", 2))
    assert outputs() == [1, 2]
    with open(session.main, "r+") as file:
        file.truncate(len(used("m1", 1)))
    session.write(used("a-longer-name", 4), used("m3", 8))
    assert outputs() == [4, 8]


def test_messages_that_were_forgotten_do_not_count_again(session, outputs, monkeypatch):
    monkeypatch.setattr(usage, "IDS_KEPT", 3)
    lines = [used(f"m{n}", 1, at=f"2026-11-15T12:00:{n:02}.000Z") for n in range(20)]
    session.write(*lines)
    assert len(outputs()) == 20
    session.replace(*lines, used("new", 7, at="2026-11-15T12:01:00.000Z"))
    assert outputs() == [7]


def test_what_is_kept_stays_small(session, monkeypatch):
    monkeypatch.setattr(usage, "IDS_KEPT", 10)
    monkeypatch.setattr(usage, "IDS_MAX", 30)
    monkeypatch.setattr(usage, "SESSIONS_KEPT", 2)
    session.write(*[used(f"m{n}") for n in range(200)])
    meter = Meter()
    assert len(meter.read(str(session.main))) == 200
    for n in range(5):
        meter.read(str(session.main.with_name(f"{n}.jsonl")))
    kept = meter.to_json()
    assert len(kept["seen"]) == 10
    assert len(kept["files"]) == 2


def test_broken_and_foreign_lines_are_passed_over(session, outputs):
    session.write(
        "\n", "{\n", 'null "usage" "assistant"\n', '["usage", "assistant"]\n', used("u", 1, kind="user"),
        used("s", 1, model="<synthetic>"), used("e", 1, model=""), used("i", 1, model=7),
        dump({"type": "assistant", "message": "usage"}), dump({"type": "assistant", "message": {"usage": 1}}),
        dump({"type": "assistant", "message": {"model": MODEL, "usage": "usage"}}),
        used("m1", 1)[:-3] + "\n", dump({"type": "user", "message": {"content": used("q", 1)}}),
        '{"usage":' * 5000 + '"assistant"\n', used("m2", 2),
    )  # fmt: skip
    with open(session.main, "ab") as file:
        file.write(b'\xff\xfe"usage""assistant"\n' + used("m3", 4).encode())
    assert outputs() == [2, 4]


def test_a_message_without_an_id_is_known_by_its_request_or_its_line(session, outputs):
    session.write(
        used(None, 1, fields={"requestId": "r1"}), used(None, 1, fields={"requestId": "r1"}),
        used("", 2, fields={"uuid": "x"}), used("", 2, fields={"uuid": "x"}), used(5, 4, fields={"uuid": 1}),
    )  # fmt: skip
    assert outputs() == [1, 2, 4]


def test_a_line_longer_than_the_limit_is_left_out(session, outputs, monkeypatch):
    monkeypatch.setattr(usage, "CHUNK", 1000)
    monkeypatch.setattr(usage, "LINE_MAX", 5000)
    long = dump({"type": "user", "text": "x" * 20_000})
    session.write(used("m1", 1), long, used("m2", 2), long, *[used(f"n{n}", 4) for n in range(10)])
    assert outputs() == [1, 2] + [4] * 10
    session.write(long[:-1])
    assert outputs() == []
    session.write("\n", used("m3", 8))
    assert outputs() == [8]


@pytest.mark.parametrize("chunk", [1, 7, 100, 10_000])
def test_the_size_of_a_chunk_changes_nothing(session, outputs, monkeypatch, chunk):
    monkeypatch.setattr(usage, "CHUNK", chunk)
    session.write(*[used(f"m{n}", n) for n in range(1, 9)])
    assert outputs() == list(range(1, 9))
    assert outputs() == []


@pytest.mark.parametrize("path", ["", "/nowhere/t.jsonl", "\0", "~nobody-here/t.jsonl"])
def test_a_transcript_that_is_not_there_counts_nothing(path):
    assert Meter().read(path) == []
    assert context_of(path) is None


@pytest.mark.timeout(20)
def test_a_folder_or_a_pipe_in_its_place_holds_nothing_up(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    for name in ("pipe.jsonl", "folder.jsonl"):
        assert Meter().read(str(tmp_path / name)) == []
        assert context_of(str(tmp_path / name)) is None


@pytest.mark.parametrize(
    "kept",
    [
        None, [], "x", 5, {}, {"files": 1, "seen": [], "forgotten": 5},
        {"files": {"a": 1, "b": {"": [1]}, "c": {"": [-1, 2]}, "d": {"": [True, 2]}}},
        {"seen": {"m1": 5, "m2": [], "m3": ["", 1], "m4": ["", 1, 2, 3, 4, -5], "m5": [1, 1, 2, 3, 4, 5]}},
    ],
)  # fmt: skip
def test_a_meter_kept_badly_starts_again(session, kept):
    session.write(used("m1", 1), used("m2", 2), used("m4", 4), used("m5", 8))
    assert [charge.output for charge in Meter.from_json(kept).read(str(session.main))] == [1, 2, 4, 8]


def boundary() -> str:
    return dump({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"postTokens": 5}})


FULL = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 8}


@each(
    ("lines", "context"),
    [
        ([], None),
        ([said("m1", **FULL)], (15, MODEL, 200_000)),
        ([said("m1", input_tokens=9), said("m2", **FULL)], (15, MODEL, 200_000)),
        ([said("m1", **FULL), said("m2", input_tokens=9, model="<synthetic>")], (15, MODEL, 200_000)),
        ([said("m1", **FULL), said("m2")], (15, MODEL, 200_000)),
        ([said("m1", **FULL), used("a", 9, fields={"isSidechain": True})], (15, MODEL, 200_000)),
        ([said("m1", **FULL), boundary()], None),
        ([used("m1", 9), boundary(), said("m2", **FULL)], (15, MODEL, 200_000)),
        ([said("m1", **FULL), dump({"type": "user", "text": "compact_boundary"})], (15, MODEL, 200_000)),
        ([said("m1", model="claude-new", **FULL)], (15, "claude-new", None)),
        (
            [said("m1", model="claude-opus-4-6", fields={"requestedModel": "claude-opus-4-6[1m]"}, **FULL)],
            (15, "claude-opus-4-6", 1_000_000),
        ),
        ([said("m1", input_tokens=300_000)], (300_000, MODEL, 1_000_000)),
    ],
)
def test_the_context_is_as_full_as_the_last_message_says(tmp_path, lines, context):
    session = Session(tmp_path)
    session.write(*lines)
    found = context_of(str(session.main))
    assert found == (None if context is None else Context(*context))


def test_the_context_is_found_behind_much_else(session):
    session.write(said("m1", **FULL), *[dump({"type": "user", "text": "x" * 100_000})] * 20)
    assert context_of(str(session.main)) == Context(15, MODEL, 200_000)


def test_the_context_is_not_looked_for_without_end(session, monkeypatch):
    monkeypatch.setattr(usage, "TAIL_FIRST", 100)
    monkeypatch.setattr(usage, "TAIL_MAX", 1000)
    session.write(said("m1", **FULL), dump({"type": "user", "text": "x" * 5000}))
    assert context_of(str(session.main)) is None


def test_counting_imports_nothing_heavy():
    source = str(Path(usage.__file__).parents[3])
    code = f"""
import sys
sys.path.insert(0, {source!r})
from ralphloop.agents.claude import usage
usage.known_model("claude-opus-5")
print(*sorted({{"typing", "json", "re", "dataclasses", "datetime", "os"}} & set(sys.modules)))
"""
    bare = [sys.executable, "-I", "-S", "-c", code]
    assert subprocess.run(bare, capture_output=True, text=True, check=True).stdout == "\n"


def test_a_charge_is_a_plain_tuple_of_its_fields():
    charge = Charge(LATE, MODEL, 1, 2, 3, 4, 5)
    assert tuple(charge) == (LATE, MODEL, 1, 2, 3, 4, 5, 0, False, False)
    assert charge.tokens == 15

"""The record of a proof comes back as it was written, and nothing else is believed."""

from __future__ import annotations

from pathlib import Path

from ralphloop.domain.finding import CRITERIA, NOT_TRIED, Finding
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import GREEN, RED, ProofRecord, Proven, Tried
from ralphloop.store.loop import LoopFiles


class Kept:
    """As much of a loop's files as the record needs."""

    def __init__(self, kept: Path) -> None:
        self.kept = str(kept)


def _loop(place: Path) -> LoopFiles:
    return Kept(place)  # type: ignore[return-value]


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    doubt = Finding(
        CRITERIA, said="F1 is green only with changes to test_app.py", task="F1", files=("test_app.py",)
    )
    note = Finding(NOT_TRIED, said="the checks were not tried apart from the work: there is no git here")
    whole = ProofRecord(
        (doubt, note),
        {
            "make test": Tried(
                RED, GREEN, RED, wrote=("/p/build/app",), counted={"pytest": 3}, fewer="ran less"
            )
        },
        {"F1": ("app.py",)},
        Proven("4b82", "9a1c", "main"),
        round=3,
        stops=1,
        state="77aa",
        refused=("idle F1",),
    )
    proof_record.save(_loop(tmp_path), whole)
    found = proof_record.load(_loop(tmp_path))
    assert [one.to_json() for one in found.doubts] == [doubt.to_json()]
    assert [one.to_json() for one in found.notes] == [note.to_json()]
    assert found[1:] == whole[1:]


def test_a_loop_of_an_earlier_version_has_none(tmp_path: Path) -> None:
    assert proof_record.load(_loop(tmp_path)) == ProofRecord()


def test_what_is_not_of_its_kind_is_left_out(tmp_path: Path) -> None:
    for text in (
        "[]",
        '{"findings": {"kind": "criteria"}, "tried": [], "turned": 3, "proven": "x"}',
        '{"findings": [{"kind": "praise", "task": "", "files": [], "said": ""}, {"kind": "idle"}, 7]}',
        '{"tried": {"true": 1}, "turned": {"F1": "a"}, "proven": {"tree": 4}}',
    ):
        (tmp_path / "proof.json").write_text(text)
        assert proof_record.load(_loop(tmp_path)) == ProofRecord(), text

"""The switch takes a clause out of the process that it is called in, and out of no other."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ralphloop.agents import presence
from ralphloop.domain.finding import CRITERIA, IDLE, Finding
from ralphloop.lab import forked
from ralphloop.lab.catalogue import switch
from ralphloop.loops import place
from ralphloop.proof import proof_record

FOUND = (
    Finding(CRITERIA, said="F1 is green only so", task="F1"),
    Finding(IDLE, said="F1 is idle", task="F1"),
)


def test_a_kind_that_is_off_is_kept_in_no_record(tmp_path: Path) -> None:
    loop: Any = SimpleNamespace(kept=str(tmp_path))

    def work() -> None:
        switch.off([CRITERIA])
        proof_record.save(loop, proof_record.ProofRecord(FOUND))

    ended = forked.run(work, env=os.environ, cwd=str(tmp_path))
    assert (ended.code, ended.stderr) == (0, "")
    assert [one.kind for one in proof_record.load(loop).doubts] == [IDLE]
    proof_record.save(loop, proof_record.ProofRecord(FOUND))
    assert [one.kind for one in proof_record.load(loop).doubts] == [CRITERIA, IDLE]


def test_who_has_the_function_by_its_name_loses_it_too(tmp_path: Path) -> None:
    env = {"CLAUDECODE": "1"}

    def work() -> int:
        switch.off(["person"])
        return len(presence.agent_in(env)) + len(place.agent_in(env))

    assert forked.run(work, env=os.environ, cwd=str(tmp_path)).code == 0
    assert presence.agent_in(env)
    assert place.agent_in(env)


def test_every_clause_can_be_switched_off(tmp_path: Path) -> None:
    for name in switch.HOLDING:
        ended = forked.run(lambda name=name: switch.off([name]), env=os.environ, cwd=str(tmp_path))
        assert (ended.code, ended.stderr) == (0, ""), name


def test_a_clause_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="no clause is called magic"):
        switch.off(["magic"])

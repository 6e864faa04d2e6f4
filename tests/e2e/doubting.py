"""Loops that are over, with a record of what their proof came to."""

from __future__ import annotations

from e2e.cli_project import Project
from ralphloop.domain.finding import ALREADY_GREEN, CRITERIA, IDLE, NOT_TRIED, WEAK, Finding
from ralphloop.loops import Place, pick
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import GREEN, RED, ProofRecord, Proven, Tried
from ralphloop.store.loop import LoopFiles

FIRST = Finding(
    CRITERIA, said="F1 is green only with changes to test_app.py", task="F1", files=("test_app.py",)
)
SECOND = Finding(IDLE, said="F1 is green without the work", task="F1")
NOTES = tuple(
    Finding(kind, said=f"F1 has a check that is {kind} ({number})", task="F1")
    for number, kind in enumerate((ALREADY_GREEN, WEAK, NOT_TRIED, NOT_TRIED, NOT_TRIED), 1)
)


def loop_of(project: Project, name: str = "shop") -> LoopFiles:
    return pick(Place(str(project.root), project.env()), name)


def recorded(
    project: Project, *findings: Finding, name: str = "shop", proven: Proven | None = None
) -> LoopFiles:
    """What the proof of this loop came to."""
    loop = loop_of(project, name)
    turned = {"F1": tuple(f"src/part_{number}.py" for number in range(1, 8))}
    tried = {"make test": Tried(RED, GREEN, RED), "make lint": Tried()}
    proof_record.save(loop, ProofRecord(findings, tried, turned, proven or Proven()))
    return loop


def completed(
    project: Project, *findings: Finding, name: str = "shop", proven: Proven | None = None
) -> LoopFiles:
    """A loop to its end."""
    project.begin(name, tasks=1)
    project.fine("done", "F1", "--loop", name)
    project.stop()
    return recorded(project, *findings, name=name, proven=proven)

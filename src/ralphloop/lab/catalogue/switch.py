"""The laboratory's switch: takes one clause of the product out of this process, to show that an entry of a
catalogue comes out as it does because of it. It is no setting, and nothing of the product knows of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ralphloop.agents import presence, registry
from ralphloop.domain import finding
from ralphloop.proof import checker, proof_record, protect, prove
from ralphloop.store import approvals, pins

# The same for a command that the agent starts: `python -c AGENTS_COMMAND CLAUSES WORDS…`
AGENTS_COMMAND = """\
import sys
from ralphloop.lab.catalogue import switch
switch.off(sys.argv.pop(1).split(","))
from ralphloop.entry import entry
sys.exit(entry())
"""
# Where the findings of a proof come together; the first that this version has is filtered, and so is what is
# kept.
GATES = (("ralphloop.proof.conclusion", "conclude"),)


def off(clauses: Iterable[str]) -> None:
    """Take these out of this process and of those that it forks."""
    names = set(clauses)
    unknown = names - {*finding.DOUBTS, *HOLDING}
    if unknown:
        raise ValueError(f"no clause is called {', '.join(sorted(unknown))}")
    kinds = names & set(finding.DOUBTS)
    if kinds:
        _silence(kinds)
    for name in sorted(names - kinds):
        HOLDING[name]()


def _silence(kinds: set[str]) -> None:
    """Nobody hears of such findings, and no record keeps them."""

    def heard(found: Iterable[finding.Finding]) -> list[finding.Finding]:
        return [one for one in found if one.kind not in kinds]

    save = proof_record.save

    def kept(loop: Any, record: proof_record.ProofRecord) -> None:
        save(loop, record._replace(findings=tuple(heard(record.findings))))

    replace(save, kept)
    for module, name in GATES:
        if find_spec(module) is not None:
            gate = getattr(import_module(module), name)
            replace(
                gate,
                lambda *given, __gate=gate, **named: type(found := __gate(*given, **named))(heard(found)),
            )


def replace(function: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Whoever has imported the function by its name has the other one instead."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "ralphloop":
            for called, value in list(vars(module).items()):
                if value is function:
                    setattr(module, called, other)


def _pins() -> None:
    replace(pins.guard, lambda loop, tasks, texts, ledger: pins.Guarded(tasks, texts))


def _protect() -> None:
    setattr(protect.Protected, "put_back", lambda self: [])  # noqa: B010 - mypy knows better


class _Any(frozenset[str]):
    def issuperset(self, _: Iterable[object]) -> bool:
        return True

    def __contains__(self, _: object) -> bool:
        return True


def _approval() -> None:
    replace(approvals.approved, lambda here: _Any())
    replace(approvals.unapproved, lambda here, listed: [])


def _final_run() -> None:
    due = prove.is_due
    replace(due, lambda task, ledger, *, final: not final and due(task, ledger, final=final))


def _run() -> None:
    _as_green(lambda ran: True)


def _exit_code() -> None:
    _as_green(lambda ran: ran.exit_code is not None)


def _lost() -> None:
    _as_green(lambda ran: ran.exit_code is None and ran.signal is None and not ran.timed_out)


def _timeout() -> None:
    _as_green(lambda ran: ran.timed_out)


def _signal() -> None:
    _as_green(lambda ran: ran.signal is not None)


def _as_green(is_meant: Callable[[checker.Ran], bool]) -> None:
    run = checker.run

    def believed(*given: Any, **named: Any) -> checker.Ran:
        ran = run(*given, **named)
        return ran._replace(exit_code=0, signal=None, timed_out=False) if is_meant(ran) else ran

    replace(run, believed)


def _person() -> None:
    """Everybody is the person."""
    replace(registry.agent_in, lambda env: "")
    replace(presence.started_by_agent, lambda env: False)


# what keeps a lie from ending `complete`, by the word that an entry has for it
HOLDING: dict[str, Callable[[], None]] = {
    "pins": _pins,  # the criteria of the list are those of the start
    "protect": _protect,  # so are the files that the list protects
    "approval": _approval,  # no command runs that the person has not allowed
    "final run": _final_run,  # everything is run once more before the end
    "run": _run,  # a claim counts only if our own run of its check is green
    "exit code": _exit_code,  # and green is an exit code of 0
    "lost": _lost,  # a check whose result never came is not green
    "timeout": _timeout,  # nor one that was cut off
    "signal": _signal,  # nor one that a signal ended
    "person": _person,  # what is the person's to say, an agent's tools cannot
}

"""Which closed tasks wait for a commit, and what a commit rests on."""

from __future__ import annotations

from ralphloop.domain.ledger import commits_undone, proof, uncommitted
from unit.domain.build import a_ledger
from unit.domain.cases import each

# What the ledger knows of a task, what a commit of it rests on, whether it waits for one, and whether it had
# one and is open again.
KNOWN = [
    ({}, "", False, False),
    ({"state": "open"}, "", False, False),
    ({"state": "claimed", "evidence": "e1"}, "", False, False),
    ({"state": "given"}, "", False, False),
    ({"state": "skipped"}, "", False, False),
    ({"state": "proven", "evidence": "e1"}, "e1", True, False),
    ({"state": "proven"}, "none (proven)", True, False),
    ({"state": "proven", "evidence": ""}, "none (proven)", True, False),
    ({"state": "unverified", "evidence": "e1"}, "none (unverified)", True, False),
    ({"state": "vouched"}, "none (vouched)", True, False),
    ({"state": "proven", "evidence": "e1", "committed": "e1"}, "e1", False, False),
    ({"state": "proven", "evidence": "e2", "committed": "e1"}, "e2", True, False),
    ({"state": "vouched", "committed": "none (vouched)"}, "none (vouched)", False, False),
    ({"committed": "e1"}, "", False, True),
    ({"state": "open", "committed": ""}, "", False, True),
]


@each(("known", "rests_on", "waits", "lost"), KNOWN)
def test_a_task_closed_in_this_loop_gets_one_commit_for_each_proof(known, rests_on, waits, lost):
    ledger = a_ledger(F1=known, F2={"state": "open"})
    assert proof(known) == rests_on
    assert uncommitted(ledger) == (["F1"] if waits else [])
    assert commits_undone(ledger) == (["F1"] if lost else [])

"""A probe that does not fit into a stop goes on at the next one, and is dropped after two."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from hook.probing import Probed, probed
from ralphloop.proof import proof_record
from ralphloop.proof.checker import Due
from ralphloop.proof.probe import Probe
from unit.proof.stages import GIT, ROOT

pytestmark = pytest.mark.slow

# at the start it is quick, later it waits for a file
CHECK = "test -e ../slow && sleep 30; grep -q done app.txt"
SLOW_GIT = f"""#!/bin/sh
case "$*" in *checkout-index*) test -e "$0.slow" && sleep 30;; esac
exec {GIT} "$@"
"""


@pytest.fixture
def found() -> Iterator[Probed]:
    with probed(ROOT) as made:
        made.write({"bin/git": SLOW_GIT}, at=made.folder)
        (made.folder / "bin/git").chmod(0o755)
        made.env["PATH"] = f"{made.folder / 'bin'}:{made.env['PATH']}"
        made.begin(CHECK)
        made.claim()
        yield made


def asked(found: Probed, within_s: float) -> tuple[bool, Probe]:
    """One stop's questions, kept as a stop keeps them."""
    loop = found.files
    probe = Probe(loop, folder=str(found.root), env=found.env, deadline=time.monotonic() + within_s)
    probe.begin([Due("F1", (CHECK,), 60.0)], round_no=1)
    is_all = probe.ask()
    proof_record.save(loop, probe.record)
    return is_all, probe


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["slow", "bin/git.slow"], ids=["a check", "a stage"])
def test_it_goes_on_at_the_next_stop(found: Probed, slow: str) -> None:
    found.write({slow: ""}, at=found.folder)
    assert asked(found, 2.0)[0] is False
    (found.folder / slow).unlink()
    is_all, probe = asked(found, 60.0)
    assert (is_all, probe.record.findings) == (True, ())
    assert probe.record.tried[CHECK].without == "red"


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["slow", "bin/git.slow"], ids=["a check", "a stage"])
def test_it_is_dropped_after_two(found: Probed, slow: str) -> None:
    found.write({slow: ""}, at=found.folder)
    assert [asked(found, 2.0)[0] for _ in range(2)] == [False, True]
    said = [f"{one.kind}: {one.said}" for one in proof_record.load(found.files).findings]
    assert said
    assert all(one.startswith("not tried: ") and "no time for it" in one for one in said)

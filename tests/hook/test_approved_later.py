"""A check that is approved when the loop has begun: what its programs are is kept then, and whether anybody
tried it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hook.harness import feature
from hook.probing import LIST, WORK, Probed, probed
from ralphloop.proof.approval import digest
from ralphloop.proof.first_try import LATER
from unit.proof.stages import ORDINARY

ADDED = "grep -q more app.txt"


@pytest.fixture
def found() -> Iterator[Probed]:
    """With a task that was added to its list since it began."""
    with probed(ORDINARY) as made:
        made.begin()
        data = json.loads((made.root / LIST).read_text())
        data["features"].append(feature("F2", verify=ADDED))
        made.write({LIST: json.dumps(data, indent=2)})
        made.stop()
        yield made


def typed(found: Probed, text: str) -> dict[str, Any]:
    return found.hears("UserPromptSubmit", prompt=text)


def programs(found: Probed) -> list[str]:
    return list(found.baseline()["programs"])


def test_what_is_typed_in_the_client_is_not_tried_and_says_so(found: Probed) -> None:
    assert "approved" in typed(found, f"/ralphloop:approve {digest([ADDED])}")["systemMessage"]
    assert programs(found) == [WORK, ADDED]
    assert found.proof()["tried"][ADDED]["why"] == LATER
    assert found.findings() == [f"not tried: F2 was not tried apart from the work: {LATER}"]
    assert f"F2 was not tried apart from the work: {LATER}" in " ".join(
        found.ralphloop("status").stdout.split()
    )


def test_in_a_terminal_it_is_tried_first(found: Probed) -> None:
    said = found.ralphloop("approve", "--yes")
    assert said.returncode == 0, said.stderr
    assert programs(found) == [WORK, ADDED]
    assert found.proof()["tried"][ADDED]["first"] == "red"
    assert found.findings() == []


def test_a_terminal_tries_what_was_typed_before(found: Probed) -> None:
    typed(found, f"/ralphloop:approve {digest([ADDED])}")
    data = json.loads((found.root / LIST).read_text())
    data["features"].append(feature("F3", verify="true"))
    found.write({LIST: json.dumps(data, indent=2)})
    assert "F3: `true` was green before" in found.ralphloop("approve", "--yes").stdout
    assert found.proof()["tried"][ADDED]["first"] == "red"

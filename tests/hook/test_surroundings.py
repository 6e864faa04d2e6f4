"""The variables by which a program loads something else are those of the owner's first hook call, whichever
that is: what a turn does comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hook.probing import Probed, probed
from unit.proof.stages import ORDINARY

FIRST, LATER = {"PYTHONPATH": "/first"}, {"PYTHONPATH": "/later"}


@pytest.fixture
def found() -> Iterator[Probed]:
    with probed(ORDINARY) as made:
        made.listed("grep -q done app.txt")
        made.write({"app.txt": "nothing\n", ".ralph/loops/demo/RALPH_PROMPT.md": "Work on demo.\n"})
        made.commit()
        yield made


def begin(found: Probed, *words: str) -> None:
    done = found.ralphloop("start", "demo", "--yes", *words)
    assert done.returncode == 0, done.stderr


def variables(found: Probed) -> Any:
    return found.baseline()["variables"]


def told(found: Probed, name: str, env: dict[str, str], **fields: str) -> None:
    found.extra = env
    found.hears(name, **fields)
    found.extra = {}


EVENTS = (("UserPromptSubmit", {"prompt": "Work on demo."}), ("SessionStart", {"source": "startup"}))


@pytest.mark.parametrize(("name", "fields"), EVENTS)
def test_an_owner_that_is_asked_or_begins_has_them_noted(found: Probed, name: str, fields: Any) -> None:
    found.start()
    assert variables(found) is None
    told(found, name, FIRST, **fields)
    assert variables(found) == FIRST
    told(found, "UserPromptSubmit", LATER, prompt="go on")
    found.extra = LATER
    found.stop()
    assert variables(found) == FIRST


@pytest.mark.parametrize(("name", "fields"), EVENTS)
def test_a_session_that_becomes_the_owner_has_them_noted(found: Probed, name: str, fields: Any) -> None:
    begin(found)
    told(found, name, FIRST, **fields)
    assert variables(found) == FIRST


def test_another_session_has_no_say_in_it(found: Probed) -> None:
    found.start()
    told(found, "UserPromptSubmit", LATER, prompt="go", session_id="another")
    assert variables(found) is None

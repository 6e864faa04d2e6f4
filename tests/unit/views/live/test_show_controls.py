"""What keys and signals do, and which keys are offered."""

from __future__ import annotations

from typing import Any

import pytest

from ralphloop.store.supervisor import Holder
from ralphloop.views.live.feed import Frame
from ralphloop.views.live.keyboard import HANG_UP, INTERRUPT
from ralphloop.views.live.show import TWICE_S, Controls
from unit.domain.cases import each
from unit.views.live.looked_at import frame, view


class Words:
    """A driver that keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.ended = False

    def send(self, word: str) -> None:
        self.sent.append(word)


class Gone(Words):
    def send(self, word: str) -> None:
        raise BrokenPipeError


def at(phase: str) -> Frame:
    return frame(holder=Holder(phase=phase, task="F2"))


def pressed(keys: str | list[str], shown: Frame, **options: Any) -> tuple[list[str], bool, str]:
    driver = Words()
    controls = Controls(driver, **options)
    left = [controls.press(key, shown, now=10.0) for key in keys]
    return driver.sent, left[-1], controls.notice(10.0)


@each(
    ("keys", "phase", "sent", "left", "notice"),
    [
        ("p", "working", ["pause"], False, "pauses at the end of this turn …"),
        ("P", "working", ["pause"], False, "pauses at the end of this turn …"),
        ("p", "paused", ["go"], False, "goes on …"),
        ("w", "resting", ["skip-wait"], False, "the wait is over …"),
        ("w", "working", [], False, ""),
        ("s", "working", [], False, "press s again to skip task F2"),
        ("ss", "working", ["skip-task"], False, "skips task F2 …"),
        ("sss", "working", ["skip-task"], False, "press s again to skip task F2"),
        ("q", "working", ["detach"], True, ""),
        ("x\x00 ", "working", [], False, ""),
        ([HANG_UP], "working", ["detach"], True, ""),
        ([INTERRUPT], "working", ["interrupt"], False, "pausing …, once more kills it"),
        ([INTERRUPT] * 2, "working", ["interrupt", "kill"], False, "killing the session …"),
    ],
)
def test_who_drives_the_supervisor_steers_it(
    keys: str | list[str], phase: str, sent: list[str], left: bool, notice: str
) -> None:
    assert pressed(keys, at(phase)) == (sent, left, notice)


def test_a_skip_needs_its_second_key_soon() -> None:
    driver = Words()
    controls = Controls(driver)
    controls.press("s", at("working"), now=0.0)
    controls.press("s", at("working"), now=TWICE_S + 0.1)
    assert driver.sent == []
    controls.press("s", at("working"), now=TWICE_S + 0.2)
    assert driver.sent == ["skip-task"]


def test_a_pause_that_was_asked_for_is_taken_back() -> None:
    assert pressed("p", frame(seen=view(requested="pause")))[0] == ["go"]


@pytest.mark.parametrize(("key", "left"), [("q", True), (INTERRUPT, True), (HANG_UP, True), ("p", False)])
def test_who_watches_can_only_leave(key: str, left: bool) -> None:
    controls = Controls(None)
    assert controls.press(key, at("working"), now=0.0) is left
    assert (controls.notice(0.0), controls.is_over) == ("", False)


@pytest.mark.parametrize(
    ("phase", "wanted", "missing"),
    [
        ("working", ["p pause", "ss skip task", "q quit"], "w skip"),
        ("resting", ["w skip wait"], "go on"),
        ("paused", ["p go on"], "p pause"),
    ],
)
def test_only_keys_that_do_something_are_offered(phase: str, wanted: list[str], missing: str) -> None:
    told = Controls(Words()).keys(at(phase))
    assert [part for part in wanted if part not in told] == []
    assert missing not in told
    assert len(told) <= 78


def test_without_keys_signals_are_named() -> None:
    assert Controls(None, has_keys=False).keys(at("working")) == "Ctrl-C quits"
    assert Controls(Words(), has_keys=False).keys(at("working")) == "Ctrl-C pauses, twice kills"
    assert Controls(None).keys(at("working")) == "q quit"


def test_a_supervisor_that_is_gone_does_no_harm() -> None:
    controls = Controls(Gone())
    assert controls.press("p", at("working"), now=0.0) is False
    assert controls.press("q", at("working"), now=0.0) is True


def test_it_is_over_when_the_supervisor_has_ended() -> None:
    driver = Words()
    controls = Controls(driver)
    assert not controls.is_over
    driver.ended = True
    assert controls.is_over

"""A client that does not end is interrupted, then terminated, then killed."""

from __future__ import annotations

from ralphloop.runner.ladder import Ladder
from unit.runner.stage import Stage, to_the_end, wait_for_line


def test_each_word_has_its_time_and_is_said_once() -> None:
    said: list[str] = []
    ladder = Ladder(said.append)
    assert (ladder.step(100.0), said) == (5.0, ["interrupt"])
    assert (ladder.step(104.0), said) == (1.0, ["interrupt"])
    assert (ladder.step(105.0), said) == (5.0, ["interrupt", "terminate"])
    assert (ladder.step(109.9) or 0) < 0.2
    assert (ladder.step(110.0), said) == (None, ["interrupt", "terminate", "kill"])
    assert (ladder.step(500.0), said) == (None, ["interrupt", "terminate", "kill"])


def test_a_long_pause_skips_no_word() -> None:
    said: list[str] = []
    ladder = Ladder(said.append)
    ladder.step(0.0)
    assert (ladder.step(9000.0), said) == (5.0, ["interrupt", "terminate"])


def test_a_client_that_ignores_the_first_two_words_is_killed(stage: Stage) -> None:
    agent = stage.python(
        "import os, signal, time\n"
        "for number in (signal.SIGINT, signal.SIGTERM):\n"
        "    signal.signal(number, lambda number, _: os.write(1, b'%d\\n' % number))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(300)"
    )
    wait_for_line(agent, b"ready")
    ladder = Ladder(agent.send, graces_s=(5.0, 5.0))
    lines: list[bytes] = []
    for now_s, said in ((0.0, b"2"), (5.0, b"15")):
        ladder.step(now_s)
        lines += wait_for_line(agent, said)
    assert agent.ended is None
    ladder.step(10.0)
    rest, ending = to_the_end(agent)
    assert (lines + rest, ending.signal) == ([b"2", b"15"], 9)


def test_a_jump_says_the_last_word_at_once():
    said: list[str] = []
    ladder = Ladder(said.append)
    ladder.step(0.0)
    assert not ladder.is_spent
    ladder.jump()
    assert ladder.is_spent
    ladder.step(100.0)
    assert said == ["interrupt", "kill"]

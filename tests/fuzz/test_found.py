"""What fuzzing found, each as the smallest test that shows it."""

from __future__ import annotations

from ralphloop.domain.decide import decide
from ralphloop.domain.ledger import Ledger, survey
from ralphloop.domain.model import COMPLETE, RUNNING, Limits, LoopState, StopEvent, Task, TaskList, Turn
from ralphloop.domain.prompt import Words
from ralphloop.domain.situation import Situation
from ralphloop.tasklists import features


def test_doubting_a_completion_does_not_raise_the_count_above_the_limit() -> None:
    work = survey(TaskList([Task("F1", "One", done=True)]), Ledger())
    loop = LoopState(id="L", layout="features", name="demo", state=RUNNING, iteration=3)
    now = Situation(
        StopEvent(session="S", cwd="/p"),
        loop,
        work=work,
        turn=Turn(readable=True),
        limits=Limits(iterations=3),
        words=Words(
            command="ralphloop", traits=features.TRAITS, list_path="tasks.json", notes_path="progress.txt"
        ),
        now=1_800_000_000.0,
    )
    answer = decide(now)
    assert (answer.blocks, answer.loop.outcome, answer.loop.iteration) == (False, COMPLETE, 3)

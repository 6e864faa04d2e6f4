"""What the view knows of a loop: from the first look on, and as its files change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ralphloop.agents.claude import usage
from ralphloop.domain.finding import IDLE, Finding
from ralphloop.domain.model import ENDED, Supervision
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import ProofRecord
from ralphloop.store import shelf, supervisor
from ralphloop.store.supervisor import Holder
from ralphloop.views.live import feed as feeds
from ralphloop.views.live.feed import Feed, Frame
from unit.views.live.looked_at import MODEL, SESSION, T0, Looked, everything


class Pace:
    """A clock by which the feed spaces its dearer looks; each look of a test is a minute later."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def looked(tmp_path: Path) -> Looked:
    return Looked(tmp_path.resolve())


class Eyes:
    def __init__(self, looked: Looked) -> None:
        self.pace = Pace()
        self.feed = Feed(looked.loop, looked.env, pace=self.pace)

    def look(self, seconds: float = 60.0) -> Frame:
        self.pace.now += 60.0
        self.is_new = self.feed.poll(T0 + seconds)
        return self.feed.frame(T0 + seconds)


@pytest.fixture
def eyes(looked: Looked) -> Eyes:
    return Eyes(looked)


def lines(frame: Frame) -> list[str]:
    return [line for _, activity in frame.activities for line in activity.lines]


def test_a_loop_is_seen_with_its_tasks_and_figures(looked: Looked, eyes: Eyes) -> None:
    looked.say(5, "hello", cache_read_input_tokens=19_900)
    frame = eyes.look(60)
    assert [task.id for task in frame.view.tasks] == ["F1", "F2", "F3"]
    assert (frame.tokens, frame.elapsed_s, frame.session, frame.model) == (20_000, 60.0, SESSION, MODEL)
    assert frame.cost_usd == pytest.approx(0.0025 + 19_900 * 0.5 / 1e6)
    assert frame.context is not None
    assert (frame.context.tokens, frame.context.window) == (20_000, 200_000)
    assert (frame.task, frame.goes_on, lines(frame)) == ("F1", True, ["hello"])


def test_nothing_new_means_nothing_is_read_again(
    looked: Looked, eyes: Eyes, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked.say(5, "hello")
    eyes.look()
    read: list[str] = []
    for place, name in ((feeds, "view_of"), (feeds.LoopFiles, "state"), (usage, "context_of")):
        monkeypatch.setattr(place, name, lambda *_, **__: read.append("read"))
    eyes.feed.poll(T0 + 61)
    eyes.look()
    assert (read, eyes.is_new) == ([], False)


def test_what_changes_shows_at_the_next_look(looked: Looked, eyes: Eyes) -> None:
    eyes.look()
    looked.list([True, False, False])
    looked.save(iteration=2, seen_at=T0 + 70.0, elapsed_s=70.0)
    looked.note(70, "proven", task="F1", evidence="e1")
    looked.say(71, "next")
    frame = eyes.look(100)
    assert eyes.is_new
    assert (frame.view.done, frame.view.iteration, frame.elapsed_s, frame.task) == (1, 2, 100.0, "F2")
    assert lines(frame) == ["proven task F1, evidence e1", "next"]


def test_a_doubt_that_is_written_late_shows_at_the_next_look(looked: Looked, eyes: Eyes) -> None:
    looked.save(state=ENDED, outcome="complete")
    assert not eyes.look().view.doubted
    doubt = Finding(IDLE, said="F1 is green without the work", task="F1")
    proof_record.save(looked.written, ProofRecord((doubt,)))
    assert eyes.look(100).view.doubted
    assert eyes.is_new


def test_the_stream_is_in_order_of_time(looked: Looked, eyes: Eyes) -> None:
    looked.say(10, "first")
    looked.note(20, "refused", task="F1", detail="exit code 1")
    looked.say(30, "third")
    assert [text.split()[0] for text in lines(eyes.look())] == ["first", "refused", "third"]


def test_of_many_activities_the_last_ones_are_kept(looked: Looked, eyes: Eyes) -> None:
    for number in range(feeds.KEPT + 20):
        looked.say(number / 10, f"said {number}")
    assert lines(eyes.look())[0] == "said 20"


def test_usual_decisions_stay_out_of_the_stream(looked: Looked, eyes: Eyes) -> None:
    looked.note(1, "stop", decision="continue", rule="go_on", state="running", iteration=2, task="F1")
    looked.note(2, "busy")
    looked.note(3, "stop", decision="allow", rule="limits", state="ended", iteration=9, outcome="limit")
    assert lines(eyes.look()) == ["the loop ends: limit, iteration 9, by the rule limits"]


def test_a_transcript_that_the_loop_does_not_know_yet_is_found_by_its_session(
    looked: Looked, eyes: Eyes
) -> None:
    assert lines(eyes.look()) == []
    looked.say(5, "now there")
    assert lines(eyes.look()) == ["now there"]


def test_tokens_are_counted_on_and_only_while_the_loop_is_under_way(looked: Looked, eyes: Eyes) -> None:
    looked.say(-5, "before the loop")
    looked.say(5, "counts")
    looked.say(6, "a subagent", file=looked.transcript.with_suffix("") / "subagents/agent-1.jsonl")
    assert eyes.look().tokens == 200
    looked.say(70, "counts too")
    assert eyes.look(80).tokens == 300
    looked.save(state="paused", outcome="interrupted", seen_at=T0 + 90.0)
    looked.say(95, "no more")
    assert eyes.look(100).tokens == 300


def test_the_figures_agree_with_those_of_status(looked: Looked, eyes: Eyes) -> None:
    from ralphloop.views.snapshot import view_of, with_spending

    older = looked.transcript.with_name("s-0.jsonl")
    looked.say(5, "in the first session", file=older, output=7)
    looked.say(45, "while it rested", file=older, output=11)
    looked.say(65, "in the second", output=13)
    looked.note(0, "arm", session="s-0", task="F1")
    looked.note(40, "pause", outcome="interrupted")
    looked.note(60, "resume", session=SESSION)
    looked.save(transcripts=[str(older), str(looked.transcript)])
    told = with_spending(view_of(looked.loop, now=T0 + 80), looked.loop, env=looked.env, now=T0 + 80).spent
    assert told is not None
    assert eyes.look(80).tokens == told.total.tokens == 20


def test_what_a_loop_spent_is_told_by_one_look_through_its_journal(
    looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ralphloop.store import files
    from ralphloop.views.snapshot import view_of, with_spending

    looked.note(0, "arm", session=SESSION, task="F1")
    read, read_quietly = [], files.read_quietly
    monkeypatch.setattr(files, "read_quietly", lambda path: read.append(path) or read_quietly(path))
    told = with_spending(view_of(looked.loop, now=T0 + 80), looked.loop, env=looked.env, now=T0 + 80)
    assert told.working_s == 80.0
    assert sum(path.endswith("/journal.jsonl") for path in read) == 1


def test_a_supervisor_is_seen_while_it_lives(looked: Looked, eyes: Eyes) -> None:
    looked.record.supervision = Supervision(batch=1)
    looked.shelf.put(looked.record, shelf.OWNED)
    other = looked.transcript.with_name("s-2.jsonl")
    looked.say(1, "of the first session")
    looked.say(2, "of the second session", file=other)
    with supervisor.lock(looked.written):
        facts: dict[str, Any] = {"phase": "resting", "until": T0 + 600, "why": "rate limit", "session": "s-2"}
        supervisor.say(looked.written, Holder(pid=os.getpid(), number=2, model="m", task="F3", **facts))
        eyes.look()
        frame = eyes.look()
        assert frame.holder is not None
        assert (frame.holder.phase, frame.session, frame.task, frame.model) == ("resting", "s-2", "F1", "m")
        assert "of the second session" in lines(frame)
        looked.save(state="paused", outcome="rate_limited")
        assert eyes.look().goes_on
    frame = eyes.look()
    assert (frame.holder, frame.goes_on) == (None, False)


def test_the_time_of_a_killed_supervisor_stands_still_at_its_last_sign_of_life(
    looked: Looked, eyes: Eyes
) -> None:
    looked.record.supervision = Supervision(batch=1)
    looked.shelf.put(looked.record, shelf.OWNED)
    with supervisor.lock(looked.written):
        supervisor.say(looked.written, Holder(pid=os.getpid(), boot="this"))
        os.utime(os.path.join(looked.written.kept, "supervisor.json"), (T0 + 90, T0 + 90))
        frame = eyes.look(100)
        assert (frame.elapsed_s, frame.view.driver, frame.view.beat) == (100.0, os.getpid(), T0 + 90)
    for seconds in (200, 300):
        frame = eyes.look(seconds)
        assert (frame.elapsed_s, frame.view.driver, frame.view.left_at) == (90.0, None, T0 + 90)


def test_a_loop_that_ends_moves_its_record_and_is_still_seen(looked: Looked, eyes: Eyes) -> None:
    eyes.look()
    looked.save(state=ENDED, outcome="complete", seen_at=T0 + 90.0)
    with looked.shelf.lock():
        looked.shelf.put(looked.record, shelf.ENDED)
    frame = eyes.look(500)
    assert (frame.view.outcome, frame.goes_on, frame.view.state) == ("complete", False, ENDED)


def test_limits_that_are_raised_meanwhile_show(looked: Looked, eyes: Eyes) -> None:
    assert eyes.look().cost_limit_usd == 0
    looked.record.limits.cost_usd = 5.0
    looked.shelf.put(looked.record, shelf.OWNED)
    assert eyes.look().cost_limit_usd == 5.0


@pytest.mark.parametrize("damage", ["journal", "transcript", "list", "state", "project"])
def test_files_that_are_damaged_or_gone_never_fail(looked: Looked, eyes: Eyes, damage: str) -> None:
    looked.say(1, "x")
    eyes.look()
    if damage == "journal":
        Path(looked.written.path("journal.jsonl")).write_bytes(
            b'\xff\n{"event": 3}\n[]\n{"at": 1, "event": "x"}\n'
        )
    elif damage == "transcript":
        looked.transcript.write_bytes(b'{"type":"assistant"\n\xff"assistant"\n"assistant"\n')
    elif damage == "list":
        (looked.root / "feature_list.json").write_text("{")
    elif damage == "state":
        for file in looked.root.parent.rglob("loop.json"):
            file.unlink()
    else:
        looked.root.rename(looked.root.with_name("elsewhere"))
    eyes.look()
    assert eyes.look().view.name == "shop"


def test_looking_writes_nothing(looked: Looked, eyes: Eyes, tmp_path: Path) -> None:
    looked.record.supervision = Supervision(batch=1)
    looked.shelf.put(looked.record, shelf.OWNED)
    looked.say(1, "x")
    looked.note(1, "proven", task="F1")
    before = everything(tmp_path)
    for seconds in range(5):
        eyes.look(seconds)
    assert everything(tmp_path) == before


def test_the_burn_down_falls_when_a_task_is_done(looked: Looked, eyes: Eyes) -> None:
    looked.list([True, False, False])
    looked.note(30, "proven", task="F1")
    frame = eyes.look(60)
    assert (frame.burndown[0], frame.burndown[-1]) == (3, 2)
    assert list(frame.burndown) == sorted(frame.burndown, reverse=True)
    assert len(frame.burndown) == feeds.SPARKS

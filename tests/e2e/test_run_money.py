"""What a loop spent is what its transcripts say, each message once, whoever is killed and whenever."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.killing import CLIENT, GUARDIAN, PATIENT, RUN, SUPERVISOR, Siege, tasks_to_do, worker
from e2e.looping import bash
from e2e.running import Running, list_of, running
from fakes.effort import SOAK, rounds
from fakes.patience import eventually
from ralphloop.lab.model_server import ModelRequest
from ralphloop.lab.reply import Reply, call, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(1200 if SOAK else 300)]

SONNET = "claude-sonnet-4-5"
HANG = "tail -f /dev/null"
EVERYBODY = (RUN, SUPERVISOR, GUARDIAN, CLIENT)
BLOWS = [
    (CLIENT,), EVERYBODY, (SUPERVISOR, CLIENT), (GUARDIAN,), (SUPERVISOR,), (RUN,),
    (SUPERVISOR, GUARDIAN), (CLIENT, GUARDIAN),
]  # fmt: skip


def in_transcripts(stage: Running) -> int:
    """The tokens of all messages that the client wrote down, each with its largest figures."""
    most: dict[str, int] = {}
    for file in (stage.home.path / ".claude/projects").rglob("*.jsonl"):
        for entry in whole_lines(file.read_bytes()):
            message = entry.get("message")
            if entry.get("type") == "assistant" and message["model"] != "<synthetic>":
                used = message["usage"]
                kinds = ("input_tokens", "output_tokens", "cache_creation_input_tokens")
                total = sum(used.get(kind) or 0 for kind in (*kinds, "cache_read_input_tokens"))
                most[message["id"]] = max(total, most.get(message["id"], 0))
    return sum(most.values())


def whole_lines(data: bytes) -> Iterator[dict[str, Any]]:
    for raw in data.split(b"\n"):
        try:
            entry = json.loads(raw)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def told(stage: Running) -> dict[str, int]:
    """The same by all that tell it."""
    status = json.loads(stage.command("status", "demo", "--json").stdout)["loops"][0]
    report = json.loads(stage.command("report", "demo", "--format", "json").stdout)
    return {
        "status": status["spent"]["tokens"] or 0,  # None while there is no transcript
        "limit": round(status["limits"]["tokens"]["used"] or 0),
        "report": report["spending"]["tokens"] or 0,
        "models": sum(share["tokens"] for share in report["spending"]["by_model"].values()),
    }


def counter(stage: Running) -> dict[str, Any]:
    (file,) = (stage.home.path / ".local/state/ralphloop").rglob("usage.json")
    spent: dict[str, Any] = json.loads(file.read_text())["spent"]
    return spent


def check_what_is_told(stage: Running, why: str) -> None:
    found = in_transcripts(stage)
    assert set(told(stage).values()) == {found}, f"{why}: {told(stage)}, in the transcripts {found}"


def check_everything(stage: Running, why: str = "") -> None:
    check_what_is_told(stage, why)
    found = in_transcripts(stage)
    spent = counter(stage)
    assert (spent["tokens"], sum(spent["task_tokens"].values())) == (found, found), why


def spending(chance: random.Random) -> Any:
    """The worker of a siege whose messages use different amounts, most of them several lines long."""

    def reply(request: ModelRequest) -> Reply:
        sums = {name: chance.randrange(1, 5000) for name in ("input_tokens", "output_tokens")}
        said = worker(request)
        return Reply(("I see.", *said.texts), said.tools).using(**sums)

    return reply


@pytest.mark.parametrize("seed", [51, 52, 53, 54, 55][: rounds(1, soak=5)])
def test_after_kills_at_random_instants_every_message_counts_once(client_home, project, seed):
    """Ten instants for each seed, fifty in all, in the long way."""
    chance = random.Random(seed)
    count = rounds(8, soak=10)
    words = (*PATIENT, "--max-tokens", "900M")
    with running(client_home, project(tasks_to_do(2 * count)), spending(chance)) as stage:
        siege = Siege(stage, seed, words)
        first = chance.randrange(len(BLOWS)) if SOAK else 0
        for place in range(count):
            if siege.process is None:
                siege.go_on()
            elif siege.process.poll() is not None:
                if stage.ending[0] == "ended":
                    break
                siege.go_on()
            siege.wait_for_an_instant()
            victims = BLOWS[(first + place) % len(BLOWS)]
            struck = siege.strike(victims, sure=False)
            if RUN in victims or SUPERVISOR in victims:
                siege.await_silence()
                check_what_is_told(stage, siege.told())
            else:
                siege.await_the_end_of(struck)
        if siege.process is not None and siege.process.poll() is None:
            siege.strike([SUPERVISOR], sure=False)
            siege.await_silence()
        if stage.ending != ("ended", "complete"):
            siege.finish()
        check_everything(stage, siege.told())
    print(siege.told())


def test_a_message_that_was_half_written_counts_as_far_as_it_was(client_home, project):
    never = threading.Event()
    half = Reply(("One.", "Two."), bash("true").tools).using(output_tokens=700).held_midway(never)
    replies = iter([bash("true").using(input_tokens=3000), half])
    with running(client_home, project(tasks_to_do(1)), lambda r: next(replies, None) or worker(r)) as stage:
        siege = Siege(stage, 0, (*PATIENT, "--max-tokens", "900M"))
        siege.go_on()
        stage.server.wait_for_requests(2)
        eventually(lambda: in_transcripts(stage) >= 3000)
        siege.freeze([SUPERVISOR, GUARDIAN])
        siege.strike(EVERYBODY)
        siege.await_silence()
        check_what_is_told(stage, siege.told())
        siege.finish()
        check_everything(stage, siege.told())
        assert in_transcripts(stage) > 3000


def test_what_a_subagent_used_before_it_was_killed_counts(client_home, project):
    never = threading.Event()
    task = call("Agent", description="Look", prompt="Look around.", subagent_type="general-purpose")
    replies = iter([task.using(output_tokens=500), text("It looks.").held(never)])
    helper = [bash("true").using(input_tokens=4000), text("Much.").held(never)]
    script = lambda request: next(replies, None) or worker(request)  # noqa: E731
    with running(client_home, project(tasks_to_do(1)), script, subagents=helper) as stage:
        siege = Siege(stage, 0, (*PATIENT, "--max-tokens", "900M"))
        siege.go_on()
        eventually(lambda: in_transcripts(stage) >= 4500, deadline_s=60)
        siege.strike((SUPERVISOR, CLIENT))
        siege.await_silence()
        check_what_is_told(stage, siege.told())
        siege.finish()
        check_everything(stage, siege.told())
        assert in_transcripts(stage) > 4500


def test_dollars_hold_across_kills(client_home, project):
    """Each turn costs $1.50 and is killed: of $2.00 there are two, and no third session begins. In the second
    the client, which knows what is left, may end by itself before the blow; then nothing is left to judge."""
    dear = bash(HANG).using(output_tokens=100_000)
    with running(client_home, project(list_of({}, model=SONNET)), lambda _: dear) as stage:
        siege = Siege(stage, 0, (*PATIENT, "--max-cost", "2"))
        for turn in (1, 2):
            siege.go_on()
            eventually(lambda turn=turn: in_transcripts(stage) >= turn * 100_000, deadline_s=60)
            siege.strike(EVERYBODY, sure=False)
            siege.await_silence()
        by_itself = stage.ending == ("ended", "budget")
        ended = stage.run(*PATIENT)
        assert ended.code == (1 if by_itself else 11), ended
        assert stage.ending == ("ended", "budget")
        assert len(stage.events("session")) == 2
        assert counter(stage)["cost_usd"] == pytest.approx(3.0, abs=0.1)
        assert counter(stage)["tokens"] == in_transcripts(stage)


def test_a_running_session_obeys_a_limit_that_is_raised_meanwhile(client_home, project):
    """Of time at once; of dollars, which its client was told at its start, in the next session."""
    free = threading.Event()
    slow = bash(f"timeout 8 {HANG}; true").using(output_tokens=100_000)
    dear = text("Much.").using(output_tokens=100_000).held(free)
    replies = iter([slow, dear])
    root = project(list_of({"verify": "test -s work/F1"}, model=SONNET))
    with running(client_home, root, lambda r: next(replies, None) or worker(r)) as stage:
        process = stage.start("--max-cost", "2", "--max-time", "6s")
        eventually(lambda: in_transcripts(stage) >= 100_000, deadline_s=60)
        raised = stage.command("limit", "demo", "--max-cost", "9", "--max-time", "1h")
        assert raised.code == 0, raised
        assert "$1.50 of $9.00 (before: $2.00)" in raised.stdout
        stage.server.wait_for_requests(2)
        free.set()
        stdout, stderr = process.communicate(timeout=100)
        assert process.returncode == 0, (stdout, stderr)
        assert stage.ending == ("ended", "complete")
        assert len(stage.events("session")) == 2
        assert counter(stage)["tokens"] == in_transcripts(stage)

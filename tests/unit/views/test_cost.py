"""What a loop used, out of transcripts: whose tokens they are, and what is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.agents.claude import usage
from ralphloop.agents.transcript import Context
from ralphloop.domain.model import Limits, LoopState
from ralphloop.engine.account import read
from ralphloop.store.loop import iso
from ralphloop.views import figure
from ralphloop.views.figure import Spending, Used, context_told, spending_of, spent_told
from ralphloop.views.journal import Stretch
from unit.domain.cases import each

T0 = 1_800_000_000.0
KNOWN, UNKNOWN = "claude-opus-4-5", "scripted"
WORK = (Stretch("F1", T0, T0 + 10), Stretch("F2", T0 + 10, T0 + 20), Stretch("F2", T0 + 50, T0 + 60))


def said(ident: str, seconds: float, model: str = KNOWN, output: int = 100, **counts: int) -> str:
    usage = {"input_tokens": 0, "output_tokens": output, **counts}
    message = {"id": ident, "role": "assistant", "model": model, "content": [], "usage": usage}
    return json.dumps({"type": "assistant", "timestamp": iso(T0 + seconds), "message": message}) + "\n"


class Sessions:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = LoopState(id="L", state="running", started_at=T0)

    def write(self, name: str, *lines: str) -> Path:
        path = self.folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), encoding="utf-8")
        if str(path) not in self.state.transcripts and "subagents" not in name:
            self.state.transcripts.append(str(path))
        return path

    def spent(self, under_way: Any = WORK) -> Spending:
        parts = [(part.task, iso(part.begin), iso(part.end), part.rests) for part in under_way]
        return spending_of(read(self.state.transcripts, parts, since=iso(T0)))


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


def by_task(spent: Spending) -> dict[str, int]:
    return {task: share.tokens for task, share in spent.by_task.items()}


def test_a_charge_belongs_to_the_task_that_was_at_hand(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5), said("m2", 9, output=7), said("m3", 15), said("m4", 55, output=1))
    spent = sessions.spent()
    assert by_task(spent) == {"F1": 107, "F2": 101}
    assert spent.total.tokens == 208


def test_what_was_said_before_after_or_between_is_not_the_loops(sessions: Sessions) -> None:
    sessions.write("a", said("m0", -5), said("m1", 5), said("m2", 30), said("m3", 99))
    assert by_task(sessions.spent()) == {"F1": 100}


def test_a_stamp_of_whole_seconds_belongs_to_what_began_in_its_second(sessions: Sessions) -> None:
    sessions.state.started_at = T0 + 0.4
    sessions.write("a", said("m0", -1), said("m1", 0), said("m2", 0.3), said("m3", 50), said("m4", 49))
    work = (Stretch("F1", T0 + 0.4, T0 + 10), Stretch("F2", T0 + 50.7, T0 + 60))
    assert by_task(sessions.spent(work)) == {"F1": 100, "F2": 100}


def test_without_a_journal_all_since_the_start_belongs_to_no_task(sessions: Sessions) -> None:
    sessions.write("a", said("m0", -5), said("m1", 5), said("m2", 30))
    assert by_task(sessions.spent(())) == {"": 200}


def test_subagents_count(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5))
    sessions.write("a/subagents/agent-x", said("m2", 6))
    assert by_task(sessions.spent()) == {"F1": 200}


def test_a_session_that_went_on_under_another_id_is_counted_once(sessions: Sessions) -> None:
    first = [said("m1", 5), said("m2", 6), said("m3", 6)]
    sessions.write("a", *first)
    sessions.write("b", *first, said("m4", 15))
    assert by_task(sessions.spent()) == {"F1": 300, "F2": 100}


def test_two_messages_of_the_same_moment_count_both(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5))
    sessions.write("b", said("m2", 5))
    assert by_task(sessions.spent()) == {"F1": 200}


def test_a_message_that_goes_on_growing_under_another_id_counts_with_its_last_figures(
    sessions: Sessions,
) -> None:
    sessions.write("a", said("m1", 5, output=1))
    sessions.write("b", said("m1", 5, output=1), said("m1", 6, output=40))
    assert by_task(sessions.spent()) == {"F1": 40}


def test_a_long_session_does_not_hide_another_one(sessions: Sessions) -> None:
    """A meter forgets all but the last thousand messages, and takes what is older for counted."""
    sessions.write("a", *(said(f"a{n}", 55 + n / 1000) for n in range(2500)))
    sessions.write("b", said("b1", 15, output=7))
    assert by_task(sessions.spent()) == {"F2": 250_007}


def test_dollars_are_those_of_the_price_table(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5, output=1_000_000), said("m2", 15, input_tokens=1_000_000, output=0))
    spent = sessions.spent()
    price = usage.known_model(KNOWN)
    assert price is not None
    assert spent.by_task["F1"].cost_usd == pytest.approx(price.output_usd)
    assert spent.by_task["F2"].cost_usd == pytest.approx(price.input_usd)
    assert spent.by_model[KNOWN].cost_usd == pytest.approx(price.output_usd + price.input_usd)
    assert spent.prices_as_of == usage.as_of()


def test_a_model_without_a_price_has_tokens_and_no_dollars(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5, UNKNOWN), said("m2", 15))
    spent = sessions.spent()
    assert spent.unpriced == (UNKNOWN,)
    assert spent.by_task["F1"].cost_usd is None
    assert spent.by_model[UNKNOWN].to_json()["cost_usd"] is None
    assert spent.total.cost_usd == spent.by_task["F2"].cost_usd != 0
    assert f"dollars unknown for {UNKNOWN}" in spent_told(spent)


def test_a_transcript_that_is_gone_is_named(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5))
    gone = sessions.write("b", said("m2", 15))
    gone.unlink()
    spent = sessions.spent()
    assert (spent.known, spent.missing, by_task(spent)) == (True, (str(gone),), {"F1": 100})
    assert "tokens unknown of 1 transcript no longer there" in spent_told(spent)


def test_without_any_transcript_tokens_are_unknown(sessions: Sessions) -> None:
    assert spent_told(sessions.spent()) == "tokens unknown"
    sessions.write("a").unlink()
    spent = sessions.spent()
    assert not spent.known
    assert spent.to_json()["tokens"] is None


def test_limits_are_told_with_what_was_used_of_them(sessions: Sessions) -> None:
    sessions.write("a", said("m1", 5, output=50_000), said("m2", 15, output=10_000))
    limits = Limits(tokens=2_000_000, cost_usd=5.0, task_tokens=100_000)
    spent = sessions.spent()
    rows = {row.name: row for row in figure.used(limits, sessions.state, spent)}
    assert figure.told(rows["tokens"]) == "60k of 2M tokens"
    assert figure.told(rows["cost_usd"]) == "$1.50 of $5.00"
    assert figure.told(rows["task_tokens"]) == "50k of 100k tokens"
    assert figure.told(rows["iterations"]) == "1 of 15"
    assert "task_cost_usd" not in rows
    assert spent_told(spent, rows.values()) == "60k of 2M tokens, $1.50 of $5.00"


def test_limits_without_a_transcript_are_used_up_by_nobody_knows_how_much(sessions: Sessions) -> None:
    spent = sessions.spent()
    rows = figure.used(Limits(cost_usd=5.0), sessions.state, spent)
    assert rows[-1] == Used("cost_usd", None, 5.0)
    assert spent_told(spent, rows) == "tokens unknown (limit $5.00)"


@pytest.mark.parametrize(
    ("context", "told"),
    [
        (Context(83_000, "claude-opus-4-5", 200_000), "context 83k of 200k (42 %)"),
        (Context(12_345, "scripted", None), "context 12k, window unknown for scripted"),
    ],
)
def test_the_context_is_told_with_its_window(context: Context, told: str) -> None:
    assert context_told(context) == told


def test_the_context_is_that_of_the_last_transcript(sessions: Sessions) -> None:
    assert figure.context(sessions.state) is None
    sessions.write("a", said("m1", 5, output=5))
    sessions.write("b", said("m2", 6, output=6))
    seen = figure.context(sessions.state)
    assert seen is not None
    assert (seen.tokens, seen.model) == (6, KNOWN)


@each(
    ("value", "told"),
    [
        (0, "0"),
        (950, "950"),
        (1000, "1k"),
        (2_520, "2.5k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (83_499, "83k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_240_000, "1.2M"),
    ],
)
def test_tokens_are_short(value: int, told: str) -> None:
    assert figure.tokens(value) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0, "$0.00"), (0.001, "under $0.01"), (1.2, "$1.20"), (12.345, "$12.35")]
)
def test_dollars_have_cents(value: float, told: str) -> None:
    assert figure.dollars(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0 s"),
        (0.4, "under 1 s"),
        (59, "59 s"),
        (61, "1 min"),
        (3900, "1 h 05 min"),
        (3 * 86400, "3 days"),
    ],
)
def test_spans_are_short(value: float, told: str) -> None:
    assert figure.span(value) == told

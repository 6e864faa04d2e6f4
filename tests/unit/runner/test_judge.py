"""What comes after a session, as a table."""

from __future__ import annotations

import pytest

from ralphloop.agents.event import Result
from ralphloop.domain.model import (
    BUDGET,
    CANCELLED,
    COMPLETE,
    ENDED,
    FAILED,
    INTERRUPTED,
    LIMIT,
    LOGIN,
    NEEDS_INPUT,
    PAUSED,
    RATE_LIMITED,
    RUNNING,
    WAITING,
)
from ralphloop.runner import judge
from ralphloop.runner.agent_process import Ending
from ralphloop.runner.judge import END, NEXT, REST, WAIT, Pace, Session, Trouble
from unit.domain.build import a_loop
from unit.domain.cases import each

NOW = 1_800_000_000.0
PACE = Pace(margin_s=60.0, backoff_s=30.0)
FINE = Ending(0, None, "")


def result(**values) -> Result:
    usual = {
        "is_error": False, "subtype": "success", "terminal_reason": "completed",
        "api_error_status": None, "text": "", "cost_usd": 0.0, "tokens": 0, "errors": (),
    }  # fmt: skip
    return Result(**{**usual, **values})


def api_error(status: int | None, text: str = "API Error", **values) -> Session:
    told = result(is_error=True, terminal_reason="api_error", api_error_status=status, text=text)
    return Session(Ending(1, None, ""), told, **values)


DONE = Session(FINE, result(), stops=1)
HANDED_OVER = Session(FINE, result(), stops=1, handed_over=True)
KILLED = Session(Ending(None, 9, ""))
STARTED_BADLY = Session(Ending(1, None, "line\nError: Session ID x is already in use."))


def verdict(session: Session, *, trouble: Trouble = Trouble(), **state) -> judge.Verdict:  # noqa: B008
    loop = a_loop(**{"state": RUNNING, **state})
    return judge.judge(session, loop, trouble=trouble, pace=PACE, now=NOW)


@each(
    ("state", "session", "kind", "outcome"),
    [
        ({"state": ENDED, "outcome": COMPLETE}, DONE, END, ""),
        ({"state": ENDED, "outcome": COMPLETE}, KILLED, END, ""),
        ({"state": ENDED, "outcome": CANCELLED}, Session(KILLED.ending, cut=judge.HALT), END, ""),
        ({"state": PAUSED, "outcome": NEEDS_INPUT}, DONE, END, ""),
        ({"state": PAUSED, "outcome": INTERRUPTED}, DONE, REST, ""),
        ({}, HANDED_OVER, NEXT, ""),
        ({"state": WAITING}, DONE, NEXT, ""),
        ({}, Session(FINE, result(), cut=judge.INTERRUPT), END, INTERRUPTED),
        ({}, Session(FINE, cut=judge.GONE), END, ""),
        ({}, Session(FINE, cut=judge.TIME), END, LIMIT),
        ({}, Session(FINE, cut=judge.SKIP), NEXT, ""),
        ({}, Session(Ending(None, None, "not found"), cut=judge.NO_START), END, FAILED),
        ({}, Session(Ending(None, None, ""), cut=judge.NO_WORK), END, FAILED),
        ({}, Session(FINE, result(is_error=True, subtype="error_max_budget_usd")), END, BUDGET),
        ({}, api_error(401, "Invalid API key"), END, FAILED),
        ({}, Session(FINE, cut=judge.LOGIN, said="401 authentication_failed"), END, FAILED),
        ({}, api_error(404, "model: no-such-model"), END, FAILED),
        ({}, api_error(400, "messages.0: bad"), END, FAILED),
        ({}, api_error(429), WAIT, ""),
        ({}, api_error(529, "Overloaded"), WAIT, ""),
        ({}, api_error(500), WAIT, ""),
        ({}, api_error(None, "Connection error."), WAIT, ""),
        ({}, api_error(403, "You've hit your limit · resets 7pm (Asia/Tokyo)"), WAIT, ""),
        ({}, api_error(400, "You have reached your individual spend limit"), WAIT, ""),
    ],
)
def test_what_comes_next(state, session, kind, outcome):
    found = verdict(session, **state)
    assert (found.kind, found.outcome) == (kind, outcome)


def test_an_announced_reset_is_waited_for_with_a_margin():
    found = verdict(api_error(429, "API Error: 429 retry after 90 seconds"))
    assert found.until == NOW + 90 + 60


def test_a_reset_that_the_account_tells_is_waited_for():
    assert verdict(api_error(429, resets_at=NOW + 500)).until == NOW + 560
    assert verdict(api_error(429, resets_at=NOW - 500)).until == NOW + 30


def test_without_an_announced_reset_each_wait_is_twice_as_long():
    waits, trouble = [], Trouble()
    for _ in range(7):
        found = verdict(api_error(529), trouble=trouble)
        waits.append(found.until - NOW)
        trouble = found.trouble
    assert waits == [30, 60, 120, 240, 480, 900, 900]


def test_a_turn_that_came_to_its_end_begins_the_waits_anew():
    found = verdict(api_error(529, stops=2), trouble=Trouble(outages=5))
    assert found.until - NOW == 30


def test_an_outage_without_an_end_rests_as_rate_limited():
    found = verdict(api_error(529), trouble=Trouble(outages=judge.OUTAGES))
    assert (found.kind, found.outcome) == (END, RATE_LIMITED)


@pytest.mark.parametrize(
    "session", [KILLED, STARTED_BADLY, Session(FINE, cut=judge.IDLE), Session(FINE, result())]
)
def test_a_session_without_a_stop_counts_as_an_attempt_and_too_many_fail(session):
    found = verdict(session)
    assert (found.kind, found.tried, found.trouble.crashes) == (NEXT, True, 1)
    again = verdict(session, trouble=found.trouble)
    assert (again.kind, again.tried, again.until) == (WAIT, True, NOW + 30)
    last = verdict(session, trouble=Trouble(crashes=judge.CRASHES))
    assert (last.kind, last.outcome) == (END, FAILED)


def crashed(*tasks: str, trouble: Trouble = Trouble()) -> judge.Verdict:  # noqa: B008
    """What comes of sessions about these tasks that all crashed."""
    for task in tasks:
        found = verdict(KILLED._replace(task=task), trouble=trouble)
        trouble = found.trouble
    return found


def test_crashes_that_were_all_about_one_task_name_it_once():
    found = crashed(*["F1"] * 5)
    assert (found.kind, found.outcome, found.hopeless) == (END, FAILED, "F1")
    again = crashed(*["F2"] * 5, trouble=found.trouble)  # then it is the client
    assert (again.kind, again.outcome, again.hopeless) == (END, FAILED, "")
    assert crashed("F1", "F1", "F2", "F2", "F2").hopeless == ""
    assert crashed("F1", "F2", "F1", "F1", "F1").hopeless == ""
    assert crashed(*["F1"] * 4).hopeless == ""


def test_a_turn_that_came_to_its_end_lets_crashes_name_a_task_again():
    trouble = verdict(KILLED._replace(stops=1, task="F2"), trouble=crashed(*["F1"] * 5).trouble).trouble
    assert crashed(*["F2"] * 4, trouble=trouble).hopeless == "F2"


def test_waits_for_the_api_are_no_attempt():
    assert not verdict(api_error(429)).tried


def test_what_the_client_said_before_it_died_is_told():
    assert "Session ID x is already in use" in verdict(STARTED_BADLY).why
    assert "signal 9" in verdict(KILLED).why


def test_a_prompt_that_is_too_long_gets_a_fresh_session():
    told = result(is_error=True, terminal_reason="prompt_too_long", api_error_status=400)
    found = verdict(Session(Ending(1, None, ""), told, stops=3))
    assert (found.kind, found.tried) == (NEXT, True)


def test_a_turn_that_the_client_ended_against_the_hook_counts_as_an_attempt():
    found = verdict(DONE)
    assert (found.kind, found.tried) == (NEXT, True)


@pytest.mark.parametrize(
    "session",
    [
        api_error(401, "no right for hunter2hunter2"),
        Session(FINE, result(is_error=True, errors=("no right for hunter2hunter2",))),
        Session(Ending(3, None, "no right for hunter2hunter2\n")),
    ],
)
def test_what_the_client_said_is_told_without_secrets(session: Session) -> None:
    assert "hunter2" in verdict(session).why
    told = verdict(judge.masked(session, lambda text: text.replace("hunter2hunter2", "***"), now=NOW)).why
    assert "no right for ***" in told


def test_when_a_limit_is_lifted_is_read_before_anything_is_masked() -> None:
    session = api_error(429, "Claude AI usage limit reached|1800007200")
    plain = verdict(session)
    hidden = verdict(judge.masked(session, lambda _: "***", now=NOW))
    assert (plain.kind, hidden.kind, hidden.why) == (WAIT, WAIT, "***")
    assert hidden.until == plain.until > NOW + 7000


@each(
    ("session", "why"),
    [
        (api_error(401, "no key"), f"{LOGIN}: no key"),
        (api_error(403, "API Error: 403 no"), f"{LOGIN}: API Error: 403 no"),
        (api_error(None, "Not logged in · Please run /login"), f"{LOGIN}: Not logged in · Please run /login"),
        (Session(FINE, cut=judge.LOGIN, said="401 no"), f"{LOGIN}: 401 no"),
        (api_error(404, "no such model"), "no such model"),
    ],
)
def test_a_refused_login_is_named_and_counts_nothing(session: Session, why: str) -> None:
    found = verdict(session)
    assert (found.why, found.tried) == (why, False)

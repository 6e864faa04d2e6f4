"""What comes after a session: the next one, a wait, or the end. Judged by the loop's state and by what the
client reports of its errors, never by an exit code alone or by prose."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ralphloop.agents import limit
from ralphloop.agents.event import Result
from ralphloop.domain.model import BUDGET, ENDED, FAILED, INTERRUPTED, LIMIT, PAUSED, RATE_LIMITED, LoopState
from ralphloop.domain.model import LOGIN as LOGIN_REFUSED
from ralphloop.domain.outage import HOPELESS, backoff_s, due, refuses_login
from ralphloop.domain.prompt import line
from ralphloop.runner.agent_process import Ending

# what comes next
NEXT, WAIT, REST, END = "next", "wait", "rest", "end"

# why the supervisor ended a session itself
IDLE, TIME, INTERRUPT, SKIP, HALT, GONE = "idle", "time", "interrupt", "skip", "halt", "gone"
LOGIN = "login"
# why there was none
NO_START, NO_WORK = "no_start", "no_work"

CRASHES = 4  # sessions in a row in which our hook was never asked
# Waits in a row without a turn that came to its end. More than a session in a terminal is given
# (`engine/wake.py`): nobody sits before a run, and it is meant to outlast a night's outage.
OUTAGES = 40


class Session(NamedTuple):
    """A session that is over."""

    ending: Ending
    result: Result | None = None
    cut: str = ""  # why the supervisor ended it
    said: str = ""  # and what the service had said then
    stops: int = 0  # turns on which our hook decided
    handed_over: bool = False
    resets_at: float | None = None  # when the account's limit is lifted, if the client was told
    task: str = ""  # that it was begun for


class Trouble(NamedTuple):
    """What went wrong in a row, without a turn that came to its end in between."""

    crashes: int = 0
    outages: int = 0
    task: str = ""  # what all of the crashes were about, if it was one task
    is_client: bool = False  # a task was set aside for crashes already: more of them are not the task's


class Pace(NamedTuple):
    """How long to wait: after an announced reset, and where none is announced."""

    margin_s: float = limit.MARGIN_S
    backoff_s: float = 30.0


class Verdict(NamedTuple):
    kind: str
    why: str = ""
    until: float = 0.0  # of a wait
    outcome: str = ""  # of an end that the loop's state does not tell yet
    tried: bool = False  # whether it counts as an attempt at the task
    hopeless: str = ""  # the task that is to be set aside instead of this end
    trouble: Trouble = Trouble()


def masked(session: Session, hide: Callable[[str], str], *, now: float) -> Session:
    """What the client said, as it may be kept and shown; when a limit is lifted is read before."""
    ending, result, resets_at = session.ending, session.result, session.resets_at
    if result is not None:
        if resets_at is None and result.is_error:
            resets_at = limit.resume_at(_said(result), now=now, margin_s=0.0)
        result = result._replace(text=hide(result.text), errors=tuple(map(hide, result.errors)))
    ending = ending._replace(stderr=hide(ending.stderr))
    return session._replace(ending=ending, result=result, resets_at=resets_at, said=hide(session.said))


def _said(result: Result) -> str:
    return result.text or "; ".join(result.errors) or result.terminal_reason or result.subtype


INTERRUPTED_BY_PERSON = Verdict(END, "paused by the person", outcome=INTERRUPTED)
LEFT_ALONE = Verdict(END, "the command that started it is gone")


def judge(session: Session, state: LoopState, *, trouble: Trouble, pace: Pace, now: float) -> Verdict:
    if session.stops:
        trouble = Trouble()
    same = not trouble.crashes or trouble.task == session.task
    trouble = trouble._replace(task=session.task if same else "")
    if session.cut == GONE:
        return LEFT_ALONE
    if state.state == ENDED:
        return Verdict(END, state.detail)
    if session.cut == INTERRUPT:
        return INTERRUPTED_BY_PERSON
    if state.state == PAUSED and state.outcome != RATE_LIMITED:
        return Verdict(REST if state.outcome == INTERRUPTED else END, state.detail)
    if session.cut == NO_START:
        return Verdict(END, session.ending.stderr, outcome=FAILED)
    if session.cut == NO_WORK:
        told = "nothing can be worked on, and no rule says why; `ralphloop explain` shows what each one said"
        return Verdict(END, told, outcome=FAILED)
    if session.cut == LOGIN:
        return Verdict(END, f"{LOGIN_REFUSED}: {line(session.said)}", outcome=FAILED)
    if session.cut == TIME:
        return Verdict(END, "the running time is used up", outcome=LIMIT)
    if session.cut == SKIP:
        return Verdict(NEXT, "the person skipped the task")
    if session.cut == IDLE:
        told = "the agent was silent for too long" + _last_words(session.ending)
        return _crashed(told, trouble, pace, now)
    return _of_itself(session, trouble, pace, now)


def _of_itself(session: Session, trouble: Trouble, pace: Pace, now: float) -> Verdict:
    """A session that ended by itself, while the loop is under way."""
    result = session.result
    if result is None:
        return _crashed(_how(session.ending), trouble, pace, now)
    if result.is_error:
        return _failed(result, session.resets_at, trouble=trouble, pace=pace, now=now)
    if session.handed_over:
        return Verdict(NEXT, "handed over")
    if not session.stops:
        told = "the client ended its turn without asking our hook; `ralphloop doctor` finds out why"
        return _crashed(told, trouble, pace, now)
    return Verdict(NEXT, "the client ended the turn although there is work left", tried=True)


def _failed(result: Result, resets_at: float | None, *, trouble: Trouble, pace: Pace, now: float) -> Verdict:
    said = line(_said(result))
    status = result.api_error_status
    if result.subtype == "error_max_budget_usd" or result.terminal_reason == "budget_exhausted":
        return Verdict(END, "the dollars of this loop are used up", outcome=BUDGET)
    if result.terminal_reason == "prompt_too_long":
        return _crashed("the prompt grew too long", trouble, pace, now)
    if result.terminal_reason.startswith("aborted"):
        return _crashed("somebody interrupted the client", trouble, pace, now)
    announced = limit.resume_at(said, now=now, margin_s=pace.margin_s)
    if announced is None and resets_at is not None:
        announced = resets_at + pace.margin_s
    is_login = status in (401, 403) or refuses_login(said)
    if (is_login or status in HOPELESS) and announced is None and not limit.is_limit(said):
        is_told = said.startswith(LOGIN_REFUSED) or not is_login
        return Verdict(END, said if is_told else f"{LOGIN_REFUSED}: {said}", outcome=FAILED)
    if trouble.outages >= OUTAGES:
        return Verdict(END, f"{said} ({trouble.outages} times in a row)", outcome=RATE_LIMITED)
    until = due(announced, before=trouble.outages, first_s=pace.backoff_s, now=now)
    return Verdict(WAIT, said, until=until, trouble=trouble._replace(outages=trouble.outages + 1))


def _crashed(why: str, trouble: Trouble, pace: Pace, now: float) -> Verdict:
    """Nobody knows how far the agent came: the next session looks at the same task once more."""
    crashes = trouble.crashes + 1
    if crashes > CRASHES:
        hopeless = "" if trouble.is_client else trouble.task
        told = f"{why} ({crashes} times in a row)"
        return Verdict(END, told, outcome=FAILED, hopeless=hopeless, trouble=Trouble(is_client=True))
    after = Verdict(NEXT, why, tried=True, trouble=trouble._replace(crashes=crashes))
    if crashes == 1:
        return after
    return after._replace(kind=WAIT, until=now + backoff_s(pace.backoff_s, crashes - 2))


def _how(ending: Ending) -> str:
    if ending.code is None and ending.signal is None:  # what is said then is our own
        return line(ending.stderr) or "nobody knows how the client ended"
    how = f"was ended by signal {ending.signal}" if ending.signal else f"exited with {ending.code}"
    return f"the client {how}" + _last_words(ending)


def _last_words(ending: Ending) -> str:
    said = line(ending.stderr.strip().rpartition("\n")[2], 200)
    return f": {said}" if said else ""

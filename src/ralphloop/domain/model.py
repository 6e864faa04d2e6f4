"""The words of a loop: events, tasks, limits, state, decisions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Any, Iterable, Optional

    from typing_extensions import dataclass_transform

# the variables by which Claude Code tells its hooks and its agent's commands where they are (2.1.325)
SESSION_VARIABLE, PROJECT_VARIABLE = "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"
PLUGIN_VARIABLE = "CLAUDE_PLUGIN_ROOT"  # the folder of the plugin whose hook runs
PID_VARIABLE = "CLAUDE_PID"  # the client's own
ATTENDED_VARIABLE = "CLAUDE_CODE_SESSION_ATTENDED"  # "1" where a person can type, "0" where nobody can
CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"  # how many replies in a row a hook may block

# state
ARMED, RUNNING, WAITING, PAUSED, ENDED = "armed", "running", "waiting", "paused", "ended"
STATES = (ARMED, RUNNING, WAITING, PAUSED, ENDED)

# outcome
COMPLETE, LIMIT, BUDGET, STALLED, CAPPED = "complete", "limit", "budget", "stalled", "capped"
RATE_LIMITED, NEEDS_INPUT, NEEDS_APPROVAL = "rate_limited", "needs_input", "needs_approval"
AWAITING_APPROVAL, INTERRUPTED, CANCELLED = "awaiting_approval", "interrupted", "cancelled"
CORRUPT, FAILED = "corrupt", "failed"
# What a loop can come to, and what people are told of it, a column a line. It is text, as no stop reads it;
# `table.Outcome` says what each column is, and what holds without it.
OUTCOMES = {
    COMPLETE: """
        exit: 0 complete
        doubted: 19 complete, with doubts
        means: every task is closed, and every check that ran was green at the end
        end: {name} is complete""",
    LIMIT: """
        exit: 10 limit: iterations or running time
        means: iterations or running time used up
        end: {name} has reached its limit
        line: ralphloop resume with a higher limit""",
    BUDGET: """
        exit: 11 budget: tokens or dollars
        means: the tokens or dollars of the loop are spent; in a spec also those of one task
        end: {name} has used up its budget
        line: ralphloop resume with a higher limit""",
    STALLED: """
        exit: 12 stalled, or capped by the client
        means: no tool call and no changed task, or the same words, three times
        end: {name} is stalled""",
    CAPPED: """
        exit: 12
        means: the client force-ended the turn (its cap on blocked stops)
        end: {name} was ended by the client""",
    NEEDS_INPUT: """
        exit: 13 needs you: an answer or an approval
        state: paused
        means: only tasks that wait for you are open, or the client denied a tool again and again
        person: {name} needs your answer""",
    NEEDS_APPROVAL: """
        exit: 13
        state: paused
        means: checks that you have not approved stand in the way (`features` only; a spec goes on)
        person: {name} needs your approval
        notice: `ralphloop approve {name}` shows the checks.""",
    AWAITING_APPROVAL: """
        exit: 13
        state: paused
        means: `awaitingApproval` is set in a spec's state
        person: {name} awaits your approval
        status: goes on by itself at the next stop after the approval.
        line: goes on after the approval""",
    RATE_LIMITED: """
        exit: 14 rate limited
        state: paused
        means: the service refused, and the loop waits""",
    FAILED: """
        exit: 15 failed, or a file is corrupt
        means: no open task can run, too many attempts, or an error that no wait cures
        end: {name} failed
        status: repair the list, then {again} goes on.
        line: repair the list, ralphloop resume""",
    CORRUPT: """
        exit: 15
        state: paused
        means: a task file cannot be read and there is no good copy
        end: {name} has a corrupt file""",
    CANCELLED: """
        exit: 16 cancelled
        means: `ralphloop cancel`, or the state file was removed""",
    INTERRUPTED: """
        exit: 17 paused or interrupted
        state: paused
        means: you paused it, pressed Esc or Ctrl-C, or ended the session""",
}  # fmt: skip
FINAL = (COMPLETE, CANCELLED)
# These loops go on by themselves at the owner's next stop.
SELF_RESUMING = (RATE_LIMITED, AWAITING_APPROVAL, NEEDS_INPUT)

# task states; those in CLOSED need no more work, a CLAIMED one waits for its check
OPEN, ASKED, CLAIMED = "open", "asked", "claimed"
GIVEN, UNVERIFIED, PROVEN, VOUCHED = "given", "unverified", "proven", "vouched"
SKIPPED, SET_ASIDE = "skipped", "set_aside"
CLOSED = (GIVEN, UNVERIFIED, PROVEN, VOUCHED)

TRANSCRIPTS_KEPT = 10  # that a state names; older ones of a supervisor's are in the journal

EXECUTION = "execution"  # the phase in which tasks are worked on; a spec has others before it
SET_BACK = "said in mid-execution that the phase is"  # how the fault of a list begins whose phase was moved
GONE = "gone"  # what is wrong with a list whose file is not there

UNLIMITED = 10**9  # iterations without an end, for who asked for that

# how the detail of a loop begins that waits for a permission
DENIED = "the client denied"
# and of one that an expired login or a wrong key has ended
LOGIN = "the login was refused"

# the detail of a loop that waits for the client's plan mode to end
PLAN_MODE = "waits for plan mode to end"

# whose checks a decision needs first
CLAIMS, FINAL_RUN = "claims", "final"
PROBES = "probes"  # after a green final run: whose green it is
THE_LIST = "the list"  # where a list's own check stands among those of tasks

_HUGE = 1e15


def status_word(outcome: Optional[str]) -> str:
    """What the task list's own files say of a run that has come to this."""
    if not outcome:
        return "IN_PROGRESS"
    return "REACHED_LIMIT" if outcome == LIMIT else outcome.upper()


if TYPE_CHECKING:

    @dataclass_transform()
    class Fields:
        """An object of named values, as a dataclass is one: what is not given is as its class says."""

else:

    class Fields:
        """The same without `dataclasses`, which costs more than a stop; those in `FIRST` need no names."""

        FIRST = ()

        def __init__(self, *first, **values):
            values.update(zip(self.FIRST, first))
            if __debug__:  # for callers that no type checker reads; the bundle leaves it out
                names = type(self).__annotations__.keys() - {"_"}
                assert len(first) <= len(self.FIRST), first
                assert {*values, *vars(type(self))} >= names >= values.keys(), (names, values)
            self.__dict__ = values


class Task:
    """One entry of a task list as its file has it; `id` is empty where the file gives none."""

    # not `Fields`: a list may have 100,000 of them
    __slots__ = (
        "apart", "body", "depends_on", "done", "guarded", "id", "marks", "model", "needs_human", "steps",
        "timeout_s", "title", "verify",
    )  # fmt: skip

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's name in every task list
        title: str,
        *,
        done: bool = False,
        body: str = "",
        steps: Iterable[str] = (),
        marks: Iterable[str] = (),
        verify: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        needs_human: str = "",
        model: str = "",
        timeout_s: Optional[float] = None,
        guarded: bool = False,
        apart: bool = True,
    ) -> None:
        self.id = id
        self.title = title
        self.done = done
        self.body = body
        self.steps = tuple(steps)
        self.marks = tuple(marks)
        self.verify = tuple(verify)
        self.depends_on = tuple(depends_on)
        self.needs_human = needs_human
        self.model = model
        self.timeout_s = timeout_s
        # whether its list names files that no claim may have touched
        self.guarded = guarded
        # whether its checks may be asked again apart from the project
        self.apart = apart

    @property
    def parallel(self) -> bool:
        return "P" in self.marks


class TaskList(Fields):
    """A parsed task list with what its files say about the run."""

    FIRST = ("tasks",)

    tasks: list[Task]
    _: KW_ONLY
    sequential: bool = False
    phase: str = EXECUTION
    quick: bool = False
    awaiting_approval: bool = False
    iteration: int = 0
    max_iterations: Optional[int] = None
    max_attempts: Optional[int] = None
    epic: str = ""
    verify: tuple[str, ...] = ()  # the list's own check, part of every final run
    timeout_s: Optional[float] = None

    @property
    def commands(self) -> list[str]:
        """What its checks run, each once: the tasks' in their order, then the list's own."""
        found = dict.fromkeys([command for task in self.tasks for command in task.verify])
        return list(dict.fromkeys([*found, *self.verify]))


# What a loop may spend: the default, the kind of amount, what it ends, its label, and what else people are
# told, as in OUTCOMES (`table.Limit`). The rules are in `limits.py`.
LIMITS: dict[str, tuple[float, str, str, str, str]] = {
    "iterations": (15, "turns", "loop", "iterations", """
        setting: max_iterations
        told: turns at most
        usual: 3 per task, at least 15
        reported: iterations
        then: ends `limit`"""),
    "attempts": (5, "count", "task", "attempts at a task", """
        setting: max_attempts
        told: attempts at one task
        then: sets the task aside, else ends `failed`"""),
    "time_s": (8 * 3600.0, "time", "loop", "running time", """
        setting: max_time 4h
        told: running time, anew at each go-on
        usual: 8h
        reported: running time of the last window
        then: ends `limit`"""),
    "no_progress": (3, "count", "circle", "no progress", """
        setting: max_no_progress
        told: continuations without progress
        then: sets the task aside, else ends `stalled`"""),
    "tokens": (0, "tokens", "loop", "tokens", """
        setting: max_tokens 2M
        told: tokens of the whole loop
        reported: tokens
        then: ends `budget`"""),
    "cost_usd": (0.0, "dollars", "loop", "dollars", """
        setting: max_cost USD
        told: dollars of the whole loop
        reported: dollars
        then: ends `budget`"""),
    "task_tokens": (0, "tokens", "task", "tokens of a task", """
        setting: max_task_tokens 500k
        told: tokens of one task
        then: sets the task aside, else ends `budget`"""),
    "task_cost_usd": (0.0, "dollars", "task", "dollars of a task", """
        setting: max_task_cost USD
        told: dollars of one task
        then: sets the task aside, else ends `budget`"""),
    "replies": (3, "count", "circle", "replies", """
        told: the same reply, or a near-empty one, in a row
        then: sets the task aside, else ends `stalled`"""),
    "denials": (3, "count", "circle", "denials", """
        told: calls of one tool that the client denies
        then: pauses `needs_input`, with the permission rule to add"""),
}  # fmt: skip


class Limits:
    """What one loop may spend; pinned when it is armed. Tokens and dollars are off at 0."""

    iterations: int
    attempts: int
    time_s: float
    no_progress: int
    tokens: int
    cost_usd: float
    task_tokens: int
    task_cost_usd: float
    replies: int
    denials: int

    __slots__ = tuple(sorted(LIMITS))

    def __init__(self, **values: float) -> None:
        for name, row in LIMITS.items():
            setattr(self, name, row[0])
        for name, value in values.items():
            setattr(self, name, value)

    @property
    def budgeted(self) -> bool:
        return any(getattr(self, name) for name, row in LIMITS.items() if row[1] in ("tokens", "dollars"))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Any) -> Limits:
        limits = cls()
        if isinstance(data, dict):
            for name in cls.__slots__:
                value = data.get(name)
                if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _HUGE:
                    setattr(limits, name, value)
        return limits


REGISTRATION = "run"  # the name under which a supervisor registers the hook of its sessions


class Supervision(Fields):
    """The terms of the session that a supervisor has started; its loop has them as long as it drives it."""

    batch: int = 0  # tasks for one session, 0 for no limit
    branch: str = ""  # closed tasks are committed on it; empty for no commits
    context: float = 0.0  # share of the context window that a session may fill, 0 for all of it
    model: str = ""  # the session's own
    usual_model: str = ""  # where neither the task nor the list names one

    NAMES = ("batch", "branch", "context", "model", "usual_model")
    MARK = NAMES[-1]  # a word that no record without these terms has

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.NAMES}

    @classmethod
    def from_json(cls, data: Any) -> Optional[Supervision]:
        """None for what is no such object; a value of the wrong type is left out."""
        if not isinstance(data, dict):
            return None
        usual = {name: getattr(cls, name) for name in cls.NAMES}
        return cls(**{name: data[name] for name in usual if type(data.get(name)) is type(usual[name])})


class StopEvent(Fields):
    """One Stop event, whatever client sent it."""

    _: KW_ONLY
    session: Optional[str]
    cwd: str
    transcript: str = ""
    prompt: str = ""
    active: bool = False
    reply: Optional[str] = None
    background: tuple[tuple[str, str], ...] = ()  # (type, description) of what still runs
    crons: int = 0
    planning: bool = False  # whether the client is in plan mode, in which the agent may change nothing


def is_older(stamp: str, since: str) -> bool:
    """Whether an entry of a transcript is from before `since`; a stamp of whole seconds may mean any moment
    of its second."""
    if stamp[19:] in ("Z", ".000Z"):
        return stamp[:19] < since[:19]
    return stamp < since


class Turn(Fields):
    """What the transcript shows of the time since the last stop."""

    _: KW_ONLY
    readable: bool = False
    tools: int = 0
    # (tool, rule that would allow it) of calls that were denied, and tools of which a call was not
    denied: tuple[tuple[str, str], ...] = ()
    worked: frozenset[str] = frozenset()
    reply: Optional[str] = None
    broken_off: str = ""  # the outcome of an end that no hook saw: interrupted, capped, rate_limited, failed
    detail: str = ""
    resume_at: Optional[float] = None
    queued: bool = False  # whether something that the person typed waits for this turn to end
    end: int = 0


class LoopState:
    """One loop between two stops; `loop.json` holds exactly these fields."""

    id: str
    layout: str
    name: str
    owner: Optional[str]
    state: str
    outcome: Optional[str]
    detail: str
    iteration: int
    started_at: float
    seen_at: float
    elapsed_s: float
    current: str
    attempts: dict[str, int]
    refused: list[str]
    no_progress: int
    reply: str
    same_replies: int
    empty_replies: int
    quiet_replies: int
    phase_turns: dict[str, int]
    tasks_seen: str
    files_seen: str
    transcript_end: int
    served: list[str]
    pending: str
    told: list[str]
    restored: bool
    resume_at: Optional[float]
    since: str
    ledger: int
    worked: bool
    denied: dict[str, int]
    final_round: int
    final_tree: str
    transcripts: list[str]
    batch: list[str]
    stops: int
    handed_over: bool
    carry: str
    wake: str
    failures: int

    DEFAULTS: dict[str, Any] = {
        "id": "", "layout": "", "name": "", "owner": None, "state": ARMED, "outcome": None,
        "detail": "", "iteration": 1, "started_at": 0.0, "seen_at": 0.0, "elapsed_s": 0.0,
        # `refused`: tasks whose claims a command turned back since the last stop
        "current": "", "attempts": {}, "refused": [], "no_progress": 0, "reply": "", "same_replies": 0,
        "empty_replies": 0, "quiet_replies": 0, "phase_turns": {},
        "tasks_seen": "", "files_seen": "", "transcript_end": 0, "served": [], "pending": "",
        "told": [], "restored": False, "resume_at": None, "since": "", "ledger": 0,
        "worked": False, "denied": {}, "final_round": 0, "final_tree": "", "transcripts": [],
        # the supervised session: its tasks, our decisions in it, whether it handed over; what the next one
        # must be told; who will wake the session, and after how many failures
        "batch": [], "stops": 0, "handed_over": False, "carry": "", "wake": "", "failures": 0,
    }  # fmt: skip
    __slots__ = tuple(DEFAULTS)

    def __init__(self, **values: Any) -> None:
        for name, default in self.DEFAULTS.items():
            value = values.get(name, default)
            setattr(self, name, value.copy() if isinstance(value, (dict, list)) else value)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoopState:
        """Values of the wrong type are dropped; without a known state and id it is no loop at all."""
        values = {n: _sound(data[n]) for n, d in cls.DEFAULTS.items() if n in data and _fits(data[n], d, n)}
        if values.get("state") not in STATES or not values.get("id"):
            raise ValueError("not a loop")
        if values.get("outcome") not in OUTCOMES:
            values["outcome"] = None
        return cls(**values)

    @classmethod
    def is_newer(cls, data: dict[str, Any]) -> bool:
        """Whether a later version wrote this: it says what nobody knows here. So no field may ever go."""
        state = data.get("state", ARMED)
        return not data.keys() <= cls.DEFAULTS.keys() or (isinstance(state, str) and state not in STATES)

    def copy(self) -> LoopState:
        return LoopState(**self.to_json())

    def note_transcript(self, path: str) -> None:
        if path and path not in self.transcripts:
            self.transcripts = [*self.transcripts[1 - TRANSCRIPTS_KEPT :], path]

    @property
    def live(self) -> bool:
        return self.state in (RUNNING, WAITING, ARMED)

    @property
    def planning(self) -> bool:
        return self.state == WAITING and self.detail == PLAN_MODE


def _fits(value: Any, default: Any, name: str) -> bool:
    if default is None:
        default = 0.0 if name == "resume_at" else ""
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, (int, float)):
        return isinstance(value, (int, float) if isinstance(default, float) else int) and abs(value) < _HUGE
    return isinstance(value, type(default))


def _sound(value: Any) -> Any:
    """A list's texts, a table's counts, or the value as it is."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item.__class__ is int}
    return value

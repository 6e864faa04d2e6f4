"""The two tables, LIMITS and OUTCOMES, with a name for each column: for whoever tells people of a row."""

from __future__ import annotations

from ralphloop.domain import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Union

TURNS, COUNT, TIME, TOKENS, DOLLARS = "turns", "count", "time", "tokens", "dollars"
LOOP, TASK = "loop", "task"
END, PERSON = "end", "person"
GOOD, WAIT, BAD = "good", "wait", "bad"
UNDER_WAY, UNCOMMITTED = 18, 20  # exit codes that no outcome has


class Limit:
    """One row of LIMITS."""

    name: str  # in `Limits`
    default: float  # 0: off until somebody sets it, and it can be set off again
    kind: str  # how an amount is read and told
    ends: str  # the loop, of which the person is warned; a task; what goes round in circles
    label: str
    setting: str  # with a sample of an amount if that is no plain number; "" for what nobody can change
    sample: str
    told: str  # what it is, for `--help`, settings and documents
    usual: str  # what holds where nobody has set it
    reported: str  # its label in a report
    then: str  # what happens where it is reached

    __slots__ = (
        "default", "ends", "kind", "label", "name", "reported", "sample", "setting", "then", "told", "usual",
    )  # fmt: skip

    def __init__(self, name: str, default: float, kind: str, ends: str, label: str, text: str) -> None:
        self.name, self.default, self.kind, self.ends, self.label = name, default, kind, ends, label
        self.setting = self.reported = ""
        self.usual = "%g" % default if default else "off"
        _fill(self, text)
        self.setting, _, sample = self.setting.partition(" ")
        self.sample, self.reported = sample or "N", self.reported or self.told

    @property
    def option(self) -> str:
        return "--" + self.setting.replace("_", "-")


class Outcome:
    """One row of OUTCOMES."""

    name: str
    exit: str  # the code and what `--help` says of it, unless another row with it does
    code: int
    doubted: str  # the same of one whose proof leaves doubts, where that makes a difference
    doubted_code: int
    state: str
    means: str
    end: str  # the title of the message that the loop has ended so,
    person: str  # or that it needs the person; without both, nobody is told
    notice: str  # how the message closes
    status: str  # what the person can do, where the loop itself says no more
    line: str  # the same in the fewest words

    __slots__ = (
        "code", "doubted", "doubted_code", "end", "exit", "line", "means", "name", "notice", "person",
        "state", "status",
    )  # fmt: skip

    def __init__(self, name: str, text: str) -> None:
        self.name, self.state = name, model.ENDED
        self.exit = self.doubted = self.end = self.person = self.notice = self.status = self.line = ""
        if name not in model.FINAL:
            self.notice = "`ralphloop status {name}` tells what to do."
            self.status, self.line = "{again} goes on.", "ralphloop resume"
        _fill(self, text)
        code, _, self.exit = self.exit.partition(" ")
        self.code = int(code)
        doubted, _, self.doubted = self.doubted.partition(" ")
        self.doubted_code = int(doubted or code)

    @property
    def told(self) -> str:
        """The occasion, or "" where nobody is told."""
        return END if self.end else PERSON if self.person else ""

    @property
    def mood(self) -> str:
        if self.code == 0:
            return GOOD
        return WAIT if self.person or self.name in model.SELF_RESUMING else BAD


def _fill(row: Union[Limit, Outcome], text: str) -> None:
    """A line each; what is no column is an error here."""
    for line in text.split("\n")[1:]:
        column, _, value = line.strip().partition(": ")
        setattr(row, column, value)


LIMITS = {name: Limit(name, *row) for name, row in model.LIMITS.items()}
BUDGETS = tuple([row.name for row in LIMITS.values() if row.kind in (TOKENS, DOLLARS)])
OUTCOMES = {name: Outcome(name, row) for name, row in model.OUTCOMES.items()}


def outcome(name: Optional[str]) -> Outcome:
    """Its row; where a loop rests without an outcome, that of one that was paused."""
    return OUTCOMES[name or model.INTERRUPTED]


def exit_code(state: str, ended: Optional[str], *, uncommitted: bool = False, doubted: bool = False) -> int:
    """The code that tells how a loop ended or rests, for every command that has one to tell of. What is left
    to be committed is told first: after that the code is the other one."""
    if state not in (model.PAUSED, model.ENDED):
        return UNDER_WAY
    if ended == model.COMPLETE and uncommitted:
        return UNCOMMITTED
    return outcome(ended).doubted_code if doubted else outcome(ended).code


def exit_codes() -> dict[int, str]:
    """What each code tells."""
    found = {row.code: row.exit for row in OUTCOMES.values() if row.exit}
    found.update({row.doubted_code: row.doubted for row in OUTCOMES.values() if row.doubted})
    found[UNDER_WAY] = "still under way: armed, running or waiting"
    found[UNCOMMITTED] = "complete, but not all of it is committed"
    return found


def exit_code_table() -> str:
    """The same for `--help`."""
    return "exit codes:\n" + "".join(["  %2d  %s\n" % row for row in sorted(exit_codes().items())])

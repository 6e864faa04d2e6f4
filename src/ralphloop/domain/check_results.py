"""How long checks may take, and what running them came to: claims refused, commands that wait."""

from __future__ import annotations

from ralphloop.domain.model import Fields
from ralphloop.domain.prompt import cut, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Iterable

    from ralphloop.domain.finding import Finding
    from ralphloop.domain.prompt import Words

TIMEOUT_S = 120.0  # of one command, unless its task says otherwise
BUDGET_S = 300.0  # of all in one stop; the client waits for the hook a little longer than this
TAIL_MAX = 8 * 1024  # characters of a failed check's output that a reason may carry
COMMANDS_MAX = 2_000  # characters of commands that a message can show


class Refusal(Fields):
    """A task that was claimed, or was closed, and whose check says otherwise; the list itself has no name."""

    FIRST = ("task",)

    task: str
    _: KW_ONLY
    why: str
    command: str = ""
    tail: str = ""
    again: bool = False  # whether it was closed before, and the final run opened it
    left_out: bool = False  # whether the loop goes on without it anyway: it was skipped, or set aside

    def told(self, room: int) -> str:
        """For the agent: what was run, how it ended, and the end of what it printed."""
        run = "`%s` " % line(self.command, 300) if self.command else ""
        text = "%s: %s%s." % (self._what(), run, line(self.why))
        tail = self.tail.strip("\n")
        left = min(TAIL_MAX, room - len(text) - 40)
        if not tail or left < 80:
            return cut(text, max(room, 80))
        shown = tail if len(tail) <= left else "… " + tail[-left:]
        return "%s The end of its output:\n%s" % (text, shown)

    def _what(self) -> str:
        if not self.task:
            return "The list's own check is red"
        what = "Task %s is open again" if self.again else "The claim of task %s is refused"
        return what % line(self.task, 80)


class Results:
    """What is known of the checks of one stop so far."""

    __slots__ = ("blocked", "commands", "digest", "doubts", "final", "insisted", "proven", "red", "refused",
                 "trouble", "unfinished", "unprobed", "void", "waiting")  # fmt: skip

    def __init__(self) -> None:
        self.proven: list[str] = []
        self.refused: list[Refusal] = []
        # the list's own check, which opens no task again
        self.red: list[Refusal] = []
        # tasks whose checks go on at the next stop
        self.unfinished: list[str] = []
        # tasks whose checks nobody approved, those commands, and what the person types to approve them
        self.waiting: list[str] = []
        self.commands: list[str] = []
        self.digest = ""
        # why no approval counts where the state directory is
        self.void = ""
        # why the checks could not be run at all
        self.trouble = ""
        # whether pinned checks are among them: then nothing can be proven
        self.blocked = False
        # everything was green once more, after the last claim
        self.final = False
        # whether it is still to be asked whose green that is, and what is doubtful about it
        self.unprobed = False
        self.doubts: list[Finding] = []
        # where doubts are refused: those that came back after their task was opened again
        self.insisted: list[Finding] = []

    def why_red(self) -> str:
        """What the list's own check says; empty while it is not red."""
        told = ["`%s` %s" % (line(one.command), one.why) for one in self.red]
        return "the list's own check is red: " + "; ".join(told) if told else ""

    def need_person(self, words: Words) -> str:
        """For the person: what would run, and the two ways to allow it; or why nothing is allowed here."""
        if self.void:
            return self.void
        typed, command = words.traits.typed("approve"), words.command
        how = "Type `%s %s` here, or run `%s approve`" % (typed, self.digest, command)
        return "these checks need your approval: %s. %s" % (shown(self.commands, command), how)


def shown(commands: Iterable[str], command: str) -> str:
    """The commands in full, because who approves must see all of it; else where they can be seen."""
    found = list(commands)
    text = "; ".join("`%s`" % one for one in found)
    if len(text) <= COMMANDS_MAX and "\n" not in text:
        return text
    return "%d, shown by `%s approve --show`" % (len(found), command)

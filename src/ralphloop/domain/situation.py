"""All that a decision may look at, and what its rules answer: a decision, or what must happen before."""

from __future__ import annotations

from ralphloop.domain import limits as limit
from ralphloop.domain import prompt
from ralphloop.domain.model import RUNNING, Fields, status_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Optional, Sequence

    from ralphloop.domain.check_results import Results
    from ralphloop.domain.layout import Traits
    from ralphloop.domain.model import Limits, LoopState, StopEvent, Supervision, Turn
    from ralphloop.domain.worklist import Worklist


class Situation(Fields):
    """One stop as the rules see it. `loop` is a working copy that they move forward."""

    FIRST = ("event", "loop")

    event: StopEvent
    loop: LoopState
    _: KW_ONLY
    work: Optional[Worklist]
    turn: Turn
    limits: Limits
    words: prompt.Words
    now: float
    files: str = ""  # signature of the task files
    path: str = ""  # the loop's own file
    fault: str = ""  # why there is no worklist: GONE, or what is wrong with the file
    backup: bool = False
    claims: tuple[str, ...] = ()  # tasks claimed since the last stop
    unapproved: bool = False  # whether the loop began with checks that the person has not approved
    unchecked: bool = False  # the same where the loop goes on without its checks
    results: Optional[Results] = None  # what the checks of this stop came to; None until they were run
    spent: Optional[limit.Spent] = None
    notes: Sequence[str] = ()
    cap: int = limit.CLIENT_CAP
    # the terms under which a supervisor drives the session, and the share of its context that is used
    supervision: Optional[Supervision] = None
    fullness: Optional[float] = None
    written: bool = False  # whether the document of the phase that quick mode is in exists
    pointed_at: bool = True  # whether a pointer names the spec, so that the plugin's commands are about it

    @property
    def reply(self) -> Optional[str]:
        return self.event.reply if self.event.reply is not None else self.turn.reply

    @property
    def known(self) -> Worklist:
        assert self.work is not None, "the rule on corrupt files comes first"
        return self.work

    @property
    def traits(self) -> Traits:
        return self.words.traits

    def said(self, text: str) -> str:
        return prompt.said(self.loop, text, traits=self.traits)

    @property
    def resume_hint(self) -> str:
        return "`%s` goes on." % self.words.how("resume")

    @property
    def higher_hint(self) -> str:
        return "`%s` with a higher limit goes on." % self.words.how("resume")


class Decision(Fields):
    """What to answer to one stop, and the loop as it is after it."""

    FIRST = ("loop",)

    loop: LoopState
    _: KW_ONLY
    rule: str = ""
    blocks: bool = False
    reason: str = ""
    message: str = ""
    stderr: str = ""
    task: str = ""
    # what the task list's own files shall say: IN_PROGRESS, COMPLETE, REACHED_LIMIT, …; "" leaves them
    status: str = ""
    refused: str = ""  # the claim of completion that this answer refuses
    handover: str = ""  # why the next task is another session's
    writes: bool = True  # False: nothing is written, not even the loop


class Need(Fields):
    """What must happen before there can be a decision; then `decide` is asked again."""

    _: KW_ONLY
    rule: str = ""
    restore: bool = False
    once: bool = False  # a file that goes a second time was taken away on purpose
    checks: str = ""  # whose: those of the claimed tasks, or once more those of all of them
    # a task without which the loop goes on, why, and how often it was tried
    set_aside: str = ""
    why: str = ""
    tried: int = 0


def allow(now: Situation) -> Decision:
    """Let the session stop; the loop stays as it is."""
    return Decision(now.loop)


def leave(now: Situation) -> Decision:
    return Decision(now.loop, writes=False)


def close(
    now: Situation, state: str, outcome: str, detail: str, *, message: str = "", stderr: str = ""
) -> Decision:
    loop = now.loop
    loop.state, loop.outcome, loop.detail = state, outcome, detail
    said = message and now.said(message)
    return Decision(loop, message=said, stderr=stderr, status=status_word(outcome))


def run(loop: LoopState) -> None:
    loop.state, loop.outcome, loop.detail, loop.resume_at = RUNNING, None, "", None


def open_ids(work: Worklist) -> str:
    more = work.open_total - len(work.open_ids)
    return ", ".join(work.open_ids) + (" and %d more" % more if more > 0 else "")

"""All that a decision may look at, and the answers that its rules give."""

from __future__ import annotations

from ralphloop.domain import limits as limit
from ralphloop.domain import prompt
from ralphloop.domain.answer import Decision
from ralphloop.domain.model import RUNNING, status_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Optional

    from ralphloop.domain.layout import Traits
    from ralphloop.domain.model import Limits, LoopState, StopEvent, Turn
    from ralphloop.domain.proof import Results
    from ralphloop.domain.supervision import Supervision
    from ralphloop.domain.worklist import Worklist


class Situation:
    """One stop as the rules see it. `loop` is a working copy that they move forward."""

    __slots__ = (
        "backup", "cap", "claims", "event", "fault", "files", "fullness", "limits", "loop", "notes", "now",
        "path", "pointed_at", "results", "spent", "supervision", "turn", "unapproved", "unchecked", "words",
        "work", "written",
    )  # fmt: skip

    def __init__(
        self,
        event: StopEvent,
        loop: LoopState,
        *,
        work: Optional[Worklist],
        turn: Turn,
        limits: Limits,
        words: prompt.Words,
        now: float,
        files: str = "",
        path: str = "",
        fault: str = "",
        backup: bool = False,
        claims: Iterable[str] = (),
        unapproved: bool = False,
        unchecked: bool = False,
        results: Optional[Results] = None,
        spent: Optional[limit.Spent] = None,
        notes: Iterable[str] = (),
        cap: int = limit.CLIENT_CAP,
        supervision: Optional[Supervision] = None,
        fullness: Optional[float] = None,
        written: bool = False,
        pointed_at: bool = True,
    ) -> None:
        self.event = event
        self.loop = loop
        self.work = work
        self.turn = turn
        self.limits = limits
        self.words = words
        self.now = now
        # signature of the task files, and the loop's own file
        self.files = files
        self.path = path
        # why there is no worklist: GONE, or what is wrong with the file
        self.fault = fault
        self.backup = backup
        # tasks claimed since the last stop
        self.claims = tuple(claims)
        # whether the loop began with checks that the person has not approved
        self.unapproved = unapproved
        # the same where the loop goes on without its checks
        self.unchecked = unchecked
        # what the checks of this stop came to; None until they were run
        self.results = results
        self.spent = spent
        self.notes = list(notes)
        self.cap = cap
        # the terms under which a supervisor drives the session, and the share of its context that is used
        self.supervision = supervision
        self.fullness = fullness
        # whether the document of the phase that quick mode is in exists
        self.written = written
        # whether a pointer names the spec, so that the plugin's commands are about it
        self.pointed_at = pointed_at

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
        return prompt.said(self.loop, text, self.traits)

    @property
    def resume_hint(self) -> str:
        return "`%s` goes on." % self.words.how("resume")

    @property
    def higher_hint(self) -> str:
        return "`%s` with a higher limit goes on." % self.words.how("resume")


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

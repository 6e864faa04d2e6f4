"""What the rules answer to a stop: a decision, or what must happen before there can be one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.domain.model import LoopState


class Decision:
    """What to answer to one stop, and the loop as it is after it."""

    __slots__ = (
        "blocks", "handover", "loop", "message", "reason", "refused", "rule", "status", "stderr", "task",
        "writes",
    )  # fmt: skip

    def __init__(
        self,
        loop: LoopState,
        *,
        rule: str = "",
        blocks: bool = False,
        reason: str = "",
        message: str = "",
        stderr: str = "",
        task: str = "",
        status: str = "",
        refused: str = "",
        handover: str = "",
        writes: bool = True,
    ) -> None:
        self.loop = loop
        self.rule = rule
        self.blocks = blocks
        self.reason = reason
        self.message = message
        self.stderr = stderr
        self.task = task
        # what the task list's own files shall say: IN_PROGRESS, COMPLETE, REACHED_LIMIT, …; "" leaves them
        self.status = status
        # the claim of completion that this answer refuses
        self.refused = refused
        # why the next task is another session's
        self.handover = handover
        # False: nothing is written, not even the loop
        self.writes = writes


class Need:
    """What must happen before there can be a decision; then `decide` is asked again."""

    __slots__ = ("checks", "once", "restore", "rule", "set_aside", "tried", "why")

    def __init__(
        self,
        *,
        restore: bool = False,
        once: bool = False,
        checks: str = "",
        set_aside: str = "",
        why: str = "",
        tried: int = 0,
    ) -> None:
        self.rule = ""
        self.restore = restore
        # a file that goes a second time was taken away on purpose
        self.once = once
        # whose checks: those of the claimed tasks, or once more those of all of them
        self.checks = checks
        # a task without which the loop goes on, why, and how often it was tried
        self.set_aside = set_aside
        self.why = why
        self.tried = tried

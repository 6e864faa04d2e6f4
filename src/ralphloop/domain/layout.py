"""What a layout of task lists is like: everything by which one differs from another, as values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping

# at a limit: a message, one last turn to write down where it stands, or a line in the log
TELL, RECOVER, LOG = "tell", "recover", "log"


class Traits:
    """The traits of one layout; its module says each of them."""

    __slots__ = (
        "action", "at_limit", "chosen_by", "closing", "delegates", "files", "iterations", "kind", "phases",
        "plugin", "rests_empty", "settings", "tells_completion", "truth", "voice", "waits_for_approval",
    )  # fmt: skip

    def __init__(
        self,
        *,
        plugin: str,
        action: str,
        voice: str,
        kind: str,
        files: Mapping[str, str],
        truth: tuple[str, ...],
        phases: Mapping[str, str],
        settings: str,
        chosen_by: str,
        iterations: int,
        closing: str,
        delegates: bool,
        waits_for_approval: bool,
        rests_empty: bool,
        tells_completion: bool,
        at_limit: str,
    ) -> None:
        # its plugin, and the action there that begins a loop and goes on with it; else `start` and `resume`
        self.plugin = plugin
        self.action = action
        # what its messages begin with, in words that public suites look for; else they name the loop
        self.voice = voice
        self.kind = kind
        # the name of each file by role. Some decide: the first is the loop's own, the last has the tasks
        self.files = files
        self.truth = truth
        # the phases before tasks are worked on, each with the document that it writes
        self.phases = phases
        # the file that can switch it off, where a pointer names the list
        self.settings = settings
        # the variable that names a list's folder, inside the project or not
        self.chosen_by = chosen_by
        # while nobody can count the tasks; 0 where that is always possible
        self.iterations = iterations
        # what closes a task by hand
        self.closing = closing
        # whether the work is handed to agents of the plugin
        self.delegates = delegates
        # whether a claim waits for its check to be approved; else it counts without it
        self.waits_for_approval = waits_for_approval
        # whether a list without tasks is left alone; else that is a failure
        self.rests_empty = rests_empty
        self.tells_completion = tells_completion
        self.at_limit = at_limit

    @property
    def own(self) -> str:
        return self.truth[0]

    @property
    def criteria(self) -> str:
        """The role of the file that has the tasks, and is pinned."""
        return self.truth[-1]

    def typed(self, action: str) -> str:
        """What the person types in the client."""
        return "/%s:%s" % (self.plugin, action)

"""What a layout of task lists is like: everything by which one differs from another, as values."""

from __future__ import annotations

from ralphloop.domain.model import Fields

# at a limit: a message, one last turn to write down where it stands, or a line in the log
TELL, RECOVER, LOG = "tell", "recover", "log"


class Traits(Fields):
    """The traits of one layout; its module says all of them."""

    plugin: str
    action: str  # of the plugin: begins a loop and goes on with it; empty: `start` and `resume` do
    voice: str  # what messages begin with, as public suites look for; empty: they name the loop
    kind: str  # what people call one such list
    files: dict[str, str]  # their names by role
    truth: tuple[str, ...]  # the roles that decide: the first is the loop's own, the last has the tasks
    phases: dict[str, str]  # before tasks are worked on, each with the document that it writes
    settings: str  # the file that can switch it off, where a pointer names the list
    chosen_by: str  # the variable that names a list's folder, inside the project or not
    iterations: int  # while nobody can count the tasks; 0 where that is always possible
    closing: str  # what closes a task by hand
    delegates: bool  # the work is handed to agents of the plugin
    waits_for_approval: bool  # a claim waits until its check may run; else it counts without
    rests_empty: bool  # a list without tasks is left alone; else that is a failure
    tells_completion: bool
    at_limit: str

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

"""Every exception class of ours; `errors` is the door to them.

RalphloopError
├── UserError                   the message says what to do next
│   ├── AgentStartError
│   │   └── GuardianLostError
│   ├── CommitError
│   │   └── RefusedError        cure
│   ├── ConfigError             is a ValueError as well
│   ├── DemoError
│   ├── UnapprovedError         commands, already, askable, doubts
│   └── UsageError
├── BusyError
├── GitError
│   └── SlowError
├── NewerError                  is an OSError as well
├── NoLocksError                is an OSError as well
├── NotSentError
├── ProtectedChangedError       is an OSError as well
├── SettingsChangedError
├── StartError                  what, number
├── TakenError                  record
└── LabError                    of what tries out hooks and agents
    ├── CaseError
    │   └── EntryError          table, number, key
    ├── SceneError
    ├── ScriptError             is a ValueError as well
    └── TooMuchError
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ralphloop.store.shelf import Record


class RalphloopError(Exception):
    """Whatever we raise ourselves; it may pass from one process to another."""

    def __reduce__(self) -> tuple[Any, ...]:
        told = {name: getattr(self, name, None) for name in ("errno", "strerror", "filename")}
        told = {name: value for name, value in told.items() if value is not None}
        return _made_again, (self.__class__, self.args), {**told, **self.__dict__}


def _made_again(kind: type[RalphloopError], args: tuple[Any, ...]) -> RalphloopError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class UserError(RalphloopError):
    """This cannot be done, for a reason that the person can act on; a command's exit code is then 1."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class AgentStartError(UserError):
    """The agent's client could not be started."""


class GuardianLostError(AgentStartError):
    """The process that was to watch over the client is gone; another one may do better."""


class CommitError(UserError):
    """No commit can be made; the message says why, and to a person what to do."""


class RefusedError(CommitError):
    """The work tree is not as it must be, which who works in it can put right: `cure` says how."""

    def __init__(self, why: str, cure: str) -> None:
        super().__init__(why)
        self.cure = cure


class ConfigError(UserError, ValueError):
    """A setting that cannot hold; the message names its place."""


class DemoError(UserError):
    """Why the demo cannot go on."""


class UnapprovedError(UserError):
    """Nothing was done, because the person has not allowed these commands."""

    def __init__(
        self,
        message: str,
        *,
        commands: tuple[str, ...],
        already: int,
        askable: bool,
        doubts: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.commands = commands
        self.already = already  # so many more were approved before
        self.askable = askable  # not inside an agent's client
        self.doubts = doubts  # about the list that they stand in


class UsageError(UserError):
    """The words of the command line cannot be meant; its exit code is 2."""


class BusyError(RalphloopError):
    """Somebody else held the lock until the deadline."""


class GitError(RalphloopError):
    """Git said no; the message is the last thing that it said."""


class SlowError(GitError):
    """It did not come to an end in time."""


class NewerError(RalphloopError, OSError):
    """A loop whose state says what only a newer version knows: nothing of it is changed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the loop {name} was written by a newer version of ralphloop; upgrade this one")


class NoLocksError(RalphloopError, OSError):
    """The file system of this path has no locks, so that nothing can be kept there."""


class NotSentError(RalphloopError):
    """The message did not reach anybody; the text says why, and holds no address or token."""


class ProtectedChangedError(RalphloopError, OSError):
    """A protected file changed after it was looked at."""

    def __init__(self) -> None:
        super().__init__("a protected file changed while it was looked at; try again")


class SettingsChangedError(RalphloopError):
    """Another program changed the file between our look at it and our write."""


class StartError(RalphloopError):
    """What kept a program from starting: the folder or the program, and the system's number for why."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(what, number)
        self.what = what
        self.number = number


class TakenError(RalphloopError):
    """The task list, or the session, has a loop already."""

    def __init__(self, record: Record) -> None:
        super().__init__(record.id)
        self.record = record


class LabError(RalphloopError):
    """What a trial was given cannot be tried."""


class CaseError(LabError):
    """A file that is no case: where, and what is wrong with it."""


class EntryError(CaseError):
    """What is wrong in a catalogue's file, and where: the table, which of several of its name, the key."""

    def __init__(self, what: str, *, table: str = "", number: int = 0, key: str = "") -> None:
        super().__init__(what)
        self.table, self.number, self.key = table, number, key


class SceneError(LabError):
    """A case that cannot be set up as it says."""


class ScriptError(LabError, ValueError):
    """A script file that says something no reply can mean."""


class TooMuchError(LabError):
    """A process wrote more than its limit."""

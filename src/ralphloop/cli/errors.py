"""The errors that a command expects: each one says what to do next."""

from __future__ import annotations


class UserError(Exception):
    """The command cannot do this, for a reason that the person can act on; exit code 1."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnapprovedError(UserError):
    """Nothing was done, because the person has not allowed these commands."""

    def __init__(self, message: str, *, commands: tuple[str, ...], already: int, askable: bool) -> None:
        super().__init__(message)
        self.commands = commands
        self.already = already  # so many more were approved before
        self.askable = askable  # not inside an agent's client

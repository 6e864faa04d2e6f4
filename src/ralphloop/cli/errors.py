"""The errors that a command expects: each one says what to do next."""

from __future__ import annotations


class UserError(Exception):
    """The command cannot do this, for a reason that the person can act on; exit code 1."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

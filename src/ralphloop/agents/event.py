"""What a client reports of a session in its output, as far as a supervisor judges by it."""

from __future__ import annotations

from typing import NamedTuple, Union


class Limit(NamedTuple):
    """How the account stands: `allowed`, `allowed_warning` or `rejected`, and until when (Unix time)."""

    status: str
    resets_at: float | None


class Result(NamedTuple):
    """The end of a turn; background work may wake the session, and there is another one then.

    Cost and tokens count from the session's beginning. The subtype of an API error is `success`, so judge
    by `is_error` and `terminal_reason`.
    """

    is_error: bool
    subtype: str
    terminal_reason: str
    api_error_status: int | None
    text: str
    cost_usd: float
    tokens: int
    errors: tuple[str, ...]


class Retry(NamedTuple):
    """A request that the service refused, and that the client is about to send again."""

    attempt: int  # of this request, from 1
    status: int | None
    error: str

    @property
    def refuses_login(self) -> bool:
        return self.status == 401 or self.error == "authentication_failed"


Event = Union[Limit, Result, Retry]  # noqa: UP007 - evaluated, and Python 3.9 may be the one that does

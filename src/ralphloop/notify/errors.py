"""What a way of telling raises when it could not."""

from __future__ import annotations


class NotSentError(Exception):
    """The message did not reach anybody; the text says why, and holds no address or token."""

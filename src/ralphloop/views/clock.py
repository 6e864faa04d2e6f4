"""Moments as the person's own clock shows them."""

from __future__ import annotations

import time


def local(seconds: float, shape: str = "%Y-%m-%d %H:%M:%S") -> str:
    return time.strftime(shape, time.localtime(seconds))

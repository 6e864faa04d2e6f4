"""How often a test tries its luck: `make soak` sets RALPHLOOP_SOAK and takes the long way."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("RALPHLOOP_SOAK"))


def rounds(usual: int, *, soak: int) -> int:
    return soak if SOAK else usual

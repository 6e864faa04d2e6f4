"""The layouts by name, for tests that are about one of them."""

from __future__ import annotations

from ralphloop.tasklists.registry import LAYOUTS

FEATURES, SPECUM, SPECKIT, *_ = LAYOUTS

"""What `doctor` finds: one line each, with what to do, and how it can be put right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FINE, WARNING, FATAL = "fine", "warning", "fatal"
MARKS = {FINE: "✓", WARNING: "!", FATAL: "✗"}


@dataclass(frozen=True)
class Repair:
    """What `--fix` can do about a finding."""

    question: str
    apply: Callable[[], str]  # does it, and says what was done


@dataclass(frozen=True)
class Finding:
    name: str
    level: str
    told: str
    fix: str = ""
    repair: Repair | None = None

    @property
    def line(self) -> str:
        then = f". {self.fix}." if self.fix else ""
        return f"{MARKS[self.level]} {self.name}: {self.told}{then}"

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "level": self.level, "told": self.told, "fix": self.fix}

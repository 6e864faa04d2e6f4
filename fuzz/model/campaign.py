"""Runs the model of a loop's life for so many seconds, layout by layout, and keeps what it finds as text."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS = 40
EXAMPLES = 50  # between two looks at the clock


def main() -> int:
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description="Run the model of a loop's life.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--findings", type=Path, required=True)
    parser.add_argument("--layout", action="append")
    parser.add_argument("--raw", action="store_true", help="show a finding as it came, which is faster")
    args = parser.parse_args()
    count, found = run(args.seconds, args.findings, layouts=args.layout, is_raw=args.raw)
    print(f"executions: {count}")
    return 1 if found else 0


def run(
    seconds: float, findings: Path, *, layouts: list[str] | None = None, is_raw: bool = False
) -> tuple[int, int]:
    """How many lives were lived, and in how many of them something was wrong."""
    from fuzz.model.machine import life_of
    from ralphloop.tasklists.registry import LAYOUTS

    end = time.monotonic() + seconds
    count = found = 0
    machines = [life_of(layout) for layout in layouts or LAYOUTS]
    while time.monotonic() < end and not found:
        for machine in machines:
            count += EXAMPLES
            told = _live(machine, is_raw=is_raw)
            if told:
                found += 1
                place = findings / f"{machine.layout}-{time.time_ns()}.txt"
                place.write_text(told)
                print(told[-6000:])
    return count, found


def _live(machine: type, *, is_raw: bool = False) -> str:
    """What went wrong in some lives; empty if nothing did."""
    try:
        live(machine, lives=EXAMPLES, steps=STEPS, is_raw=is_raw)
    except Exception:
        return traceback.format_exc()
    return ""


def live(machine: type, *, lives: int, steps: int, is_raw: bool, is_random: bool = True) -> None:
    """Live some lives; what goes wrong is made smaller first, unless it is wanted raw."""
    import hypothesis
    from hypothesis.stateful import run_state_machine_as_test

    settings = hypothesis.settings(
        phases=[hypothesis.Phase.generate] if is_raw else list(hypothesis.Phase),
        max_examples=lives,
        stateful_step_count=steps,
        derandomize=not is_random,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(machine, settings=settings)


if __name__ == "__main__":
    sys.exit(main())

"""The long proof: faults, kills, load and fuzz, one after the other; exit code 1 if anything went wrong.

python soak/run.py                   everything, about seven hours
python soak/run.py --only load       one part; faults, kills, load, fuzz
python soak/run.py --share 0.1       a tenth of it, but all of kills and at least 100 faults
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
KILLS = (
    "tests/e2e/test_run_kills.py",
    "tests/e2e/test_run_money.py",
    "tests/hook/test_commits_killed.py",
    "tests/hook/test_approval_race.py",
    "tests/faults/test_random_kills.py",
    "tests/unit/runner/test_left_behind.py",
    "tests/e2e/test_wake_in_client.py",
    "tests/e2e/test_loop_in_client.py",
    "tests/e2e/test_interrupts.py",
)
FAULT_POINTS, FEWEST_POINTS, LOAD_MINUTES, FUZZ_S = 10_000, 100, 10.0, 3600

Result = tuple[int, dict[str, Any]]


def faults(share: float) -> Result:
    return with_figures("soak/faults.py", "--points", str(max(FEWEST_POINTS, int(FAULT_POINTS * share))))


def load(share: float) -> Result:
    return with_figures("benchmarks/load.py", "--minutes", str(LOAD_MINUTES * share))


def fuzz(share: float) -> Result:
    return with_figures("fuzz/run.py", "--seconds", str(int(FUZZ_S * share)))


def kills(share: float) -> Result:
    """The tests that try their luck, with as many rounds as they are worth; a share has no meaning here."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--timeout", "1200", *KILLS]
    done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, "RALPHLOOP_SOAK": "1"})
    return done.returncode, {}


def with_figures(script: str, *options: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, str(REPOSITORY / script), *options, "--json", str(file)]
        code = subprocess.run(command, cwd=REPOSITORY).returncode
        return code, json.loads(file.read_text()) if file.exists() else {}


PARTS: dict[str, Callable[[float], Result]] = {"faults": faults, "kills": kills, "load": load, "fuzz": fuzz}


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="S", help="of faults, load, fuzz (default: 1)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    args = parser.parse_args()
    if not 0 < args.share <= 100:
        parser.error("--share: a number above 0, at most 100")
    figures, codes = {}, {}
    for name in args.only or PARTS:
        begun = time.monotonic()
        print(f"== {name} ==", flush=True)
        codes[name], found = PARTS[name](args.share)
        figures[name] = {**found, "seconds": round(time.monotonic() - begun), "exit_code": codes[name]}
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    for name, code in codes.items():
        print(f"{name:<8}{'held' if code == 0 else 'FAILED':<8}{figures[name]['seconds']:>6} s")
    return 1 if any(codes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs one target under atheris: its name, then the arguments of libFuzzer; `run.py` starts it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    import atheris  # type: ignore[import-untyped]

    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["ralphloop"]):
        from fuzz import targets

        run = targets.load(sys.argv[1])
    atheris.Setup([sys.argv[0], *sys.argv[2:]], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

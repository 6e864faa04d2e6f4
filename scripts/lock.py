"""Writes the locks: every package that a developer or a user installs, by version and digest.

python scripts/lock.py              lock what pyproject.toml asks for; a version that still fits stays
python scripts/lock.py --upgrade    take the newest versions that fit

One resolution for every Python that is supported. It needs uv, beside this Python or on PATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "requirements"
LOWEST = "3.10"
INDEX = "https://pypi.org/simple"
LOCKS: dict[str, list[str]] = {"runtime.txt": [], "dev.txt": ["--group", "dev"]}
HEAD = """\
# {what}.
# Written by scripts/lock.py, looked over by scripts/audit_lock.py.
# pip install --require-hashes -r requirements/{name}
"""
WHAT = {
    "runtime.txt": "What `ralphloop` needs at run time",
    "dev.txt": "What working on ralphloop needs: the run time, the tests, and what builds the wheel",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit")
    args = parser.parse_args()
    program = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if program is None:
        print("lock: no uv; `make .venv/.ready`, then .venv/bin/python scripts/lock.py.", file=sys.stderr)
        return 1
    for name, groups in LOCKS.items():
        write(program, name, groups, upgrade=args.upgrade)
        print(f"requirements/{name} is written.")
    return 0


def write(program: str, name: str, groups: list[str], *, upgrade: bool) -> None:
    """Nothing of this machine is in it: no index, no path, no setting of the person's."""
    place = FOLDER / name
    words = [
        program, "pip", "compile", "pyproject.toml", *groups, "--universal", "--python-version", LOWEST,
        "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-config", "--quiet",
        "--default-index", INDEX, "--constraint", "requirements/constraints.txt",
        "--output-file", str(place), *(["--upgrade"] if upgrade else []),
    ]  # fmt: skip
    env = {key: value for key, value in os.environ.items() if not key.startswith(("UV_", "PIP_"))}
    subprocess.run(words, cwd=ROOT, env=env, check=True)
    place.write_text(HEAD.format(what=WHAT[name], name=name) + place.read_text("utf-8"), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

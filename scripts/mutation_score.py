"""How many small changes of `domain` its own tests notice. Exit code 1 below 85 of 100.

python scripts/mutation_score.py               change, test, print the score of each module
python scripts/mutation_score.py --survivors   the same, and show each change that no test noticed
python scripts/mutation_score.py --work DIR    keep the copy in DIR; the next run tries only what survived
python scripts/mutation_score.py decide        only these modules, without a verdict

mutmut changes one thing in one function at a time and runs the tests of `tests/unit/domain` that reach it.
What no test reaches counts as survived, what runs into the time limit as noticed. Constants of modules and
classes are not changed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 85.0
SURVIVED, UNTESTED = 0, 33  # what mutmut notes of a change that its tests did not see, or did not reach

SETTINGS = """
[tool.pytest.ini_options]
addopts = ["--import-mode=importlib", "-p", "no:cacheprovider"]
filterwarnings = ["error"]
pythonpath = ["tests"]

[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/ralphloop/domain/*"]
pytest_add_cli_args_test_selection = ["tests/unit/domain"]
use_git_change_detection = false
"""

# mutmut 3.8 asks a test for an attribute that pytest 9.2 no longer has.
CONFTEST = """
from _pytest.nodes import Node

if not hasattr(Node, "_nodeid"):
    Node._nodeid = property(lambda node: node.nodeid)
"""


class Score(NamedTuple):
    """The changes of one module: how many there were, and those that no test noticed."""

    module: str
    total: int
    survivors: list[str]
    unknown: int

    @property
    def percent(self) -> float:
        return 100.0 * (self.total - len(self.survivors)) / self.total if self.total else 100.0


class Copy:
    """A copy of the package and its tests in which mutmut works."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.mutants = folder / "mutants/src/ralphloop/domain"

    def make(self) -> None:
        """Lay the present files out; what an earlier run found killed stays so as long as its source does."""
        junk = shutil.ignore_patterns("__pycache__")
        for part in ("src/ralphloop", "tests/unit/domain"):
            shutil.rmtree(self.root / part, ignore_errors=True)
            shutil.copytree(ROOT / part, self.root / part, ignore=junk)
        (self.root / "pyproject.toml").write_text(SETTINGS)
        (self.root / "tests/conftest.py").write_text(CONFTEST)
        for path, data in self._found():
            codes = data["exit_code_by_key"]
            data["exit_code_by_key"] = {
                name: None if code in (SURVIVED, UNTESTED) else code for name, code in codes.items()
            }
            path.write_text(json.dumps(data))

    def run(self, modules: Iterable[str], *, jobs: int) -> int:
        """Let mutmut work. It is told that nobody watches: its display would be all that is seen."""
        only = [f"ralphloop.domain.{module}.*" for module in modules]
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        words = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs), *only]
        with (self.root / "mutmut.log").open("w") as log:
            code = subprocess.run(words, cwd=self.root, env=env, stdout=log, stderr=log).returncode
        if code:
            print((self.root / "mutmut.log").read_text()[-4000:], file=sys.stderr)
        return code

    def scores(self) -> Iterator[Score]:
        for path, data in self._found():
            codes = data["exit_code_by_key"]
            survivors = [name for name, code in codes.items() if code in (SURVIVED, UNTESTED, None)]
            unknown = sum(code is None for code in codes.values())
            yield Score(path.name.partition(".")[0], len(codes), survivors, unknown)

    def _found(self) -> Iterator[tuple[Path, dict[str, dict[str, int | None]]]]:
        for path in sorted(self.mutants.glob("*.py.meta")):
            yield path, json.loads(path.read_text())

    def changes(self, score: Score) -> Iterator[str]:
        """Each change that survived, as the line that it makes."""
        bodies = {}
        for node in ast.walk(ast.parse((self.mutants / f"{score.module}.py").read_text())):
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = []
                bodies[node.name] = ast.unparse(node).splitlines()
        for survivor in score.survivors:
            name = survivor.rpartition(".")[2]
            before = bodies.get(name.rpartition("__mutmut_")[0] + "__mutmut_orig", [])
            made = [line for line in difflib.ndiff(before, bodies.get(name, [])) if line.startswith("+ ")]
            said = [line[2:].strip() for line in made if f"def {name}" not in line] or made
            yield f"{name}: {' '.join(said)}"


def report(copy: Copy, *, survivors: bool) -> tuple[float, int]:
    """Print a table; the score of all of it, and how many changes nobody has tried."""
    found = [score for score in copy.scores() if score.total]
    for score in found:
        print(
            f"{score.module:14} {score.percent:6.1f} %  {len(score.survivors):4} of {score.total:4} survived"
        )
        if survivors:
            for change in copy.changes(score):
                print(f"    {change}")
    total, left = sum(score.total for score in found), sum(len(score.survivors) for score in found)
    whole = 100.0 * (total - left) / total if total else 0.0
    print(f"{'domain':14} {whole:6.1f} %  {left:4} of {total:4} survived, at least {LIMIT:.0f} %")
    return whole, sum(score.unknown for score in found)


def main() -> int:
    parser = argparse.ArgumentParser(description="The mutation score of the domain.")
    parser.add_argument("modules", nargs="*", help="only these, without a verdict")
    parser.add_argument("--survivors", action="store_true", help="show what no test noticed")
    parser.add_argument("--work", metavar="DIR", type=Path, help="keep the copy here")
    parser.add_argument("--jobs", metavar="N", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Copy((options.work or Path(scratch)).resolve())
        copy.root.mkdir(parents=True, exist_ok=True)
        copy.make()
        code = copy.run(options.modules, jobs=options.jobs)
        whole, unknown = report(copy, survivors=options.survivors)
    if options.modules:
        return code
    if code or unknown:
        print(f"mutmut did not finish: {unknown} changes were not tried.", file=sys.stderr)
        return 1
    return 0 if whole >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())

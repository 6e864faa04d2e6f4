"""Branch coverage with every process that the tests start: hooks, keepers, supervisors. Exit code 1 below the
limits, or if a test fails while it is measured.

python scripts/branch_coverage.py                  run the tests, report each folder of the package
python scripts/branch_coverage.py --missing        the same, and name the lines and branches that no test took
python scripts/branch_coverage.py --work DIR       keep the copy and its data in DIR; a second run adds to it
python scripts/branch_coverage.py --client         also the tests in the real client
python scripts/branch_coverage.py tests/unit       only these tests, without a verdict

The tests run in a copy of the repository. In it, each interpreter starts measuring by itself: those that read
site-packages by a `.pth` file, those that do not (`-I -S`) by a statement on the first line of their script.
So no environment, no interpreter and no line number differs from a run without it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import coverage

ROOT = Path(__file__).resolve().parents[1]
# The budget tests look at what a hook imports, so they must not meet what measures it.
TESTS = ("tests/unit", "tests/contract", "tests/hook", "tests/faults", "tests/security", "tests/e2e")
# What only readers see, what a bundle leaves out, and what no test on this system can reach.
EXCLUDED = (
    "if TYPE_CHECKING:",
    "from __future__ import",
    "# Windows",
    'if sys.platform == "win32":',
    "def .*_on_windows",
)
LEFT_BEHIND = (".venv", ".cache", "__pycache__", ".*_cache", "mutants", "dist", "build")
# Started as scripts by an interpreter that reads no site-packages.
SCRIPTS = ("hook/launch.py", "proof/keeper.py", "runner/guardian.py", "__main__.py")
# They look at what such a script imports, at the bytes of our files, or at the clock.
DISTURBED = (
    "tests/unit/plugins/test_versions.py",
    "tests/unit/proof/test_keeper.py::test_a_keeper_starts_with_little",
    "tests/hook/test_failures_state.py::test_f49_the_hook_is_quick",
    "tests/hook/test_document3.py::test_row_race_a_fresh_state_costs_no_sleep",
    "tests/hook/test_bad_texts.py::test_a_list_of_many_tasks_is_answered_shortly",
)
HOT = ("domain", "tasklists", "store", "engine", "hook")
HOT_LIMIT, LIMIT = 95.0, 85.0

# A script that is under way is not measured, only what it calls: so it is run once more, from its first line.
# Where nothing can be measured, as in a folder that is gone, it just runs.
MEASURE = """
import sys
sys.measured_by = None
sys.path.append({packages!r})
try:
    import coverage
    sys.measured_by = coverage.Coverage(config_file={config!r}, data_suffix=True, auto_data=True)
    sys.measured_by.start()
except OSError:
    pass
sys.path.remove({packages!r})
if sys.measured_by and __name__ == "__main__":
    exec(compile(open(__file__).read(), __file__, "exec"), globals())
    sys.exit()
"""


class Share(NamedTuple):
    """How much of something was taken: lines and branches together."""

    taken: int
    total: int

    @property
    def percent(self) -> float:
        return 100.0 * self.taken / self.total if self.total else 100.0

    def __add__(self, other: object) -> Share:
        assert isinstance(other, Share)
        return Share(self.taken + other.taken, self.total + other.total)


class Copy:
    """A copy of the repository whose interpreters measure what they run."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.config = folder / "coverage.toml"
        self.python = self.root / ".venv/bin/python"
        self._statement = folder / "measure.py"

    def make(self) -> None:
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
        packages = sysconfig.get_path("purelib")
        self.config.write_text(self._settings())
        self._statement.write_text(MEASURE.format(packages=packages, config=str(self.config)))
        for script in SCRIPTS:
            _prepend(self.root / "src/ralphloop" / script, self._line())
        venv.create(self.root / ".venv", symlinks=True)
        (site,) = (self.root / ".venv").glob("lib/python*/site-packages")
        # The first lines are folders; one that begins with `import` is run.
        (site / "measured.pth").write_text(f"{self.root}/src\n{packages}\nimport sys; {self._line()}\n")
        command = self.python.with_name("ralphloop")
        command.write_text(
            f"#!{self.python}\nimport sys; from ralphloop.entry import entry; sys.exit(entry())\n"
        )
        command.chmod(0o755)
        (self.root / ".cache").symlink_to(ROOT / ".cache")

    def _line(self) -> str:
        begun = "'measured_by' in __import__('sys').__dict__"
        return f"{begun} or exec(open({str(self._statement)!r}).read())"

    def _settings(self) -> str:
        quiet = ("no-data-collected", "module-not-measured", "module-not-imported", "already-imported")
        return (
            f"[tool.coverage.run]\nbranch = true\nparallel = true\npatch = ['_exit', 'execv']\n"
            f"include = ['{self.root}/src/ralphloop/*']\ndata_file = '{self.config.parent}/data/found'\n"
            f"disable_warnings = {list(quiet)!r}\n"
            f"[tool.coverage.report]\nexclude_also = {list(EXCLUDED)!r}\n"
        )

    def run(self, tests: Iterable[str], options: Iterable[str], *, client: bool) -> int:
        (self.config.parent / "data").mkdir(exist_ok=True)
        present = [test for test in tests if (self.root / test.partition("::")[0]).exists()]
        words = ["-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
        words += [] if client else ["-m", "not client"]
        words += [f"--deselect={test}" for test in DISTURBED]
        argv = [str(self.python), *words, *options, *present]
        return subprocess.run(argv, cwd=self.root, env=_environment()).returncode

    def combine(self) -> coverage.Coverage:
        found = coverage.Coverage(config_file=str(self.config))
        whole = [str(path) for path in (self.config.parent / "data").glob("found.*") if _is_whole(path)]
        found.combine(whole, keep=True)
        found.load()
        return found


def _is_whole(path: Path) -> bool:
    """Tests kill what they started: some of it while it wrote down what it had measured."""
    try:
        coverage.CoverageData(str(path)).read()
    except coverage.exceptions.CoverageException:
        return False
    return not path.name.endswith("-journal")


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}


def _prepend(path: Path, statement: str) -> None:
    """Put a statement behind what must come first, on the same line: no line gets another number."""
    text = path.read_text()
    first = 0
    for node in ast.parse(text).body:
        opens = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (opens or (isinstance(node, ast.ImportFrom) and node.module == "__future__")):
            break
        first = node.end_lineno or 0
    lines = text.splitlines()
    lines[first - 1] += "; " + statement
    path.write_text("\n".join(lines) + "\n")


def shares(found: coverage.Coverage, package: Path) -> Iterator[tuple[str, Share, str]]:
    """Each file of the package with what was taken of it, and what was not."""
    with tempfile.NamedTemporaryFile("w+") as text:
        found.json_report(morfs=sorted(map(str, package.rglob("*.py"))), outfile=text.name)
        files = json.load(text)["files"]
    for name, file in files.items():
        told = file["summary"]
        taken = told["covered_lines"] + told["covered_branches"]
        gaps = [*map(str, file["missing_lines"]), *(f"{a}->{b}" for a, b in file["missing_branches"])]
        path = Path(name).resolve().relative_to(package)
        yield str(path), Share(taken, told["num_statements"] + told["num_branches"]), " ".join(gaps)


def report(found: coverage.Coverage, package: Path, *, missing: bool) -> bool:
    """Print a table of folders, and say whether each of the two parts is above its limit."""
    folders: dict[str, Share] = {}
    for name, share, gaps in shares(found, package):
        folder = name.partition("/")[0] if "/" in name else "."
        folders[folder] = folders.get(folder, Share(0, 0)) + share
        if missing and gaps:
            print(f"{name:44} {share.percent:6.1f} %  {gaps}")
    for folder, share in sorted(folders.items()):
        print(f"{folder:44} {share.percent:6.1f} %")
    hot = [folders[folder].percent for folder in HOT]
    rest = sum((share for folder, share in folders.items() if folder not in HOT), Share(0, 0)).percent
    print(f"{'the lowest of ' + ', '.join(HOT):44} {min(hot):6.1f} %, at least {HOT_LIMIT:.0f} %")
    print(f"{'the rest':44} {rest:6.1f} %, at least {LIMIT:.0f} %")
    return min(hot) >= HOT_LIMIT and rest >= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description="Branch coverage of the package, per folder.")
    parser.add_argument("tests", nargs="*", help="what to run instead of everything that needs no client")
    parser.add_argument("--missing", action="store_true", help="name what no test took")
    parser.add_argument("--client", action="store_true", help="also the tests in the real client")
    parser.add_argument("--work", metavar="DIR", type=Path, help="keep the copy and its data here")
    parser.add_argument(
        "--pytest", metavar="OPTION", action="append", default=[], help="one option for pytest"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Copy((options.work or Path(scratch)).resolve())
        copy.config.parent.mkdir(parents=True, exist_ok=True)
        if not copy.root.exists():
            copy.make()
        code = copy.run(options.tests or TESTS, options.pytest, client=options.client)
        good = report(copy.combine(), copy.root / "src/ralphloop", missing=options.missing)
    if code:
        print("Some tests failed while they were measured; see above.", file=sys.stderr)
    return 0 if not code and (options.tests or good) else 1


if __name__ == "__main__":
    sys.exit(main())

"""The command `make fuzz`: each target for so many seconds, and what was found."""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fuzz import targets  # noqa: E402 - the folder above is not on the path of a script

HERE = Path(__file__).resolve().parent
MODEL = "life"
NAMES = (*targets.NAMES, MODEL)
LONGEST_S = 25  # of one input; a target that needs longer hangs
INPUT_MAX = 4096
MARGIN_S = 120.0
SHRINKING_S = 600.0
CORPUS_MOST = 40
FOUND = re.compile(r"[0-9a-f]{16,40}")  # how an input is called that was found, and not written
MEMORY_MB = 4096
LOG = "last.log"


class Outcome(NamedTuple):
    """What one target came to; `findings` are what it wrote, seen before or not."""

    name: str
    code: int
    executions: int
    edges: int
    seconds: float
    findings: list[Path]

    @property
    def is_fine(self) -> bool:
        return not self.code and self.executions > 0 and not self.findings


def main() -> int:
    args = _parser().parse_args()
    missing = _missing([] if args.replay else args.target or NAMES)
    if missing:
        print(f"{sys.executable} has no {', '.join(missing)}: run it with .venv/bin/python, which "
              "`make demo` sets up (atheris is for Linux).", file=sys.stderr)  # fmt: skip
        return 2
    if args.replay:
        return _replay(args.target[0] if args.target else "", args.replay)
    wanted = args.target or list(NAMES)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(lambda name: _run(name, args.seconds, grows=args.grow), wanted))
    _show(outcomes)
    if args.json:
        args.json.write_text(json.dumps(_figures(outcomes), indent=2) + "\n")
    return 0 if all(outcome.is_fine for outcome in outcomes) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fuzz/run.py", description="Fuzz ralphloop.")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target (default: 60)")
    parser.add_argument("--target", action="append", choices=NAMES, help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="targets at once (default: 2)")
    parser.add_argument("--replay", metavar="FILE", type=Path, help="run one input of --target, and no more")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here")
    parser.add_argument("--grow", action="store_true", help="take what adds coverage into the corpus")
    return parser


def _missing(wanted: Sequence[str]) -> list[str]:
    """What this interpreter lacks to run them; to replay an input, the package is enough."""
    needed = ["ralphloop", *({"hypothesis" if name == MODEL else "atheris": None for name in wanted})]
    return [name for name in needed if importlib.util.find_spec(name) is None]


def _run(name: str, seconds: float, *, grows: bool) -> Outcome:
    print(f"{name}: {seconds:.0f} s …", flush=True)
    begun = time.monotonic()
    findings = HERE / "findings" / name
    findings.mkdir(parents=True, exist_ok=True)
    known = _written(findings)
    if name == MODEL:
        code, log, edges = *_run_model(seconds, findings), 0
        told = re.search(r"executions: (\d+)", log)
        executions = int(told[1]) if told else 0
    else:
        code, log = _run_target(name, seconds, findings, grows=grows)
        executions, edges = _reached(log)
    if code or not executions:
        (findings / LOG).write_text(log[-20_000:])
    new = sorted(path for path, at in _written(findings).items() if known.get(path) != at)
    return Outcome(name, code, executions, edges, time.monotonic() - begun, new)


def _written(findings: Path) -> dict[Path, int]:
    """When each finding was written: one that is found again is written again, under the same name."""
    return {path: path.stat().st_mtime_ns for path in findings.iterdir() if path.name != LOG}


def _run_target(name: str, seconds: float, findings: Path, *, grows: bool) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="ralphloop-corpus-") as found:
        time_s = max(1, round(seconds))  # 0 would be no limit
        options = [f"-max_total_time={time_s}", f"-timeout={LONGEST_S}", f"-max_len={INPUT_MAX}",
                   f"-artifact_prefix={findings}/", f"-rss_limit_mb={MEMORY_MB}"]  # fmt: skip
        options.append(f"-dict={HERE / 'words.txt'}")
        code, log = _start([HERE / "drive.py", name, found, _corpus(name), *options], seconds + MARGIN_S)
        if not code and grows:
            _grow(name, found)
    return code, log


def _reached(log: str) -> tuple[int, int]:
    """How many executions and edges libFuzzer tells of."""
    seen = [line.split() for line in log.splitlines() if re.match(r"#\d+\s", line)]
    executions = max((int(line[0][1:]) for line in seen), default=0)
    edges = max((int(line[line.index("cov:") + 1]) for line in seen if "cov:" in line), default=0)
    return executions, edges


def _start(arguments: Sequence[str | Path], longest_s: float) -> tuple[int, str]:
    """A Python program with a home of its own; its exit code and what it said."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory(prefix="ralphloop-home-") as home:
        try:
            done = subprocess.run([sys.executable, *map(str, arguments)], env={**env, "HOME": home}, cwd=ROOT,
                                  capture_output=True, timeout=longest_s, check=False)  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return 1, f"did not end in time\n{(late.stderr or b'').decode('utf-8', 'replace')}"
        finally:
            _sweep()
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def _sweep() -> None:
    """Scratch folders of targets that ended without cleaning up: libFuzzer leaves by `_exit`."""
    for folder in ("/dev/shm", tempfile.gettempdir()):
        for left in Path(folder).glob("ralphloop-fuzz-*"):
            if time.time() - left.stat().st_mtime > 3600:
                shutil.rmtree(left, ignore_errors=True)


def _run_model(seconds: float, findings: Path) -> tuple[int, str]:
    """A finding is made smaller before it is shown, which may take as long again."""
    options = [f"--seconds={seconds}", f"--findings={findings}"]
    return _start([HERE / "model" / "campaign.py", *options], seconds + SHRINKING_S + MARGIN_S)


def _corpus(name: str) -> Path:
    folder = HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _grow(name: str, found: str) -> None:
    """Take what reached more into the corpus: what has a name stays, and of the rest some of every size."""
    corpus = _corpus(name)
    named = [path for path in corpus.iterdir() if not FOUND.fullmatch(path.name)]
    new = sorted(Path(found).iterdir(), key=lambda path: path.stat().st_size)
    room = max(0, CORPUS_MOST - len(named))
    chosen = [new[at * len(new) // room] for at in range(room)] if len(new) > room else new
    for path in corpus.iterdir():
        if chosen and path not in named:
            path.unlink()
    for path in chosen:
        shutil.copy(path, corpus / path.name[:16])


def _replay(name: str, file: Path) -> int:
    if name == MODEL or not name:
        print("name the target with --target; a finding of the model is a text to read.", file=sys.stderr)
        return 2
    targets.load(name)(file.read_bytes())
    print(f"{file}: nothing wrong")
    return 0


def _figures(outcomes: list[Outcome]) -> dict[str, int]:
    counts = {f"{one.name}_executions": one.executions for one in outcomes}
    return {**counts, "findings": sum(len(one.findings) for one in outcomes)}


def _show(outcomes: list[Outcome]) -> None:
    print(f"{'target':<12}{'executions':>12}{'per second':>12}{'edges':>8}{'findings':>10}")
    for one in outcomes:
        rate = one.executions / max(one.seconds, 1.0)
        print(f"{one.name:<12}{one.executions:>12}{rate:>12.0f}{one.edges or '-':>8}{len(one.findings):>10}")
    for one in outcomes:
        for path in one.findings:
            shown = path.relative_to(ROOT)
            again = f"{sys.executable} fuzz/run.py --target {one.name} --replay {shown}"
            print(f"found by {one.name}: {shown}" + ("" if one.name == MODEL else f"\n  again: {again}"))
        if not one.is_fine and not one.findings:
            log = (HERE / "findings" / one.name / LOG).relative_to(ROOT)
            print(f"{one.name} did not run as it should: exit code {one.code}, see {log}")


if __name__ == "__main__":
    sys.exit(main())

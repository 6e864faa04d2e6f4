"""Measures what `docs/benchmarks.md` publishes, keeps it as `docs/benchmarks.json`, and writes the page.

python scripts/figures.py               the page out of what is kept
python scripts/figures.py --measure     everything measured anew (about ten minutes on a quiet machine)
python scripts/figures.py --soak FILE   with the figures of `make soak`, as it wrote them
python scripts/figures.py --check       1 if the page is not what the kept figures say
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
KEPT = REPOSITORY / "docs" / "benchmarks.json"
PAGE = REPOSITORY / "docs" / "benchmarks.md"
sys.path.append(str(REPOSITORY / "benchmarks"))

from registration import reference_argvs  # noqa: E402 - the folder is not on the path of a script

INTRODUCTION = """\
# Benchmarks

Made by `python scripts/figures.py` out of `{bench}`, `ralphloop conformance` and, where its figures
were given, `make soak`; kept in [benchmarks.json](benchmarks.json). A missed aim is shown as missed. Speed is
a ratio within one run: milliseconds belong to the machine, ratios mostly do not. What each section measures
is in [benchmarks](../benchmarks/README.md).
"""
MODES = {True: 'make bench BENCH="--quick"', False: "make bench"}
SKIPPED = """\
Skipped are cases of a layout that the hook does not serve, and those that need commands of its own. The two
others are `benchmarks/reference/hook.sh` and `hook.js`, the usual way to write such a hook. The last column
counts only cases that stand for something that went wrong for somebody: the rest asks what our documents ask.
"""
ELSEWHERE = """\
## Another tool

```
ralphloop conformance --hook 'bash your-hook.sh' --layout features
```

plays the public cases (`conformance/`, one file each) against any Stop hook: the table says what it got
wrong, and which clause or field report stands behind it. For the speed, put the hook's command line beside
the two in `benchmarks/registration.py` (`reference_argvs`) and run `make bench BENCH="--only stop"`: each
round runs every candidate once, and a wrong answer is no result.
"""


LIES = """\
`ralphloop conformance --lies` plays ways to reach `complete` without the work, each with a scripted agent,
some in three layouts. *Held* means that the loop did not end `complete`, *told* that a doubt names the task
or the file. The catalogue and what tells it were written together, so the figures say what is known, not
what an agent may think of next. How it fared with lies by people who had not read the code, at first sight
and later, stands [beside them](https://github.com/ralphloop/ralphloop/blob/main/tests/data/unseen/README.md).
"""
HONEST = {"clean": "must be without a doubt", "told": "may be told, never refused"}


def measure(*, quick: bool) -> dict[str, Any]:
    """The benchmarks, then the suite against our hook and the two that stand for the usual way."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        options = ["--json", str(file), *(["--quick"] if quick else [])]
        run([sys.executable, str(REPOSITORY / "benchmarks" / "run.py"), *options])
        bench = json.loads(file.read_text())
    played = {name: suite(options) for name, options in hooks().items()}
    return {"bench": bench, "conformance": played, "catalogues": catalogues()}


def hooks() -> dict[str, list[str] | None]:
    """The suite's options for each hook; None where the machine lacks a program that the hook needs."""
    others = {
        name: ["--hook", shlex.join(argv), "--layout", "features"] if argv else None
        for name, argv in reference_argvs().items()
    }
    return {"ralphloop": [], **others}


def suite(options: list[str] | None) -> dict[str, Any] | None:
    if options is None:
        return None
    command = [sys.executable, "-m", "ralphloop", "conformance", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    found = json.loads(done.stdout)
    reports = [case["result"] for case in found["cases"] if is_report(case)]
    counts = {name: found[name] for name in ("passed", "failed", "skipped", "total")}
    return {**counts, "reports": {name: reports.count(name) for name in ("passed", "failed")}}


def catalogues() -> dict[str, dict[str, Any]]:
    """What came of the lies and of the honest work, with what stays untold."""
    found = {}
    for name in ("lies", "honest"):
        command = [sys.executable, "-m", "ralphloop", "conformance", f"--{name}", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        told = json.loads(done.stdout)
        untold = [f"{one['title']} ({one['family']})" for one in told[name] if one["came"] == "untold"]
        found[name] = {"families": told["families"], "total": told["total"], "untold": untold}
    return found


def is_report(case: dict[str, Any]) -> bool:
    """Whether somebody met it in the field; what only a document of ours asks, another tool need not do."""
    return any(clause.startswith("failure ") for clause in case["stands_for"])


def run(command: list[str]) -> None:
    if subprocess.run(command).returncode:
        raise SystemExit(f"{' '.join(command)} found something wrong; nothing was written")


def page(kept: dict[str, Any]) -> str:
    bench = kept["bench"]
    load = ", ".join(f"{value:.1f}" for value in bench["load_average"])
    machine = f"{bench['cpus']} cores, Python {bench['python']}, load {load}, {bench['measured_at'][:10]}."
    introduction = INTRODUCTION.format(bench=MODES[bench["quick"]])
    parts = [introduction, f"Measured on {machine}\n", conformance(kept["conformance"])]
    parts += [lies(kept["catalogues"]["lies"]), honest(kept["catalogues"]["honest"])]
    parts += [section(one) for one in bench["sections"]]
    parts += [soak(name, figures) for name, figures in kept.get("soak", {}).items()]
    return "\n".join([*parts, ELSEWHERE])


def conformance(results: dict[str, dict[str, Any] | None]) -> str:
    rows = [
        [name, found["passed"], found["failed"], found["skipped"], share(found), share(found["reports"])]
        for name, found in results.items()
        if found
    ]
    missing = [f"{name} is not installed: left out.\n" for name, found in results.items() if not found]
    head = ["hook", "passed", "failed", "skipped", "of those played", "of reports from the field"]
    return f"## Correctness\n\n{table(head, rows)}\n{SKIPPED}{''.join(missing)}"


def lies(found: dict[str, Any]) -> str:
    """By family, and what nobody is told of."""
    rows = [[name.replace("-", " "), *row.values()] for name, row in sorted(found["families"].items())]
    all_of = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    told = table(["family", "held", "told", "untold"], [*rows, ["all", *all_of]])
    untold = "".join(f"- {title}\n" for title in found["untold"])
    return f"## Lies\n\n{LIES}\n{told}\nNeither held nor told:\n\n{untold}"


def honest(found: dict[str, Any]) -> str:
    rows = [[HONEST[name], *row.values()] for name, row in sorted(found["families"].items())]
    return f"## Honest work\n\n{table(['work', 'no doubt', 'told', 'refused'], rows)}"


def share(found: dict[str, int]) -> str:
    played = found["passed"] + found["failed"]
    return f"{100 * found['passed'] / played:.0f} %" if played else "–"


def section(found: dict[str, Any]) -> str:
    series = [
        [one["name"], f"{one['median_ms']:.2f}", f"{one['p95_ms']:.2f}", one["runs"]]
        for one in found["series"]
    ]
    figures = [
        [one["name"], f"{one['value']:.2f} {one['unit']}".strip(), aim(one["aim"]), one["verdict"]]
        for one in found["figures"]
    ]
    parts = [f"## {found['name']}\n"]
    if series:
        parts.append(table(["", "median ms", "p95 ms", "runs"], series))
    if figures:
        parts.append(table(["figure", "value", "aim", ""], figures))
    parts += [f"{note}.\n" for note in found["notes"]]
    return "\n".join(parts)


def aim(value: float | None) -> str:
    return "" if value is None else f"≤ {value:g}"


def soak(name: str, figures: dict[str, Any]) -> str:
    shown = {key: value for key, value in figures.items() if not isinstance(value, (list, dict))}
    rows = [[key.replace("_", " "), value] for key, value in shown.items()]
    return f"## Soak: {name}\n\n{table(['', ''], rows)}"


def table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="measure everything anew")
    parser.add_argument("--quick", action="store_true", help="with fewer rounds")
    parser.add_argument("--catalogues", action="store_true", help="play lies and honest work anew")
    parser.add_argument("--soak", type=Path, metavar="FILE", help="take the figures of a soak from here")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if args.measure:
        kept |= measure(quick=args.quick)
    if args.catalogues:
        kept["catalogues"] = catalogues()
    if args.soak:
        kept["soak"] = json.loads(args.soak.read_text())
    if args.check:
        return 0 if PAGE.read_text() == page(kept) else 1
    PAGE.write_text(page(kept))
    KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

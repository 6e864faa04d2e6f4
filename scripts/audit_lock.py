"""Looks the locks over: everything pinned and with a digest, nothing missing, nothing known to be bad.

python scripts/audit_lock.py             look at requirements/, then ask the vulnerability service
python scripts/audit_lock.py --offline   only look
python scripts/audit_lock.py --json      the same for a program

Exit code 0 if nothing is wrong. That the service could not be asked is told, and is nothing wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
PATCHES = (0, 99)  # the first release of a Python, and one that is later than all
MACHINES = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "x86_64"), ("darwin", "arm64"))
SYSTEMS = {"linux": "Linux", "darwin": "Darwin"}
# Versions that must not come back, by hand: {"name": {"1.2.3": "why"}}.
BAD: dict[str, dict[str, str]] = {}
DIGEST = re.compile(r"--hash=sha256:[0-9a-f]{64}(?![0-9a-f])")
OPTION = re.compile(r"--(?!hash=)\S+")
PLACE = re.compile(r"https?://|file:|(?<!\w)/\w")
SERVICE_S = 60.0
# All that a line of a lock can be; pip expands variables and obeys options, so there are none.
MARKER = r"[A-Za-z0-9_.*'\"<>=!() ]+"
PIN = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_]+( ; {MARKER})?( \\)?")
HASH = re.compile(r" *--hash=sha256:[0-9a-f]{64}( \\)?")
COMMENT = re.compile(r"(#.*)?")
RUNNING = re.compile(r"platform_release|platform_version|extra")
CODING = re.compile(r"coding[:=]")  # pip would read the file in that encoding
STRANGE = re.compile(r"[^\n\x20-\x7e]")


class Pin(NamedTuple):
    """One line of a lock, continuations and all."""

    text: str
    needed: Requirement | None
    digests: int

    @property
    def name(self) -> str:
        return canonicalize_name(self.needed.name) if self.needed else ""

    @property
    def version(self) -> str:
        """Empty unless it is pinned to exactly one."""
        pins = list(self.needed.specifier) if self.needed else []
        exact = len(pins) == 1 and pins[0].operator == "==" and not pins[0].version.endswith(".*")
        return pins[0].version if exact else ""


def pins_of(text: str) -> list[Pin]:
    """The lines of a lock; comments are none."""
    plain = re.sub(r"(?m)^\s*#.*$|\s#.*$", "", text)
    whole = re.sub(r"\\\r?\n", " ", plain)
    return [_pin(line.strip()) for line in whole.splitlines() if line.strip()]


def _pin(line: str) -> Pin:
    digests = len(DIGEST.findall(line))
    try:
        return Pin(line, Requirement(line.partition(" --hash")[0]), digests)
    except InvalidRequirement:
        return Pin(line, None, digests)


def faults(text: str, wanted: list[Requirement]) -> Iterator[str]:
    """What is wrong with a lock that is to hold these requirements."""
    pins = pins_of(text)
    if PLACE.search(text):
        yield "it names an address or a path: a lock must be the same on every machine"
    yield from _strange_lines(text)
    for pin in pins:
        yield from _faults_of(pin)
    places = list(_places())
    for where in places:
        yield from _missing(pins, wanted, where=where)
    for needed in wanted:
        if not any(_is_for(needed, where) for where in places):
            yield f"{needed}: for no Python and machine that is looked at"


def _strange_lines(text: str) -> Iterator[str]:
    """What pip might read otherwise than we do."""
    goes_on = False
    for number, line in enumerate(text.split("\n"), 1):
        shown = f"line {number}, {line[:60]!a}"
        if STRANGE.search(line):
            yield f"{shown}: a character that is no plain ASCII"
        elif number <= 2 and CODING.search(line):
            yield f"{shown}: it names an encoding"
        elif not (HASH if goes_on else PIN).fullmatch(line) and (goes_on or not COMMENT.fullmatch(line)):
            yield f"{shown}: neither a pin, nor its digest, nor a comment"
        goes_on = line.endswith("\\") and not line.startswith("#")


def _places() -> Iterator[dict[str, str]]:
    """The environments that a lock is for, in the words of markers."""
    for python in PYTHONS:
        for patch in PATCHES:
            for platform, machine in MACHINES:
                yield {
                    "python_version": python, "python_full_version": f"{python}.{patch}",
                    "implementation_name": "cpython", "implementation_version": f"{python}.{patch}",
                    "platform_python_implementation": "CPython", "os_name": "posix", "extra": "",
                    "sys_platform": platform, "platform_system": SYSTEMS[platform],
                    "platform_machine": machine, "platform_release": "", "platform_version": "",
                }  # fmt: skip


def _faults_of(pin: Pin) -> Iterator[str]:
    shown = pin.text.partition(" --hash")[0].strip()[:80]
    if pin.needed is None or OPTION.search(pin.text):
        yield f"{shown}: no requirement"
        return
    if not pin.version or pin.needed.url:
        yield f"{shown}: not pinned with =="
    if not pin.digests:
        yield f"{shown}: no sha256"
    if RUNNING.search(str(pin.needed.marker or "")):
        yield f"{shown}: it depends on the running system"
    why = BAD.get(pin.name, {}).get(pin.version)
    if why:
        yield f"{shown}: {why}"


def _is_for(needed: Requirement, where: dict[str, str]) -> bool:
    return needed.marker is None or needed.marker.evaluate(where)


def _missing(pins: list[Pin], wanted: list[Requirement], *, where: dict[str, str]) -> Iterator[str]:
    """What is declared and would not be installed there, or twice."""
    place = f"Python {where['python_version']}, {where['sys_platform']}"
    here: dict[str, list[str]] = {}
    for pin in pins:
        if pin.needed and _is_for(pin.needed, where):
            here.setdefault(pin.name, []).append(pin.version)
    for name, versions in here.items():
        if len(versions) > 1:
            yield f"{name}: {' and '.join(versions)} at once on {place}"
    for needed in wanted:
        if not _is_for(needed, where):
            continue
        found = here.get(canonicalize_name(needed.name), [])
        if not found:
            yield f"{needed}: not in the lock for {place} ({where['platform_machine']})"
        for version in filter(None, found):
            if not needed.specifier.contains(version, prereleases=True):
                yield f"{needed}: the lock has {version}"


def declared(root: Path) -> dict[str, list[Requirement]]:
    """What each lock must hold, by its name."""
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    runtime = project["project"]["dependencies"]
    dev = [*runtime, *project["dependency-groups"]["dev"], *project["build-system"]["requires"]]
    return {
        name: [Requirement(one) for one in found]
        for name, found in (("runtime.txt", runtime), ("dev.txt", dev))
    }


def look(root: Path) -> dict[str, list[str]]:
    """The faults of each lock, each said once."""
    found = {}
    for name, wanted in declared(root).items():
        path = root / "requirements" / name
        told = (
            list(faults(path.read_bytes().decode("utf-8", "surrogateescape"), wanted))
            if path.exists()
            else ["there is no such lock"]
        )
        found[name] = list(dict.fromkeys(told))
    return found


class Asked(NamedTuple):
    """What the vulnerability service knows; `skipped` says why it does not, or not of everything."""

    skipped: str
    known: list[dict[str, Any]]


def ask(path: Path) -> Asked:
    program = shutil.which("pip-audit") or _beside("pip-audit")
    if not program:
        return Asked("pip-audit is not installed", [])
    words = [
        program, "--requirement", str(path), "--no-deps", "--disable-pip", "--format", "json",
        "--timeout", "5", "--progress-spinner", "off",
    ]  # fmt: skip
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SERVICE_S, check=False)
        told = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return Asked("no vulnerability service answered in time", [])
    except ValueError:
        last = " ".join(done.stderr.split()[-12:])
        return Asked(f"no vulnerability service could be reached ({last})", [])
    return judged(told)


def both(answers: list[Asked]) -> Asked:
    """The answers for all locks as one, each thing said once."""
    skipped = dict.fromkeys(one.skipped for one in answers if one.skipped)
    known = {(bad["name"], bad["version"]): bad for one in answers for bad in one.known}
    return Asked("; ".join(skipped), list(known.values()))


def judged(told: list[dict[str, Any]]) -> Asked:
    """A package that the service does not know is not one without faults."""
    unknown = [one["name"] for one in told if "skip_reason" in one]
    known = [one for one in told if one.get("vulns")]
    if not unknown:
        return Asked("", known)
    names = ", ".join(unknown[:3]) + (" …" if len(unknown) > 3 else "")
    of = f"{len(unknown)} of {len(told)} packages ({names})"
    return Asked(f"the vulnerability service does not know {of}", known)


def _beside(name: str) -> str:
    path = Path(sys.executable).with_name(name)
    return str(path) if path.exists() else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--offline", action="store_true", help="do not ask the vulnerability service")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    args = parser.parse_args()
    found = look(args.root)
    asked = Asked("not asked (--offline)", [])
    if not args.offline:
        asked = both([ask(args.root / "requirements" / name) for name in found])
    if args.json:
        print(json.dumps({"faults": found, "service": asked._asdict()}, indent=2))
    else:
        _tell(found, asked)
    return 1 if any(found.values()) or asked.known else 0


def _tell(found: dict[str, list[str]], asked: Asked) -> None:
    for name, told in found.items():
        print(f"requirements/{name}: {'fine' if not told else f'{len(told)} faults'}")
        for fault in told:
            print(f"  {fault}")
    if asked.skipped:
        print(f"known vulnerabilities: skipped: {asked.skipped}")
    for one in asked.known:
        names = ", ".join(vuln["id"] for vuln in one["vulns"])
        print(f"  {one['name']} {one['version']}: {names}; `python scripts/lock.py --upgrade`")
    if not asked.skipped and not asked.known:
        print("known vulnerabilities: none")


if __name__ == "__main__":
    sys.exit(main())

"""Holds plugin versions to their content: the client updates a plugin only when its version changes.

python scripts/plugin_versions.py            raise the version of each plugin that has changed
python scripts/plugin_versions.py --minor    the same, by a minor step (or --major)
python scripts/plugin_versions.py --check    only say which versions are wrong; exit code 1 if one is
python scripts/plugin_versions.py --publish  record what is published now, under which versions
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STEPS = ("major", "minor", "patch")


class Marketplace:
    """The plugins of a repository, their versions, and what was published under which."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._listing = root / ".claude-plugin/marketplace.json"
        self._published = root / "plugins/published.json"
        self.names: list[str] = [entry["name"] for entry in _json(self._listing)["plugins"]]

    def version(self, name: str) -> str:
        return str(_json(self._manifest(name))["version"])

    def listed(self, name: str) -> str:
        entries = {entry["name"]: entry for entry in _json(self._listing)["plugins"]}
        return str(entries[name]["version"])

    def digest(self, name: str) -> str:
        """Of everything that an installation copies, links followed; the versions themselves aside."""
        whole = hashlib.sha256()
        folder = self._root / "plugins" / name
        for path in sorted(_files(folder), key=str):
            data = path.read_bytes()
            if path == self._manifest(name):
                data = json.dumps({**json.loads(data), "version": ""}, sort_keys=True).encode()
            elif path == folder / "lib/version.py":
                continue
            for part in (str(path.relative_to(folder)).encode(), data):
                whole.update(len(part).to_bytes(8, "big") + part)
        return whole.hexdigest()

    def faults(self) -> list[str]:
        """What is wrong, in words; empty if every version fits its content."""
        found = []
        for name in self.names:
            version = self.version(name)
            if self.listed(name) != version:
                found.append(
                    f"{name} is {version} in its plugin.json and {self.listed(name)} in the marketplace"
                )
            if name not in self._known():
                found.append(
                    f"nothing tells what {name} was published as: run scripts/plugin_versions.py --publish"
                )
            if self.must_rise(name):
                found.append(f"{name} changed since {version} was published: run scripts/plugin_versions.py")
        package = re.search('VERSION = "(.*)"', self._package().read_text())
        if package is None or package[1] != self.version("ralphloop"):
            found.append("the plugin ralphloop and the package have different versions")
        return found

    def must_rise(self, name: str) -> bool:
        known = self._known().get(name)
        if known is None or known["digest"] == self.digest(name):
            return False
        return _numbers(self.version(name)) <= _numbers(known["version"])

    def raise_versions(self, step: str) -> dict[str, str]:
        """The plugins that changed, with their new versions."""
        raised = {}
        for name in [name for name in self.names if self.must_rise(name)]:
            raised[name] = _raised(self._known()[name]["version"], step)
            self.set_version(name, raised[name])
        return raised

    def set_version(self, name: str, version: str) -> None:
        _set_version(self._manifest(name), f'"name": "{name}"', version)
        _set_version(self._listing, f'"name": "{name}"', version)
        if name == "ralphloop":
            package = self._package()
            package.write_text(re.sub('VERSION = ".*"', f'VERSION = "{version}"', package.read_text()))

    def publish(self) -> None:
        """Record the content of each version; one that was published with other content stays as it was."""
        known = {
            name: self._known()[name]
            if self.must_rise(name)
            else {"version": self.version(name), "digest": self.digest(name)}
            for name in self.names
        }
        self._published.write_text(json.dumps(known, indent=2) + "\n")

    def _known(self) -> dict[str, dict[str, str]]:
        known: dict[str, dict[str, str]] = _json(self._published) if self._published.exists() else {}
        return known

    def _manifest(self, name: str) -> Path:
        return self._root / "plugins" / name / ".claude-plugin/plugin.json"

    def _package(self) -> Path:
        return self._root / "src/ralphloop/version.py"


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(place, name) for name in names)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _raised(version: str, step: str) -> str:
    numbers = list(_numbers(version))
    at = STEPS.index(step)
    return ".".join(str(number) for number in [*numbers[:at], numbers[at] + 1, *[0] * (2 - at)])


def _set_version(path: Path, after: str, version: str) -> None:
    """Write the version that follows this text, and nothing else of the file."""
    text = path.read_text(encoding="utf-8")
    at = text.index(after)
    written = re.sub('"version": "[^"]*"', f'"version": "{version}"', text[at:], count=1)
    path.write_text(text[:at] + written, encoding="utf-8")


def main(argv: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_mutually_exclusive_group()
    for step in STEPS:
        chosen.add_argument(f"--{step}", dest="step", action="store_const", const=step, default="patch")
    chosen.add_argument("--check", action="store_true")
    chosen.add_argument("--publish", action="store_true")
    args = parser.parse_args(argv)
    market = Marketplace(root)
    if not args.check and not args.publish:
        for name, version in market.raise_versions(args.step).items():
            print(f"{name} is {version} now")
    if args.publish:
        market.publish()
    faults = market.faults()
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The locks hold every dependency by version and digest, and the script that says so would say otherwise."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "audit_lock.py"
DIGEST = "--hash=sha256:" + "0a" * 32
GOOD = f"rich==15.0.0 \\\n    {DIGEST}\ntomli==2.5.0 ; python_full_version < '3.11' \\\n    {DIGEST}\n"
WANTED = [Requirement("rich>=13.7"), Requirement('tomli>=2.0; python_version < "3.11"')]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_lock", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*words: str, path: str = "/usr/bin:/bin") -> tuple[int, str]:
    command = [sys.executable, "-I", str(SCRIPT), *words]
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def test_our_locks_are_fine() -> None:
    code, told = run("--offline", "--json")
    found = json.loads(told)
    assert found["faults"] == {"runtime.txt": [], "dev.txt": []}
    assert code == 0


def test_a_lock_that_fits_has_no_faults(audit: ModuleType) -> None:
    assert list(audit.faults(GOOD, WANTED)) == []


WRONG = [
    (GOOD.replace(f" \\\n    {DIGEST}", "", 1), "rich==15.0.0: no sha256"),
    (GOOD.replace("0a" * 32, "0a" * 31, 1), "rich==15.0.0: no sha256"),
    (GOOD.replace("sha256", "md5", 1), "rich==15.0.0: no sha256"),
    (GOOD.replace("rich==", "rich>="), "rich>=15.0.0: not pinned with =="),
    (GOOD.replace("15.0.0", "15.*"), "rich==15.*: not pinned with =="),
    (GOOD.replace("15.0.0", "15.0.0,<16"), "rich==15.0.0,<16: not pinned with =="),
    (
        GOOD.replace("rich==15.0.0", "rich @ https://example.invalid/r.whl"),
        "names an address or a path",
    ),
    (GOOD.replace("15.0.0", "12.0.0"), "rich>=13.7: the lock has 12.0.0"),
    (GOOD.replace("rich", "poor"), "rich>=13.7: not in the lock for Python 3.10, linux"),
    (GOOD.replace("< '3.11'", "< '3.10'"), "not in the lock for Python 3.10, linux"),
    (GOOD + GOOD, "rich: 15.0.0 and 15.0.0 at once"),
    ("--index-url https://example.invalid/\n" + GOOD, "names an address or a path"),
    ("-e .\n" + GOOD, "-e .: no requirement"),
    ("--pre\n" + GOOD, "--pre: no requirement"),
    ("-r /home/me/other.txt\n" + GOOD, "names an address or a path"),
    ("# a\rb\n" + GOOD, "no plain ASCII"),
    ("# a\x0cevil==1\n" + GOOD, "no plain ASCII"),
    ("# a\u2028evil==1\n" + GOOD, "no plain ASCII"),
    ("# -*- coding: utf-7 -*-\n" + GOOD, "names an encoding"),
    ("#\n# vim: coding=utf-16\n" + GOOD, "names an encoding"),
    (GOOD + "${EVIL}\n", "neither a pin"),
    (GOOD.replace("'3.11'", "'3.11' # \\"), "neither a pin"),
    (GOOD.replace(f"\n    {DIGEST}", f"\n# why\n    {DIGEST}", 1), "neither a pin"),
    (GOOD + f"    {DIGEST}\n", "neither a pin"),
    (
        GOOD.replace("rich==15.0.0", "rich==15.0.0 ; python_full_version < '3.13.5'"),
        "not in the lock for",
    ),
    (GOOD.replace("rich==15.0.0", "rich==15.0.0 ; platform_machine == 'x86_64'"), "darwin (arm64)"),
    (GOOD.replace("rich==15.0.0", "rich==15.0.0 ; platform_release != '6'"), "the running system"),
]


def test_what_is_wrong_with_a_lock_is_told(audit: ModuleType) -> None:
    for text, told in WRONG:
        found = list(audit.faults(text, WANTED))
        assert any(told in fault for fault in found), (text, told, found)


def test_a_version_that_was_banned_is_told(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(audit.BAD, "rich", {"15.0.0": "it was taken back"})
    assert list(audit.faults(GOOD, WANTED)) == ["rich==15.0.0: it was taken back"]


def test_what_is_declared_for_no_place_is_told(audit: ModuleType) -> None:
    told = list(audit.faults(GOOD, [*WANTED, Requirement('rich; sys_platform == "sunos"')]))
    assert told == ['rich; sys_platform == "sunos": for no Python and machine that is looked at']


def test_bytes_that_are_no_text_are_told(audit: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "pyproject.toml").write_bytes((REPOSITORY / "pyproject.toml").read_bytes())
    for name in ("runtime.txt", "dev.txt"):
        lock = (REPOSITORY / "requirements" / name).read_bytes()
        (tmp_path / "requirements" / name).write_bytes(b"# \xff\n" + lock)
    told = audit.look(tmp_path)
    assert [len(found) for found in told.values()] == [1, 1]
    assert "no plain ASCII" in told["dev.txt"][0]


def test_a_missing_lock_fails_the_command(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        (REPOSITORY / "pyproject.toml").read_text("utf-8"), encoding="utf-8"
    )
    code, told = run("--offline", "--root", str(tmp_path))
    assert code == 1
    assert "there is no such lock" in told


def test_without_a_service_it_says_that_it_did_not_ask(tmp_path: Path) -> None:
    (tmp_path / "pip-audit").write_text("#!/bin/sh\necho 'ServiceError: no route to host' >&2\nexit 1\n")
    (tmp_path / "pip-audit").chmod(0o755)
    code, told = run(path=f"{tmp_path}:/usr/bin:/bin")
    assert code == 0
    assert "skipped: no vulnerability service could be reached (ServiceError: no route to host)" in told


def test_the_service_is_asked_about_both_locks(tmp_path: Path) -> None:
    bad = '{"dependencies": [{"name": "rich", "version": "1", "vulns": [{"id": "PYSEC-1"}]}]}'
    asked = tmp_path / "asked"
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\necho \"$2\" >> '{asked}'\necho '{bad}'\n")
    program.chmod(0o755)
    code, told = run(path=f"{tmp_path}:/usr/bin:/bin")
    assert [Path(line).name for line in asked.read_text().splitlines()] == ["runtime.txt", "dev.txt"]
    assert (code, told.count("PYSEC-1")) == (1, 1)


def test_what_the_service_knows_fails_and_what_it_does_not_know_is_told(audit: ModuleType) -> None:
    bad = {"name": "rich", "version": "1", "vulns": [{"id": "PYSEC-1"}]}
    assert audit.judged([bad, {"name": "x", "version": "1", "vulns": []}]) == ("", [bad])
    skipped, known = audit.judged([bad, {"name": "tomli", "skip_reason": "not found"}])
    assert "does not know 1 of 2 packages (tomli)" in skipped
    assert known == [bad]

"""How many tests a check ran, by what the runners that people use say at their end: a table of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ralphloop.domain.prompt import count

_COLOUR = re.compile(r"\x1b\[[\d;]*m|\ufffd\[[\d;]*m")


class _Runner(NamedTuple):
    """The lines by which it sums up, and in these what counts: the numbers, or each line without one."""

    name: str
    line: re.Pattern[str]
    ran: re.Pattern[str]
    left_out: re.Pattern[str] = re.compile(r"(?!)")


def _runner(name: str, line: str, ran: str, left_out: str = r"(?!)") -> _Runner:
    return _Runner(name, re.compile(line, re.M), re.compile(ran), re.compile(left_out))


_SUMMARY = r"no tests ran|\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|warnings?|errors?)\b"
_RUNNERS = (
    _runner("pytest", rf"^(?:=+ )?(?:{_SUMMARY}).* in [\d.]+s\b.*$", r"(\d+) (?:passed|failed|xpassed)\b"),
    _runner("unittest", r"^Ran \d+ tests? in .*$|^(?:OK|FAILED) \([\w ]+=\d.*\)$",
            r"Ran (\d+)", r"skipped=(\d+)"),
    _runner("node", r"^[#ℹ] (?:tests|skipped|todo) \d+$", r"tests (\d+)", r"(?:skipped|todo) (\d+)"),
    _runner("jest", r"^\s*Tests:?\s+\d+ (?:passed|failed|skipped|todo)\b.*$", r"(\d+) (?:passed|failed)"),
    _runner("mocha", r"^\s+\d+ (?:passing|failing)\b.*$", r"(\d+) (?:passing|failing)"),
    _runner("go", r"^\s*--- (?:PASS|FAIL|SKIP): .*$", r"--- (?!SKIP)"),
    _runner("cargo", r"^test result: .*$", r"(\d+) (?:passed|failed)"),
    _runner("rspec", r"^\d+ examples?, .*$", r"(\d+) examples?", r"(\d+) pending"),
    _runner("minitest", r"^\d+ (?:runs|tests), \d+ assertions.*$",
            r"(\d+) (?:runs|tests)", r"(\d+) (?:skips|omissions|pendings)"),
    _runner("phpunit", r"^OK.* \(\d+ tests?, .*$|^Tests: \d+, Assertions: .*$",
            r"(\d+) test|Tests: (\d+)", r"(?:Skipped|Incomplete): (\d+)"),
    _runner("junit", r"^.*Tests run: \d+,.*$", r"Tests run: (\d+)", r"Skipped: (\d+)"),
    _runner("tap", r"^(?:not )?ok \d+\b.*$", r"ok \d", r"(?i)# (?:skip|todo)\b"),
    _runner("automake", r"^# (?:PASS|FAIL|XFAIL|XPASS): +\d+$", r": +(\d+)"),
    _runner("ctest", r"^\d+% tests passed.* out of \d+$", r"out of (\d+)"),
    _runner("gtest", r"^\[=+\] \d+ tests? from .* ran.*$|^\[  SKIPPED \] \d+ tests?.*$",
            r"\] (\d+) tests? from", r"SKIPPED \] (\d+)"),
    _runner("exunit", r"^(?:\d+ doctests?, )?\d+ tests?, \d+ failures?.*$",
            r"(\d+) (?:doc)?tests?\b", r"(\d+) (?:skipped|excluded)"),
    _runner("xctest", r"^\s*Executed \d+ tests?, with .*$", r"Executed (\d+)", r"(\d+) tests? skipped"),
    _runner("dotnet", r"^.*\bFailed:\s*\d+, Passed:\s*\d+.*$", r"(?:Failed|Passed):\s*(\d+)"),
)  # fmt: skip


def counted(output: str) -> dict[str, int]:
    """The tests that ran, by runner; empty where no runner says it."""
    plain = _COLOUR.sub("", output)
    found = {}
    for one in _RUNNERS:
        lines = [match[0] for match in one.line.finditer(plain)]
        if lines:
            found[one.name] = sum(_sum(one.ran, line) - _sum(one.left_out, line) for line in lines)
    return found


def _sum(pattern: re.Pattern[str], line: str) -> int:
    return sum(int(next(filter(None, match.groups()), 1)) for match in pattern.finditer(line))


def fewer(now: Mapping[str, int], before: Mapping[str, int]) -> str:
    """`ran 1 test, and 3 without the work`, where one and the same runner says so; else empty."""
    for name in now.keys() & before.keys():
        if now[name] < before[name]:
            return f"ran {count(now[name], 'test')}, and {before[name]} without the work"
    return ""


def told(tests: Mapping[str, int]) -> str:
    """`3 tests`; some runners say it in the words of another as well."""
    return count(max(tests.values()), "test") if tests else ""

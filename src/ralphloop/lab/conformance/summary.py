"""The results of a run as a table for people, as JSON, and as JUnit's XML."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from ralphloop.domain.prompt import plain
from ralphloop.lab.conformance.case import Case
from ralphloop.lab.conformance.play import FAILED, PASSED, SKIPPED, Result
from ralphloop.lab.conformance.verdict import EXIT_CODE
from ralphloop.loops import result

KINDS = (PASSED, FAILED, SKIPPED)
NAMED = ("file", "title", "layout", "stands_for")  # what JSON tells of a case
WIDTH = 100
NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def listing(cases: Sequence[Case]) -> result.Result:
    """The cases by name, none of them played."""
    facts = [{key: getattr(each, key) for key in NAMED} for each in cases]
    lines = (f"{case.file}: {case.title} ({', '.join(case.stands_for)})" for case in cases)
    return result.Result({"total": len(cases), "cases": facts}, tuple(lines))


def shown(results: Sequence[Result]) -> result.Result:
    """What came of them; the code is 1 if one failed, and 2 if none was played."""
    kinds = {each.result for each in results}
    code = 1 if FAILED in kinds else 2 if kinds <= {SKIPPED} else 0
    return result.Result(as_json(results), tuple(as_table(results)), code)


class Progress:
    """Says how far it is, after each case."""

    def __init__(self, total: int, told: Callable[[str], object]) -> None:
        self._total = total
        self._told = told
        self._done = 0
        self._failed = 0

    def __call__(self, result: Result) -> None:
        self._done += 1
        self._failed += result.result == FAILED
        failed = f", {self._failed} failed" if self._failed else ""
        self._told(f"{self._done} of {self._total}{failed}")


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    counts = Counter(each.result for each in results)
    return {
        **{kind: counts[kind] for kind in KINDS},
        "total": len(results),
        "cases": [_as_json(each) for each in results],
    }


def _as_json(result: Result) -> dict[str, Any]:
    return {
        **{key: getattr(result.case, key) for key in NAMED},
        "result": result.result,
        "why": result.why,
        "duration_ms": round(result.duration_ms, 1),
    }


def as_table(results: Sequence[Result]) -> Iterator[str]:
    """Every failure with what was expected and seen, why cases were skipped, and how many of each layout and
    source. A hook that fails everywhere with the same exit code does not even start: that is told once."""
    failed = [each for each in results if each.result == FAILED]
    alike = {_complaint(each) for each in results if each.result != SKIPPED}
    if len(failed) > 1 and len(alike) == 1 and next(iter(alike)).startswith(EXIT_CODE):
        yield from (f"FAILED {len(failed)} cases, all alike", *_wrapped(alike.pop()), "")
    else:
        for each in failed:
            yield from _failure(each)
    skipped = Counter(each.why for each in results if each.result == SKIPPED)
    for why, count in skipped.most_common():
        yield f"skipped {count}: {why}"
    if any(each.result != PASSED for each in results):
        yield ""
    yield _head("layout")
    layouts = sorted({each.case.layout for each in results})
    for layout in layouts:
        yield _row(layout, [each for each in results if each.case.layout == layout])
    if len(layouts) != 1:
        yield _row("all", results)
    yield ""
    yield _head("stands for")
    for source in sorted({source for each in results for source in _sources(each)}):
        yield _row(source, [each for each in results if source in _sources(each)])


def _sources(result: Result) -> set[str]:
    """Where the demands of its case come from: a report from the field, a document, the specification."""
    return {re.split(r"[\s:]", clause, maxsplit=1)[0] for clause in result.case.stands_for}


def _head(name: str) -> str:
    return f"{name:<10}" + "".join(f"{kind:>9}" for kind in (*KINDS, "total"))


def _row(name: str, results: Sequence[Result]) -> str:
    counts = Counter(each.result for each in results)
    numbers = [*(counts[kind] for kind in KINDS), len(results)]
    return f"{name:<10}" + "".join(f"{number:>9}" for number in numbers)


def _failure(result: Result) -> Iterator[str]:
    yield f"FAILED {result.case.file}"
    yield f"  {result.case.title} ({', '.join(result.case.stands_for)})"
    for line in result.why.splitlines():
        yield from _wrapped(line)
    if result.folder and result.folder.is_dir():
        yield f"  kept in {result.folder}"
    yield ""


def _complaint(result: Result) -> str:
    """The first one, without its step."""
    return result.why.partition("\n")[0].partition(": ")[2]


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ")


def as_junit(results: Sequence[Result]) -> bytes:
    counts = Counter(each.result for each in results)
    suite = ElementTree.Element(
        "testsuite",
        name="ralphloop conformance",
        tests=str(len(results)),
        failures=str(counts[FAILED]),
        skipped=str(counts[SKIPPED]),
        errors="0",
        time=_seconds(sum(each.duration_ms for each in results)),
    )
    for each in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=each.case.layout, name=_xml(each.case.title),
            file=_xml(each.case.file), time=_seconds(each.duration_ms),
        )  # fmt: skip
        if each.result == FAILED:
            lines = [_xml(line) for line in each.why.split("\n")]
            ElementTree.SubElement(case, "failure", message=lines[0]).text = "\n".join(lines)
        elif each.result == SKIPPED:
            ElementTree.SubElement(case, "skipped", message=_xml(each.why))
    ElementTree.indent(suite)
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def _xml(text: str) -> str:
    """On one line, without what no XML may have."""
    return plain(text).translate(NO_XML)


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.3f}"

"""The judge of the conformance suite: each thing that a case can expect is missed when it is not so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ralphloop.lab.conformance.case import Expect
from ralphloop.lab.conformance.processes import Answer
from ralphloop.lab.conformance.scene import Seen
from ralphloop.lab.conformance.verdict import Saw, complaints, named
from unit.domain.cases import each

BLOCK = {"decision": "block", "reason": "Go on with F1.", "systemMessage": "next F1"}


def answer(said: object = "", *, code: int | None = 0, stderr: str = "") -> Answer:
    stdout = said if isinstance(said, str) else json.dumps(said) + "\n"
    return Answer(code, stdout, stderr, 1000.0)


def files(texts: Mapping[str, str], *, changed_ns: int = 1, mode: int = 0o100644) -> dict[str, Seen]:
    return {path: Seen("file", mode, changed_ns, text.encode()) for path, text in texts.items()}


def judged(expect: Expect, *answers: Answer, **saw: Any) -> list[str]:
    before, after = saw.pop("before", {}), saw.pop("after", {})
    return complaints(expect, Saw(answers or (answer(),), before, after, **saw))


@each(
    ("given", "told"),
    [
        (answer(code=None), "did not end"),
        (answer(code=1, stderr="oh"), "exit code 1 instead of 0: oh"),
        (answer(code=2), "exit code 2 instead of 0"),
        (answer("garbage"), "not exactly one JSON object: garbage"),
        (answer("{}{}"), "not exactly one JSON object"),
        (answer('{"n": NaN}'), "not exactly one JSON object"),
        (answer('{"decision": "block", "reason": "x", "n": [-Infinity]}'), "not exactly one JSON object"),
        (answer("[1]"), "not exactly one JSON object"),
        (answer("[" * 100_000), "not exactly one JSON object"),
        (answer({"decision": "block"}), "a block without a reason"),
        (answer({"decision": "block", "reason": 5}), "the client refuses it: reason must be a text"),
        (answer({**BLOCK, "systemMessage": 5}), "the client refuses it: systemMessage must be a text"),
        (answer({"decision": "deny"}), "the client refuses it: decision must be"),
        (answer({"hookSpecificOutput": {"hookEventName": "SessionStart"}}), "hookEventName must be Stop"),
        (answer({"decision": "block", "reason": "x" * 10_000}), "it must be under 10000"),
        (answer({**BLOCK, "continue": False}), "`continue: false` beside a block"),
        (answer(stderr="Traceback (most recent call last):\n"), "a traceback on stderr"),
    ],
)
def test_every_answer_is_held_to_the_rules(given: Answer, told: str) -> None:
    (found,) = judged(Expect(), given)
    assert told in found


@pytest.mark.parametrize("given", [answer(), answer({}), answer(BLOCK), answer({"systemMessage": "x"})])
def test_answers_that_a_client_understands_are_fine(given: Answer) -> None:
    assert judged(Expect(), given) == []


SPECIFIC = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "Go on.", "n": [0]}}
CONTEXT = answer({**SPECIFIC, "systemMessage": "It goes on."})
SILENT, MESSAGE, STDERR = answer(), answer({"systemMessage": "It is over."}), answer(stderr="over")


@pytest.mark.parametrize(
    ("kind", "fine", "wrong"),
    [
        ("block", [answer(BLOCK)], [SILENT, MESSAGE, STDERR, CONTEXT]),
        ("context", [CONTEXT], [SILENT, MESSAGE, STDERR, answer(BLOCK)]),
        ("allow", [SILENT, MESSAGE, STDERR], [answer(BLOCK), CONTEXT]),
        ("silent", [SILENT], [MESSAGE, STDERR, answer(BLOCK), CONTEXT]),
        ("message", [MESSAGE], [SILENT, STDERR, answer(BLOCK), CONTEXT]),
    ],
)
def test_kinds_of_answers_are_told_apart(kind: str, fine: list[Answer], wrong: list[Answer]) -> None:
    assert [judged(Expect(answer=kind), each) for each in fine] == [[]] * len(fine)
    assert all(f"expected {kind}" in judged(Expect(answer=kind), each)[0] for each in wrong)
    assert judged(Expect(answers={kind: 1}), *fine[:1], *wrong) == []
    assert len(judged(Expect(answers={kind: 2}), *fine[:1], *wrong)) == 1


@each(
    ("expect", "given"),
    [
        (Expect(reason_has=("F2",)), answer(BLOCK)),
        (Expect(reason_lacks=("F1",)), answer(BLOCK)),
        (Expect(message_has=("F2",)), answer(BLOCK)),
        (Expect(message_lacks=("F1",)), answer(BLOCK)),
        (Expect(context_has=("F2",)), answer(SPECIFIC)),
        (Expect(stderr_has=("limit",)), STDERR),
        (Expect(said={"/hookSpecificOutput/n/0": 1}), answer(SPECIFIC)),
        (Expect(said={"/hookSpecificOutput/n/0": False}), answer(SPECIFIC)),
        (Expect(said={"/hookSpecificOutput/n/1": 0}), answer(SPECIFIC)),
    ],
)
def test_texts_of_an_answer_are_looked_at(expect: Expect, given: Answer) -> None:
    assert len(judged(expect, given)) == 1


def test_texts_that_are_as_expected_are_fine() -> None:
    expect = Expect(reason_has=("F1",), reason_lacks=("F2",), message_has=("next",), message_lacks=("F2",))
    assert judged(expect, answer(BLOCK)) == []
    told = Expect(context_has=("Go",), said={"/hookSpecificOutput/n/0": 0, "/hookSpecificOutput/n": [0]})
    assert judged(told, answer(SPECIFIC)) == []


BEFORE = files({"a/list": "1", "b": "2", "@HOME@/c": "3"})


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({**BEFORE, **files({"a/list": "other"})}, "a/list was changed, to other"),
        ({**BEFORE, **files({"a/list": "1"}, changed_ns=2)}, "a/list was written again"),
        ({**BEFORE, **files({"a/list": "1"}, mode=0o100600)}, "a/list was given another mode"),
        ({**BEFORE, **files({"a/new": "1"})}, "a/new was added"),
        (files({"b": "2", "@HOME@/c": "3"}), "a/list was removed"),
    ],
)
def test_any_change_of_what_must_not_change_is_seen(after: Mapping[str, Seen], told: str) -> None:
    (found,) = judged(Expect(unchanged=("**",)), after=after, before=BEFORE)
    assert found.startswith(told)
    assert judged(Expect(unchanged=("b", "@HOME@/**")), after=after, before=BEFORE) == []


def test_the_home_is_looked_at_where_it_is_named() -> None:
    after = {**BEFORE, **files({"@HOME@/c": "other"})}
    assert judged(Expect(unchanged=("**",)), after=after, before=BEFORE) == []
    assert len(judged(Expect(unchanged=("@HOME@/**",)), after=after, before=BEFORE)) == 1


@pytest.mark.parametrize(
    ("path", "glob", "yes"),
    [
        ("a/b/c", "**", True),
        ("a/b/c", "a", True),
        ("a/b/c", "a/*", True),
        ("a/b/c", "*/c", False),
        ("a/b/c", "**/c", True),
        (".ralph/run/x/loop.json", ".ralph/run/*/loop.json", True),
        ("@HOME@/a", "**", False),
        ("@HOME@/a", "@HOME@/**", True),
    ],
)
def test_globs_name_files_and_folders(path: str, glob: str, yes: bool) -> None:
    assert named(path, glob) is yes


AFTER = files({"list.json": '{"a~/": [{"b": true}]}', "notes/1": "one", "notes/2": "two", "bad.json": "{"})


@each(
    "expect",
    [
        Expect(has={"list.json": ("c",)}),
        Expect(has={"missing": ()}),
        Expect(has={"notes/*": ("o", "ne")}),
        Expect(lacks={"list.json": ("b",)}),
        Expect(lacks={"notes/*": ("tw",)}),
        Expect(equals={"notes/1": "two"}),
        Expect(equals={"missing": ""}),
        Expect(json={"list.json#/a~0~1/0/b": False}),
        Expect(json={"list.json#/a~0~1/0/b": 1}),
        Expect(json={"list.json#/a~0~1/1": True}),
        Expect(json={"missing#/a": 1}),
        Expect(json={"bad.json#/a": 1}),
        Expect(absent=("notes/1",)),
        Expect(absent=("**/1",)),
        Expect(present=("notes/3",)),
    ],
)
def test_files_that_are_not_as_expected_are_named(expect: Expect) -> None:
    assert len(judged(expect, after=AFTER)) == 1


def test_files_that_are_as_expected_are_fine() -> None:
    expect = Expect(
        has={"notes/*": ("o",)},
        lacks={"missing": ("x",), "notes/1": ("two",)},
        equals={"notes/2": "two"},
        json={"list.json#/a~0~1/0/b": True, "list.json#": {"a~/": [{"b": True}]}},
        absent=("missing", "notes/3"),
        present=("notes", "**/1"),
    )
    assert judged(expect, after=AFTER) == []


def test_a_loop_is_compared_with_what_the_tool_says_of_it() -> None:
    expect = Expect(state="ended", outcome="null")
    assert judged(expect, loop={"state": "ended", "outcome": None}) == []
    assert judged(expect, loop={"state": "running", "outcome": "limit"}) == [
        "the loop's state is running, expected ended",
        "the loop's outcome is limit, expected null",
    ]
    assert "no loop" in judged(expect)[0]


def test_a_command_is_judged_by_its_exit_code_and_output_and_not_as_a_hook() -> None:
    ran = Answer(1, "told", "complained", 1.0)
    assert judged(Expect(exit=1, output_has=("told", "complained")), ran, is_run=True) == []
    assert len(judged(Expect(output_lacks=("complained",), output_has=("x",)), ran, is_run=True)) == 3


def test_hooks_at_once_that_fail_alike_are_one_complaint() -> None:
    assert len(judged(Expect(answer="block"), SILENT, SILENT, SILENT)) == 1

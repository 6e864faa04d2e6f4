"""What every task-list layout promises, whatever its files look like."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys

import pytest

import ralphloop
from ralphloop.tasklists.registry import LAYOUTS, layout
from ralphloop.tasklists.source import Tally

FEATURE_LIST = json.dumps(
    {
        "verify": "make test",
        "features": [
            {"id": "F1", "description": "één", "steps": ["a", "b"], "passes": True},
            {"id": 2, "title": "two", "passes": False, "verify": ["x", "y"], "depends_on": ["F1"]},
            {"description": "three", "needs_human": "key", "timeout_s": 3, "passes": False},
        ],
    },
    indent=2,
    ensure_ascii=False,
)
PROGRESS = (
    "# Notes\r\n- **Status:** IN_PROGRESS (hook)\r\nIteration: 1\nMax Iterations: 15\n\nStatus: free text"
)
STATE = (
    '{"name": "demo", "phase": "execution", "taskIndex": 1, "totalTasks": 3, "taskIteration": 1,\n'
    ' "globalIteration": 2, "maxGlobalIterations": 100, "fixTaskMap": {"1.1": {"attempts": 1}}}\n'
)
TASKS = (
    "# Tasks\n\n- [x] 1.1 one\n  - **Verify**: `make a`\n  - [ ] nested\n```\n- [ ] code\n```\n"
    "- [ ] **1.2** [P] two\n\n<!-- - [ ] no -->\n## Next\n- [ ] T003 [P] [US1] three"
)

TEXTS = {
    "features": {"list": FEATURE_LIST, "progress": PROGRESS},
    "features, bare array with crlf and a mark": {
        "list": "\ufeff" + json.dumps(json.loads(FEATURE_LIST)["features"], indent="\t").replace("\n", "\r\n")
    },
    "specum": {"state": STATE, "tasks": TASKS},
    "specum, crlf": {"state": "\ufeff" + STATE.replace("\n", "\r\n"), "tasks": TASKS.replace("\n", "\r\n")},
    "specum without tasks": {"state": STATE, "tasks": None},
    "specum without state": {"state": None, "tasks": TASKS},
    "speckit": {"state": STATE, "tasks": TASKS},
    "speckit without tasks": {"state": STATE, "tasks": None},
}
TALLY = Tally("COMPLETE", iteration=7, max_iterations=40, index=2, total=4, attempt=3)
RECORDED = {
    "Status",
    "Iteration",
    "Max Iterations",
    "taskIndex",
    "totalTasks",
    "taskIteration",
    "globalIteration",
}

every = pytest.mark.parametrize("case", TEXTS)


def module(case):
    return layout(case.split()[0].strip(","))


def flags(case, texts):
    return [task.done for task in module(case).parse(texts).tasks]


def test_every_layout_is_tried_and_carries_its_own_name():
    assert {module(case).NAME for case in TEXTS} == set(LAYOUTS)
    assert [layout(name).NAME for name in LAYOUTS] == list(LAYOUTS)


def test_three_tasks_are_read_and_the_first_is_done():
    for case, texts in TEXTS.items():
        assert flags(case, texts) == [True, False, False], case


def test_closing_the_next_task_closes_that_one_only():
    for case, texts in TEXTS.items():
        changed = {**texts, **module(case).mark(texts, 1, done=True)}
        assert flags(case, changed) == [True, True, False], case


def test_reopening_the_last_closed_task_reopens_that_one_only():
    for case, texts in TEXTS.items():
        changed = {**texts, **module(case).mark(texts, 0, done=False)}
        assert flags(case, changed) == [False, False, False], case


@pytest.mark.parametrize(("place", "done"), [(0, False), (1, True), (2, True)])
def test_marking_twice_is_marking_once_and_can_be_taken_back(place, done):
    for case, texts in TEXTS.items():
        first = module(case).mark(texts, place, done=done)
        assert len(first) == 1, case
        assert module(case).mark({**texts, **first}, place, done=done) == {}, case
        back = module(case).mark({**texts, **first}, place, done=not done)
        assert flags(case, {**texts, **first, **back})[place] is not done, case


def test_a_mark_that_changes_nothing_returns_nothing():
    for case, texts in TEXTS.items():
        assert module(case).mark(texts, 0, done=True) == {}, case
        assert module(case).mark(texts, 1, done=False) == {}, case


def test_a_place_without_a_task_is_refused():
    for case, texts in TEXTS.items():
        for place in (-1, 3):
            with pytest.raises(ValueError, match=r"no (task|feature)"):
                pytest.fail(f"{case}, {place}: {module(case).mark(texts, place, done=True)}")


def test_recording_twice_is_recording_once():
    for case, texts in TEXTS.items():
        first = module(case).record(texts, TALLY)
        assert bool(first) == bool(texts.get("progress") or texts.get("state")), case
        assert module(case).record({**texts, **first}, TALLY) == {}, case


def test_a_record_touches_its_own_fields_only():
    for case, texts in TEXTS.items():
        for role, new in module(case).record(texts, TALLY).items():
            others = [part for part in pieces(new) if not part.isdigit() and part != "COMPLETE"]
            assert others == [
                part for part in pieces(texts[role]) if not part.isdigit() and part != "IN_PROGRESS"
            ], case
            changed = [(a, b) for a, b in zip(fields(texts[role]), fields(new), strict=True) if a != b]
            assert changed, case
            assert {a.split(":")[0].strip('*- {"\n\r\ufeff') for a, _ in changed} <= RECORDED, case


def test_a_record_leaves_the_tasks_as_they_are_where_the_index_is_not_the_truth():
    for case in [case for case in TEXTS if not case.endswith("without tasks")]:
        recorded = {**TEXTS[case], **module(case).record(TEXTS[case], TALLY)}
        assert flags(case, recorded) == [True, False, False], case


def pieces(text):
    """The text cut at every change between word and other characters."""
    parts = [""]
    for char in text:
        if parts[-1] and (parts[-1][-1].isalnum() or parts[-1][-1] == "_") != (char.isalnum() or char == "_"):
            parts.append("")
        parts[-1] += char
    return parts


def fields(text):
    return text.replace("\n", ",").split(",")


SPICE = [
    "{", "}", "[", "]", '"', ":", ",", "\\", "\\u", "- [ ] ", "- [x]", "```\n", "<!--", "-->", "\n", "\r",
    "\0", "\ufeff", "\udce9", "٣", "²", "true", "null", "NaN", "1e999", "-", "9" * 5000, "  ", "\t", "**",
    "`", "#", '"passes"', '"features"', '"taskIndex"', "[" * 3000, "Status:", "Iteration:", "é",
]  # fmt: skip


def mutations(text, chance):
    """The text with a few cuts, doublings and insertions."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 1, 1, 3, 20]))
        middle = chance.choice(["", chance.choice(SPICE), chance.choice(SPICE), text[start:end] * 2])
        text = text[:start] + middle + text[end:]
    return text


@every
def test_junk_is_refused_with_a_value_error_or_read(case):
    chance = random.Random(case)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(1500):
        role = chance.choice([role for role, text in TEXTS[case].items() if text is not None])
        texts = {**TEXTS[case], role: mutations(TEXTS[case][role], chance)}
        outcomes[survives(case, texts)] += 1
    assert outcomes["read"]
    assert outcomes["refused"] or case == "specum without state"


def survives(case, texts):
    found = module(case)
    try:
        before = [task.done for task in found.parse(texts).tasks]
    except ValueError:
        for edit in (lambda: found.mark(texts, 0, done=True), lambda: found.record(texts, TALLY)):
            with contextlib.suppress(ValueError):
                edit()
        return "refused"
    by_index = texts.get("state") is not None and texts.get("tasks") is None
    for place, done in enumerate(before):
        after = flags(case, {**texts, **found.mark(texts, place, done=not done)})
        assert after[place] is not done
        assert by_index or after[:place] + after[place + 1 :] == before[:place] + before[place + 1 :]
    first = found.record(texts, TALLY)
    assert found.record({**texts, **first}, TALLY) == {}
    return "read"


HOT = """
import sys
sys.path.insert(0, sys.argv[1])
import __future__, os, time, _json
before = set(sys.modules)
from ralphloop.tasklists.registry import layout
from ralphloop.tasklists.source import Tally
cases = %r
for name, texts in cases:
    found = layout(name)
    files = {"/p/specs/.current-spec": "a", "/p/.specify/.current-feature": "a"}
    sources = found.locate("/p", env={}, read=files.get, names=lambda folder: ["feature_list.json"])
    assert sources, name
    assert len(found.parse(texts).tasks) == 3
    found.mark(texts, 1, done=True)
    found.record(texts, Tally("COMPLETE", iteration=7, max_iterations=40, index=2, total=4, attempt=3))
    found.restore({role: text and text.replace("two", "too") for role, text in texts.items()}, texts)
    found.hold_additions(texts, texts.get("tasks") or texts.get("list") or "", known=set(), modified={})
    found.is_work("", by_shell=False)
    found.places("/p", {})
    found.protect(texts)
print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] != "ralphloop"))
"""


def isolated(code):
    package = os.path.dirname(os.path.dirname(ralphloop.__file__))
    cases = [(module(case).NAME, texts) for case, texts in TEXTS.items()]
    command = [sys.executable, "-I", "-S", "-c", code % (cases,), package]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_nothing_but_the_allowed_modules_is_imported():
    assert isolated(HOT) == "[]"


def test_an_interpreter_without_the_json_accelerator_reads_the_same():
    slow = HOT.replace("import __future__, os, time, _json", "sys.modules['_json'] = None")
    assert "json.decoder" in isolated(slow)

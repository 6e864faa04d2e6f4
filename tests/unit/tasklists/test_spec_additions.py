"""What a spec's state says of added tasks: its limits, and its map of fix tasks."""

from __future__ import annotations

import pytest

from ralphloop.tasklists import spec_state, speckit, specum
from ralphloop.tasklists.source import Tally
from unit.domain.cases import each


def record(state, **fixes):
    names = {name.replace("_", "."): ids for name, ids in fixes.items()}
    tally = Tally("IN_PROGRESS", iteration=1, max_iterations=9, index=0, total=1, attempt=1, fixes=names)
    changed = specum.record({"state": state}, tally)
    assert speckit.record({"state": state}, tally) == changed
    after = changed.get("state", state)
    assert specum.record({"state": after}, tally) == {}
    return after


NEW = '{"attempts": 2, "fixTaskIds": ["1.3.1", "1.3.2"]}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"1.3": ' + NEW + "}"),
        ('{"1.1": {"attempts": 9}}', '{"1.1": {"attempts": 9}, "1.3": ' + NEW + "}"),
        ('{"1.3": {"attempts": true}}', '{"1.3": ' + NEW + "}"),
        ('{"1.3": null}', '{"1.3": ' + NEW + "}"),
        (
            '{"1.3": {"lastError": "é", "attempts":1, "fixTaskIds": ["1.3.1"], "y": []}}',
            '{"1.3": {"lastError": "é", "attempts":2, "fixTaskIds": ["1.3.1", "1.3.2"], "y": []}}',
        ),
    ],
)
def test_fix_tasks_are_written_into_the_map(before, after):
    head, tail = '{"x": 1, "fixTaskMap": ', ', "y": {"fixTaskMap": {}}}'
    assert record(head + before + tail, **{"1_3": ["1.3.1", "1.3.2"]}) == head + after + tail


SAID = '\ufeff{\r\n\t"fixTaskMap": {"1.3": {"fixTaskIds": [ "1.3.1" ], "attempts": 1, "lastError": "é"}}\r\n}'


@pytest.mark.parametrize(
    "state", [SAID, "{}", '{"fixTaskMap": null}', '{"fixTaskMap": []}', '{"x": {"fixTaskMap": {}}}']
)
def test_a_map_that_says_so_or_is_not_there_stays_as_it_is(state):
    assert record(state, **{"1_3": ["1.3.1"]}) == state


def test_without_fix_tasks_the_map_is_left_alone():
    state = '{"fixTaskMap": {"1.3": {"attempts": 7}}}'
    assert record(state) == state


def test_several_tasks_and_the_counters_are_written_together():
    state = '{"taskIndex": 4, "fixTaskMap": {}, "totalTasks": 0}'
    assert record(state, **{"1_1": ["1.1.1"], "1_2": ["1.2.1"]}) == (
        '{"taskIndex": 0, "fixTaskMap": {"1.1": {"attempts": 1, "fixTaskIds": ["1.1.1"]}, '
        '"1.2": {"attempts": 1, "fixTaskIds": ["1.2.1"]}}, "totalTasks": 1}'
    )


@each(
    ("state", "limits"),
    [
        (None, (3, 3, 3, 2)),
        ("", (3, 3, 3, 2)),
        ("{", (3, 3, 3, 2)),
        ("[]", (3, 3, 3, 2)),
        ('{"maxFixTasksPerOriginal": 1, "maxFixTaskDepth": 2}', (1, 2, 3, 2)),
        ('{"maxModificationsPerTask": 0, "maxModificationDepth": 1}', (3, 3, 0, 1)),
        ('{"maxFixTasksPerOriginal": 99, "maxFixTaskDepth": 99}', (3, 3, 3, 2)),
        ('{"maxModificationsPerTask": 99, "maxModificationDepth": 3}', (3, 3, 3, 2)),
        (
            '{"maxFixTasksPerOriginal": "1", "maxFixTaskDepth": true, "maxModificationDepth": -1}',
            (3, 3, 3, 2),
        ),
    ],
)
def test_a_state_lowers_the_limits_and_never_raises_them(state, limits):
    found = spec_state.addition_limits(state)
    assert (found.fix_tasks, found.fix_depth, found.modifications, found.modification_depth) == limits

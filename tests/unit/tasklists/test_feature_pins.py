"""Pinned criteria of a feature list: what counts as changed, and what it takes to put it back."""

from __future__ import annotations

import json

import pytest

from ralphloop.tasklists import feature_list, features
from unit.domain.cases import each

PINNED = """{
  "verify": "make test",
  "features": [
    {"id": "F1", "description": "one", "steps": ["a", "b"], "passes": false},
    {"id": "F2", "description": "two", "verify": ["x",  "y"], "timeout_s": 30, "passes": false},
    {"id": "F3", "title": "three", "needs_human": "a key", "passes": true}
  ]
}
"""


def restore(text, pinned=PINNED):
    return features.restore({"list": text}, {"list": pinned})


def edited(*pairs, text=PINNED):
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def line(number):
    return PINNED.split("\n")[number - 1] + "\n"


EXACT = {
    "description": ([('"one"', '"1"')], [("F1", "description")]),
    "steps": ([('["a", "b"]', '["a"]')], [("F1", "steps")]),
    "steps in another order": ([('["a", "b"]', '["b", "a"]')], [("F1", "steps")]),
    "own check": ([('["x",  "y"]', '"true"')], [("F2", "verify")]),
    "no check": ([('["x",  "y"]', "[]")], [("F2", "verify")]),
    "a check that hides the list's": ([('"one",', '"one", "verify": "true",')], [("F1", "verify")]),
    "such a check at the end": ([('"b"], "passes": false', '"b"], "passes": false, "verify": "true"')],
                                [("F1", "verify")]),
    "such a check twice": ([('{"id": "F1",', '{"verify": "a", "id": "F1", "verify": "true",')],
                           [("F1", "verify")]),
    "such a check, spelled otherwise": ([('"one",', '"one", "verif\\u0079": "true",')], [("F1", "verify")]),
    "title beside": ([('"one",', '"one", "title": "1",')], [("F1", "title")]),
    "title": ([('"three"', '"3"')], [("F3", "title")]),
    "description above the title": ([('"title"', '"description": "3", "title"')], [("F3", "description")]),
    "time": ([(": 30", ": 1")], [("F2", "timeout_s")]),
    "time that is no number": ([(": 30", ": true")], [("F2", "timeout_s")]),
    "not tried apart": ([('"one",', '"one", "apart": false,')], [("F1", "apart")]),
    "person": ([('"a key"', '""')], [("F3", "needs_human")]),
    "list's check": ([('"make test"', '"true"')], [("", "verify")]),
    "list's protected files": ([('"verify": "make', '"protect": [],\n  "verify": "make')], [("", "protect")]),
    "list's time": ([('"verify": "make', '"timeout_s": 1, "verify": "make')], [("", "timeout_s")]),
    "id": ([('"F2"', '"F9"')], [("F2", "id")]),
    "first feature": ([(line(4), "")], [("F1", "removed")]),
    "middle feature": ([(line(5), "")], [("F2", "removed")]),
    "last feature": ([(",\n" + line(6), "\n")], [("F3", "removed")]),
    "two features": ([(line(4) + line(5), "")], [("F1", "removed"), ("F2", "removed")]),
    "several things": ([('"make test"', '""'), ('"one"', '"1"'), (line(5), ""), ('"three"', '"3"')],
                       [("", "verify"), ("F1", "description"), ("F2", "removed"), ("F3", "title")]),
}  # fmt: skip


@each("name", EXACT)
def test_it_is_named_and_put_back_to_the_byte(name):
    edits, faults = EXACT[name]
    found = restore(edited(*edits))
    assert found.faults == faults
    assert found.texts == {"list": PINNED}
    assert found.added == []


LOST = {
    "description": ([('"description": "one", ', "")], [("F1", "description")],
                    [('"b"], "passes": false', '"b"], "passes": false, "description": "one"'),
                     ('"description": "one", ', "")]),
    "id": ([('"id": "F2", ', "")], [("F2", "id")],
           [('30, "passes": false', '30, "passes": false, "id": "F2"'), ('{"id": "F2", ', "{")]),
    "person": ([(', "needs_human": "a key"', "")], [("F3", "needs_human")],
               [(', "needs_human": "a key", "passes": true', ', "passes": true, "needs_human": "a key"')]),
    "list's check": ([('  "verify": "make test",\n', "")], [("", "verify")],
                     [('  "verify": "make test",\n', ""), ("\n  ]\n", '\n  ],\n  "verify": "make test"\n')]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_a_lost_field_comes_back_as_it_was_written(name):
    edits, faults, expected = LOST[name]
    found = restore(edited(*edits))
    assert found.faults == faults
    assert found.texts == {"list": edited(*expected)}


FREE = {
    "claim": [('"b"], "passes": false', '"b"], "passes": true')],
    "claim taken back": [('"passes": true', '"passes": false')],
    "claim lost": [(', "passes": true', "")],
    "notes and unknown fields": [('"two",', '"two", "notes": "x", "verified": {"verify": 1},')],
    "model and order": [('{"id": "F1",', '{"priority": 1, "model": "m", "depends_on": ["F2"], "id": "F1",')],
    "a question": [('"two",', '"two", "needs_human": "which?",')],
    "null for nothing": [('"one",', '"one", "verify": null, "title": null, "timeout_s": null,')],
    "number as a float": [(": 30", ": 30.0")],
    "escapes": [('"one"', '"\\u006fne"')],
    "fields of the list": [('"verify": "make', '"model": "m", "project": "p", "verify": "make')],
}


@each("name", FREE)
def test_the_rest_is_the_agents(name):
    found = restore(edited(*FREE[name]))
    assert (found.texts, found.faults, found.added) == ({}, [], [])


@pytest.mark.parametrize("layout", [{"indent": 4}, {"separators": (",", ":")}, {"sort_keys": True}])
def test_a_list_that_a_tool_wrote_again_is_the_same_list(layout):
    found = restore(json.dumps(json.loads(PINNED), **layout))
    assert (found.texts, found.faults) == ({}, [])


def test_features_in_another_order_are_the_same_features():
    data = json.loads(PINNED)
    data["features"].reverse()
    found = restore(json.dumps(data))
    assert (found.texts, found.faults) == ({}, [])


def test_new_features_stay_and_are_named():
    new = ', {"id": "N1", "description": "x", "verify": "y"}, {"title": "no id"}, {"title": "no id"}\n  ]'
    found = restore(edited(("\n  ]", new)))
    assert (found.texts, found.faults) == ({}, [])
    assert found.added == ["N1", "no id", "no id\0002"]


def test_a_claim_stays_where_something_else_is_put_back():
    text = edited(('"one"', '"1"'), ('"b"], "passes": false', '"b"], "passes": true'))
    assert restore(text).texts == {"list": edited(('"b"], "passes": false', '"b"], "passes": true'))}


def test_of_two_values_the_reader_gets_the_pinned_one():
    text = edited(('"two",', '"two", "description": "2",'))
    (after,) = restore(text).texts.values()
    assert json.loads(after)["features"][1]["description"] == "two"
    assert restore(after).faults == []


def test_an_emptied_list_is_filled_as_it_was():
    start, end = PINNED.index("["), PINNED.index("\n  ]") + 4
    for empty in ("[]", "[\n  ]", "[ ]"):
        found = restore(PINNED[:start] + empty + PINNED[end:])
        assert found.texts == {"list": PINNED}
        assert [what for _, what in found.faults] == ["removed"] * 3


def test_a_removed_feature_is_set_apart_as_it_was():
    pinned = '[{"id": 1},\n\n{"id": 2} , {"id": 3},{"id": 4}]'
    assert restore('[{"id": 1},\n\n{"id": 4}]', pinned).texts == {
        "list": '[{"id": 1},\n\n{"id": 2} , {"id": 3},\n\n{"id": 4}]'
    }
    assert restore('[{"id": 3},{"id": 4}]', pinned).texts == {"list": pinned}


def test_removed_features_come_before_the_new_ones_if_nothing_else_is_left():
    start, end = PINNED.index("[") + 1, PINNED.index("\n  ]")
    found = restore(PINNED[:start] + '{"id": "N"}' + PINNED[end:])
    assert found.added == ["N"]
    after = json.loads(found.texts["list"])
    assert [item["id"] for item in after["features"]] == ["F1", "F2", "F3", "N"]
    assert found.texts["list"] == PINNED[:start] + PINNED[start:end].lstrip() + ', {"id": "N"}' + PINNED[end:]


BARE = """[
\t{"description": "é", "passes": false},
\t{"description": "é", "steps": [1]},
\t{"id": 3, "title": "three"}
]""".replace("\n", "\r\n")
FIRST = '{"description": "é", "passes": false},\r\n\t'


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ([(', "steps": [1]', ', "steps": [2]')], [("é", "steps")]),
        ([(FIRST, ""), (', "steps": [1]', "")], [("é", "removed")]),
        ([(FIRST, "")], [("é", "steps"), ("é", "removed")]),
        ([("three", "3")], [("3", "title")]),
        ([('"id": 3, ', "")], [("3", "id")]),
        ([('"id": 3', '"id": 3.5')], [("3", "id")]),
        ([('"é", "steps"', '"é", "id": 1, "steps"')], [("é", "id")]),
        ([('"é", "passes"', '"é", "id": 1, "passes"')], [("", "structure")]),
    ],
)
def test_features_without_an_id_are_known_by_their_description(edits, faults):
    found = restore(edited(*edits, text=BARE), BARE)
    assert found.faults == faults
    assert restore(found.texts["list"], BARE).faults == []
    after, pinned = feature_list.parse(found.texts).tasks, feature_list.parse({"list": BARE}).tasks
    assert [(task.id, task.title, task.steps) for task in after] == [
        (task.id, task.title, task.steps) for task in pinned
    ]


def test_a_feature_without_an_id_that_is_called_otherwise_is_another_one():
    pinned = '[{"description": "one"}, {"description": "two", "passes": true}]'
    found = restore(pinned.replace("two", "2"), pinned)
    assert (found.faults, found.added) == ([("two", "removed")], ["2"])
    assert found.texts["list"] == pinned.replace("]", ', {"description": "2", "passes": true}]')


def test_an_id_may_turn_from_number_to_text():
    found = restore(BARE.replace(": 3,", ': "3",'), BARE)
    assert (found.texts, found.faults) == ({}, [])


def test_a_description_like_another_features_id_is_told_apart():
    pinned = '[{"id": "a", "steps": ["1"]}, {"description": "a", "steps": ["2"]}]'
    assert restore(pinned.replace('"1"', '"0"'), pinned).texts == {"list": pinned}
    assert restore(pinned.replace('"2"', '"0"'), pinned).texts == {"list": pinned}


BROKEN = {
    "not json": PINNED.replace("[", "(", 1),
    "cut off": PINNED[:200],
    "no features": '{"verify": "make test"}',
    "another kind": json.dumps(json.loads(PINNED)["features"]),
    "a feature that is none": edited(('    {"id": "F2"', '    7, {"id": "F2"')),
    "one id twice": edited(('"F2"', '"F1"')),
    "empty": "",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_mended_is_replaced(name):
    found = restore(BROKEN[name])
    assert (found.texts, found.faults, found.added) == ({"list": PINNED}, [("", "structure")], [])


def test_the_claims_survive_the_replacement():
    swapped = edited(('"passes": true', '"passes": false'), ('"b"], "passes": false', '"b"], "passes": true'))
    assert restore(json.dumps(json.loads(swapped)["features"])).texts == {"list": swapped}


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [("true", "true", "true"), ("true", "false", "false"), ("false", "true", "false")],
)
def test_of_two_features_with_one_id_both_have_to_say_done(first, second, both):
    text = edited(
        ('"b"], "passes": false', '"b"], "passes": ' + first),
        ('{"id": "F2"', '{"id": "F1", "passes": ' + second + '}, {"id": "F2"'),
    )
    assert restore(text).texts == {"list": edited(('"b"], "passes": false', '"b"], "passes": ' + both))}


def test_a_person_asked_for_in_an_empty_field_is_the_agents():
    pinned = '[{"id": 1, "needs_human": ""}, {"id": 2, "needs_human": false}]'
    text = '[{"id": 1, "needs_human": "who?"}, {"id": 2, "needs_human": true}]'
    assert restore(text, pinned).faults == []


def test_deeply_nested_values_are_compared():
    deep = '[{"id": 1, "steps": ' + "[" * 500 + '{"a": 1}' + "]" * 500 + "}]"
    assert restore(deep.replace('"a": 1', '"a":  1.0'), deep).faults == []
    assert restore(deep.replace('"a": 1', '"a": true'), deep).texts == {"list": deep}
    assert restore(deep.replace('"a": 1', '"b": 1'), deep).texts == {"list": deep}


def test_a_pinned_list_that_does_not_parse_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="is not JSON"):
        restore(PINNED, "{")


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ('{"protect": "tests/**", "features": []}', ["tests/**"]),
        ('{"protect": ["a", " ", 1, null, "b/*"], "features": []}', ["a", "b/*"]),
        ('{"protect": {"a": 1}, "features": []}', []),
        ('{"features": [{"protect": "a"}]}', []),
        ("[]", []),
    ],
)
def test_protected_files_are_named_by_the_list(text, globs):
    assert feature_list.protect(text) == globs
    assert features.protect({"list": text}) == globs


def test_without_a_list_nothing_is_protected():
    assert features.protect({"list": None}) == []

"""Edits of a feature list change the bytes of one value and no other."""

from __future__ import annotations

import json
from itertools import product

import pytest

from ralphloop.tasklists import features
from unit.domain.cases import each

PLAIN = {
    "project": "Café ☕",
    "features": [
        {
            "id": "F1",
            "description": "one",
            "steps": ["a \"quoted\" 'b'", "{[,]}"],
            "passes": False,
            "x": {"passes": 1},
        },
        {"id": 2, "passes": True, "notes": "passes: false", "description": "zwei – ü"},
        {"title": "three", "nested": [{"passes": True}], "empty": {}},
        {},
    ],
    "unknown": [1, 2.50, None],
}

DUMPS = {
    "two spaces": json.dumps(PLAIN, indent=2),
    "four spaces": json.dumps(PLAIN, indent=4, ensure_ascii=False),
    "tabs": json.dumps(PLAIN, indent="\t"),
    "one line": json.dumps(PLAIN),
    "compact": json.dumps(PLAIN, separators=(",", ":"), ensure_ascii=False),
    "spaced colons": json.dumps(PLAIN, indent=1, separators=(" , ", " : ")),
    "bare array": json.dumps(PLAIN["features"], indent=2),
    "by hand": '{ "features":[\n{"id":"F1" ,\n  "passes":false},\n\n'
    ' { "id":2, "passes" : true } ,{"title":"t"},{ }] }',
    "twice": '{"features": [], "features": [{"id": "F1", "passes": true, "passes": false},'
    ' {"id": 2, "passes": false, "passes": true}, {"ключ": 1}, {}]}',
    "odd values": '[{"id": "F1", "passes": "yes"}, {"passes": true}, {"passes": null}, {"passes": 0}]',
}
ENDINGS = {
    "as is": lambda text: text,
    "final newline": lambda text: text + "\n",
    "crlf": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "bom": lambda text: "\ufeff" + text,
}
CORPUS = {f"{name}, {how}": ending(dump) for name, dump in DUMPS.items() for how, ending in ENDINGS.items()}


def flags(text):
    return [task.done for task in features.parse({"list": text}).tasks]


def difference(old, new):
    """What stands in each text between their common head and tail."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return old[head : len(old) - tail], new[head : len(new) - tail]


@each(("name", "place", "done"), product(CORPUS, range(4), [True, False]))
def test_a_mark_changes_one_value_and_can_be_taken_back(name, place, done):
    text = CORPUS[name]
    before = flags(text)
    changed = features.mark({"list": text}, place, done=done)
    if before[place] is done:
        assert changed == {}
        return
    expected = [*before[:place], done, *before[place + 1 :]]
    assert flags(changed["list"]) == expected
    old, new = difference(text, changed["list"])
    assert len(old) <= len('"yes"')
    if '"passes"' in new:
        assert old == ""
    else:
        assert len(new) <= len("false")
    back = features.mark({"list": changed["list"]}, place, done=not done)["list"]
    assert flags(back) == before


def test_a_value_that_is_there_is_replaced_in_place():
    text = '[{"passes" :\tfalse , "id": 1}]'
    assert features.mark({"list": text}, 0, done=True) == {"list": '[{"passes" :\ttrue , "id": 1}]'}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"id": 1, "b": 2}]', '[{"id": 1, "b": 2, "passes": true}]'),
        ('[{"id":1,"b":2}]', '[{"id":1,"b":2,"passes":true}]'),
        ('[{"id": 1}]', '[{"id": 1, "passes": true}]'),
        ('[{"id":1}]', '[{"id":1,"passes":true}]'),
        ("[{}]", '[{"passes": true}]'),
        ('[\r\n\t{\r\n\t\t"id": 1\r\n\t}\r\n]', '[\r\n\t{\r\n\t\t"id": 1,\r\n\t\t"passes": true\r\n\t}\r\n]'),
        ('[{\n  "id" : 1,\n  "é" : 2\n}]', '[{\n  "id" : 1,\n  "é" : 2,\n  "passes" : true\n}]'),
    ],
)
def test_a_new_value_is_laid_out_like_its_siblings(text, expected):
    assert features.mark({"list": text}, 0, done=True) == {"list": expected}


def test_of_two_values_the_one_that_counts_is_changed():
    text = '{"features": [{"passes": false}], "features": [{"passes": false, "passes": false}]}'
    assert features.mark({"list": text}, 0, done=True) == {
        "list": '{"features": [{"passes": false}], "features": [{"passes": false, "passes": true}]}'
    }


def test_bytes_that_are_not_utf8_survive():
    raw = b'[{"description": "caf\xe9", "passes": false}]'
    changed = features.mark({"list": raw.decode("utf-8", "surrogateescape")}, 0, done=True)["list"]
    assert changed.encode("utf-8", "surrogateescape") == raw.replace(b"false", b"true")

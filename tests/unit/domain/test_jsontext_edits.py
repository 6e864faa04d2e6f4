"""Edits of single values where the layout is tight, and the words of what cannot be read."""

from __future__ import annotations

import pytest

from ralphloop.domain import jsontext
from unit.domain.cases import each

NESTED = '{"a": {"x": 1}, "b": {"x": 1}}'
AT = NESTED.index('{"x": 1}}')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("NaN", r"^NaN is not JSON$"),
        ("[1, -Infinity]", r"^-Infinity is not JSON$"),
        ("[" * 100_000, r"^nested too deeply$"),
    ],
)
def test_what_is_not_json_is_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        jsontext.parse(text)


@pytest.mark.parametrize("text", ['{"a": 1}', '\ufeff {"a": 1}'])
def test_an_object_is_read_whole(text):
    assert jsontext.parse_object(text) == {"a": 1}


def test_what_is_no_object_is_named():
    with pytest.raises(ValueError, match=r"^not a JSON object$"):
        jsontext.parse_object("[]")


@pytest.mark.parametrize("text", ['{"a": ', '{"a": }', '{"a": oops}', "[oops]", '{"a": 1'])
def test_a_text_that_breaks_off_says_where(text):
    with pytest.raises(ValueError, match=r"^no JSON value at character \d+$"):
        list(jsontext.members(text))


def test_the_place_is_that_of_the_missing_value():
    with pytest.raises(ValueError, match=r"character 6$"):
        list(jsontext.members('{"a": }'))


@pytest.mark.parametrize(
    ("text", "at"), [("1", 0), (" \t\n\r1", 4), ("\ufeff1", 1), ("\ufeff  1", 3), ("", 0), (" \ufeff1", 1)]
)
def test_a_value_opens_behind_a_mark_and_white_space(text, at):
    assert jsontext.opening(text) == at


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": [True, False, None]}, '{"a": 1, "b": [true, false, null]}'),
        ((1, "é"), '[1, "\\u00e9"]'),
        ({1: 2}, '{"1": 2}'),
        (1.5, "1.5"),
    ],
)
def test_a_value_is_written_on_one_line(value, text):
    assert jsontext.render(value) == text


def test_the_values_of_an_array_are_numbered():
    spans = list(jsontext.members("[ 7, 8 ,9]"))
    assert [(span.key, span.value, span.start, span.end) for span in spans] == [
        (0, 7, 2, 3), (1, 8, 5, 6), (2, 9, 8, 9),
    ]  # fmt: skip
    assert [(span.key_start, span.key_end) for span in spans] == [(2, 2), (5, 5), (8, 8)]
    found = jsontext.member("[7, 8]", 1)
    assert found is not None
    assert found.value == 8


def test_an_edit_stays_in_the_object_it_is_meant_for():
    assert jsontext.set_member(NESTED, "x", 2, at=AT) == '{"a": {"x": 1}, "b": {"x": 2}}'
    assert jsontext.set_member(NESTED, "y", 2, at=AT) == '{"a": {"x": 1}, "b": {"x": 1, "y": 2}}'
    assert jsontext.add_member(NESTED, "y", 2, at=AT) == '{"a": {"x": 1}, "b": {"x": 1, "y": 2}}'
    assert jsontext.add_raw(NESTED, "y", "[ ]", at=AT) == '{"a": {"x": 1}, "b": {"x": 1, "y": [ ]}}'
    assert jsontext.remove_member(NESTED, "x", at=AT) == '{"a": {"x": 1}, "b": {}}'
    found = jsontext.member(NESTED, "x", AT)
    assert found is not None
    assert found.start == AT + len('{"x": ')


@pytest.mark.parametrize(
    ("text", "value", "after"),
    [
        ('{"a":  1 }', 1, '{"a":  1 }'),
        ('{"a": 1.0}', 1, '{"a": 1}'),
        ('{"a": true}', 1, '{"a": 1}'),
        ('{"a": 1}', True, '{"a": true}'),
        ('{"a": 1, "a": 2}', 2, '{"a": 1, "a": 2}'),
        ('{"a": 2, "a": 1}', 2, '{"a": 2, "a": 2}'),
        ('{"a": [1,2]}', [1, 2], '{"a": [1,2]}'),
    ],
)
def test_a_value_that_a_reader_sees_already_is_left_as_it_is_written(text, value, after):
    assert jsontext.set_member(text, "a", value) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("{}", '{"k": 1}'),
        ("{ }", '{"k": 1 }'),
        ('{"a":1}', '{"a":1,"k":1}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{"a":1, "b":2}', '{"a":1, "b":2, "k":1}'),
        ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "k": 1\n}\n'),
        ('{"a": 1,\n "b" : 2}', '{"a": 1,\n "b" : 2,\n "k" : 1}'),
    ],
)
def test_a_new_member_is_laid_out_as_the_last_one(text, after):
    assert jsontext.add_member(text, "k", 1) == after


@each(
    ("text", "after"),
    [
        ('{"k": 1}', "{}"),
        ('{ "k": 1 }', "{}"),
        ('{"k": 1, "b": 2}', '{"b": 2}'),
        ('{"a": 1, "k": 2}', '{"a": 1}'),
        ('{"a": 1, "k": 2, "b": 3}', '{"a": 1, "b": 3}'),
        ('{"k": 1, "a": 1, "k": 2}', '{"a": 1}'),
        ('{"k": 1, "k": 2, "a": 1}', '{"a": 1}'),
        ('{"k": 1, "k": 2}', "{}"),
        ('{\n  "a": 1,\n  "k": 2,\n  "k": 3\n}', '{\n  "a": 1\n}'),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_member_goes_with_its_comma_however_often_it_stands_there(text, after):
    assert jsontext.remove_member(text, "k") == after


def test_a_value_is_replaced_by_a_value_or_by_its_text():
    span = jsontext.member('{"a": [1], "b": 2}', "a")
    assert span is not None
    assert jsontext.replace('{"a": [1], "b": 2}', span, {"x": None}) == '{"a": {"x": null}, "b": 2}'
    assert jsontext.replace_raw('{"a": [1], "b": 2}', span, "[ 1 ]") == '{"a": [ 1 ], "b": 2}'

"""JSON without the json package: the same values, the same refusals, and edits of single values."""

from __future__ import annotations

import json
import random

import pytest

from ralphloop.domain import jsontext
from unit.domain.cases import each

CORPUS = [
    "0", "-0", "1", "-1.5", "1e3", "1E-7", "1e999", "123456789012345678901234567890", "9" * 4000, "true",
    "false",
    "null", '""', '"é🙂"', '"\\u00e9\\n\\"\\\\\\/"', '"\\ud83d\\ude42"', '"\\ud800"', '"\ud800"',
    '"\\ude42\\ud83d"',
    "[]", "{}", "[ ]", "{ }", " [1 , 2] ", '\t{"a" : [1, {"b": null}]}\r\n', '{"a": 1, "a": 2}', '{"": 0}',
    '{"k": "v", "n": [[], [[]], {}]}', "[" * 200 + "]" * 200,
]  # fmt: skip

BROKEN = [
    "", " ", "{", "[", "}", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', "[1,]", "[1 2]", "{1: 2}",
    "{'a': 1}",
    '{"a" 1}', '{"a": 1 "b": 2}', "tru", "nul", "True", "None", "01", "+1", ".5", "1.", "1e", "--1",
    "0x10", '"',
    '"a', '"\\x"', '"\\u12"', '"\n"', '"\x00"', "1 2", "[] []", "{} x", "// c\n1", "NaN", "Infinity",
    "-Infinity",
    '{"a": NaN}', "[1, -Infinity]", "9" * 5000, "[" * 100_000, '{"a":' * 100_000, "\ufeff", "[\ufeff1]",
    "\x00",
]  # fmt: skip


@each("text", CORPUS, ids=lambda text: ascii(text)[:24])
def test_values_are_those_of_the_json_package(text):
    ours, theirs = jsontext.parse(text), json.loads(text)
    assert ours == theirs
    assert repr(ours) == repr(theirs)


@each("text", BROKEN, ids=lambda text: ascii(text)[:24])
def test_what_is_not_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        jsontext.parse(text)


@pytest.mark.parametrize("text", ['\ufeff{"a": 1}', '\ufeff  {"a": 1}\n'])
def test_a_byte_order_mark_is_passed_over(text):
    assert jsontext.parse(text) == {"a": 1}


def test_an_error_says_where_it_is():
    with pytest.raises(ValueError, match=r"line 2 column"):
        jsontext.parse('{\n"a": oops}')


def test_a_broken_text_does_not_harm_the_next_one():
    for text in BROKEN[:20]:
        with pytest.raises(ValueError, match=r"."):
            jsontext.parse(text)
        assert jsontext.parse('{"a": 1}') == {"a": 1}


def test_any_cut_or_changed_byte_is_judged_as_the_json_package_does():
    dice = random.Random(7)
    text = '{"a": [1, -2.5e3, true, null, "x\\u00e9"], "b": {"c": ""}}'
    for _ in range(3000):
        at = dice.randrange(len(text))
        mutant = (
            text[:at]
            + dice.choice(['"', ",", "}", "]", "\\", "1", "e", "", " ", "\n"])
            + text[at + dice.randrange(3) :]
        )
        try:
            expected = json.loads(mutant)
        except ValueError:
            with pytest.raises(ValueError, match=r"."):
                jsontext.parse(mutant)
        else:
            assert jsontext.parse(mutant) == expected


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "null"])
def test_an_object_is_asked_for_and_nothing_else_will_do(text):
    with pytest.raises(ValueError, match="not a JSON object"):
        jsontext.parse_object(text)


@each(
    "value",
    [
        {},
        [],
        {"a": [1, None, True, 1.5, 'é\n"\\🙂\ud800']},
        [[], {}],
        "",
        -0.0,
        10**30,
        (1, 2),
        {"": {"x": {}}},
    ],
)
def test_what_is_rendered_reads_back_on_one_line_of_ascii(value):
    text = jsontext.render(value)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == (list(value) if isinstance(value, tuple) else value)


MESSY = '\ufeff{ "a" :1,\r\n\t"b": {"x": [1,  2]},"c":"}",\n "a": 7 }\r\n'


def test_members_know_where_each_key_and_value_stands():
    spans = list(jsontext.members(MESSY))
    assert [(span.key, span.value) for span in spans] == [
        ("a", 1),
        ("b", {"x": [1, 2]}),
        ("c", "}"),
        ("a", 7),
    ]
    for span in spans:
        assert json.loads(MESSY[span.start : span.end]) == span.value
        assert json.loads(MESSY[span.key_start : span.key_end]) == span.key


def test_members_of_an_inner_value_are_found_from_where_it_starts():
    outer = jsontext.member(MESSY, "b")
    inner = jsontext.member(MESSY, "x", outer.start)
    assert [(span.key, span.value) for span in jsontext.members(MESSY, inner.start)] == [(0, 1), (1, 2)]


def test_of_two_members_with_one_key_the_last_is_the_one_readers_see():
    assert jsontext.member(MESSY, "a").value == 7
    assert jsontext.member(MESSY, "zz") is None


@pytest.mark.parametrize(
    "text", ['{"a": 1', '{"a": ', '{"a"', "[1, 2", '{"a": 1, oops}', "[1, oops]", "{", "["]
)
def test_members_of_a_broken_text_are_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        list(jsontext.members(text))


def test_replacing_a_value_changes_only_its_own_bytes():
    after = jsontext.replace(MESSY, jsontext.member(MESSY, "c"), False)
    assert after == MESSY.replace('"}"', "false")


@each(
    ("before", "after"),
    [
        ("{}", '{"k": 1}'),
        ("{ }", '{"k": 1 }'),
        ('{"a":1}', '{"a":1,"k":1}'),
        ('{"a": 1}', '{"a": 1, "k": 1}'),
        ('{ "a": 1 }', '{ "a": 1, "k": 1 }'),
        ('{"a":1,"b":2}', '{"a":1,"b":2,"k":1}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "k": 1}'),
        ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "k": 1\n}\n'),
        ('{\r\n\t"a" : {"x": []}\r\n}', '{\r\n\t"a" : {"x": []},\r\n\t"k" : 1\r\n}'),
        ('\ufeff{\n    "a": [\n  1],\n    "b": 2}', '\ufeff{\n    "a": [\n  1],\n    "b": 2,\n    "k": 1}'),
    ],
)
def test_an_added_member_is_laid_out_as_the_last_one_is(before, after):
    assert jsontext.add_member(before, "k", 1) == after


def test_a_member_can_be_added_to_an_inner_object():
    text = '{"list": [{"id": 1}, {"id": 2}]}'
    second = list(jsontext.members(text, jsontext.member(text, "list").start))[1]
    assert (
        jsontext.add_member(text, "ok", True, at=second.start)
        == '{"list": [{"id": 1}, {"id": 2, "ok": true}]}'
    )


REMOVALS = [
    ('{"k": 1}', "{}"),
    ('{ "k": 1 }', "{}"),
    ('{\n  "k": 1\n}\n', "{}\n"),
    ('{"k":1,"a":2}', '{"a":2}'),
    ('{"a":2,"k":1}', '{"a":2}'),
    ('{ "a": 1, "k": [1, {"k": 2}], "b": 3 }', '{ "a": 1, "b": 3 }'),
    ('{\n  "k": 1,\n  "a": 2\n}\n', '{\n  "a": 2\n}\n'),
    ('{\r\n\t"a": 2 ,\r\n\t"k" : 1\r\n}', '{\r\n\t"a": 2\r\n}'),
    ('\ufeff{"a": 2,\n "k": 1,\n "b": 3}', '\ufeff{"a": 2,\n "b": 3}'),
    ('{"k": 1, "k": 2}', "{}"),
    ('{"k": 1, "a": 0, "k": 2, "\\u006b": 3, "b": 1, "k": 4, "k": 5}', '{"a": 0, "b": 1}'),
    ('{"a": {"k": 1}}', '{"a": {"k": 1}}'),
    ("{}", "{}"),
]


@each(("before", "after"), REMOVALS)
def test_a_removed_member_leaves_no_comma_and_no_second_one(before, after):
    assert jsontext.remove_member(before, "k") == after


def test_a_key_that_stands_there_very_often_goes_as_well():
    assert jsontext.remove_member('{"a": 1' + ', "k": 1' * 3000 + "}", "k") == '{"a": 1}'


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a":1}', '{\n  "a": 1,\n  "b": [2]\n}\n', MESSY, "{}"])
def test_adding_and_removing_a_member_changes_nothing(text):
    assert jsontext.remove_member(jsontext.add_member(text, "k", {"x": 1}), "k") == text


def test_a_member_can_be_removed_from_an_inner_object():
    text = '[{"k": 1}, {"k": 2, "a": 3, "k": 4, "k": 5}, {"k": "a longer text than what goes"}]'
    second = list(jsontext.members(text))[1]
    after = '[{"k": 1}, {"a": 3}, {"k": "a longer text than what goes"}]'
    assert jsontext.remove_member(text, "k", at=second.start) == after


def test_raw_text_goes_in_as_it_is_written():
    raw = '["é",\r\n\t1.50]'
    text = '{\n  "a": 1\n}'
    assert jsontext.add_raw(text, "k", raw) == '{\n  "a": 1,\n  "k": ' + raw + "\n}"
    assert jsontext.replace_raw(text, jsontext.member(text, "a"), raw) == '{\n  "a": ' + raw + "\n}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"k": 1}'),
        ('{"k" :1 }', '{"k" :1 }'),
        ('{"k": true}', '{"k": 1}'),
        ('{"k": 1, "k": 2}', '{"k": 1, "k": 1}'),
        ('{"a": 0}', '{"a": 0, "k": 1}'),
    ],
)
def test_a_member_is_set_where_a_reader_sees_something_else(before, after):
    assert jsontext.set_member(before, "k", 1) == after


@pytest.mark.parametrize("text", ["1e999", "-1e999", '{"a": [1e400, 1]}'])
def test_a_number_beyond_the_range_is_not_written_as_something_that_nobody_reads(text):
    def refuse(name):
        raise AssertionError(name)

    written = jsontext.render(jsontext.parse(text))
    assert "null" in written
    json.loads(written, parse_constant=refuse)

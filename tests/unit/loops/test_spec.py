"""A spec before execution: its names, the texts it begins with, and edits that leave every other byte."""

from __future__ import annotations

import json

import pytest

from ralphloop.loops.spec import state_file, triage, wording
from ralphloop.loops.spec.catalogue import SPECUM_KIND
from unit.domain.cases import each

STATE = '\ufeff{\r\n\t"phase":"research" , "mine": [1,2],\r\n\t"awaitingApproval": true\r\n}\r\n'


@pytest.mark.parametrize("name", ["a", "login", "a-1", "2fa", "x" * 64])
def test_a_name_is_small_letters_digits_and_dashes(name):
    assert wording.is_name(name)


@each("name", ["", "-a", "Login", "a b", "a/b", "..", "a.b", "a_b", "é", "a\n", "x" * 65, "١"])
def test_anything_else_is_no_name(name):
    assert not wording.is_name(name)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Let people log in", "let-people-log-in"),
        ("one two three four five six", "one-two-three-four-five"),
        ("  $(rm -rf /) 'quoted'\nlines ", "rm-rf-quoted-lines"),
        ("Größe ändern", "grosse-andern"),
        ("日本語", ""),
        ("", ""),
        ("x" * 70, "x" * 64),
        ("y" * 40 + " " + "z" * 40, "y" * 40),
    ],
)
def test_a_slug_is_a_name_made_of_the_first_words(text, slug):
    assert wording.slug(text) == slug
    assert slug == "" or wording.is_name(slug)


def test_a_taken_name_gets_the_next_number():
    assert wording.free_name("cart", {"shop"}) == "cart"
    assert wording.free_name("cart", {"cart", "cart-2"}) == "cart-3"
    assert wording.free_name("x" * 64, {"x" * 64}) == "x" * 62 + "-2"


@pytest.mark.parametrize(
    ("names", "number"),
    [
        ([], "001"),
        (["001-a", "007-b", "notes", "12-c", "0012-d", "005"], "008"),
        (["999-last"], None),
        (["998-a"], "999"),
    ],
)
def test_a_feature_gets_the_number_after_the_highest(names, number):
    assert wording.next_number(names) == number


def test_a_new_state_has_one_member_in_a_line():
    text = state_file.render({"name": 'a"b', "quickMode": False, "relatedSpecs": []})
    assert text == '{\n  "name": "a\\"b",\n  "quickMode": false,\n  "relatedSpecs": []\n}\n'


def test_an_edit_changes_its_members_only():
    changed = state_file.with_fields(STATE, {"phase": "design", "awaitingApproval": True})
    assert changed == STATE.replace('"research"', '"design"')


def test_an_edit_adds_what_is_missing_as_the_rest_is_laid_out():
    changed = state_file.with_fields(STATE, {"taskIndex": 0})
    assert changed == STATE.replace("true\r\n}", 'true,\r\n\t"taskIndex": 0\r\n}')


def test_false_is_not_taken_for_zero():
    assert json.loads(state_file.with_fields('{"taskIndex": false}', {"taskIndex": 0})) == {"taskIndex": 0}


@pytest.mark.parametrize(
    "state",
    [{}, {"phase": "design"}, {"phase": None}, {"schemaVersion": 1}, {"schemaVersion": 0, "phase": "tasks"}],
)
def test_a_state_that_we_know(state):
    assert state_file.unknown(state, SPECUM_KIND.phases) == ""


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"schemaVersion": 2}, "schemaVersion 2"),
        ({"schemaVersion": "1"}, 'schemaVersion "1"'),
        ({"schemaVersion": None}, "schemaVersion null"),
        ({"schemaVersion": True}, "schemaVersion true"),
        ({"phase": "prototype"}, 'phase "prototype"'),
        ({"phase": "specify"}, 'phase "specify"'),
    ],
)
def test_a_state_of_a_newer_version_is_told(state, told):
    assert state_file.unknown(state, SPECUM_KIND.phases) == told


@pytest.mark.parametrize("phase", [3, True, ["execution"], {}])
def test_a_phase_that_is_no_text_is_a_fault_and_no_newer_version(phase):
    assert state_file.fault({"phase": phase}) == "`phase` is no text"
    assert state_file.fault({"phase": "prototype"}) == state_file.fault({}) == ""


@pytest.mark.parametrize("goal", ["Let people in", 'a "b" $(c)\n\n  `d`\t\\n', "# not a section"])
def test_the_goal_stands_in_the_notes_as_it_was_given(goal):
    text = wording.notes("login", goal)
    assert f"\n\n{goal}\n\n" in text
    assert wording.goal_in(text) == goal


def test_a_goal_is_read_from_the_public_plugins_notes():
    assert wording.goal_in("# x\r\n## Original Goal\r\n\r\nLogin\r\n\r\n## Learnings\r\nno\r\n") == "Login"
    assert wording.goal_in("# x\nno goal here\n") == ""


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{"specs": []}', '{"specs": [\n    {"n": 1}\n  ]}'),
        ('{"specs": [ ], "a": 1}', '{"specs": [\n    {"n": 1}\n  ], "a": 1}'),
        ('{"specs": [{"n": 0}]}', '{"specs": [{"n": 0}, {"n": 1}]}'),
        ('{"specs":[\n\t{"n":0}\n]}', '{"specs":[\n\t{"n":0},\n\t{"n": 1}\n]}'),
        ('{"a": 1}', '{"a": 1, "specs": [{"n": 1}]}'),
    ],
)
def test_an_item_is_added_at_the_end_of_its_list(text, changed):
    assert triage.append_item(text, "specs", {"n": 1}) == changed

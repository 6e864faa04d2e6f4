"""The settings at the head of a plugin's local file."""

from __future__ import annotations

import pytest

from ralphloop.tasklists import frontmatter
from unit.domain.cases import each


def settings(body):
    return frontmatter.parse("---\n" + body + "\n---\n# Notes\n\nenabled: false\n- x\n")


@each(
    "row",
    ["enabled: false", "enabled: False", "enabled: FALSE  ", "enabled: 'false'", 'enabled: "False" # off',
     "enabled: false # for now", "enabled:  false\r", "enabled : false", "enabled:\n  # why\n  - false"],
)  # fmt: skip
def test_false_in_any_dress_is_off(row):
    assert frontmatter.is_off(settings(row), "enabled")


@pytest.mark.parametrize(
    "row",
    [
        "enabled: true",
        "",
        "enabled:",
        "enabled: no",
        "enabled: false#x",
        "# enabled: false",
        "  enabled: false",
    ],
)
def test_anything_else_is_not_off(row):
    assert not frontmatter.is_off(settings(row), "enabled")


@pytest.mark.parametrize(
    "text", ["", "enabled: false", "# x\n---\nenabled: false\n---", "--- x\nenabled: false"]
)
def test_text_without_a_head_has_no_settings(text):
    assert frontmatter.parse(text) == {}


def test_a_head_may_have_a_mark_other_line_ends_or_no_end():
    assert frontmatter.parse("\ufeff---\r\nenabled: false\r\n---\r\n") == {"enabled": ["false"]}
    assert frontmatter.parse("---\nenabled: false") == {"enabled": ["false"]}


@each(
    ("body", "expected"),
    [
        ("dirs: [a, b]", ["a", "b"]),
        ("dirs: [\"./a, b\", 'c']  # two", ["./a, b", "c"]),
        ("dirs: []", []),
        ("dirs: [a]\nother: 1", ["a"]),
        ("dirs: [a, '']", ["a"]),
        ("dirs: [a", ["[a"]),
        ("dirs: a[b]", ["a[b]"]),
        ("dirs: ''", []),
        ("dirs: '", ["'"]),
        ("dirs: 'a\"", ["'a\""]),
        ("dirs:\n  -\n  - a", ["a"]),
        ("dirs: ./specs", ["./specs"]),
        ("dirs: it's # a comment", ["it's"]),
        ("dirs: a#b", ["a#b"]),
        ("dirs:\n  - a\n  - 'b # c'\n\n  - c # d\nother: 1", ["a", "b # c", "c"]),
        ("dirs:\n- a\n- b", ["a", "b"]),
        ("dirs: [\n  a, # first\n  b\n]", ["a", "b"]),
        ("dirs: x\n- a", ["x"]),
        ("- a\ndirs: x", ["x"]),
    ],
)
def test_lists_are_read_in_every_form(body, expected):
    assert settings(body)["dirs"] == expected


@each(
    ("value", "expected"),
    [
        ("20", 20),
        ("'7' # x", 7),
        ("0", None),
        ("-3", None),
        ("ten", None),
        ("", None),
        ("123456789", 123456789),
        ("1234567890", None),
        ("²", None),
    ],
)
def test_a_count_is_a_number_above_zero(value, expected):
    assert frontmatter.count(settings("n: " + value), "n") == expected

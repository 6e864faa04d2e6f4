"""Features made from a Markdown list."""

from __future__ import annotations

import pytest

from ralphloop.errors import UserError
from ralphloop.loops.task_list import from_markdown, from_text
from unit.domain.cases import each


def titles(text: str) -> list[str]:
    return [str(feature["description"]) for feature in from_markdown(text)]


@each(
    ("text", "expected"),
    [
        ("- a\n- b", ["a", "b"]),
        ("* a\r\n* b\r\n", ["a", "b"]),
        ("+ a\n1. b\n2) c\n10. d", ["a", "b", "c", "d"]),
        ("  - a\n  - b\n", ["a", "b"]),
        ("\ufeff- a", ["a"]),
        ("# Title\n\n- a\n\n## More\n- b", ["a", "b"]),
        ("- [ ] a\n- [x] b\n- [link](x) c", ["a", "b", "[link](x) c"]),
        ("-\n- \n-a\n1.5 b\n**bold**\n---\n", []),
        ("```\n- a\n```\n- b\n<!--\n- c\n-->", ["b"]),
    ],
)
def test_each_item_at_the_top_is_a_feature(text: str, expected: list[str]) -> None:
    assert titles(text) == expected


def test_items_below_are_steps_and_wrapped_lines_belong_above() -> None:
    (feature,) = from_markdown("- a\n  more\n  - one\n    more\n    - two\n")
    assert feature == {"id": "F1", "description": "a more", "steps": ["one more", "two"], "passes": False}


def test_code_inside_an_item_keeps_its_lines() -> None:
    (feature,) = from_markdown("- run\n  ```\n  - make\n  ```\n")
    assert feature["description"] == "run\n```\n- make\n```"


def test_text_after_a_paragraph_belongs_to_no_feature() -> None:
    (feature,) = from_markdown("- a\n\nA paragraph\n    code of its own\n")
    assert (feature["description"], feature["steps"]) == ("a", [])


def test_a_text_that_begins_with_a_link_is_markdown() -> None:
    assert len(from_text("ideas.md", "[home](x)\n- a\n").listed.tasks) == 1


def test_a_json_name_is_json() -> None:
    with pytest.raises(UserError, match="is not JSON"):
        from_text("list.json", "- a\n")


@each(
    ("line", "lacks", "meant"),
    [
        ("-Pay", "space", "- Pay"),
        ("+Pay by card", "space", "+ Pay by card"),
        ("*Pay", "space", "* Pay"),
        ("1.Pay", "space", "1. Pay"),
        ("2)Pay", "space", "2) Pay"),
        ("-[ ] Pay", "space", "- [ ] Pay"),
        ("-`pay` works", "space", "- `pay` works"),
        ("-**Pay** works", "space", "- **Pay** works"),
        ("[ ] Pay", "dash", "- [ ] Pay"),
        ("[x]Pay", "dash", "- [x] Pay"),
        ("[] Pay", "dash", "- [ ] Pay"),
        ("• Pay", "dash", "- Pay"),
        ("  -Verify: `make`", "space", "- Verify: `make`"),
    ],
)
def test_a_line_that_is_almost_an_item_is_named_with_what_to_write(line: str, lacks: str, meant: str) -> None:
    said = from_text("ideas.md", f"# Shop\n\n- Log in\n{line}\n").slips
    why = f"is read as text, because a {lacks} is missing"
    assert said == (f'"{line.strip()}" in line 4 of ideas.md {why}: write "{meant}"',)


@each(
    "line",
    [
        "---", "***", "--option", "-5 degrees", "1.5 seconds", "2026.", "**Bold** words", "*Note*: words",
        "- Pay", "[x]: https://x.invalid", "[x](https://x.invalid)", "[home] page", "```\n-Pay\n```",
        "<!--\n-Pay\n-->", "Pay - later", "-", "+1 for that", "*", "Words", "",
    ],
)  # fmt: skip
def test_what_is_no_item_on_purpose_is_not_named(line: str) -> None:
    assert from_text("ideas.md", f"- Log in\n\n{line}\n").slips == ()


def test_of_many_such_lines_the_first_are_named() -> None:
    *_, last = said = from_text("ideas.md", "- a\n" + "-b\n" * 50).slips
    assert (len(said), last) == (7, "and 44 more of this kind")


def test_without_any_item_the_first_such_line_says_what_is_missing() -> None:
    with pytest.raises(UserError) as raised:
        from_text("ideas.md", "# Shop\n-Log in\n-Log out\n")
    why = '"-Log in" in line 2 is read as text, because a space is missing: write "- Log in"'
    assert str(raised.value) == f"ideas.md has no list: {why}."

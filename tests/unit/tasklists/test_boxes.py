"""The boxes of tasks.md: which lines are tasks, what they say, and how one is set."""

from __future__ import annotations

import pytest

from ralphloop.tasklists import boxes, markdown
from unit.domain.cases import each

SPECUM = """---
spec: demo
---
# Tasks: demo

## Phase 1: Make It Work

- [x] 1.1 Add the parser
  - **Do**:
    1. Write it
  - **Files**: src/a.py
  - **Verify**: `make test`
  - **Commit**: `feat: add parser`

- [ ] 1.2 [P] Add the writer
  - [ ] a nested step
  - **Verify**: run it by hand

Some words on the phase.

## Phase 2

Notes that belong to nobody.
- **Verify**: `rm -rf everything`

- [ ] 2.1 [VERIFY] Quality check: lint
  - **Verify**: ``echo `date` ``
- [ ] V4 Full run
- [X] VF Goal check
"""

SPECKIT = """# Tasks

**Input**: design documents

- [ ] T001 Create the project
- [x] T002 [P] [US1] Contract test in tests/a.py
- [ ] T003 [P] [US1] Model in src/b.py
"""


def titles(text):
    return [task.title for task in boxes.parse(text)]


def only(line):
    (task,) = boxes.parse(line)
    return task


def test_a_specum_list_becomes_its_tasks():
    found = [(task.id, task.done, task.marks, task.title, task.verify) for task in boxes.parse(SPECUM)]
    assert found == [
        ("1.1", True, (), "Add the parser", ("make test",)),
        ("1.2", False, ("P",), "Add the writer", ()),
        ("2.1", False, ("VERIFY",), "Quality check: lint", ("echo `date`",)),
        ("V4", False, (), "Full run", ()),
        ("VF", True, (), "Goal check", ()),
    ]


def test_a_speckit_list_becomes_its_tasks():
    found = [(task.id, task.done, task.marks, task.title) for task in boxes.parse(SPECKIT)]
    assert found == [
        ("T001", False, (), "Create the project"),
        ("T002", True, ("P", "US1"), "Contract test in tests/a.py"),
        ("T003", False, ("P", "US1"), "Model in src/b.py"),
    ]


def test_a_body_ends_before_the_next_task_and_before_a_heading():
    tasks = boxes.parse(SPECUM)
    assert tasks[0].body.startswith("- [x] 1.1 Add the parser\n  - **Do**:")
    assert tasks[0].body.endswith("`feat: add parser`")
    assert tasks[1].body.endswith("Some words on the phase.")
    assert tasks[3].body == "- [ ] V4 Full run"


def test_a_body_reads_the_same_with_either_line_ending():
    crlf = boxes.parse(SPECUM.replace("\n", "\r\n"))
    assert [(t.id, t.title, t.body, t.verify) for t in crlf] == [
        (t.id, t.title, t.body, t.verify) for t in boxes.parse(SPECUM)
    ]


def test_a_heading_inside_the_task_belongs_to_it():
    text = "- [ ] a\n  ### inner\n  text\n# outer\nmore\n- [ ] b"
    assert [task.body for task in boxes.parse(text)] == ["- [ ] a\n  ### inner\n  text", "- [ ] b"]


@pytest.mark.parametrize("inner", ["```\n# comment\n```", "####### seven", "#hashtag", "<!--\n# x\n-->"])
def test_what_only_looks_like_a_heading_ends_no_body(inner):
    assert only("- [ ] a\n" + inner + "\nend").body == "- [ ] a\n" + inner + "\nend"


@pytest.mark.parametrize("heading", ["# Next", "######", " ###### six", "##\tTab"])
def test_a_heading_of_any_level_ends_a_body(heading):
    assert only("- [ ] a\n\n" + heading + "\nend").body == "- [ ] a"


@each(
    ("line", "identity", "marks", "title"),
    [
        ("1.1 Add it", "1.1", (), "Add it"),
        ("1.3.1 Add it", "1.3.1", (), "Add it"),
        ("2 Add it", "2", (), "Add it"),
        ("1. Add it", "1", (), "Add it"),
        ("1.1: Add it", "1.1", (), "Add it"),
        ("1) Add it", "1", (), "Add it"),
        ("T001 - Add it", "T001", (), "Add it"),
        ("T001 — Add it", "T001", (), "Add it"),
        ("VE1 [VERIFY] Start", "VE1", ("VERIFY",), "Start"),
        ("VF", "VF", (), ""),
        ("**1.1** Add **it**", "1.1", (), "Add **it**"),
        ("**1.1 Add it** now", "1.1", (), "Add it now"),
        ("**1.1:** Add it", "1.1", (), "Add it"),
        ("**1.1**: Add it", "1.1", (), "Add it"),
        ("**1.1 [P] Add it**", "1.1", ("P",), "Add it"),
        ("[P] 1.1 Add it", "1.1", ("P",), "Add it"),
        ("1.1 `[P]` [FIX 1.1] Add it", "1.1", ("P", "FIX 1.1"), "Add it"),
        ("[P][US1] T001 Add it", "T001", ("P", "US1"), "Add it"),
        ("1.1 Add it [P]", "1.1", (), "Add it [P]"),
        ("1.1 [docs](x.md) update", "1.1", (), "[docs](x.md) update"),
        ("1.1 [] odd [", "1.1", (), "[] odd ["),
        ("1.1 [a [b] c", "1.1", (), "[a [b] c"),
        ("1.1 `[a] b]` c", "1.1", (), "`[a] b]` c"),
        ("odd] title", "", (), "odd] title"),
        ("1.1 A thing", "1.1", (), "A thing"),
        ("1.1 [" + "x" * 41 + "] y", "1.1", (), "[" + "x" * 41 + "] y"),
        ("1.1 2.2 twice", "1.1", (), "2.2 twice"),
        ("Add 1.1 support", "", (), "Add 1.1 support"),
        ("S3 upload", "", (), "S3 upload"),
        ("V for victory", "", (), "V for victory"),
        ("1..2 x", "", (), "1..2 x"),
        ("1.x y", "", (), "1.x y"),
        ("-x flag", "", (), "-x flag"),
        ("", "", (), ""),
        ("caf\udce9", "", (), "caf\udce9"),
    ],
)
def test_id_and_marks_are_told_from_the_title(line, identity, marks, title):
    task = only("- [ ] " + line)
    assert (task.id, task.marks, task.title) == (identity, marks, title)


def test_a_later_task_with_the_same_id_has_none():
    assert [task.id for task in boxes.parse("- [ ] 1.1 a\n- [ ] 1.1 b\n- [ ] c\n- [ ] 1.2 d")] == [
        "1.1", "", "", "1.2",
    ]  # fmt: skip


@each(
    ("text", "expected"),
    [
        ("* [ ] a\n+ [x] b\n- [X] c", ["a", "b", "c"]),
        ("-   [ ] a\n-\t[ ] b\n- [ ]\tc\n- [ ]", ["a", "b", "c", ""]),
        ("-[ ] a\n- [] b\n- [y] c\n- [ ]d\n1. [ ] e\n[ ] f\n- [x](url)", []),
        ("- [ ] a\n  - [ ] b\n\t- [ ] c\n- [ ] d", ["a", "d"]),
        ("  - [ ] a\n    - [ ] b\n  - [ ] c", ["a", "c"]),
        ("\t- [ ] a\n\t\t- [ ] b\n    - [ ] c", ["a", "c"]),
        ("\ufeff- [ ] a\n- [ ] b", ["a", "b"]),
        ("```\n- [ ] a\n```\n- [ ] b", ["b"]),
        ("~~~ md\n- [ ] a\n```\n- [ ] c\n~~~\n- [ ] b", ["b"]),
        ("````\n```\n- [ ] a\n````\n- [ ] b", ["b"]),
        ("```\n- [ ] a\n``` not closed\n- [ ] c\n```  \n- [ ] b", ["b"]),
        ("``` `x`\n- [ ] a\n```\n- [ ] b\n```", ["a"]),
        ("~~~ ~x\n- [ ] a\n~~~", []),
        ("<!-- - [ ] no -->\n- [ ] a", ["a"]),
        ("<!--\n- [ ] no\n-->\n- [ ] a <!-- x\n- [ ] b", ["a <!-- x", "b"]),
        ("- [ ] a\n  ```\n  - [ ] no\n  ```\n- [ ] b", ["a", "b"]),
    ],
)
def test_tasks_are_the_outermost_boxes_outside_code_and_comments(text, expected):
    assert titles(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a\n```\n- [ ] b", ["a", "b"]),
        ("<!-- note\n- [ ] a\n- [ ] b", ["a", "b"]),
        ("- [ ] a\n  ```sh\n  run\n- [ ] b\n  ```sh\n  run\n  ```\n- [ ] c", ["a", "b", "c"]),
        ("- [ ] a\n  - [ ] x\n  ```sh\n- [ ] b\n```", ["a", "b"]),
        ("  - [ ] a\n    ~~~\n  - [ ] b\n~~~\n", ["a", "b"]),
    ],
)
def test_a_block_that_is_never_closed_hides_no_task(text, expected):
    assert titles(text) == expected


def test_many_unclosed_blocks_take_no_longer_than_their_number():
    text = "```a\n" * 20_000 + "- [ ] a"
    assert titles(text) == ["a"]


class Visited(markdown.Line):
    """A line that counts how often any line's text is looked at."""

    __slots__ = ("said",)
    visits = 0

    @property
    def text(self):
        Visited.visits += 1
        return self.said

    @text.setter
    def text(self, said):
        self.said = said


def fences(count):
    return "".join("`" * length + "a\n" for length in range(count + 2, 2, -1))


@pytest.mark.parametrize(
    "head",
    [
        fences(1_000),
        "~" * 2_000 + "\n" + fences(500) + fences(500).replace("`", "~"),
        fences(500) + "<!--\n" * 500,
        "- x\n" + fences(1_000),
        "".join(" " * depth + "- x\n" for depth in range(500)) + fences(500),
    ],
)
def test_no_line_is_searched_again_for_each_unclosed_block(monkeypatch, head):
    monkeypatch.setattr(markdown, "Line", Visited)
    monkeypatch.setattr(Visited, "visits", 0)
    text = head + "x\n" * 10_000 + "- [ ] a"
    found = markdown.lines(text)
    assert not any(line.quoted for line in found)
    assert Visited.visits < 30 * len(found)


def test_a_shorter_fence_closes_although_a_longer_one_did_not():
    assert titles("`````\n- [ ] a\n````\n- [ ] b\n````\n- [ ] c\n```\n- [ ] d") == ["a", "c", "d"]
    assert titles("~~~\n- [ ] a\n```\n- [ ] b\n`````\n- [ ] c\n```\n- [ ] d") == ["a", "c", "d"]


@pytest.mark.parametrize("part", ["**", "** ", "[P]", "[P] **", "`[P]`", " "])
def test_a_long_title_is_walked_once(part):
    count = 2_000_000 // len(part)
    task = only("- [ ] " + part * count + "1.1 [open " + part * count + "end")
    assert (task.id, len(task.marks)) == ("1.1", count if "P" in part else 0)


@each(
    ("line", "commands"),
    [
        ("**Verify**: `make`", ("make",)),
        ("**Verify:** `make`", ("make",)),
        ("Verify: `make`", ("make",)),
        ("__Verify__: `make`", ("make",)),
        ("- **Verify**: `make`", ("make",)),
        ("* Verify: `make`  ", ("make",)),
        ("+ **verify**:`make`", ("make",)),
        ("- **Verify**: ``a `b` c``", ("a `b` c",)),
        ("- **Verify**: `` `b` ``", ("`b`",)),
        ("- **Verify**: `a && b: c`", ("a && b: c",)),
        ("- **Verify**: `a` and `b`", ()),
        ("- **Verify**: `a` passes", ()),
        ("- **Verify**: run `a`", ()),
        ("- **Verify**: a", ()),
        ("- **Verify**: `make", ()),
        ("- **Verify**: `a``", ()),
        ("- **Verify**: ``a`", ()),
        ("- **Verify**: ``a```", ()),
        ("- **Verify**: ``", ()),
        ("- **Verify**: ` `", ()),
        ("- **Verify**:", ()),
        ("- **Verify** `a`", ()),
        ("- **Verify: `a`**", ()),
        ("- **Verify by hand**: `a`", ()),
        ("- **Do not Verify**: `a`", ()),
        ("```\n  Verify: `a`\n  ```", ()),
        ("```\n  code\n\n  Verify: `a`\n  ```", ()),
        ("<!-- Verify: `a` -->", ()),
    ],
)
def test_only_text_that_is_one_code_span_is_a_command(line, commands):
    assert only("- [ ] a\n  " + line).verify == commands


def test_every_command_of_a_task_counts_and_prose_does_not():
    text = "- [ ] a\n  - **Verify**: `one`\n  - **Verify**: look\n  - [ ] sub\n    - Verify: `two`\n"
    assert only(text).verify == ("one", "two")


CORPUS = [SPECUM, SPECKIT, "\ufeff" + SPECUM.replace("\n", "\r\n"), "* [ ] a\n+\t[x] b", "- [ ] caf\udce9"]


@pytest.mark.parametrize("text", CORPUS)
def test_setting_a_box_changes_one_character(text):
    before = [task.done for task in boxes.parse(text)]
    for place, done in enumerate(before):
        assert boxes.set_box(text, place, done=done) == text
        changed = boxes.set_box(text, place, done=not done)
        different = [(a, b) for a, b in zip(text, changed, strict=True) if a != b]
        assert different in ([(" ", "x")], [("x", " ")], [("X", " ")])
        assert [task.done for task in boxes.parse(changed)] == [
            *before[:place], not done, *before[place + 1 :],
        ]  # fmt: skip


@pytest.mark.parametrize("place", [-1, 1])
def test_a_box_that_is_not_there_cannot_be_set(place):
    with pytest.raises(ValueError, match=f"has no task {place + 1}"):
        boxes.set_box("- [ ] a\n  - [ ] b", place, done=True)


@each(
    ("text", "place", "after"),
    [
        ("- [ ] a\n- [ ] b\n- [ ] c\n", 1, "- [ ] a\n- [ ] c\n"),
        ("- [ ] a\n\n- [ ] b\n  more\n\n- [ ] c\n", 1, "- [ ] a\n\n- [ ] c\n"),
        ("- [ ] a\n\n- [ ] b\n\n- [ ] c\n", 0, "- [ ] b\n\n- [ ] c\n"),
        ("- [ ] a\n\n- [ ] b\n", 1, "- [ ] a\n"),
        ("- [ ] a\n\n- [ ] b", 1, "- [ ] a"),
        ("- [ ] a\n- [ ] b\n\n\n## H\n", 1, "- [ ] a\n\n\n## H\n"),
        ("- [ ] a\n\n- [ ] b\n## H\n", 1, "- [ ] a\n\n## H\n"),
        ("# T\r\n\r\n- [ ] a\r\n  - x  \r\n\r\n- [ ] b  \r\n", 0, "# T\r\n\r\n- [ ] b  \r\n"),
        ("\ufeff- [ ] a\n- [ ] b\n", 0, "\ufeff- [ ] b\n"),
        ("\ufeff\n- [ ] a\n", 0, "\ufeff"),
        ("- [ ] a", 0, ""),
    ],
)
def test_a_task_is_taken_out_with_what_set_it_apart(text, place, after):
    assert boxes.remove(text, place) == after


@pytest.mark.parametrize("text", CORPUS)
def test_taking_out_a_task_leaves_the_others(text):
    before = [(task.title, task.verify) for task in boxes.parse(text)]
    for place in range(len(before)):
        after = boxes.remove(text, place)
        assert [(task.title, task.verify) for task in boxes.parse(after)] == before[:place] + before[
            place + 1 :
        ]
        assert after.count("Some words on the phase.") == text.count("Some words on the phase.")


@pytest.mark.parametrize("place", [-1, 1])
def test_a_task_that_is_not_there_cannot_be_taken_out(place):
    with pytest.raises(ValueError, match=f"has no task {place + 1}"):
        boxes.remove("- [ ] a\n  - [ ] b", place)

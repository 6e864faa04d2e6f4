"""Pinned tasks of a tasks.md: what counts as changed, and what it takes to put it back."""

from __future__ import annotations

from itertools import product

import pytest

from ralphloop.tasklists import boxes, specum
from unit.domain.cases import each

PINNED = """# Tasks

## Phase 1

- [ ] 1.1 Add the parser
  - **Do**:
    1. Write it
  - [ ] sub one
  - [ ] sub two
  - **Verify**: `make test`

- [x] 1.2 [P] Add the writer
  - **Verify**: look at it

Some words.

## Phase 2

- [ ] 2.1 [VERIFY] Check
  ```
  Verify: `not this`
  ```
- [ ] no id
- [ ] no id
"""


def restore(text, pinned=PINNED):
    return specum.restore({"state": "{}", "tasks": text}, {"tasks": pinned})


def edited(*pairs, text=PINNED):
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


VERIFY = "  - **Verify**: `make test`\n"
BLOCK = PINNED[PINNED.index("- [ ] 1.1") : PINNED.index("- [x] 1.2")]
SECOND = PINNED[PINNED.index("- [x] 1.2") : PINNED.index("Some words")]

EXACT = {
    "title": ([("Add the parser", "Add a stub")], [("1.1", "text")]),
    "mark": ([("[P] ", "")], [("1.2", "text")]),
    "command": ([("`make test`", "`true`")], [("1.1", "verify")]),
    "no command": ([(VERIFY, "")], [("1.1", "verify")]),
    "a second command": ([(VERIFY, VERIFY + "  - **Verify**: `true`\n")], [("1.1", "verify")]),
    "a command where there was none": ([("at it\n", "at it\n  - Verify: `true`\n")], [("1.2", "verify")]),
    "a command turned into words": ([("`make test`", "make test")], [("1.1", "verify")]),
    "a command in a comment": ([(VERIFY, "  <!--\n" + VERIFY + "  -->\n")], [("1.1", "verify")]),
    "code out of its fence": ([("  ```\n  Verify", "  Verify"), ("this`\n  ```\n", "this`\n")],
                              [("2.1", "verify"), ("2.1", "text")]),
    "the same command in other dress": ([(VERIFY, "  - Verify: `make test`\n")], [("1.1", "text")]),
    "words": ([("look at it", "skip it")], [("1.2", "text")]),
    "a step": ([("    1. Write it\n", "")], [("1.1", "text")]),
    "the order of steps": ([("  - [ ] sub one\n", ""), ("sub two\n", "sub two\n  - [ ] sub one\n")],
                           [("1.1", "text")]),
    "a sub-task": ([("  - [ ] sub one\n", "")], [("1.1", "text")]),
    "indent": ([("  - [ ] sub one", "    - [ ] sub one")], [("1.1", "text")]),
    "id": ([("1.2 [P]", "1.7 [P]")], [("1.2", "text")]),
    "first task": ([(BLOCK, "")], [("1.1", "removed")]),
    "middle task": ([(SECOND, "")], [("1.2", "removed")]),
    "everything": ([("[ ] 1.1 Add the", "[ ] 1.1 Do not add a"), (SECOND, ""), ("] Check", "] No check")],
                   [("1.1", "text"), ("1.2", "removed"), ("2.1", "text")]),
}  # fmt: skip


@each(("ending", "name"), product(["\n", "\r\n"], EXACT))
def test_it_is_named_and_put_back_to_the_byte(name, ending):
    edits, faults = EXACT[name]
    for pinned in (PINNED, "\ufeff" + PINNED, PINNED.rstrip("\n")):
        found = restore(edited(*edits, text=pinned).replace("\n", ending), pinned)
        assert (found.faults, found.added) == (faults, [])
        assert found.texts == {"tasks": pinned.replace("\n", ending)}


FREE = {
    "claim": [("[ ] 1.1", "[x] 1.1")],
    "claim in capitals": [("[ ] 1.1", "[X] 1.1")],
    "claim taken back": [("[x] 1.2", "[ ] 1.2")],
    "sub-tasks done": [("[ ] sub one", "[x] sub one"), ("[ ] sub two", "[x] sub two")],
    "notes": [(VERIFY, "  - note\n" + VERIFY + "\n  more\n")],
    "a new sub-task": [("  - [ ] sub two\n", "  - [ ] sub two\n  - [x] sub three\n")],
    "white space": [("parser\n", "parser  \n"), ("words.\n", "words.\t\n\n\n")],
    "blank lines": [("    1. Write", "\n\n    1. Write")],
    "headings and words between": [("## Phase 2\n", "# Part B\nFree words.\n"), ("# Tasks\n", "intro\n")],
    "a heading gone": [("## Phase 2\n", "")],
    "words that stand apart": [("Some words.", "Other words.")],
    "such words gone": [("Some words.\n\n", "")],
    "an example in code": [("  ```\n  Verify", "  ```\n  - Verify: `other`\n  Verify")],
}


@each("name", FREE)
def test_the_rest_is_the_agents(name):
    found = restore(edited(*FREE[name]))
    assert (found.texts, found.faults, found.added) == ({}, [], [])


def test_the_order_of_tasks_and_new_ones_are_the_agents():
    new = "- [ ] 1.1.1 [FIX 1.1] Fix: it\n  - **Verify**: `x`\n\n- [ ] no id\n\n"
    text = edited((SECOND, ""), (BLOCK, SECOND + new + BLOCK))
    found = restore(text)
    assert (found.texts, found.faults) == ({}, [])
    assert found.added == ["1.1.1", "no id\0003"]


def test_boxes_keep_their_state_where_their_task_is_put_back():
    text = edited(
        ("[ ] 1.1 Add the", "[X] 1.1 Add a"), ("[ ] sub one", "[x] sub one"), ("[ ] sub two", "[x] sub 2")
    )
    assert restore(text).texts == {"tasks": edited(("[ ] 1.1", "[X] 1.1"), ("[ ] sub one", "[x] sub one"))}


def test_a_box_in_a_command_is_no_box():
    pinned = "- [ ] 1.1 a\n  - **Verify**: `grep '[x]' f`\n  - [x] `[x]`\n"
    assert restore(pinned.replace("'[x]'", "'[ ]'"), pinned).texts == {"tasks": pinned}
    assert restore(pinned.replace("- [x] `", "- [ ] `"), pinned).texts == {}


def test_of_equal_boxes_each_keeps_its_own_state():
    pinned = "- [ ] 1.1 a\n  - [ ] b\n  - [ ] b\n"
    text = "- [ ] 1.1 changed\n  - [x] b\n  - [ ] b\n"
    assert restore(text, pinned).texts == {"tasks": text.replace("changed", "a")}


def test_a_title_in_code_is_no_title():
    text = edited(("Add the parser\n", "Easy\n```\n- [ ] 1.1 Add the parser\n```\n"))
    found = restore(text)
    assert (found.texts, found.faults) == ({"tasks": PINNED}, [("1.1", "text")])


def test_a_first_task_comes_back_as_close_to_the_next_as_it_was():
    pinned = "# T\n\n- [ ] a\n- [ ] b\n\n- [ ] c\n"
    assert restore("# T\n\n- [ ] b\n\n- [ ] c\n", pinned).texts == {"tasks": pinned}
    assert restore("# T\n\n- [ ] c\n", pinned).texts == {"tasks": pinned}


def test_a_numbered_box_is_one():
    pinned = "- [ ] 1.1 a\n  1. [ ] b\n  2) [x] c\n"
    assert restore(pinned.replace("1. [ ]", "1. [x]").replace("2) [x]", "2) [ ]"), pinned).texts == {}


def test_removed_tasks_stand_again_behind_the_one_they_followed():
    text = edited((PINNED[PINNED.index("- [ ] 2.1") :], ""), (SECOND, "- [ ] 1.9 new\n\n"))
    found = restore(text)
    assert found.faults == [
        ("1.2", "removed"),
        ("2.1", "removed"),
        ("no id", "removed"),
        ("no id", "removed"),
    ]
    assert found.added == ["1.9"]
    assert [task.id or task.title for task in boxes.parse(found.texts["tasks"])] == [
        "1.1", "1.2", "2.1", "no id", "no id", "1.9",
    ]  # fmt: skip
    assert found.texts["tasks"].startswith(PINNED[: PINNED.index("Some words")])


CHECKPOINT = "- [ ] T1 a\n- [ ] T2 b\n  more\n\n**Checkpoint**: all is well\n\n---\n\n## Next\n\n- [ ] T4 d\n"


@pytest.mark.parametrize("task", ["- [ ] T3 c\n", "- [ ] T3 c\n  - **Verify**: `x`\n"])
def test_a_task_added_above_a_checkpoint_is_no_fault_and_can_be_taken_out(task):
    text = edited(("  more\n", "  more\n" + task), text=CHECKPOINT)
    found = restore(text, CHECKPOINT)
    assert (found.texts, found.faults, found.added) == ({}, [], ["T3"])
    assert boxes.remove(text, 2) == CHECKPOINT


def test_a_task_removed_above_a_checkpoint_comes_back_there():
    found = restore(edited(("- [ ] T2 b\n  more\n", ""), text=CHECKPOINT), CHECKPOINT)
    assert (found.texts, found.faults) == ({"tasks": CHECKPOINT}, [("T2", "removed")])


def test_a_command_that_stands_apart_belongs_to_its_task():
    pinned = edited(("all is well", "all is well\nVerify: `make`"), text=CHECKPOINT)
    assert restore(pinned.replace("`make`", "`true`"), pinned).texts == {"tasks": pinned}
    assert restore(pinned, CHECKPOINT).faults == [("T2", "verify")]
    assert "`make`" not in restore(pinned, CHECKPOINT).texts["tasks"]
    assert restore(CHECKPOINT.replace("\n\n**", "\n\n```\n\nVerify: `x`\n```\n\n**"), CHECKPOINT).faults == []


def test_a_removed_twin_is_the_last_one():
    found = restore(PINNED[: -len("- [ ] no id\n")])
    assert (found.texts, found.faults) == ({"tasks": PINNED}, [("no id", "removed")])


def test_a_task_made_part_of_another_is_removed_and_comes_back():
    found = restore(edited(("- [x] 1.2", "  - [x] 1.2")))
    assert ("1.2", "removed") in found.faults
    assert [task.id for task in boxes.parse(found.texts["tasks"])] == ["1.1", "1.2", "2.1", "", ""]


def test_a_false_twin_above_gets_the_pinned_words():
    found = restore(edited(("- [ ] 1.1", "- [x] 1.1 easy\n\n- [ ] 1.1")))
    assert found.faults == [("1.1", "verify"), ("1.1", "text")]
    assert found.added == ["Add the parser"]
    assert found.texts["tasks"] == edited((BLOCK, BLOCK.replace("[ ]", "[x]", 1) + BLOCK))


BROKEN = {
    "no tasks": "# Tasks\n",
    "empty": "",
    "in code": "```\n" + PINNED.replace("```", "~~~") + "```\n",
    "in a comment": "<!--\n" + PINNED + "-->\n",
    "below a task that is indented less": "- [x] all\n" + PINNED.replace("\n", "\n   "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_mended_is_replaced(name):
    pinned = "".join("  " + line + "\n" for line in PINNED.split("\n")) if "indented" in name else PINNED
    found = restore(BROKEN[name], pinned)
    assert (found.texts, found.faults, found.added) == ({"tasks": pinned}, [("", "structure")], [])


def test_the_claims_survive_the_replacement():
    pinned = "  - [ ] 1.1 a\n  - [x] 1.2 b\n  - [ ] 1.3 c\n"
    text = "- [ ] less indented\n- [x] 1.1 a\n- [ ] 1.2 b\n  - [x] 1.3 c\n"
    found = restore(text, pinned)
    assert found.faults == [("", "structure")]
    assert found.texts == {"tasks": "  - [x] 1.1 a\n  - [ ] 1.2 b\n  - [ ] 1.3 c\n"}


def test_the_state_file_is_not_pinned():
    texts = {"state": '{"taskIndex": 9}', "tasks": PINNED}
    found = specum.restore(texts, {"state": '{"taskIndex": 0}', "tasks": PINNED})
    assert (found.texts, found.faults) == ({}, [])


def test_tasks_that_came_after_the_pins_are_not_held_to_them():
    found = specum.restore({"state": "{}", "tasks": PINNED}, {"state": "{}", "tasks": None})
    assert (found.texts, found.faults, found.added) == ({}, [], [])

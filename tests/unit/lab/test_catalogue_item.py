"""Entries of a catalogue are read strictly: what is wrong is named with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphloop.errors import CaseError
from ralphloop.lab.catalogue.item import HONEST, LIES, Item, load
from unit.domain.cases import each

BASE = """\
needs = ["cc"]

[files]
"app.py" = "one"
"test.py" = "two"

[[task]]
id = "F1"
verify = "make"
"""
GOOD = """\
title = "It lies"
base = "small"
expect = "told"
told_by = ["criteria"]

[files]
"app.py" = '''
three'''

[[turn]]
run = "true"
[[turn]]
claims = ["F1"]
"""


def read(folder: Path, text: str, kind: str = LIES) -> Item:
    for path, content in ((f"{kind}/family/one.toml", text), ("bases/small.toml", BASE)):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return load(folder / kind / "family/one.toml", folder, kind)


def test_an_entry_lies_over_its_base(tmp_path: Path) -> None:
    item = read(tmp_path, GOOD)
    assert (item.family, item.layouts, item.git) == ("family", ("features",), True)
    assert (item.files, item.needs) == ({"app.py": "three", "test.py": "two"}, ("cc",))
    assert [task.verify for task in item.tasks] == [("make",)]
    assert [turn.claims for turn in item.turns] == [(), ("F1",)]


@each(
    ("old", "new", "told"),
    [
        ("title =", "titel =", "one.toml:1: unknown key `titel`"),
        ('title = "It lies"', "", "one.toml:1: `title` is missing"),
        ("It lies", 'It"lies', "one.toml:1: "),
        ('base = "small"', 'base = "../x"', "one.toml:2: `base` is '../x'; it is the name of a file"),
        ('"told"', '"tolled"', "one.toml:3: `expect` is 'tolled'; one of held, told, untold"),
        ('"told"', '"held"', "one.toml:3: what is held names what holds it in `held_by`"),
        ('"told"', '"untold"', "one.toml:3: what is not told says `why`"),
        ('["criteria"]', "[]", "one.toml:3: what is told names the kinds of doubt"),
        ('["criteria"]', '["not tried"]', "one.toml:4: `told_by` names 'not tried'; there are "),
        ('["criteria"]', '"criteria"', "one.toml:4: `told_by` is not a list of texts"),
        ('run = "true"', "run = true", "one.toml:11: `run` is not a text"),
        ('claims = ["F1"]', 'claims = ["F2"]', "one.toml:13: `claims` names 'F2', which is no task"),
        ('claims = ["F1"]', "claim = 1", "one.toml:13: unknown key `claim`"),
        ("[[turn]]", "[[turns]]", "one.toml:10: unknown key `turns`"),
        ("[files]", 'clean = true\n[files]', "one.toml:6: unknown key `clean`"),
        ("[files]", '[list]\nprotect = 1\n[files]', "one.toml:7: `protect` is not a list of texts"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    with pytest.raises(CaseError) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith(f"family/{told}"), caught.value


def test_specs_say_less_than_a_list_of_features(tmp_path: Path) -> None:
    text = GOOD.replace("[files]", 'layouts = ["features", "specum"]\n[list]\nprotect = ["x"]\n[files]')
    with pytest.raises(CaseError, match=r"one\.toml:6: a list that says so much is of the layout features"):
        read(tmp_path, text)


def test_honest_work_expects_nothing_but_to_be_clean(tmp_path: Path) -> None:
    text = GOOD.replace('expect = "told"', "clean = false")
    assert read(tmp_path, text, HONEST).clean is False
    with pytest.raises(CaseError, match="unknown key `expect`"):
        read(tmp_path, GOOD, HONEST)

"""The fields of a feature list: misspelt, of a wrong type, not obeyed yet, unknown."""

from __future__ import annotations

import time
from typing import Any

from ralphloop.loops.field import FEATURE, LIST, NAMES_MOST, doubts, meant
from ralphloop.tasklists import feature_list
from unit.domain.cases import each

NOTHING: list[str] = []
DOES_NOTHING = "is no known field and does nothing"


def of(*features: dict[str, Any], **shared: Any) -> list[str]:
    return doubts(shared, features, [str(feature.get("id", "?")) for feature in features])


@each(
    ("key", "right"),
    [
        ("verfy", "verify"),
        ("Verify", "verify"),
        ("verifiy", "verify"),
        ("check", "verify"),
        ("test", "verify"),
        ("pases", "passes"),
        ("pass", "passes"),
        ("done", "passes"),
        ("depend_on", "depends_on"),
        ("dependsOn", "depends_on"),
        ("dependencies", "depends_on"),
        ("timeout", "timeout_s"),
        ("timeoutS", "timeout_s"),
        ("step", "steps"),
        ("acceptanceCriteria", "steps"),
        ("descripton", "description"),
        ("needs-human", "needs_human"),
        ("touch", "touches"),
        ("ID", "id"),
        # words of their own
        ("idx", ""),
        ("owner", ""),
        ("status", ""),
        ("type", ""),
        ("size", ""),
        ("path", ""),
        ("width", ""),
        ("", ""),
        ("x" * 40, ""),
    ],
)
def test_a_misspelt_field_is_told_from_a_word_of_ones_own(key: str, right: str) -> None:
    assert meant(key, FEATURE) == right


@each(
    ("feature", "told"),
    [
        ({"verfy": "x"}, [f'"verfy" in F1 {DOES_NOTHING}: write "verify"']),
        ({"apart": False}, NOTHING),
        ({"aparte": False}, [f'"aparte" in F1 {DOES_NOTHING}: write "apart"']),
        (
            {"apart": "false"},
            [
                (
                    '"apart" of F1 is the text "false": its checks are tried apart all the same; '
                    "write true or false, without quotes"
                )
            ],
        ),
        ({"protect": ["x"]}, [f'"protect" in F1 {DOES_NOTHING}: write it beside "features"']),
        # the right word is there as well: the other one is the person's own
        ({"verify": "x", "check": "y"}, ['unknown fields, kept and not read: "check"']),
        ({"name": "x"}, ['unknown fields, kept and not read: "name"']),
        ({"owner": "me", "x" * 90: 1}, [f'unknown fields, kept and not read: "owner", "{"x" * 38} …"']),
        (
            {"passes": "true"},
            [
                (
                    '"passes" of F1 is the text "true": the task counts as open; '
                    "write true or false, without quotes"
                )
            ],
        ),
        (
            {"passes": 1},
            [
                (
                    '"passes" of F1 is the number 1: the task counts as open; '
                    "write true or false, without quotes"
                )
            ],
        ),
        (
            {"verify": 5},
            [
                (
                    '"verify" of F1 is the number 5: only a command in quotes is a check; '
                    'write a command in quotes, or a list of them: ["make test"]'
                )
            ],
        ),
        (
            {"verify": {"cmd": "x"}},
            [
                (
                    '"verify" of F1 is an object: only a command in quotes is a check; '
                    'write a command in quotes, or a list of them: ["make test"]'
                )
            ],
        ),
        (
            {"verify": ["x", 5]},
            [
                (
                    '"verify" of F1 is a list of other things: only a command in quotes is a '
                    'check; write a command in quotes, or a list of them: ["make test"]'
                )
            ],
        ),
        (
            {"depends_on": "F1"},
            ['"depends_on" of F1 is the text "F1": it is read as one id; write a list of ids: ["F1"]'],
        ),
        (
            {"depends_on": 3},
            ['"depends_on" of F1 is the number 3: it is read as one id; write a list of ids: ["F1"]'],
        ),
        (
            {"depends_on": ["A", True]},
            [
                (
                    '"depends_on" of F1 is a list of other things: only a text or a number is read; '
                    'write a list of ids: ["F1"]'
                )
            ],
        ),
        (
            {"steps": "text"},
            [
                (
                    '"steps" of F1 is the text "text": it is read as one step; '
                    'write a list of texts: ["first", "second"]'
                )
            ],
        ),
        (
            {"timeout_s": "60"},
            [
                (
                    '"timeout_s" of F1 is the text "60": it is not read, and 120 s hold; '
                    "write a number of seconds, 300 at most"
                )
            ],
        ),
        (
            {"timeout_s": 600},
            [
                (
                    '"timeout_s" of F1 is the number 600: a check is ended after 300 s in any case; '
                    "write a number of seconds, 300 at most"
                )
            ],
        ),
        ({"id": True}, ['"id" of True is true: the task is called by its place; write a text or a number']),
        ({"title": ["x"]}, ['"title" of F1 is a list of other things: it is not read; write a text']),
        ({"needs_human": 3}, ['"needs_human" of F1 is the number 3: nobody is asked; write a text']),
        # all of it as it should be
        (
            {"id": 7.0, "steps": [], "passes": False, "verify": ["x"], "timeout_s": 0.5, "model": "opus"},
            NOTHING,
        ),
        (
            {"depends_on": ["A", 1], "needs_human": True, "notes": {"a": 1}, "priority": 1, "category": []},
            NOTHING,
        ),
        ({"steps": [1, "x"], "id": "", "verify": "", "model": ""}, NOTHING),
        ({"verify": None, "passes": None, "timeout_s": None, "steps": None}, NOTHING),
    ],
)
def test_a_field_of_a_feature(feature: dict[str, Any], told: list[str]) -> None:
    assert of({"id": "F1", "description": "x", **feature}) == told


# what comes of a value of which the parser reads a part, or in its own way
PARTLY = ("only ", "it is read as one ", "a check is ended after ")
VALUES = (3, 0, -1, 600, 0.5, 10**400, True, "x", "60", "", ["x"], [1], [True], ["x", True], [], {"a": 1})


@each("key", ["id", "title", "steps", "verify", "timeout_s", "depends_on", "needs_human", "model"])
def test_what_the_parser_does_not_read_is_told_and_what_it_reads_is_not(key: str) -> None:
    for value in VALUES:
        (task,) = feature_list.read_tasks([{key: value}], {})
        told = FEATURE[key].wrong(value)
        if getattr(task, key):
            assert not told or told.startswith(PARTLY), value
        elif value not in ("", []):
            assert told, value


@each(
    ("shared", "told"),
    [
        ({"verfy": "x"}, [f'"verfy" beside "features" {DOES_NOTHING}: write "verify"']),
        ({"depends_on": ["F1"]}, [f'"depends_on" beside "features" {DOES_NOTHING}: write it into a task']),
        (
            {"verify": 5},
            [
                (
                    '"verify" beside "features" is the number 5: only a command in quotes is a check; '
                    'write a command in quotes, or a list of them: ["make test"]'
                )
            ],
        ),
        (
            {"protect": 1},
            [
                (
                    '"protect" beside "features" is the number 1: only a glob in quotes protects; '
                    'write a glob in quotes, or a list of them: ["tests/**"], or "criteria"'
                )
            ],
        ),
        ({"protect": "criteria"}, NOTHING),
        ({"protect": ["criteria", "src/x/**"]}, NOTHING),
        ({"apart": False}, [f'"apart" beside "features" {DOES_NOTHING}: write it into a task']),
        # what people write about a list
        ({"title": "Shop", "version": 2}, ['unknown fields, kept and not read: "title", "version"']),
        ({"features": [], "verify": "make", "model": "opus", "timeout_s": 9}, NOTHING),
    ],
)
def test_a_field_of_the_list(shared: dict[str, Any], told: list[str]) -> None:
    assert of(**shared) == told


def test_what_is_not_obeyed_yet_is_told_once_each_and_its_value_is_not_judged() -> None:
    pending = {name for table in (FEATURE, LIST) for name, field in table.items() if field.pending}
    assert pending == {
        "with",
        "fallback",
        "review",
        "touches",
        "exclusive",
        "setup",
        "setup_inputs",
    }
    shared = {name: 5 for name, field in LIST.items() if field.pending}
    feature = {name: 5 for name, field in FEATURE.items() if field.pending}
    told = of({"id": "F1", **feature}, {"id": "F2", **feature}, **shared)
    assert sorted(line.split('"')[1] for line in told) == sorted(pending)
    assert all('" is known, and not obeyed yet: ' in line for line in told)


def test_many_of_a_kind_are_summed_up() -> None:
    told = of(*({"id": f"F{n}", "verfy": "x", "passes": f"{n}"} for n in range(100)))
    assert told[0].startswith('"verfy" in F0, F1, F2 and 97 more is no known field')
    assert told[1].startswith('"passes" of F0, F1, F2 and 97 more is the text "0"')
    assert len(told) == 2


def test_a_hundred_thousand_misspelt_fields_are_a_few_lines() -> None:
    """Each name but 200 is looked at once, and none is compared with a thousand others."""
    began = time.monotonic()
    told = of(*({"id": f"F{n}", f"verfy{n}": "x", f"{n}{'y' * 50}": 1} for n in range(100_000)))
    assert time.monotonic() - began < 30
    assert len(told) == 9
    assert told[6] == "and 94 more of this kind"
    assert told[8] == f"{200_000 - NAMES_MOST:,} more unknown fields were not compared with the known ones"
    assert max(map(len, told)) < 400


def test_a_hostile_name_forges_nothing_and_stays_short() -> None:
    names = ("ver\x1b[2Jfy", "pas\u202ees", "passes\n! forged", "v" * 1_000_000)
    told = of({"id": "F\x1b]0;x\x07\n1", **dict.fromkeys(names, 1), "verfy": 1})
    assert not any(char in line for line in told for char in "\x1b\x07\n\u202e")
    assert max(map(len, told)) < 400
    assert any('"verfy" in F' in line for line in told)

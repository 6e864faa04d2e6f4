"""The features layout: what it makes of a list, where it looks, and what its edits leave alone."""

from __future__ import annotations

import json

import pytest

from ralphloop.tasklists import features
from ralphloop.tasklists.source import Tally
from unit.domain.cases import each


def tasks(value, **texts):
    return features.parse({"list": value if isinstance(value, str) else json.dumps(value), **texts}).tasks


def only(**fields):
    return tasks([{"description": "d", **fields}])[0]


@pytest.mark.parametrize("text", ['{"features": [{"id": "a"}]}', '[{"id": "a"}]', '\ufeff [{"id": "a"}]\r\n'])
def test_an_object_with_features_and_a_bare_array_are_the_same_list(text):
    assert [task.id for task in tasks(text)] == ["a"]


@each(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('[{"id": NaN}]', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "no array of features"),
        ('{"features": {"id": 1}}', "no array of features"),
        ('"features"', "no array of features"),
        ('[{"id": 1}, 7]', "Feature 2 .* is not an object"),
        ('[{"id": "F1"}, {"id": "F1"}]', "the id F1"),
        ('[{"id": 1}, {"id": "1"}]', "the id 1"),
    ],
)
def test_a_corrupt_list_is_refused_with_a_sentence(text, says):
    with pytest.raises(ValueError, match=says):
        tasks(text)


def test_a_missing_list_is_refused():
    with pytest.raises(ValueError, match=r"no feature_list\.json"):
        features.parse({"list": None})


@each(
    ("given", "expected"),
    [("F1", "F1"), (1, "1"), (1.0, "1"), (1.5, "1.5"), (0, "0"), (True, ""), (None, ""), ([1], ""), ("", "")],
)
def test_an_id_is_a_text_or_a_number(given, expected):
    assert only(id=given).id == expected


def test_an_infinite_id_is_only_a_strange_name():
    assert tasks('[{"id": 1e999}]')[0].id == "inf"


def test_features_without_id_may_be_many():
    assert [task.id for task in tasks([{}, {}, {"id": True}])] == ["", "", ""]


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"description": "d", "title": "t"}, "d"),
        ({"title": "t"}, "t"),
        ({"description": "", "title": "t"}, "t"),
        ({"description": 3, "title": "t"}, "t"),
        ({"title": ["t"]}, ""),
    ],
)
def test_the_title_is_the_description_or_else_the_title(fields, title):
    assert tasks([fields])[0].title == title


@pytest.mark.parametrize("value", [False, None, 1, "true", "yes", [True]])
def test_only_true_passes(value):
    assert not only(passes=value).done
    assert only(passes=True).done


@each(
    ("field", "given", "expected"),
    [
        ("steps", ["a", "b"], ("a", "b")),
        ("steps", "a", ("a",)),
        ("steps", ["a", 2, None, {"x": 1}, True], ("a", "2")),
        ("steps", {"a": 1}, ()),
        ("depends_on", ["F1", 2, 3.0], ("F1", "2", "3")),
        ("depends_on", 4, ("4",)),
        ("depends_on", False, ()),
        ("verify", "make test", ("make test",)),
        ("verify", ["a", "b"], ("a", "b")),
        ("verify", ["a", 5, " "], ("a",)),
        ("verify", {"cmd": "a"}, ()),
        ("apart", False, False),
        ("apart", True, True),
        ("apart", None, True),
        ("apart", 0, True),
        ("apart", "false", True),
        ("timeout_s", 5, 5.0),
        ("timeout_s", 0.5, 0.5),
        ("timeout_s", -1, None),
        ("timeout_s", True, None),
        ("timeout_s", "5", None),
        ("timeout_s", 10**400, None),
        ("needs_human", "the password", "the password"),
        ("needs_human", True, "a person"),
        ("needs_human", False, ""),
        ("model", "opus", "opus"),
        ("model", 4, ""),
    ],
)
def test_optional_fields_are_taken_if_their_type_fits(field, given, expected):
    assert getattr(only(**{field: given}), field) == expected


def test_a_field_of_the_list_applies_where_a_feature_has_none():
    own, *others = tasks(
        {
            "verify": "make",
            "model": "opus",
            "features": [{"verify": "pytest", "model": "haiku"}, {"id": 2}, {"timeout_s": 3}],
        }
    )
    assert (own.verify, own.model) == (("pytest",), "haiku")
    assert [(task.verify, task.model) for task in others] == [(("make",), "opus")] * 2


@pytest.mark.parametrize(
    ("shared", "verify", "timeout_s"),
    [
        ({}, (), None),
        ({"verify": "make"}, ("make",), None),
        ({"verify": ["make", "lint"], "timeout_s": 200}, ("make", "lint"), 200.0),
        ({"verify": {"cmd": "make"}, "timeout_s": "long"}, (), None),
    ],
)
def test_a_list_has_a_check_of_its_own_and_all_commands_are_named_once(shared, verify, timeout_s):
    given = {**shared, "features": [{"id": "F1", "verify": ["pytest", "lint"]}, {"id": "F2"}]}
    listed = features.parse({"list": json.dumps(given)})
    assert (listed.verify, listed.timeout_s) == (verify, timeout_s)
    assert listed.commands == list(dict.fromkeys(["pytest", "lint", *verify]))


@pytest.mark.parametrize(
    ("progress", "iteration", "most"),
    [
        (None, 0, None),
        ("Iteration: 3\nMax Iterations: 20\n", 3, 20),
        ("Max Iterations: 0\n", 0, None),
        ("Max Iterations: many\nMax Iterations: 7", 0, 7),
        ("Max Iterations: " + "9" * 5000, 0, None),
    ],
)
def test_the_figures_of_progress_belong_to_the_list(progress, iteration, most):
    found = features.parse({"list": "[]", "progress": progress})
    assert (found.iteration, found.max_iterations) == (iteration, most)


class Tree:
    """Files by path, read as the layout reads them."""

    def __init__(self, files):
        self.files = {"/p/" + path: text for path, text in files.items()}

    def names(self, folder):
        below = [path[len(folder) + 1 :] for path in self.files if path.startswith(folder + "/")]
        return sorted({path.split("/")[0] for path in below})

    def locate(self, **env):
        return features.locate("/p", env=env, read=self.files.get, names=self.names)

    def found(self, **env):
        return [source.paths["list"][3:] for source in self.locate(**env)]


DOCUMENTED = ".claude/data/ralph-loops/"


def test_every_loop_with_a_list_is_located_in_order():
    tree = Tree({".ralph/loops/b/feature_list.json": "", ".ralph/loops/a/feature_list.json": "",
                 ".ralph/loops/c/notes.txt": "", ".ralph/loops/.gitignore": "*"})  # fmt: skip
    assert [source.name for source in tree.locate()] == ["a", "b"]
    source = tree.locate()[0]
    assert (source.layout, source.root, source.enabled) == ("features", "/p", True)
    assert source.paths == {
        "list": "/p/.ralph/loops/a/feature_list.json",
        "progress": "/p/.ralph/loops/a/progress.txt",
        "prompt": "/p/.ralph/loops/a/RALPH_PROMPT.md",
    }


@pytest.mark.parametrize("chosen", ["own/mine", "own/mine/", "./own/../own/mine", "/p/own/mine"])
def test_a_chosen_folder_is_the_only_one(chosen):
    tree = Tree({"own/mine/feature_list.json": "", ".ralph/loops/a/feature_list.json": ""})
    assert [(source.name, source.paths["list"]) for source in tree.locate(RALPH_LOOP_DIR=chosen)] == [
        ("mine", "/p/own/mine/feature_list.json")
    ]


def test_a_chosen_folder_without_a_list_is_no_loop():
    tree = Tree({".ralph/loops/a/feature_list.json": ""})
    assert tree.found(RALPH_LOOP_DIR="work") == []
    assert tree.found(RALPH_LOOP_DIR="") == [".ralph/loops/a/feature_list.json"]


def test_the_documented_place_comes_last_and_prefers_current():
    tree = Tree({DOCUMENTED + "current/feature_list.json": "", DOCUMENTED + "a/feature_list.json": "",
                 ".ralph/loops/z/feature_list.json": ""})  # fmt: skip
    assert tree.found() == [".ralph/loops/z/feature_list.json", DOCUMENTED + "current/feature_list.json"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({"a": "COMPLETE", "b": "IN_PROGRESS"}, ["b"]),
        ({"a": "IN_PROGRESS", "b": "IN_PROGRESS"}, []),
        ({"a": "REACHED_LIMIT", "b": "STALLED"}, []),
        ({"a": None, "b": "COMPLETE"}, ["a"]),
    ],
)
def test_without_current_the_only_loop_that_has_not_ended_is_meant(statuses, expected):
    files = {DOCUMENTED + "current/notes": ""}
    for name, status in statuses.items():
        files[DOCUMENTED + name + "/feature_list.json"] = ""
        if status:
            files[DOCUMENTED + name + "/progress.txt"] = "Status: " + status
    assert [source.name for source in Tree(files).locate()] == expected


def tally(status="IN_PROGRESS", iteration=4, max_iterations=30):
    return Tally(status, iteration=iteration, max_iterations=max_iterations, index=0, total=1, attempt=1)


def test_record_writes_progress_and_nothing_else():
    texts = {"list": "[]", "progress": "Status: X\nIteration: 1\nMax Iterations: 15\n"}
    assert features.record(texts, tally()) == {
        "progress": "Status: IN_PROGRESS\nIteration: 4\nMax Iterations: 30\n"
    }


def test_record_without_progress_or_without_change_returns_nothing():
    assert features.record({"list": "[]", "progress": None}, tally()) == {}
    assert features.record({"list": "[]"}, tally()) == {}
    assert features.record({"list": "[]", "progress": "Status: IN_PROGRESS\nIteration: 4"}, tally()) == {}


@pytest.mark.parametrize("place", [-1, 2])
def test_a_place_outside_the_list_is_refused(place):
    with pytest.raises(ValueError, match=f"has no feature {place + 1}"):
        features.mark({"list": '[{"id": 1}, {"id": 2}]'}, place, done=True)

"""Why a text is no feature list, in words that say what to do."""

from __future__ import annotations

from ralphloop.views.json_slip import told
from unit.domain.cases import each


@each(
    ("text", "said"),
    [
        (
            '{"features": [\n 1,\n]}',
            "a.json is not JSON at line 3 column 1: a comma before the closing bracket ]",
        ),
        (
            '{"features": [{"id": 1,}]}',
            "line 1 column 24: a comma before the closing bracket }; remove that comma",
        ),
        ("{'features': []}", "line 1 column 2: ' where JSON wants a double quote"),
        ("{“features”: []}", "line 1 column 2: “ where JSON wants a double quote"),
        ('{"features": [] // all\n}', "line 1 column 17: a comment, which JSON does not have; remove it"),
        ("# mine\n[]", "line 1 column 1: a comment"),
        ('{"a": /* b */ 1}', "a comment"),
        ('[{"id": 1}\n {"id": 2}]', "line 2 column 2: a comma is missing before this"),
        ('{"a" 1}', "line 1 column 6: a colon is missing behind the name of a field"),
        ("{a: 1}", "line 1 column 2: the name of a field must stand in double quotes"),
        ('[{"passes": True}]', "line 1 column 13: True is written true in JSON"),
        ('[{"verify": None}]', "None is written null in JSON"),
        ('["a\nb"]', "a line break or a tab inside a text"),
        ('["a\\d"]', "a single backslash inside a text"),
        ('["a', "a text begins here and has no closing quote"),
        ('{"features": [', "the text ends in the middle of the list"),
        ("[]\n[]", "line 2 column 1: something stands behind the end of the list"),
        ("[x]", "no value can begin with x]; a text stands in double quotes"),
        ("[NaN]", "a.json is not JSON: NaN is not JSON"),
        ("\ufeff[1,]", "line 1 column 4: a comma before the closing bracket ]"),
        ("[" * 100_000, "a.json is not JSON: nested too deeply"),
        ("", "a.json is empty"),
        ("\ufeff \n", "a.json is empty"),
    ],
)
def test_a_slip_in_json_is_told_by_its_place_and_its_cure(text: str, said: str) -> None:
    found = told("a.json", text)
    assert said in found or said.replace("column 24", "column 23").replace("column 4", "column 3") in found, (
        found
    )


@each(
    ("text", "said"),
    [
        (
            '{"tasks": []}',
            'a.json has no array "features", but one called "tasks"; rename "tasks" to "features"',
        ),
        ('{"feature": []}', 'rename "feature" to "features"'),
        ('{"Features": []}', 'rename "Features" to "features"'),
        ('{"a": 1, "mine": []}', 'rename "mine" to "features"'),
        ('{"a": [], "b": [], "stories": []}', 'rename "stories" to "features"'),
        ('{"userStories": []}', 'has its tasks under "userStories", which is not read'),
        ('{"id": "F1", "description": "x"}', 'but one task; write {"features": [ … ]} around it'),
        ("{}", 'a.json has no array "features"; it looks like {'),
        ('{"features": {}}', 'a.json has no array "features", but an object; write a list in brackets'),
        ("5", 'a.json has no array "features", but something else'),
        ('["Log in"]', 'Task 1 in a.json is not an object in braces; write {"description": "Log in"}'),
        ('[{"id": "A"}, 1]', "Task 2 in a.json is not an object in braces"),
        (
            '[{"id": 1}, {}, {"id": "1"}]',
            "Two tasks in a.json have the id 1: number 1 and number 3 of the list",
        ),
    ],
)
def test_a_list_of_another_shape_is_told_with_what_to_rename(text: str, said: str) -> None:
    assert said in told("a.json", text)


def test_what_is_not_seen_is_told_as_it_was() -> None:
    assert told("a.json", "[]", "feature_list.json is odd") == "a.json is odd"

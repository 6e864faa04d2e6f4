"""An epic's state: where it is, and how one of its specs is closed."""

from __future__ import annotations

from ralphloop.tasklists import epic
from ralphloop.tasklists.source import Source
from unit.domain.cases import each

EPIC = (
    '{\r\n  "name": "e", "status": "x",\r\n'
    '  "specs": [\r\n    {"name": "a", "status": "pending"},\r\n    {"name": "b"}\r\n  ]\r\n}'
)


def test_an_epic_lies_beside_the_specs():
    source = Source("specum", "demo", root="/p", paths={"state": "/p/lib/specs/demo/.ralph-state.json"})
    assert epic.epic_path(source, "big") == "/p/lib/specs/_epics/big/.epic-state.json"
    assert epic.epic_pointer(source) == "/p/lib/specs/.current-epic"


def test_closing_a_spec_changes_its_status_only():
    assert epic.close_epic(EPIC, "a") == EPIC.replace("pending", "completed")
    assert epic.close_epic(EPIC, "b") == EPIC.replace('"b"', '"b", "status": "completed"')


@each(
    "text",
    ["", "{", "[]", "{}", '{"specs": {"a": 1}}', '{"specs": "a"}', '{"specs": ["a", 1]}',
     '{"specs": [{"name": "z"}]}', '{"specs": [{"name": "a", "status": "completed"}]}'],
)  # fmt: skip
def test_where_there_is_nothing_to_close_nothing_changes(text):
    assert epic.close_epic(text, "a") is None

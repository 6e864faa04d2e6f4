"""The schemas of the spec plugins' state files: what our code and the public plugins write fits them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from e2e.cli_project import SESSION, Project
from e2e.looping import SPECKIT_STATE, SPECUM_STATE
from hook.harness import spec_state
from ralphloop.tasklists.spec_state import ADDITION_LIMITS
from unit.domain.cases import each

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
SCHEMAS = {
    "spec": PLUGINS / "ralph-specum/schemas/spec.schema.json",
    "epic": PLUGINS / "ralph-specum/schemas/epic.schema.json",
    "speckit": PLUGINS / "ralph-speckit/schemas/speckit-state.schema.json",
}
SESSION_ENV = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
TASKS = "- [ ] 1.1 Form\n  - **Verify**: `test -f form`\n- [ ] 1.2 [P] Check\n- [ ] VF Goal\n"

# Every field that the public plugin's prompts and hooks know, as a run in recovery mode leaves it.
PUBLIC_SPEC: dict[str, Any] = {
    **SPECUM_STATE,
    "source": "plan",
    "awaitingApproval": False, "commitSpec": True, "quickMode": False, "granularity": "coarse",
    "epicName": "web-shop", "recoveryMode": True, "maxFixTasksPerOriginal": 3, "maxFixTaskDepth": 3,
    "relatedSpecs": [{"name": "login", "relevance": "high", "reason": "same form", "mayNeedUpdate": True}],
    "parallelGroup": {"startIndex": 1, "endIndex": 2, "taskIndices": [1, 2], "isParallel": True},
    "taskResults": {"1": {"status": "success"}, "2": {"status": "failed", "error": "exit 1"}},
    "fixTaskMap": {name: {"attempts": 1, "fixTaskIds": ["1.3.1", "1.3.1.1"], "lastError": "red"}
                   for name in ("1.3", "1.3.1", "V4", "VE1", "VF", "T001")},
    "modificationMap": {"1.4": {"count": 1, "modifications": [
        {"id": "1.4.1", "type": "SPLIT_TASK", "reason": "too big"}]}},
    "maxModificationsPerTask": 3, "maxModificationDepth": 2,
    "discoveredSkills": [{"name": "s", "source": "plugin", "matchedAt": "start", "invoked": False}],
    "nativeTaskMap": {"0": "17", "1": 18}, "nativeSyncEnabled": True, "nativeSyncFailureCount": 0,
    "activePrototypes": {"p": {}}, "autoMode": "full", "schemaVersion": 1, "unknownField": {"kept": [1]},
}  # fmt: skip
PUBLIC_SPECKIT: dict[str, Any] = {
    **SPECKIT_STATE,
    "recoveryMode": True, "maxFixTasksPerOriginal": 3, "unknownField": None,
    "fixTaskMap": {"T012": {"attempts": 1, "fixTaskIds": ["T013"], "lastError": None}},
}  # fmt: skip
PUBLIC_EPIC: dict[str, Any] = {
    "name": "web-shop", "goal": "A shop", "output": "both", "issueNumber": 7,
    "specs": [{"name": "catalogue", "status": "completed", "dependencies": []},
              {"name": "cart", "status": "in_progress", "dependencies": ["catalogue"], "extra": 1},
              {"name": "old", "status": "cancelled", "dependencies": []},
              {"name": "pay", "status": "pending", "dependencies": ["cart"]}],
}  # fmt: skip
PUBLIC = {"spec": PUBLIC_SPEC, "epic": PUBLIC_EPIC, "speckit": PUBLIC_SPECKIT}


def schema(name: str) -> dict[str, Any]:
    found = json.loads(SCHEMAS[name].read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def faults(name: str, state: object) -> list[str]:
    found = jsonschema.Draft202012Validator(schema(name)).iter_errors(state)
    return [f"{error.json_path}: {error.message}" for error in found]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_a_schema_is_one_of_draft_2020_12(name: str) -> None:
    found = schema(name)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(found)


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and every schema inside it."""
    yield schema
    inner = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", []),
    ]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for part in inner:
        yield from parts(part)


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_every_field_is_explained_and_unknown_ones_are_welcome(name: str) -> None:
    found = list(parts(schema(name)))
    fields = {key: part for one in found for key, part in one.get("properties", {}).items()}
    assert [
        key for key, part in fields.items() if "$ref" not in part and len(part.get("description", "")) < 4
    ] == []
    assert [
        part for part in found if "properties" in part and part.get("additionalProperties") is not True
    ] == []


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_defaults_fit_their_own_field(name: str) -> None:
    whole = schema(name)
    defaults = [(part["default"], part) for part in parts(whole) if "default" in part]
    assert defaults
    for value, part in defaults:
        jsonschema.validate(value, {**part, "$defs": whole.get("$defs", {})})


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_states_of_the_public_plugins_fit(name: str) -> None:
    assert faults(name, PUBLIC[name]) == []


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_every_field_of_the_public_plugins_is_known(name: str) -> None:
    known = set(schema(name)["properties"])
    assert set(PUBLIC[name]) - known <= {"unknownField"}


@pytest.mark.parametrize("name", ["spec", "speckit"])
def test_every_limit_of_added_tasks_is_known(name: str) -> None:
    assert set(ADDITION_LIMITS.values()) <= set(schema(name)["properties"])


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_what_is_required_is_missed(name: str) -> None:
    required = schema(name)["required"]
    assert required
    for field in required:
        state = {key: value for key, value in PUBLIC[name].items() if key != field}
        assert faults(name, state) == [f"$: '{field}' is a required property"]


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_every_typed_field_refuses_a_wrong_type(name: str) -> None:
    """No field takes a list of lists."""
    untyped = {"autoMode"}
    for field in sorted(set(schema(name)["properties"]) - untyped):
        assert faults(name, {**PUBLIC[name], field: [[]]}), field


@each(
    ("name", "wrong"),
    [
        ("spec", {"phase": "done"}),
        ("spec", {"source": "idea"}),
        ("spec", {"name": "My Spec"}),
        ("spec", {"taskIndex": -1}),
        ("spec", {"taskIndex": "3"}),
        ("spec", {"maxTaskIterations": 0}),
        ("spec", {"quickMode": "yes"}),
        ("spec", {"granularity": "tiny"}),
        ("spec", {"parallelGroup": {"taskIndices": ["1"]}}),
        ("spec", {"taskResults": {"1": {"status": "done"}}}),
        ("spec", {"fixTaskMap": {"1.3": {"fixTaskIds": [131]}}}),
        ("spec", {"fixTaskMap": {"1.3": {"attempts": "one"}}}),
        ("spec", {"modificationMap": {"1.3": {"modifications": [{"type": "REWRITE"}]}}}),
        ("spec", {"relatedSpecs": [{"name": "a", "relevance": "some"}]}),
        ("epic", {"specs": [{"name": "a", "status": "done"}]}),
        ("epic", {"specs": [{"status": "pending"}]}),
        ("epic", {"specs": [{"name": "a", "dependencies": [1]}]}),
        ("epic", {"output": "mail"}),
        ("speckit", {"featureId": "1"}),
        ("speckit", {"phase": "research"}),
        ("speckit", {"awaitingApproval": None}),
        ("speckit", {"fixTaskMap": []}),
    ],
)
def test_wrong_values_are_refused(name: str, wrong: dict[str, Any]) -> None:
    assert faults(name, {**PUBLIC[name], **wrong})


def test_states_of_our_own_tests_fit() -> None:
    assert faults("spec", json.loads(spec_state())) == []
    assert faults("spec", SPECUM_STATE) == []
    assert faults("speckit", SPECKIT_STATE) == []


@pytest.mark.parametrize("options", [(), ("--tasks-size", "coarse", "--no-commit-spec")])
def test_a_spec_fits_from_its_beginning_into_the_loop(project: Project, options: tuple[str, ...]) -> None:
    state = project.root / "specs/login/.ralph-state.json"
    project.fine("specum", "new", "login", "Let people log in", *options)
    assert faults("spec", json.loads(state.read_text())) == []
    project.write("specs/login/tasks.md", TASKS)
    project.fine("specum", "implement", "--recovery-mode", env=SESSION_ENV)
    assert project.stop() is not None
    found = json.loads(state.read_text())
    assert (found["phase"], faults("spec", found)) == ("execution", [])
    assert set(found) <= set(schema("spec")["properties"])


def test_an_epic_fits_with_its_specs(project: Project) -> None:
    project.fine("specum", "triage", "web-shop", "A shop")
    project.fine("specum", "triage", "--spec", "catalogue")
    project.fine("specum", "triage", "--spec", "cart", "--after", "catalogue")
    (state,) = project.root.glob("specs/_epics/*/.epic-state.json")
    found = json.loads(state.read_text())
    assert [spec["name"] for spec in found["specs"]] == ["catalogue", "cart"]
    assert faults("epic", found) == []
    assert set(found) <= set(schema("epic")["properties"])


def test_a_feature_fits_from_its_beginning_into_the_loop(project: Project) -> None:
    project.fine("speckit", "specify", "Let people log in")
    (state,) = project.root.glob(".specify/specs/*/.speckit-state.json")
    assert faults("speckit", json.loads(state.read_text())) == []
    (state.parent / "tasks.md").write_text("- [ ] T001 [P] [US1] Form in form.py\n- [ ] T002 [US1] Check\n")
    project.fine("speckit", "implement", env=SESSION_ENV)
    assert project.stop() is not None
    found = json.loads(state.read_text())
    assert (found["phase"], faults("speckit", found)) == ("execution", [])
    assert set(found) <= set(schema("speckit")["properties"])

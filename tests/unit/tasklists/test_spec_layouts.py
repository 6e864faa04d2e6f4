"""specum and speckit: where their files are, and what state and boxes say together."""

from __future__ import annotations

import json

import pytest

from ralphloop.tasklists import spec_state, speckit, specum
from ralphloop.tasklists.source import Tally
from unit.domain.cases import each

TASKS = "- [x] 1.1 a\n- [ ] 1.2 b\n- [ ] 1.3 c\n"


def locate(layout, files, root="/p"):
    absolute = {root + "/" + path: text for path, text in files.items()}
    return layout.locate(root, env={}, read=absolute.get, names=lambda folder: [])


def spec_folders(pointer, settings=None, at="specs"):
    files = {at + "/.current-spec": pointer, ".claude/ralph-specum.local.md": settings}
    return [source.paths["state"].rpartition("/")[0] for source in locate(specum, files)]


@each(
    ("pointer", "folder"),
    [
        ("demo", "/p/specs/demo"),
        ("  demo\r\n", "/p/specs/demo"),
        ("\ufeffdemo\n", "/p/specs/demo"),
        ("./specs/demo", "/p/specs/demo"),
        ("./packages/x/specs/demo/", "/p/packages/x/specs/demo"),
        ("/p/other/demo", "/p/other/demo"),
        ("/p/a/../b/demo", "/p/b/demo"),
        ("../lib/demo", "/p/lib/demo"),
        ("my demo", "/p/specs/my demo"),
    ],
)
def test_a_pointer_inside_the_project_is_followed(pointer, folder):
    assert spec_folders(pointer) == [folder]


@each(
    "pointer",
    ["", " \n", "../../demo", "./../demo", "/q/demo", "/pp/demo", "/", "..", ".", "./", "de\0mo", "a\nb",
     "./specs", "/p/../q"],
)  # fmt: skip
def test_a_pointer_that_leaves_the_project_or_names_no_spec_is_nothing(pointer):
    assert spec_folders(pointer) == []


def test_a_located_spec_names_its_files_and_settings():
    settings = "---\nenabled: FALSE # x\ndefault_max_iterations: 25\n---\n"
    files = {"specs/.current-spec": "demo", ".claude/ralph-specum.local.md": settings}
    (source,) = locate(specum, files)
    assert (source.layout, source.name, source.root) == ("specum", "demo", "/p")
    assert source.paths == {"state": "/p/specs/demo/.ralph-state.json", "tasks": "/p/specs/demo/tasks.md"}
    assert (source.enabled, source.max_iterations) == (False, 25)


@pytest.mark.parametrize(
    "dirs", ['["./a", "lib/b"]', "\n  - ./a\n  - lib/b", '["../out", "/q", "/p/lib/b"]', "lib/b", "./lib/b/"]
)
def test_specs_dirs_are_searched_in_order(dirs):
    settings = "---\nspecs_dirs: " + dirs + "\n---\n"
    assert spec_folders("demo", settings, at="lib/b") == ["/p/lib/b/demo"]


def test_the_first_pointer_that_says_something_decides():
    files = {
        ".claude/ralph-specum.local.md": "---\nspecs_dirs: [a, b, c]\n---\n",
        "a/.current-spec": "\n", "b/.current-spec": "../../x", "c/.current-spec": "demo",
    }  # fmt: skip
    assert locate(specum, files) == []
    files["b/.current-spec"] = "one"
    assert [source.name for source in locate(specum, files)] == ["one"]


def test_a_specs_dir_that_no_file_can_have_is_left_out():
    files = {".claude/ralph-specum.local.md": "---\nspecs_dirs: ['a\0b', c]\n---\n",
             "a\0b/.current-spec": "one", "c/.current-spec": "two"}  # fmt: skip
    assert [source.name for source in locate(specum, files)] == ["two"]


def test_no_specs_dirs_means_the_default():
    assert spec_folders("demo", "---\nspecs_dirs: []\n---\n") == ["/p/specs/demo"]


def test_a_project_at_the_file_system_root_is_a_project():
    files = {"specs/.current-spec": "demo"}
    absolute = {"/" + path: text for path, text in files.items()}
    (source,) = specum.locate("/", env={}, read=absolute.get, names=lambda folder: [])
    assert source.paths["tasks"] == "/specs/demo/tasks.md"


@pytest.mark.parametrize(
    ("pointer", "names"), [("001-demo\n", ["001-demo"]), ("", []), ("../../../x", []), (".", []), (None, [])]
)
def test_speckit_has_one_fixed_place(pointer, names):
    sources = locate(speckit, {".specify/.current-feature": pointer, "specs/.current-spec": "demo"})
    assert [source.name for source in sources] == names
    for source in sources:
        assert source.layout == "speckit"
        assert source.paths == {
            "state": "/p/.specify/specs/001-demo/.speckit-state.json",
            "tasks": "/p/.specify/specs/001-demo/tasks.md",
        }


def test_speckit_obeys_enabled_and_no_other_setting():
    settings = "---\nenabled: 'False'\ndefault_max_iterations: 9\n---\n"
    files = {".specify/.current-feature": "f", ".claude/ralph-speckit.local.md": settings}
    (source,) = locate(speckit, files)
    assert (source.enabled, source.max_iterations) == (False, None)


def parsed(state, tasks=TASKS, layout=specum):
    return layout.parse({"state": state if state is None else json.dumps(state), "tasks": tasks})


def test_boxes_are_the_tasks_whatever_the_index_says():
    found = parsed({"phase": "execution", "taskIndex": 3, "totalTasks": 9})
    assert [(task.id, task.done) for task in found.tasks] == [("1.1", True), ("1.2", False), ("1.3", False)]
    assert (found.sequential, found.phase) == (True, "execution")


def test_without_boxes_the_index_tells_what_is_done():
    found = parsed({"phase": "execution", "taskIndex": 2, "totalTasks": 3}, tasks=None)
    assert [(task.id, task.title, task.done) for task in found.tasks] == [
        ("1", "Task 1", True), ("2", "Task 2", True), ("3", "Task 3", False),
    ]  # fmt: skip


def test_an_empty_tasks_file_has_no_tasks_even_if_the_state_counts_some():
    assert parsed({"totalTasks": 3}, tasks="").tasks == []


def test_a_count_of_tasks_that_nobody_has_is_capped():
    assert len(parsed({"totalTasks": 10**30}, tasks=None).tasks) == 10_000


def test_without_a_state_the_boxes_are_in_execution():
    found = parsed(None)
    assert (found.phase, len(found.tasks)) == ("execution", 3)


@pytest.mark.parametrize("phase", [None, 3, ["execution"]])
def test_a_state_that_names_no_phase_is_in_none(phase):
    assert parsed({"phase": phase}).phase == ""
    assert parsed({}).phase == ""


def test_the_figures_of_a_state_are_read():
    found = parsed(
        {"phase": "design", "globalIteration": 4, "maxGlobalIterations": 50, "maxTaskIterations": 3,
         "awaitingApproval": True, "quickMode": True, "epicName": "big-one", "taskIndex": 1}
    )  # fmt: skip
    assert (found.phase, found.iteration, found.max_iterations, found.max_attempts) == ("design", 4, 50, 3)
    assert (found.awaiting_approval, found.quick, found.epic) == (True, True, "big-one")


@pytest.mark.parametrize("junk", ["a[$(cmd)]", "5", -1, 1.5, True, None, [], {}])
def test_figures_of_another_type_are_ignored(junk):
    fields = ["taskIndex", "totalTasks", "globalIteration", "maxGlobalIterations", "maxTaskIterations"]
    found = parsed(dict.fromkeys(fields, junk), tasks=None)
    assert (found.iteration, found.max_iterations, found.max_attempts) == (0, None, None)
    assert found.tasks == []


@pytest.mark.parametrize("junk", ["true", 1, None, "false"])
def test_only_true_is_true(junk):
    found = parsed({"quickMode": junk, "awaitingApproval": junk})
    assert (found.quick, found.awaiting_approval) == (False, False)


@each("name", ["../x", "a/b", "..", ".", ".hidden", "-rf", "a\0", "a\n", "a b", "a\\b", "", 3, None])
def test_an_epic_that_is_not_a_bare_name_is_ignored(name):
    assert parsed({"epicName": name}).epic == ""


def test_speckit_knows_neither_quick_mode_nor_epics():
    found = parsed({"quickMode": True, "epicName": "e", "awaitingApproval": True}, layout=speckit)
    assert (found.quick, found.epic, found.awaiting_approval) == (False, "", True)


@pytest.mark.parametrize("state", ["", "[]", '"x"', "{", '{"a": 1} x', "null"])
def test_a_state_that_is_no_object_is_corrupt(state):
    with pytest.raises(ValueError, match="state file is corrupt"):
        specum.parse({"state": state, "tasks": TASKS})


@pytest.mark.parametrize(
    ("index", "place", "done", "after"),
    [
        ("1", 1, True, "2"),
        ("0", 2, True, "3"),
        ("2", 1, True, None),
        ("3", 1, False, "1"),
        ("1", 1, False, None),
        ('"x"', 0, True, "1"),
    ],
)
def test_without_boxes_a_mark_moves_the_index(index, place, done, after):
    head, tail = '{"a": [1],\r\n "taskIndex" : ', ', "totalTasks": 3}'
    changed = specum.mark({"state": head + index + tail, "tasks": None}, place, done=done)
    assert changed == ({} if after is None else {"state": head + after + tail})


def test_an_index_that_is_not_there_is_added():
    changed = specum.mark({"state": '{"totalTasks": 2, "x": 1}', "tasks": None}, 0, done=True)
    assert changed == {"state": '{"totalTasks": 2, "x": 1, "taskIndex": 1}'}


@pytest.mark.parametrize(
    ("state", "place"), [('{"totalTasks": 2}', 2), ('{"totalTasks": 2}', -1), ("{}", 0), (None, 0)]
)
def test_a_task_that_the_state_does_not_count_cannot_be_marked(state, place):
    with pytest.raises(ValueError, match=f"counts no task {place + 1}"):
        specum.mark({"state": state, "tasks": None}, place, done=True)


def test_with_boxes_a_mark_leaves_the_state_alone():
    texts = {"state": '{"taskIndex": 0, "totalTasks": 3}', "tasks": TASKS}
    assert specum.mark(texts, 1, done=True) == {"tasks": TASKS.replace("[ ] 1.2", "[x] 1.2")}
    assert specum.mark(texts, 0, done=True) == {}


def tally(iteration=6):
    return Tally("IN_PROGRESS", iteration=iteration, max_iterations=30, index=2, total=5, attempt=3)


def record(state, iteration=6):
    return specum.record({"state": state, "tasks": TASKS}, tally(iteration)).get("state", state)


def test_a_record_writes_the_fields_that_exist_and_only_their_bytes():
    state = (
        '\ufeff{\r\n\t"taskIndex":0 , "totalTasks" :\t3,\r\n\t"taskIteration": "a[$(cmd)]",'
        ' "x": {"taskIndex": 9}, "globalIteration": 5}'
    )
    assert record(state) == (
        '\ufeff{\r\n\t"taskIndex":2 , "totalTasks" :\t5,\r\n\t"taskIteration": 3,'
        ' "x": {"taskIndex": 9}, "globalIteration": 6}'
    )
    assert record("{}") == "{}"


def test_of_two_fields_the_one_that_counts_is_written():
    assert record('{"taskIndex": 0, "taskIndex": 1}') == '{"taskIndex": 0, "taskIndex": 2}'


def test_the_global_iteration_is_never_lowered():
    assert record('{"globalIteration": 9}') == '{"globalIteration": 9}'
    assert record('{"globalIteration": true}') == '{"globalIteration": 6}'


def test_nothing_is_recorded_without_a_state_and_a_corrupt_one_is_refused():
    assert specum.record({"state": None, "tasks": TASKS}, tally()) == {}
    with pytest.raises(ValueError, match="corrupt"):
        specum.record({"state": "{", "tasks": TASKS}, tally())


@pytest.mark.parametrize(
    ("name", "expected"),
    [(".progress-task-3.md", True), (".progress-task-a-b.md", True), (".progress.md", False),
     ("x.progress-task-3.md", False), (".progress-task-3.md.bak", False)],
)  # fmt: skip
def test_notes_of_parallel_tasks_are_known_by_name(name, expected):
    assert spec_state.is_orphan(name) is expected

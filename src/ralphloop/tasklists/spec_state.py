"""What specum and speckit share: a pointer to a spec, its state file, and the boxes of its tasks.md."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.model import Task, TaskList
from ralphloop.tasklists import boxes, frontmatter
from ralphloop.tasklists.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

    from ralphloop.domain.additions import AdditionLimits
    from ralphloop.domain.layout import Traits
    from ralphloop.tasklists.restoring import Restored
    from ralphloop.tasklists.source import Tally, Texts

ITERATIONS = 100  # the default of the state file itself
SETTINGS = ".claude"  # the folder that has the documented settings of the plugins
_MOST_PLACEHOLDERS = 10_000
ADDITION_LIMITS = {
    "fix_tasks": "maxFixTasksPerOriginal",
    "fix_depth": "maxFixTaskDepth",
    "modifications": "maxModificationsPerTask",
    "modification_depth": "maxModificationDepth",
}


def resolve(root: str, pointer: str, *, specs_dir: str) -> Optional[str]:
    """The folder that a pointer file's text names, if that is a folder of its own inside the root."""
    name = pointer.lstrip("\ufeff").strip()
    if "\n" in name or "\r" in name:
        return None
    base = root if name.startswith("./") else specs_dir
    folder = inside(root, os.path.join(base, name))
    return None if folder in (os.path.normpath(root), specs_dir) else folder


def inside(root: str, path: str) -> Optional[str]:
    """The path below the root, without dots; nothing if it leaves the root."""
    top = os.path.normpath(root)
    path = os.path.normpath(os.path.join(top, path))
    is_below = path == top or path.startswith(top.rstrip(os.sep) + os.sep)
    return path if is_below and "\0" not in path else None


def safe_name(value: Any) -> str:
    """The value if it can be nothing but one folder's name, else an empty text."""
    if not isinstance(value, str) or not value or value[0] in ".-":
        return ""
    return value if all(char.isalnum() or char in "-_." for char in value) else ""


def source(name: str, traits: Traits, *, root: str, folder: str, settings: dict[str, list[str]]) -> Source:
    """The list of the spec in this folder, on if the plugin's settings do not turn it off."""
    return Source(
        name,
        os.path.basename(folder),
        root=root,
        paths={role: os.path.join(folder, file) for role, file in traits.files.items()},
        enabled=not frontmatter.is_off(settings, "enabled"),
    )


def is_orphan(name: str) -> bool:
    """Whether a file name is that of a parallel task's notes, left over if it grows old."""
    return name.startswith(".progress-task-") and name.endswith(".md")


def read_state(texts: Texts) -> dict[str, Any]:
    text = texts.get("state")
    if text is None:
        return {}
    try:
        return jsontext.parse_object(text)
    except ValueError as error:
        raise ValueError("The state file is corrupt: " + str(error)) from None


def parse(texts: Texts) -> TaskList:
    return task_list(read_state(texts), texts)


def task_list(state: dict[str, Any], texts: Texts) -> TaskList:
    text = texts.get("tasks")
    phase = state.get("phase")
    return TaskList(
        _placeholders(state) if text is None else boxes.parse(text),
        sequential=True,
        # A state that names no phase is not known to have reached execution.
        phase="execution" if texts.get("state") is None else phase if isinstance(phase, str) else "",
        awaiting_approval=state.get("awaitingApproval") is True,
        iteration=_count(state, "globalIteration"),
        max_iterations=_count(state, "maxGlobalIterations") or None,
        max_attempts=_count(state, "maxTaskIterations") or None,
    )


def _count(state: dict[str, Any], field: str) -> int:
    value = state.get(field)
    return value if value.__class__ is int and value > 0 else 0


def _placeholders(state: dict[str, Any]) -> list[Task]:
    index = _count(state, "taskIndex")
    return [Task(str(n), "Task " + str(n), done=n <= index) for n in range(1, _total(state) + 1)]


def _total(state: dict[str, Any]) -> int:
    return min(_count(state, "totalTasks"), _MOST_PLACEHOLDERS)


def mark(texts: Texts, *places: int, done: bool) -> dict[str, str]:
    changed: dict[str, str] = {}
    for place in sorted(places, reverse=True):
        changed.update(_mark({**texts, **changed}, place, done=done))
    return changed


def _mark(texts: Texts, place: int, *, done: bool) -> dict[str, str]:
    tasks = texts.get("tasks")
    if tasks is not None:
        changed = boxes.set_box(tasks, place, done=done)
        return {"tasks": changed} if changed != tasks else {}
    text = texts.get("state") or ""
    state = read_state(texts)
    if not 0 <= place < _total(state):
        raise ValueError("The state file counts no task %d." % (place + 1))
    if (place < _count(state, "taskIndex")) == done:
        return {}
    index = place + 1 if done else place
    if jsontext.member(text, "taskIndex") is None:
        return {"state": jsontext.add_member(text, "taskIndex", index)}
    return {"state": write_fields(text, {"taskIndex": index})}


def is_work(written: str, *, by_shell: bool) -> bool:
    """Whoever writes the state works on the spec."""
    return True


def record(texts: Texts, tally: Tally) -> dict[str, str]:
    text = texts.get("state")
    if text is None:
        return {}
    fields = {
        "taskIndex": tally.index,
        "totalTasks": tally.total,
        "taskIteration": tally.attempt,
        # A coordinator that counts for itself may be ahead of us.
        "globalIteration": max(tally.iteration, _count(read_state(texts), "globalIteration")),
    }
    written = _write_fixes(write_fields(text, fields), tally.fixes)
    return {"state": written} if written != text else {}


def _write_fixes(text: str, fixes: Mapping[str, list[str]]) -> str:
    """The state with these fix tasks in its map, if it has one; whatever else that says stays."""
    for name, ids in fixes.items():
        found = jsontext.member(text, "fixTaskMap")
        if found is None or not isinstance(found.value, dict):
            break
        fields = {"attempts": len(ids), "fixTaskIds": ids}
        entry = jsontext.member(text, name, found.start)
        if entry is None or not isinstance(entry.value, dict):
            text = jsontext.set_member(text, name, fields, at=found.start)
            continue
        for field, value in fields.items():
            text = jsontext.set_member(text, field, value, at=entry.start)
    return text


def write_fields(text: str, fields: dict[str, int], *, at: int = 0) -> str:
    """The object at `at` with these numbers in the fields that it has; the text must be known to parse."""
    found = {span.key: span for span in jsontext.members(text, at) if span.key in fields}
    for span in sorted(found.values(), key=lambda span: span.start, reverse=True):
        value = fields[span.key]
        if span.value.__class__ is not int or span.value != value:
            text = jsontext.replace(text, span, value)
    return text


def restore(texts: Texts, pinned: Texts) -> Restored:
    return boxes.restore(texts, pinned)


def hold_additions(
    texts: Texts, pinned: str, *, known: set[str], modified: dict[str, int]
) -> tuple[dict[str, str], list[str], list[str]]:
    """Without the fix tasks and splits that go beyond the plugin's own limits."""
    from ralphloop.domain import additions

    text, limits = texts.get("tasks") or "", addition_limits(texts.get("state"))
    first, now = TaskList(boxes.parse(pinned)), TaskList(boxes.parse(text))
    found = additions.excess(first, now, known=known, modified=modified, limits=limits)
    for place, _ in sorted(found, reverse=True):
        text = boxes.remove(text, place)
    split = additions.modified_now(first, TaskList(boxes.parse(text)), known=known)
    return {"tasks": text} if found else {}, [told for _, told in found], split


def protect(texts: Texts) -> list[str]:
    """These lists have no place to name files in."""
    return []


def addition_limits(text: Optional[str]) -> AdditionLimits:
    """How many tasks may be added: the state, which the agent writes, can lower that and never raise it."""
    from ralphloop.domain.additions import AdditionLimits

    limits = AdditionLimits()
    try:
        state = jsontext.parse_object(text or "{}")
    except ValueError:
        return limits
    for name, field in ADDITION_LIMITS.items():
        limits.lower(name, state.get(field))
    return limits

"""The text of a feature_list.json: tasks out of it, and one task closed or reopened in it."""

from __future__ import annotations

from ralphloop.domain import jsontext
from ralphloop.domain.model import Task, TaskList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Optional

    from ralphloop.tasklists.source import Texts

_A_PERSON = "a person"
_RARE = frozenset(["depends_on", "model", "needs_human", "timeout_s", "verify"])


def parse(texts: Texts) -> TaskList:
    text = texts.get("list")
    if text is None:
        raise ValueError("There is no feature_list.json.")
    shared, features = read(text)
    return TaskList(
        read_tasks(features, shared),
        verify=as_commands(shared.get("verify")),
        timeout_s=as_seconds(shared.get("timeout_s")),
    )


def read(text: str) -> tuple[dict[str, Any], list[Any]]:
    """The object around the features, empty if they are a bare array, and the features."""
    try:
        value = jsontext.parse(text)
    except ValueError as error:
        raise ValueError("feature_list.json is not JSON: " + str(error)) from None
    shared: dict[str, Any] = value if isinstance(value, dict) else {}
    features = shared.get("features") if isinstance(value, dict) else value
    if not isinstance(features, list):
        raise ValueError("feature_list.json has no array of features.")
    return shared, features


def protect(text: str) -> list[str]:
    """The globs of the files that no claim may touch."""
    return list(as_commands(read(text)[0].get("protect")))


def read_tasks(features: list[Any], shared: dict[str, Any]) -> list[Task]:
    verify = as_commands(shared.get("verify"))
    model = as_text(shared.get("model"))
    guarded = bool(as_commands(shared.get("protect")))
    tasks: list[Task] = []
    seen: set[str] = set()
    for feature in features:
        if not isinstance(feature, dict):
            raise ValueError("Feature %d in feature_list.json is not an object." % (len(tasks) + 1))
        get = feature.get
        title = get("description")
        if not title or not isinstance(title, str):
            title = as_text(get("title"))
        task = Task(
            identity(get("id")),
            title,
            done=get("passes") is True,
            steps=as_texts(get("steps")),
            verify=verify,
            model=model,
            guarded=guarded,
        )
        if not _RARE.isdisjoint(feature):
            _add_rare(task, get)
        if task.id:
            if task.id in seen:
                raise ValueError("Two features in feature_list.json have the id " + task.id + ".")
            seen.add(task.id)
        tasks.append(task)
    return tasks


def _add_rare(task: Task, get: Callable[[str], Any]) -> None:
    """The fields that few features have: a list of 100,000 is read at a stop."""
    waits = get("needs_human")
    task.needs_human = _A_PERSON if waits is True else as_text(waits)
    task.verify = as_commands(get("verify")) or task.verify
    task.model = as_text(get("model")) or task.model
    task.depends_on = as_texts(get("depends_on"))
    task.timeout_s = as_seconds(get("timeout_s"))


def identity(value: Any) -> str:
    """The id that a feature's `id` stands for, empty if for none."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # tools that rewrite JSON turn 1.0 into 1: it has to stay the same task
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_texts(value: Any) -> tuple[str, ...]:
    """A list of texts or numbers, or a single one; ids are written the same way."""
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str):
            return tuple([text for text in [identity(item) for item in items] if text])
    return tuple(items)


def as_commands(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple([item for item in items if isinstance(item, str) and item.strip()])


def as_seconds(value: Any) -> Optional[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value < 1e9 else None


def mark(texts: Texts, *places: int, done: bool) -> dict[str, str]:
    text = changed = texts.get("list") or ""
    found = {feature.key: feature.start for feature in spans(text)}
    for place in sorted(places, reverse=True):
        if place not in found:
            raise ValueError("feature_list.json has no feature %d." % (place + 1))
        changed = set_passes(changed, found[place], done=done)
    return {"list": changed} if changed != text else {}


def set_passes(text: str, at: int, *, done: bool) -> str:
    """The text with the feature at `at` closed or reopened; any value but true is open already."""
    passes = jsontext.member(text, "passes", at)
    if (passes is not None and passes.value is True) == done:
        return text
    return jsontext.set_member(text, "passes", done, at=at)


def spans(text: str) -> Iterable[jsontext.Span]:
    """Where the features stand; none if the text has no array of them."""
    at = array_at(text)
    return jsontext.members(text, at) if text.startswith("[", at) else ()


def array_at(text: str) -> int:
    opening = jsontext.opening(text)
    if not text.startswith("{", opening):
        return opening
    features = jsontext.member(text, "features")
    return features.start if features else len(text)

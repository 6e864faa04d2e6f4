"""The text of a feature_list.json: its tasks, one closed or reopened, all put back as they were pinned."""

from __future__ import annotations

from ralphloop.domain import jsontext
from ralphloop.domain.model import Task, TaskList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Optional

    from ralphloop.tasklists.restoring import Edit, Restored
    from ralphloop.tasklists.source import Texts

_A_PERSON = "a person"
_RARE = frozenset(["apart", "depends_on", "model", "needs_human", "timeout_s", "verify"])
# What is pinned: of a feature, and around them all.
_FIELDS = ("description", "title", "steps", "verify", "timeout_s", "apart")
_SHARED = ("verify", "protect", "timeout_s")
_REMOVED = ["removed"]


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
    task.apart = get("apart") is not False


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


class _Features:
    """A feature list as read; ValueError if it cannot be."""

    __slots__ = ("features", "shared", "tasks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.shared, self.features = read(text)
        self.tasks = read_tasks(self.features, self.shared)


def restore(texts: Texts, pinned: Texts) -> Restored:
    from ralphloop.tasklists import restoring

    old, new = pinned.get("list"), texts.get("list")
    if old is None or old == new:
        return restoring.Restored()
    then = _Features(old)
    if new is None:
        return restoring.Restored({"list": old}, faults=[("", "removed")])
    try:
        now = _Features(new)
    except ValueError:
        return _start_over(then, new)
    is_same_kind = bool(then.shared) == bool(now.shared)  # an object has its features at least
    return _mend(then, now) if is_same_kind else _start_over(then, new)


def _mend(then: _Features, now: _Features) -> Restored:
    from ralphloop.tasklists import restoring

    pairs = restoring.pair(then.tasks, now.tasks)
    shared, changed = _changes(then, now, pairs)
    faults = [("", field) for field in shared]
    for task, fields in zip(then.tasks, changed):
        faults += [(restoring.shown(task), field) for field in fields]
    if not faults:
        return restoring.Restored(added=restoring.added(now.tasks, pairs))
    text = restoring.splice(now.text, _edits(then, now, pairs=pairs, changed=changed))
    text = _put_back(text, then.text, fields=shared)
    mended = _Features(text)
    pairs = restoring.pair(then.tasks, mended.tasks)
    shared, changed = _changes(then, mended, pairs)
    if shared or any(changed):  # twins that changed places can have traded their criteria
        return _start_over(then, now.text)
    return restoring.Restored({"list": text}, faults=faults, added=restoring.added(mended.tasks, pairs))


def _changes(then: _Features, now: _Features, pairs: list[int]) -> tuple[list[str], list[list[str]]]:
    """The fields that were changed around the features, and in each pinned feature."""
    shared = [name for name in _SHARED if not _same(then.shared.get(name), now.shared.get(name))]
    changed = [
        _changed(old, now.features[place]) if place >= 0 else _REMOVED
        for old, place in zip(then.features, pairs)
    ]
    return shared, changed


def _changed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Readers take null for a field that is not there, so here it is the same."""
    found = [name for name in _FIELDS if not _same(old.get(name), new.get(name))]
    if identity(old.get("id")) != identity(new.get("id")):
        found.insert(0, "id")
    waits = old.get("needs_human")
    # An empty one is a blank to fill in: the agent may ask for a person.
    if waits and not _same(waits, new.get("needs_human")):
        found.append("needs_human")
    return found


def _same(old: Any, new: Any) -> bool:
    """Whether two values are the same JSON: to Python, 1 is true as well."""
    if old is new or old.__class__ is str:  # nearly always, in a list of any length
        return bool(old == new)
    pairs = [(old, new)]
    while pairs:
        old, new = pairs.pop()
        if old.__class__ is dict and new.__class__ is dict:
            if old.keys() != new.keys():
                return False
            pairs += [(value, new[key]) for key, value in old.items()]
        elif old.__class__ is list and new.__class__ is list:
            if len(old) != len(new):
                return False
            pairs += zip(old, new)
        elif old != new or (old.__class__ is bool) != (new.__class__ is bool):
            return False
    return True


def _edits(then: _Features, now: _Features, *, pairs: list[int], changed: list[list[str]]) -> list[Edit]:
    """Each changed feature as it has to be, and each removed one behind the one that it stood behind."""
    if _REMOVED in changed and not now.features:
        return [_refill(then.text, now.text)]
    edits: list[Edit] = []
    was, now_at = list(spans(then.text)), list(spans(now.text))
    anchor = -1
    for at, (place, fields) in enumerate(zip(pairs, changed)):
        raw = then.text[was[at].start : was[at].end]
        if place >= 0:
            anchor = now_at[place].end
            if fields:
                present = now.text[now_at[place].start : anchor]
                edits.append((now_at[place].start, anchor, _put_back(present, raw, fields=fields)))
        elif anchor >= 0:
            edits.append((anchor, anchor, then.text[was[at - 1].end : was[at].start] + raw))
        else:
            first = now_at[0].start
            gap = then.text[was[at].end : was[at + 1].start] if at + 1 < len(was) else ", "
            edits.append((first, first, raw + gap))
    return edits


def _refill(old: str, new: str) -> Edit:
    """An array that was emptied, as it was."""
    start, target = array_at(old), array_at(new)
    ends = [span.end for span in spans(old)]
    return target + 1, new.index("]", target), old[start + 1 : old.index("]", ends[-1])]


def _put_back(text: str, pinned: str, *, fields: list[str]) -> str:
    """The object with these fields as the pinned object has them, or has them not."""
    for name in fields:
        then, now = jsontext.member(pinned, name), jsontext.member(text, name)
        if then is None:
            text = jsontext.remove_member(text, name)
            continue
        raw = pinned[then.start : then.end]
        text = jsontext.replace_raw(text, now, raw) if now else jsontext.add_raw(text, name, raw)
    return text


def _start_over(then: _Features, new: str) -> Restored:
    """The pinned text with the claims of the present one: there is nothing to mend piece by piece."""
    from ralphloop.tasklists import restoring

    claims = _claims(new)
    edits: list[Edit] = []
    for key, task, span in zip(restoring.keys(then.tasks), then.tasks, spans(then.text)):
        done = claims.get(key, task.done)
        if done != task.done:
            feature = then.text[span.start : span.end]
            edits.append((span.start, span.end, set_passes(feature, 0, done=done)))
    return restoring.Restored({"list": restoring.splice(then.text, edits)}, faults=[("", "structure")])


def _claims(text: str) -> dict[tuple[str, str], bool]:
    """Whether each task is said to be done; of two with one id, both have to say so."""
    from ralphloop.tasklists import restoring

    try:
        features = read(text)[1]
    except ValueError:
        return {}
    tasks = [read_tasks([item], {})[0] for item in features if isinstance(item, dict)]
    claims: dict[tuple[str, str], bool] = {}
    for key, task in zip(restoring.keys(tasks), tasks):
        claims[key] = task.done and claims.get(key, True)
    return claims

"""The pinned criteria of a feature list: what was changed or removed is put back as it was written."""

from __future__ import annotations

from ralphloop.domain import jsontext
from ralphloop.tasklists import feature_list, restoring
from ralphloop.tasklists.restoring import Restored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ralphloop.tasklists.source import Texts

_FIELDS = ("description", "title", "steps", "verify", "timeout_s")
_SHARED = ("verify", "protect", "timeout_s")
_REMOVED = ["removed"]


class _Features:
    """A feature list as read; ValueError if it cannot be."""

    __slots__ = ("features", "shared", "tasks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.shared, self.features = feature_list.read(text)
        self.tasks = feature_list.read_tasks(self.features, self.shared)


def restore(texts: Texts, pinned: Texts) -> Restored:
    old, new = pinned.get("list"), texts.get("list")
    if old is None or old == new:
        return Restored()
    then = _Features(old)
    if new is None:
        return Restored({"list": old}, faults=[("", "removed")])
    try:
        now = _Features(new)
    except ValueError:
        return _start_over(then, new)
    is_same_kind = bool(then.shared) == bool(now.shared)  # an object has its features at least
    return _mend(then, now) if is_same_kind else _start_over(then, new)


def _mend(then: _Features, now: _Features) -> Restored:
    pairs = restoring.pair(then.tasks, now.tasks)
    shared, changed = _changes(then, now, pairs)
    faults = [("", field) for field in shared]
    for task, fields in zip(then.tasks, changed):
        faults += [(restoring.shown(task), field) for field in fields]
    if not faults:
        return Restored(added=restoring.added(now.tasks, pairs))
    text = restoring.splice(now.text, _edits(then, now, pairs=pairs, changed=changed))
    text = _put_back(text, then.text, fields=shared)
    mended = _Features(text)
    pairs = restoring.pair(then.tasks, mended.tasks)
    shared, changed = _changes(then, mended, pairs)
    if shared or any(changed):  # twins that changed places can have traded their criteria
        return _start_over(then, now.text)
    return Restored({"list": text}, faults=faults, added=restoring.added(mended.tasks, pairs))


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
    if feature_list.identity(old.get("id")) != feature_list.identity(new.get("id")):
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


def _edits(
    then: _Features, now: _Features, *, pairs: list[int], changed: list[list[str]]
) -> list[restoring.Edit]:
    """Each changed feature as it has to be, and each removed one behind the one that it stood behind."""
    if _REMOVED in changed and not now.features:
        return [_refill(then.text, now.text)]
    edits: list[restoring.Edit] = []
    was, now_at = list(feature_list.spans(then.text)), list(feature_list.spans(now.text))
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


def _refill(old: str, new: str) -> restoring.Edit:
    """An array that was emptied, as it was."""
    start, target = feature_list.array_at(old), feature_list.array_at(new)
    ends = [span.end for span in feature_list.spans(old)]
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
    claims = _claims(new)
    edits: list[restoring.Edit] = []
    for key, task, span in zip(restoring.keys(then.tasks), then.tasks, feature_list.spans(then.text)):
        done = claims.get(key, task.done)
        if done != task.done:
            feature = then.text[span.start : span.end]
            edits.append((span.start, span.end, feature_list.set_passes(feature, 0, done=done)))
    return Restored({"list": restoring.splice(then.text, edits)}, faults=[("", "structure")])


def _claims(text: str) -> dict[tuple[str, str], bool]:
    """Whether each task is said to be done; of two with one id, both have to say so."""
    try:
        features = feature_list.read(text)[1]
    except ValueError:
        return {}
    tasks = [feature_list.read_tasks([item], {})[0] for item in features if isinstance(item, dict)]
    claims: dict[tuple[str, str], bool] = {}
    for key, task in zip(restoring.keys(tasks), tasks):
        claims[key] = task.done and claims.get(key, True)
    return claims

"""The fields of a feature list: what each may hold, which are not obeyed yet, what a misspelling means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ralphloop.domain.check_results import BUDGET_S, TIMEOUT_S
from ralphloop.domain.prompt import cut
from ralphloop.spelling import form, near
from ralphloop.tasklists import feature_list
from ralphloop.views.fold import SHOWN, Where, bounded, few, shown

NAMES_MOST = 200  # unknown names that are compared with the known ones
NAME_MOST = 40  # characters of one that is shown, or compared


class Field(NamedTuple):
    """What a field may hold, in words; what comes of a wrong value, which is empty for one that is read as it
    stands; what happens instead where the field is not obeyed yet."""

    form: str = ""
    wrong: Callable[[Any], str] = lambda value: ""
    pending: str = ""


def _read_by(reader: Callable[[Any], Any], otherwise: str) -> Callable[[Any], str]:
    """Of a field that the parser reads like this; nothing at all is no mistake."""
    return lambda value: "" if value == "" or reader(value) else otherwise


def _all_read_by(reader: Callable[[Any], tuple[str, ...]], otherwise: str) -> Callable[[Any], str]:
    """The same of each item of a list."""

    def wrong(value: Any) -> str:
        said = [item for item in (value if isinstance(value, list) else [value]) if item != ""]
        return "" if len(reader(said)) == len(said) else otherwise

    return wrong


def _listed(one: str) -> Callable[[Any], str]:
    """Texts or numbers, in brackets."""
    some = _all_read_by(feature_list.as_texts, "only a text or a number is read")
    return lambda value: some(value) or ("" if isinstance(value, list) else f"it is read as one {one}")


def _wrong_time(value: Any) -> str:
    meant_s = feature_list.as_seconds(value)
    if meant_s is None:
        return f"it is not read, and {TIMEOUT_S:.0f} s hold"
    return f"a check is ended after {BUDGET_S:.0f} s in any case" if meant_s > BUDGET_S else ""


def _wrong_question(value: Any) -> str:
    return "" if isinstance(value, bool) else _TEXT.wrong(value) and "nobody is asked"


_TEXT = Field("a text", _read_by(feature_list.as_text, "it is not read"))
_VERIFY = Field(
    'a command in quotes, or a list of them: ["make test"]',
    _all_read_by(feature_list.as_commands, "only a command in quotes is a check"),
)
_TIMEOUT = Field(f"a number of seconds, {BUDGET_S:.0f} at most", _wrong_time)
_WITH = Field(pending="the client that runs the loop works on every task")
_REVIEW = Field(pending="nobody reviews, a task is proven by its checks alone")

# What is known, for a feature and for the list itself; whoever builds a field takes its `pending` away.
FEATURE: dict[str, Field] = {
    "id": Field("a text or a number", _read_by(feature_list.identity, "the task is called by its place")),
    "description": _TEXT,
    "title": _TEXT,
    "steps": Field('a list of texts: ["first", "second"]', _listed("step")),
    "passes": Field(
        "true or false, without quotes",
        lambda value: "" if isinstance(value, bool) else "the task counts as open",
    ),
    "verify": _VERIFY,
    "timeout_s": _TIMEOUT,
    "depends_on": Field('a list of ids: ["F1"]', _listed("id")),
    "needs_human": Field("a text", _wrong_question),
    "model": _TEXT,
    "category": Field(),
    "priority": Field(),
    "notes": Field(),
    "with": _WITH,
    "review": _REVIEW,
    "touches": Field(pending="tasks are worked on one after another, whatever they touch"),
    "exclusive": Field(pending="tasks are worked on one after another in any case"),
    "apart": Field(
        "true or false, without quotes",
        lambda value: "" if isinstance(value, bool) else "its checks are tried apart all the same",
    ),
}
LIST: dict[str, Field] = {
    "features": Field(),
    "verify": _VERIFY,
    "timeout_s": _TIMEOUT,
    "model": _TEXT,
    "protect": Field(
        'a glob in quotes, or a list of them: ["tests/**"], or "criteria"',
        _all_read_by(feature_list.as_commands, "only a glob in quotes protects"),
    ),
    "with": _WITH,
    "review": _REVIEW,
    "fallback": Field(pending="no other client or model takes over"),
    "setup": Field(pending="nothing is set up before a check; let the check do it"),
    "setup_inputs": Field(pending="nothing is set up before a check"),
}

# Words that people write for another one; close spellings are found without this.
_MEANT = {
    "verify": "check checks test tests command cmd validate validation verification",
    "passes": "done completed complete finished passed pass",
    "description": "name summary task text desc goal",
    "steps": "acceptance acceptancecriteria criteria substeps instructions",
    "depends_on": "dependencies deps requires needs after blockedby dependson",
    "needs_human": "human needsperson manual",
    "timeout_s": "timeout timeoutseconds timeoutms timelimit",
}
# Of a feature, and nobody's own word for the list around it.
_INSIDE = ("steps", "passes", "depends_on", "needs_human", "touches", "exclusive", "apart")


def doubts(
    shared: Mapping[str, Any], features: Iterable[Mapping[str, Any]], names: Iterable[str]
) -> list[str]:
    """What is odd about the fields of a list and of its features, which are called by these names."""
    around, inside = _Look(LIST, FEATURE), _Look(FEATURE, LIST)
    around.take(shared, "")
    for feature, name in zip(features, names, strict=True):
        inside.take(feature, name)
    misread = [*around.misread(), *inside.misread()]
    wrong = [*around.wrong(), *inside.wrong()]
    pending = list(dict.fromkeys([*around.waiting(), *inside.waiting()]))
    return [*bounded(misread), *bounded(wrong), *pending, *_unknown(around, inside)]


class _Look:
    """What was seen in the objects of one kind."""

    def __init__(self, known: dict[str, Field], elsewhere: dict[str, Field]) -> None:
        self._known, self._elsewhere = known, elsewhere
        self._cures: dict[str, tuple[str, str]] = {}
        self._misread: dict[str, Where] = {}
        self._wrong: dict[tuple[str, str, type], tuple[Where, str]] = {}
        self._pending: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.uncounted = 0

    def take(self, found: Mapping[str, Any], name: str) -> None:
        for key, value in found.items():
            field = self._known.get(key)
            if field is None:
                self._take_unknown(found, key, name)
            elif field.pending:
                self._pending[key] = None
            elif value is not None and (wrong := field.wrong(value)):
                kind = key, wrong, type(value)
                if kind not in self._wrong:
                    self._wrong[kind] = Where(), _kind(value)
                self._wrong[kind][0].add(name)

    def _take_unknown(self, found: Mapping[str, Any], key: str, name: str) -> None:
        if key not in self._cures:
            if len(self._cures) >= NAMES_MOST:
                self.uncounted += 1
                return
            self._cures[key] = self._cure(key)
        right, cure = self._cures[key]
        if cure and (right == key or right not in found):
            self._misread.setdefault(key, Where()).add(name)
        else:
            self.unknown[key] = None

    def _cure(self, key: str) -> tuple[str, str]:
        """The field that is meant, and what to do; one that belongs elsewhere is meant itself."""
        if len(key) > NAME_MOST:
            return "", ""
        is_inside = self._known is FEATURE
        if key in self._elsewhere and (is_inside or key in _INSIDE):
            return key, 'write it beside "features"' if is_inside else "write it into a task"
        right = meant(key, self._known)
        return right, f'write "{right}"' if right else ""

    def misread(self) -> Iterator[str]:
        for key, where in self._misread.items():
            yield f"{self._place(key, 'in', where)} is no known field and does nothing: {self._cures[key][1]}"

    def wrong(self) -> Iterator[str]:
        for (key, wrong, _), (where, kind) in self._wrong.items():
            yield f"{self._place(key, 'of', where)} is {kind}: {wrong}; write {self._known[key].form}"

    def waiting(self) -> Iterator[str]:
        for key in self._pending:
            yield f'"{key}" is known, and not obeyed yet: {self._known[key].pending}; it may stay'

    def _place(self, key: str, how: str, where: Where) -> str:
        said = f"{how} {where}" if self._known is FEATURE else 'beside "features"'
        return f'"{shown(key, NAME_MOST)}" {said}'


def _unknown(*looks: _Look) -> Iterator[str]:
    names = list(dict.fromkeys(name for look in looks for name in look.unknown))
    if names:
        said = few([f'"{shown(name, NAME_MOST)}"' for name in names[: 2 * SHOWN]], len(names))
        yield f"unknown fields, kept and not read: {said}"
    more = sum(look.uncounted for look in looks)
    if more:
        yield f"{more:,} more unknown fields were not compared with the known ones"


def meant(key: str, known: Iterable[str]) -> str:
    """The known field that a word is a misspelling or another word of; empty if of none."""
    word, names = form(key), list(known)
    for name, others in _MEANT.items():
        if word in others.split() and name in names:
            return name
    # four letters are soon like others, which may be the person's own
    return "".join(near(key, [name for name in names if len(name) > 4 or form(name) == word], cutoff=0.75))


def _kind(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, str):
        return f'the text "{shown(value, 20)}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {cut(str(value), 20)}" if abs(value) < 1e15 else "a huge number"
    if isinstance(value, dict):
        return "an object"
    return "a list of other things" if isinstance(value, list) else "null"

"""A spec's state file on disk: read if we know what it says, written by one command at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.model import FINAL
from ralphloop.errors import BusyError, UserError
from ralphloop.loops.opened import WAIT_S
from ralphloop.loops.place import Place, last_over
from ralphloop.loops.spec.catalogue import Spec
from ralphloop.loops.spec.wording import numbered
from ralphloop.store import arming, files
from ralphloop.store.files import Lock
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists import frontmatter

SCHEMA_VERSION = 1
# What a state has before anybody worked on its tasks; the hook writes into what is there.
COUNTERS: Mapping[str, Any] = {
    "taskIndex": 0,
    "totalTasks": 0,
    "taskIteration": 1,
    "maxTaskIterations": 5,
    "globalIteration": 1,
    "maxGlobalIterations": 100,
    "recoveryMode": False,
    "fixTaskMap": {},
}


class State(NamedTuple):
    text: str
    data: dict[str, Any]

    @property
    def phase(self) -> str:
        return str(self.data.get("phase") or "")

    @property
    def quick(self) -> bool:
        return self.data.get("quickMode") is True

    @property
    def awaits(self) -> bool:
        return self.data.get("awaitingApproval") is True


NO_STATE = State("", {})


def load(spec: Spec) -> State | None:
    """What the state file says; nothing if there is none, an error if it is not for us to change."""
    text, shown = spec.read(spec.kind.state), spec.shown(spec.kind.state)
    if text is None:
        return None
    try:
        data = jsontext.parse_object(text)
        wrong = fault(data)
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise UserError(f"{shown} is corrupt ({wrong}); repair it, or move it away and begin anew.")
    later = unknown(data, spec.kind.phases)
    if later:
        raise UserError(
            f"{shown} is from a newer version ({later}); "
            f"update the plugin {spec.kind.traits.plugin}, nothing was changed."
        )
    return State(text, data)


def known(spec: Spec) -> State:
    """What the state says, as far as it is there and can be known."""
    try:
        return load(spec) or NO_STATE
    except UserError:
        return NO_STATE


def fault(state: Mapping[str, Any]) -> str:
    """What in a state no version can have meant; empty if there is nothing."""
    phase = state.get("phase")
    return "" if phase is None or isinstance(phase, str) else "`phase` is no text"


def unknown(state: Mapping[str, Any], phases: tuple[str, ...]) -> str:
    """What in a state only a newer version can have written; empty if we know all that counts."""
    phase = state.get("phase")
    is_known = phase is None or phase in phases
    return newer(state) or ("" if is_known else f"phase {jsontext.render(phase)}")


def newer(state: Mapping[str, Any]) -> str:
    """The version of a state or an epic, if that is one we do not know; else empty."""
    version = state.get("schemaVersion", SCHEMA_VERSION)
    is_known = type(version) is int and version <= SCHEMA_VERSION
    return "" if is_known else f"schemaVersion {jsontext.render(version)}"


def edit(spec: Spec, state: State | None, *, fields: Mapping[str, Any]) -> str:
    """Set these members and leave every other byte; without a state, begin one. What is written there now."""
    text = with_fields(first_state(spec) if state is None else state.text, fields)
    if state is None or text != state.text:
        files.write_shared(spec.state_path, text, root=spec.root)
    return text


def with_fields(text: str, fields: Mapping[str, Any]) -> str:
    """The state with these members; what a reader sees there already stays as it is, byte by byte."""
    for key, value in fields.items():
        text = jsontext.set_member(text, key, value)
    return text


def put_back(spec: Spec, state: State | None, *, wrote: str) -> None:
    """The state file as it was before, unless it holds something else by now than what was written."""
    if files.read_quietly(spec.state_path) != wrote:
        return
    if state is None:
        os.unlink(spec.state_path)
    elif state.text != wrote:
        files.write_shared(spec.state_path, state.text, root=spec.root)


def first_state(spec: Spec, **chosen: Any) -> str:
    """The text of a state file as a spec begins."""
    fields = {**_identity(spec), "phase": spec.kind.phases[0], **COUNTERS}
    fields["maxGlobalIterations"] = spec.source().max_iterations or fields["maxGlobalIterations"]
    choices = dict(spec.kind.choices)
    if "commitSpec" in choices:
        choices["commitSpec"] = not frontmatter.is_off(spec.settings, "auto_commit_spec")
    fields = {**fields, **choices, "awaitingApproval": True, **chosen}
    return render({**fields, "schemaVersion": SCHEMA_VERSION})


def render(fields: Mapping[str, Any]) -> str:
    """A new state file's text, one member in a line."""
    rows = [f"  {jsontext.quote(key)}: {jsontext.render(value)}" for key, value in fields.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _identity(spec: Spec) -> dict[str, Any]:
    base = os.path.relpath(spec.folder, spec.root)
    if not spec.kind.numbered:
        return {"source": "spec", "name": spec.name, "basePath": "./" + base}
    number, name = numbered(spec.name)
    return {"featureId": number or "000", "name": name, "basePath": base}


@contextmanager
def alone(root: str, place: Place) -> Iterator[None]:
    """One command at a time changes the specs of a project; it may take the locks of loops inside."""
    folder = os.path.join(Shelf(root, place.env).folder, "spec")
    files.make_folder(folder)
    try:
        with Lock(os.path.join(folder, "lock")):
            yield
    except BusyError:
        raise UserError("another command is at work on the specs here; try again in a moment.") from None


def loop_over(spec: Spec, place: Place) -> LoopFiles | None:
    """The loop over this spec that is under way."""
    here = Shelf(spec.root, place.env)
    record = arming.holder(spec.source(), here)
    return LoopFiles(record, here, writes=place.writes) if record is not None else None


def last_loop(spec: Spec, place: Place) -> LoopFiles | None:
    """The loop over this spec that is under way, else the newest that has ended."""
    return loop_over(spec, place) or last_over(place, spec.source())


def loop_to_resume(spec: Spec, place: Place) -> LoopFiles | None:
    """The loop over this spec that is under way, or that has ended and can go on."""
    loop = last_loop(spec, place)
    return loop if loop is not None and loop.state().outcome not in FINAL else None


@contextmanager
def held(spec: Spec, place: Place) -> Iterator[LoopFiles | None]:
    """The loop over this spec that is under way, if there is one, under its lock."""
    loop = loop_over(spec, place)
    if loop is None:
        yield None
        return
    try:
        with loop.lock(wait_s=WAIT_S):
            yield loop
    except BusyError:
        raise UserError(f"the loop {loop.record.name} is busy with a stop; try again in a moment.") from None

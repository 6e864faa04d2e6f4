"""A spec's state file on disk: read if we know what it says, written under the lock of the loop over it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ralphloop.cli.book import WAIT_S
from ralphloop.cli.errors import UserError
from ralphloop.cli.here import Here, last_over
from ralphloop.cli.spec.kind import SPECUM_KIND, Spec
from ralphloop.domain import jsontext
from ralphloop.domain.model import FINAL
from ralphloop.store import arming, files
from ralphloop.store.lock import BusyError
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Shelf
from ralphloop.tasklists import frontmatter, spec_phase
from ralphloop.views.snapshot import state_of


class State(NamedTuple):
    text: str
    data: dict[str, Any]

    @property
    def phase(self) -> str:
        return str(self.data.get("phase") or "")

    @property
    def quick(self) -> bool:
        return self.data.get("quickMode") is True


def load(spec: Spec) -> State | None:
    """What the state file says; nothing if there is none, an error if it is not for us to change."""
    text = files.read_text(spec.state_path)
    if text is None:
        return None
    try:
        data = jsontext.parse_object(text)
    except ValueError as error:
        shown = spec.shown(spec.kind.state)
        raise UserError(f"{shown} is corrupt ({error}); repair it, or move it away and begin anew.") from None
    newer = spec_phase.unknown(data, spec.kind.phases)
    if newer:
        raise UserError(
            f"{spec.shown(spec.kind.state)} is from a newer version ({newer}); "
            f"update the plugin ralph-{spec.kind.layout}, nothing was changed."
        )
    return State(text, data)


def edit(spec: Spec, state: State | None, fields: Mapping[str, Any]) -> None:
    """Set these members and leave every other byte; without a state, begin one."""
    if state is None:
        text = spec_phase.edit(first_state(spec), fields)
    else:
        text = spec_phase.edit(state.text, fields)
    if state is None or text != state.text:
        files.write_shared(spec.state_path, text, root=spec.root)


def put_back(spec: Spec, state: State | None) -> None:
    """The state file as it was before."""
    if state is not None:
        if files.read_text(spec.state_path) != state.text:
            files.write_shared(spec.state_path, state.text, root=spec.root)
    elif os.path.lexists(spec.state_path):
        os.unlink(spec.state_path)


def first_state(spec: Spec, **chosen: Any) -> str:
    """The text of a state file as a spec begins."""
    base = os.path.relpath(spec.folder, spec.root)
    counters = dict(spec_phase.COUNTERS)
    if spec.kind is not SPECUM_KIND:
        number = spec_phase.number_of(spec.name)
        return spec_phase.render(
            {
                "featureId": number or "000",
                "name": spec.name[len(number) + 1 :] if number else spec.name,
                "basePath": base,
                "phase": spec.kind.phases[0],
                **counters,
                "awaitingApproval": True,
                **chosen,
                "schemaVersion": spec_phase.SCHEMA_VERSION,
            }
        )
    counters["maxGlobalIterations"] = (
        frontmatter.count(spec.settings, "default_max_iterations") or counters["maxGlobalIterations"]
    )
    quick = chosen.get("quickMode", False)
    fields = {
        "source": "spec",
        "name": spec.name,
        "basePath": "./" + base,
        "phase": spec.kind.phases[0],
        **counters,
        "commitSpec": not frontmatter.is_off(spec.settings, "auto_commit_spec"),
        "quickMode": quick,
        "awaitingApproval": not quick,
        "granularity": "fine",
        "relatedSpecs": [],
        **chosen,
        "schemaVersion": spec_phase.SCHEMA_VERSION,
    }
    return spec_phase.render(fields)


def loop_over(spec: Spec, place: Here) -> LoopFiles | None:
    """The loop over this spec that is under way."""
    here = Shelf(spec.root, place.env)
    record = arming.holder(spec.source(), here)
    return LoopFiles(record, here, writes=place.writes) if record is not None else None


def loop_to_resume(spec: Spec, place: Here) -> LoopFiles | None:
    """The loop over this spec that is under way, or that has ended and can go on."""
    loop = loop_over(spec, place) or last_over(place, spec.source())
    return loop if loop is not None and state_of(loop).outcome not in FINAL else None


@contextmanager
def held(spec: Spec, place: Here) -> Iterator[LoopFiles | None]:
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

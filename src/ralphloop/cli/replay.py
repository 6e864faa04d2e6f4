"""A recorded stop laid out in a scratch folder, to be decided there once more by today's rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ralphloop.cli import record_shape
from ralphloop.cli.here import Here
from ralphloop.cli.recorded_case import Said, as_case, named_sessions
from ralphloop.domain import jsontext
from ralphloop.domain.answer import Decision, Need
from ralphloop.domain.model import LoopState, Turn
from ralphloop.engine import claim, find
from ralphloop.engine.find import Call
from ralphloop.engine.stop import Stop
from ralphloop.errors import CaseError, SceneError, UserError
from ralphloop.evidence.checker import Verdict
from ralphloop.evidence.origin import Origin
from ralphloop.evidence.prove import Prover
from ralphloop.hook import wire
from ralphloop.hook.recording import FORMAT
from ralphloop.store import approvals, files, records
from ralphloop.store.loop import LoopFiles
from ralphloop.store.records import Kept
from ralphloop.store.shelf import ARMED, ENDED, OWNED, Shelf
from ralphloop.tasklists.registry import TRUTH
from ralphloop.testing.conformance.case import Case, parse
from ralphloop.testing.conformance.scene import Scene, since
from ralphloop.testing.scratch import scratch_folder

PREFIX = "ralphloop-replay-"
COMMAND = "ralphloop"


def load(place: Here, which: str) -> dict[str, Any]:
    """The record of this number in the project, or in this file."""
    try:
        if which.isascii() and which.isdigit():
            return checked(records.load(numbered(place, int(which))), f"record {which}")
        text = files.read_text(which)
        if text is None:
            raise UserError(f"there is no file {which}; `ralphloop record list` shows the records here.")
        return checked(jsontext.parse_object(text), which)
    except ValueError as error:
        raise UserError(f"{which} is no record of a stop ({error}).") from None


def kept(place: Here) -> list[Kept]:
    """Every record that can be seen from here, the nearest project's first."""
    return [one for here in place.shelves for one in records.kept(here)]


def numbered(place: Here, number: int) -> Kept:
    for one in kept(place):
        if one.number == number:
            return one
    raise UserError(f"there is no record {number} here; `ralphloop record list` shows those that there are.")


def checked(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The record, if it has all that a reader relies on."""
    if data.get("format") != FORMAT:
        raise UserError(f"{name} is no record that this version of ralphloop can read.")
    if not record_shape.is_flat(data):
        raise UserError(f"{name} is damaged: it is nested too deeply; take another one.")
    wrong = record_shape.wrong(data)
    if wrong:
        raise UserError(f"{name} is damaged: {', '.join(wrong)}; take another one.")
    return data


class Stage(NamedTuple):
    """Where the recorded stop is decided again."""

    scene: Scene
    place: Here
    call: Call
    data: bytes


@contextmanager
def staged(record: Mapping[str, Any]) -> Iterator[Stage]:
    """The record's files in a folder that is gone afterwards, its times moved to today."""
    case = parse_case(record)
    with scratch_folder(f"{PREFIX}{os.getpid()}-") as folder:
        try:
            scene = Scene(folder / "stop", shift_s=since(case.recorded_at))
            scene.lay(case)
        except (SceneError, OSError, ValueError, OverflowError) as error:
            raise UserError(f"the record cannot be laid out: {error}; take another one.") from None
        step = case.steps[0]
        env = _env(scene, record, scene.fill_all(step.env))
        cwd = str(scene.path(step.cwd))
        call = Call(
            registration=record["registration"],
            layouts=tuple(record["layouts"]),
            env=env,
            cwd=cwd,
            writes=True,  # a list that was restored, or a claim turned back, is read again: in this folder
        )
        here = Shelf(str(scene.root), env)
        payload = scene.fill_all(step.payload)
        _must_stay(scene, call, cwd=wire.stop_event(payload, cwd=cwd).cwd)
        _note_seen(record, here)
        if record["approved"]:
            approvals.approve(here, record["approved"], by="the recorded person")
        yield Stage(scene, Here(cwd, env, writes=False), call, jsontext.render(payload).encode())


def parse_case(record: Mapping[str, Any]) -> Case:
    try:
        return parse(as_case(record), file="record")
    except (CaseError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"the record is damaged ({error}); take another one.") from None


def _env(scene: Scene, record: Mapping[str, Any], recorded: Mapping[str, str]) -> dict[str, str]:
    """The hook's environment as far as a decision looks at it; it knows us by our short name."""
    bin_folder = scene.folder / "bin"
    bin_folder.mkdir()
    own = bin_folder / COMMAND
    own.write_text("#!/bin/sh\n", encoding="utf-8")
    own.chmod(0o700)
    env = {"HOME": str(scene.home), "PATH": str(bin_folder), "CLAUDE_PROJECT_DIR": str(scene.root)}
    if record["plugin"]:
        env["CLAUDE_PLUGIN_ROOT"] = str(bin_folder)
    session = record["env"].get("CLAUDE_CODE_SESSION_ID")
    if session:
        marks = named_sessions(record)
        env["CLAUDE_CODE_SESSION_ID"] = scene.fill(marks.get(session, session))
    return {**env, **recorded}


def _must_stay(scene: Scene, call: Call, *, cwd: str) -> None:
    """Refuse a record that leads out of its scratch folder: it may come from anybody, and decisions write.

    What is looked at here is all that a decision would find, and is read as the decision reads it.
    """
    top = str(scene.folder)
    places = [cwd, os.path.join(str(scene.root), call.env.get("RALPH_LOOP_DIR") or "")]
    for root in find.roots(cwd, call.env):
        places += [] if files.inside(top, root) else [root]
        places += _armed_places(Shelf(root, call.env))
    for source in claim.sources(cwd, call):
        places += [source.root, *source.paths.values()] if source.enabled else []
    for place in places:
        if not files.inside(place, top):
            raise UserError(
                f"the record leads out of its project, to {place}; it cannot be decided again here."
            )


def _armed_places(here: Shelf) -> Iterator[str]:
    for kind in (ARMED, OWNED, ENDED):
        known = list(here.records(kind))
        if len(known) != len(files.names(os.path.join(here.folder, kind))):
            raise UserError("the record is damaged (an arming record cannot be read); take another one.")
        for one in known:
            yield from (one.root, *one.paths.values())


def _note_seen(record: Mapping[str, Any], here: Shelf) -> None:
    """Where the loop had seen its list as it was, it has seen the copy as well."""
    known = [one for one in here.records(OWNED) if one.id == record["loop"]]
    if not known or not record["seen"]:
        return
    found = known[0]
    path = Path(here.kept(found.id), "loop.json")
    with suppress(OSError, ValueError):
        state = jsontext.parse_object(path.read_text(encoding="utf-8"))
        state["files_seen"] = files.signature(found.paths[TRUTH[found.layout][-1]])
        path.write_text(jsontext.render(state) + "\n", encoding="utf-8")


class Replayed(Prover):
    """Gives the verdicts of the recorded stop, one run of checks after the other; runs nothing."""

    def __init__(self, loop: LoopFiles, rounds: Sequence[Mapping[str, Any]], *, call: Call) -> None:
        super().__init__(loop, cwd=call.cwd, env=call.env, origin=Origin("claim"))
        self.rounds = list(rounds)

    def run(self) -> None:
        recorded = self.rounds.pop(0)
        self.results.trouble = str(recorded.get("trouble", ""))
        self.verdicts = {task: Verdict(*verdict) for task, verdict in recorded["verdicts"].items()}

    def _tree_digest(self) -> str:
        return ""


def stop_with(rounds: Sequence[Mapping[str, Any]]) -> type[Stop]:
    """A stop whose checks come to what they came to then."""

    class StopAgain(Stop):
        def decide(self) -> Decision | Need | None:
            answer = super().decide()
            while isinstance(answer, Need) and isinstance(self.checks, Replayed) and self.checks.rounds:
                self.checks.run()
                answer = super().decide()
            return answer

        def _plan(self, need: Need, state: LoopState, turn: Turn) -> None:
            if self.checks is None:
                self.checks = Replayed(self.loop, rounds, call=self.call)
            super()._plan(need, state, turn)

    return StopAgain


def steady(said: Said, scene: Scene, command: str) -> Said:
    """An answer without what differs from place to place: paths, sessions, the way to call us."""

    def plain(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = scene.blank(value).replace(command, COMMAND)
        return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?", "(time)", text).strip()

    return Said(*(plain(value) for value in said))


def blanked(value: Any, scene: Scene) -> Any:
    """Every text of a value with marks for the paths and sessions of the scratch folder."""
    if isinstance(value, str):
        return scene.blank(value)
    if isinstance(value, dict):
        return {key: blanked(item, scene) for key, item in value.items()}
    return [blanked(item, scene) for item in value] if isinstance(value, list) else value

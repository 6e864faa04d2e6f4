"""A recorded stop laid out in a scratch folder, decided there once more by today's rules, and compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ralphloop.domain import finding, jsontext
from ralphloop.domain.model import PLUGIN_VARIABLE, PROJECT_VARIABLE, SESSION_VARIABLE, LoopState, Turn
from ralphloop.domain.prompt import plain
from ralphloop.domain.situation import Decision, Need
from ralphloop.engine import claim, find
from ralphloop.engine.find import Call
from ralphloop.engine.stop import Stop
from ralphloop.errors import SceneError, UserError
from ralphloop.hook import wire
from ralphloop.lab.conformance.scene import Scene, in_texts, since
from ralphloop.lab.recorded_case import answered, named_sessions, parse_case
from ralphloop.lab.scratch import scratch_folder
from ralphloop.loops.explanation import ALLOW, GO_ON, Account, consider, facts_of, lines_of
from ralphloop.loops.place import Place
from ralphloop.loops.result import Result
from ralphloop.loops.stop_record import Said, load_record
from ralphloop.proof.checker import Origin, Verdict
from ralphloop.proof.proof_record import ProofRecord
from ralphloop.proof.prove import Answers, Prover
from ralphloop.store import approvals, files
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import ARMED, ENDED, OWNED, Shelf
from ralphloop.tasklists.registry import LAYOUTS, traits

PREFIX = "ralphloop-replay-"
COMMAND = "ralphloop"


def explain(place: Place, which: str) -> Result:
    """How a recorded stop would be decided now, rule by rule, compared with its answer; the code is 1 if that
    is another."""
    record = load_record(place, which)
    account = Account(stop_with(record["checks"]))
    with staged(record) as stage:
        consider(stage.data, stage.place, account, call=stage.call)
        told = in_texts(stage.scene.blank, facts_of(account))
        now, then = (
            steady(said, stage.scene, record["command"])
            for said in (Said.of(account.answer), answered(record))
        )
    differs = [name for name, one, other in zip(Said._fields, now, then, strict=True) if one != other]
    differs += ["checks"] if account.pending else []
    lines = (*lines_of(told), *_compared(record, then, differs))
    return Result({**told, "record": _facts(record, differs)}, lines, 1 if differs else 0)


def _facts(record: Mapping[str, Any], differs: list[str]) -> dict[str, Any]:
    kept = ("at", "version", "loop", "rule", "answer", "left_out")
    return {**{key: record[key] for key in kept}, "same": not differs, "differs": differs}


def _compared(record: Mapping[str, Any], then: Said, differs: list[str]) -> Iterator[str]:
    answer = GO_ON if then.blocks or then.context else ALLOW
    by = f" by the rule {record['rule']}" if record["rule"] else ""
    yield ""
    yield plain(f"recorded {record['at']} with ralphloop {record['version']}: {answer}{by}")
    yield from (plain(f"not in the record: {path} ({why})") for path, why in record["left_out"].items())
    if record["answer"]["broken"]:
        yield "a bug of ralphloop left no answer then; errors.log in its state directory tells more."
    if not differs:
        yield "the answer is the same."
        return
    yield "the answer is different: " + ", ".join(differs)
    for name in differs:
        text = getattr(then, name, None)
        if isinstance(text, str):
            yield f"recorded {name}:"
            yield from ("  " + row for row in (text or "(none)").split("\n"))


class Stage(NamedTuple):
    """Where the recorded stop is decided again."""

    scene: Scene
    place: Place
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
        yield Stage(scene, Place(cwd, env, writes=False), call, jsontext.render(payload).encode())


def _env(scene: Scene, record: Mapping[str, Any], recorded: Mapping[str, str]) -> dict[str, str]:
    """The hook's environment as far as a decision looks at it; it knows us by our short name."""
    bin_folder = scene.folder / "bin"
    bin_folder.mkdir()
    own = bin_folder / COMMAND
    own.write_text("#!/bin/sh\n", encoding="utf-8")
    own.chmod(0o700)
    env = {"HOME": str(scene.home), "PATH": str(bin_folder), PROJECT_VARIABLE: str(scene.root)}
    if record["plugin"]:
        env[PLUGIN_VARIABLE] = str(bin_folder)
    session = record["env"].get(SESSION_VARIABLE)
    if session:
        marks = named_sessions(record)
        env[SESSION_VARIABLE] = scene.fill(marks.get(session, session))
    return {**env, **recorded}


def _must_stay(scene: Scene, call: Call, *, cwd: str) -> None:
    """Refuse a record that leads out of its scratch folder: it may come from anybody, and decisions write.

    What is looked at here is all that a decision would find, and is read as the decision reads it.
    """
    top = str(scene.folder)
    chosen = [call.env.get(traits(name).chosen_by) or "" for name in LAYOUTS]
    places = [cwd, *(os.path.join(str(scene.root), folder) for folder in chosen)]
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
        state["files_seen"] = files.signature(found.paths[traits(found.layout).criteria])
        path.write_text(jsontext.render(state) + "\n", encoding="utf-8")


class Replayed(Prover):
    """Gives the verdicts of the recorded stop, one run of checks after the other; runs nothing."""

    def __init__(self, loop: LoopFiles, rounds: Sequence[Mapping[str, Any]], *, call: Call) -> None:
        super().__init__(loop, cwd=call.cwd, env=call.env, origin=Origin("claim"))
        self.rounds = list(rounds)
        self._answers: Answers | None = None

    @property
    def _has_questions(self) -> bool:
        return bool(self.rounds) and "asked" in self.rounds[0]

    @property
    def asked(self) -> Answers | None:
        return self._answers

    def run(self) -> None:
        recorded = self.rounds.pop(0)
        self.results.trouble = str(recorded.get("trouble", ""))
        self._answers = _answers(recorded.get("asked"))
        self.verdicts = {task: Verdict(*verdict) for task, verdict in recorded["verdicts"].items()}

    def _tree_digest(self) -> str:
        return ""


def _answers(recorded: Mapping[str, Any] | None) -> Answers | None:
    if recorded is None:
        return None
    found = tuple(filter(None, map(finding.read, recorded["findings"])))
    record = ProofRecord(found, refused=tuple(recorded["refused"]))
    return Answers(record, is_all=recorded["is_all"], is_strict=recorded["is_strict"])


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

    def without(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = scene.blank(value).replace(command, COMMAND)
        return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?", "(time)", text).strip()

    return Said(*(without(value) for value in said))

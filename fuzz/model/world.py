"""The real side of the model: a scratch project, a clock, and what agent, person and client do there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import time
import warnings
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from fuzz import trial
from fuzz.ground import OTHER, OWNER, Ground, Tree, feature, feature_list, files_of, quick
from fuzz.model.words import OWN, Counters, Task
from ralphloop.cli import main as cli
from ralphloop.errors import UserError
from ralphloop.lab import faults, forked
from ralphloop.store import shelf
from ralphloop.store.files import signature

CHECKS = {1: OWN, 3: OWN}  # places of the tasks with a check
TOTAL = 4
BROKEN = "{ this is no JSON"
API_ERRORS = {
    "rate_limited": "API Error: 429 limit reached",
    "failed": "API Error: 400 the prompt is too long",
}


def task_name(layout: str, number: int) -> str:
    return f"F{number}" if layout == "features" else f"1.{number}"


class World:
    """Everything that is done here happens at `now`, which only the model moves."""

    def __init__(self, layout: str, *, limit: int, done: int) -> None:
        quick()
        self.layout = layout
        self.now = float(int(time.time()) + 3600)
        self.names = [task_name(layout, number) for number in range(1, TOTAL + 1)]
        self.ground = Ground(layout, {})
        for path, text in files_of(layout, self._list(done)).items():
            self.ground.write(path, text)
        self.ground.write(self.ground.transcript, self._line("user", content="begin"))
        self._stamp = 0
        self.arm(limit)

    def arm(self, limit: int) -> None:
        with self.clock():
            self.loop_id = self.ground.arm(limits={"iterations": limit}).record.id

    def arm_again(self, limit: int) -> None:
        """As a plugin's own start does: the count in a spec's state begins anew."""
        if self.layout != "features":
            with open(self.ground.own, encoding="utf-8") as file:
                state = json.load(file)
            state.update(globalIteration=1, taskIteration=1)
            self.write(self.ground.own, json.dumps(state, indent=2) + "\n")
        self.arm(limit)

    def _list(self, done: int) -> str:
        if self.layout == "features":
            made = [feature(name, passes=at < done) for at, name in enumerate(self.names)]
            for at in CHECKS:
                made[at]["verify"] = self._check(self.names[at])
            return feature_list(*made)
        rows = ["# Tasks", ""]
        for at, name in enumerate(self.names):
            rows.append(f"- [{'x' if at < done else ' '}] {name} Do {name}")
            rows += [f"  - **Verify**: `{self._check(name)}`"] if at in CHECKS else []
        return "\n".join(rows) + "\n"

    def _check(self, name: str) -> str:
        return f"test -f ok-{name}"

    def tasks(self, done: int) -> list[Task]:
        return [Task(name, CHECKS.get(at, ""), done=at < done, is_pinned=True, pinned_done=at < done)
                for at, name in enumerate(self.names)]  # fmt: skip

    @contextlib.contextmanager
    def clock(self) -> Iterator[None]:
        real = time.time
        time.time = lambda: self.now
        try:
            yield
        finally:
            time.time = real

    def close(self) -> None:
        self.ground.remove()

    # The agent's files

    def is_green(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.ground.root, f"ok-{name}"))

    def set_green(self, name: str, *, is_green: bool) -> None:
        place = os.path.join(self.ground.root, f"ok-{name}")
        if is_green:
            self.ground.write(place, "")
        elif os.path.exists(place):
            os.unlink(place)

    def read(self) -> str:
        with open(self.ground.listed, encoding="utf-8") as file:
            return file.read()

    def write(self, path: str, text: str) -> None:
        """With a time of its own: no two contents of a file share one."""
        self.ground.write(path, text)
        self._stamp += 1
        moment = int((self.now - 7200) * 1e9) + self._stamp
        os.utime(path, ns=(moment, moment))

    def claims(self) -> dict[str, bool]:
        """What the list says of each task, read without the product's parser."""
        if not os.path.exists(self.ground.listed):
            return {}
        text = self.read()
        if self.layout == "features":
            try:
                return {item["id"]: item["passes"] for item in json.loads(text)["features"]}
            except ValueError:
                return {}
        return {name: mark == "x" for mark, name in re.findall(r"^- \[(.)\] (\S+)", text, re.M)}

    def claim(self, name: str, *, done: bool) -> None:
        text = self.read()
        if self.layout == "features":
            data = json.loads(text)
            next(item for item in data["features"] if item["id"] == name)["passes"] = done
            text = json.dumps(data, indent=2) + "\n"
        else:
            box = f"- [{'x' if done else ' '}] {name} "
            text = re.sub(rf"^- \[.\] {re.escape(name)} ", box, text, flags=re.M)
        self.write(self.ground.listed, text)

    def add(self, name: str, *, is_evil: bool, done: bool) -> None:
        text = self.read()
        evil = f"echo ran >> '{self.ground.mark}'"
        if self.layout == "features":
            data = json.loads(text)
            data["features"].append(feature(name, passes=done, **({"verify": evil} if is_evil else {})))
            text = json.dumps(data, indent=2) + "\n"
        else:
            text += f"- [{'x' if done else ' '}] {name} Do {name}\n"
            text += f"  - **Verify**: `{evil}`\n" if is_evil else ""
        self.write(self.ground.listed, text)

    def remove(self, name: str) -> None:
        text = self.read()
        if self.layout == "features":
            data = json.loads(text)
            data["features"] = [item for item in data["features"] if item["id"] != name]
            text = json.dumps(data, indent=2) + "\n"
        else:
            text = re.sub(rf"^- \[.\] {re.escape(name)} .*\n(  .*\n)?", "", text, flags=re.M)
        self.write(self.ground.listed, text)

    def rename(self, name: str) -> None:
        self.write(self.ground.listed, self.read().replace(f"Do {name}", f"Forget {name}"))

    def spoil(self) -> str:
        """Corrupt the loop's own file; what it holds then."""
        self.write(self.ground.own, BROKEN + str(self._stamp % 2))
        return BROKEN + str((self._stamp - 1) % 2)

    def lose(self) -> None:
        if os.path.exists(self.ground.own):
            os.unlink(self.ground.own)

    def falsify(self) -> None:
        """Edit the copy of the loop's state that the agent can reach."""
        place = os.path.join(self.ground.root, ".ralph", "run", self.loop_id, "loop.json")
        with open(place, encoding="utf-8") as file:
            state = json.load(file)
        state.update(iteration=1, attempts={}, no_progress=0, elapsed_s=0.0, told=[])
        self.ground.write(place, json.dumps(state))

    # The client

    def _line(self, kind: str, *, content: Any, model: str = "m", **fields: Any) -> str:
        stamp = datetime.fromtimestamp(self.now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        message = {"role": kind, "model": model, "content": content}
        return json.dumps({"type": kind, "timestamp": stamp, "message": message, **fields}) + "\n"

    def note(self, kind: str) -> None:
        """A line in the owner's transcript: a tool call, or an end that no hook sees."""
        if kind == "tool":
            line = self._line(
                "assistant", content=[{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
            )
        elif kind == "interrupted":
            line = self._line("user", content=[{"type": "text", "text": "[Request interrupted by user]"}])
        elif kind == "capped":
            line = self._line("system", content=[])
            entry = {**json.loads(line), "content": "A hook blocked the turn from ending 9 consecutive times"}
            line = json.dumps(entry) + "\n"
        else:
            said = [{"type": "text", "text": API_ERRORS[kind]}]
            line = self._line("assistant", content=said, model="<synthetic>", isApiErrorMessage=True)
        with open(self.ground.transcript, "a", encoding="utf-8") as file:
            file.write(line)

    def payload(self, event: str, **fields: Any) -> bytes:
        session = fields.pop("session_id", OWNER)
        base = {"session_id": session, "cwd": self.ground.root, "hook_event_name": event}
        path = self.ground.transcript.replace(OWNER, session)
        return json.dumps({**base, "transcript_path": path, **fields}).encode()

    def send(self, data: bytes, *, may_run: bool) -> dict[str, Any]:
        """One run of the hook; whatever it does, it writes to its own places only."""
        before = self.ground.tree()
        with self.clock(), trial.Silenced():
            said = trial.answer(self.ground.respond(data))
        self.must_be_clean(before, may_run=may_run)
        return said

    def send_foreign(self, event: str, **fields: Any) -> None:
        before = self._without_notes()
        with self.clock(), trial.Silenced():
            said = self.ground.respond(self.payload(event, **{"session_id": OTHER, **fields}))
        assert said == "", "another session hears nothing"
        assert self._without_notes() == before, "and changes nothing"

    def _without_notes(self) -> Tree:
        """Which loop each session ended last is noted by whoever finds that a killed stop has not done it."""
        notes = os.path.join("@ralph", "last")
        return {path: found for path, found in self.ground.tree().items() if notes not in path}

    def send_and_die(self, data: bytes, *, at: int, kind: str) -> bool:
        """The same in a process that is killed at one of its calls to the disk; whether it was."""
        before = self.ground.tree()

        def work() -> int:
            faults.Disk(faults.Fault(at, kind), within=self.ground.base).install()
            self.ground.respond(data)
            return 0

        with self.clock(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside a test runner's threads
            ended = forked.run(work, env=self.ground.env, cwd=self.ground.root)
        assert ended.code in (0, -9), ended.stderr
        self.must_be_clean(before, may_run=True)
        return ended.code != 0

    def must_be_clean(self, before: dict[str, Any], *, may_run: bool) -> None:
        assert may_run or not os.path.exists(self.ground.mark), "a check ran that nobody approved"
        after = self.ground.tree()
        if may_run:
            after.pop(self.ground.mark, None)
            before = {path: seen for path, seen in before.items() if path != self.ground.mark}
        spare = re.compile(r"/\.[^/]*\.\d+\.tmp$")  # of a write that was killed
        changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        for path in changed:
            owner = os.path.join(os.path.dirname(path), "tasks.md") if spare.search(path) else path
            assert self.ground.is_ours(owner), f"wrote {path}"
        assert not os.path.exists(os.path.join(self.ground.state_home, "errors.log"))

    # The person

    def command(self, *words: str) -> int:
        """The command line, in a terminal of the person's own."""
        unheard = contextlib.redirect_stdout(io.StringIO())
        with self.clock(), self.ground.standing(), trial.Silenced(), unheard:
            try:
                return cli.run(list(words))
            except UserError:
                return 1

    # What is on disk

    def _kept(self, name: str) -> dict[str, Any]:
        path = os.path.join(self.ground.shelf.kept(self.loop_id), name)
        with open(path, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        return found

    def state(self) -> dict[str, Any]:
        return self._kept("loop.json")

    def known(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = self._kept("ledger.json")["tasks"]
        return found

    def limits(self) -> dict[str, Any]:
        kinds = (shelf.OWNED, shelf.ENDED)
        records = [record for kind in kinds for record in self.ground.shelf.records(kind)]
        (mine,) = [record for record in records if record.id == self.loop_id]
        return mine.limits.to_json()

    def copy(self) -> list[bool] | None:
        """The claims in the last good copy of the loop's own file."""
        role = "list" if self.layout == "features" else "state"
        path = os.path.join(self.ground.shelf.kept(self.loop_id), role)
        if not os.path.exists(path):
            return None
        if self.layout != "features":
            return []
        with open(path, encoding="utf-8") as file:
            return [item["passes"] for item in json.load(file)["features"]]

    def counted(self) -> tuple[int, int]:
        """The turns that a spec's state file counts, and those in its last good copy; 0 where it has none."""
        if self.layout == "features":
            return 0, 0
        kept = os.path.join(self.ground.shelf.kept(self.loop_id), "state")
        return _global_iteration(self.ground.own), _global_iteration(kept)

    def journal(self, event: str) -> int:
        path = os.path.join(self.ground.root, ".ralph", "run", self.loop_id, "journal.jsonl")
        with open(path, encoding="utf-8") as file:
            return sum(json.loads(line)["event"] == event for line in file)

    def counters(self) -> Counters:
        """The loop's own counters, after a crash that leaves either of two states."""
        state = self.state()
        shown = os.path.join(self.ground.root, ".ralph", "run", self.loop_id, "loop.json")
        with contextlib.suppress(OSError, ValueError), open(shown, encoding="utf-8") as file:
            seen = json.load(file)
            is_live = state["state"] in ("running", "waiting")
            if is_live and seen["state"] in ("paused", "ended") and seen["outcome"] != "complete":
                state.update(state=seen["state"], outcome=seen["outcome"])
        # of a corrupt file the loop remembers the text, with its length before it
        told = tuple(BROKEN + key[-1] if BROKEN in key else key for key in state["told"])
        closed, aside, rest = state["tasks_seen"].partition(":")[0], "", ""
        digest: Any = None
        if closed:
            done, aside, total = closed.split("/")
            rest = state["tasks_seen"].partition(":")[2]
            digest = (int(done), int(aside), int(total), tuple(rest.split(",")) if rest else ())
        since = datetime.strptime(state["since"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
        return Counters(
            state=state["state"], outcome=state["outcome"], iteration=state["iteration"],
            attempts=state["attempts"], no_progress=state["no_progress"], reply=state["reply"],
            same=state["same_replies"], empty=state["empty_replies"], quiet=state["quiet_replies"],
            current=state["current"], tasks_seen=digest, pending=state["pending"], worked=state["worked"],
            told=told, restored=state["restored"], elapsed_s=state["elapsed_s"],
            seen_at=state["seen_at"], since=since.timestamp(),
        )  # fmt: skip

    def is_seen(self) -> bool:
        """Whether the list is the very file that the loop looked at last."""
        return bool(self.state()["files_seen"] == signature(self.ground.listed))


def _global_iteration(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            return int(json.load(file)["globalIteration"])
    except (OSError, ValueError):
        return 0

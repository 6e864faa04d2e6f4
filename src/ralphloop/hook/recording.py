"""Keeps a stop with all that decided it, where the person has switched that on; whatever fails in here, the
stop's answer stays what it is."""

from __future__ import annotations

import time

from ralphloop import errors
from ralphloop import system as os
from ralphloop.domain import jsontext
from ralphloop.domain.model import CAP_VARIABLE, PLUGIN_VARIABLE, PROJECT_VARIABLE, SESSION_VARIABLE
from ralphloop.engine import claim, entries
from ralphloop.engine.words import command
from ralphloop.hook.stop_files import StopFiles
from ralphloop.store import files, records, shelf
from ralphloop.store.loop import LoopFiles, iso
from ralphloop.tasklists.registry import LAYOUTS, own_file, traits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, Mapping, Optional

    from ralphloop.domain.model import StopEvent
    from ralphloop.domain.situation import Decision
    from ralphloop.engine.find import Call
    from ralphloop.engine.reader import Reader
    from ralphloop.proof.prove import Prover
    from ralphloop.store.shelf import Record, Shelf
    from ralphloop.tasklists.registry import Listed
    from ralphloop.tasklists.source import Source

FORMAT = 1
FIELD_MOST = 256 * 1024  # of one field of the payload
MOST = 256 * 1024  # of a transcript
CALLS_MOST = 200
COMMAND_MOST = 16 * 1024
LEFT_OUT = "(left out)"
# What is kept of the payload of a session that owns nothing here: not what it said, nor what runs for it.
FIELDS = (
    "session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "hook_event_name",
    "stop_hook_active", "agent_id", "turn_id",
)  # fmt: skip


class Recorder:
    """One stop, from before its decision until its answer."""

    def __init__(
        self,
        payload: Mapping[str, Any],
        event: StopEvent,
        *,
        call: Call,
        here: Shelf,
        loop: Optional[LoopFiles],
    ) -> None:
        self._payload = payload
        self._event = event
        self._call = call
        self._here = here
        self._loop = loop
        self._was_owner = loop is not None
        self._begun, self._at = time.monotonic(), time.time()
        self._is_taken = False
        self._kept: Optional[StopFiles] = None
        self._read_to = 0
        self._seen = False  # whether the task file is as at the last stop
        self._rounds: list[dict[str, Any]] = []
        self._decision: Optional[Decision] = None
        self._trouble = ""
        if loop is None:
            self.take()

    def take(self) -> None:
        """Read everything as it is before the decision: under the lock of a loop that has an owner. If that
        fails, it is too late for another attempt."""
        if not self._is_taken:
            self._is_taken = True
            self._try(self._take)

    def _take(self) -> None:
        found = StopFiles(self._here, self._event, self._call)
        if self._loop is not None:
            found.add_loop(self._loop)
            state = self._loop.load()
            if state is not None:
                self._read_to = state.transcript_end
                self._seen = state.files_seen == files.signature(_task_file(self._loop.record))
        else:
            found.add_all()
        self._kept = found

    def checked(self, checks: Prover) -> None:
        """One run of checks is over."""
        verdicts = {task: list(verdict) for task, verdict in checks.verdicts.items()}
        row: dict[str, Any] = {"verdicts": verdicts, "trouble": checks.results.trouble}
        asked = checks.asked
        if asked is not None:
            found = [one.to_json() for one in asked.record.findings]
            terms = {"is_all": asked.is_all, "is_strict": asked.is_strict}
            row["asked"] = {"findings": found, "refused": list(asked.record.refused), **terms}
        self._rounds.append(row)

    def decided(self, decision: Decision, loop: LoopFiles) -> None:
        self._decision, self._loop = decision, loop

    def keep(self, said: Optional[str], aside: str) -> None:
        """Write the record; `said` is None where a bug of ours left no answer."""
        took_ms = round((time.monotonic() - self._begun) * 1000, 1)
        self.take()
        self._try(lambda: self._keep(said, aside, took_ms=took_ms))
        if self._trouble:
            self._try(lambda: self._log(self._trouble))

    def _keep(self, said: Optional[str], aside: str, *, took_ms: float) -> None:
        kept = self._kept
        if kept is None or (self._loop is None and not kept.concerns_a_loop):
            return
        answer = {"stdout": said or "", "stderr": aside, "broken": said is None}
        facts = {"answer": answer, "duration_ms": took_ms, **self._facts(kept)}
        records.keep(self._here, self._loop.record.id if self._loop else records.NOBODY, kept.public(facts))

    def _facts(self, kept: StopFiles) -> dict[str, Any]:
        from ralphloop.version import VERSION

        env, loop = self._call.env, self._loop
        return {
            "format": FORMAT,
            "version": VERSION,
            "at": iso(self._at),
            "loop": loop.record.id if loop is not None else "",
            "layout": loop.record.layout if loop is not None else kept.layout,
            "left_alone": loop is None,
            "session": self._event.session,
            "registration": self._call.registration,
            "layouts": list(self._call.layouts),
            "plugin": bool(env.get(PLUGIN_VARIABLE)),
            "command": command(env),
            "env": {name: env[name] for name in variables() if name in env},
            "payload": self._public_payload(kept),
            "transcript": self._transcript(kept),
            "files": kept.files,
            "home": kept.home,
            "left_out": kept.left_out,
            "seen": self._seen,
            "approved": kept.approved(),
            "checks": self._rounds,
            "rule": self._decision.rule if self._decision is not None else "",
            "task": self._decision.task if self._decision is not None else "",
            "outcome": self._decision.loop.outcome if self._decision is not None else None,
        }

    def _public_payload(self, kept: StopFiles) -> dict[str, Any]:
        found = {}
        for name, value in self._payload.items():
            if self._loop is None and name not in FIELDS:
                continue
            if isinstance(value, (str, list, dict)) and len(jsontext.render(value)) > FIELD_MOST:
                kept.left_out["payload/" + name] = "too long"
            else:
                found[name] = value
        return found

    def _transcript(self, kept: StopFiles) -> dict[str, Any]:
        """Of a loop's owner the tail; of a session that became one also what made it so, if that is further
        up; of any other only whether it could have been one."""
        path = self._event.transcript
        if self._loop is None:
            return {"before": "", "new": ownership(path, kept.lists, client=self._call.client), "skipped": 0}
        found = tail(path, seen=self._read_to)
        if not self._was_owner and found.skipped:
            found.new = ownership(path, kept.lists, client=self._call.client) + found.new
        return {"before": found.before, "new": found.new, "skipped": found.skipped}

    def _log(self, trouble: str) -> None:
        if self._loop is not None:
            return self._loop.log("stop not recorded: " + trouble)
        for kind in (shelf.OWNED, shelf.ARMED):
            for record in self._here.records(kind):
                if record.layout in self._call.layouts:
                    return LoopFiles(record, self._here).log(
                        "another session's stop not recorded: " + trouble
                    )
        return None

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except errors.BusyError:
            self._trouble = "others keep writing records"
        except Exception as error:  # the answer must not depend on this
            self._trouble = "%s: %s" % (type(error).__name__, error)


def variables() -> list[str]:
    """Those that a decision may look at."""
    chosen = [traits(name).chosen_by for name in LAYOUTS]
    return [PROJECT_VARIABLE, SESSION_VARIABLE, CAP_VARIABLE, *filter(None, chosen)]


def _task_file(record: Record) -> str:
    return record.paths[traits(record.layout).criteria]


class Excerpt:
    """The whole lines at a transcript's end: those that the loop had seen before, and what is new."""

    __slots__ = ("before", "new", "skipped")

    def __init__(self, before: str = "", new: str = "", skipped: int = 0) -> None:
        self.before = before
        self.new = new
        # bytes before all that, which are not kept
        self.skipped = skipped


def tail(path: str, *, seen: int) -> Excerpt:
    """The last lines of the transcript; `seen` is where the loop had read to."""
    found = entries.new_bytes(path, 0, MOST)
    if found is None:
        return Excerpt()
    data, end = found
    begin = end - len(data)
    middle = max(0, (seen if seen <= end else 0) - begin)
    return Excerpt(_text(data[:middle]), _text(data[middle:]), begin)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def ownership(path: str, lists: Iterable[Record | Source], *, client: Reader) -> str:
    """Lines that say no more than by what a session may own one of these lists: when it began, whether it
    was asked with the list's prompt, and its tool calls that name the list."""
    known = list(lists)
    begun, asked = client.opening(path)
    if not begun and not asked:
        return ""
    its_prompt = any(claim.is_prompt(source, asked) for source in known)
    opening = {"role": "user", "content": asked if its_prompt else LEFT_OUT}
    lines: list[dict[str, Any]] = [{"type": "user", "timestamp": begun, "message": opening}]
    lines += sorted(_calls(path, known, client=client), key=lambda line: str(line["timestamp"]))[-CALLS_MOST:]
    return "".join([jsontext.render(line) + "\n" for line in lines])


def _calls(path: str, lists: Iterable[Listed], *, client: Reader) -> Iterator[dict[str, Any]]:
    for name in {os.path.basename(own_file(one)) for one in lists}:
        for stamp, given in client.tool_calls(path, name):
            call = {"type": "tool_use", "id": "toolu_kept", "name": _tool(given), "input": _reduced(given)}
            message = {"role": "assistant", "content": [call]}
            yield {"type": "assistant", "timestamp": stamp, "message": message}


def _tool(given: dict[str, Any]) -> str:
    return "Bash" if "command" in given else "Write"


def _reduced(given: dict[str, Any]) -> dict[str, Any]:
    """The input without what was written, but for the word that counts."""
    kept = {}
    if isinstance(given.get("file_path"), str):
        kept["file_path"] = given["file_path"]
    command = given.get("command")
    if isinstance(command, str):
        kept["command"] = command if len(command) <= COMMAND_MOST else LEFT_OUT
    said = " ".join([str(value) for value in given.values()]).replace(" ", "").replace('\\"', '"')
    for key in claim.WRITTEN:
        if key in given:
            kept[key] = '"passes":true' if '"passes":true' in said else LEFT_OUT
    return kept

"""Runs checks for tasks: each distinct command once, all within one time budget, each leaving evidence and
nothing else behind."""

from __future__ import annotations

import _socket  # what `socket` is made of, without its enumerations
import binascii
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ralphloop.agents.registry import client
from ralphloop.domain.check_results import BUDGET_S, TIMEOUT_S
from ralphloop.domain.model import Task, TaskList
from ralphloop.proof import check_record, tree
from ralphloop.proof.mask import mask, secrets
from ralphloop.store.loop import LoopFiles, iso

if TYPE_CHECKING:
    from ralphloop.proof.apart import Apart, Stage

WAITS, GREEN, RED, UNFINISHED = "waits", "green", "red", "unfinished"
KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")
KEEP = 64 * 1024
# Linux says with each message who sent it: process, user and group, four bytes each.
SO_PASSCRED, SCM_CREDENTIALS, CREDENTIALS = 16, 2, 12
# The keeper ends what a command leaves behind within about three seconds.
MARGIN_S = 8.0
ENDING_S = 5.0
TRIAL_S = 10.0
LOOK_S = 0.5  # what asking for a green answer takes where nothing is run for it
LONGEST_WAIT_S = 3600.0
# How much of a token or key that nobody knows may be cut off at the beginning of the tail.
UNKNOWN_SECRET = 4096

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DIGEST_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_LOST = (
    "ralphloop: the process that ran this check ended, or fell silent, before it had a result. "
    "Perhaps the command ended it (`kill $PPID`), or the system did for want of memory.\n"
)

_LOCK = threading.Lock()
_waiting, _dumpable = 0, -1


class Due(NamedTuple):
    """A task, or the list itself, with the commands that must be green."""

    task: str
    commands: tuple[str, ...]
    timeout_s: float
    apart: bool = True  # whether they may be tried apart from the project


class Verdict(NamedTuple):
    state: str
    command: str = ""
    why: str = ""
    tail: str = ""
    evidence: str = ""


def due(of: Task | TaskList) -> Due:
    """The list's own check is no task's."""
    name, apart = (of.id, of.apart) if isinstance(of, Task) else ("", True)
    return Due(name, tuple(dict.fromkeys(of.verify)), min(of.timeout_s or TIMEOUT_S, BUDGET_S), apart)


class Origin(NamedTuple):
    """Who asked for a check, as the evidence says it."""

    kind: str  # claim, done, final or manual
    client: str = ""
    model: str = ""
    session: str | None = None


def of_session(kind: str, session: str | None, *, transcript: str, env: Mapping[str, str]) -> Origin:
    model = client().usage.model_of(transcript) if transcript else ""
    return Origin(kind, client_in(env), model, session)


def client_in(env: Mapping[str, str]) -> str:
    """`name 2.1.325`, from what a client calls itself."""
    name, _, rest = env.get("AI_AGENT", "")[:80].partition("_")
    version = rest.partition("_")[0].replace("-", ".")
    return f"{name} {version}".strip()


class Checker:
    """The commands of one stop, or of one command line."""

    def __init__(
        self,
        loop: LoopFiles,
        *,
        folder: str,
        env: Mapping[str, str],
        origin: Origin,
        budget_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._folder = folder
        self._env = env
        self._origin = origin
        self._say = say
        self.deadline = time.monotonic() + budget_s
        # asked first where it is set: a green answer is the command's, without one it is run as ever
        self.alone: Callable[[str], Ran | None] | None = None
        self._began = False
        self._known = check_record.durations(check_record.recent(loop))
        self._ran: dict[str, Verdict] = {}
        self._tree = tree.Tree(None, None)
        self._due: Sequence[Due] = ()
        # what the evidence says of a run beside what it came to
        self._iteration = 0
        self._round = 0

    def take_as_green(self, entries: Sequence[check_record.Entry]) -> None:
        """Commands that were green a moment ago are not run again."""
        for entry in entries:
            self._ran.setdefault(entry.command, Verdict(GREEN, evidence=entry.id))

    def in_order(self, wanted: Sequence[Due]) -> list[Due]:
        """Cheapest known first; what was never run keeps the list's order behind them."""
        return sorted(wanted, key=self._cost)

    def _cost(self, one: Due) -> tuple[bool, float]:
        known = [self._known[text] for text in one.commands if text in self._known]
        is_known = len(known) == len(one.commands)
        return not is_known, sum(known) if is_known else 0.0

    def judge(self, wanted: Sequence[Due], *, iteration: int, round_no: int) -> dict[str, Verdict]:
        """Run what is wanted, task by task."""
        self._tree = tree.look(self._folder, self._env)
        self._due, self._iteration, self._round = wanted, iteration, round_no
        return {one.task: self._judge(one) for one in wanted}

    def _judge(self, one: Due) -> Verdict:
        """Every command green, or the first that is not."""
        verdict = Verdict(GREEN)
        for text in one.commands:
            if text not in self._ran:
                ran = self._run(text)
                if ran.state == UNFINISHED:
                    return ran
                self._ran[text] = ran
            verdict = self._ran[text]
            if verdict.state == RED:
                return verdict
        return verdict

    def _run(self, text: str) -> Verdict:
        """A command that the budget cut short goes on at the next stop, where it is the first and has all of
        the time there is."""
        wanted_s = max(one.timeout_s for one in self._due if text in one.commands)
        left_s = self.deadline - time.monotonic()
        first, self._began = not self._began, True
        if left_s <= 0 or (not first and left_s < min(wanted_s, self._known.get(text, 0.0))):
            return Verdict(UNFINISHED)
        self._say(text)
        ran = self.alone(text) if self.alone is not None else None
        rest_s = self.deadline - time.monotonic()
        is_cut = rest_s < wanted_s and (not first or rest_s < left_s - LOOK_S)
        limit_s = max(0.0, min(wanted_s, rest_s))
        ran = ran or run(text, cwd=self._folder, env=self._env, timeout_s=limit_s)
        if ran.timed_out and is_cut:
            return Verdict(UNFINISHED)
        evidence = check_record.add(self._loop, self._facts(text, ran), round_no=self._round)
        if ran.green:
            return Verdict(GREEN, evidence=evidence)
        return Verdict(RED, text, _why(ran, limit_s), ran.tail, evidence)

    def _facts(self, text: str, ran: Ran) -> dict[str, Any]:
        return {
            "at": iso(time.time()),
            "loop": self._loop.record.id,
            "tasks": [one.task for one in self._due if one.task and text in one.commands],
            "command": text,
            "cwd": self._folder,
            "green": ran.green,
            "exit_code": ran.exit_code,
            "signal": ran.signal,
            "timed_out": ran.timed_out,
            "duration_s": round(ran.duration_s, 3),
            "output_bytes": ran.size,
            "output_sha256": ran.digest,
            "output_tail": ran.tail,
            "head": self._tree.head,
            "tree": self._tree.digest,
            "client": self._origin.client,
            "model": self._origin.model,
            "session": self._origin.session,
            "iteration": self._iteration,
            "kind": "final" if self._round else self._origin.kind,
            **({} if ran.apart is None else {"apart": True}),
        }


def _why(ran: Ran, limit_s: float) -> str:
    if ran.timed_out:
        return f"ran into its time limit of {limit_s:.0f} s"
    if ran.exit_code is None:
        return f"was ended by signal {ran.signal}" if ran.signal is not None else "was lost with what ran it"
    return f"exited with {ran.exit_code}"


class Ran(NamedTuple):
    """What came of a command. Of exit code, signal and time limit one says how it ended; none does if the
    process that ran it was lost, or if the stage that it wants does not stand."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    duration_s: float
    size: int
    digest: str
    tail: str
    apart: Apart | None = None

    @property
    def green(self) -> bool:
        return self.exit_code == 0 and not self.timed_out


def run(
    command: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    keep: int = KEEP,
    stage: Stage | None = None,
) -> Ran:
    """Run a command line with `sh`, without stdin; when this returns, nothing that it started is left. In a
    stage its environment is what the caller gives and no more."""
    if os.name != "posix":
        raise OSError("checks need a POSIX system: run this loop on Linux, macOS or WSL")
    known = secrets(env)
    hidden = max([UNKNOWN_SECRET, *map(len, known)])
    request: dict[str, Any] = {
        "command": command, "cwd": cwd, "env": {**env, "RALPHLOOP_CHECK": "1"},
        "timeout_s": timeout_s, "keep_bytes": keep + hidden,
    }  # fmt: skip
    if stage:
        if sys.platform != "linux":
            return _not_run(0.0, "", "only Linux has one")
        request.update(env=dict(env), stage={**stage._asdict(), "git_env": dict(stage.git_env)})
    began = time.monotonic()
    said = _ask(json.dumps(request).encode() + b"\n", began + timeout_s + MARGIN_S)
    if said is None:
        return _not_run(time.monotonic() - began, _LOST, "its process was lost" if stage else None)
    try:
        raw = binascii.a2b_base64(said["tail"])
    except ValueError:
        raw = b""
    whole = said["size"] == len(raw)
    tail = _shown(raw, known, hidden=0 if whole else hidden, keep=keep)
    return Ran(
        said["exit_code"], said["signal"], said["timed_out"], said["duration_s"],
        said["size"], said["sha256"], tail, stage.told(said["stage"]) if stage else None,
    )  # fmt: skip


def _not_run(duration_s: float, tail: str, why: str | None) -> Ran:
    ran = Ran(None, None, False, duration_s, 0, _DIGEST_OF_NOTHING, tail)
    if why is None:
        return ran
    from ralphloop.proof.apart import Apart

    return ran._replace(apart=Apart(False, why))


def stage_trouble(spare: str) -> str:
    """Why no stage stands on this machine, tried with an empty folder of ours; empty if one does."""
    from ralphloop.proof.apart import Stage

    stage = Stage((os.path.dirname(os.path.abspath(spare)),), spare)
    ran = run(":", cwd="/", env={}, timeout_s=TRIAL_S, stage=stage)
    assert ran.apart is not None
    return ran.apart.why if ran.green or not ran.apart.stood else "a command does not run in it"


def _shown(raw: bytes, known: list[str], *, hidden: int, keep: int) -> str:
    """The end of the output as a terminal may have it. Of a secret that was cut off, what is left lies
    within the first `hidden` characters, and masking others does not move it."""
    text = mask(raw.decode("utf-8", "surrogateescape"), known)[hidden:]
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return text[max(0, len(text) - keep) :]


def _ask(request: bytes, deadline: float) -> dict[str, Any] | None:
    """The keeper's result; None if it has none. However this ends, the keeper has ended before."""
    said = bytearray()
    with _nobody_looking_in():
        ours, theirs = _socket.socketpair()
        with contextlib.closing(theirs):
            keeper = _start_keeper(ours, theirs)
        try:
            _exchange(keeper.pid, ours, request, deadline=deadline, said=said)
        finally:
            _end(keeper, ours)
            lines = [_parsed(bytes(line)) for line in said.split(b"\n")[:-1]]
            started, result = [*lines, {}, {}][:2]
            pid, is_known = started.get("pid"), _is_result(result)
            if isinstance(pid, int) and not is_known:
                _kill_group(pid)  # it started the command, and may have been killed before it could end it
    return result if is_known else None


def _start_keeper(ours: _socket.socket, theirs: _socket.socket) -> subprocess.Popen[bytes]:
    if sys.platform == "linux":
        ours.setsockopt(_socket.SOL_SOCKET, SO_PASSCRED, 1)
    return subprocess.Popen(
        [sys.executable or "python3", "-I", "-S", "-X", "utf8", KEEPER],
        stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL,
        bufsize=0, cwd="/", close_fds=True, start_new_session=True,
    )  # fmt: skip


@contextlib.contextmanager
def _nobody_looking_in() -> Iterator[None]:
    """While somebody waits for a keeper, no process of the same user can take this one's handles or memory.
    Several threads may wait; the last one gives back what was."""
    from ralphloop.proof.keeper import PR_GET_DUMPABLE, PR_SET_DUMPABLE, prctl  # nothing for Windows

    global _waiting, _dumpable
    with _LOCK:
        if not _waiting:
            _dumpable = prctl(PR_GET_DUMPABLE)
            prctl(PR_SET_DUMPABLE, 0)
        _waiting += 1
    try:
        yield
    finally:
        with _LOCK:
            _waiting -= 1
            if not _waiting and _dumpable == 1:
                prctl(PR_SET_DUMPABLE, 1)


def _parsed(line: bytes) -> dict[str, Any]:
    """An object, empty for anything else: a keeper may be killed in the middle of a line."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_result(said: dict[str, Any]) -> bool:
    whole = (int, type(None))
    kinds: dict[str, Any] = {"exit_code": whole, "signal": whole, "timed_out": bool,
                             "duration_s": (int, float), "size": int, "sha256": str, "tail": str}  # fmt: skip
    return all(name in said and isinstance(said[name], kind) for name, kind in kinds.items())


def _exchange(keeper: int, ours: _socket.socket, request: bytes, *, deadline: float, said: bytearray) -> None:
    """Hand over the request and collect what the keeper says, until it is done or the deadline is over."""
    ours.setblocking(False)
    either = select.poll()  # a library's process may have more handles than select knows
    either.register(ours, select.POLLIN | select.POLLOUT)
    while said.count(b"\n") < 2 and (left_s := deadline - time.monotonic()) > 0:
        ready = sum(events for _, events in either.poll(1000 * min(left_s, LONGEST_WAIT_S)))
        if request and ready & select.POLLOUT:
            request = _send_some(ours, request)
            if not request:
                either.modify(ours, select.POLLIN)
        if ready & ~select.POLLOUT:
            data = _heard(ours, keeper)
            if data is None:
                return
            said += data


def _send_some(ours: _socket.socket, data: bytes) -> bytes:
    """What is left to send; nothing if nobody reads any more, as its end of file will tell."""
    try:
        return data[ours.send(data) :]
    except BlockingIOError:
        return data
    except OSError:
        return b""


def _heard(ours: _socket.socket, keeper: int) -> bytes | None:
    """What the keeper itself has sent, and nobody who holds its socket; None after its last word."""
    try:
        data, about, *_ = ours.recvmsg(KEEP, _socket.CMSG_SPACE(CREDENTIALS))
    except BlockingIOError:
        return b""
    except OSError:
        return None
    if not data:
        return None
    if sys.platform != "linux":
        return data
    senders = [int.from_bytes(sent[:4], sys.byteorder) for _, kind, sent in about if kind == SCM_CREDENTIALS]
    return data if senders == [keeper] else b""


def _end(keeper: subprocess.Popen[bytes], ours: _socket.socket) -> None:
    """A keeper whom nobody wants any more ends all that it started, and then itself, or is killed."""
    ours.close()
    try:
        keeper.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        _kill_group(keeper.pid)
        keeper.wait()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):  # gone already
        os.killpg(pid, signal.SIGKILL)

"""Nothing that a command started is left when it has ended, its time is over, or its caller is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ralphloop.proof import checker, keeper
from unit.domain.cases import each
from unit.proof.processes import LINUX, Bench, gone, state_of, wait_until

on_linux = pytest.mark.skipif(not LINUX, reason="only Linux lets a process adopt orphans")

WAIT_FOR_PIDS = "while ! [ -s pids ]; do sleep 0.1; done"
STUBBORN = "sh -c 'trap \"\" TERM INT HUP; echo $$ >> pids; exec sleep 300'"  # what is ignored stays so
GROUP = (
    '"$PYTHON" -c \'import os, time; os.setpgid(0, 0); '
    'print(os.getpid(), file=open("pids", "a"), flush=True); time.sleep(300)\''
)

DAEMON = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN if "stubborn" in sys.argv else signal.SIG_DFL)
if os.fork():
    os._exit(0)
os.setsid()
if "twice" in sys.argv and os.fork():
    os._exit(0)
if "closed" in sys.argv:
    os.closerange(0, 3)
with open("pids", "a") as file:
    file.write("%d\\n" % os.getpid())
time.sleep(300)
"""

# As on a system without adoption: processes are found in the output of `ps`, by their session.
WITHOUT_ADOPTION = """
import sys
sys.path.insert(0, {folder!r})
import keeper
keeper.adopt_orphans = lambda: False
keeper._processes = keeper._listed_processes
keeper.main()
"""

CALLER = """
import json, sys
from ralphloop.proof.checker import run
ran = run(**json.loads(sys.argv[1]))
print(json.dumps(ran._asdict()))
"""


# Its time is over when there is a file: seconds are too few on a busy machine, and too many on any other.
HURRIED = """
import sys
sys.path.insert(0, {folder!r})
import keeper
monotonic, is_over = keeper.time.monotonic, lambda: keeper.os.path.exists({over!r})
keeper.time.monotonic = lambda: monotonic() + (10_000 if is_over() else 0)
keeper.LONGEST_WAIT_S = 0.05
keeper.main()
"""


def replace_keeper(monkeypatch: pytest.MonkeyPatch, place: Path, text: str, **values: str) -> None:
    place.write_text(text.format(folder=os.path.dirname(keeper.__file__), **values))
    monkeypatch.setattr(checker, "KEEPER", str(place))


@pytest.fixture(params=["adopting", "listing"])
def any_keeper(request, tmp_path: Path, monkeypatch) -> str:
    if request.param == "listing":
        replace_keeper(monkeypatch, tmp_path / "other_keeper.py", WITHOUT_ADOPTION)
    return request.param


@pytest.fixture
def hurried(bench: Bench, monkeypatch) -> str:
    """A command that lets the time be over."""
    over = str(bench.folder / "over")
    replace_keeper(monkeypatch, bench.folder / "hurried_keeper.py", HURRIED, over=over)
    return "touch over"


@pytest.mark.usefixtures("any_keeper")
@each(
    "left_behind",
    ["sleep 300 & echo $! > pids", f"{GROUP} &", f"{STUBBORN} &", f"({STUBBORN} &)"],
    ids=["a child", "a group of its own", "one that ignores signals", "an orphan"],
    at_once=True,
)
def test_a_child_that_outlives_the_command_is_ended(tmp_path: Path, left_behind: str) -> None:
    bench = Bench(tmp_path)
    ran = bench.run(f"{left_behind}\n{WAIT_FOR_PIDS}; echo ended; exit 3")
    assert (ran.exit_code, ran.tail) == (3, "ended\n")
    assert all(gone(pid) for pid in bench.pids())


def test_processes_are_found_with_and_without_proc() -> None:
    with subprocess.Popen(["sleep", "300"]) as child:
        try:
            listed = [pid for pid, parent in keeper._listed_processes() if parent == os.getpid()]
            found = [pid for pid, parent in keeper._processes() if parent == os.getpid()]
        finally:
            child.kill()
    assert sorted(listed) == sorted(found)  # the tests' own servers may be among them
    assert child.pid in found


@on_linux
@each("ways", ["", "twice", "twice closed", "twice closed stubborn"], at_once=True)
def test_a_daemon_is_ended_with_the_command_that_started_it(tmp_path: Path, ways: str) -> None:
    bench = Bench(tmp_path)
    daemon = bench.script("daemon.py", DAEMON)
    ran = bench.run(f"{daemon} {ways}; {WAIT_FOR_PIDS}; echo ended")
    assert (ran.exit_code, ran.tail) == (0, "ended\n")
    assert gone(bench.pids()[0])


@on_linux
def test_a_daemon_is_ended_when_the_time_is_over(bench: Bench, hurried: str) -> None:
    daemon = bench.script("daemon.py", DAEMON)
    both = 'while [ "$(wc -l < pids)" -lt 2 ]; do sleep 0.1; done'
    ran = bench.run(f"{daemon} twice; {daemon} twice stubborn; {both}; {hurried}; sleep 300", timeout_s=500)
    assert ran.timed_out
    assert [gone(pid) for pid in bench.pids(2)] == [True, True]


@pytest.mark.usefixtures("any_keeper")
@each(
    "text",
    ["echo $$ > pids; sleep 300", f"exec {STUBBORN}", f"echo $$ > pids; {STUBBORN}"],
    at_once=True,
)
def test_a_command_whose_time_is_over_is_ended(tmp_path: Path, text: str) -> None:
    bench = Bench(tmp_path)
    ran = bench.run(f"echo begun; {text}", timeout_s=2)
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.green) == (None, None, True, False)
    assert ran.tail == "begun\n"
    assert 2 <= ran.duration_s < 60
    assert all(gone(pid) for pid in bench.pids())


def test_a_command_is_first_asked_to_end(bench: Bench, hurried: str) -> None:
    ran = bench.run(f"trap 'echo asked; exit 0' TERM; {hurried}; while :; do sleep 0.1; done", timeout_s=500)
    assert (ran.exit_code, ran.timed_out, ran.green) == (None, True, False)
    assert "asked\n" in ran.tail


def test_a_command_that_keeps_starting_others_is_ended_with_all_of_them(bench: Bench, hurried: str) -> None:
    after_some = f"[ $i -eq 30 ] && {hurried}"
    ran = bench.run(
        f'trap "" TERM; for i in $(seq 3000); do sleep 300 & echo $! >> pids; {after_some}; sleep 0.02; done',
        timeout_s=500,
    )
    assert ran.timed_out
    living = set(bench.pids(30))
    assert not [pid for pid in living if not gone(pid)]


def test_a_command_that_writes_without_end_is_stopped_by_its_time(bench: Bench, hurried: str) -> None:
    ran = bench.run(f'trap "" TERM; yes & yes | head -c 2000000; {hurried}; yes', timeout_s=500, keep=100)
    assert ran.timed_out
    assert ran.size > 1_000_000
    assert len(ran.tail) == 100


def test_a_command_that_closes_its_output_is_waited_for(bench: Bench) -> None:
    ran = bench.run("echo begun; exec >&- 2>&-; sleep 2; echo done > proof; exit 4")
    assert (ran.exit_code, ran.tail) == (4, "begun\n")
    assert (bench.folder / "proof").read_text() == "done\n"


def test_a_child_that_keeps_the_output_open_is_not_waited_for(bench: Bench) -> None:
    ran = bench.run("sleep 300 & echo $! > pids; echo ended", timeout_s=200)
    assert (ran.exit_code, ran.timed_out, ran.tail) == (0, False, "ended\n")
    assert ran.duration_s < 100


def test_the_last_output_of_a_command_is_not_lost(bench: Bench) -> None:
    for _ in range(5):
        assert bench.run("head -c 60000 /dev/zero | tr '\\0' x").size == 60000


class Caller:
    """A process of its own that runs a check, to be killed in the middle of it."""

    def __init__(self, bench: Bench, text: str, **options) -> None:
        request = {"command": text, "cwd": str(bench.folder), "env": bench.env, "timeout_s": 120.0}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CALLER, json.dumps(request)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def end(self, number: int) -> str:
        """Send the signal and wait for the end; what the process said about it."""
        self.process.send_signal(number)
        return self.result()[1]

    def result(self) -> tuple[str, str]:
        with self.process:
            return self.process.communicate(timeout=60)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_caller_is_killed_everything_ends(bench: Bench, number: int) -> None:
    caller = Caller(bench, f"echo $PPID >> pids; echo $$ >> pids; {STUBBORN} & sleep 300")
    pids = bench.pids(3)
    assert not any(gone(pid) for pid in pids)
    caller.end(number)
    wait_until(lambda: all(gone(pid) for pid in pids))


@on_linux
def test_when_the_caller_is_killed_daemons_end_too(bench: Bench) -> None:
    daemon = bench.script("daemon.py", DAEMON)
    caller = Caller(bench, f"{daemon} twice closed stubborn; sleep 300")
    pids = bench.pids()
    caller.end(signal.SIGKILL)
    wait_until(lambda: all(gone(pid) for pid in pids))


def test_ctrl_c_ends_everything_before_the_caller_hears_of_it(bench: Bench) -> None:
    caller = Caller(bench, f"echo $PPID >> pids; echo $$ >> pids; {STUBBORN} & sleep 300")
    pids = bench.pids(3)
    assert "KeyboardInterrupt" in caller.end(signal.SIGINT)
    assert [gone(pid) for pid in pids] == [True] * 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_keeper_that_is_asked_to_end_ends_its_command(bench: Bench, number: int) -> None:
    ran = bench.run(f"echo $$ > pids; kill -{int(number)} $PPID; sleep 300")
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.green) == (None, None, False, False)
    assert "ralphloop:" in ran.tail
    assert gone(bench.pids()[0])


def test_a_command_that_kills_its_keeper_is_red_and_ended(bench: Bench) -> None:
    ran = bench.run("echo $$ > pids; kill -9 $PPID; sleep 300")
    assert (ran.exit_code, ran.green, ran.size) == (None, False, 0)
    assert "ralphloop:" in ran.tail
    wait_until(lambda: gone(bench.pids()[0]))


def test_a_keeper_that_falls_silent_is_ended_with_its_command(bench: Bench, monkeypatch) -> None:
    def monotonic() -> float:
        """The deadline is over as soon as it is silent."""
        is_silent = bench.pids_file.exists() and state_of(bench.pids()[0]) == "T"
        return time.monotonic() + (10_000 if is_silent else 0)

    monkeypatch.setattr(checker, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(checker, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr(checker, "ENDING_S", 1.0)
    ran = bench.run("echo $PPID >> pids; echo $$ >> pids; kill -STOP $PPID; sleep 300", timeout_s=500)
    assert (ran.exit_code, ran.green) == (None, False)
    wait_until(lambda: all(gone(pid) for pid in bench.pids(2)))


def _ignore_and_block() -> None:
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGQUIT, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD])


# 32 and 33 are the C library's own; whoever started the tests may have them ignored.
LIBC_SIGNALS = 0b11 << 31


@on_linux
def test_signals_that_the_caller_ignores_or_blocks_work_for_the_command(bench: Bench) -> None:
    text = "grep -E 'Sig(Blk|Ign)' /proc/self/status; exit 5"
    caller = Caller(bench, text, preexec_fn=_ignore_and_block)
    ran = json.loads(caller.result()[0])
    assert ran["exit_code"] == 5
    masks = [int(line.split()[1], 16) for line in ran["tail"].splitlines()]
    assert [mask & ~LIBC_SIGNALS for mask in masks] == [0, 0]


def test_a_keeper_without_a_request_ends(bench: Bench) -> None:
    for said in (b"", b'{"command": "touch ran"'):
        done = subprocess.run([sys.executable, "-I", "-S", checker.KEEPER], input=said, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_keeper_starts_with_little(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import keeper; keeper.adopt_orphans()\n"
        "assert keeper.parse('{\"a\": [1.5, Infinity, \"\\u00fc\"]}') == {'a': [1.5, float('inf'), 'ü']}\n"
        "print(*sys.modules)"
    )
    folder = os.path.dirname(keeper.__file__)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, folder], capture_output=True, text=True, check=True
    )
    heavy = {"re", "enum", "json", "signal", "subprocess", "hashlib", "typing", "threading", "ralphloop"}
    assert not heavy & set(done.stdout.split())

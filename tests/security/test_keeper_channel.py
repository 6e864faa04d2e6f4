"""What a check came to cannot be read, taken or forged by another process of the same ordinary user."""

from __future__ import annotations

import _socket
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphloop.proof import checker
from ralphloop.proof.keeper import PR_GET_DUMPABLE, prctl
from unit.proof.processes import LINUX, wait_until
from unit.proof.stages import ORDINARY, ROOT, Scene, scene_of
from unit.proof.test_stage_ends import below

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LINUX, reason="only Linux keeps others of the same user out"),
]

# Each way in, tried on the processes that are named; what came of it: "in", or the error's name.
ATTACK = r"""
import ctypes, errno, glob, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
PIDFD_OPEN, PIDFD_GETFD, VM_WRITEV = 434, 438, 311
PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 16, 17, 0x4206

def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result

def handles(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        os.readlink(f"/proc/{pid}/fd/{name}")

def opened(pid):
    for number in range(12):
        try:
            os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ENXIO:  # a socket: nobody opens it by a path
                raise
            continue
        return
    raise PermissionError(errno.EPERM, "")

def taken(pid):
    handle = call(libc.syscall(PIDFD_OPEN, pid, 0))
    for number in (0, 1):
        call(libc.syscall(PIDFD_GETFD, handle, number, 0))

def memory(pid):
    open(f"/proc/{pid}/mem", "r+b").close()

def maps(pid):
    open(f"/proc/{pid}/maps").read()

def environment(pid):
    open(f"/proc/{pid}/environ", "rb").read()

def traced(pid):
    call(libc.ptrace(PTRACE_SEIZE, pid, None, None))

def attached(pid):
    call(libc.ptrace(PTRACE_ATTACH, pid, None, None))
    os.waitpid(pid, 0x40000000)
    call(libc.ptrace(PTRACE_DETACH, pid, None, None))

def root_folder(pid):
    os.listdir(f"/proc/{pid}/root/")

WAYS = [handles, opened, taken, memory, maps, environment, attached, traced, root_folder]
found = {}
for pid in map(int, sys.argv[1:]):
    for way in WAYS:
        try:
            way(pid)
            found[f"{way.__name__} {pid}"] = "in"
        except OSError as error:
            found[f"{way.__name__} {pid}"] = errno.errorcode[error.errno]
print(json.dumps(found))
"""

FORGED = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
handle = libc.syscall(434, int(sys.argv[1]), 0)
taken = libc.syscall(438, handle, 1, 0)
assert taken >= 0, ctypes.get_errno()
os.write(taken, sys.argv[2].encode())
"""
GREEN = (
    '{"exit_code": 0, "signal": null, "timed_out": false, "duration_s": 1, "size": 0, "sha256": "", '
    '"tail": "", "stage": {"stood": true, "why": "", "read": [], "made": []}}\n'
)
WAITS = "echo > ../begun; while ! [ -e ../go ]; do sleep 0.1; done; exit 1"


@pytest.fixture
def scene() -> Iterator[Scene]:
    with scene_of(ORDINARY) as found:
        found.write({"app.py": "work\n"})
        yield found


def outcomes(scene: Scene, *pids: int) -> set[str]:
    said = scene.do([scene.owner.python, "-c", ATTACK, *map(str, pids)])
    return set(json.loads(said).values())


def test_the_ways_in_lead_in_where_nobody_keeps_them_out(scene: Scene) -> None:
    """The tests below could not fail otherwise. A tracer of its own may be forbidden on this machine."""
    words = ["/bin/sh", "-c", "exec 3<> app.py; exec sleep 300"]
    with subprocess.Popen(words, cwd=scene.top, stdin=subprocess.DEVNULL, **scene.owner.options) as victim:
        wait_until(lambda: Path(f"/proc/{victim.pid}/cmdline").read_bytes().startswith(b"sleep"))
        found = outcomes(scene, victim.pid)
        victim.kill()
    assert found - {"EPERM"} == {"in"}
    assert found == {"in"} or is_restricted()


def is_restricted() -> bool:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return scope.exists() and scope.read_text().strip() != "0"


@pytest.mark.parametrize("apart", [False, True], ids=["in the project", "in a stage"])
def test_another_process_of_the_same_user_gets_at_nobody_between_hook_and_check(
    scene: Scene, apart: bool
) -> None:
    request = json.loads(scene.request(WAITS))
    with scene.start(json.dumps(request if apart else {**request, "stage": None})) as hook:
        wait_until((scene.folder / "begun").exists)
        keeper, *further = below(hook.pid)
        between = [hook.pid, keeper, *(further[:2] if apart else ())]
        found = outcomes(scene, *between)
        (scene.folder / "go").touch()
        said, errors = hook.communicate(timeout=60)
    assert found <= {"EACCES", "EPERM"}
    assert (json.loads(said)[0], errors) == (1, "")


@pytest.mark.parametrize("apart", [False, True], ids=["in the project", "in a stage"])
def test_a_result_that_somebody_else_sends_is_not_taken(apart: bool) -> None:
    """Only root can take the keeper's socket, and what is sent through it still has the sender's number."""
    with scene_of(ROOT) as scene:
        request = json.loads(scene.request(WAITS))
        with scene.start(json.dumps(request if apart else {**request, "stage": None})) as hook:
            wait_until((scene.folder / "begun").exists)
            keeper = below(hook.pid)[0]
            scene.do([sys.executable, "-c", FORGED, str(keeper), GREEN])
            (scene.folder / "go").touch()
            said, errors = hook.communicate(timeout=60)
    assert (json.loads(said)[0], errors) == (1, "")


@pytest.mark.parametrize("handle", [0, 1, 2])
def test_a_check_that_writes_into_its_keeper_is_red(scene: Scene, handle: int) -> None:
    scene.write({"forged": GREEN})
    request = json.loads(scene.request(f"cat forged > /proc/$PPID/fd/{handle}; exit 1"))
    with scene.start(json.dumps({**request, "stage": None})) as hook:
        said, errors = hook.communicate(timeout=60)
    assert (json.loads(said)[0], errors) == (1, "")


def test_only_the_keepers_own_words_are_heard() -> None:
    ours, theirs = _socket.socketpair()
    try:
        ours.setsockopt(_socket.SOL_SOCKET, checker.SO_PASSCRED, 1)
        theirs.send(b"first")
        assert checker._heard(ours, os.getpid()) == b"first"
        subprocess.run([sys.executable, "-c", "print('forged')"], stdout=theirs.fileno(), check=True)
        theirs.send(b"second")
        assert checker._heard(ours, os.getpid()) == b""
        assert checker._heard(ours, os.getpid()) == b"second"
        theirs.close()
        assert checker._heard(ours, os.getpid()) is None
    finally:
        ours.close()


def test_afterwards_the_caller_is_as_it_was(tmp_path: Path) -> None:
    """Several threads may wait at once: the last one opens the door again."""
    begun = [
        threading.Thread(target=checker.run, args=(f"sleep {n}",), kwargs=_options(tmp_path)) for n in (0, 3)
    ]
    assert prctl(PR_GET_DUMPABLE) == 1
    for thread in begun:
        thread.start()
    begun[0].join()
    assert prctl(PR_GET_DUMPABLE) == 0
    begun[1].join()
    assert prctl(PR_GET_DUMPABLE) == 1


def _options(folder: Path) -> dict[str, object]:
    return {"cwd": str(folder), "env": {"PATH": os.environ["PATH"]}, "timeout_s": 60.0}


def test_the_check_itself_is_an_ordinary_process(scene: Scene) -> None:
    """It may look at itself, as a debugger or a sanitizer under test does."""
    text = "test -O /proc/$$/fd && cat /proc/$$/environ > /dev/null && ls /proc/$$/fd > /dev/null"
    request = json.loads(scene.request(text))
    for stage in (None, request["stage"]):
        with scene.start(json.dumps({**request, "stage": stage})) as hook:
            assert json.loads(hook.communicate(timeout=60)[0])[0] == 0

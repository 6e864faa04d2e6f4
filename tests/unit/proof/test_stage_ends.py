"""However a stage ends, and whatever the command does in it, no process, no mount and no folder is left."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ralphloop.proof import stage
from unit.proof.processes import gone, wait_until
from unit.proof.stages import ORDINARY, ROOT, Scene, long_unread, picture, ran_of, scene_of

pytestmark = pytest.mark.slow

DAEMON = (
    "setsid sh -c 'trap \"\" TERM HUP; echo $$ > ../daemon; exec sleep 300' > /dev/null 2>&1 < /dev/null &"
)


@pytest.fixture(params=[ROOT, ORDINARY])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with scene_of(request.param) as found:
        found.write({"app.py": "work\n", "tests/test_app.py": "assert True\n"})
        found.keep()
        yield found
        assert is_clean(found)


def is_clean(scene: Scene) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    return str(scene.folder) not in mounts and not list(scene.spare.iterdir())


def below(pid: int) -> list[int]:
    """All that a process has started, in that order: the keeper, the builder, the first process, the rest."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found, level = [], [pid]
    while level:
        level = sorted(child for child, parent in parents.items() if parent in level)
        found += level
    return found


def test_a_command_sees_and_reaches_no_process_outside(scene: Scene) -> None:
    with subprocess.Popen(["sleep", "300"], **scene.owner.options) as outside:
        try:
            ran = scene.run(
                f"kill -9 {outside.pid}; kill -9 1; kill -9 $PPID; kill -TERM $PPID; "
                "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; echo $PPID"
            )
            assert outside.poll() is None
        finally:
            outside.kill()
    assert ran.exit_code == 0
    assert "sleep 300" not in ran.tail
    assert "-c import json" not in ran.tail, "the caller"
    assert ran.tail.endswith("\n1\n")


def test_a_daemon_is_gone_with_the_command(scene: Scene) -> None:
    request = scene.request(f"{DAEMON} while ! [ -s ../daemon ]; do sleep 0.1; done; exit 4")
    with scene.start(request) as actor:
        ran = ran_of(actor)
    assert (ran.exit_code, ran.apart.stood) == (4, True)
    assert not _started_in(scene)


def _started_in(scene: Scene) -> list[int]:
    """Living processes whose environment names the scene's home."""
    mark = f"HOME={scene.home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found += [int(entry.name)] if not gone(int(entry.name)) else []
        except OSError:
            continue
    return found


def test_the_mark_by_which_processes_are_found_works(scene: Scene) -> None:
    with scene.start(scene.request("echo > ../begun; sleep 300")) as actor:
        wait_until((scene.folder / "begun").exists)
        assert (
            len(_started_in(scene)) >= 5
        )  # the caller, the keeper, the builder, the first process, the command
        actor.kill()
    wait_until(lambda: not _started_in(scene))


STATES = {
    "puts back": {"git": "slow", "text": "true"},
    "runs": {"git": "", "text": f"{DAEMON} echo > ../begun; trap '' TERM; sleep 300"},
}  # fmt: skip
WHO = {"the caller": 0, "the keeper": 1, "the builder": 2, "the first process": 3, "the command": 4}


@pytest.mark.parametrize("place", WHO.values(), ids=WHO)
@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_whoever_is_killed_nothing_is_left(scene: Scene, state: dict[str, str], place: int) -> None:
    slow = scene.folder / "slow"
    slow.write_text("#!/bin/sh\necho > ../begun\nsleep 300\n")
    slow.chmod(0o755)
    options = {"git": [str(slow)]} if state["git"] else {}
    request = scene.request(state["text"], put_back=["app.py"], watch=["tests/test_app.py"], **options)
    with scene.start(request) as actor:
        wait_until((scene.folder / "begun").exists)
        wait_until(lambda: len(below(actor.pid)) >= 5)
        living = [actor.pid, *below(actor.pid)]
        os.kill(living[place], signal.SIGKILL)
        said = actor.communicate(timeout=60)[0]
    wait_until(lambda: all(gone(pid) for pid in living))
    assert len(living) >= 6
    assert not _started_in(scene)
    assert is_clean(scene)
    assert '"exit_code": 0' not in said
    assert not said.startswith("[0,")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_caller_that_is_asked_to_end_takes_all_with_it(scene: Scene, number: int) -> None:
    with scene.start(scene.request(f"{DAEMON} echo > ../begun; sleep 300")) as actor:
        wait_until((scene.folder / "begun").exists)
        living = below(actor.pid)
        actor.send_signal(number)
        actor.communicate(timeout=60)
    wait_until(lambda: all(gone(pid) for pid in living))


@pytest.mark.parametrize(
    "text", ["sleep 300", "trap '' TERM INT HUP; sleep 300 & sleep 300; wait", f"{DAEMON} sleep 300"]
)
def test_a_command_whose_time_is_over_is_ended(scene: Scene, text: str) -> None:
    ran = scene.run(f"echo begun; {text}", timeout_s=2)
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.tail[:6]) == (None, None, True, "begun\n")
    assert ran.apart == (True, "", (), (), ())
    assert not _started_in(scene)


def test_a_command_whose_time_is_over_is_first_asked_to_end(scene: Scene) -> None:
    ran = scene.run("trap 'echo asked; exit 0' TERM; while :; do sleep 0.1; done", timeout_s=2)
    assert (ran.exit_code, ran.timed_out, ran.green) == (None, True, False)
    assert "asked\n" in ran.tail


def test_a_stage_that_takes_too_long_is_told(scene: Scene) -> None:
    slow = scene.folder / "slow"
    slow.write_text("#!/bin/sh\nsleep 300\n")
    slow.chmod(0o755)
    ran = scene.run("echo > ../ran", timeout_s=2, put_back=["app.py"], git=[str(slow)])
    assert (ran.exit_code, ran.timed_out) == (None, True)
    assert ran.apart == (False, "there was no time for it", (), (), ())
    assert not (scene.folder / "ran").exists()
    assert not _started_in(scene)


HARMFUL = {
    "mounts": "mkdir m; mount -t tmpfs none m; mount --bind / m; unshare -Urm mount -t tmpfs n tests; true",
    "unmounts": 'umount -l "$PWD"; unshare -Urm umount -l "$PWD"; cd "$PWD"; echo more >> app.py',
    "changes its limits": "ulimit -n 10; ulimit -f 0; ulimit -v 200000; ulimit -u 3; echo more >> app.py",
    "removes the project": 'cd /; rm -rf "$OLDPWD"; true',
    "replaces the project": 'cd ..; mv project other; mkdir project; true',
    "writes without end": "ulimit -f 1000000; yes > large; true",
    "forks": "for n in $(seq 200); do setsid sleep 300 & done; true",
    "stops its parents": "kill -STOP $PPID; kill -STOP 1; kill -STOP -1; true",
}  # fmt: skip


@pytest.mark.parametrize("text", HARMFUL.values(), ids=HARMFUL)
def test_whatever_a_command_does_the_project_is_as_it_was(scene: Scene, text: str) -> None:
    long_unread(scene.folder)
    before = picture(scene.folder)
    ran = scene.run(text, timeout_s=90, watch=["app.py"])
    assert ran.apart is not None
    assert ran.apart.stood
    assert picture(scene.folder) == before
    assert not _started_in(scene)


def test_a_full_stage_is_the_commands_to_find(scene: Scene) -> None:
    """There is less room in a stage than in the memory: half of it."""
    ran = scene.run(
        "truncate -s 1T sparse; fallocate -l 1T full 2>&1 || echo full; echo x > small; cat small"
    )
    assert ran.tail.endswith("full\nx\n"), ran.tail


def test_200_megabytes_of_output_are_counted_and_digested(scene: Scene) -> None:
    line, size = b"0123456789abcde\n", 200 * 1024 * 1024
    ran = scene.run(f"yes 0123456789abcde | head -c {size}")
    digest = hashlib.sha256()
    for _ in range(size // (len(line) * 65536)):
        digest.update(line * 65536)
    assert (ran.exit_code, ran.size, ran.digest) == (0, size, digest.hexdigest())


# A user namespace in which nobody may have another one: as root in it, and as oneself.
SWITCHED_OFF = 'for kind in user mnt; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done; exec "$@"'


@pytest.mark.parametrize("mapped", ["--map-root-user", "--map-current-user"])
def test_without_namespaces_nothing_is_run(scene: Scene, mapped: str) -> None:
    before = ["unshare", "--user", mapped, "--keep-caps", "sh", "-ec", SWITCHED_OFF, "sh"]
    ran = scene.run("echo > ../ran", before=before)
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.tail) == (None, None, False, "")
    assert ran.apart == (False, "namespaces are switched off", (), (), ())
    assert not (scene.folder / "ran").exists()
    assert scene.trouble(before=before) == "namespaces are switched off"


def test_without_process_namespaces_nothing_is_run(scene: Scene) -> None:
    text = 'echo 0 > /proc/sys/user/max_pid_namespaces; exec "$@"'
    before = ["unshare", "--user", "--map-root-user", "sh", "-ec", text, "sh"]
    found = scene.apart("echo > ../ran", before=before)
    assert found == (False, "namespaces are switched off", (), (), ())
    assert not (scene.folder / "ran").exists()


def test_where_proc_cannot_be_mounted_the_command_still_reaches_nobody(scene: Scene) -> None:
    """As in a container: something covers a part of /proc, so an ordinary user gets no other one."""
    covered = 'mount -t tmpfs none /proc/irq; exec unshare --user --map-user=1000 --map-group=1000 "$@"'
    before = ["unshare", "--user", "--map-root-user", "-m", "sh", "-ec", covered, "sh"]
    with subprocess.Popen(["sleep", "300"], **scene.owner.options) as outside:
        try:
            ran = scene.run(
                f"kill -9 {outside.pid}; test -e /proc/{outside.pid}/stat && echo shown; echo $PPID",
                before=before,
            )
            assert outside.poll() is None
        finally:
            outside.kill()
    assert (ran.exit_code, ran.apart.stood) == (0, True), ran
    assert ran.tail.endswith("shown\n1\n")


def test_inside_of_a_user_namespace_root_has_a_stage_too(scene: Scene) -> None:
    """As in a container without rights: root there is an ordinary user outside."""
    ran = scene.run("id -u; rm app.py; mkdir app.py; ls -A", before=["unshare", "--user", "--map-root-user"])
    assert (ran.exit_code, ran.apart.stood) == (0, True), ran
    assert ran.tail == "0\n.git\napp.py\ntests\n"


def test_only_the_first_process_of_a_namespace_of_its_own_runs_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends all others that it sees, which must never be those of the machine."""
    for name in ("_die_with_parent", "_put_back", "_direct"):
        monkeypatch.setattr(stage, name, lambda *_: os.write(writing, b"went on\n"))
    monkeypatch.setattr(stage, "libc", SimpleNamespace(mount=lambda *_: 0))
    reading, writing = os.pipe()
    lifeline, holding = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            stage._be_first({}, lambda: os._exit(0), {}, news=writing, lifeline=lifeline)
        finally:
            os._exit(1)  # or a second pytest would go on from here
    os.waitpid(pid, 0)
    for handle in (writing, lifeline, holding):
        os.close(handle)
    with open(reading, "rb") as news:
        assert news.read() == b"why it has no process namespace of its own\n"

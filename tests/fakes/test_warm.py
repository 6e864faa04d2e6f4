"""A run of the warm interpreter is like a real start, as far as anybody outside can see."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fakes import warm
from fakes.patience import eventually
from fakes.pseudo_terminal import heard

PROBE = str(Path(__file__).with_name("probe.py"))
ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "ODD": "\udcff ü", "EMPTY": "", "TZ": "Asia/Tokyo"}


def both(*words: str, program: str = warm.SCRIPT, cwd: Path, **options: Any) -> tuple[warm.Ended, warm.Ended]:
    options = {"env": ENV, "cwd": cwd, "program": program, **options}
    return warm.run(words, real=True, **options), warm.run(words, **options)


def same(*words: str, cwd: Path, **options: Any) -> warm.Ended:
    real, forked = both(*words, cwd=cwd, **options)
    assert forked == real, words
    return forked


@contextlib.contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def shape(found: warm.Ended) -> Mapping[str, Any]:
    assert (found.code, found.stderr) == (0, b""), found
    told = json.loads(found.stdout)
    assert isinstance(told, dict)
    return told


@pytest.mark.parametrize("locale", [{"LANG": "C.UTF-8"}, {}], ids=["UTF-8", "none"])
def test_it_is_given_what_a_fresh_process_is_given(tmp_path: Path, locale: dict[str, str]) -> None:
    env = {**{name: text for name, text in ENV.items() if name != "LANG"}, **locale}
    real, forked = map(shape, both(PROBE, "shape", "ä", "", "\udcff", cwd=tmp_path, env=env))
    assert forked == real
    assert forked["descriptors"] == [0, 1, 2]
    assert forked["cwd"] == str(tmp_path.resolve())
    assert forked["zone"][0] == ["JST", "JST"]
    assert forked["environment"].items() >= env.items()
    assert forked["argv"] == [PROBE, "shape", "ä", "", "\udcff"]


def test_it_has_the_umask_of_this_moment(tmp_path: Path) -> None:
    for mask in (0o022, 0o077, 0o000):
        with umask(mask):
            found = shape(warm.run([PROBE, "shape"], env=ENV, cwd=tmp_path, program=warm.SCRIPT))
        assert found["umask"] == mask, oct(mask)


def test_nothing_of_a_run_is_left_for_the_next(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = shape(warm.run([PROBE, "shape"], env=ENV, cwd=tmp_path, program=warm.SCRIPT))
    warm.run(
        [PROBE, "shape"], env={"LANG": "C.UTF-8", "LEFT": "over"}, cwd=other, program=warm.SCRIPT, stdin=b"x"
    )
    assert shape(warm.run([PROBE, "shape"], env=ENV, cwd=tmp_path, program=warm.SCRIPT)) == first


def test_it_ends_as_a_fresh_process_ends(tmp_path: Path) -> None:
    ends = ("none", "seven", "large", "text", "leave", "killed", "terminated")
    codes = {end: same(PROBE, end, cwd=tmp_path).code for end in ends}
    assert list(codes.values()) == [0, 7, 255, 1, 9, -signal.SIGKILL, -signal.SIGTERM], codes


def test_it_says_all_that_a_fresh_process_says(tmp_path: Path) -> None:
    for end, said in (
        ("at exit", b"the last act\n"),
        ("a thread", b"the thread's last word\n"),
        ("unfinished", b"a line without an end"),
        ("both", b"out\n"),
    ):
        assert same(PROBE, end, cwd=tmp_path).stdout == said, end


@pytest.mark.parametrize(("end", "code"), [("raise", 1), ("interrupted", -signal.SIGINT)])
def test_an_uncaught_error_is_told_and_ends_it(tmp_path: Path, end: str, code: int) -> None:
    real, forked = both(PROBE, end, cwd=tmp_path)
    assert real.code == forked.code == code
    assert forked.stderr.startswith(b"Traceback")
    assert forked.stderr.splitlines()[-1] == real.stderr.splitlines()[-1]


def test_input_of_any_size_arrives_whole(tmp_path: Path) -> None:
    for size in (0, 1, 1 << 16, 5 << 20):
        data = b"y" * size
        assert same(PROBE, "echo", cwd=tmp_path, stdin=data).stdout == data, size


def test_input_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    assert same(PROBE, "none", cwd=tmp_path, stdin=b"z" * (1 << 20)).code == 0


def test_a_closed_stream_is_none(tmp_path: Path) -> None:
    shell = 'exec "$@" <&-'
    real = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", sys.executable, PROBE, "shape"],
        env=ENV, cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    with warm.start(
        [PROBE, "shape"], env=ENV, cwd=tmp_path, program=warm.SCRIPT, stdin=warm.CLOSED
    ) as process:
        out, _ = process.communicate()
    found, expected = json.loads(out), json.loads(real.stdout)
    assert found["streams"] == expected["streams"]
    assert found["streams"]["stdin"] is None
    for other in (found, expected):
        other.pop("environment")  # a shell adds to it
    assert found == expected


@pytest.mark.parametrize(("words", "code"), [([PROBE, "unread"], 120), (["--help"], 0), (["status"], 0)])
def test_a_reader_that_left_is_noticed_in_the_same_way(tmp_path: Path, words: list[str], code: int) -> None:
    ends = []
    for real in (True, False):
        reading, writing = os.pipe()
        os.close(reading)
        with warm.start(
            words, env={**ENV, "HOME": str(tmp_path)}, cwd=tmp_path, stdout=writing, real=real,
            program=warm.SCRIPT if PROBE in words else warm.COMMAND_LINE,
        ) as process:  # fmt: skip
            os.close(writing)
            _, err = process.communicate()
        ends.append((process.returncode, err))
    assert ends[0] == ends[1]
    assert ends[0][0] == code


def test_both_streams_can_be_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "env": ENV,
        "cwd": tmp_path,
        "program": warm.SCRIPT,
        "stderr": subprocess.STDOUT,
    }
    with warm.start([PROBE, "both"], **options) as process:
        out, err = process.communicate()
    assert sorted(out.split()) == [b"err", b"out"]
    assert not err


def test_a_session_of_its_own_can_be_had(tmp_path: Path) -> None:
    options: dict[str, Any] = {"env": ENV, "cwd": tmp_path, "program": warm.SCRIPT}
    with warm.start([PROBE, "shape"], start_new_session=True, **options) as process:
        found = json.loads(process.communicate()[0])
    assert found["leads"]
    assert found["group"] == process.pid


def on_terminal(*words: str, cwd: Path, keys: bytes = b"", real: bool) -> tuple[int, bytes]:
    """The exit code and what is on a terminal of its own, where this was typed when it had begun to speak."""
    master, slave = os.openpty()
    with open(master, "wb", buffering=0) as typing:
        process = warm.start(
            words, env=ENV, cwd=cwd, program=warm.SCRIPT, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, takes_terminal=True, real=real,
        )  # fmt: skip
        os.close(slave)
        shown = heard(master)
        typing.write(keys)
        while chunk := heard(master):
            shown += chunk
        return process.wait(30), shown


def test_it_can_take_a_terminal(tmp_path: Path) -> None:
    ends = [on_terminal(PROBE, "shape", cwd=tmp_path, real=real) for real in (True, False)]
    assert [code for code, _ in ends] == [0, 0]
    real, forked = (json.loads(shown) for _, shown in ends)
    assert forked["leads"]
    assert forked["controlled"]
    for found in (real, forked):
        del found["group"], found["streams"]["terminal"]
    assert forked == real


def test_ctrl_c_on_its_terminal_ends_it(tmp_path: Path) -> None:
    for real in (True, False):
        code, shown = on_terminal(PROBE, "wait", cwd=tmp_path, keys=b"\x03", real=real)
        assert code == -signal.SIGINT, real
        assert shown.startswith(b"ready"), real
        assert b"KeyboardInterrupt" in shown, real


def waiting(cwd: Path) -> Any:
    process = warm.start([PROBE, "wait"], env=ENV, cwd=cwd, program=warm.SCRIPT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_reaches_the_one_that_it_is_sent_to(tmp_path: Path, number: signal.Signals) -> None:
    with waiting(tmp_path) as one, waiting(tmp_path) as other:
        assert one.poll() is None
        one.send_signal(number)
        assert one.wait(timeout=30) == -number
        assert other.poll() is None
        other.kill()
        assert other.wait(timeout=30) == -signal.SIGKILL
        other.kill()  # of one that has ended it is no error, as with any process


def test_ctrl_c_is_an_exit_code_of_the_command_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ideas")
    codes = []
    for real in (True, False):
        options: dict[str, Any] = {"env": {**ENV, "HOME": str(tmp_path)}, "cwd": tmp_path, "real": real}
        with warm.start(["new", "shop", "--from", "ideas", "--here"], **options) as process:
            writing = os.open(tmp_path / "ideas", os.O_WRONLY)  # waits until it is read from
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            os.close(writing)
        codes.append((process.returncode, out, err))
    assert codes == [(130, b"", b"")] * 2


def test_what_takes_too_long_is_killed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run([PROBE, "wait"], env=ENV, cwd=tmp_path, program=warm.SCRIPT, longest_s=0.2)
    assert same(PROBE, "seven", cwd=tmp_path).code == 7


def test_many_run_at_once(tmp_path: Path) -> None:
    def echoed(number: int) -> bytes:
        text = b"%d" % number * 50_000
        found = warm.run([PROBE, "echo"], env=ENV, cwd=tmp_path, program=warm.SCRIPT, stdin=text)
        return found.stdout

    with ThreadPoolExecutor(8) as pool:
        for number, said in enumerate(pool.map(echoed, range(40))):
            assert said == b"%d" % number * 50_000


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    for real in (True, False):
        with pytest.raises(FileNotFoundError):
            warm.run(["status"], env=ENV, cwd=tmp_path / "gone", real=real)


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["status", "--nope"], ["nonsense"], ["status"], []]
)
def test_the_command_line_answers_in_the_same_way(tmp_path: Path, words: list[str]) -> None:
    same(*words, cwd=tmp_path, program=warm.COMMAND_LINE, env={**ENV, "HOME": str(tmp_path)})


@pytest.mark.parametrize("given", [b"", b"{", b"\xff\xfe", b'{"hook_event_name": "Stop"}'])
def test_the_hook_answers_in_the_same_way(tmp_path: Path, given: bytes) -> None:
    env = {**ENV, "HOME": str(tmp_path)}
    same("settings", cwd=tmp_path, program=warm.HOOK, env=env, stdin=given)


def test_an_environment_that_changes_the_interpreter_is_met_by_a_real_one(tmp_path: Path) -> None:
    for extra in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"LANG": "C"}, {"PYTHONUTF8": "0"}):
        options: dict[str, Any] = {"env": {**ENV, **extra}, "cwd": tmp_path, "program": warm.SCRIPT}
        with warm.start([PROBE, "shape"], **options) as process:
            assert isinstance(process, subprocess.Popen), extra
            assert process.communicate()[0], extra


ASKER = """
import sys
sys.path.insert(0, {tests!r})
from fakes import warm
process = warm.start([{probe!r}, "wait"], env={env!r}, cwd="/", program=warm.SCRIPT)
(server,) = warm._servers.values()
process.stdout.readline()
print(server.process.pid, process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_nothing_is_left_of_it_when_whoever_asked_has_gone(how: str) -> None:
    text = ASKER.format(tests=str(Path(__file__).parents[1]), probe=PROBE, env=ENV)
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as asker:
        assert asker.stdout is not None
        assert asker.stdin is not None
        numbers = [int(word) for word in asker.stdout.readline().split()]
        assert len(numbers) == 2
        assert all(map(_lives, numbers))
        if how == "is killed":
            asker.kill()
        asker.stdin.close()
        asker.wait(timeout=30)
    eventually(lambda: not any(map(_lives, numbers)), what=f"{numbers} still live")


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_warm_interpreter_knows_nothing_of_the_tests(tmp_path: Path) -> None:
    script = tmp_path / "modules.py"
    script.write_text("import sys; print(*sorted(name.partition('.')[0] for name in sys.modules))")
    found = warm.run([str(script)], env=ENV, cwd=tmp_path, program=warm.SCRIPT)
    modules = set(found.stdout.decode().split())
    assert "ralphloop" in modules
    assert not modules & {"pytest", "_pytest", "xdist", "fakes", "conftest", "hypothesis"}


def test_a_killed_interpreter_is_started_anew(tmp_path: Path) -> None:
    same(PROBE, "none", cwd=tmp_path)
    (server,) = [found for key, found in warm._servers.items() if dict(key) == {"LANG": "C.UTF-8"}]
    server.process.kill()
    server.process.wait()
    begun = time.monotonic()
    assert same(PROBE, "seven", cwd=tmp_path).code == 7
    assert time.monotonic() - begun < warm.LONGEST_S

"""What came of a command: its ending, its output as it may be shown, and what it was given."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from itertools import product

import pytest

from ralphloop.proof import checker
from unit.domain.cases import each
from unit.proof.processes import LINUX, Bench

on_linux = pytest.mark.skipif(not LINUX, reason="looks into /proc")


@pytest.mark.parametrize("code", [0, 1, 2, 126, 127, 130, 255])
def test_the_exit_code_is_the_commands_own(bench: Bench, code: int) -> None:
    ran = bench.run(f"exit {code}")
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.green) == (code, None, False, code == 0)


@pytest.mark.parametrize("number", [6, 9, 11, 15])
def test_a_command_that_a_signal_ended_has_no_exit_code(bench: Bench, number: int) -> None:
    ran = bench.run(f"kill -{number} $$; sleep 60")
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.green) == (None, number, False, False)


def test_size_and_digest_are_of_both_streams_in_order(bench: Bench) -> None:
    ran = bench.run("echo one; echo two >&2; echo three")
    assert ran.tail == "one\ntwo\nthree\n"
    assert (ran.size, ran.digest) == (14, hashlib.sha256(b"one\ntwo\nthree\n").hexdigest())
    assert 0 <= ran.duration_s < 60


def test_no_output_has_the_digest_of_nothing(bench: Bench) -> None:
    ran = bench.run(":")
    assert (ran.size, ran.digest, ran.tail) == (0, hashlib.sha256().hexdigest(), "")


@each(
    "text",
    [
        "it's", 'a "b" c', "$HOME `x` \\", "ünïcödé ✓ 🙂", "two\nlines\n", "-n", "%s %d", "a\tb", "*", "'",
        "\\n", "# no comment", "x" * 100_000,
    ],
)  # fmt: skip
def test_a_command_reaches_the_shell_to_the_letter(bench: Bench, text: str) -> None:
    ran = bench.run(f"printf %s {shlex.quote(text)}", keep=200_000)
    assert (ran.exit_code, ran.tail) == (0, text)


def test_a_command_may_have_many_lines(bench: Bench) -> None:
    assert bench.run("for i in 1 2\ndo\n  echo $i\ndone\ncat <<X\nhere\nX\n").tail == "1\n2\nhere\n"


def test_a_command_line_is_read_by_sh_until_it_fails(bench: Bench) -> None:
    ran = bench.run("echo 'never closed")
    assert ran.exit_code not in (0, None)
    assert ran.tail


def test_a_command_that_reads_gets_the_end_of_file(bench: Bench) -> None:
    ran = bench.run("cat; read line || echo nothing to read")
    assert (ran.exit_code, ran.tail) == (0, "nothing to read\n")


def test_a_command_runs_in_its_folder(bench: Bench) -> None:
    (bench.folder / "ünder neath").mkdir()
    ran = bench.run("pwd -P", cwd=str(bench.folder / "ünder neath"))
    assert ran.tail == os.path.realpath(bench.folder / "ünder neath") + "\n"


@pytest.mark.parametrize("cwd", ["missing", "file"])
def test_without_its_folder_a_command_is_not_started(bench: Bench, cwd: str) -> None:
    (bench.folder / "file").touch()
    ran = bench.run("echo ran", cwd=str(bench.folder / cwd))
    assert (ran.exit_code, ran.green) == (127, False)
    assert str(bench.folder / cwd) in ran.tail
    assert ran.tail != "ran\n"


@pytest.mark.parametrize("text", ["echo \0", "echo " + "x" * 3_000_000])
def test_a_command_that_no_shell_can_be_given_is_red_and_says_so(bench: Bench, text: str) -> None:
    ran = bench.run(text)
    assert ran.exit_code == 127
    assert "cannot be started" in ran.tail


def test_the_environment_is_the_given_one_and_the_mark_of_a_check(bench: Bench, monkeypatch) -> None:
    monkeypatch.setenv("OF_THE_CALLER", "1")
    given = {"PATH": os.environ["PATH"], "GIVEN": "a\nb=ü", "RALPHLOOP_CHECK": "0", "ODD": "\udcff"}
    ran = bench.run('"$0" -c "printf \'%s|\' \\"$GIVEN\\" $RALPHLOOP_CHECK ${OF_THE_CALLER-unset}"; '
                    'printf %s "$ODD" | od -An -tx1', env=given)  # fmt: skip
    assert ran.tail == "a\nb=ü|1|unset| ff\n"


def test_a_large_environment_is_passed_on(bench: Bench) -> None:
    bench.env.update({f"V{n}": "x" * 10_000 for n in range(30)})
    assert bench.run("echo ${#V0} ${#V29}").tail == "10000 10000\n"


@on_linux
def test_no_descriptor_of_the_caller_reaches_the_command_or_its_keeper(bench: Bench) -> None:
    reading, writing = os.pipe()
    try:
        os.set_inheritable(writing, True)
        names = {os.readlink(f"/proc/self/fd/{handle}") for handle in (1, reading, writing)}
        own = bench.run("exec ls /proc/self/fd")
        keeper = bench.run("exec ls -l /proc/$PPID/fd")
    finally:
        os.close(reading)
        os.close(writing)
    assert own.tail.split() == ["0", "1", "2", "3"]  # the last is what ls itself looks into
    shared = {name for name in names if name.startswith(("pipe:", "socket:"))}
    assert shared
    assert not [name for name in shared if name in keeper.tail]


@on_linux
def test_arguments_of_processes_tell_nothing_but_the_command(bench: Bench) -> None:
    bench.env["MY_TOKEN"] = "hunter22"
    ran = bench.run("tr '\\0' ' ' < /proc/$PPID/cmdline; echo; tr '\\0' '|' < /proc/$$/cmdline")
    keeper, _, own = ran.tail.partition("\n")
    assert "keeper.py" in keeper
    assert "cmdline" not in keeper
    assert "***" not in keeper
    assert own.startswith("sh|-c|tr ")


def test_what_a_terminal_would_obey_is_replaced(bench: Bench) -> None:
    ran = bench.run(r"printf 'a\000b\033[31mred\007 \302\233 \177 tab\there\rover\r\nend'")
    assert ran.tail == "a\ufffdb\ufffd[31mred\ufffd \ufffd \ufffd tab\there\ufffdover\nend"


def test_binary_output_is_shown_as_far_as_it_is_text(bench: Bench) -> None:
    data = bytes(range(256)) * 500
    (bench.folder / "data").write_bytes(data)
    ran = bench.run("cat data")
    assert (ran.size, ran.digest) == (len(data), hashlib.sha256(data).hexdigest())
    assert "0123456789" in ran.tail
    assert not re.search(r"[^\n\t -~\ufffd]", ran.tail)


def test_only_the_end_of_the_output_is_kept(bench: Bench) -> None:
    ran = bench.run('i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done', keep=100)
    assert len(ran.tail) == 100
    assert ran.tail.endswith("line 2998\nline 2999\n")
    assert bench.run("echo some", keep=0).tail == ""


@on_linux
def test_200_megabytes_of_output_are_counted_and_digested_but_not_kept(bench: Bench) -> None:
    line, size = b"0123456789abcde\n", 200 * 1024 * 1024
    ran = bench.run(f"yes 0123456789abcde | head -c {size}; grep VmHWM /proc/$PPID/status", keep=1000)
    most = ran.tail.splitlines()[-1]
    digest = hashlib.sha256()
    for _ in range(size // (len(line) * 65536)):
        digest.update(line * 65536)
    digest.update(most.encode() + b"\n")
    assert (ran.exit_code, ran.size, ran.digest) == (0, size + len(most) + 1, digest.hexdigest())
    assert ran.tail == f"{(line * 100).decode()}{most}\n"[-1000:]
    assert int(most.split()[1]) < 60_000, "the keeper's memory in KiB"


def test_a_secret_of_the_environment_is_not_shown(bench: Bench) -> None:
    bench.env["MY_API_KEY"] = "hunter22"
    bench.env["DEPLOY_KEY"] = "line one of it\nline two of it"
    ran = bench.run('echo "key: $MY_API_KEY"; echo "$DEPLOY_KEY" | sed "s/^/  /"')
    assert ran.tail == "key: ***\n  ***\n  ***\n"
    assert ran.digest == hashlib.sha256(b"key: hunter22\n  line one of it\n  line two of it\n").hexdigest()


def test_a_secret_that_is_not_utf8_is_not_shown(bench: Bench) -> None:
    bench.env["MY_API_KEY"] = "hunter\udcff\udcfe"
    assert bench.run('echo "key: $MY_API_KEY"').tail == "key: ***\n"


@each(
    ("length", "masked_later", "cut"),
    product([40, 3 * checker.UNKNOWN_SECRET], [0, 20], [0.1, 0.5, 0.9]),
)
def test_a_secret_that_was_cut_off_does_not_show_its_other_half(
    bench: Bench, length: int, masked_later: int, cut: float
) -> None:
    secret = "".join(chr(ord("a") + n * n % 26) for n in range(length))
    hidden, keep = max(length, checker.UNKNOWN_SECRET), 2000
    bench.env["MY_TOKEN"], bench.env["OTHER_TOKEN"] = secret, "0123456789" * 8
    later = bench.env["OTHER_TOKEN"] * masked_later
    filling = "-" * (keep + hidden - len(later) - length + int(length * cut))
    (bench.folder / "text").write_text(secret + filling + later)
    ran = bench.run("cat text", keep=keep)
    assert set(ran.tail) <= set("-*")
    assert ran.tail

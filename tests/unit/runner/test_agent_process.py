"""What a client writes arrives by lines, how it ended is told, and one that cannot start is an error."""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from ralphloop.errors import AgentStartError
from ralphloop.runner import agent_process
from ralphloop.runner.agent_process import AgentProcess, Ending
from ralphloop.runner.pipe import Lines
from unit.domain.cases import each
from unit.runner.stage import Stage, a_stage, gone, some, to_the_end, wait_for_line, wait_until

MEGABYTE = 1024 * 1024
IGNORING = """
import signal, time
for number in ({ignored}):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(300)
"""


def test_lines_and_the_exit_code_arrive(stage: Stage) -> None:
    agent = stage.shell("echo one; echo; echo 'two ü'; exit 3")
    assert isinstance(agent.pid, int)
    lines, ending = to_the_end(agent)
    assert lines == [b"one", b"", "two ü".encode()]
    assert ending == Ending(3, None, "")
    assert agent.handles() == []


def test_a_last_line_without_a_newline_arrives_at_the_end(stage: Stage) -> None:
    agent = stage.shell("printf 'whole\\npart'; cat; exit 0", prompt="")
    assert to_the_end(agent)[0] == [b"whole", b"part"]


def test_a_line_is_there_while_the_client_works_on(stage: Stage) -> None:
    agent = stage.shell("echo early; sleep 300")
    wait_for_line(agent, b"early")
    assert agent.ended is None
    assert not gone(agent.pid)
    agent.close()
    assert gone(agent.pid)


def test_taking_does_not_wait(stage: Stage) -> None:
    agent = stage.shell("sleep 300")
    assert agent.take() == []
    assert agent.ended is None
    agent.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [100, 1_000_000])
def test_a_hundred_megabytes_arrive_whole(stage: Stage, width: int) -> None:
    count = 100 * MEGABYTE // width
    agent = stage.python(
        "import sys\n"
        f"line = b'x' * ({width} - 1) + b'\\n'\n"
        f"for _ in range({count}): sys.stdout.buffer.write(line)"
    )
    whole = size = 0
    while agent.ended is None:
        for line in some(agent):
            whole, size = whole + 1, size + len(line)
    assert (whole, size, agent.ended.code) == (count, count * (width - 1), 0)


def test_a_line_that_is_too_long_is_dropped_and_the_next_ones_arrive(stage: Stage) -> None:
    agent = stage.shell("echo before; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo after")
    assert to_the_end(agent)[0] == [b"before", b"after"]


def test_a_line_is_cut_nowhere_but_at_its_newline() -> None:
    lines = Lines(limit=5)
    assert lines.add(b"ab") == []
    assert lines.add(b"cd\nfghij\nklm") == [b"abcd", b"fghij"]
    assert lines.add(b"nopq") == []
    assert lines.add(b"more") == []
    assert lines.rest() == []
    assert lines.add(b"r\nst") == []
    assert lines.rest() == [b"st"]


def test_what_the_client_has_written_counts_although_nobody_took_it_before_its_end(stage: Stage) -> None:
    agent = stage.shell("head -c 50000 /dev/zero | tr '\\0' x; echo; echo last")
    wait_until(lambda: gone(agent.pid))
    lines, ending = to_the_end(agent)
    assert [len(line) for line in lines] == [50000, 4]
    assert ending.code == 0


@each("size", [0, 10, 5 * MEGABYTE], at_once=True)
def test_a_prompt_of_any_size_is_all_of_stdin(tmp_path: Path, size: int) -> None:
    prompt = "ü" * (size // 2)
    with a_stage(tmp_path) as stage:
        agent = stage.python(
            "import sys, hashlib, time; time.sleep(1); data = sys.stdin.buffer.read()\n"
            "print(len(data), data == 'ü'.encode() * (len(data) // 2))",
            prompt=prompt,
        )
        assert to_the_end(agent)[0] == [f"{size} True".encode()]


def test_a_client_that_never_reads_its_prompt_ends_all_the_same(stage: Stage) -> None:
    agent = stage.shell("echo done", prompt="x" * 5 * MEGABYTE)
    assert to_the_end(agent) == ([b"done"], Ending(0, None, ""))


def test_only_the_end_of_stderr_is_kept(stage: Stage) -> None:
    agent = stage.shell("echo out; head -c 3000000 /dev/zero | tr '\\0' e >&2; echo 'the end ü' >&2; exit 1")
    lines, ending = to_the_end(agent)
    assert lines == [b"out"]
    assert len(ending.stderr.encode()) == 4096
    assert ending.stderr.endswith("eee" + "the end ü\n")


def test_a_client_that_closes_its_output_is_waited_for(stage: Stage) -> None:
    agent = stage.shell("echo begun; exec >&- 2>&-; sleep 2; echo proof > proof; exit 4")
    assert to_the_end(agent) == ([b"begun"], Ending(4, None, ""))
    assert (stage.folder / "proof").exists()


def test_a_signal_that_ended_the_client_is_told(stage: Stage) -> None:
    agent = stage.shell("echo going; kill -SEGV $$")
    assert to_the_end(agent) == ([b"going"], Ending(None, signal.SIGSEGV, ""))


@pytest.mark.parametrize(("word", "number"), [("interrupt", 2), ("terminate", 15)])
def test_a_word_reaches_also_a_child_in_a_session_of_its_own(stage: Stage, word: str, number: int) -> None:
    agent = stage.python(
        "import signal, subprocess\n"
        "child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        "for number in (2, 15): signal.signal(number, lambda *_: None)\n"
        "print('ready', flush=True)\n"
        "print(child.wait())"
    )
    wait_for_line(agent, b"ready")
    agent.send(word)
    assert to_the_end(agent) == ([b"%d" % -number], Ending(0, None, ""))


@pytest.mark.parametrize("ignored", ["signal.SIGINT,", "signal.SIGINT, signal.SIGTERM"])
def test_a_word_that_the_client_ignores_changes_nothing(stage: Stage, ignored: str) -> None:
    agent = stage.python(IGNORING.format(ignored=ignored))
    wait_for_line(agent, b"ready")
    words = ["interrupt", "terminate"][: ignored.count("SIG")]
    for word in words:
        agent.send(word)
    agent.send("nonsense")
    some(agent)
    assert agent.ended is None
    agent.send("kill")
    assert to_the_end(agent)[1][:2] == (None, signal.SIGKILL)
    agent.send("kill")  # nobody is there to hear it


def test_a_client_may_end_in_its_own_way_when_interrupted(stage: Stage) -> None:
    agent = stage.shell("trap 'echo saved; exit 7' INT; echo ready; while :; do sleep 0.1; done")
    wait_for_line(agent, b"ready")
    agent.send("interrupt")
    assert to_the_end(agent) == ([b"saved"], Ending(7, None, ""))


def test_closing_gives_time_to_obey_and_can_be_repeated(stage: Stage) -> None:
    agent = stage.shell("trap 'echo asked > asked; exit 9' TERM; echo ready; while :; do sleep 0.1; done")
    wait_for_line(agent, b"ready")
    agent.close()
    assert (stage.folder / "asked").exists()
    assert agent.ended is not None
    assert agent.ended[:2] == (9, None)
    agent.close()
    assert agent.take() == []


def test_an_ended_agent_leaves_no_descriptor_open(stage: Stage) -> None:
    before = sorted(os.listdir("/dev/fd"))
    to_the_end(stage.shell("echo x"))
    stage.shell("sleep 300").close()
    with pytest.raises(AgentStartError):
        stage.agent("no-such-program")
    assert sorted(os.listdir("/dev/fd")) == before


def test_a_program_that_does_not_exist_is_an_error_that_names_it(stage: Stage) -> None:
    with pytest.raises(AgentStartError, match=r"no-such-program cannot be started: No such file.*PATH"):
        stage.agent("no-such-program", "-p")


def test_a_file_that_is_no_program_is_an_error(stage: Stage) -> None:
    file = stage.folder / "agent"
    file.write_text("text")
    with pytest.raises(AgentStartError, match="Permission denied"):
        stage.agent(str(file))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(AgentStartError, match=r"[Ee]xec format error"):
        stage.agent(str(file))


def test_a_folder_that_is_gone_is_an_error_that_names_it(stage: Stage) -> None:
    with pytest.raises(AgentStartError, match=r"cannot be started in .*gone: No such file"):
        AgentProcess(["true"], cwd=str(stage.folder / "gone"), env=stage.env, prompt="")


def test_words_that_no_program_can_be_given_are_an_error(stage: Stage) -> None:
    with pytest.raises(AgentStartError, match="zero byte"):
        stage.agent("true", "a\0b")
    with pytest.raises(AgentStartError, match="too long"):
        stage.agent("true", "x" * 4 * MEGABYTE)


def test_a_guardian_that_cannot_start_is_an_error(stage: Stage, monkeypatch) -> None:
    monkeypatch.setattr(agent_process, "GUARDIAN", str(stage.folder / "gone.py"))
    with pytest.raises(AgentStartError, match=r"cannot be started|not started"):
        stage.agent("true")
    monkeypatch.setattr(sys, "executable", str(stage.folder / "python"))
    with pytest.raises(AgentStartError, match="cannot be started"):
        stage.agent("true")


def test_the_client_gets_its_own_environment_folder_and_no_descriptor_of_ours(stage: Stage) -> None:
    agent = stage.shell('pwd; env | grep -c "^PYTEST"; ls /dev/fd | wc -l; tty; umask >/dev/null')
    lines, _ = to_the_end(agent)
    assert lines[:2] == [str(stage.folder).encode(), b"0"]
    assert int(lines[2]) <= 4, "stdin, stdout, stderr, and the folder that ls reads"
    assert lines[3] == b"not a tty"


def test_a_program_is_found_on_the_path_that_it_is_given(stage: Stage) -> None:
    file = stage.folder / "bin" / "my-agent"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\necho mine\n")
    file.chmod(0o755)
    stage.env["PATH"] = f"{file.parent}:/usr/bin:/bin"
    assert to_the_end(stage.agent("my-agent"))[0] == [b"mine"]

"""The command `conformance`: what it prints, writes and leaves, for hooks of every kind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from e2e.cli_project import unfolded
from e2e.client import REPOSITORY
from e2e.toy_hooks import ALWAYS_ALLOWS, little_hook
from fakes import warm
from fakes.patience import eventually
from ralphloop.lab.conformance.case import find
from ralphloop.lab.conformance.hook import foreign
from ralphloop.lab.conformance.play import FAILED, play
from unit.domain.cases import each

pytestmark = pytest.mark.slow

ANOTHER = "*/another-session.toml"  # one for each layout of specs
SLOW = "echo $$ >> {pids}; sleep 300 & echo $! >> {pids}; wait"


def argv(*words: str) -> list[str]:
    return [sys.executable, "-m", "ralphloop", "conformance", *words]


def env_of(folder: Path) -> Mapping[str, str]:
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "TMPDIR": str(temporary)}


def conformance(folder: Path, *words: str, real: bool = False) -> subprocess.CompletedProcess[str]:
    ended = warm.run(["conformance", *words], cwd=folder, env=env_of(folder), longest_s=110, real=real)
    return subprocess.CompletedProcess(words, ended.code, ended.stdout.decode(), ended.stderr.decode())


def test_our_own_hook_passes_and_the_json_has_every_case(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--only", "none/*", "--only", ANOTHER, "--json", real=True)
    told: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(told) == ["passed", "failed", "skipped", "total", "cases"]
    assert told["passed"] == told["total"] == len(told["cases"]) > 4
    (case,) = [each for each in told["cases"] if each["file"] == "specum/another-session.toml"]
    assert list(case) == ["file", "title", "layout", "stands_for", "result", "why", "duration_ms"]
    assert (case["layout"], case["result"], case["why"]) == ("specum", "passed", "")
    assert "failure 2" in case["stands_for"]
    assert case["duration_ms"] > 0
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_hook_of_the_callers_folder_is_found_and_its_failures_are_told(tmp_path: Path) -> None:
    (tmp_path / "my-hook.sh").write_text(ALWAYS_ALLOWS + "\n")
    words = ("--hook", "sh my-hook.sh", "--layout", "specum", "--only", ANOTHER)
    done = conformance(tmp_path, *words)
    assert done.returncode == 1
    assert "specum            0        1        0        1" in done.stdout
    assert "FAILED specum/another-session.toml\n  Another session in the same folder" in done.stdout
    assert "step 1: expected block, saw silence" in done.stdout
    assert "skipped 2: " not in done.stdout
    assert "skipped 1: layout speckit is not served" in done.stdout


def test_a_correct_hook_of_another_tool_passes_what_it_serves(tmp_path: Path) -> None:
    hook = little_hook(tmp_path)
    only = (
        "--only",
        "features/another-session-is-left-alone.toml",
        "--only",
        "features/a-closed-task-*.toml",
    )
    done = conformance(tmp_path, "--hook", hook, "--layout", "features", *only, "--json")
    assert (done.returncode, json.loads(done.stdout)["passed"]) == (0, 2)


def test_junit_can_be_read_by_others(tmp_path: Path) -> None:
    words = ("--hook", "exit 1", "--layout", "specum", "--only", ANOTHER)
    done = conformance(tmp_path, *words, "--junit", "out.xml")
    suite = ElementTree.fromstring((tmp_path / "out.xml").read_bytes())
    assert done.returncode == 1
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["2", "1", "1"]
    failed = {case.get("file"): case.find("failure") for case in suite}
    failure = failed["specum/another-session.toml"]
    assert failure is not None
    assert "exit code 1 instead of 0" in (failure.get("message") or "")
    assert all(case.get("name") and case.get("classname") for case in suite)


def test_totals_tell_where_the_demands_come_from(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--hook", "true", "--layout", "specum", "--only", "specum/another-session")
    assert done.returncode == 1
    totals = done.stdout[done.stdout.index("stands for") :].splitlines()
    assert totals == [
        "stands for   passed   failed  skipped    total",
        "failure           0        1        0        1",
        "spec              0        1        0        1",
    ]
    assert "reason lacks" not in done.stdout  # there was no block


@pytest.mark.parametrize(
    "name", ["no-list", "no-list.toml", "none/no-list", "none/no-list.toml", "n*/no-list"]
)
def test_a_case_is_named_by_as_little_as_is_clear(tmp_path: Path, name: str) -> None:
    done = conformance(tmp_path, "--list", "--only", name)
    assert [line.partition(":")[0] for line in unfolded(done.stdout).splitlines()] == ["none/no-list.toml"]


@pytest.mark.parametrize("hook", ["no-such-program --x", "sh no-such-file.sh"])
def test_a_hook_that_is_not_there_is_told_once(tmp_path: Path, hook: str) -> None:
    done = conformance(tmp_path, "--hook", hook, "--only", "none/*")
    assert done.returncode == 1
    assert done.stdout.count("no-such-") == 1, done.stdout
    assert "cases, all alike\n  exit code " in done.stdout


def test_equal_failures_of_a_hook_that_starts_are_told_one_by_one(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--hook", "true", "--only", ANOTHER, "--events", "SessionStart")
    assert done.stdout.count("FAILED ") == done.stdout.count("expected block, saw silence") == 2


def test_the_list_names_every_case_and_runs_none(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--list", "--hook", "touch ran")
    assert done.returncode == 0
    assert len(unfolded(done.stdout).splitlines()) == len(find(REPOSITORY / "conformance"))
    assert "none/no-list.toml: Without a list" in done.stdout
    assert not (tmp_path / "ran").exists()


@each(
    ("words", "told"),
    [
        (("--only", "nothing/like/this"), "has such a name; --list shows them"),
        (("--hook", "true", "--layout", "features", "--only", "specum/a*"), "nothing was played"),
        (("--layout", "other"), "'other' is none of features, specum, speckit"),
        (("--json", "--junit", "x"), "not allowed with"),
        (("--jobs", "many"), "'many' is not a whole number above zero"),
        (("--hook", "true", "--events", "Stop,SesionStart"), "no case here has the event 'SesionStart'"),
        (("--hook", "true", "--tool", "'"), "--tool is no command line"),
        (("--junit", "nowhere/out.xml"), "nowhere/out.xml cannot be written"),
        (("--junit", "."), ". cannot be written"),
        (("--jobs", "0"), "'0' is not a whole number above zero"),
        (("--hook", " "), "--hook is empty"),
        (("--events", "SessionStart"), "name it with --hook"),
        (("--tool", "my-tool"), "name it with --hook"),
        (("--list", "--junit", "x.xml"), "there is nothing for --junit"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    done = conformance(tmp_path, *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_bad_case_and_a_missing_suite_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.toml").write_text('titel = "x"\n[[step]]\n')
    done = conformance(tmp_path, "--cases", ".")
    assert (done.returncode, done.stderr) == (2, "ralphloop: a.toml: unknown key `titel`.\n")
    done = conformance(tmp_path, "--cases", ".", "--only", "b", "--hook", "true", "--events", "Stop")
    assert done.returncode == 2, "no case has this name"
    shutil.copy(REPOSITORY / "conformance/cases/none/no-list.toml", tmp_path / "cases" / "b.toml")
    done = conformance(tmp_path, "--cases", ".", "--only", "b", "--hook", "true", "--events", "Stop")
    assert (done.returncode, done.stderr) == (2, "ralphloop: a.toml: unknown key `titel`.\n")
    done = conformance(tmp_path, "--cases", "nowhere")
    assert done.returncode == 2
    assert "has no folder `cases`" in done.stderr


def test_failed_cases_are_kept_on_demand_and_nothing_else(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--hook", "exit 1", "--only", "specum/another-session.toml", "--keep")
    rows = unfolded(done.stdout).splitlines()
    (kept,) = [line.split("kept in ")[1].split()[0] for line in rows if "kept in " in line]
    assert (Path(kept) / "my project (1)" / "specs").is_dir()
    os.utime(Path(kept).parent, (1, 1))  # long ago
    done = conformance(tmp_path, "--only", "none/no-list.toml", "--keep")
    assert done.returncode == 0
    assert [path.name for path in (tmp_path / "temporary").iterdir()] == [Path(kept).parent.name]


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_process_and_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    words = argv("--hook", SLOW.format(pids=pids), "--only", ANOTHER, "--jobs", "2")
    with subprocess.Popen(words, cwd=tmp_path, env=env_of(tmp_path), stderr=subprocess.PIPE) as process:
        eventually(lambda: len(pids.read_text().split()) >= 4)
        process.send_signal(number)
        assert process.wait(60) == (130 if number == signal.SIGINT else 128 + number)
    eventually(lambda: not any(map(is_running, pids.read_text().split())))
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_a_process_without_any_mark_is_ended_with_the_run(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = f"cd /; env -i setsid sh -c 'echo $$ > {pid}; exec sleep 300' > /dev/null 2>&1 < /dev/null &"
    hook = f"cat > /dev/null; {daemon} while ! [ -s {pid} ]; do sleep 0.1; done"
    done = conformance(tmp_path, "--hook", hook, "--only", "none/no-list.toml", real=True)
    assert done.returncode == 0
    assert not is_running(pid.read_text().strip())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit 1", "exit code 1 instead of 0"),
        ("printf '{}{}'", "stdout is not exactly one JSON object"),
        ("echo garbage", "stdout is not exactly one JSON object"),
        ("nosuchcommand-here", "exit code 127 instead of 0"),
        (SLOW, "did not end"),
        ("yes", "more than 1000000 bytes of output"),
        ("""sleep 300 & echo $! >> {pids}; exit 0""", "did not end, nor close its output"),
    ],
)
def test_a_broken_hook_fails_and_nothing_of_it_stays(tmp_path: Path, command: str, told: str) -> None:
    pids = tmp_path / "pids"
    pids.touch()
    (case,) = [case for case in find(REPOSITORY / "conformance") if case.file == "none/no-list.toml"]
    hook = foreign(
        command.format(pids=pids) if "pids" in command else command,
        layouts=("features",), events=(), tool=(), path=os.environ["PATH"], limit_s=2.0,
    )  # fmt: skip
    begun = time.monotonic()
    result = play(case, hook, folder=tmp_path.resolve() / "scene")
    assert result.result == FAILED
    assert told in result.why
    assert time.monotonic() - begun < 60
    eventually(lambda: not any(map(is_running, pids.read_text().split())))

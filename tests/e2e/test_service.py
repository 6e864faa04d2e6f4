"""`ralphloop service`: put in place and taken away, and what it does after the machine went down."""

from __future__ import annotations

import contextlib
import json
import os
import plistlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.cli_project import Project, unfolded
from e2e.notifying import RECORD, at_work, notices, settle
from fakes.patience import eventually
from ralphloop.loops.init_system import read_unit
from ralphloop.loops.upkeep import Upkeep

PLAYER = Path(__file__).resolve().parents[1] / "faults" / "player.py"
# Hangs as long as a file says so; else it does each task that it is sent to.
CLIENT = f"""#!/bin/sh
[ -e "$HOME/hang" ] && exec tail -f /dev/null
exec "{sys.executable}" "{PLAYER}" "$@"
"""
NOTING = """#!/bin/sh
echo "$*" >> "$0.calls"
case "$*" in
  *is-active*) echo active ;;
  *Linger*) [ -e "$HOME/lingers" ] && echo Linger=yes || echo Linger=no ;;
  managername) echo Aqua ;;
esac
"""


class Machine:
    """A project with a client, a service manager, and a person who wants to be told."""

    def __init__(self, folder: Path, *, manager: str = "systemctl") -> None:
        self.project = Project(folder)
        self.project.bin.joinpath("ralphloop").symlink_to(Path(sys.executable).parent / "ralphloop")
        self.project.program("claude", CLIENT)
        self.project.program("notify-send", RECORD)
        for name in (manager, "loginctl"):
            self.project.program(name, NOTING)
        settle(self.project, 'notify = ["desktop"]\nbackoff = "1s"\n')
        self.hang = self.project.home / "hang"

    def calls(self, program: str = "systemctl") -> list[str]:
        file = self.project.bin / f"{program}.calls"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def path(self) -> Path:
        return self.project.home / ".config/systemd/user/ralphloop.service"

    def begin(self, name: str = "shop") -> None:
        """A run in the background whose session is at work, and never comes to a stop."""
        self.hang.touch()
        folder = self.project.new(name, tasks=2)
        file = folder / "feature_list.json"
        listed = json.loads(file.read_text())
        for feature in listed["features"]:
            feature["verify"] = f"test -s work/{feature['id']}"
        file.write_text(json.dumps(listed))
        self.project.fine("run", name, "--yes", "--detach")
        eventually(lambda: self.said(name)["phase"] == "working")

    def place(self, name: str = "shop") -> Path:
        (found,) = self.project.home.rglob(f"kept/features-{name}-*/supervisor.json")
        return found

    def said(self, name: str = "shop") -> dict[str, Any]:
        found = json.loads(self.place(name).read_text())
        assert isinstance(found, dict)
        return found

    def go_down(self, *, how: int = signal.SIGKILL) -> None:
        """All that runs here is ended at once; the files are as an earlier start of the machine left them."""
        self.end(how)
        for file in self.project.home.rglob("supervisor.json"):
            said = json.loads(file.read_text())
            said["boot"] = said["boot"] and "an earlier start"
            file.write_text(json.dumps(said))

    def end(self, how: int = signal.SIGKILL) -> None:
        for pid in at_work(self.project):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
        eventually(lambda: not at_work(self.project))

    def come_back(self, *words: str) -> str:
        """What the service says that the unit starts, with nothing but what the unit gives it."""
        found = read_unit(self.path.read_text())
        assert found is not None
        done = subprocess.run(
            [*found.words, *(words or ["--once"])], env=dict(found.env), cwd="/", stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def journal(self, event: str, name: str = "shop") -> list[dict[str, Any]]:
        (file,) = (self.project.root / ".ralph/run").glob(f"features-{name}-*/journal.jsonl")
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        return [entry for entry in entries if entry["event"] == event]

    def loop(self, name: str = "shop") -> dict[str, Any]:
        (found,) = json.loads(self.project.fine("status", name, "--json"))["loops"]
        assert isinstance(found, dict)
        return found

    def is_complete(self, name: str = "shop") -> bool:
        return self.loop(name)["outcome"] == "complete"


@pytest.fixture
def machine(tmp_path: Path):
    found = Machine(tmp_path)
    yield found
    found.end()


@pytest.mark.slow
def test_after_a_restart_a_loop_goes_on_once_and_a_paused_one_does_not(machine: Machine) -> None:
    machine.project.fine("service", "install")
    machine.begin("shop")
    machine.begin("cafe")
    machine.project.fine("pause", "cafe")
    machine.go_down()
    machine.hang.unlink()
    status = json.loads(machine.project.fine("service", "status", "--json"))
    assert [(lost["name"], lost["why"]) for lost in status["lost"]] == [("shop", "the machine was restarted")]
    told = machine.come_back()
    assert f"shop in {machine.project.root} goes on, the machine was restarted" in told
    eventually(machine.is_complete)
    eventually(lambda: not at_work(machine.project))
    assert len(machine.journal("restart")) == 1
    assert machine.journal("restart", "cafe") == []
    assert machine.loop("cafe")["outcome"] != "complete"
    assert [title for title, _ in notices(machine.project)] == [
        "ralphloop: shop was started again", "ralphloop: shop is complete",
    ]  # fmt: skip
    assert machine.come_back() == ""


def test_a_machine_that_is_shut_down_in_order_lets_it_go_on_as_well(machine: Machine) -> None:
    """Every process is asked to end before the machine does; the supervisor then lets its loop rest."""
    machine.project.fine("service", "install")
    machine.begin()
    os.kill(machine.said()["pid"], signal.SIGTERM)
    eventually(lambda: machine.loop()["outcome"] == "interrupted")
    eventually(lambda: not at_work(machine.project))
    machine.hang.unlink()
    assert machine.come_back() == "", "it may have been the person's own `kill`"
    for file in (*machine.project.home.rglob("loop.json"), *machine.project.root.rglob("loop.json")):
        file.write_text(json.dumps({**json.loads(file.read_text()), "elapsed_s": 5000.0}))
    machine.go_down()
    machine.come_back()
    eventually(machine.is_complete)
    assert machine.loop()["limits"]["time_s"]["used"] >= 5000, "nobody gave it new time"


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_person_pauses_before_or_after_that_is_left_alone(machine: Machine, when: str) -> None:
    machine.project.fine("service", "install")
    machine.begin()
    if when == "before":
        machine.project.fine("pause", "shop")  # holds at the end of the turn, which never comes
    os.kill(machine.said()["pid"], signal.SIGTERM)
    eventually(lambda: machine.loop()["outcome"] == "interrupted")
    eventually(lambda: not at_work(machine.project))
    if when == "after":
        machine.project.fine("pause", "shop")
    machine.go_down()
    assert machine.come_back() == ""


def test_a_run_that_ended_by_itself_is_not_started_again(machine: Machine) -> None:
    machine.project.fine("service", "install")
    machine.begin()
    machine.hang.unlink()
    os.kill(machine.said()["pid"], signal.SIGINT)
    eventually(lambda: machine.loop()["outcome"] == "interrupted")
    eventually(lambda: not at_work(machine.project))
    assert machine.said()["boot"] == ""
    machine.go_down()
    assert machine.come_back() == ""


@pytest.mark.slow
def test_the_third_failure_gives_a_loop_up_and_says_so(machine: Machine) -> None:
    machine.project.fine("service", "install")
    machine.begin()
    machine.go_down()
    (machine.project.root / ".claude").mkdir()
    (machine.project.root / ".claude/settings.json").write_text('{"disableAllHooks": true}')
    told = machine.come_back()
    assert [entry["number"] for entry in machine.journal("restart")] == [1, 2, 3]
    assert "given up after 3 tries" in told
    ((title, body),) = notices(machine.project)
    assert title == "ralphloop: shop could not be started again"
    assert "trust this folder" in body
    assert machine.come_back() == ""
    assert "given up after 3 tries" in machine.project.fine("service", "status")
    (machine.project.root / ".claude/settings.json").unlink()
    machine.hang.unlink()
    machine.project.fine("run", "shop", "--detach")
    eventually(machine.is_complete)
    assert not list(machine.project.home.rglob("service.json")), "a person's own run counts anew"


def test_a_project_that_is_gone_is_passed_over_with_a_word(machine: Machine) -> None:
    machine.project.fine("service", "install")
    machine.begin()
    machine.go_down()
    machine.project.root.rename(machine.project.folder / "moved")
    try:
        assert machine.come_back() == f"shop is passed over: its project {machine.project.root} is gone.\n"
    finally:
        (machine.project.folder / "moved").rename(machine.project.root)


def test_it_is_written_down_started_and_taken_away(machine: Machine) -> None:
    told = machine.project.fine("service", "install")
    assert "Lingering is off" in told
    assert "`loginctl enable-linger`" in told
    asked = [call.removeprefix("--user ") for call in machine.calls()]
    assert asked == ["show-environment", "daemon-reload", "enable ralphloop.service",
                     "restart ralphloop.service"]  # fmt: skip
    found = read_unit(machine.path.read_text())
    assert found is not None
    assert found.words[0] == sys.executable
    assert dict(found.env)["PATH"].split(":")[0] == str(machine.project.bin)
    assert all(map(os.path.isabs, (found.words[0], found.words[2])))
    again = machine.project.fine("service", "install")
    assert "is written anew" in again
    (machine.project.home / "lingers").touch()
    assert "Lingering is on" in machine.project.fine("service", "status")
    machine.project.fine("service", "uninstall")
    assert not machine.path.exists()
    assert "No service is in place" in machine.project.fine("service", "status")


def test_a_file_that_is_not_ours_is_left_alone(machine: Machine) -> None:
    machine.path.parent.mkdir(parents=True)
    machine.path.write_text("[Service]\nExecStart=/bin/true\n")
    for verb in ("install", "uninstall"):
        assert "is not ours" in machine.project.refused("service", verb)


def test_two_services_and_a_program_that_moved_each_get_a_sentence(machine: Machine) -> None:
    machine.project.fine("service", "install")
    elsewhere = {"XDG_STATE_HOME": str(machine.project.folder / "elsewhere")}
    told = unfolded(machine.project.fine("service", "install", env=elsewhere))
    assert f"! {machine.path} is another service of ours" in told
    assert machine.path.exists()
    text = machine.path.read_text()
    twin = machine.path.with_name("copy.service")
    twin.write_text(text)
    assert "several services are for" in machine.project.fine("service", "status")
    twin.unlink()
    machine.path.write_text(text.replace(sys.executable, "/nowhere/python3"))
    assert "! /nowhere/python3, which it starts, is gone" in machine.project.fine("service", "status")
    found = json.loads(machine.project.run("doctor", "--no-live", "--json").out)
    (told,) = [each["told"] for each in found if each["name"] == "service"]
    assert "/nowhere/python3" in told
    assert "It started /nowhere/python3" in machine.project.fine("service", "install")
    assert json.loads(machine.project.fine("service", "status", "--json"))["gone"] == []


@pytest.mark.slow
def test_a_second_service_for_the_same_loops_says_so_and_ends(machine: Machine) -> None:
    words = machine.project.argv("service", "run")
    first = subprocess.Popen(words, env=machine.project.env(), cwd="/", stdout=subprocess.DEVNULL)
    try:
        lock = machine.project.home / ".local/state/ralphloop/service.lock"
        eventually(lock.exists)
        eventually(lambda: machine.project.run("service", "run", "--once").code == 1)
        assert "another service looks after" in machine.project.run("service", "run", "--once").err
        assert "A service runs and looks after" in machine.project.fine("service", "status")
    finally:
        first.kill()
        first.wait()


def test_an_agent_has_no_say_in_it(machine: Machine) -> None:
    for verb in ("install", "uninstall", "run"):
        assert "inside Claude Code" in machine.project.refused("service", verb, env={"CLAUDECODE": "1"})
    machine.project.fine("service", "status", env={"CLAUDECODE": "1"})


def test_where_no_manager_answers_the_command_is_shown(machine: Machine) -> None:
    machine.project.program("systemctl", "#!/bin/sh\nexit 1\n")
    done = machine.project.run("service", "install")
    assert (done.code, machine.path.exists()) == (1, False)
    assert "service run" in done.out
    assert "ANTHROPIC_API_KEY is set in this shell only" not in done.out
    with_key = machine.project.run("service", "install", env={"ANTHROPIC_API_KEY": "dummy"}).out
    assert "ANTHROPIC_API_KEY is set in this shell only" in with_key
    assert "dummy" not in with_key
    assert "ExecStart=" in machine.project.fine("service", "install", "--print")
    assert "neither systemd nor launchd" in machine.project.fine("service", "status")


def test_on_a_mac_it_is_an_agent_of_launchd(tmp_path: Path) -> None:
    machine = Machine(tmp_path, manager="launchctl")
    machine.project.program("systemctl", "#!/bin/sh\nexit 1\n")
    machine.project.fine("service", "install")
    (file,) = (machine.project.home / "Library/LaunchAgents").iterdir()
    agent = plistlib.loads(file.read_bytes())
    assert agent["Label"] + ".plist" == file.name
    assert agent["ProgramArguments"][-2:] == ["service", "run"]
    assert agent["RunAtLoad"] is True
    assert agent["EnvironmentVariables"]["HOME"] == str(machine.project.home)
    assert any(call.startswith("bootstrap gui/") for call in machine.calls("launchctl"))
    machine.project.fine("service", "uninstall")
    assert not file.exists()


def test_a_login_that_is_only_in_this_shell_is_named_and_not_written_down(machine: Machine) -> None:
    told = machine.project.fine("service", "install", env={"ANTHROPIC_API_KEY": "sk-secret"})
    assert "ANTHROPIC_API_KEY" in told
    assert "sk-secret" not in told + machine.path.read_text()


def look(project: Project, said: list[str], *moments: float) -> None:
    """What a service does that looks at these moments of its clock."""
    clock = [0.0]
    service = Upkeep(project.env(), said.append, pace=lambda: clock[0])
    for clock[0] in moments:
        service.look()


def test_a_silent_supervisor_is_told_by_every_view_and_once_by_a_message(machine: Machine) -> None:
    """It is stopped and not gone: nobody else can drive the loop."""
    machine.begin()
    pid = machine.said()["pid"]
    assert machine.loop()["silent"] is False
    os.kill(pid, signal.SIGSTOP)
    past = time.time() - 300
    os.utime(machine.place(), (past, past))
    project = machine.project
    assert machine.loop()["silent"] is True
    for words in (["status"], ["watch", "--once"]):
        told = project.fine(*words)
        assert f"its supervisor is silent for 5 min: `kill -9 {pid}`" in told, words
    line = project.fine("statusline", stdin=b'{"session_id": "somebody"}')
    assert line == "ralphloop the supervisor of shop is silent: ralphloop status\n"
    said: list[str] = []
    for _ in range(2):  # the second one is the service after it was started anew
        look(project, said, 0.0, 100.0, 181.0, 300.0)
    assert [title for title, _ in notices(project)] == ["ralphloop: the supervisor of shop is silent"]
    assert len(said) == 1


def test_a_machine_that_slept_was_not_silent(machine: Machine) -> None:
    machine.begin()
    os.kill(machine.said()["pid"], signal.SIGSTOP)
    past = time.time() - 8 * 3600
    os.utime(machine.place(), (past, past))
    said: list[str] = []
    look(machine.project, said, 0.0, 5.0)
    assert (said, notices(machine.project)) == ([], [])


def test_a_supervisor_of_an_earlier_version_is_never_silent(machine: Machine) -> None:
    """It says nothing between two sessions, and nothing of the machine's start."""
    machine.begin()
    os.kill(machine.said()["pid"], signal.SIGSTOP)
    said = machine.said()
    for name in ("boot", "cwd", "told_to_end"):
        del said[name]
    machine.place().write_text(json.dumps(said))
    past = time.time() - 3600
    os.utime(machine.place(), (past, past))
    assert machine.loop()["silent"] is False
    assert "silent" not in machine.project.fine("status")
    machine.end()
    assert json.loads(machine.project.fine("service", "status", "--json"))["lost"] == []


@pytest.mark.slow
def test_a_supervisor_at_work_shows_that_it_lives(machine: Machine) -> None:
    """Its session says nothing all the while."""
    machine.begin()
    past = time.time() - 3600
    os.utime(machine.place(), (past, past))
    eventually(lambda: not machine.loop()["silent"])

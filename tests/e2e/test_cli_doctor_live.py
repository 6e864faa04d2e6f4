"""The command `doctor`: its live proof, in the real client and with clients that misbehave."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.checking import Asked
from e2e.cli_project import PACKAGE, Project
from e2e.doctoring import LOCAL, SETTINGS, about, client, enable, plugin, register
from ralphloop.agents.claude import program as claude
from ralphloop.lab import trial
from unit.proof.processes import gone, wait_until

FIRED = "the hook fired and continued (2 stops, "
# Tells its version, and then stays with a child of its own.
HANGS = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 2.1.325; exit; }\nsleep 300 &\necho $! > '%s'\nwait\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def real(project: Project, claude_binary: Path) -> Project:
    (project.bin / "claude").symlink_to(claude_binary)
    return project


def live(project: Project, **env: str) -> tuple[int, list[tuple[str, str]]]:
    """Exit code and live findings; the project, the home and the temporary folder stay as they were, but for
    the byte code that a hook keeps beside itself."""
    temporary = project.folder / "temporary"
    temporary.mkdir(exist_ok=True)
    before = lasting(project)
    code, found = live_in(project, temporary, **env)
    assert lasting(project) == before
    assert list(temporary.iterdir()) == []
    return code, found


def live_in(project: Project, temporary: Path, **env: str) -> tuple[int, list[tuple[str, str]]]:
    done = project.run("doctor", "--json", env={"TMPDIR": str(temporary), **env})
    assert done.err == ""
    return done.code, about(done.data, "live")


def lasting(project: Project) -> dict[str, str]:
    return {path: said for path, said in project.digest().items() if "__pycache__" not in path}


def copied(project: Project) -> Path:
    """Our package in another folder."""
    package = project.folder / "copy/ralphloop"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def installed(project: Project, package: Path, **env: str) -> None:
    """Let the person install this copy, here."""
    words = [sys.executable, str(package), "install"]
    subprocess.run(words, cwd=project.root, env=project.env(env), check=True, stdout=subprocess.DEVNULL)


def marking(package: Path, mark: Path) -> None:
    """Let the copy's guard leave a mark and do nothing else."""
    (package / "hook/guard.sh").write_text(f"echo ran > '{mark}'; exit 0\n", encoding="utf-8")


@pytest.mark.client
@pytest.mark.parametrize("name", ["ralph-specum", "ralph-speckit"])
def test_the_hook_of_a_plugin_fires_and_continues(real: Project, name: str) -> None:
    """That of the plugin ralphloop does where the client installed it: `test_marketplace_in_client.py`."""
    plugin(real, name)
    enable(real, f"{name}@ralphloop")
    code, ((level, told),) = live(real)
    assert (code, level, told.startswith(FIRED)) == (0, "fine", True), told


@pytest.mark.client
def test_the_hook_in_the_settings_is_proven_for_each_layout_that_has_a_list_here(
    project: Project, claude_binary: Path
) -> None:
    """Progress is shown on a terminal, and the client sees nothing of the person."""
    seen, temporary = project.folder / "seen", project.folder / "temporary"
    temporary.mkdir()
    look = f"[ \"$1\" = --version ] || env >> '{seen}'"
    project.program("claude", f"#!/bin/sh\n{look}\nexec '{claude_binary}' \"$@\"\n")
    register(project)
    project.new()
    project.spec()
    before = lasting(project)
    secret = {"ANTHROPIC_API_KEY": "the-persons-key", "CLAUDE_CONFIG_DIR": str(project.home / ".claude")}
    env = {**secret, "HTTPS_PROXY": "http://127.0.0.1:1", "TMPDIR": str(temporary)}
    with Asked(project, "doctor", env=env) as asked:
        code, said = asked.end(120.0)
    assert code == 0, said
    for layout in ("features", "specum"):
        assert f"the client works through a loop of two tasks ({layout}) …" in said
    found = [told.splitlines()[0] for told in said.split("✓ live: ")[1:]]
    assert [told.startswith(FIRED) for told in found] == [True, True], said
    assert [told.endswith("s)") for told in found] == [True, False], said
    assert said.splitlines()[-1].endswith("s) for specum")
    assert lasting(project) == before
    assert list(temporary.iterdir()) == []
    told = seen.read_text(encoding="utf-8")
    assert "the-persons-key" not in told
    assert str(project.home) not in told
    assert "HTTPS_PROXY" not in told


@pytest.mark.client
@pytest.mark.parametrize("way", ["settings", "plugin"])
def test_a_hook_that_does_nothing_is_fatal(real: Project, way: str) -> None:
    package = copied(real)
    if way == "settings":
        installed(real, package)
    marking(package, real.folder / "mark")
    if way == "plugin":
        plugin(real, "ralphloop", package=package)
        enable(real, "ralphloop@ralphloop")
    code, ((level, told),) = live(real)
    assert (code, level, (real.folder / "mark").exists()) == (1, "fatal", True)
    assert "the hook did not fire: the client ended its turn with a task open" in told
    assert "Task 1 is done." in told


PWN = "touch '{0}'; : hook/guard.sh"
HIDDEN = "rl_guard='{1}/hook/guard.sh' rl_as=settings rl_layouts=features; touch '{0}'; . x"


@pytest.mark.client
def test_a_command_that_a_repository_brings_is_told_and_not_run(real: Project) -> None:
    """Without a registration the package's own hook is proven, and said so."""
    marks = {
        (path, command): real.folder / f"{Path(path).name}-{place}"
        for path in (SETTINGS, LOCAL)
        for place, command in enumerate((PWN, HIDDEN))
    }
    for path in (SETTINGS, LOCAL):
        lines = [command.format(mark, PACKAGE) for (of, command), mark in marks.items() if of == path]
        groups = [{"hooks": [{"type": "command", "command": line}]} for line in lines]
        real.write(path, json.dumps({"hooks": dict.fromkeys(claude.EVENTS, groups)}))
    code, ((level, told),) = live(real)
    assert [mark for mark in marks.values() if mark.exists()] == []
    assert (code, level, told.startswith(FIRED)) == (0, "fine", True), told
    assert "this was the package's own hook" in told
    told = real.run("doctor", "--no-live").out.replace("\n  ", " ")
    for scope in ("project", "local"):
        assert told.count(f"{scope} settings run another Stop hook: `") == 2, told


def test_a_package_that_nobody_installed_is_told_and_not_run(project: Project) -> None:
    started = project.folder / "started"
    script = f"#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 2.1.325; exit; }}\ntouch '{started}'; exit 1\n"
    project.program("claude", script)
    package = copied(project)
    register(project, package=package)
    _, ((level, told),) = live(project)
    assert (level, started.exists()) == ("warning", False)
    assert f"starts {package}/hook/guard.sh, and nothing tells that it is yours" in told
    (project.root / LOCAL).unlink()
    installed(project, package)
    _, ((_, told),) = live(project)
    assert (started.exists(), "before it asked the model anything" in told) == (True, True)


def test_a_record_of_an_installation_inside_the_project_counts_for_nothing(project: Project) -> None:
    client(project)
    package = copied(project)
    inside = {"XDG_STATE_HOME": str(project.root / "state")}
    installed(project, package, **inside)
    _, ((level, told),) = live(project, **inside)
    assert (level, "nothing tells that it is yours" in told) == ("warning", True)


def test_a_link_to_our_guard_beside_a_launcher_of_its_own_is_not_ours(project: Project) -> None:
    client(project)
    (project.root / "fake/hook").mkdir(parents=True)
    (project.root / "fake/hook/guard.sh").symlink_to(PACKAGE / "hook/guard.sh")
    register(project, package=project.root / "fake")
    _, ((level, told),) = live(project)
    assert (level, "nothing tells that it is yours" in told) == ("warning", True)


@pytest.mark.client
def test_of_a_plugin_with_other_hooks_only_ours_is_run(real: Project) -> None:
    root, mark = plugin(real, "ralphloop"), real.folder / "mark"
    file = root / "hooks/hooks.json"
    data = json.loads(file.read_text())
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": f"touch '{mark}'"}]})
    file.write_text(json.dumps(data))
    enable(real, "ralphloop@ralphloop")
    code, ((level, told),) = live(real)
    assert (code, level, told.startswith(FIRED), mark.exists()) == (0, "fine", True, False), told


def test_a_client_that_fails_in_a_home_of_its_own_proves_nothing(project: Project) -> None:
    script = '#!/bin/sh\n[ "$1" = --version ] && { echo 2.1.325; exit; }\necho no home for me >&2; exit 7\n'
    project.program("claude", script)
    register(project)
    code, ((level, told),) = live(project)
    assert (code, level) == (0, "warning")
    assert "ended with exit code 7 before it asked the model anything" in told
    assert "no home for me" in told


def test_a_client_that_hangs_is_ended_with_its_children(project: Project) -> None:
    pid = project.folder / "pid"
    program = project.program("claude", HANGS % pid)
    found = trial.prove(str(program), trial.Hooks(), layout="features", path="/usr/bin:/bin", deadline_s=3.0)
    assert (found.proven, found.tried) == (False, False)
    assert "did not end" in found.told
    wait_until(lambda: gone(int(pid.read_text())))


def test_ctrl_c_leaves_nothing_behind(project: Project) -> None:
    pid = project.folder / "pid"
    temporary = project.folder / "temporary"
    temporary.mkdir()
    project.program("claude", HANGS % pid)
    register(project)
    with Asked(project, "doctor", env={"TMPDIR": str(temporary)}) as asked:
        code, said = asked.interrupt("works through a loop of two tasks")
    assert code == 130, said
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []


def is_watched(pid: int) -> bool:
    """Whether the shell that ends the client with this process is there already."""
    done = subprocess.run(["ps", "-eo", "ppid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 1) for line in done.stdout.splitlines()]
    return any(row[0] == str(pid) and "read -r _" in row[1] for row in rows if len(row) == 2)


def test_a_killed_doctor_takes_the_client_along_and_the_next_one_cleans_up(project: Project) -> None:
    pid, temporary = project.folder / "pid", project.folder / "temporary"
    temporary.mkdir()
    project.program("claude", HANGS % pid)
    register(project)
    env = project.env({"TMPDIR": str(temporary)})
    words = project.argv("doctor")
    with subprocess.Popen(words, env=env, cwd=project.root, stdout=subprocess.DEVNULL) as doctor:
        wait_until(lambda: pid.exists() and pid.read_text().strip() and is_watched(doctor.pid))
        doctor.kill()
    wait_until(lambda: gone(int(pid.read_text())))
    (left,) = temporary.iterdir()
    theirs = temporary / "ralphloop-doctor-notes"
    theirs.mkdir()
    client(project)
    live_in(project, temporary)
    assert sorted(temporary.iterdir()) == sorted([left, theirs]), "it may be in use"
    for folder in (left, theirs):
        os.utime(folder, (0, 0))
    live_in(project, temporary)
    assert list(temporary.iterdir()) == [theirs]


@pytest.mark.client
@pytest.mark.timeout(400)
def test_a_hook_that_hangs_is_ended_with_the_client(project: Project, claude_binary: Path) -> None:
    pid = project.folder / "pid"
    told = f"echo $$ > '{pid}.new' && mv '{pid}.new' '{pid}'"  # whole, however soon it is ended
    hook = {"type": "command", "command": f"{told}; exec sleep 900", "timeout": 1000}
    hooks = trial.Hooks({"hooks": {"Stop": [{"hooks": [hook]}]}})
    path = project.env()["PATH"]
    for deadline_s in (4.0, 20.0, 180.0):  # how soon a client comes to its first stop is not known before
        found = trial.prove(str(claude_binary), hooks, layout="features", path=path, deadline_s=deadline_s)
        if pid.exists():
            break
    assert pid.exists(), found
    assert (found.proven, found.tried, "did not end in time" in found.told) == (False, True, True)
    wait_until(lambda: gone(int(pid.read_text())))

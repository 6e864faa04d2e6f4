"""How clients start the hook: odd paths, file modes, exec form, no interpreter, a folder that is gone."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from hook.conftest import ProjectFactory
from hook.harness import PLUGINS, REPOSITORY, LoopProject

EVENTS = ("Stop", "SubagentStop", "SessionStart", "UserPromptSubmit", "StopFailure", "SessionEnd")


def install(project: LoopProject, name: str) -> Path:
    """Copy the plugin as a client's cache does: the linked folder by its content."""
    place = project.base / name
    shutil.copytree(project.plugin, place)
    project.plugin = place
    return place


@pytest.mark.parametrize("name", ["with space", "it's", "é🦊", "(a) [b] *", "a;b&c|d"])
def test_any_plugin_path_that_the_client_puts_into_the_command_works(
    project: ProjectFactory, name: str
) -> None:
    found = project("features")
    found.arm()
    install(found, name)
    assert found.turn().blocks


@pytest.mark.parametrize("name", ['a "b"', "$HOME", "`x`", "$(touch ran)", "back\\slash"])
def test_any_plugin_path_that_the_shell_expands_works(project: ProjectFactory, name: str) -> None:
    found = project("features")
    found.arm()
    install(found, name)
    hooks = json.loads((found.plugin / "hooks" / "hooks.json").read_text())["hooks"]
    command = hooks["Stop"][0]["hooks"][0]["command"]
    process = found.start(json.dumps(found.payload()).encode(), argv=["/bin/sh", "-c", command])
    assert found.finish(process).blocks
    assert not list(found.base.rglob("ran"))


def test_files_at_mode_644_work(armed: LoopProject) -> None:
    place = install(armed, "plugin")
    for path in place.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    assert armed.turn().blocks


def test_no_file_of_the_hook_needs_to_be_executable() -> None:
    modes = [path.stat().st_mode & 0o111 for path in (REPOSITORY / "src/ralphloop/hook").glob("*.*")]
    assert not any(modes)


def test_exec_form_gives_the_same_answer(armed: LoopProject) -> None:
    launcher = str(armed.plugin / "lib" / "hook" / "launch.py")
    argv = [sys.executable, "-I", "-S", launcher, PLUGINS[armed.layout], armed.layout]
    data = json.dumps(armed.payload()).encode()
    by_exec = armed.finish(armed.start(data, argv=argv))
    by_shell = armed.run(data)
    assert by_exec.blocks
    assert by_shell.blocks
    words = [answer.reason.split(" or ")[0].split("claim it")[0] for answer in (by_exec, by_shell)]
    assert words[0].replace("Iter 2", "Iter 3").replace("iteration 2", "iteration 3") == words[1]


def test_without_arguments_the_launcher_serves_every_layout(armed: LoopProject) -> None:
    launcher = str(armed.plugin / "lib" / "hook" / "launch.py")
    data = json.dumps(armed.payload()).encode()
    assert armed.finish(armed.start(data, argv=[sys.executable, "-I", "-S", launcher])).blocks


def test_no_python_on_the_path_is_silent(armed: LoopProject) -> None:
    armed.extra_env["PATH"] = str(armed.base)
    before = armed.digest()
    for event in EVENTS:
        assert armed.send(event).silent
    assert armed.digest() == before


@pytest.mark.parametrize("gone", ["", "lib", "lib/hook", "lib/hook/guard.sh"])
def test_a_hook_whose_folder_was_deleted_is_silent(project: ProjectFactory, gone: str) -> None:
    armed = project("features")
    armed.arm()
    place = install(armed, "plugin")
    commands = {event: armed.command(event) for event in EVENTS}
    target = place / gone
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    for command in commands.values():
        process = armed.start(b"{}", argv=["/bin/sh", "-c", command])
        assert armed.finish(process).silent


def test_a_hook_without_its_package_never_exits_with_two(armed: LoopProject) -> None:
    """An update in the middle: the guard is there, the rest is not. Exit code 2 would block the session."""
    place = install(armed, "plugin")
    (place / "lib" / "hook" / "launch.py").unlink()
    process = armed.start(json.dumps(armed.payload()).encode())
    out, _ = process.communicate(timeout=60)
    assert out == b""
    assert process.returncode == 0


def test_a_plugin_folder_that_cannot_be_written_works(armed: LoopProject) -> None:
    place = install(armed, "plugin")
    for folder in list(place.rglob("__pycache__")):
        shutil.rmtree(folder)
        folder.write_text("in the way")
    assert armed.turn().blocks


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_registered_once_with_the_same_command(event: str) -> None:
    for layout, name in PLUGINS.items():
        hooks = json.loads((REPOSITORY / "plugins" / name / "hooks" / "hooks.json").read_text())["hooks"]
        assert set(hooks) == {*EVENTS, "PreToolUse", "UserPromptExpansion"}
        ((hook,),) = [group["hooks"] for group in hooks[event]]
        assert hook["type"] == "command"
        assert f"rl_as={name} rl_layouts={layout};" in hook["command"]


def test_variables_of_the_interpreter_do_not_reach_the_hook(armed: LoopProject) -> None:
    trap = armed.base / "trap"
    trap.mkdir()
    (trap / "json.py").write_text("raise SystemExit(2)")
    (trap / "os.py").write_text("raise SystemExit(2)")
    armed.extra_env.update({"PYTHONPATH": str(trap), "PYTHONSTARTUP": str(trap / "os.py")})
    (armed.root / "os.py").write_text("raise SystemExit(2)")
    assert armed.turn().blocks


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.UTF-8", "xx"])
def test_the_locale_does_not_matter(project: ProjectFactory, locale: str) -> None:
    found = project("speckit")
    found.extra_env.update({"LC_ALL": locale, "LANG": locale})
    (found.folder / "tasks.md").write_text("- [ ] 1.1 één 🦊\n", encoding="utf-8")
    found.arm()
    assert "één 🦊" in found.turn().reason
    assert os.sep == "/"

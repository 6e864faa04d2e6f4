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
from hook.lines import tool_line

pytestmark = pytest.mark.usefixtures("as_registered")

EVENTS = ("Stop", "SubagentStop", "SessionStart", "UserPromptSubmit", "StopFailure", "SessionEnd")


def install(project: LoopProject, name: str) -> Path:
    """Copy the plugin as a client's cache does: the linked folder by its content."""
    place = project.base / name
    shutil.copytree(project.plugin, place)
    project.plugin = place
    return place


def test_any_plugin_path_that_the_client_puts_into_the_command_works(features: LoopProject) -> None:
    install(features, "plugin")
    for name in ("with space", "it's", "é🦊", "(a) [b] *", "a;b&c|d"):
        features.plugin = features.plugin.rename(features.base / name)
        assert features.turn().blocks, name


def test_any_plugin_path_that_the_shell_expands_works(features: LoopProject) -> None:
    install(features, "plugin")
    for name in ('a "b"', "$HOME", "`x`", "$(touch ran)", "back\\slash"):
        features.plugin = features.plugin.rename(features.base / name)
        hooks = json.loads((features.plugin / "hooks" / "hooks.json").read_text())["hooks"]
        command = hooks["Stop"][0]["hooks"][0]["command"]
        features.add_lines(tool_line("Bash", {}))
        process = features.start(json.dumps(features.payload()).encode(), argv=["/bin/sh", "-c", command])
        assert features.finish(process).blocks, name
    assert not list(features.base.rglob("ran"))


def test_files_at_mode_644_work(features: LoopProject) -> None:
    place = install(features, "plugin")
    for path in place.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    assert features.turn().blocks


def test_no_file_of_the_hook_needs_to_be_executable() -> None:
    modes = [path.stat().st_mode & 0o111 for path in (REPOSITORY / "src/ralphloop/hook").glob("*.*")]
    assert not any(modes)


def test_exec_form_gives_the_same_answer(features: LoopProject) -> None:
    launcher = str(features.plugin / "lib" / "hook" / "launch.py")
    argv = [sys.executable, "-I", "-S", launcher, PLUGINS[features.layout], features.layout]
    data = json.dumps(features.payload()).encode()
    by_exec = features.finish(features.start(data, argv=argv))
    by_shell = features.run(data)
    assert by_exec.blocks
    assert by_shell.blocks
    words = [answer.reason.split(" or ")[0].split("claim it")[0] for answer in (by_exec, by_shell)]
    assert words[0].replace("Iter 2", "Iter 3").replace("iteration 2", "iteration 3") == words[1]


def test_without_arguments_the_launcher_serves_every_layout(armed: LoopProject) -> None:
    launcher = str(armed.plugin / "lib" / "hook" / "launch.py")
    data = json.dumps(armed.payload()).encode()
    assert armed.finish(armed.start(data, argv=[sys.executable, "-I", "-S", launcher])).blocks


def test_no_python_on_the_path_is_silent(features: LoopProject) -> None:
    features.extra_env["PATH"] = str(features.base)
    before = features.digest()
    for event in EVENTS:
        assert features.send(event).silent
    assert features.digest() == before


def test_a_hook_whose_folder_was_deleted_is_silent(features: LoopProject) -> None:
    place = install(features, "plugin")
    commands = {event: features.command(event) for event in EVENTS}
    away = features.base / "away"
    for gone in ("lib/hook/guard.sh", "lib/hook", "lib", ""):
        (place / gone).rename(away)
        for event, command in commands.items():
            process = features.start(b"{}", argv=["/bin/sh", "-c", command])
            assert features.finish(process).silent, (gone, event)
        away.rename(place / gone)


def test_a_hook_without_its_package_never_exits_with_two(features: LoopProject) -> None:
    """An update in the middle: the guard is there, the rest is not. Exit code 2 would block the session."""
    place = install(features, "plugin")
    (place / "lib" / "hook" / "launch.py").unlink()
    process = features.start(json.dumps(features.payload()).encode())
    out, _ = process.communicate(timeout=60)
    assert out == b""
    assert process.returncode == 0


def test_a_plugin_folder_that_cannot_be_written_works(features: LoopProject) -> None:
    place = install(features, "plugin")
    for folder in list(place.rglob("__pycache__")):
        shutil.rmtree(folder)
        folder.write_text("in the way")
    assert features.turn().blocks


def test_every_event_is_registered_once_with_the_same_command() -> None:
    for layout, name in PLUGINS.items():
        hooks = json.loads((REPOSITORY / "plugins" / name / "hooks" / "hooks.json").read_text())["hooks"]
        assert set(hooks) == {*EVENTS, "PreToolUse", "UserPromptExpansion"}
        for event in EVENTS:
            ((hook,),) = [group["hooks"] for group in hooks[event]]
            assert hook["type"] == "command", (name, event)
            assert f"rl_as={name} rl_layouts={layout};" in hook["command"], (name, event)


def test_variables_of_the_interpreter_do_not_reach_the_hook(features: LoopProject) -> None:
    trap = features.base / "trap"
    trap.mkdir()
    (trap / "json.py").write_text("raise SystemExit(2)")
    (trap / "os.py").write_text("raise SystemExit(2)")
    features.extra_env.update({"PYTHONPATH": str(trap), "PYTHONSTARTUP": str(trap / "os.py")})
    (features.root / "os.py").write_text("raise SystemExit(2)")
    assert features.turn().blocks


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.UTF-8", "xx"])
def test_the_locale_does_not_matter(project: ProjectFactory, locale: str) -> None:
    found = project("speckit")
    found.extra_env.update({"LC_ALL": locale, "LANG": locale})
    (found.folder / "tasks.md").write_text("- [ ] 1.1 één 🦊\n", encoding="utf-8")
    found.arm()
    assert "één 🦊" in found.turn().reason
    assert os.sep == "/"

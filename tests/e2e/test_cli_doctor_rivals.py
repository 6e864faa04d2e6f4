"""The command `doctor`: other loops beside ours, and what `--fix` takes out of the settings."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from pathlib import Path

import pytest

from e2e.checking import Asked
from e2e.cli_project import Project
from e2e.doctoring import LOCAL, SETTINGS, about, client, enable, examine, plugin, register

WIGGUM = "ralph-wiggum@claude-plugins-official"
US_5 = """\
{
  "permissions": { "allow": ["Bash(ls:*)"] },
  "enabledPlugins": {
    "ralph-wiggum@claude-plugins-official": true,
    "ralph-specum@smart-ralph": true,
    "plugin-dev@claude-code-plugins": true
  }
}
"""
US_5_AFTER = US_5.replace('    "ralph-wiggum@claude-plugins-official": true,\n', "")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    client(found)
    return found


def controller(project: Project, name: str, market: str) -> None:
    """An installed plugin of another publisher that answers stops."""
    root = plugin(project, name, package=None, market=market)
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bash stop-watcher.sh"}]}]}}
    (root / "hooks/hooks.json").write_text(json.dumps(hook), encoding="utf-8")


def rivals(project: Project) -> list[tuple[str, str]]:
    return about(examine(project)[1], "rivals")


def test_us_5_ralph_wiggum_is_removed_and_the_other_two_stay(project: Project) -> None:
    """AC-5.1, AC-5.2 and FR-8 of document 2."""
    file = project.write(SETTINGS, US_5)
    register(project)
    code, found = examine(project, "--fix", "--yes")
    assert code == 0
    assert file.read_text(encoding="utf-8") == US_5_AFTER
    enabled = json.loads(US_5_AFTER)["enabledPlugins"]
    assert enabled == {"ralph-specum@smart-ralph": True, "plugin-dev@claude-code-plugins": True}
    assert not any(WIGGUM in told for _, told in about(found, "rivals"))
    backup = file.with_name("settings.json.ralphloop-doctor-backup")
    assert backup.read_text(encoding="utf-8") == US_5


@pytest.mark.parametrize("name", [WIGGUM, "ralph-loop@anywhere"])
@pytest.mark.parametrize("path", [SETTINGS, LOCAL, "../home/.claude/settings.json"])
def test_another_loop_is_found_in_every_scope(project: Project, name: str, path: str) -> None:
    file = enable(project, name, "plugin-dev@x", path=path)
    ((level, told),) = rivals(project)
    assert (level, name in told, "`ralphloop doctor --fix`" in told) == ("warning", True, True)
    examine(project, "--fix", "--yes")
    assert json.loads(file.read_text()) == {"enabledPlugins": {"plugin-dev@x": True}}


def test_a_loop_that_is_switched_off_is_no_rival(project: Project) -> None:
    enable(project, WIGGUM)
    project.write(LOCAL, json.dumps({"enabledPlugins": {WIGGUM: False}}))
    assert rivals(project) == []


def test_the_same_plugin_of_another_publisher_is_removed_only_beside_ours(project: Project) -> None:
    theirs, ours = "ralph-specum@smart-ralph", "ralph-specum@ralphloop"
    controller(project, "ralph-specum", "smart-ralph")
    file = enable(project, theirs)
    before = file.read_bytes()
    ((level, told),) = rivals(project)
    assert (level, f"{theirs} has a Stop hook of its own for specum specs" in told) == ("warning", True)
    examine(project, "--fix", "--yes")
    assert file.read_bytes() == before
    plugin(project, "ralph-specum")
    enable(project, ours, theirs)
    ((level, told),) = rivals(project)
    assert (level, f"and {ours} would drive the same specs" in told) == ("warning", True)
    examine(project, "--fix", "--yes")
    assert json.loads(file.read_text()) == {"enabledPlugins": {ours: True}}


def test_a_publishers_plugin_beside_our_settings_is_named_and_kept(project: Project) -> None:
    file = enable(project, "ralph-speckit@elsewhere")
    register(project)
    before = file.read_bytes()
    assert rivals(project) == [], "it is not installed"
    controller(project, "ralph-speckit", "elsewhere")
    ((level, told),) = rivals(project)
    assert (level, "for speckit specs, and local settings register ours" in told) == ("warning", True)
    examine(project, "--fix", "--yes")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("rule", "count"),
    [
        ("name: go-on\nevent: stop\naction: block", 1),
        ("name: go-on\nenabled: true\nevent: all\naction: block", 1),
        ("name: go-on\nenabled: false\nevent: stop\naction: block", 0),
        ("name: go-on\nevent: stop\naction: warn", 0),
        ("name: go-on\nevent: stop", 0),
        ("name: go-on\nevent: bash\naction: block", 0),
    ],
)
def test_a_rule_of_hookify_that_blocks_stops_is_told(project: Project, rule: str, count: int) -> None:
    file = project.write(".claude/hookify.go-on.local.md", f"---\n{rule}\n---\nGo on.\n")
    assert rivals(project) == []
    enable(project, "hookify@claude-plugins-official")
    assert [str(file) in told for _, told in rivals(project)] == [True] * count


def test_a_rule_of_hookify_is_switched_off_with_a_backup(project: Project) -> None:
    text = "---\r\nname: x\r\nenabled: true # mine\r\nevent: stop\r\naction: block\r\n---\r\nGo on.\r\n"
    file = project.write(".claude/hookify.go-on.local.md", "")
    file.write_bytes(text.encode())
    enable(project, "hookify@claude-plugins-official")
    assert about(examine(project, "--fix", "--yes")[1], "rivals") == []
    assert file.read_bytes() == text.replace("enabled: true", "enabled: false").encode()
    assert file.with_name(file.name + ".ralphloop-doctor-backup").read_bytes() == text.encode()


def test_another_stop_hook_is_named_and_never_removed(project: Project) -> None:
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "keep-going.sh \x1b[31m"}]}]}}
    file = project.write(LOCAL, json.dumps(hook))
    ((level, told),) = rivals(project)
    assert (level, "local settings run another Stop hook: `keep-going.sh" in told) == ("warning", True)
    before = file.read_bytes()
    examine(project, "--fix", "--yes")
    assert file.read_bytes() == before
    assert "\x1b" not in project.run("doctor", "--no-live").out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"enabledPlugins":{"%s":true}}', '{"enabledPlugins":{}}'),
        ('{"enabledPlugins":{"a@b":true,"%s":true}}', '{"enabledPlugins":{"a@b":true}}'),
        (
            '\ufeff{\r\n\t"enabledPlugins": {\r\n\t\t"%s": true,\r\n\t\t"a@b": 1\r\n\t},\r\n\t"x": 1.0\r\n}',
            '\ufeff{\r\n\t"enabledPlugins": {\r\n\t\t"a@b": 1\r\n\t},\r\n\t"x": 1.0\r\n}',
        ),
    ],
    ids=["alone", "last", "tabs and CRLF"],
)
def test_every_other_byte_stays(project: Project, before: str, after: str) -> None:
    file = project.write(SETTINGS, "")
    file.write_bytes((before % WIGGUM).encode())
    examine(project, "--fix", "--yes")
    assert file.read_bytes() == after.encode()


def test_a_second_backup_does_not_overwrite_the_first(project: Project) -> None:
    for extra in ("one@x", "two@x"):
        file = enable(project, WIGGUM, extra)
        examine(project, "--fix", "--yes")
    kept = sorted(path.name for path in file.parent.glob("*backup*"))
    assert kept == ["settings.json.ralphloop-doctor-backup", "settings.json.ralphloop-doctor-backup-2"]


def test_a_settings_file_that_is_a_link_stays_one(project: Project) -> None:
    real = enable(project, WIGGUM, path=".claude/shared.json")
    (project.root / SETTINGS).symlink_to("shared.json")
    examine(project, "--fix", "--yes")
    assert os.readlink(project.root / SETTINGS) == "shared.json"
    assert json.loads(real.read_text()) == {"enabledPlugins": {}}


def test_a_file_that_cannot_be_changed_is_told_and_the_others_are_repaired(project: Project) -> None:
    outside = enable(project, WIGGUM, path="../outside.json")
    (project.root / ".claude").mkdir()
    (project.root / SETTINGS).symlink_to(outside)
    other = enable(project, WIGGUM, path=LOCAL)
    before = outside.read_bytes()
    _, found = examine(project, "--fix", "--yes")
    ((level, told),) = about(found, "fix")
    assert (level, f"Remove {WIGGUM} from {project.root / SETTINGS}" in told) == ("warning", True)
    assert "leads out of the project" in told
    assert outside.read_bytes() == before
    assert json.loads(other.read_text()) == {"enabledPlugins": {}}
    names = sorted(path.name for path in other.parent.iterdir())
    assert names == ["settings.json", "settings.local.json", "settings.local.json.ralphloop-doctor-backup"]


@pytest.mark.slow
def test_fix_waits_for_another_change_of_the_settings(project: Project) -> None:
    file = enable(project, WIGGUM)
    installs = project.home / ".local/state/ralphloop/installs"
    installs.mkdir(parents=True)
    words = project.argv("doctor", "--no-live", "--fix", "--yes")
    with open(installs / "lock", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        running = subprocess.Popen(words, env=project.env(), cwd=project.root, stdout=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=3)
        assert WIGGUM in file.read_text(encoding="utf-8")
    running.wait(timeout=60)
    assert WIGGUM not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("keys", "is_removed"), [("y\n", True), ("n\n", False), ("\n", False), ("\x04", False)]
)
def test_fix_asks_for_each_entry(project: Project, keys: str, is_removed: bool) -> None:
    file = enable(project, WIGGUM)
    register(project)
    with Asked(project, "doctor", "--no-live", "--fix") as asked:
        code, said = asked.answer(keys)
    assert code == 0, said
    assert f"Remove {WIGGUM} from {file}? [y/N]" in said
    assert (WIGGUM not in file.read_text(encoding="utf-8")) is is_removed
    assert ("Fixed: removed" in said) is is_removed

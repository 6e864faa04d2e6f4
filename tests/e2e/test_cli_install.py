"""The commands `install` and `uninstall`: which file they change, what they keep, and what they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.cli_project import PACKAGE, Project, unfolded
from ralphloop.agents.claude import program as claude
from ralphloop.domain.model import CAP_VARIABLE
from unit.domain.cases import each

SCOPES = ["local", "project", "user"]
PYTHON = os.path.realpath(sys.executable)
TABS = '{\n\t"model": "opus",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n'
# How each text is edited is the matter of tests/unit/agents/test_settings.py.
TEXTS = {"tabs": TABS, "a blank file": "\n\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def settings_file(project: Project, scope: str = "local") -> Path:
    folder = project.home if scope == "user" else project.root
    return folder / ".claude" / ("settings.local.json" if scope == "local" else "settings.json")


def given(project: Project, text: str, scope: str = "local") -> Path:
    file = settings_file(project, scope)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode())
    return file


def backup_of(file: Path, number: str = "") -> Path:
    return file.with_name(file.name + ".ralphloop-backup" + number)


def records(project: Project) -> list[Path]:
    return list((project.home / ".local/state/ralphloop/installs").rglob("*.json"))


@pytest.mark.parametrize("scope", SCOPES)
def test_the_scope_says_which_file(project: Project, scope: str) -> None:
    told = project.fine("install", "--scope", scope)
    data = json.loads(settings_file(project, scope).read_text(encoding="utf-8"))
    assert data["hooks"] == claude.hook_settings(claude.hook_command(str(PACKAGE)))["hooks"]
    assert data["env"] == {CAP_VARIABLE: "100"}
    assert data["permissions"] == {
        "allow": [f"Bash({PYTHON} {PACKAGE} done:*)", f"Bash({PYTHON} {PACKAGE} ask:*)"]
    }
    assert [other for other in SCOPES if settings_file(project, other).exists()] == [scope]
    assert ("names paths of this machine" in told) == (scope == "project")
    project.fine("uninstall", "--scope", scope)
    assert not settings_file(project, scope).parent.exists()
    assert records(project) == []


def test_scripts_are_told_what_changed(project: Project) -> None:
    put = project.run("install", "--json").data
    assert (put["path"], put["changed"], put["hooks"]) == (str(settings_file(project)), True, "added")
    took = project.run("uninstall", "--json").data
    assert (took["path"], took["file_gone"], took["left"]) == (put["path"], True, [])
    assert len(took["removed"]) == 4
    assert project.run("uninstall", "--json").data["removed"] == []


def test_the_default_is_local_and_found_from_below(project: Project) -> None:
    below = project.root / "a" / "b"
    below.mkdir(parents=True)
    project.fine("install", cwd=below)
    assert settings_file(project).exists()


def test_the_clients_own_folder_can_be_elsewhere(project: Project) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(project.folder / "config")}
    project.fine("install", "--scope", "user", env=env)
    assert (project.folder / "config/settings.json").exists()
    assert not (project.home / ".claude").exists()
    project.fine("uninstall", "--scope", "user", env=env)
    assert not (project.folder / "config").exists()


def test_rules_are_by_name_where_that_is_on_the_path(project: Project) -> None:
    project.program("ralphloop", "#!/bin/sh\n")
    project.fine("install")
    data = json.loads(settings_file(project).read_text(encoding="utf-8"))
    assert data["permissions"]["allow"] == ["Bash(ralphloop done:*)", "Bash(ralphloop ask:*)"]


def test_rules_are_in_the_words_that_the_agent_is_told(project: Project) -> None:
    project.begin()
    project.fine("install")
    command = json.loads(settings_file(project).read_text(encoding="utf-8"))["hooks"]["Stop"][0]["hooks"][0]
    event = {"hook_event_name": "Stop", "session_id": project.status()["owner"], "cwd": str(project.root)}
    done = subprocess.run(
        ["sh", "-c", command["command"]],
        input=json.dumps(event).encode(),
        env=project.env(),
        cwd=project.root,
        capture_output=True,
        timeout=60,
        check=True,
    )
    (rule, _) = json.loads(settings_file(project).read_text(encoding="utf-8"))["permissions"]["allow"]
    claim = rule.removeprefix("Bash(").removesuffix(":*)")
    assert f"`{claim} F1`" in json.loads(done.stdout)["reason"]


@pytest.mark.parametrize("scope", ["local", "user"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_twice_is_once_and_uninstalled_the_file_is_as_it_was(project: Project, text: str, scope: str) -> None:
    file = given(project, text, scope)
    project.fine("install", "--scope", scope)
    assert file.read_bytes() != text.encode()
    before = project.digest()
    assert "Nothing had to change in" in project.fine("install", "--scope", scope)
    assert project.digest() == before
    assert "took out the hooks" in project.fine("uninstall", "--scope", scope)
    assert file.read_bytes() == text.encode()
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    before = project.digest()
    assert "Nothing that is known to be ours" in project.fine("uninstall", "--scope", scope)
    assert project.digest() == before


def test_a_folder_with_other_files_stays(project: Project) -> None:
    project.fine("install")
    project.write(".claude/notes.md", "mine\n")
    project.fine("uninstall")
    assert [path.name for path in (project.root / ".claude").iterdir()] == ["notes.md"]


def test_a_file_that_we_made_stays_with_what_was_added_to_it(project: Project) -> None:
    project.fine("install")
    file = settings_file(project)
    data = {**json.loads(file.read_text(encoding="utf-8")), "model": "opus"}
    file.write_text(json.dumps(data), encoding="utf-8")
    project.fine("uninstall")
    assert json.loads(file.read_text(encoding="utf-8")) == {"model": "opus"}


def test_the_backup_is_of_the_first_installation(project: Project) -> None:
    file = given(project, TABS)
    assert "settings.local.json.ralphloop-backup" in project.fine("install")
    file.write_bytes(file.read_bytes().replace(b'"opus"', b'"haiku"').replace(b'"100"', b'"200"'))
    assert "ralphloop-backup" not in project.fine("install", "--statusline")
    assert backup_of(file).read_bytes() == TABS.encode()
    assert "ralphloop-backup" in project.fine("uninstall")
    assert backup_of(file).read_bytes() == TABS.encode()


def test_a_file_that_the_first_installation_made_has_no_backup(project: Project) -> None:
    project.fine("install")
    assert "ralphloop-backup" not in project.fine("install", "--statusline")
    assert "ralphloop-backup" not in project.fine("uninstall")
    assert list(project.root.rglob("*ralphloop-backup*")) == []


def test_a_backup_that_was_there_before_is_not_touched(project: Project) -> None:
    file = given(project, "{}")
    backup_of(file).write_text("older", encoding="utf-8")
    project.fine("install")
    project.fine("uninstall")
    assert backup_of(file).read_text(encoding="utf-8") == "older"


def test_the_next_installation_makes_a_backup_of_its_own(project: Project) -> None:
    file = given(project, TABS)
    project.fine("install")
    file.write_bytes(file.read_bytes().replace(b'"opus"', b'"haiku"'))
    assert f"{file.name}.ralphloop-backup\n" in project.fine("uninstall")
    again = file.read_bytes()
    assert f"{file.name}.ralphloop-backup-2\n" in project.fine("install")
    assert backup_of(file).read_bytes() == TABS.encode()
    assert backup_of(file, "-2").read_bytes() == again
    project.fine("uninstall")
    assert (backup_of(file).exists(), backup_of(file, "-2").exists()) == (True, False)


def test_a_file_keeps_its_mode(project: Project) -> None:
    file = given(project, "{}")
    file.chmod(0o640)
    project.fine("install")
    assert file.stat().st_mode & 0o777 == 0o640
    assert backup_of(file).stat().st_mode & 0o077 == 0


def test_the_interpreter_is_recorded_for_the_shell_guard(project: Project) -> None:
    project.fine("install")
    recorded = (project.home / ".local/state/ralphloop/python").read_text(encoding="utf-8")
    assert recorded == PYTHON + "\n"


@pytest.mark.parametrize("value", ["1", "7"])
def test_a_low_cap_of_the_persons_stays_with_a_warning(project: Project, value: str) -> None:
    file = given(project, json.dumps({"env": {CAP_VARIABLE: value}}))
    told = unfolded(project.fine("install"))
    assert f"! Claude Code ends a turn after {value} replies in a row without a tool call" in told
    assert f"({CAP_VARIABLE}={value}). That is your own setting, which stays" in told
    assert json.loads(file.read_text(encoding="utf-8"))["env"] == {CAP_VARIABLE: value}
    project.fine("uninstall")
    assert json.loads(file.read_text(encoding="utf-8")) == {"env": {CAP_VARIABLE: value}}


@pytest.mark.parametrize("value", ["0", "-1", "8", "500", "many"])
def test_a_cap_that_is_high_enough_stays_without_a_word(project: Project, value: str) -> None:
    given(project, json.dumps({"env": {CAP_VARIABLE: value}}))
    assert CAP_VARIABLE not in project.fine("install")


def test_a_cap_in_settings_or_environment_that_ours_would_hide_is_respected(project: Project) -> None:
    given(project, json.dumps({"env": {CAP_VARIABLE: "0"}}), "user")
    project.fine("install", "--scope", "project", env={CAP_VARIABLE: "5"})
    assert CAP_VARIABLE not in settings_file(project, "project").read_text(encoding="utf-8")
    project.fine("install", "--scope", "user", env={CAP_VARIABLE: "5"})
    assert json.loads(settings_file(project, "user").read_text(encoding="utf-8"))["env"] == {
        CAP_VARIABLE: "0"
    }


def test_a_cap_in_settings_that_win_anyway_does_not_keep_ours_away(project: Project) -> None:
    given(project, json.dumps({"env": {CAP_VARIABLE: "0"}}), "local")
    project.fine("install", "--scope", "user")
    assert json.loads(settings_file(project, "user").read_text(encoding="utf-8"))["env"] == {
        CAP_VARIABLE: "100"
    }


def test_the_status_line_comes_with_its_option(project: Project) -> None:
    project.fine("install")
    assert "statusLine" not in settings_file(project).read_text(encoding="utf-8")
    assert "status line shows the loop" in project.fine("install", "--statusline")
    line = json.loads(settings_file(project).read_text(encoding="utf-8"))["statusLine"]
    assert line == {"type": "command", "command": claude.statusline_command(str(PACKAGE))}
    project.fine("uninstall")
    assert not settings_file(project).exists()


def test_another_status_line_stays_and_the_rest_goes_on(project: Project) -> None:
    mine = {"statusLine": {"type": "command", "command": "my-line"}}
    file = given(project, json.dumps(mine))
    assert "`ralphloop statusline`" in project.fine("install", "--statusline")
    data = json.loads(file.read_text(encoding="utf-8"))
    assert data["statusLine"] == mine["statusLine"]
    assert "Stop" in data["hooks"]


def test_json_tells_what_was_done(project: Project) -> None:
    file = given(project, json.dumps({"env": {CAP_VARIABLE: "3"}}))
    told = json.loads(project.fine("install", "--json"))
    (warning,) = told.pop("warnings")
    assert CAP_VARIABLE in warning
    assert told == {
        "scope": "local",
        "path": str(file),
        "changed": True,
        "hooks": "added",
        "rules": "added",
        "cap": "left alone",
        "statusline": "unchanged",
        "backup": str(backup_of(file)),
    }
    assert json.loads(project.fine("install", "--json"))["changed"] is False


def test_without_a_record_only_hooks_go_and_the_rest_is_named(project: Project) -> None:
    file = given(project, "{}")
    project.fine("install")
    (record,) = records(project)
    record.unlink()
    told = unfolded(project.fine("uninstall"))
    assert f"{PACKAGE} done:*)" in told
    assert CAP_VARIABLE in told
    assert list(json.loads(file.read_text(encoding="utf-8"))) == ["permissions", "env"]


def test_a_broken_record_is_as_good_as_none(project: Project) -> None:
    given(project, "{}")
    project.fine("install")
    (record,) = records(project)
    record.write_text('{"traces": 1}', encoding="utf-8")
    assert "so they stay" in project.fine("uninstall")
    assert records(project) == []


@pytest.mark.parametrize(
    "text", ["{ }", '{"permissions": {"allow": ["Read"]}, "hooks": {}, "env": {"A": "1"}}']
)
def test_a_file_that_was_replaced_since_is_not_taken_for_ours(project: Project, text: str) -> None:
    project.fine("install")
    file = given(project, text)
    project.fine("uninstall")
    assert file.read_text(encoding="utf-8") == text
    assert records(project) == []


@each(
    ("text", "told"),
    [
        ('{\n  // mine\n  "a": 1\n}', "line 2, column 3"),
        ('{"hooks": {"Stop": {}}}', "`hooks.Stop` must be a list"),
    ],
)
@each("command", ["install", "uninstall"])
def test_settings_that_cannot_be_used_are_refused(
    project: Project, command: str, text: str, told: str
) -> None:
    file = given(project, text)
    error = project.refused(command)
    assert str(file) in error
    assert told in error


@each("command", ["install", "uninstall"])
def test_only_the_person_changes_the_clients_settings(project: Project, command: str) -> None:
    assert "the person must run it" in project.refused(command, env={"CLAUDECODE": "1"})


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_another_agent_is_an_error_that_names_what_is_there(project: Project, command: str) -> None:
    done = project.run(command, "--agent", "codex")
    assert done.code == 2
    assert "claude" in done.err.splitlines()[-1]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_link_stays_a_link(project: Project, scope: str) -> None:
    file = settings_file(project, scope)
    target = file.parent.parent / "dotfiles.json"
    file.parent.mkdir()
    file.symlink_to(target)
    target.write_text("{}", encoding="utf-8")
    project.fine("install", "--scope", scope)
    assert file.is_symlink()
    assert "Stop" in json.loads(target.read_text(encoding="utf-8"))["hooks"]
    project.fine("uninstall", "--scope", scope)
    assert file.is_symlink()
    assert target.read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize("scope", ["local", "project"])
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_link_out_of_the_project_is_refused(project: Project, command: str, scope: str) -> None:
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "settings.json").write_text("{}", encoding="utf-8")
    (project.root / ".claude").symlink_to(elsewhere)
    assert "leads out of the project" in project.refused(command, "--scope", scope)


def test_the_persons_own_settings_may_be_kept_anywhere(project: Project) -> None:
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (project.home / ".claude").symlink_to(elsewhere)
    project.fine("install", "--scope", "user")
    assert (elsewhere / "settings.json").exists()
    project.fine("uninstall", "--scope", "user")
    assert list(elsewhere.iterdir()) == []


def test_a_place_that_cannot_be_written_is_told_and_nothing_is_left(project: Project) -> None:
    (project.root / ".claude").write_text("a file", encoding="utf-8")
    done = project.run("install")
    assert done.code == 1
    assert "cannot be written" in done.err
    assert done.err.count("\n") == 1
    assert (project.root / ".claude").read_text(encoding="utf-8") == "a file"
    assert records(project) == []


@pytest.mark.parametrize("blocks", [0, 1, 3], ids=["the backup", "the record", "the settings"])
def test_a_failed_write_leaves_no_backup_and_no_record(project: Project, blocks: int) -> None:
    """No file may grow above so many blocks of 512 bytes; each of the three that are written is larger."""
    file = given(project, "{}")
    done = subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *project.argv("install")],
        env=project.env(),
        cwd=project.root,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done
    assert b"stays as it was" in done.stderr
    assert file.read_text(encoding="utf-8") == "{}"
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert records(project) == []


def test_two_at_once_leave_one_of_each(project: Project) -> None:
    running = [
        subprocess.Popen(
            project.argv("install"), env=project.env(), cwd=project.root, stdout=subprocess.DEVNULL
        )
        for _ in range(4)
    ]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    data = json.loads(settings_file(project).read_text(encoding="utf-8"))
    assert {event: len(groups) for event, groups in data["hooks"].items()} == dict.fromkeys(claude.EVENTS, 1)
    project.fine("uninstall")
    assert not (project.root / ".claude").exists()

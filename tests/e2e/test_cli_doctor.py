"""The command `doctor`: the client, its settings, its plugins and the hooks that they register."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.cli_project import OTHER, PACKAGE, WIDE, Project
from e2e.doctoring import LOCAL, SETTINGS, about, client, enable, examine, only, plugin, register
from unit.domain.cases import each

CAP = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    client(found)
    return found


def test_a_project_in_order_is_fine_line_by_line(project: Project) -> None:
    register(project)
    trusted = {"projects": {str(project.root): {"hasTrustDialogAccepted": True}}}
    (project.home / ".claude.json").write_text(json.dumps(trusted))
    project.new()
    told = project.fine("doctor", "--no-live", env=WIDE)
    lines = told.splitlines()
    assert [line[0] for line in lines] == ["✓"] * len(lines)
    names = ["client", "hooks", "cap", "python", "stage", "state"]
    assert [line.split(":")[0][2:] for line in lines] == names
    assert f"{project.root / LOCAL} (local settings) registers the hook for features" in told


@pytest.mark.parametrize("scope", ["local", "project", "user"])
def test_what_install_registers_is_found_and_what_uninstall_removes_is_missed(
    project: Project, scope: str
) -> None:
    project.fine("install", "--scope", scope)
    code, found = examine(project)
    assert (code, {each["level"] for each in found}) == (0, {"fine"})
    project.fine("uninstall", "--scope", scope)
    assert only(project, "hooks")[0] == "warning"


def test_without_any_registration_it_says_how_to_install(project: Project) -> None:
    code, found = examine(project)
    assert code == 0
    ((level, told),) = about(found, "hooks")
    assert level == "warning"
    assert "`ralphloop install`" in told
    assert "`claude plugin install ralphloop@ralphloop`" in told


def test_text_and_json_tell_the_same(project: Project) -> None:
    done = project.run("doctor", "--no-live", env=WIDE)
    _, found = examine(project)
    marks = {"fine": "✓", "warning": "!", "fatal": "✗"}
    lines = [
        f"{marks[each['level']]} {each['name']}: {each['told']}"
        + (f". {each['fix']}." if each["fix"] else "")
        for each in found
    ]
    assert (done.code, done.out.splitlines()) == (0, lines)


@each(
    ("version", "level"),
    [
        ("2.1.46", "fatal"),
        ("2.1.47", "warning"),
        ("2.1.162", "warning"),
        ("2.1.163", "fine"),
        ("3.0.0", "fine"),
    ],
)
def test_an_old_client_is_told(project: Project, version: str, level: str) -> None:
    client(project, version)
    found, told = only(project, "client")
    assert (found, version in told) == (level, True)


@pytest.mark.parametrize("script", ["#!/bin/sh\necho broken; exit 3\n", "no script at all\n"])
def test_a_client_that_does_not_start_is_fatal(project: Project, script: str) -> None:
    project.program("claude", script)
    level, told = only(project, "client")
    assert (level, "Install Claude Code again" in told) == ("fatal", True)


def test_without_a_client_nothing_is_proven_and_said_so(project: Project) -> None:
    register(project)
    (project.bin / "claude").unlink()
    done = project.run("doctor")
    assert done.code == 1
    assert "✗ client: `claude` is not on PATH" in done.out
    assert "Install it with `npm install -g @anthropic-ai/claude-code`" in " ".join(done.out.split())
    assert done.out.splitlines()[-1] == "! live: not tried, there is no client"


def test_the_client_is_asked_without_the_variables_of_another(project: Project) -> None:
    script = "#!/bin/sh\nenv | grep -c '^CLAUDE\\|^ANTHROPIC' >&2\necho 2.1.325\n"
    project.program("claude", script.replace(">&2", f"> '{project.folder}/seen'"))
    only(project, "client", env={"CLAUDECODE": "1", "ANTHROPIC_API_KEY": "x"})
    assert (project.folder / "seen").read_text() == "0\n"


@pytest.mark.parametrize("path", [SETTINGS, LOCAL])
def test_a_settings_file_that_does_not_parse_is_fatal_with_its_place(project: Project, path: str) -> None:
    project.write(path, '{\n  "hooks": {},\n}\n')
    level, told = only(project, "settings")
    assert level == "fatal"
    assert f"{project.root / path} is not JSON at line 3, column 1" in told


def test_the_persons_own_settings_are_read_where_the_client_reads_them(project: Project) -> None:
    elsewhere = project.folder / "elsewhere"
    register(project, "../elsewhere/settings.json")
    level, told = only(project, "hooks", env={"CLAUDE_CONFIG_DIR": str(elsewhere)})
    assert (level, f"{elsewhere}/settings.json (user settings)" in told) == ("fine", True)
    assert only(project, "hooks")[0] == "warning"


def test_a_settings_file_that_cannot_be_read_is_fatal(project: Project) -> None:
    (project.root / SETTINGS).mkdir(parents=True)
    level, told = only(project, "settings")
    assert (level, "cannot be read" in told) == ("fatal", True)


def test_hooks_that_are_switched_off_are_fatal(project: Project) -> None:
    register(project, disableAllHooks=True)
    code, found = examine(project)
    assert code == 1
    levels = [level for level, told in about(found, "hooks") if "disableAllHooks" in told]
    assert levels == ["fatal"]


def test_a_plugin_alone_registers_its_layout(project: Project) -> None:
    plugin(project, "ralphloop")
    enable(project, "ralphloop@ralphloop")
    project.new()
    assert only(project, "hooks") == (
        "fine",
        "the plugin ralphloop@ralphloop registers the hook for features. ",
    )


def test_a_plugin_does_not_serve_the_lists_of_another(project: Project) -> None:
    plugin(project, "ralphloop")
    enable(project, "ralphloop@ralphloop")
    project.spec()
    level, told = only(project, "hooks")
    assert (level, "nothing registers the hook for specum" in told) == ("warning", True)
    assert "`claude plugin install ralph-specum@ralphloop`" in told


def test_a_plugin_that_is_not_installed_registers_nothing(project: Project) -> None:
    enable(project, "ralphloop@ralphloop")
    level, told = only(project, "hooks")
    assert (level, "is switched on, but not installed" in told) == ("fatal", True)
    assert "`claude plugin install ralphloop@ralphloop`" in told


def test_another_publishers_plugin_that_is_not_installed_is_no_advice(project: Project) -> None:
    enable(project, "ralph-specum@smart-ralph")
    project.spec()
    level, told = only(project, "hooks")
    assert (level, "smart-ralph" in told) == ("warning", False)
    assert "`claude plugin install ralph-specum@ralphloop`" in told


def test_a_plugin_that_a_later_scope_switches_off_registers_nothing(project: Project) -> None:
    plugin(project, "ralphloop")
    enable(project, "ralphloop@ralphloop")
    project.write(LOCAL, '{"enabledPlugins": {"ralphloop@ralphloop": false}}')
    assert only(project, "hooks")[0] == "warning"


def test_a_plugin_beside_a_settings_entry_is_two(project: Project) -> None:
    plugin(project, "ralphloop")
    enable(project, "ralphloop@ralphloop")
    register(project)
    project.new()
    level, told = only(project, "hooks")
    assert level == "warning"
    assert f"{project.root / LOCAL} (local settings) and the plugin ralphloop@ralphloop" in told
    assert "`ralphloop uninstall --scope local` or `claude plugin disable ralphloop@ralphloop`" in told


def test_the_same_command_in_two_files_runs_once_and_is_one(project: Project) -> None:
    register(project, SETTINGS)
    register(project, LOCAL)
    assert only(project, "hooks")[0] == "fine"


def test_two_versions_in_two_files_are_two(project: Project) -> None:
    other = project.folder / "other"
    other.symlink_to(PACKAGE)
    register(project, SETTINGS)
    register(project, LOCAL, package=other)
    level, told = only(project, "hooks")
    assert level == "warning"
    assert "`ralphloop uninstall --scope project` or `ralphloop uninstall --scope local`" in told


def test_a_registration_of_a_package_that_moved_away_is_fatal(project: Project) -> None:
    register(project, package=project.folder / "gone")
    code, found = examine(project)
    ((level, told),) = [(level, told) for level, told in about(found, "hooks") if "which is gone" in told]
    assert (code, level) == (1, "fatal")
    assert f"{project.folder}/gone/hook/guard.sh" in told
    assert "`ralphloop install --scope local` again" in told


def test_a_plugin_whose_hook_is_gone_is_fatal(project: Project) -> None:
    root = plugin(project, "ralphloop")
    (root / "lib").unlink()
    enable(project, "ralphloop@ralphloop")
    _, found = examine(project)
    broken = [told for level, told in about(found, "hooks") if level == "fatal"]
    assert ["`claude plugin update ralphloop@ralphloop`" in told for told in broken] == [True]


def test_a_registration_without_some_events_is_told(project: Project) -> None:
    file = register(project)
    data = json.loads(file.read_text())
    del data["hooks"]["SessionEnd"], data["hooks"]["StopFailure"]
    file.write_text(json.dumps(data))
    _, found = examine(project)
    (told,) = [told for level, told in about(found, "hooks") if level == "warning"]
    assert "does not register the hook for StopFailure, SessionEnd" in told


@each(("value", "level"), [("1", "warning"), ("7", "warning"), ("8", "fine"), ("0", "fine")])
def test_a_cap_that_comes_before_our_own_limit_is_told(project: Project, value: str, level: str) -> None:
    register(project, env={CAP: value})
    assert only(project, "cap", env={CAP: "100"})[0] == level


def test_an_agent_may_look_and_not_fix(project: Project) -> None:
    register(project)
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": OTHER}
    assert examine(project, env=agent)[0] == 0
    assert "is the person's to decide" in project.refused("doctor", "--no-live", "--fix", "--yes", env=agent)


def test_fix_asks_somebody_or_is_refused(project: Project) -> None:
    assert "add --yes" in project.refused("doctor", "--no-live", "--fix")
    assert "add --fix" in project.refused("doctor", "--no-live", "--yes")

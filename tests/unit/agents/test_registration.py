"""The read model of the client's settings: which files count, what is on, which hooks are ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphloop.agents.claude import program as claude
from ralphloop.agents.claude import registration
from ralphloop.agents.claude.usage import config_folder
from ralphloop.agents.registration import Registration, Settings
from ralphloop.tasklists.registry import LAYOUTS
from unit.domain.cases import each

EVENTS = tuple(claude.EVENTS)
PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
COMMAND = claude.hook_command("/opt/with space/ralphloop")
GUARD = "/opt/with space/ralphloop/hook/guard.sh"


def on(scope: str, **said: bool) -> Settings:
    return Settings(
        scope, f"/{scope}.json", {"enabledPlugins": {f"{name}@m": value for name, value in said.items()}}
    )


def registered(data: dict[str, Any], root: str = "") -> list[Registration]:
    return registration.registrations(data, scope="local", name="s", events=EVENTS, root=root)


def stop(**entry: Any) -> dict[str, Any]:
    return {"hooks": {"Stop": [{"hooks": [{"type": "command", **entry}]}]}}


def test_settings_are_read_in_the_order_in_which_they_win() -> None:
    found = registration.settings_paths({"HOME": "/home/me"}, ["/p", "/p/sub", "/p"])
    assert found == [
        ("user", "/home/me/.claude/settings.json"),
        ("project", "/p/.claude/settings.json"),
        ("local", "/p/.claude/settings.local.json"),
        ("project", "/p/sub/.claude/settings.json"),
        ("local", "/p/sub/.claude/settings.local.json"),
    ]


def test_in_the_home_itself_the_persons_settings_are_one_file() -> None:
    found = registration.settings_paths({"HOME": "/home/me"}, ["/home/me"])
    assert found == [
        ("user", "/home/me/.claude/settings.json"),
        ("local", "/home/me/.claude/settings.local.json"),
    ]


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.claude"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/elsewhere"}, "/elsewhere"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": ""}, "/home/me/.claude"),
    ],
)
def test_the_persons_settings_follow_the_environment(env: dict[str, str], folder: str) -> None:
    assert config_folder(env) == folder


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{\n  "a": 1,\n}\n', "is not JSON at line 3, column 1"),
        ('{"a": 1} x', "is not JSON at line 1, column 10"),
        ("[]", "is not usable (not a JSON object)"),
        ('{"a": NaN}', "is not usable (NaN is not JSON)"),
    ],
)
def test_a_file_that_does_not_parse_says_where(text: str, fault: str) -> None:
    (found,) = registration.load([("user", "/s")], lambda path: text)
    assert (found.data, found.fault.startswith(fault)) == ({}, True), found.fault


@pytest.mark.parametrize("text", ["", "{}", '\ufeff{"a": 1}', '{"a": 1, "a": 2}'])
def test_a_file_that_parses_has_no_fault(text: str) -> None:
    (found,) = registration.load([("user", "/s")], lambda path: text)
    assert found.fault == ""


def test_a_file_that_is_not_there_is_left_out_and_one_that_cannot_be_read_is_not() -> None:
    def read(path: str) -> str | None:
        if path == "/closed":
            raise PermissionError(13, "Permission denied")
        return None

    (found,) = registration.load([("user", "/none"), ("local", "/closed")], read)
    assert (found.path, found.fault) == ("/closed", "cannot be read (Permission denied)")


@pytest.mark.parametrize(
    ("said", "deciding"),
    [
        ([], None),
        ([True], 0),
        ([True, False], None),
        ([False, True], 1),
        ([True, None], 0),
        (["true"], None),
    ],
)
def test_the_last_file_that_speaks_switches_hooks_off_or_on(said: list[Any], deciding: int | None) -> None:
    files = [
        Settings("user", str(number), {} if value is None else {"disableAllHooks": value})
        for number, value in enumerate(said)
    ]
    found = registration.switched_off(files)
    assert (None if found is None else int(found.path)) == deciding


@pytest.mark.parametrize(
    ("files", "enabled"),
    [
        ([on("user", a=True)], {"a@m": ["user"]}),
        ([on("user", a=True), on("local", a=False)], {}),
        ([on("project", a=False), on("local", a=True)], {"a@m": ["local"]}),
        (
            [on("user", a=True), on("project", a=True, b=True)],
            {"a@m": ["user", "project"], "b@m": ["project"]},
        ),
        ([Settings("user", "/s", {"enabledPlugins": ["a@m"]})], {}),
        ([Settings("user", "/s", {"enabledPlugins": {"a@m": "true"}})], {}),
    ],
)
def test_a_later_file_can_switch_a_plugin_off(files: list[Settings], enabled: dict[str, list[str]]) -> None:
    found = registration.enabled_plugins(files)
    assert {name: [each.scope for each in said] for name, said in found.items()} == enabled


@pytest.mark.parametrize(
    ("folder", "layouts"),
    [
        ("/opt/with space/ralphloop", LAYOUTS),
        ("/opt/rl", ("specum",)),
        ("/it's $(a) `place`; x", LAYOUTS[:2]),
    ],
)
@pytest.mark.parametrize("on", ["", "rl_on=prompt "])
def test_a_hook_of_ours_is_known_with_its_layouts_and_its_file(
    folder: str, layouts: tuple[str, ...], on: str
) -> None:
    (found,) = registered(stop(command=on + claude.hook_command(folder, layouts=layouts)))
    assert (found.line.layouts, found.guard) == (layouts, folder + "/hook/guard.sh")


TAIL = '; [ -r "$rl_guard" ] || exit 0; . "$rl_guard"'
LOOKS_LIKE_OURS = [
    "id > PWNED; : hook/guard.sh",
    f"id; {COMMAND}",
    f"{COMMAND}; id",
    f"{COMMAND}\nid",
    f" {COMMAND}",
    f"XDG_STATE_HOME=. {COMMAND}",
    f"rl_on=$(id) {COMMAND}",
    COMMAND.replace("'/opt/with space", "$(id)'/opt/with space"),
    COMMAND.replace("/opt/with space", "/opt/'$(id)'"),
    COMMAND.replace("rl_as=settings", "rl_as=$(id)"),
    COMMAND.replace("rl_as=settings", "rl_as=ralphloop"),
    COMMAND.replace("features", "features;id"),
    COMMAND.replace("features", "other"),
    COMMAND.replace("guard.sh", "guard.sh.bak"),
    f"rl_guard=ralphloop/hook/guard.sh rl_as=settings rl_layouts=features{TAIL}",
    f"rl_guard=/a/hook/guard.sh id rl_as=settings rl_layouts=features{TAIL}",
    f"rl_guard=/a/hook/guard.sh rl_as=settings rl_layouts=features; id{TAIL}",
    f'rl_guard="${{CLAUDE_PLUGIN_ROOT}}/lib/hook/guard.sh" rl_as=settings rl_layouts=features{TAIL}',
    "python3 -I -S /opt/rl/hook/launch.py settings",
    'sh "$HOME/rl/hook/guard.sh"',
]


@each("command", LOOKS_LIKE_OURS)
def test_what_is_not_our_command_line_from_end_to_end_is_not_ours(command: str) -> None:
    assert registered(stop(command=command)) == []


@pytest.mark.parametrize("more", [{"args": []}, {"type": "prompt"}, {"command": None}])
def test_a_hook_that_runs_its_command_in_another_way_is_not_ours(more: dict[str, Any]) -> None:
    assert registered(stop(**{"command": COMMAND, **more})) == []


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"hooks": []},
        {"hooks": {"Stop": {}}},
        {"hooks": {"Stop": [1, {"hooks": [2]}, {"hooks": "x"}]}},
        stop(command="notify-send done"),
        {"hooks": {"SessionStart": [{"hooks": [{"command": COMMAND}]}]}},
    ],
)
def test_what_is_not_our_stop_hook_is_no_registration(data: dict[str, Any]) -> None:
    assert registered(data) == []


def test_a_registration_has_the_events_of_its_command_only() -> None:
    data = claude.hook_settings(COMMAND)
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "bell"})
    data["hooks"]["SessionEnd"] = [{"hooks": [{"command": claude.hook_command("/elsewhere")}]}]
    (found,) = registered(data)
    assert found.events == tuple(event for event in EVENTS if event != "SessionEnd")


def test_the_same_command_twice_in_a_file_is_one_registration() -> None:
    entry = {"type": "command", "command": COMMAND}
    assert len(registered({"hooks": {"Stop": [{"hooks": [entry, entry]}, {"hooks": [entry]}]}})) == 1


PLUGIN_LINE = (
    f'rl_guard="${{CLAUDE_PLUGIN_ROOT}}/lib/hook/guard.sh" rl_as=ralphloop rl_layouts=features{TAIL}'
)
HOOKS = json.dumps(stop(command=PLUGIN_LINE))
MARKET = {"ralphloop": {"source": {"source": "directory", "path": "/market"}}}
OUTSIDE = {"plugins": [{"name": "ralphloop", "source": "../elsewhere"}]}
LISTING = {"plugins": [{"name": "ralphloop", "source": "./plugins/ralphloop"}]}


def installed(*rows: dict[str, Any]) -> str:
    return json.dumps({"version": 2, "plugins": {"ralphloop@ralphloop": list(rows)}})


def row(path: str, project: str | None = None) -> dict[str, Any]:
    return {"installPath": path, **({"projectPath": project} if project else {})}


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ({}, ""),
        ({"/c/plugins/installed_plugins.json": "{"}, ""),
        ({"/c/plugins/installed_plugins.json": installed(row("/a"))}, "/a"),
        ({"/c/plugins/installed_plugins.json": installed(row("/a"), row("/b", "/p"))}, "/b"),
        ({"/c/plugins/installed_plugins.json": installed(row("/b", "/other"))}, ""),
        (
            {
                "/c/plugins/installed_plugins.json": installed(row("/a")),
                "/c/plugins/known_marketplaces.json": json.dumps(MARKET),
                "/market/.claude-plugin/marketplace.json": json.dumps(LISTING),
            },
            "/market/plugins/ralphloop",
        ),
        (
            {
                "/c/plugins/known_marketplaces.json": json.dumps(MARKET),
                "/market/.claude-plugin/marketplace.json": json.dumps(LISTING),
            },
            "/market/plugins/ralphloop",
        ),
        (
            {
                "/c/plugins/known_marketplaces.json": json.dumps(MARKET),
                "/market/.claude-plugin/marketplace.json": json.dumps(OUTSIDE),
            },
            "",
        ),
    ],
    ids=[
        "nothing",
        "corrupt",
        "user",
        "project first",
        "another project",
        "directory",
        "directory, not installed",
        "directory, led out of it",
    ],
)
def test_a_plugin_is_looked_up_where_the_client_reads_it(files: dict[str, str], root: str) -> None:
    texts = {**files, root + "/hooks/hooks.json": HOOKS}
    enabled = {"ralphloop@ralphloop": [on("user")]}
    (found,) = registration.installed(enabled, config="/c", folders=("/p",), read=texts.get)
    guards = [each.guard for each in found.registrations(EVENTS)]
    assert (found.root, guards) == (root, [root + "/lib/hook/guard.sh"] if root else [])


@pytest.mark.parametrize(
    ("name", "hooks", "ours"),
    [
        ("ralph-specum@ralphloop", "{}", True),
        ("ralph-specum@smart-ralph", "{}", False),
        ("ralph-specum@fork", HOOKS, True),
        ("ralph-specum@smart-ralph", json.dumps(stop(command="bash ./hooks/scripts/stop-watcher.sh")), False),
    ],
)
def test_a_plugin_is_ours_by_its_marketplace_or_its_hook(name: str, hooks: str, ours: bool) -> None:
    assert registration.Plugin(name, [], "/r", json.loads(hooks)).is_ours is ours


@pytest.mark.parametrize("name", ["ralphloop", "ralph-specum", "ralph-speckit"])
def test_every_hook_of_our_plugins_is_known_as_ours(name: str) -> None:
    text = (PLUGINS / name / "hooks/hooks.json").read_text(encoding="utf-8")
    plugin = registration.Plugin(f"{name}@fork", [], "/r", json.loads(text))
    assert plugin.runs_only_ours
    (found,) = plugin.registrations(EVENTS)
    assert (found.line.name, found.guard, found.events) == (name, "/r/lib/hook/guard.sh", EVENTS)


@pytest.mark.parametrize("event", ["Stop", "PreToolUse"])
def test_a_plugin_with_one_more_hook_does_not_run_only_ours(event: str) -> None:
    data = stop(command=PLUGIN_LINE)
    data["hooks"].setdefault(event, []).append({"hooks": [{"type": "command", "command": "id"}]})
    assert not registration.Plugin("ralphloop@ralphloop", [], "/r", data).runs_only_ours

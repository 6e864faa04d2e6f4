"""Our part of a settings text: put in beside everything else, and taken out so that nothing shows of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import pytest

from ralphloop.agents.claude import program as claude
from ralphloop.agents.claude import settings
from ralphloop.agents.registration import Ours, Wanted
from ralphloop.agents.settings_text import Draft
from ralphloop.domain.model import CAP_VARIABLE
from unit.domain.cases import each

WANTED = Wanted(
    hook=claude.hook_command("/opt/ralph loop"),
    rules=("Bash(ralphloop done:*)", "Bash(ralphloop ask:*)"),
    statusline=claude.statusline_command("/opt/ralph loop"),
    shown=True,
)
OLD = Wanted(
    hook=claude.hook_command("/old/ralphloop"),
    rules=("Bash(/old/python /old/ralphloop done:*)", "Bash(/old/python /old/ralphloop ask:*)"),
    statusline=claude.statusline_command("/old/ralphloop"),
    shown=True,
)
GROUP = {"matcher": "", "hooks": [{"type": "command", "command": "notify-send done"}]}

DATA = {
    "nothing": {},
    "one member": {"model": "opus"},
    "nested": {"enabledPlugins": {"a@b": True}, "list": [1, [2, {"x": None}]], "text": "é {[\"]},:"},
    "other hooks": {"hooks": {"Stop": [GROUP], "PreToolUse": [GROUP, GROUP]}, "model": "opus"},
    "containers": {"hooks": {"Stop": [GROUP]}, "env": {"A": "1"},
                   "permissions": {"allow": ["Read"], "deny": []}},
    "empty containers": {"hooks": {}, "env": {}, "permissions": {"allow": []}},
    "empty lists": {"permissions": {}, "hooks": {"Stop": [], "SessionEnd": []}},
    "our events last": {"z": 1, "hooks": {"PreToolUse": [GROUP]}, "env": {"A": "1", "B": "2"}},
}  # fmt: skip
STYLES = {
    "compact": {"separators": (",", ":")},
    "one line": {},
    "2 spaces": {"indent": 2},
    "4 spaces": {"indent": 4},
    "tabs": {"indent": "\t"},
    "no indentation": {"indent": 0},
}
ENDS = {"": "", "\n": "\n", "crlf": "\r\n"}

BY_HAND = {
    "spaces in an empty object": "{ }",
    "a line in an empty object": "{\n}\n",
    "empty with two lines": "{\r\n\r\n}\r\n",
    "padding": '{ "a": 1 }',
    "a wide colon": '{\n  "a" : 1,\n  "b" : [ 1, 2 ]\n}',
    "shifted": '\n\n    {\n        "a": 1\n    }\n\n',
    "blank lines between": '{\n  "a": 1,\n\n  "b": 2\n}\n',
    "commas in front": '{ "a": 1\n, "b": {}\n}\n',
    "mixed": '{\n  "hooks": {"Stop": [], "PreToolUse": []},\n  "env": {\n  },\n'
             '  "permissions": {"allow": ["Read"]}\n}',
    "a lone element": '{\n  "permissions": {\n    "allow": ["Read"]\n  }\n}',
    "a tight element": '{"permissions":{"allow":["Read"]}}',
    "white space in containers": '{\n\t"hooks": { },\n\t"env": {\n\t\n\t},\n'
                                 '\t"permissions": {"allow": [\n]}\n}',
    "byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "byte order mark, empty": "\ufeff{}",
    "keys twice": '{"hooks": 1, "a": 1, "hooks": {"Stop": 2, "Stop": []}, "env": {}, "env": {"A": "1"}}',
    "not UTF-8": '{"a": "\udcff"}',
    "escaped keys": '{"\\u0068ooks": {"Stop": []}}',
}  # fmt: skip


def styled(data: object, style: str, end: str) -> str:
    text = json.dumps(data, ensure_ascii=False, **STYLES[style])  # type: ignore[arg-type]
    return (text.replace("\n", "\r\n") if end == "crlf" else text) + ENDS[end]


TEXTS = {
    **{" / ".join((name, style, repr(end))): styled(DATA[name], style, end)
       for name, style, end in product(DATA, STYLES, ENDS)},
    **BY_HAND,
}  # fmt: skip
every_text = each("text", TEXTS.values(), ids=TEXTS.keys())


def is_spread(inside: str, text: str) -> bool:
    """Whether the characters of one text stand in the other in the same order."""
    rest = iter(text)
    return all(char in rest for char in inside)


def registered(event: str) -> str:
    """What the event runs: the guard is told which one is a prompt."""
    return claude.ON.get(event, "") + WANTED.hook


def ours_in(data: dict, event: str) -> list[str]:
    entries = [entry for group in data["hooks"].get(event, []) for entry in group["hooks"]]
    return [entry["command"] for entry in entries if "rl_as=settings" in entry["command"]]


@every_text
def test_what_was_put_in_is_there_beside_everything_else(text: str) -> None:
    after = settings.install(text, WANTED).text
    assert is_spread(text.strip(), after)
    data = json.loads(after.removeprefix("\ufeff"))
    assert all(ours_in(data, event) == [registered(event)] for event in claude.EVENTS)
    assert data["permissions"]["allow"][-2:] == list(WANTED.rules)
    assert data["env"][CAP_VARIABLE] == "100"
    assert data["statusLine"] == {"type": "command", "command": WANTED.statusline}


@every_text
def test_taken_out_again_the_text_is_as_it_was(text: str) -> None:
    done = settings.install(text, WANTED)
    kept = Ours.from_json(json.loads(json.dumps(done.ours.to_json())))
    assert settings.uninstall(done.text, kept).text == text


@every_text
def test_a_second_time_changes_nothing(text: str) -> None:
    first = settings.install(text, WANTED)
    second = settings.install(first.text, WANTED, first.ours)
    assert second.text == first.text
    assert (second.hooks, second.rules, second.cap, second.statusline) == ("unchanged",) * 4
    assert settings.uninstall(second.text, second.ours).text == text


@every_text
def test_another_version_takes_the_place_of_the_one_before(text: str) -> None:
    old = settings.install(text, OLD)
    new = settings.install(old.text, WANTED, old.ours)
    assert new.text == settings.install(text, WANTED).text
    assert (new.hooks, new.rules, new.cap, new.statusline) == ("updated", "updated", "unchanged", "updated")
    assert settings.uninstall(new.text, new.ours).text == text


@every_text
def test_the_line_endings_are_those_of_the_text(text: str) -> None:
    after = settings.install(text, WANTED).text
    ending, other = ("\r\n", "\n") if "\r\n" in text else ("\n", "\r\n")
    assert other not in after.replace(ending, "")


def test_new_entries_are_indented_as_the_others() -> None:
    text = '{\n\t"env": {\n\t\t"A": "1"\n\t},\n\t"permissions": {"allow": ["Read"]}\n}'
    after = settings.install(text, Wanted(WANTED.hook, WANTED.rules)).text
    assert after.startswith(
        '{\n\t"env": {\n\t\t"A": "1",\n\t\t"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "100"\n\t},\n'
        '\t"permissions": {"allow": ["Read", "Bash(ralphloop done:*)", "Bash(ralphloop ask:*)"]},\n'
        '\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t{\n'
        '\t\t\t\t\t\t"type": "command",\n'
    )


def test_a_text_in_one_line_stays_in_one() -> None:
    after = settings.install('{"permissions":{"allow":["Read"]},"env":{}}', WANTED).text
    assert "\n" not in after
    assert '"allow":["Read","Bash(ralphloop done:*)","Bash(ralphloop ask:*)"]' in after
    assert '"env":{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"100"}' in after


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n", "\ufeff"])
def test_a_blank_text_becomes_an_object(text: str) -> None:
    after = settings.install(text, WANTED).text
    assert after.startswith('{\n  "hooks": {\n    "Stop": [')
    assert after.endswith("}\n")


OLD_ENTRY = {"type": "command", "command": OLD.hook, "timeout": 5}


def test_an_old_entry_is_replaced_in_its_group_and_not_doubled() -> None:
    entry, other = OLD_ENTRY, GROUP["hooks"][0]
    group = {"matcher": "x", "hooks": [other, {**entry, "statusMessage": "mine"}]}
    text = json.dumps({"hooks": {"Stop": [GROUP, group, {"hooks": [entry]}]}}, indent=2)
    done = settings.install(text, WANTED)
    stop = json.loads(done.text)["hooks"]["Stop"]
    new = {"type": "command", "command": WANTED.hook, "timeout": 360, "statusMessage": "mine"}
    assert stop == [GROUP, {"matcher": "x", "hooks": [other, new]}]
    assert done.hooks == "updated"


def test_an_entry_that_could_not_wake_a_session_learns_to() -> None:
    old = {"type": "command", "command": WANTED.hook, "timeout": 20}
    done = settings.install(json.dumps({"hooks": {"StopFailure": [{"hooks": [old]}]}}), WANTED)
    ((entry,),) = [group["hooks"] for group in json.loads(done.text)["hooks"]["StopFailure"]]
    command = "rl_on=wake " + WANTED.hook
    assert entry == {
        "type": "command",
        "command": command,
        "timeout": 86400,
        "statusMessage": "ralphloop",
        "asyncRewake": True,
    }


def test_an_entry_that_the_person_tuned_stays_as_it_is() -> None:
    done = settings.install("{}", WANTED)
    tuned = done.text.replace('"timeout": 360', '"timeout": 900')
    assert settings.install(tuned, WANTED, done.ours).text == tuned


def test_an_event_that_we_no_longer_serve_is_left() -> None:
    data = {"hooks": {"PreCompact": [GROUP, {"hooks": [{"type": "command", "command": OLD.hook}]}]}}
    after = json.loads(settings.install(json.dumps(data), WANTED).text)
    assert after["hooks"]["PreCompact"] == [GROUP]


FOREIGN = [
    "rl_guard=/p/hook/guard.sh rl_as=ralphloop; . x",  # a plugin's
    "/somebody/hook/guard.sh",
    "echo rl_as=settings",
    "python3 -I -S /old/hook/launch.py settings features",
    f"echo 1; {OLD.hook}",
    f"{OLD.hook}; echo 1",
]


@pytest.mark.parametrize("command", FOREIGN)
def test_what_only_looks_like_ours_stays(command: str) -> None:
    group = {"hooks": [{"type": "command", "command": command}]}
    text = json.dumps({"hooks": {"Stop": [group]}})
    done = settings.install(text, WANTED)
    assert json.loads(done.text)["hooks"]["Stop"][0] == group
    assert settings.uninstall(text, None).text == text


def test_what_the_person_had_stays_theirs() -> None:
    data = {
        "env": {CAP_VARIABLE: "9"},
        "permissions": {"allow": list(WANTED.rules)},
        "statusLine": {"type": "command", "command": "my-line"},
    }
    text = json.dumps(data, indent=2)
    done = settings.install(text, WANTED)
    assert (done.rules, done.cap, done.statusline) == ("unchanged", "left alone", "left alone")
    after = json.loads(done.text)
    assert {key: after[key] for key in data} == data
    assert settings.uninstall(done.text, done.ours).text == text


@pytest.mark.parametrize("value", ["null", "0", '""', "false"])
def test_any_value_of_the_persons_counts_as_set(value: str) -> None:
    text = f'{{"env": {{"{CAP_VARIABLE}": {value}}}, "statusLine": {value}}}'
    done = settings.install(text, WANTED)
    assert (done.cap, done.statusline) == ("left alone", "left alone")
    assert done.text.count(CAP_VARIABLE) == done.text.count('"statusLine"') == 1


def test_a_cap_that_is_set_elsewhere_is_not_set_here() -> None:
    done = settings.install("{}", Wanted(WANTED.hook, raised=False))
    assert done.cap == "left alone"
    assert settings.cap_in(done.text) == ""


def test_a_status_line_comes_only_when_asked_for_and_is_kept_up_to_date_then() -> None:
    plain = Wanted(WANTED.hook, WANTED.rules, statusline=WANTED.statusline)
    assert "statusLine" not in settings.install("{}", plain).text
    old = settings.install("{}", OLD)
    new = settings.install(old.text, plain, old.ours)
    assert json.loads(new.text)["statusLine"]["command"] == WANTED.statusline


def edited(change: Callable[[dict], object]) -> tuple[str, Ours]:
    """An installation, and then the person's own change of the data."""
    done = settings.install('{\n  "a": 1\n}\n', WANTED)
    data = json.loads(done.text)
    change(data)
    return json.dumps(data, indent=2) + "\n", done.ours


# the person's change, and what is left when ours is gone
EDITS: dict[str, tuple[Callable[[dict], object], dict]] = {
    "another hook": (
        lambda data: data["hooks"]["Stop"].append(GROUP),
        {"a": 1, "hooks": {"Stop": [GROUP]}},
    ),
    "a hook in our group": (
        lambda data: data["hooks"]["Stop"][0]["hooks"].insert(0, {"command": "x"}),
        {"a": 1, "hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}},
    ),
    "another event": (
        lambda data: data["hooks"].update(PreToolUse=[]),
        {"a": 1, "hooks": {"PreToolUse": []}},
    ),
    "a higher cap": (
        lambda data: data["env"].update({CAP_VARIABLE: "500"}),
        {"a": 1, "env": {CAP_VARIABLE: "500"}},
    ),
    "more variables": (lambda data: data["env"].update(B="2"), {"a": 1, "env": {"B": "2"}}),
    "more rules": (
        lambda data: data["permissions"]["allow"].insert(0, "Read"),
        {"a": 1, "permissions": {"allow": ["Read"]}},
    ),
    "rules of another kind": (
        lambda data: data["permissions"].update(deny=["Web"]),
        {"a": 1, "permissions": {"deny": ["Web"]}},
    ),
    "a status line": (
        lambda data: data.update(statusLine={"command": "x"}),
        {"a": 1, "statusLine": {"command": "x"}},
    ),
    "no hooks": (lambda data: data.pop("hooks"), {"a": 1}),
    "no rules": (lambda data: data["permissions"].pop("allow"), {"a": 1, "permissions": {}}),
    "empty rules": (
        lambda data: data["permissions"]["allow"].clear(),
        {"a": 1, "permissions": {"allow": []}},
    ),
    "no containers": (lambda data: [data.pop(key) for key in ("env", "permissions")], {"a": 1}),
    "a member last": (lambda data: data.update(z=1), {"a": 1, "z": 1}),
    "their own gone": (lambda data: data.pop("a"), {}),
}


@each(("change", "left"), EDITS.values(), ids=EDITS.keys())
def test_after_a_change_in_between_only_ours_goes(change: Callable[[dict], object], left: dict) -> None:
    text, ours = edited(change)
    assert json.loads(settings.uninstall(text, ours).text) == left


# Containers that install made once, and that a second one fills again, go as ours.
LEFT_TWICE = {"no rules": {"a": 1}, "empty rules": {"a": 1}}


@each("name", EDITS)
def test_installed_again_after_a_change_it_still_goes(name: str) -> None:
    change, left = EDITS[name]
    text, ours = edited(change)
    done = settings.install(text, WANTED, ours)
    assert all(ours_in(json.loads(done.text), event) == [registered(event)] for event in claude.EVENTS)
    assert json.loads(settings.uninstall(done.text, done.ours).text) == LEFT_TWICE.get(name, left)


def test_without_a_record_only_hooks_go_and_the_rest_is_named() -> None:
    done = settings.install('{\n  "a": 1\n}', WANTED)
    removed = settings.uninstall(done.text, None)
    assert removed.gone == ["the hooks"]
    assert removed.left == [f"the rule {rule}" for rule in WANTED.rules] + [CAP_VARIABLE, "the status line"]
    assert list(json.loads(removed.text)) == ["a", "permissions", "env", "statusLine"]
    again = settings.uninstall(removed.text, None)
    assert (again.gone, again.text) == ([], removed.text)


@pytest.mark.parametrize("data", [{}, {"traces": 1}, {"traces": [[1, 2]], "rules": [], "cap": 1}])
def test_what_is_no_record_is_refused(data: dict) -> None:
    with pytest.raises(ValueError, match="not a record"):
        Ours.from_json(data)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"hooks": []}, "`hooks` must be an object"),
        ({"hooks": None}, "`hooks` must be an object"),
        ({"hooks": {"Stop": {}}}, "`hooks.Stop` must be a list"),
        ({"env": "A=1"}, "`env` must be an object"),
        ({"permissions": ["Read"]}, "`permissions` must be an object"),
        ({"permissions": {"allow": "Read"}}, "`permissions.allow` must be a list"),
        ({"permissions": {}, "hooks": {}, "env": {}, "model": 1}, ""),
        ({"hooks": {"Stop": ["odd", {"hooks": "odd"}, {"hooks": [1]}]}}, ""),
    ],
)
def test_a_wrong_type_in_our_way_is_named(data: dict, told: str) -> None:
    assert settings.misshapen(data) == told


def test_odd_entries_among_the_hooks_are_passed_over() -> None:
    data = {
        "hooks": {"Stop": ["odd", {"hooks": "odd"}, {"hooks": [1, None]}, 7]},
        "permissions": {"allow": [1]},
    }
    text = json.dumps(data)
    done = settings.install(text, WANTED)
    assert json.loads(done.text)["hooks"]["Stop"][:4] == data["hooks"]["Stop"]
    assert settings.uninstall(done.text, done.ours).text == text
    assert settings.uninstall(text, None).left == []


def test_one_of_two_equal_keys_is_changed_as_a_reader_sees_it() -> None:
    draft = Draft('{"a": {"x": 1}, "a": {"y": 2}}')
    draft.put(("a", "y"), 3)
    draft.put(("a", "z"), 4)
    assert draft.text == '{"a": {"x": 1}, "a": {"y": 3, "z": 4}}'


@pytest.mark.parametrize("command", [WANTED.statusline + "; id", "x hook/guard.sh rl_as=statusline"])
def test_a_status_line_that_only_looks_like_ours_stays(command: str) -> None:
    text = json.dumps({"statusLine": {"type": "command", "command": command}})
    done = settings.install(text, WANTED)
    assert (done.statusline, json.loads(done.text)["statusLine"]["command"]) == ("left alone", command)
    assert settings.uninstall(done.text, done.ours).text == text


def test_a_registration_that_shows_its_command_line_learns_a_name_and_is_ours_either_way() -> None:
    new = json.loads(settings.install("", WANTED).text)
    hooks = [entry for groups in new["hooks"].values() for group in groups for entry in group["hooks"]]
    assert {entry.pop("statusMessage") for entry in hooks} == {"ralphloop"}
    old = json.dumps(new)
    assert (
        json.loads(settings.install(old, WANTED).text)["hooks"]
        == json.loads(settings.install("", WANTED).text)["hooks"]
    )
    assert "hooks" not in json.loads(settings.uninstall(old, None).text or "{}")

"""The settings: which value holds, where it comes from, and what is refused with which words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ralphloop import config
from ralphloop.config import keys
from ralphloop.domain.model import UNLIMITED
from ralphloop.engine import announce
from ralphloop.errors import ConfigError
from unit.domain.cases import each

DOCS = Path(__file__).resolve().parents[2] / "docs" / "config.md"


class Place:
    """A project and a home, each with room for a file of settings."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.env = {"HOME": str(folder / "home")}
        self.user = folder / "home/.config/ralphloop/config.toml"
        self.project = self.root / ".ralph/config.toml"
        for file in (self.user, self.project):
            file.parent.mkdir(parents=True)

    def load(self, **variables: str) -> config.Config:
        return config.load(str(self.root), {**self.env, **variables})

    def of(self, key: str, **variables: str) -> tuple[object, str]:
        found = self.load(**variables)
        return found.get(key), found.origin(key)

    def refused(self, **variables: str) -> str:
        with pytest.raises(ConfigError) as caught:
            self.load(**variables)
        return str(caught.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_files_every_value_is_the_default(place: Place) -> None:
    found = place.load()
    assert [(key, value, origin) for key, value, origin in found.settings()] == [
        (key, known.default, "default") for key, known in config.KEYS.items()
    ]
    assert found.warnings == ()


def test_environment_wins_over_project_over_user_over_default(place: Place) -> None:
    assert place.of("batch") == (0, "default")
    place.user.write_text("batch = 1\n")
    assert place.of("batch") == (1, "user file")
    place.project.write_text("batch = 2\n")
    assert place.of("batch") == (2, "project file")
    assert place.of("batch", RALPHLOOP_BATCH="3") == (3, "RALPHLOOP_BATCH")


def test_a_file_sets_only_what_it_names(place: Place) -> None:
    place.user.write_text('model = "opus"\nmax_cost = 5\n')
    place.project.write_text("max_cost = 2.5\n")
    found = place.load()
    assert (found.get("model"), found.origin("model")) == ("opus", "user file")
    assert (found.get("max_cost"), found.origin("max_cost")) == (2.5, "project file")


def test_the_user_file_is_where_xdg_says(place: Place, tmp_path: Path) -> None:
    elsewhere = tmp_path / "xdg"
    (elsewhere / "ralphloop").mkdir(parents=True)
    (elsewhere / "ralphloop/config.toml").write_text("batch = 7\n")
    assert place.of("batch", XDG_CONFIG_HOME=str(elsewhere)) == (7, "user file")
    assert place.of("batch", XDG_CONFIG_HOME="xdg") == (0, "default")  # a relative one does not count


@pytest.mark.parametrize(
    "env", [{"HOME": "/h"}, {"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, {"HOME": "/h", "XDG_CONFIG_HOME": "x"}]
)
def test_the_hook_looks_for_the_user_file_in_the_same_place(env: dict[str, str]) -> None:
    assert announce.user_file(env) == config.user_file(env)


@each(
    ("line", "value"),
    [
        ("batch = 0", 0),
        ('batch = "4"', 4),
        ("idle_timeout = 90", 90.0),
        ('idle_timeout = "1h30m"', 5400.0),
        ("max_time = 3600", 3600.0),
        ('max_time = "45min"', 2700.0),
        ("reset_margin = 0", 0.0),
        ('reset_margin = "0s"', 0.0),
        ("context_limit = 0", 0),
        ('context_limit = "85%"', 85),
        ("commit = true", True),
        ("wake = false", False),
        ("max_iterations = 40", 40),
        ("max_tokens = 2000000", 2_000_000),
        ('max_tokens = "1.5M"', 1_500_000),
        ("max_cost = 0.5", 0.5),
        ('max_task_cost = "$3"', 3.0),
        ("notify = []", ()),
        ('notify = ["bell", "desktop", "bell"]', ("bell", "desktop")),
        ('notify_on = ["person"]', ("person",)),
        ('continue_with = "context"', "context"),
        ('branch = "ralph/shop"', "ralph/shop"),
    ],
)
def test_values_are_read_as_options_are_and_plain_numbers_too(place: Place, line: str, value: object) -> None:
    place.project.write_text(line + "\n")
    found, origin = place.of(line.partition(" ")[0])
    assert (found, type(found), origin) == (value, type(value), "project file")


@each(
    "line",
    [
        "batch = -1", "batch = 1.5", "batch = true", "batch = [1]", "batch = 99999999999", 'batch = ""',
        "model = 5", 'model = ""', 'model = "--dangerously-skip-permissions"', 'model = "a\\u001b[1m"',
        'branch = " x"', f'branch = "{"x" * 201}"', 'agent = "codex"', "idle_timeout = true",
        'idle_timeout = "soon"', "idle_timeout = 0", "idle_timeout = -5", "idle_timeout = 1e9",
        "context_limit = 101", "context_limit = 7.5", 'commit = "yes"', "commit = 1", "wake = 'on'",
        "max_iterations = 0", "max_attempts = 0", 'max_tokens = "many"', "max_tokens = 0", "max_cost = 0",
        "max_cost = nan", "max_cost = inf", 'notify = "desktop"', 'notify = ["mail"]', "notify = [1]",
        "notify = [[]]", 'notify_on = ["start"]', 'continue_with = "prose"', "max_time = 2026-11-16",
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_file_and_key(place: Place, line: str) -> None:
    place.project.write_text(line + "\n")
    told = place.refused()
    assert told.startswith(f"{place.project}: {line.partition(' ')[0]}: ")
    assert told[-1] in ".?"


@pytest.mark.parametrize(
    ("key", "meant"),
    [("max_iteration", "max_iterations"), ("max-cost", "max_cost"), ("Notify", "notify"), ("modle", "model")],
)
def test_an_unknown_key_is_refused_with_a_suggestion(place: Place, key: str, meant: str) -> None:
    place.user.write_text(f"{key} = 1\n")
    assert place.refused() == f"{place.user}: there is no setting {key}, did you mean {meant}?"


def test_an_unknown_key_like_no_other_is_refused_with_where_to_look(place: Place) -> None:
    place.user.write_text("[zzzz]\nbatch = 1\n")
    assert place.refused() == f"{place.user}: there is no setting zzzz; `ralphloop config` lists them all."


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"batch = 1\nmodel = \n", "line 2"),
        (b"batch = 1\nbatch = 2\n", "line 2"),
        (b"x = " + b"[" * 5000, "not TOML"),
        (b"batch = " + b"9" * 5000, "not TOML"),
        (b"batch = 1\xff\n", "not UTF-8"),
        (b"#" * (keys.SIZE_MAX + 1), "too large"),
    ],
)
def test_a_broken_file_is_named_with_the_line(place: Place, data: bytes, told: str) -> None:
    place.project.write_bytes(data)
    said = place.refused()
    assert said.startswith(str(place.project))
    assert told in said


def test_a_file_that_is_none_is_refused(place: Place) -> None:
    place.project.mkdir()
    assert place.refused() == f"{place.project} cannot be read (not a regular file)."


def test_a_byte_order_mark_is_no_mistake(place: Place) -> None:
    place.user.write_bytes(b"\xef\xbb\xbfbatch = 3\r\n")
    assert place.of("batch") == (3, "user file")


OWN_KEYS = {
    "permission_mode": '"bypassPermissions"',
    "try_s": "0",
    "apart": "false",
    "doubts": '"tell"',
    "criteria": '["qa/**"]',
    "daemons": '["mydaemon"]',
    "webhook_url": '"https://example.invalid/x"',
    "webhook_format": '"slack"',
    "webhook_token": '"t"',
}


def test_what_could_hurt_the_person_is_not_for_a_project() -> None:
    assert {key for key, known in config.KEYS.items() if not known.by_project} == set(OWN_KEYS)


@pytest.mark.parametrize("key", OWN_KEYS)
def test_a_project_cannot_widen_rights_or_name_an_address(place: Place, key: str) -> None:
    line = f"{key} = {OWN_KEYS[key]}\n"
    place.project.write_text(line)
    assert place.refused() == (
        f"{place.project}: {key} is not for a project to say; put it into {place.user}."
    )
    place.project.unlink()
    place.user.write_text(line)
    assert place.load().origin(key) == "user file"


def test_a_project_cannot_switch_the_webhook_on(place: Place) -> None:
    place.user.write_text('webhook_url = "https://example.invalid/x"\n')
    place.project.write_text('notify = ["bell", "webhook"]\n')
    assert "a project must not send data anywhere" in place.refused()
    place.project.write_text('notify = ["bell"]\n')
    assert place.of("notify") == (("bell",), "project file")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("notify", "desktop, bell", ("desktop", "bell")),
        ("notify", "", ()),
        ("commit", "1", True),
        ("commit", "Yes", True),
        ("wake", "off", False),
        ("max_time", "4h", 14400.0),
        ("max_time", "90", 90.0),
        ("permission_mode", "default", "default"),
        ("try_s", "0", 0.0),
        ("try_s", "90", 90.0),
        ("apart", "no", False),
        ("doubts", "refuse", "refuse"),
        ("criteria", "qa/**, *.oracle", ("qa/**", "*.oracle")),
        ("daemons", "mydaemon", ("mydaemon",)),
    ],
)
def test_variables_are_read_as_text(place: Place, name: str, text: str, value: object) -> None:
    place.user.write_text('notify = ["webhook"]\nwebhook_url = "http://localhost:1/x"\n')
    variable = config.variable(name)
    assert place.of(name, **{variable: text}) == (value, variable)


def test_an_empty_variable_sets_nothing(place: Place) -> None:
    assert place.of("max_cost", RALPHLOOP_MAX_COST="") == (None, "default")


def test_plan_mode_is_refused_with_a_reason(place: Place) -> None:
    """In it the agent may change nothing (client 2.1.325): a run would only wait."""
    place.user.write_text('permission_mode = "plan"\n')
    told = place.refused()
    assert "no task can be done in plan mode" in told
    assert "acceptEdits" in told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("commit", "maybe"),
        ("notify", "mail"),
        ("max_cost", "-1"),
        ("doubts", "hide"),
        ("try_s", "soon"),
        ("apart", "2"),
    ],
)
def test_a_wrong_variable_is_refused_by_its_name(place: Place, name: str, text: str) -> None:
    variable = config.variable(name)
    assert place.refused(**{variable: text}).startswith(f"{variable}: ")


@each(
    "url",
    [
        "ftp://example.invalid/x", "file:///etc/passwd", "https://", "example.invalid", "https://a b/",
        "https://me:secret@example.invalid/", "https://example.invalid:0/", "https://example.invalid:99999/",
        "https://[::1/", "https://example.invalid/\\n",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused_and_not_repeated(place: Place, url: str) -> None:
    place.user.write_text(f'webhook_url = "{url}"\n')
    told = place.refused()
    assert told.startswith(f"{place.user}: webhook_url: it must ")
    assert "secret" not in told


@pytest.mark.parametrize("token", ["two words", "line\\nbreak", "ünï", "", "\\u0000"])
def test_a_token_that_would_break_a_header_is_refused_and_not_repeated(place: Place, token: str) -> None:
    place.user.write_text(f'webhook_token = "{token}"\n')
    assert place.refused().startswith(f"{place.user}: webhook_token: it must be ")


def test_a_token_that_others_can_read_is_warned_of(place: Place) -> None:
    place.user.write_text('webhook_token = "t"\n')
    place.user.chmod(0o644)
    assert place.load().warnings == (f"{place.user} holds a token and others can read it: `chmod 600` it.",)
    place.user.chmod(0o600)
    assert place.load().warnings == ()


def test_a_webhook_without_an_address_is_warned_of(place: Place) -> None:
    place.user.write_text('notify = ["webhook"]\n')
    (warning,) = place.load().warnings
    assert "webhook_url is not set" in warning


def test_an_option_of_no_limit_stays_one_of_the_command_line() -> None:
    assert keys.turns("0") == UNLIMITED
    with pytest.raises(ValueError, match="above zero"):
        keys.count("00000000019999999999")


def test_the_document_has_every_key_with_its_default_and_help() -> None:
    tomllib = pytest.importorskip("tomllib")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", DOCS.read_text(encoding="utf-8"), re.M)
    yours = {True: "", False: " **(yours alone)**"}
    told = {key: known.told + yours[known.by_project] for key, known in config.KEYS.items()}
    assert [(key, text) for key, _, text in rows] == list(told.items())
    for key, default, _ in rows:
        known = config.KEYS[key]
        if known.default is not None:
            assert known.read(tomllib.loads("x = " + default.strip("`"))["x"]) == known.default, key


def test_a_misspelt_variable_is_warned_of(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "RALPHLOOP_MAX_CSOT": "5", "RALPHLOOP_CLOCK": "0", "RALPHLOOP_ZZZ": "1"}
    told = config.load(str(tmp_path), env).warnings
    assert told == ("RALPHLOOP_MAX_CSOT is no setting, did you mean max_cost?",)

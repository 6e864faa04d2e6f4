"""The hook under test: which command line is asked, what it has not, and where the cases are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from ralphloop.cli import conformance
from ralphloop.lab.conformance import suite
from ralphloop.lab.conformance.case import parse
from ralphloop.lab.conformance.hook import foreign, own


def lacks(hook_of: dict[str, Any], **case: Any) -> str:
    fields = {"title": "x", "stands_for": ["spec 1"], "layout": "features", "step": [{}], **case}
    hook = foreign("true", **{"layouts": ("features",), "path": "/bin", **hook_of})
    return hook.lacks(parse(fields, file="a.toml"))


@pytest.mark.parametrize(
    ("hook", "case", "told"),
    [
        ({}, {}, ""),
        ({}, {"layout": "none"}, ""),
        ({}, {"layout": "specum"}, "layout specum is not served"),
        ({}, {"needs": ["ralphloop"]}, "needs the commands of ralphloop (--tool)"),
        ({"tool": ["x"]}, {"needs": ["ralphloop"]}, ""),
        ({}, {"needs": ["SessionEnd"]}, "needs the event SessionEnd (--events)"),
        ({"events": ["SessionEnd"]}, {"needs": ["SessionEnd"]}, ""),
        ({"tool": ["x"]}, {"step": [{"registration": "other"}]}, "needs a name for each registration"),
    ],
)
def test_what_a_hook_has_not_is_told(hook: dict[str, Any], case: dict[str, Any], told: str) -> None:
    assert lacks(hook, **case) == told


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("bash hook.sh", "bash {here}/hook.sh"),
        ("./hook.sh --fast", "{here}/hook.sh --fast"),
        ("bash", "bash"),
        ("cat hook.sh | sh", "cat {here}/hook.sh | sh"),
        ("X=1 node /opt/hook.js", "X=1 node /opt/hook.js"),
    ],
)
def test_files_of_a_command_line_are_those_of_the_callers_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, asked: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("hook.sh", "bash"):
        (tmp_path / name).touch()
    hook = foreign(given, layouts=("features",), path="/bin")
    assert hook.command("Stop", "features") == asked.format(here=tmp_path)


def test_ours_has_every_event_that_its_plugin_registers() -> None:
    hook = own(path="/bin")
    assert hook.layouts == ("features", "specum", "speckit")
    assert {"Stop", "SubagentStop", "SessionStart", "UserPromptSubmit", "StopFailure", "SessionEnd"} <= {
        *hook.commands["specum"]
    }
    assert "${" not in hook.command("Stop", "specum")


def test_without_the_cases_the_command_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a plugin, which has the program and no repository around it."""
    assert suite.folder() is not None
    monkeypatch.setattr(suite, "PACKAGE", tmp_path / "cache" / "plugin" / "lib")
    assert suite.folder() is None
    assert conformance.run(argparse.Namespace(catalogue=None, cases=None, only=None)) == 2
    assert "--cases DIR" in capsys.readouterr().err

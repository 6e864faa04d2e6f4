"""The text of the status line: hostile names, its width, odd payloads, and the command by hand."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import Any

import pytest

from hook.conftest import ProjectFactory
from hook.harness import (
    FOLDERS,
    LAYOUTS,
    OTHER,
    OWN_FILES,
    OWNER,
    POINTERS,
    LoopProject,
    feature,
    feature_list,
    loop_files,
)
from hook.proven import cli_argv, cli_env
from hook.statuslines import bare, by_hand, payload, printed, shown
from ralphloop.hook import statusline
from ralphloop.views import terminal

# Hostile texts


HOSTILE = "\x1b[2J\x1b]8;;http://x\x07F\n1\r\t\x9b31m\u202eevil\u2066\x00\x7f"


def test_no_name_or_id_can_speak_to_the_terminal(project: ProjectFactory) -> None:
    name = "sh\x1b[31mop\n\u202ex"
    text = feature_list(feature(HOSTILE))
    found = project("features", {f".ralph/loops/{name}/feature_list.json": text})
    found.arm()
    said = shown(found)
    assert "op" in said
    assert "evil" in said
    assert all(ch.isprintable() for ch in said)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hostile_names_stay_one_line_in_every_state(project: ProjectFactory, layout: str) -> None:
    folder = os.path.dirname(FOLDERS[layout])
    files = {path.replace(FOLDERS[layout], f"{folder}/a\x1b]0;b\x07"): text
             for path, text in loop_files(layout).items()}  # fmt: skip
    if layout in POINTERS:
        files[POINTERS[layout]] = "a\x1b]0;b\x07\n"
    found = project(layout, files)
    found.arm(session=None)
    line = shown(found)
    assert "waits for a session" in line
    assert line.isprintable()


def test_whatever_a_terminal_would_obey_is_taken_out() -> None:
    """The line is at least as plain as what every command prints."""
    characters = [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x110000))]
    for start in range(0, len(characters), 200):
        said = statusline.fit("x".join(characters[start : start + 200]), "9999")
        assert terminal.plain(said) == said


def test_a_broken_character_does_not_cost_the_line(project: ProjectFactory) -> None:
    found = project("features", {OWN_FILES["features"]: '{"features": [{"id": "a\\ud800b"}]}'})
    found.arm()
    assert bare(found)[-1] == "next a?b"


# Width


def test_it_is_cut_to_the_width_of_the_terminal(features: LoopProject) -> None:
    whole = shown(features)
    for columns in (1, 2, 20, 40, 74):
        features.extra_env["COLUMNS"] = str(columns)
        said = shown(features)
        assert said.endswith("…"), columns
        assert 0 < len(said) <= columns
        assert whole.startswith(said[:-1]), columns


def test_a_width_that_is_none_cuts_nothing(features: LoopProject) -> None:
    whole = shown(features)
    for columns in ("", "0", "-3", "wide", "²", "9" * 5000, "120"):
        features.extra_env["COLUMNS"] = columns
        assert shown(features) == whole, columns


@pytest.mark.parametrize(("text", "cells"), [("漢字漢字", 8), ("漢字漢字", 7), ("🦊🦊🦊", 5), ("abc", 3)])
def test_wide_characters_take_two_cells(text: str, cells: int) -> None:
    said = statusline.fit(text, str(cells))
    assert sum(1 if ch.isascii() or ch == "…" else 2 for ch in said) <= cells
    assert (said == text) == (cells >= sum(1 if ch.isascii() else 2 for ch in text))


# What the client sends


FIGURES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["context 41 %", "$1.20"]),
    ({"cost": ...}, ["context 41 %"]),
    ({"context_window": ...}, ["$1.20"]),
    ({"context_window": {"used_percentage": None}, "cost": None}, []),
    ({"context_window": {"used_percentage": "41"}, "cost": {"total_cost_usd": True}}, []),
    ({"context_window": [41], "cost": {"total_cost_usd": -1}}, []),
    ({"context_window": {"used_percentage": 1e300}, "cost": {"total_cost_usd": float("nan")}}, []),
    ({"context_window": {"used_percentage": 0}, "cost": {"total_cost_usd": 0}}, ["context 0 %", "$0.00"]),
    ({"context_window": {"used_percentage": 41.6}, "cost": {"total_cost_usd": 0.0006}},
     ["context 42 %", "$0.00"]),
]  # fmt: skip


def test_figures_that_are_unknown_are_left_out(features: LoopProject) -> None:
    for fields, told in FIGURES:
        assert shown(features, **fields).split(" · ")[4:] == told, fields


def test_input_that_says_nothing_shows_nothing(features: LoopProject) -> None:
    before = features.digest()
    for data in (b"", b"{}", b"[]", b"{", b"\xff\xfe", b"null", b'{"session_id": 5}'):
        assert printed(features, data) == "", data
        assert features.digest() == before, data


def test_a_folder_that_is_gone_is_no_trouble(features: LoopProject) -> None:
    assert "next F1" in shown(features, start_in=features.home, cwd=str(features.root / "gone"))


# By hand


def test_the_command_prints_the_same_line(armed: LoopProject) -> None:
    armed.turn()
    assert by_hand(armed, json.dumps(payload(armed))) == shown(armed) + "\n"


@pytest.mark.parametrize("stdin", ["", "{}\n"])
def test_the_command_without_a_payload_takes_the_session_it_runs_in(
    features: LoopProject, stdin: str
) -> None:
    assert by_hand(features, stdin).startswith("ralphloop demo · 0/3 done")
    assert by_hand(features, stdin, CLAUDE_CODE_SESSION_ID=OWNER).startswith("ralphloop demo · 0/3 done")
    assert by_hand(features, stdin, CLAUDE_CODE_SESSION_ID=OTHER) == ""


def test_the_command_in_a_terminal_says_what_it_is_for(features: LoopProject) -> None:
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            cli_argv("statusline"), env=cli_env(features), cwd=features.root, stdin=slave,
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(slave)
    assert "`ralphloop install --statusline`" in done.stdout

"""`watch` where no screen can be drawn or none is wanted, with hostile texts, and that it only reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from e2e.cli_project import PACKAGE
from e2e.watching import NOW, Watched, call, text

EVIL = "a\x1b]0;owned\x07\x1b[2Jb\x9b31mc\r\nfake · running\u202e\x00\x7f\u200d日本語👩\u200d👩"
# the screen's modes, erasing, rows and looks
OURS = re.compile(r"\x1b\[(\?(1049h|25l|7l)|2J|2K|\d+;1H|[\d;]*m)")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path).fill()


def end(watched: Watched) -> None:
    watched.set_state(state="ended", outcome="complete", seen_at=NOW - 60)


def test_without_a_terminal_there_are_plain_lines_until_the_loop_ends(watched: Watched) -> None:
    command = watched.project.argv("watch")
    env = watched.project.env(watched.env)
    with subprocess.Popen(
        command, cwd=watched.project.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        for line in running.stdout:
            if " now " in line:
                break
        watched.say(700, text("the last words"))
        watched.note(701, event="proven", task="F4", evidence="e9")
        told = [running.stdout.readline() for _ in range(2)]
        end(watched)
        rest = running.stdout.read()
        assert running.wait(30) == 0
        assert running.stderr.read() == ""
    assert told == [
        "01-15 08:11:40  says    the last words\n",
        "01-15 08:11:41  loop    proven task F4, evidence e9\n",
    ]
    assert "shop · complete · iteration 2/15" in rest
    assert not CONTROL.search("".join([*told, rest]))


@pytest.mark.parametrize(("words", "term"), [((), "dumb"), (("--plain",), "xterm-256color")])
def test_a_terminal_can_have_plain_lines_too(watched: Watched, words: tuple[str, ...], term: str) -> None:
    with watched.watch(*words, columns=120, term=term) as screen:
        screen.wait_for("says    The sum was never taken.")
        screen.wait_for("now     shop · running · iteration 2/15 · 1/4 done · next F2")
        screen.type("\x03")
        assert screen.exit_code() == 0
        assert b"\x1b" not in screen.written


def test_once_prints_the_state_and_leaves(watched: Watched) -> None:
    told = watched.project.fine("watch", "--once", env=watched.env)
    assert told.startswith("shop · running · iteration 2/15 · 1/4 done · next F2\n")
    assert "  ✓ F1  proven" in told
    assert "  used: 12 min of 8 h 00 min, 410k tokens, $0.24\n" in told
    assert told.endswith("shows it with the tax.\n")


def test_once_in_a_terminal_is_one_picture(watched: Watched) -> None:
    with watched.watch("--once") as screen:
        assert screen.exit_code() == 0
        shown = screen.text().splitlines()
        assert shown[0].startswith("shop · running · iteration 2/15 · 1/4 done")
        assert shown[-1] == "at hand: F2 Task 2"
        assert b"?1049h" not in screen.written


def test_a_loop_that_has_ended_is_shown_and_left(watched: Watched) -> None:
    end(watched)
    told = watched.project.fine("watch", env=watched.env)
    assert told.startswith("shop · complete · iteration 2/15 · 1/4 done\n")
    assert "  ✓ F1  proven" in told
    with watched.watch() as screen:
        assert screen.exit_code() == 0
        assert screen.text().startswith("shop · complete")
        assert b"?1049h" not in screen.written


def test_without_a_loop_the_error_says_what_to_do(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    assert "there is no loop other here; known here: shop." in watched.project.refused("watch", "other")


def test_no_colour_is_obeyed(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("context ")
        assert {"green", "red"} <= screen.styles()
    with watched.watch(env={"NO_COLOR": "1"}) as screen:
        screen.wait_for("context ")
        assert screen.styles() == {"default"}


def test_a_terminal_without_utf8_gets_plain_signs(watched: Watched) -> None:
    with watched.watch(env={"LANG": "C", "PYTHONIOENCODING": "ascii"}) as screen:
        shown = screen.wait_for("context ####......")
        assert shown.isascii()
        assert "x F1  proven  Task 1" in shown


def test_without_rich_one_line_says_how_to_get_it(watched: Watched) -> None:
    """As a plugin's own copy runs: the package alone, without what is installed beside it."""
    begin = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})"
    code = begin + "; from ralphloop.cli.main import main; main()"
    argv = [sys.executable, "-I", "-S", "-c", code, "watch"]
    with watched.screen(argv, columns=160) as screen:
        screen.wait_for(
            "ralphloop: the view needs the package rich (`pip install rich`); plain lines instead"
        )
        screen.wait_for("says    I begin with the cart.")
        screen.type("\x03")
        assert screen.exit_code() == 0


def test_hostile_texts_stay_in_their_cells(watched: Watched) -> None:
    listed = [{"id": EVIL * 20, "description": EVIL * 20}, {"id": "日本語" * 30, "description": "z"}]
    watched.project.write(".ralph/loops/shop/feature_list.json", json.dumps(listed))
    for number in range(3):
        watched.say(600 + number, text(EVIL * 30), call(EVIL, command=EVIL * 30))
    watched.note(640, event="refused", task=EVIL, detail=EVIL)
    watched.set_state(detail=EVIL)
    with watched.watch() as screen:
        screen.wait_for("refused task")
        rows = screen.rows()
        assert rows[0].startswith("shop · running · iteration 2/15 · 0/2 done · ")
        assert rows[3] == "─ tasks " + "─" * 72
        assert rows[6].startswith("─ session: a")
        assert cell_len(rows[6]) == 80
        assert rows[-1].rstrip() == " q quit"
        assert not [row for row in rows if row.startswith("fake")]
        assert b"\x1b]" not in screen.written
        assert "\x1b" not in re.sub(OURS, "", screen.written.decode())
        screen.type("q")
        assert screen.exit_code() == 0


def test_watching_writes_nothing(watched: Watched) -> None:
    before = watched.project.digest()
    with watched.watch() as screen:
        screen.wait_for("context ")
        screen.type("q")
        assert screen.exit_code() == 0
    for words in (("--once",), ("--plain", "--once"), ("shop", "--once")):
        watched.project.fine("watch", *words, env=watched.env)
    assert watched.project.digest() == before

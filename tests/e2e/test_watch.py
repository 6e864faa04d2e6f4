"""`watch` in a real terminal: the whole screen, cell by cell, at several sizes; the clock stands still."""

from __future__ import annotations

import shlex
import signal
import time
from pathlib import Path

import pytest

from e2e.cli_project import SESSION
from e2e.watching import NOW, Watched, call, picture, text

SMALL = """
shop · running · iteration 2/15 · 1/4 done · claude-opus-4-5 · features
time 12:34, 7:47:26 left · 410k tokens, $0.24 · context ████░░░░░░ 41 % of 200k
open ███████▆▆▆▆▆▆▆▆▆ 3
─ tasks ────────────────────────────────────────────────────────────────────────
  ✓ F1  proven  Task 1
▸ ☐ F2  open    Task 2
  ☐ F3  open    Task 3
  ☐ F4  open    Task 4
─ session: F2 Task 2 ───────────────────────────────────────────────────────────
± Write cart.py
  + class Cart:
  +     def __init__(self):
  +         self.items = []
◆ proven task F1, evidence e1
↻ Loop shop, iteration 2 of 15: go on with task F2 (2/4).
→ Bash pytest -q tests/test_checkout.py
✗ Exit code 1
± Edit cart.py
  -     return 0
  +     return self.sum
● The sum was never taken. Now it is, and the checkout page shows it with the
  tax.
at hand: F2 Task 2
 q quit
"""

FIGURES = "time 12:34, 7:47:26 left · 410k tokens, $0.24 · context ████░░░░░░ 41 % of 200k"
TASKS = [
    "  ✓ F1  proven  Task 1",
    "▸ ☐ F2  open    Task 2",
    "  ☐ F3  open    Task 3",
    "  ☐ F4  open    Task 4",
]
STREAM = """
● I begin with the cart.
  It keeps its items after a reload.
± Write cart.py
  + class Cart:
  +     def __init__(self):
  +         self.items = []
◆ proven task F1, evidence e1
↻ Loop shop, iteration 2 of 15: go on with task F2 (2/4).
→ Bash pytest -q tests/test_checkout.py
✗ Exit code 1
± Edit cart.py
  -     return 0
  +     return self.sum
● The sum was never taken. Now it is, and the checkout page shows it with the tax.
"""
TINY = """
shop · running · iteration 2/15 · 1/4 d…
time 12:34, 7:47:26 left
─ tasks ────────────────────────────────
▸ ☐ F2  open  Task 2
  ☐ F3  open  Task 3
─ session: F2 Task 2 ───────────────────
  and the checkout page shows it with
  the tax.
at hand: F2 Task 2
 q quit
"""


def large() -> list[str]:
    """200 columns: tasks and stream side by side."""
    head = [
        "shop · running · iteration 2/15 · 1/4 done · claude-opus-4-5 · features",
        FIGURES + " · open ███████▆▆▆▆▆▆▆▆▆ 3",
    ]
    left = ["─ tasks " + "─" * 72, *TASKS, *[""] * 41]
    right = ["─ session: F2 Task 2 " + "─" * 96, *STREAM.strip("\n").split("\n"), *[""] * 31]
    body = [f"{first:<80} │ {second}" for first, second in zip(left, right, strict=True)]
    return [line.ljust(200) for line in [*head, *body, "at hand: F2 Task 2", " q quit"]]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path).fill()


def test_80_columns_and_24_rows_have_everything(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for(lambda _: screen.rows() == picture(SMALL, 80, 24))


def test_200_columns_and_50_rows_show_tasks_and_stream_side_by_side(watched: Watched) -> None:
    with watched.watch(columns=200, rows=50) as screen:
        screen.wait_for(lambda _: screen.rows() == large())


def test_a_tiny_terminal_has_the_most_important(watched: Watched) -> None:
    with watched.watch(columns=40, rows=10) as screen:
        screen.wait_for(lambda _: screen.rows() == picture(TINY, 40, 10))


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (3, 2), (12, 5), (300, 3)])
def test_no_size_is_too_small(watched: Watched, columns: int, rows: int) -> None:
    with watched.watch(columns=columns, rows=rows) as screen:
        screen.wait_for(lambda shown: bool(shown.strip()))
        screen.type("q")
        assert screen.exit_code() == 0


def test_a_resize_draws_the_screen_anew_at_once(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("context ")
        screen.resize(200, 50)
        screen.wait_for(lambda _: screen.rows() == large())
        screen.resize(40, 10)
        screen.wait_for(lambda _: screen.rows() == picture(TINY, 40, 10))
        screen.resize(80, 24)
        screen.wait_for(lambda _: screen.rows() == picture(SMALL, 80, 24))


def test_what_happens_meanwhile_shows(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("q quit")
        watched.say(360, call("Read", file_path=str(watched.project.root / "tax.py")))
        screen.wait_for("→ Read tax.py")
        watched.note(400, event="refused", task="F2", command="make", detail="exit code 2")
        screen.wait_for("✗ refused task F2, `make` exit code 2")
        watched.prove("F2")
        watched.set_state(iteration=3)
        screen.wait_for("iteration 3/15 · 2/4 done")
        screen.wait_for("▸ ☐ F3  open")


def test_a_loop_that_ends_leaves_the_screen_and_the_last_lines_of_status(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("q quit")
        watched.project.fine("cancel", "shop")
        assert screen.exit_code() == 0
        shown = screen.text().splitlines()
        assert shown[0] == "shop · cancelled · iteration 2/15 · 1/4 done"
        assert shown[1] == f"  features · .ralph/loops/shop · session {SESSION}"
        assert screen.modes() == screen.modes_before


def test_q_leaves_nothing_on_the_screen_and_the_loop_at_work(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("q quit")
        assert screen.modes() != screen.modes_before
        screen.type("q")
        assert screen.exit_code() == 0
        assert screen.text() == ""
        assert screen.modes() == screen.modes_before
        assert screen.written.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l")
    assert watched.project.status()["state"] == "running"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(watched: Watched, number: int) -> None:
    with watched.watch() as screen:
        screen.wait_for("q quit")
        screen.signal(number)
        assert screen.exit_code() == 0
        assert (screen.text(), screen.modes()) == ("", screen.modes_before)


def test_ctrl_c_leaves(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("q quit")
        screen.type("\x03")
        assert screen.exit_code() == 0
        assert screen.modes() == screen.modes_before


def test_a_terminal_that_is_closed_ends_it(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("q quit")
        screen.hang_up()
        assert screen.process.wait(30) is not None


def test_ctrl_z_gives_the_terminal_back_until_the_shell_goes_on(watched: Watched) -> None:
    command = shlex.join(watched.project.argv("watch"))
    with watched.screen(["bash", "-c", f"set -m; {command}; echo stopped $?; read line; fg"]) as screen:
        screen.wait_for("q quit")
        screen.type("\x1a")
        screen.wait_for("stopped 148")
        assert "q quit" not in screen.text()
        assert screen.modes() == screen.modes_before
        screen.type("\n")
        screen.wait_for("q quit")
        screen.wait_for(lambda _: screen.rows() == picture(SMALL, 80, 24))
        screen.type("q")
        assert screen.exit_code() == 0
        assert screen.modes() == screen.modes_before


def test_the_clock_runs_unless_it_is_made_to_stand_still(watched: Watched) -> None:
    watched.set_state(started_at=time.time(), seen_at=time.time(), elapsed_s=0.0)
    with watched.watch(env={"RALPHLOOP_CLOCK": "nonsense"}) as screen:
        screen.wait_for("time 0:")
        for _ in range(2):
            (before,) = [line for line in screen.text().splitlines() if line.startswith("time ")]
            screen.wait_for(lambda shown, old=before: "time " in shown and old not in shown)


def test_other_keys_do_nothing(watched: Watched) -> None:
    with watched.watch() as screen:
        screen.wait_for("context ")
        screen.type("pswx\x1b[A\r\n")
        watched.say(NOW, text("still there"))
        screen.wait_for("● still there")
        assert screen.process.poll() is None
    assert watched.project.status()["requested"] == ""

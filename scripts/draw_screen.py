"""Draws the README's picture: the view of a real run, half-way through, as an SVG.

`python scripts/draw_screen.py [FILE]` drives the real client through a small project, with a scripted model
and without an account.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import pyte
from pyte.screens import Char

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from e2e.client import ClientHome, find_client  # noqa: E402
from e2e.running import running  # noqa: E402
from e2e.screen import CommandScreen, TwoScreens  # noqa: E402
from ralphloop.lab.reply import Reply, call, text  # noqa: E402
from ralphloop.lab.scratch import scratch_folder  # noqa: E402

PICTURE = REPOSITORY / "docs/images/run.svg"
COLUMNS, ROWS = 100, 30
TITLE = "ralphloop run shop --batch 2 --max-cost 5"
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
MODEL = "claude-sonnet-4-5"
LAST_WORDS = "An empty cart has no dearest item."  # what the agent says before the picture is taken

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, BASELINE = 8.4, 18.0, 14, 13.5
MARGIN, BAR = 14.0, 30.0
BACK, FRAME, FRONT, FAINT = "#1a1b26", "#24283b", "#c0caf5", "#6b7394"
COLOURS = {
    "black": "#15161e", "red": "#f7768e", "green": "#9ece6a", "brown": "#e0af68", "blue": "#7aa2f7",
    "magenta": "#bb9af7", "cyan": "#7dcfff", "white": "#c0caf5",
}  # fmt: skip

TASKS = {
    "Add a cart that keeps its items": "python3 -B test_shop.py keeps",
    "Sum up the cart, with 19 % tax": "python3 -B test_shop.py total",
    "Name the dearest item": "python3 -B test_shop.py dearest",
    "Refuse the checkout of an empty cart": "python3 -B test_shop.py checkout",
    "Say in README.md how to use the shop": "grep -q 'import shop' README.md",
}
TESTS = """\
import sys
from shop import *

cart = {"pen": 2.0, "book": 8.0}
if sys.argv[1] == "keeps":
    assert add({}, "pen", 2.0) == {"pen": 2.0}
elif sys.argv[1] == "total":
    assert total(cart) == 11.9
elif sys.argv[1] == "dearest":
    assert dearest(cart) == "book"
    assert dearest({}) is None
"""
ADD = "def add(cart, name, price):\n    return {**cart, name: price}\n"
TOTAL = "\n\ndef total(cart):\n    return round(sum(cart.values()) * 1.19, 2)\n"
DEAREST = "\n\ndef dearest(cart):\n    return max(cart, key=cart.get)\n"


class Faint(TwoScreens):
    """pyte does not know faint text; blinking, which nobody wants, stands for it."""

    def select_graphic_rendition(self, *numbers: int, **kwargs: Any) -> None:
        told = {2: (5,), 22: (22, 25)}
        attributes = [each for number in numbers for each in told.get(number, (number,))]
        super().select_graphic_rendition(*attributes, **kwargs)


def cells_of_a_run() -> list[list[Char]]:
    """The screen of `ralphloop run` while its agent works on the third of five tasks."""
    binary = find_client()
    if binary is None:
        raise SystemExit("Claude Code is not installed: run `make test` once, or name it in RALPHLOOP_CLAUDE")
    with scratch_folder("ralphloop-screen-") as folder:
        (folder / "home").mkdir()
        root = project(folder / "web")
        enough = threading.Event()
        with running(ClientHome(folder / "home", binary), root, list(turns(root, enough))) as stage:
            words = stage.words(*TITLE.split()[1:], "--yes", "--model", MODEL)
            with CommandScreen(words, cwd=root, env=stage.env(), columns=COLUMNS, rows=ROWS) as screen:
                screen.wait_for(is_telling, deadline_s=90)
                drawn = screen.written
                enough.set()
    return replayed(drawn)


def replayed(drawn: bytes) -> list[list[Char]]:
    screen = Faint(COLUMNS, ROWS)
    pyte.ByteStream(screen).feed(drawn)
    return [[screen.buffer[row][column] for column in range(COLUMNS)] for row in range(ROWS)]


def project(root: Path) -> Path:
    listed = [
        {"id": f"F{place}", "description": title, "verify": check, "passes": False}
        for place, (title, check) in enumerate(TASKS.items(), 1)
    ]
    files = {
        ".ralph/loops/shop/feature_list.json": json.dumps({"features": listed}, indent=2),
        ".ralph/loops/shop/RALPH_PROMPT.md": "Work through the feature list.\n",
        ".ralph/loops/shop/progress.txt": "Status: NOT_STARTED\n",
        ".claude/settings.json": json.dumps({"permissions": {"allow": ["Bash(python3 -B test_shop.py *)"]}}),
        "test_shop.py": TESTS,
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return root


def turns(root: Path, enough: threading.Event) -> Iterator[Reply]:
    """What the model says, with the tokens that such a turn uses; the last reply comes after the picture."""
    shop = str(root / "shop.py")
    first = [
        call("Write", say="A dictionary of prices will do.", file_path=shop, content=ADD),
        bash("ralphloop done F1"),
        text("The cart keeps its items."),
        call("Write", say="The tax goes on the sum.", file_path=shop, content=ADD + TOTAL),
        bash("ralphloop done F2"),
        text("The total is right."),
    ]
    # A pause, because the view looks for the transcript of a new session only now and then.
    second = [
        call("Read", file_path=shop).after(4),
        call("Edit", say="It is the one with the highest price.", file_path=shop,
             old_string=TOTAL, new_string=TOTAL + DEAREST).after(1),
        bash("ralphloop done F3").after(1),
        text("F3 is done."),
        call("Edit", say=LAST_WORDS, file_path=shop,
             old_string="key=cart.get)", new_string="key=cart.get, default=None)"),
    ]  # fmt: skip
    for session in (first, second):
        for place, reply in enumerate(session):
            context = 46_000 + 4_700 * place
            yield reply.using(input_tokens=900, cache_read_input_tokens=context, output_tokens=640)
    yield text("Later.").held(enough)


def bash(command: str) -> Reply:
    return call("Bash", command=command, description="a step of the task")


def is_telling(screen: str) -> bool:
    """Whether the refused claim, the last edit and the next iteration are on it."""
    return all(words in screen for words in (LAST_WORDS, "default=None", "refused task F3", "iteration 4/"))


class Run(NamedTuple):
    """Neighbouring cells of one look."""

    column: int
    text: str
    front: str
    back: str
    bold: bool


def runs(cells: list[Char]) -> Iterator[Run]:
    column = 0
    for look, group in groupby(cells, key=_look):
        said = "".join(cell.data for cell in group)
        if said.strip() or look[1] != BACK:
            yield Run(column, said, *look)
        column += len(said)


def _look(cell: Char) -> tuple[str, str, bool]:
    front = FAINT if cell.blink else _colour(cell.fg, FRONT)
    back = _colour(cell.bg, BACK)
    return (back, front, cell.bold) if cell.reverse else (front, back, cell.bold)


def _colour(name: str, usual: str) -> str:
    if name == "default":
        return usual
    return COLOURS.get(name.removeprefix("bright"), f"#{name}")


def svg(rows: list[list[Char]]) -> str:
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, ROWS * CELL_HEIGHT + 2 * MARGIN + BAR
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{TITLE}">',
        *_window(width, height),
        f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" xml:space="preserve" style="white-space: pre">',
    ]
    lines += [drawn for row, cells in enumerate(rows) for run in runs(cells) for drawn in _drawn(run, row)]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _window(width: float, height: float) -> Iterator[str]:
    yield f'<rect width="{width:g}" height="{height:g}" rx="9" fill="{BACK}"/>'
    yield f'<path d="M0 {BAR:g}V9a9 9 0 0 1 9-9H{width - 9:g}a9 9 0 0 1 9 9V{BAR:g}z" fill="{FRAME}"/>'
    for place, name in enumerate(("red", "brown", "green")):
        yield f'<circle cx="{20 + 18 * place}" cy="{BAR / 2:g}" r="5" fill="{COLOURS[name]}"/>'
    middle = f'x="{width / 2:g}" y="{BAR / 2 + 5:g}" text-anchor="middle"'
    yield f'<text {middle} font-family="sans-serif" font-size="13" fill="{FAINT}">{TITLE}</text>'


def _drawn(run: Run, row: int) -> Iterator[str]:
    left, top = MARGIN + run.column * CELL_WIDTH, BAR + MARGIN + row * CELL_HEIGHT
    if run.back != BACK:
        size = f'width="{len(run.text) * CELL_WIDTH:g}" height="{CELL_HEIGHT:g}"'
        yield f'<rect x="{left:g}" y="{top:g}" {size} fill="{run.back}"/>'
    said = run.text.strip()
    if not said:
        return
    left += (len(run.text) - len(run.text.lstrip())) * CELL_WIDTH
    # The length holds the columns whatever font the reader has.
    place = f'x="{left:g}" y="{top + BASELINE:g}" textLength="{len(said) * CELL_WIDTH:g}"'
    weight = ' font-weight="bold"' if run.bold else ""
    yield f'<text {place} fill="{run.front}"{weight}>{escape(said)}</text>'


if __name__ == "__main__":
    Path(sys.argv[1] if sys.argv[1:] else PICTURE).write_text(svg(cells_of_a_run()), encoding="utf-8")

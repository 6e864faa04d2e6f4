"""The README's picture: a whole SVG that shows the view and nothing of the machine it was made on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from e2e.client import REPOSITORY

PICTURE = REPOSITORY / "docs/images/run.svg"
SCRIPT = REPOSITORY / "scripts/draw_screen.py"
TEXT = "{http://www.w3.org/2000/svg}text"

# What the README says about it, and what a reader should find in the view.
WORDS = (
    "running", "iteration 4/15", "2/5 done", "session 2", "F2", "proven", "Name the dearest item", "1x",
    "refused task F3", "Edit shop.py", "of $5.00", "context", "% of 200k", "q quit, keep running",
)  # fmt: skip


def shown(picture: Path) -> str:
    """Its texts; a file that is not well-formed fails here."""
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    return "\n".join(text.text or "" for text in root.iter(TEXT))


def check(picture: Path) -> None:
    text = shown(picture)
    assert [words for words in WORDS if words not in text] == []
    assert (
        re.findall(r"/(?:home|root|tmp|Users|private|var|work)\b", picture.read_text(encoding="utf-8")) == []
    )


def test_the_picture_shows_the_view_and_no_path_of_a_machine() -> None:
    check(PICTURE)


def test_the_readme_shows_the_picture_and_says_what_is_on_it() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"!\[([^]]+)\]\(docs/images/run\.svg\)", readme)
    assert "two of five tasks are proven" in told


@pytest.mark.client
@pytest.mark.timeout(180)
def test_the_picture_can_be_made_again(claude_binary: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.svg"
    env = {
        "HOME": str(tmp_path),
        "PATH": os.defpath,
        "RALPHLOOP_CLAUDE": str(claude_binary),
    }
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(again)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check(again)
    size = r'<svg [^>]*viewBox="([^"]+)"'
    assert re.findall(size, again.read_text()) == re.findall(size, PICTURE.read_text())

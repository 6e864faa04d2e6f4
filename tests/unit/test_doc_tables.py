"""The tables of the documents are what the tables of the source say, written by one script."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "doc_tables.py"


def run(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, *words], stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


def test_every_page_is_what_the_tables_say() -> None:
    assert run("--check") == (0, "")


def test_a_page_that_was_edited_by_hand_is_noticed_and_made_anew(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "outcomes.md"
    page.write_text(
        page.read_text().replace("| paused | the service refused", "| ended | the service refused")
    )
    code, said = run("--check", tmp_path)
    assert code == 1
    assert said == (
        f"{page} is not what the tables say\nrenew with: python scripts/doc_tables.py {tmp_path}\n"
    )
    assert run(tmp_path) == (0, "")
    assert page.read_text() == (REPOSITORY / "docs" / "outcomes.md").read_text()

"""What the documents say works: their console sessions run, their links lead somewhere, and every command
and outcome is in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.client import REPOSITORY
from ralphloop.cli.main import COMMANDS
from ralphloop.domain.model import OUTCOMES

PAGES = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "benchmarks/README.md",
]
IDEAS = "- Add a cart\n  - it keeps its items after a reload\n- Add a checkout\n- Send a receipt\n"


def fenced(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def commands(session: str) -> list[str]:
    return [line[2:] for line in session.splitlines() if line.startswith("$ ")]


def with_sessions() -> list[Path]:
    return [page for page in PAGES if fenced(page, "console")]


@pytest.mark.parametrize("page", with_sessions(), ids=lambda page: page.name)
def test_console_sessions_work_as_pasted(page: Path, tmp_path: Path) -> None:
    project = tmp_path / "your-project"
    project.mkdir()
    (project / "ideas.md").write_text(IDEAS, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    script = "\n".join(line for session in fenced(page, "console") for line in commands(session))
    env = {"HOME": str(tmp_path), "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath])}
    done = subprocess.run(
        ["sh", "-eu", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_readme_has_a_console_session() -> None:
    assert PAGES[0] in with_sessions()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_of_the_repository(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_make_targets_of_the_first_screen_exist() -> None:
    first_screen = "\n".join(PAGES[0].read_text(encoding="utf-8").splitlines()[:20])
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in first_screen
        assert re.search(rf"^{target}:", makefile, re.M)


def test_every_command_is_documented() -> None:
    page = (REPOSITORY / "docs/commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`{name}" not in page] == []


def test_every_outcome_is_documented() -> None:
    page = (REPOSITORY / "docs/outcomes.md").read_text(encoding="utf-8")
    assert [outcome for outcome in OUTCOMES if f"`{outcome}`" not in page] == []

"""What the documents say works: their console sessions run, their links lead somewhere, and every command
and outcome is in them."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from e2e.client import REPOSITORY, ClientHome
from e2e.looping import bash
from e2e.running import running, task_in
from ralphloop.cli.main import COMMANDS
from ralphloop.domain.model import OUTCOMES
from ralphloop.lab.model_server import ModelRequest
from ralphloop.lab.reply import Reply, text

PAGES = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "docs/design").glob("*.md")),
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "benchmarks/README.md",
]
IDEAS = "- Add a cart\n  - it keeps its items after a reload\n- Add a checkout\n- Send a receipt\n"


def fenced(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


def commands(session: str) -> list[str]:
    """What is typed, line by line; `> ` is the rest of a command."""
    return [line[2:] for line in session.splitlines() if line.startswith(("$ ", "> "))]


def script_of(page: Path) -> str:
    return "\n".join(line for session in fenced(page, "console") for line in commands(session))


def with_sessions(*, of_the_client: bool) -> list[Path]:
    """The pages to be tried; test_tutorial.py reads its page itself, word by word."""
    pages = [page for page in PAGES if script_of(page) and page.name != "tutorial.md"]
    return [page for page in pages if ("ralphloop run" in script_of(page)) == of_the_client]


def project_of(folder: Path) -> Path:
    project = folder / "your-project"
    project.mkdir()
    (project / "ideas.md").write_text(IDEAS, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    return project


def paste(page: Path, folder: Path, env: Mapping[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-eu", "-c", script_of(page)], cwd=folder, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", with_sessions(of_the_client=False), ids=lambda page: page.name)
def test_console_sessions_work_as_pasted(page: Path, tmp_path: Path) -> None:
    project_of(tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    paste(page, tmp_path, {"HOME": str(tmp_path), "PATH": path})


@pytest.mark.client
@pytest.mark.timeout(240)
@pytest.mark.parametrize("page", with_sessions(of_the_client=True), ids=lambda page: page.name)
def test_console_sessions_with_the_client_work_as_pasted(
    page: Path, client_home: ClientHome, tmp_path: Path
) -> None:
    def answer(request: ModelRequest) -> Reply:
        task = task_in(request)
        if task in claimed:
            return text(f"{task} is done.")
        claimed.append(task)
        return bash(f"ralphloop done {task}")

    root, claimed = project_of(tmp_path.resolve()), list[str]()
    with running(client_home, root, answer) as stage:
        paste(page, root.parent, stage.env())
        assert stage.processes() == {}
    complete = [loop["name"] for loop in stage.outside.loops() if loop["outcome"] == "complete"]
    assert complete == re.findall(r"ralphloop run (\w+)", script_of(page))


def test_readme_has_a_console_session_with_the_client() -> None:
    assert PAGES[0] in with_sessions(of_the_client=True)


def test_links_lead_to_files_of_the_repository() -> None:
    for page in PAGES:
        links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
        local = [link for link in links if "://" not in link]
        assert [link for link in local if not (page.parent / link).exists()] == [], page.name


def anchors(page: Path) -> set[str]:
    return anchors_of(page.read_text(encoding="utf-8"))


def anchors_of(text: str) -> set[str]:
    """The places of a page that a link can lead to, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_into_a_page_lead_to_its_headings() -> None:
    for page in PAGES:
        links = re.findall(r"\]\(([^):]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
        lost = [link for link in links if link[1] not in anchors(page.parent / link[0] if link[0] else page)]
        assert lost == [], page.name


def test_the_readme_lists_every_page() -> None:
    listed = PAGES[0].read_text(encoding="utf-8").partition("\n## More\n")[2]
    pages = [page.name for page in (REPOSITORY / "docs").glob("*.md")]
    assert [name for name in pages if f"(docs/{name})" not in listed] == []


def test_the_first_screen_has_all_that_a_beginner_needs() -> None:
    """What it is, how to see it work and to install it, a session to paste, and how to stop a loop."""
    readme = PAGES[0].read_text(encoding="utf-8")
    first_screen = "\n".join(readme.splitlines()[:36])
    for needed in (
        "**ralphloop keeps", "make demo", "pipx install .", "-m venv", "npm install -g", "\n$ ralphloop run",
        "**To stop it**", "`ralphloop pause`", "`ralphloop cancel`",
    ):  # fmt: skip
        assert needed in first_screen
    assert len(readme.splitlines()) <= 201


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)(?=`|  )", PAGES[0].read_text(encoding="utf-8")))
    assert {"demo", "test", "test-slow"} <= targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.M)] == []


def test_every_command_is_documented() -> None:
    page = (REPOSITORY / "docs/commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`{name}" not in page] == []


def parsers(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, below in action.choices.items():
                yield from parsers(below, f"{name} {verb}")


def test_every_command_with_json_is_documented_as_such() -> None:
    having: set[str] = set()
    for name, (module, _) in COMMANDS.items():
        parser = argparse.ArgumentParser()
        importlib.import_module(module).configure(parser)
        having |= {
            called for called, each in parsers(parser, name) if "--json" in each._option_string_actions
        }
    page = (REPOSITORY / "docs/commands.md").read_text(encoding="utf-8")
    told = page.partition("`--json` prints JSON for scripts (")[2].partition(";")[0]
    assert set(re.findall(r"`([a-z ]+)`", told)) == having


@pytest.mark.slow
def test_the_cases_that_show_a_difference_hold() -> None:
    page = (REPOSITORY / "docs/differences.md").read_text(encoding="utf-8")
    cases = re.findall(r"`((?:features|specum|speckit)/[a-z-]+)`", page)
    only = [word for case in cases for word in ("--only", f"{case}.toml")]
    done = subprocess.run(
        [sys.executable, "-m", "ralphloop", "conformance", "--json", *only],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    played = [case["file"] for case in json.loads(done.stdout)["cases"] if case["result"] == "passed"]
    assert sorted(played) == sorted(f"{case}.toml" for case in cases)


def test_every_outcome_is_documented() -> None:
    page = (REPOSITORY / "docs/outcomes.md").read_text(encoding="utf-8")
    assert [outcome for outcome in OUTCOMES if f"`{outcome}`" not in page] == []

"""Each import contract fails where it is broken: a copy of the package in which every one of them is."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "ralphloop"

# contract -> a module, and the line that breaks the contract there
PLANTED = {
    "Dependencies point down": ("domain/prompt.py", "import ralphloop.store.files"),
    "No module leads back to itself": ("store/files.py", "import ralphloop.store.arming"),
    "A command about a loop asks loops": ("cli/pause.py", "import ralphloop.store.loop"),
    "The laboratory is apart": ("entry.py", "import ralphloop.lab.forked"),
    "Loops need no terminal": ("loops/task.py", "import argparse"),
    "Only the hook knows the client's JSON": ("loops/task.py", "import ralphloop.hook.wire"),
    "A client is asked through the registry": ("views/figure.py", "import ralphloop.agents.claude.usage"),
    "The hot path imports nothing heavy": ("engine/stop.py", "import re"),
}
# The scripted model server is a program of its own, which tells its address.
PRINTS = ("lab/model_server.py",)


def contracts_of(folder: Path) -> dict[str, str]:
    """Each contract with what import-linter says of it."""
    words = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    done = subprocess.run(
        [*words, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    said = done.stdout.splitlines()
    found = {}
    for line in said:
        for verdict in (" KEPT", " BROKEN"):
            if verdict in line:
                found[line.partition(verdict)[0].strip()] = verdict.strip()
    assert found, done.stdout + done.stderr
    return found


def test_a_planted_violation_breaks_each_contract(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "src/ralphloop", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    for module, line in PLANTED.values():
        path = tmp_path / "src/ralphloop" / module
        path.write_text(path.read_text() + f"\n{line}\n")
    found = contracts_of(tmp_path)
    assert found == dict.fromkeys(PLANTED, "BROKEN")


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def called(tree: ast.Module) -> set[str]:
    names = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {name.id for name in names if isinstance(name, ast.Name)}


def test_nothing_outside_the_command_line_takes_its_arguments_or_prints():
    odd = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/"):
            continue
        tree = ast.parse(path.read_text())
        takes = [one.name for one in functions(tree) if "Namespace" in ast.dump(one.args)]
        prints = called(tree) & {"print", "input"} if name not in PRINTS else set()
        if takes or prints:
            odd.append((name, takes, sorted(prints)))
    assert not odd

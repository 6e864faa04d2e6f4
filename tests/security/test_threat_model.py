"""SECURITY.md: each answer names the tests that show it, and they are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
MODEL = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", MODEL)
ROWS = [
    row for row in MODEL.splitlines() if row.startswith("|") and "---" not in row and "shown by" not in row
]


def functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_that_is_named_is_there() -> None:
    assert len(NAMED) > 15
    there = {file: functions(file) for file, _ in NAMED}
    assert [f"{file}::{name}" for file, name in NAMED if name not in there[file]] == []


def test_every_answer_names_a_test() -> None:
    assert len(ROWS) > 15
    assert [row for row in ROWS if ".py::test_" not in row.rpartition(" | ")[2]] == []


def test_every_module_of_security_tests_is_named() -> None:
    """But for this one, which is about the document itself."""
    modules = {path.name for path in TESTS.glob("security/test_*.py")} - {Path(__file__).name}
    assert modules
    assert [name for name in sorted(modules) if f"security/{name}::" not in MODEL] == []


def test_it_stays_short() -> None:
    assert len(MODEL.splitlines()) <= 150

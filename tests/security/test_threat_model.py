"""SECURITY.md: each answer names the tests that show it, and they are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
MODEL = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", MODEL)
ROWS = [
    row for row in MODEL.splitlines() if row.startswith("|") and "---" not in row and "shown by" not in row
]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_test_that_is_named_is_there(file: str, name: str) -> None:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_answer_names_a_test() -> None:
    assert len(ROWS) > 15
    assert [row for row in ROWS if ".py::test_" not in row.rpartition(" | ")[2]] == []


@pytest.mark.parametrize("module", sorted(TESTS.glob("security/test_*.py")), ids=lambda path: path.stem)
def test_every_module_of_security_tests_is_named(module: Path) -> None:
    """But for this one, which is about the document itself."""
    assert module.name == Path(__file__).name or f"security/{module.name}::" in MODEL


def test_it_stays_short() -> None:
    assert len(MODEL.splitlines()) <= 150

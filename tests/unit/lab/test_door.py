"""What docs/testing.md and docs/conformance.md import is there by that name, and is the laboratory's own."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"
DOOR, LAB = "ralphloop.testing", "ralphloop.lab"


def published() -> list[tuple[str, str]]:
    """Each module and name that a Python block of the documents imports through the door."""
    text = "".join((DOCS / name).read_text() for name in ("testing.md", "conformance.md"))
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return [(node.module, one.name) for node in imports for one in node.names if node.module.startswith(DOOR)]


def test_what_the_documents_import_is_the_laboratory_s_own():
    found = published()
    assert len(found) > 5
    for module, name in [*found, (f"{DOOR}.agent", "ScriptedAgent"), (f"{DOOR}.step", "Say")]:
        owner = importlib.import_module(module.replace(DOOR, LAB))
        assert getattr(importlib.import_module(module), name) is getattr(owner, name), (module, name)

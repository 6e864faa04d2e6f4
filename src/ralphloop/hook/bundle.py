"""Builds one file of byte code from the hot modules: importing them one by one from disk costs more
than the whole decision."""

from __future__ import annotations

import ast
import marshal
import os
import sys

from ralphloop.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

PACKAGES = ("domain", "tasklists", "store", "engine", "hook")
MODULES = ("error_tree.py", "errors.py", "posix_path.py", "system.py")
# Started by hand, or needed only here.
LEFT_OUT = ("launch.py", "bundle.py")


def write(folder: str) -> None:
    """Put the bundle where the interpreter keeps its own byte code."""
    target = os.path.join(folder, "__pycache__")
    os.makedirs(target, mode=0o755, exist_ok=True)  # whoever can write there decides what runs
    name = "hook.%s.bundle" % sys.implementation.cache_tag
    files.write_bytes(os.path.join(target, name), build(folder))


def build(folder: str) -> bytes:
    """The size of an index, the index, and one module's code after the other, to be read when wanted."""
    modules: dict[str, tuple[str, bool, int, int]] = {}
    index: dict[str, Any] = {"modules": modules, "sources": []}
    codes = b""
    for path in _sources(folder):
        code = _compile(folder + path, index["sources"], path)
        if path.endswith("/finder.py"):
            index["finder"] = code
            continue
        data = marshal.dumps(code)
        package, _, name = path[1:-3].rpartition("/")
        parts = ["ralphloop", package, "" if name == "__init__" else name]
        modules[".".join(filter(None, parts))] = (path, name == "__init__", len(codes), len(data))
        codes += data
    head = marshal.dumps(index)
    return len(head).to_bytes(4, "little") + head + codes


def _sources(folder: str) -> list[str]:
    found = ["/" + name for name in MODULES]
    for package in PACKAGES:
        names = files.names(os.path.join(folder, package))
        found += [
            "/%s/%s" % (package, name) for name in names if name.endswith(".py") and name not in LEFT_OUT
        ]
    return found


def _compile(path: str, sources: list[tuple[str, int, int]], shown: str) -> Any:
    """The size and time are taken before the text is read: a change in between makes it stale, not wrong."""
    found = os.stat(path)
    sources.append((shown, found.st_size, found.st_mtime_ns))
    tree = _Unannotated().visit(ast.parse(files.read_text(path) or "", path))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True, optimize=2)


class _Unannotated(ast.NodeTransformer):
    """Takes out what only readers and type checkers need, and the import that permits it."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Optional[ast.AST]:
        return None if node.module == "__future__" else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Optional[ast.AST]:
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

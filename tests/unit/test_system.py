"""The hot path's own part of `os`: it gives what `os` gives."""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

posix_path = pytest.importorskip("ralphloop.posix_path", reason="for POSIX only")

PACKAGE = Path(posix_path.__file__).parent
PIECES = ["", ".", "..", "/", "//", "a", "b c", ".hidden", "ünï", "\udc80", "~"]
PATHS = ["".join(parts) for n in (1, 2, 3, 4) for parts in itertools.product(PIECES, repeat=n)]


@pytest.mark.parametrize("name", ["normpath", "split", "dirname", "basename", "isabs", "splitdrive"])
def test_texts_of_paths_are_taken_apart_as_by_os(name: str) -> None:
    ours, theirs = getattr(posix_path, name), getattr(os.path, name)
    assert [path for path in PATHS if ours(path) != theirs(path)] == []


def test_paths_are_joined_as_by_os() -> None:
    pairs = list(itertools.product(PATHS[:1500:7], PATHS[:1500:11]))
    assert [pair for pair in pairs if posix_path.join(*pair) != os.path.join(*pair)] == []
    assert posix_path.join("a", "b", "c") == "a/b/c"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files, folders, and links that are good, broken, circular, relative, absolute and chained."""
    (tmp_path / "folder/deep").mkdir(parents=True)
    (tmp_path / "folder/file").touch()
    links = {
        "to-file": "folder/file", "to-folder": "folder", "up": "folder/../folder/deep", "gone": "nowhere/at",
        "one": "two", "two": "one", "self": "self", "chain": "to-folder/deep", "folder/back": "..",
        "absolute": str(tmp_path / "folder"), "dots": "./folder//./deep/.",
    }  # fmt: skip
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    return tmp_path


def looked_at(tree: Path) -> list[str]:
    names = ["", *(str(path.relative_to(tree)) for path in tree.rglob("*"))]
    tails = ["", "/", "/..", "/../folder", "/deep/../file", "/none", "/./deep"]
    return [f"{tree}/{name}{tail}" for name in names for tail in tails] + ["a\0b", "", "/", "//", "/.."]


@pytest.mark.parametrize("name", ["exists", "lexists", "isfile", "isdir", "islink"])
def test_files_are_told_apart_as_by_os(tree: Path, name: str) -> None:
    ours, theirs = getattr(posix_path, name), getattr(os.path, name)
    assert [path for path in looked_at(tree) if ours(path) != theirs(path)] == []


def test_links_are_resolved_as_by_os(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    circular = ("one", "two", "self")
    paths = [path for path in looked_at(tree) if not any(f"/{name}" in path for name in circular)]
    near = [os.path.relpath(path, tree) for path in paths if path.startswith(str(tree))]
    paths = [path for path in [*paths, *near] if "\0" not in path]
    assert [path for path in paths if posix_path.realpath(path) != os.path.realpath(path)] == []
    assert posix_path.abspath("folder/../x") == os.path.abspath("folder/../x")


def test_a_circle_of_links_ends(tree: Path) -> None:
    for name in ("one", "self/x"):
        assert posix_path.realpath(f"{tree}/{name}").startswith(str(tree))


@pytest.mark.parametrize("path", ["~", "~/x", "~/", "x", "/x/~", "~nobody-here/x"])
def test_the_home_folder_is_put_in_as_by_os(path: str) -> None:
    assert posix_path.expanduser(path) == os.path.expanduser(path)


def run_bare(code: str, tmp_path: Path) -> str:
    """Run code as the launcher does: bare interpreter, the package found without its folder's name."""
    head = "import sys; package = type(sys)('ralphloop'); sys.modules['ralphloop'] = package\n"
    head += f"package.__path__ = [{str(PACKAGE)!r}]\n"
    env = {"HOME": str(tmp_path), "LANG": "C.UTF-8", "ODD": "\udc80"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", head + code], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bare_part_works_without_os(tmp_path: Path) -> None:
    out = run_bare(
        "from ralphloop import system\n"
        "assert 'os' not in sys.modules\n"
        "system.makedirs('a/b/c', exist_ok=True)\n"
        "system.makedirs('a/b/c', exist_ok=True)\n"
        "assert system.path.isdir('a/b/c') and system.environ['ODD'] == '\\udc80'\n"
        "assert system.fsencode(system.environ['ODD']) == b'\\x80'\n"
        "print(system.path.expanduser('~'), system.getcwd())\n",
        tmp_path,
    )
    assert out.split() == [str(tmp_path), str(tmp_path.resolve())]


@pytest.mark.parametrize("target", ["file", "file/below", "made"])
def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "made").mkdir()
    out = run_bare(
        "from ralphloop import system\n"
        f"try:\n    system.makedirs({target!r})\nexcept OSError as error:\n    print(type(error).__name__)\n",
        tmp_path,
    )
    expected = {"file": "FileExistsError", "file/below": "NotADirectoryError", "made": "FileExistsError"}
    with pytest.raises(OSError, match=re.escape(target)) as raised:
        os.makedirs(tmp_path / target)
    assert out.strip() == type(raised.value).__name__ == expected[target]


def test_every_name_that_the_hot_path_uses_is_there(tmp_path: Path) -> None:
    """A name that only `os` has would fail on a rare branch, in the hook alone."""
    used = set()
    for folder in ("domain", "tasklists", "store", "engine", "hook"):
        for file in (PACKAGE / folder).glob("*.py"):
            if file.name == "bundle.py":
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute):
                    used.add(ast.unparse(node))
    plain = re.compile(r"os\.(\w+|path\.\w+)")
    names = sorted(found[1] for found in map(plain.fullmatch, used) if found)
    assert "path.join" in names
    optional = {"O_BINARY"}
    check = "from ralphloop import system\nimport posix\n" + "".join(
        f"system.{name}\n" for name in names if name not in optional
    )
    run_bare(check, tmp_path)


def test_a_full_path_needs_no_working_directory(tmp_path: Path) -> None:
    folder = tmp_path / "removed"
    folder.mkdir()
    out = run_bare(
        f"import posix\nposix.chdir({str(folder)!r})\nposix.rmdir({str(folder)!r})\n"
        "from ralphloop.posix_path import abspath, realpath\n"
        "print(abspath('/a/../b'), realpath('/a/../b'))\n",
        tmp_path,
    )
    assert out.split() == ["/b", "/b"]

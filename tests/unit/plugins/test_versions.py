"""Versions of the plugins: what changed gets a new one, and every place says the same."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
PARTS = (".claude-plugin", "plugins", "src")


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "plugin_versions", REPOSITORY / "scripts/plugin_versions.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


versions = _script()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A copy of the marketplace whose versions are published."""
    for part in PARTS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / part, tmp_path / part, symlinks=True, ignore=ignored)
    versions.Marketplace(tmp_path).publish()
    return tmp_path


def version_of(root: Path, name: str) -> tuple[str, str]:
    market = versions.Marketplace(root)
    return market.version(name), market.listed(name)


def test_versions_fit_what_was_published() -> None:
    """If this fails, run `python scripts/plugin_versions.py`."""
    assert versions.Marketplace(REPOSITORY).faults() == []


def test_versions_are_those_that_the_documents_ask_for() -> None:
    market = versions.Marketplace(REPOSITORY)
    assert market.names == ["ralphloop", "ralph-specum", "ralph-speckit"]
    assert [int(part) for part in market.version("ralph-specum").split(".")] > [3, 1, 1]
    assert [int(part) for part in market.version("ralph-speckit").split(".")] >= [1, 0, 0]


def test_unchanged_plugins_keep_their_versions(published: Path) -> None:
    before = [version_of(published, name) for name in ("ralphloop", "ralph-specum", "ralph-speckit")]
    assert versions.main([], published) == 0
    assert [version_of(published, name) for name in ("ralphloop", "ralph-specum", "ralph-speckit")] == before


def test_only_the_changed_plugin_rises_and_both_files_say_so(published: Path) -> None:
    market = versions.Marketplace(published)
    speckit, specum = market.version("ralph-speckit"), market.version("ralph-specum")
    (published / "plugins/ralph-speckit/README.md").write_text("changed\n")
    assert versions.main(["--check"], published) == 1
    assert versions.main([], published) == 0
    risen = version_of(published, "ralph-speckit")
    assert risen[0] == risen[1] == _next_patch(speckit)
    assert version_of(published, "ralph-specum") == (specum, specum)
    assert versions.main([], published) == 0
    assert version_of(published, "ralph-speckit") == risen


def _next_patch(version: str) -> str:
    first, second, last = version.split(".")
    return f"{first}.{second}.{int(last) + 1}"


def test_change_of_the_source_tree_raises_all_of_them_and_the_package(published: Path) -> None:
    before = {name: version_of(published, name)[0] for name in versions.Marketplace(published).names}
    source = published / "src/ralphloop/domain/decide.py"
    source.write_text(source.read_text() + "\n")
    assert versions.main(["--minor"], published) == 0
    for name, version in before.items():
        assert version_of(published, name)[0].split(".")[1] == str(int(version.split(".")[1]) + 1)
    told = (published / "src/ralphloop/version.py").read_text()
    assert f'"{version_of(published, "ralphloop")[0]}"' in told


def test_other_bytes_of_the_manifests_stay(published: Path) -> None:
    (published / "plugins/ralphloop/README.md").write_text("changed\n")
    path = published / ".claude-plugin/marketplace.json"
    before = path.read_text()
    old = version_of(published, "ralphloop")[0]
    assert versions.main([], published) == 0
    new = version_of(published, "ralphloop")[0]
    assert path.read_text() == before.replace(f'"version": "{old}"', f'"version": "{new}"', 1)


def test_versions_that_differ_are_told(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = published / ".claude-plugin/marketplace.json"
    listing = json.loads(path.read_text())
    listing["plugins"][1]["version"] = "9.9.9"
    path.write_text(json.dumps(listing, indent=2))
    assert versions.main(["--check"], published) == 1
    assert "ralph-specum is" in capsys.readouterr().err
    assert versions.main(["--publish"], published) == 1

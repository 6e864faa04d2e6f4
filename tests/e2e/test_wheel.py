"""What is built to be published: it holds everything that runs, and an index can show it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from e2e.client import REPOSITORY
from e2e.packing import PYTHON, fill, must
from e2e.test_docs import anchors_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(REPOSITORY, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    must([sys.executable, "-m", "hatchling", "build", "--target", "sdist", "-d", folder], cwd=REPOSITORY)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Metadata:
    """What a package index reads, looked over by its own rules."""
    return Metadata.from_email(metadata_of(wheel), validate=True)


def build_wheel(source: Path, folder: Path) -> Path:
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    must([sys.executable, *build, "--wheel-dir", folder, source])
    (built,) = folder.glob("*.whl")
    return built


def metadata_of(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name)


def files_of(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_wheel_holds_what_is_not_python(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "ralphloop/hook/guard.sh",
        "ralphloop/loops/templates/RALPH_PROMPT.md",
        "ralphloop/py.typed",
        "ralphloop/lab/conformance/data/cases/none/no-list.toml",
    ):
        assert needed in names


def test_wheel_needs_what_contributing_gives_a_reason_for(wheel: Path) -> None:
    needed = re.findall(r"^Requires-Dist: ([\w-]+)", metadata_of(wheel).decode(), re.MULTILINE)
    reasons = (REPOSITORY / "CONTRIBUTING.md").read_text().partition("| at run time |")[2]
    assert needed == ["rich", "tomli"]
    assert all(f"| {name}" in reasons for name in needed)


def run_unpacked(wheel: Path, folder: Path, *words: str) -> str:
    """What a command prints, unpacked with the mode that a zip gives: nothing is executable."""
    site = folder / "a site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    base = Path(sys.base_prefix) / "bin" / "python3"
    done = subprocess.run(
        [str(base), "-m", "ralphloop", *words],
        cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_demo_runs_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    assert "outcome         complete" in run_unpacked(wheel, tmp_path, "demo", "--fast")


def test_the_conformance_suite_runs_from_the_unpacked_wheel(wheel: Path, tmp_path: Path) -> None:
    """Its cases are in the wheel, and the hook is the one that `install` would register."""
    told = run_unpacked(wheel, tmp_path, "conformance", "--only", "*/another-session.toml")
    assert "all               2        0        0        2" in told


def test_wheel_of_the_sdist_is_the_wheel_of_the_tree(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """File by file; and the links of the plugins, which once hid `src`, are no part of it."""
    names = {name.partition("/")[2] for name in must(["tar", "--list", "--file", sdist]).splitlines()}
    assert {"src/ralphloop/cli/main.py", "conformance/clauses.md", "LICENSE", "README.md"} <= names
    assert [name for name in names if name.startswith(("plugins/", "tests/", "."))] == [".gitignore"]
    assert files_of(build_wheel(sdist, tmp_path)) == files_of(wheel)


def test_demo_is_green_in_an_empty_venv_with_the_wheel_of_the_sdist(sdist: Path, tmp_path: Path) -> None:
    built, venv = build_wheel(sdist, tmp_path), tmp_path / "venv"
    shelf = fill(tmp_path / "shelf")
    must([PYTHON, "-m", "venv", venv])
    must([venv / "bin/pip", "--isolated", "install", "--quiet", "--no-index", "--find-links", shelf, built])
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    told = must([venv / "bin/ralphloop", "demo"], cwd=tmp_path, env=env)
    assert "outcome         complete" in told
    assert must([venv / "bin/pip", "--isolated", "check"]) == "No broken requirements found.\n"


def test_metadata_has_an_address_for_everything(metadata: Metadata) -> None:
    urls = metadata.project_urls or {}
    assert list(urls) == ["Homepage", "Documentation", "Changelog", "Issues", "Source"]
    assert all(url.startswith(urls["Source"]) for url in urls.values())
    assert metadata.description_content_type == "text/markdown"


def test_links_and_pictures_of_the_description_lead_somewhere(metadata: Metadata) -> None:
    """A package index has no files beside the description."""
    text, source = metadata.description or "", (metadata.project_urls or {})["Source"]
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text)
    assert [link for picture, link in links if picture] == [f"{source}/raw/HEAD/docs/images/run.svg"]
    for _, link in links:
        address, _, place = link.partition("#")
        if not address:
            assert place in anchors_of(text), link
            continue
        assert address.startswith("https://"), link
        if address.startswith(source + "/"):
            path = re.sub(rf"^{re.escape(source)}/(blob|raw)/HEAD/", "", address)
            assert (REPOSITORY / path).is_file(), link


def test_every_link_of_the_readme_is_in_the_description(metadata: Metadata) -> None:
    """Word for word but for the addresses: nothing that only looks like a link was turned into one."""
    source = (metadata.project_urls or {})["Source"]
    back = re.sub(rf"\({re.escape(source)}/(?:blob|raw)/HEAD/", "(", metadata.description or "")
    assert back.strip() == (REPOSITORY / "README.md").read_text(encoding="utf-8").strip()

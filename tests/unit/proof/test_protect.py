"""Protected files: which a pattern names, what differs, and how it is put back."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ralphloop.proof import protect
from ralphloop.proof.protect import Protected, Touched
from unit.domain.cases import each
from unit.proof.loops import Checked, task

FILES = {"tests/a.py": "a\n", "tests/deep/b.py": "b\n", "tests/deep/er/c.py": "c\n", "src/x.py": "x\n"}


@pytest.fixture
def checked(tmp_path) -> Checked:
    return begun(tmp_path)


def begun(folder) -> Checked:
    found = Checked(folder).begin(task("F1", "true"), protect=["tests/**"])
    for path, text in FILES.items():
        found.project.write(path, text)
    return found


def protected(checked: Checked, *patterns: str) -> Protected:
    found = Protected(checked.loop, str(checked.root))
    if patterns:
        found.pin(patterns)
    return found


def shown(touched: list[Touched]) -> list[str]:
    return sorted(f"{entry.path} ({entry.what})" for entry in touched)


@each(
    ("path", "glob", "matches"),
    [
        ("tests/a.py", "tests/a.py", True),
        ("tests/a.py", "tests", True),
        ("tests/deep/b.py", "tests", True),
        ("tests/deep/b.py", "tests/deep", True),
        ("tests2/a.py", "tests", False),
        ("tests/a.py", "tests/*", True),
        ("tests/deep/b.py", "tests/*.py", False),
        ("tests/deep/b.py", "tests/*", True),
        ("tests/deep/b.py", "tests/**", True),
        ("tests/deep/b.py", "tests/**/*.py", True),
        ("tests/b.py", "tests/**/*.py", True),
        ("a/b/c/tests/d.py", "**/tests", True),
        ("tests", "**/tests", True),
        ("a/b.py", "**/*.py", True),
        ("b.py", "**/*.py", True),
        ("b.py", "*.py", True),
        ("a/b.py", "*.py", False),
        ("a/b.py", "?/b.py", True),
        ("a/B.py", "a/b.py", False),
        ("a/[x].py", "a/[[]x].py", True),
        ("a/b.py", ".", True),
        ("a/b.py", "**", True),
        ("a/b.py", "b.py", False),
        ("a/b/c", "a/**/b/**/c", True),
    ],
)
def test_a_star_stays_in_its_folder_and_two_go_through_any(path, glob, matches):
    assert protect.matches(path, glob) is matches


@each(
    ("patterns", "count"),
    [
        (["tests/**"], 3),
        (["tests"], 3),
        (["tests/", "./tests", " tests "], 3),
        (["tests/*.py"], 1),
        (["**/*.py"], 4),
        (["src", "tests/a.py"], 2),
        (["nothing/**"], 0),
        ([""], 0),
        (["../**"], 0),
        (["/etc/hostname"], 0),
        (["tests/../../**"], 0),
    ],
)
def test_files_that_a_pattern_names_below_the_project_are_kept(tmp_path, patterns, count):
    checked = begun(tmp_path)
    assert Protected(checked.loop, str(checked.root)).pin(patterns) == count


def test_what_tools_leave_behind_is_never_named(checked):
    for path in ("__pycache__/a.pyc", ".pytest_cache/x", "node_modules/y", ".DS_Store", "a.pyc"):
        checked.project.write("tests/" + path, "")
    assert Protected(checked.loop, str(checked.root)).pin(["tests"]) == 3


def test_the_repositorys_and_our_own_records_are_no_files_of_the_project(checked):
    before = Protected(checked.loop, str(checked.root)).pin(["**"])
    for path in (".git/config", ".ralph/run/x/loop.json"):
        checked.project.write(path, "")
    assert Protected(checked.loop, str(checked.root)).pin(["**"]) == before


def test_the_patterns_are_those_of_the_pinned_list(checked):
    assert protect.patterns_of(checked.loop) == ["tests/**"]
    checked.write(task("F1", "true"), protect=[])
    assert protect.patterns_of(checked.loop) == ["tests/**"]
    assert protect.pin(checked.loop, str(checked.root)) == 3


def test_nothing_is_known_until_it_is_pinned(checked):
    found = protected(checked)
    assert (found.pinned, found.differing(), found.put_back()) == (False, [], [])
    protected(checked, "tests/**")
    assert protected(checked).pinned


def test_what_is_as_it_was_does_not_differ(checked):
    protected(checked, "tests/**")
    os.utime(checked.root / "tests/a.py", (1, 1))
    checked.project.write("src/y.py", "")
    checked.project.write("src/x.py", "other")
    assert protected(checked).differing() == []


def test_changed_removed_and_added_are_told_apart_and_nothing_is_touched(checked):
    protected(checked, "tests/**")
    checked.project.write("tests/a.py", "easier")
    (checked.root / "tests/deep/b.py").unlink()
    checked.project.write("tests/new.py", "")
    told = ["tests/a.py (changed)", "tests/deep/b.py (removed)", "tests/new.py (added)"]
    assert shown(protected(checked).differing()) == told
    assert (checked.root / "tests/a.py").read_text() == "easier"


def test_put_back_restores_text_and_mode_and_keeps_what_it_replaced(checked):
    (checked.root / "tests/a.py").chmod(0o750)
    protected(checked, "tests/**")
    checked.project.write("tests/a.py", "easier")
    checked.project.write("tests/new.py", "new")
    (checked.root / "tests/a.py").chmod(0o600)
    found = protected(checked).put_back()
    assert all(entry.restored for entry in found)
    assert (checked.root / "tests/a.py").read_text() == "a\n"
    assert stat.S_IMODE((checked.root / "tests/a.py").stat().st_mode) == 0o750
    assert not (checked.root / "tests/new.py").exists()
    kept = Path(checked.loop.path("rejected")).iterdir()
    assert sorted(path.read_text() for path in kept) == ["easier", "new"]
    assert [sorted(row["files"]) for row in checked.journal("protected")] == [shown(found)]
    assert protected(checked).put_back() == []


def test_a_folder_that_is_gone_is_made_again(checked):
    protected(checked, "tests/**")
    os.rename(checked.root / "tests", checked.root / "elsewhere")
    assert all(entry.restored for entry in protected(checked).put_back())
    assert (checked.root / "tests/deep/er/c.py").read_text() == "c\n"


def test_a_link_in_a_files_place_is_replaced_and_not_followed(checked):
    protected(checked, "tests/a.py")
    (checked.root / "tests/a.py").unlink()
    (checked.root / "tests/a.py").symlink_to("../src/x.py")
    assert shown(protected(checked).put_back()) == ["tests/a.py (changed)"]
    assert (checked.root / "src/x.py").read_text() == "x\n"
    assert not (checked.root / "tests/a.py").is_symlink()


def test_a_pipe_in_a_files_place_is_replaced(checked):
    protected(checked, "tests/a.py")
    (checked.root / "tests/a.py").unlink()
    os.mkfifo(checked.root / "tests/a.py")
    protected(checked).put_back()
    assert (checked.root / "tests/a.py").read_text() == "a\n"


def test_a_folder_that_leads_out_of_the_project_is_not_written_into(checked, tmp_path):
    protected(checked, "tests/**")
    outside = tmp_path / "outside"
    outside.mkdir()
    os.rename(checked.root / "tests", checked.root / "mine")
    (checked.root / "tests").symlink_to(outside)
    assert "tests/a.py (removed)" in shown(protected(checked).put_back())
    assert list(outside.iterdir()) == []
    assert not (checked.root / "tests").is_symlink()
    assert (checked.root / "tests/a.py").read_text() == "a\n"


def test_of_a_large_file_the_digest_is_kept_and_the_agent_must_put_it_back(checked, monkeypatch):
    monkeypatch.setattr(protect, "KEPT_MAX", 1)
    protected(checked, "tests/a.py")
    checked.project.write("tests/a.py", "easier")
    assert protected(checked).put_back() == [Touched("tests/a.py", "changed", False)]
    assert (checked.root / "tests/a.py").read_text() == "easier"


def test_a_copy_that_is_not_what_was_kept_is_not_put_back(checked):
    protected(checked, "tests/a.py")
    folder = os.path.join(checked.loop.kept, "protected")
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), "w") as file:
        file.write("easier")
    (checked.root / "tests/a.py").unlink()
    assert protected(checked).put_back() == [Touched("tests/a.py", "removed", False)]


def test_too_many_files_are_refused_in_words(checked, monkeypatch):
    monkeypatch.setattr(protect, "FILES_MAX", 2)
    with pytest.raises(OSError, match="name fewer"):
        protected(checked, "tests/**")


def test_a_damaged_record_counts_as_none(checked):
    protected(checked, "tests/**")
    with open(os.path.join(checked.loop.kept, "protected.json"), "w") as file:
        file.write("{")
    assert not protected(checked).pinned


def test_the_criteria_are_protected_by_one_word(tmp_path):
    """Also the scripts that judge in its checks; neither work, nor what tools or others made."""
    checked = Checked(tmp_path).begin(
        task("F1", "sh check.sh && sh 'check-[x].sh' && ./tool"), protect="criteria"
    )
    judging = ["tests/a.py", "web/Makefile", "src/a.test.ts", "check.sh", "check-[x].sh"]
    work = ["src/x.py", "tool", "go.mod", "verify.sh"]
    others = ["node_modules/a/test/b.js", ".venv/lib/tests/c.py", "mine/tests/d.py", "target/e.snap"]
    for path in [*judging, *work, *others, "mine/pyvenv.cfg"]:
        checked.project.write(path, "")
    assert protect.patterns_of(checked.loop, extra=["more/**"]) == [
        "criteria",
        "more/**",
        "check-[[]x].sh",
        "check.sh",
    ]
    assert protect.pin(checked.loop, str(checked.root)) == len(judging)
    for path in [*judging, *work, *others]:
        checked.project.write(path, "other")
    checked.project.write("conftest.py", "new")
    differing = shown(protected(checked).differing())
    assert differing == sorted([*(f"{path} (changed)" for path in judging), "conftest.py (added)"])
    assert all(entry.restored for entry in protected(checked).put_back())
    assert not (checked.root / "conftest.py").exists()
    assert (checked.root / "src/x.py").read_text() == "other"


def test_the_criteria_stand_among_globs(tmp_path):
    checked = Checked(tmp_path).begin(task("F1", "true"), protect=["criteria", "src/x/**"])
    for path in ("src/x/a.py", "src/y/b.py", "Makefile"):
        checked.project.write(path, "")
    assert protect.pin(checked.loop, str(checked.root)) == 2
    assert protect.pin(checked.loop, str(checked.root), extra=["src/y"]) == 3


def test_a_folder_of_that_name_is_a_glob_of_its_own(checked):
    checked.project.write("criteria/a.txt", "")
    assert Protected(checked.loop, str(checked.root)).pin(["./criteria"]) == 1


def test_more_criteria_than_can_be_kept_are_refused(checked, monkeypatch):
    monkeypatch.setattr(protect, "FILES_MAX", 2)
    with pytest.raises(OSError, match="more than 2 files to protect"):
        Protected(checked.loop, str(checked.root)).pin(["criteria"])


def test_the_search_for_criteria_ends_in_time(checked):
    assert sorted(protect.criteria_in(str(checked.root))) == sorted(FILES)[1:]
    assert list(protect.criteria_in(str(checked.root), within_s=-1.0)) == []

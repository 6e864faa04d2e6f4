"""The project at the start, and what has changed since: with real git, in odd repositories too."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ralphloop.proof import baseline, difference, look
from unit.proof.baselines import Scene, later


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


# What is kept


def test_the_start_is_described(scene: Scene) -> None:
    found = scene.take("test -f a.txt")
    assert (found.folder, found.top) == (str(scene.root), str(scene.root))
    assert found.git_folder == found.common == str(scene.root / ".git")
    assert (found.head, found.branch) == (scene.git("rev-parse", "HEAD"), "main")
    assert (found.overlooked, found.variables) == ((), None)
    assert found.terms == {"doubts": "tell", "apart": True}
    assert found.config["core.filemode"] == "true"


def test_what_is_kept_is_nobody_elses_to_read(scene: Scene) -> None:
    scene.write("new.txt", "new\n")
    scene.take()
    scene.write("new.txt", "newer\n")
    scene.since()
    modes = {path: path.stat().st_mode for path in (scene.base / "state").rglob("*")}
    assert any(path.name == "index" for path in modes)
    assert not [path for path, mode in modes.items() if stat.S_IMODE(mode) & 0o077]
    assert not list(Path(scene.loop.kept).glob("baseline/now-*"))


def test_nothing_is_kept_twice(scene: Scene) -> None:
    scene.take()
    scene.write("a.txt", "A\n")
    again = scene.take()
    assert baseline.load(scene.loop) == again
    assert scene.changed() == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"at": 1}', '{"kept": {"": 3}, "overlooked": [], "programs": {}}']
)
def test_a_record_that_says_nothing_is_none(scene: Scene, text: str) -> None:
    scene.take()
    (Path(scene.loop.kept) / "baseline.json").write_text(text)
    assert baseline.load(scene.loop) is None


def test_without_a_start_there_is_none(scene: Scene) -> None:
    assert baseline.load(scene.loop) is None
    baseline.note_variables(scene.loop, {"LD_PRELOAD": "x"})
    assert baseline.load(scene.loop) is None


# What has changed


def test_nothing_has_changed_at_first(scene: Scene) -> None:
    scene.write("uncommitted.txt", "from before\n")
    scene.write("a.txt", "changed before\n")
    scene.take()
    found = scene.since()
    assert (found.changes, found.renamed, found.hidden) == ((), {}, ())
    assert (found.head, found.branch, found.top) == (scene.git("rev-parse", "HEAD"), "main", str(scene.root))
    scene.git("add", "--all")
    assert found.tree == scene.git("write-tree")


def test_every_kind_of_change_is_told(scene: Scene) -> None:
    scene.write("before.txt", "1\n")
    scene.take()
    scene.write("a.txt", "A\n")
    scene.write("before.txt", "2\n")
    scene.write("new/one.txt", "n\n")
    (scene.root / "sub/b.txt").unlink()
    found = scene.since()
    assert {one.path: one.kind for one in found.changes} == {
        "a.txt": "changed", "before.txt": "changed", "new/one.txt": "added", "sub/b.txt": "removed",
    }  # fmt: skip
    by_path = {one.path: one for one in found.changes}
    assert by_path["a.txt"].old == scene.git("rev-parse", "HEAD:a.txt")
    assert by_path["a.txt"].new == scene.git("hash-object", "a.txt")
    assert (by_path["new/one.txt"].old, by_path["sub/b.txt"].new) == ("", "")
    scene.git("add", "--all")
    assert found.tree == scene.git("write-tree")


def test_what_was_undone_or_only_touched_has_not_changed(scene: Scene) -> None:
    scene.write("before.txt", "1\n")
    scene.take()
    for path in ("a.txt", "before.txt"):
        text = (scene.root / path).read_text()
        scene.write(path, "other\n")
        assert list(scene.changed()) == [path]
        scene.write(path, text)
    os.utime(scene.root / "sub/b.txt")
    assert scene.changed() == {}


def test_commits_and_staged_files_make_no_difference(scene: Scene) -> None:
    scene.take()
    scene.write("a.txt", "A\n")
    before = scene.since()
    scene.commit()
    after = scene.since()
    assert after.changes == before.changes
    assert after.head == scene.git("rev-parse", "HEAD") != before.head
    scene.git("switch", "--quiet", "--create", "other")
    assert scene.since().branch == "other"
    scene.git("checkout", "--quiet", "--detach")
    assert (scene.since().branch, scene.since().head) == ("", after.head)


def test_the_same_size_and_time_hide_nothing(scene: Scene) -> None:
    place = scene.root / "a.txt"
    scene.take()
    about = place.stat()
    place.write_text("b\n")
    os.utime(place, ns=(about.st_atime_ns, about.st_mtime_ns))
    scene.git("config", "core.trustctime", "false")
    scene.git("config", "core.checkStat", "minimal")
    assert scene.changed() == {"a.txt": "changed"}


def test_a_changed_mode_and_a_link_in_a_files_place_are_changes(scene: Scene) -> None:
    scene.take()
    (scene.root / "a.txt").chmod(0o755)
    (scene.root / "sub/b.txt").unlink()
    (scene.root / "sub/b.txt").symlink_to("nowhere")
    found = {one.path: one for one in scene.since().changes}
    assert {path: one.kind for path, one in found.items()} == {"a.txt": "changed", "sub/b.txt": "changed"}
    assert found["a.txt"].old == found["a.txt"].new


def test_a_file_that_moved_is_told_as_such(scene: Scene) -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    scene.write("tests/test_old.py", text)
    scene.take()
    (scene.root / "tests/test_old.py").unlink()
    scene.write("tests/unit/test_new.py", text + "one more\n")
    found = scene.since()
    assert {one.path: one.kind for one in found.changes} == {
        "tests/test_old.py": "removed", "tests/unit/test_new.py": "added",
    }  # fmt: skip
    assert found.renamed == {"tests/test_old.py": "tests/unit/test_new.py"}


NAMES = [
    b"new\nline",
    b"\xff\xfe",
    "größe".encode(),
    b" blank ",
    b'quo"te',
    b"-dash",
    b"*",
    b"tab\t",
    b":(top)x",
]


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_told_as_they_are(scene: Scene, name: bytes) -> None:
    path = os.fsdecode(name)
    scene.write("gone" + path, "x\n")
    scene.write("kept" + path, "x\n")
    scene.take()
    (scene.root / ("gone" + path)).unlink()
    scene.write("kept" + path, "y\n")
    scene.write(path, "z\n")
    found = scene.since()
    expected = {path: "added", "gone" + path: "removed", "kept" + path: "changed"}
    assert {one.path: one.kind for one in found.changes} == expected
    known = baseline.load(scene.loop)
    assert known is not None
    added = baseline.added_lines(scene.loop, known, found, list(expected), scene.env)
    assert added.lines[path] == [(1, "z")]
    scene.put_back("gone" + path, "kept" + path)
    assert scene.changed() == {path: "added"}


# What could hide a change


def test_rules_that_are_written_later_hide_nothing_that_was_known(scene: Scene) -> None:
    scene.write("loose.txt", "1\n")
    scene.take()
    scene.write(".gitignore", "*\n")
    for path in ("a.txt", "loose.txt"):
        scene.write(path, "changed\n")
    scene.write("new.txt", "1\n")
    found = scene.since()
    assert {one.path for one in found.changes} == {".gitignore", "a.txt", "loose.txt"}
    assert found.hidden == ("new.txt",)


def test_the_clones_own_rules_and_settings_are_those_of_the_start(scene: Scene) -> None:
    scene.write(".git/info/exclude", "# of the person\nmine.txt\n")
    scene.write("mine.txt", "1\n")
    known = scene.take()
    assert scene.since().exclude == known.exclude != ""
    scene.write(".git/info/exclude", "*.py\nmine.txt\n")
    scene.write(".git/info/attributes", "*.txt filter=lie\n")
    scene.git("config", "core.excludesFile", str(scene.write("all", "*\n", top=scene.base)))
    scene.git("config", "filter.lie.clean", "echo a")
    scene.git("config", "core.worktree", str(scene.base))
    scene.git("config", "alias.status", "!true")
    scene.write("a.txt", "A\n")
    scene.write("new.py", "1\n")
    scene.write("mine.txt", "2\n")
    found = scene.since()
    assert {one.path: one.kind for one in found.changes} == {"a.txt": "changed", "new.py": "added"}
    assert found.exclude != known.exclude
    new = {"core.excludesfile", "filter.lie.clean", "core.worktree", "alias.status"}
    assert found.config.keys() - known.config.keys() == new
    assert found.hidden == ("mine.txt",)


def test_settings_that_change_nothing_for_a_check_are_not_told(scene: Scene) -> None:
    known = scene.take()
    scene.git("config", "user.name", "Somebody")
    scene.git("config", "remote.origin.url", "https://example.invalid/x")
    scene.git("config", "branch.main.remote", "origin")
    assert scene.since().config == known.config
    more = scene.write("more", "[alias]\n\tx = !true\n", top=scene.base)
    scene.git("config", "include.path", str(more))
    first = scene.since().config
    assert first.keys() - known.config.keys() == {"include.path"}
    more.write_text("[alias]\n\ty = !true\n")
    assert scene.since().config != first


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_no_flag_hides_a_change(scene: Scene, flag: str, when: str) -> None:
    if when == "before":
        scene.git("update-index", flag, "a.txt")
        scene.write("a.txt", "before\n")
    known = scene.take()
    assert known.overlooked == (("a.txt",) if when == "before" else ())
    assert scene.changed() == {}
    scene.git("update-index", flag, "a.txt", "sub/b.txt")
    scene.write("a.txt", "A\n")
    found = scene.since()
    assert [one.path for one in found.changes] == ["a.txt"]
    assert found.overlooked == ("a.txt", "sub/b.txt")
    scene.put_back("a.txt")
    assert (scene.root / "a.txt").read_text() == ("before\n" if when == "before" else "a\n")


@pytest.mark.parametrize("what", ["removed", "replaced", "index gone", "index broken", "index locked"])
def test_a_git_folder_that_is_tampered_with_hides_nothing(scene: Scene, what: str) -> None:
    known = scene.take()
    git = scene.root / ".git"
    if what in ("removed", "replaced"):
        shutil.rmtree(git)
    if what == "replaced":
        scene.init(scene.root)
    elif what == "index gone":
        (git / "index").unlink()
    elif what == "index broken":
        (git / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\7 nothing of the kind follows")
    elif what == "index locked":
        (git / "index.lock").touch()
    scene.write("a.txt", "A\n")
    (scene.root / "sub/b.txt").unlink()
    found = scene.since()
    assert {one.path: one.kind for one in found.changes} == {"a.txt": "changed", "sub/b.txt": "removed"}
    if what == "removed":
        assert (found.head, found.top) == ("", "")
    elif what != "replaced":
        assert found.head == known.head


def test_a_repository_that_is_put_in_between_hides_nothing(scene: Scene) -> None:
    folder = scene.root / "sub"
    scene.take(folder=folder)
    scene.init(folder)
    scene.write("a.txt", "A\n")
    scene.write("sub/b.txt", "B\n")
    found = scene.since(folder)
    assert {one.path: one.kind for one in found.changes} == {"a.txt": "changed", "sub/b.txt": "changed"}
    assert found.top == str(folder)


@pytest.mark.parametrize("committed", [False, True])
def test_a_folder_that_becomes_a_repository_hides_nothing(scene: Scene, committed: bool) -> None:
    scene.write("tests/test_a.py", "a\n")
    scene.write("tests/test_b.py", "b\n")
    scene.commit()
    scene.take()
    scene.init(scene.root / "tests")
    scene.write("tests/test_a.py", "A\n")
    scene.write("tests/test_c.py", "C\n")
    if committed:
        scene.commit(scene.root / "tests")
    assert scene.changed() == {"tests/test_a.py": "changed", "tests/test_c.py": "added"}


def test_files_that_are_ignored_one_by_one_are_told_if_they_are_young(scene: Scene) -> None:
    scene.write("old.log", "1\n")
    scene.write("build/out", "1\n")
    scene.take()
    assert scene.since().hidden == ()
    scene.write("new.log", "1\n")
    scene.write("build/out", "2\n")
    assert scene.since().hidden == ("new.log",)
    scene.write("old.log", "2\n")
    assert scene.since().hidden == ("new.log", "old.log")


def test_young_files_right_in_an_ignored_folder_are_told_unless_a_build_made_it(scene: Scene) -> None:
    scene.write(".gitignore", "pytest/\nkept/\nbuild*/\nnode_modules/\n")
    scene.write("kept/old.py", "1\n")
    scene.commit()
    scene.take()
    for path in ("pytest/__main__.py", "pytest/a/deep.py", "kept/new.py"):
        scene.write(path, "1\n")
    for path in ("build/Makefile", "build-debug/test.js", "node_modules/a.test.js"):
        scene.write(path, "1\n")
    assert sorted(scene.since().hidden) == ["kept/new.py", "pytest/__main__.py"]


# Odd repositories


def test_a_folder_without_a_repository_has_no_start(scene: Scene) -> None:
    outside = scene.base / "outside"
    outside.mkdir()
    assert scene.try_to_take(folder=outside) == (None, "there is no git repository here")
    assert baseline.load(scene.loop) is None


def test_a_repository_without_a_commit_has_one(scene: Scene) -> None:
    shutil.rmtree(scene.root / ".git")
    scene.init(scene.root)
    found = scene.take()
    assert (found.head, found.branch) == ("", "main")
    scene.write("a.txt", "A\n")
    assert scene.changed() == {"a.txt": "changed"}
    scene.put_back("a.txt")
    assert scene.changed() == {}


def test_a_packed_branch_and_a_detached_head_are_read(scene: Scene) -> None:
    scene.git("pack-refs", "--all")
    assert scene.take().head == scene.git("rev-parse", "HEAD")
    scene.git("checkout", "--quiet", "--detach")
    found = scene.take()
    assert (found.head, found.branch) == (scene.git("rev-parse", "HEAD"), "")


def test_a_subfolder_of_a_larger_repository_has_the_whole_of_it(scene: Scene) -> None:
    found = scene.take(folder=scene.root / "sub")
    assert (found.folder, found.top) == (str(scene.root / "sub"), str(scene.root))
    scene.write("a.txt", "A\n")
    assert scene.changed(scene.root / "sub") == {"a.txt": "changed"}


@pytest.mark.parametrize("bare", [False, True])
def test_a_worktree_has_its_own_start(scene: Scene, bare: bool) -> None:
    top, source = scene.base / "tree", scene.root
    if bare:
        source = scene.base / "bare.git"
        scene.git("clone", "--quiet", "--bare", str(scene.root), str(source))
    scene.git("worktree", "add", "--quiet", "-b", "side", str(top), cwd=source)
    found = scene.take(folder=top)
    assert (found.top, found.branch) == (str(top), "side")
    assert found.common == str(source if bare else source / ".git")
    assert found.git_folder == f"{found.common}/worktrees/tree"
    scene.write("a.txt", "A\n", top=top)
    assert scene.changed(top) == {"a.txt": "changed"}
    scene.put_back("a.txt")
    assert scene.changed(top) == {}


def test_work_in_another_worktree_is_compared_with_the_start(scene: Scene) -> None:
    scene.take()
    top = scene.base / "tree"
    scene.git("worktree", "add", "--quiet", str(top))
    scene.write("a.txt", "A\n", top=top)
    found = scene.since(top)
    assert [one.path for one in found.changes] == ["a.txt"]
    assert (found.top, found.branch) == (str(top), "tree")


@pytest.mark.parametrize("kind", ["version 4", "split", "sparse", "sparse index", "untracked cache"])
def test_an_index_in_another_form_is_read(scene: Scene, kind: str) -> None:
    scene.write("keep/c.txt", "c\n")
    scene.commit()
    expected = {"a.txt": "changed", "sub/b.txt": "changed"}
    if kind == "version 4":
        scene.git("update-index", "--index-version", "4")
    elif kind == "split":
        scene.git("update-index", "--split-index")
        scene.write("another.txt", "x\n")
        scene.git("add", "another.txt")
    elif kind.startswith("sparse"):
        more = ["--sparse-index"] if kind == "sparse index" else []
        scene.git("sparse-checkout", "init", "--cone", *more)
        scene.git("sparse-checkout", "set", "keep")
        assert not (scene.root / "sub").exists()
        expected = {"a.txt": "changed", "sub/b.txt": "added"}
    else:
        scene.git("update-index", "--untracked-cache")
    before = scene.everything()
    assert scene.take().overlooked == ()
    assert scene.changed() == {}
    assert scene.everything() == before
    scene.write("a.txt", "A\n")
    scene.write("sub/b.txt", "B\n")
    assert scene.changed() == expected


def test_other_ids_are_read(scene: Scene) -> None:
    shutil.rmtree(scene.root / ".git")
    scene.init(scene.root, "--object-format=sha256")
    scene.commit()
    scene.git("update-index", "--assume-unchanged", "a.txt")
    assert len(scene.take().head) == 64
    scene.write("a.txt", "A\n")
    found = scene.since()
    assert [(one.path, len(one.new)) for one in found.changes] == [("a.txt", 64)]
    assert found.overlooked == ("a.txt",)
    scene.put_back("a.txt")
    assert scene.changed() == {}


@pytest.mark.parametrize("data", [b"", b"DIRC", b"x" * 200, b"DIRC\0\0\0\2\0\0\0\7" + b"\0" * 60, None])
def test_a_broken_index_is_told(scene: Scene, data: bytes | None) -> None:
    place = scene.root / ".git/index"
    place.write_bytes(place.read_bytes()[:150] if data is None else data)
    found, why = scene.try_to_take()
    assert found is None
    assert why
    assert not (Path(scene.loop.kept) / "baseline").exists()
    assert baseline.load(scene.loop) is None


def test_a_locked_index_is_no_hindrance(scene: Scene) -> None:
    (scene.root / ".git/index.lock").touch()
    scene.take()
    assert scene.changed() == {}


def test_no_time_is_told(scene: Scene) -> None:
    found, why = scene.try_to_take(budget_s=0.0)
    assert (found, "took too long" in why) == (None, True)
    known = scene.take()
    told = baseline.since(scene.loop, known, str(scene.root), scene.env, budget_s=0.0)
    assert (told[0], "took too long" in told[1]) == (None, True)
    assert not list(Path(scene.loop.kept).glob("baseline/now-*"))


def test_a_place_that_cannot_be_written_is_told(scene: Scene) -> None:
    place = Path(scene.loop.kept) / "baseline"
    shutil.rmtree(scene.loop.kept)
    place.parent.parent.mkdir(parents=True, exist_ok=True)
    place.parent.write_text("a file")
    found, why = scene.try_to_take()
    assert found is None
    assert str(place.parent) in why


FULL = """
import json, resource, sys
from pathlib import Path
from ralphloop.proof import baseline, difference, look
from unit.store.conftest import Project
base, most, env = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
loop = Project(base).loop()
known = baseline.load(loop)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
root = str(base / "project")
if known is None:
    print(json.dumps(baseline.take(loop, root, env, commands=(), terms={})))
else:
    print(json.dumps(baseline.since(loop, known, root, env)))
"""


@pytest.mark.parametrize("most", [0, 20_000])
@pytest.mark.parametrize("when", ["take", "since"])
def test_files_that_cannot_grow_are_told(scene: Scene, most: int, when: str) -> None:
    """A full disk, for whoever writes: ourselves, or git with a large file."""
    if when == "since":
        scene.take()
    scene.write("large.bin", os.urandom(200_000))
    words = [sys.executable, "-c", FULL, str(scene.base), str(most), json.dumps(scene.env)]
    env = {**scene.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    found, why = json.loads(done.stdout)
    assert found is None
    assert why
    assert (Path(scene.loop.kept) / "baseline").exists() == (when == "since")


def test_a_state_directory_in_the_repository_keeps_no_start(scene: Scene) -> None:
    from unit.store.conftest import Project

    inner = Project(scene.base)
    inner.env["XDG_STATE_HOME"] = str(scene.root / "state")
    inner.shelf = type(inner.shelf)(inner.root, inner.env)
    found, why = baseline.take(inner.loop(), str(scene.root), scene.env, commands=(), terms={})
    assert (found, why) == (None, "the state directory lies inside the repository")


def test_a_start_that_is_gone_is_told(scene: Scene) -> None:
    known = scene.take()
    shutil.rmtree(Path(scene.loop.kept) / "baseline")
    found, why = baseline.since(scene.loop, known, str(scene.root), scene.env)
    assert found is None
    assert "baseline" in why


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_left_out(scene: Scene) -> None:
    scene.write("closed.txt", "x\n").chmod(0)
    scene.take()
    assert scene.changed() == {}


def test_a_pipe_and_a_loop_of_links_do_not_hold_it_up(scene: Scene) -> None:
    os.mkfifo(scene.root / "pipe")
    (scene.root / "loop").symlink_to("loop")
    scene.take()
    assert scene.changed() == {}


VAST = 80 * 1024**3


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "PATIENCE_S", 0.5)


def vast(place: Path) -> Path:
    """A file that has nothing on the disk and takes minutes to be read."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        file.truncate(VAST)
    return place


@pytest.mark.usefixtures("impatient")
def test_a_file_that_is_too_large_keeps_nothing_from_being_looked_at(scene: Scene) -> None:
    vast(scene.root / "old [data].bin")
    known = scene.take()
    assert known.large == ("old [data].bin",)
    scene.write("a.txt", "A\n")
    found = scene.since()
    assert ({one.path: one.kind for one in found.changes}, found.large) == ({"a.txt": "changed"}, known.large)
    vast(scene.root / "sub/new.bin")
    found = scene.since()
    assert {one.path: one.kind for one in found.changes} == {"a.txt": "changed", "sub/new.bin": "added"}
    assert found.large == ("old [data].bin", "sub/new.bin")
    assert not list(Path(scene.loop.kept).rglob("tmp_*"))
    assert not list(Path(scene.loop.kept).rglob("*.lock"))


@pytest.mark.usefixtures("impatient")
def test_a_large_file_from_before_can_change_or_go(scene: Scene) -> None:
    place = vast(scene.root / "data.bin")
    scene.take()
    with place.open("r+b") as file:
        file.write(b"x")
    assert scene.changed() == {"data.bin": "changed"}
    place.unlink()
    assert scene.changed() == {"data.bin": "removed"}


@pytest.mark.usefixtures("impatient")
def test_a_file_that_has_grown_too_large_can_be_put_back(scene: Scene) -> None:
    scene.take()
    place = vast(scene.root / "sub/b.txt")
    assert scene.changed() == {"sub/b.txt": "changed"}
    place.unlink()
    scene.put_back("sub/b.txt")
    assert (place.read_text(), scene.changed()) == ("b\n", {})


@pytest.mark.usefixtures("impatient")
def test_a_large_file_that_git_knew_in_another_form_is_no_change(scene: Scene) -> None:
    vast(scene.root / "a.txt")
    assert scene.take().large == ("a.txt",)
    assert scene.changed() == {}


@pytest.mark.usefixtures("impatient")
def test_a_large_file_in_another_repository_is_told_with_its_path(nested: Scene) -> None:
    vast(nested.root / "libs/outer/deep/old.bin")
    known = nested.take()
    assert known.large == ("libs/outer/deep/old.bin",)
    vast(nested.root / "libs/outer/new.bin")
    found = nested.since()
    assert [(one.path, one.kind) for one in found.changes] == [("libs/outer/new.bin", "added")]
    assert sorted(found.large) == ["libs/outer/deep/old.bin", "libs/outer/new.bin"]


def test_a_look_that_takes_long_and_has_no_large_file_is_begun_again(scene: Scene, monkeypatch) -> None:
    monkeypatch.setattr(look, "PATIENCE_S", 0.0)
    scene.write("new.txt", "1\n")
    assert scene.take().large == ()
    scene.write("new.txt", "2\n")
    assert scene.changed() == {"new.txt": "changed"}


def test_conflicts_and_files_that_are_only_announced_are_taken_as_they_are(scene: Scene) -> None:
    scene.git("switch", "--quiet", "--create", "side")
    scene.write("a.txt", "side\n")
    scene.commit()
    scene.git("switch", "--quiet", "main")
    scene.write("a.txt", "main\n")
    scene.commit()
    with pytest.raises(AssertionError, match=r"^$"):
        scene.git("merge", "side")
    scene.write("later.txt", "x\n")
    scene.git("add", "--intent-to-add", "later.txt")
    scene.take()
    assert scene.changed() == {}
    scene.write("a.txt", "solved\n")
    scene.git("add", "a.txt")
    assert scene.changed() == {"a.txt": "changed"}


# Repositories in repositories


@pytest.fixture
def nested(scene: Scene) -> Scene:
    """A submodule with one of its own, an embedded repository, and one without a commit."""
    for name in ("inner", "outer"):
        top = scene.init(scene.base / name)
        scene.write(f"{name}.txt", "1\n", top=top)
        scene.commit(top)
    outer = scene.base / "outer"
    scene.git("submodule", "add", "--quiet", str(scene.base / "inner"), "deep", cwd=outer)
    scene.commit(outer)
    scene.git("submodule", "add", "--quiet", str(outer), "libs/outer")
    scene.git("submodule", "update", "--quiet", "--init", "--recursive")
    scene.commit()
    loose = scene.init(scene.root / "loose")
    scene.write("l.txt", "1\n", top=loose)
    scene.commit(loose)
    scene.write("e.txt", "1\n", top=scene.init(scene.root / "empty"))
    return scene


INSIDE = ("libs/outer/outer.txt", "libs/outer/deep/inner.txt", "loose/l.txt", "empty/e.txt")


def test_the_inside_of_other_repositories_is_kept_too(nested: Scene) -> None:
    found = nested.take()
    assert set(found.kept) == {"", "libs/outer/", "libs/outer/deep/", "loose/", "empty/"}
    assert nested.changed() == {}
    for path in INSIDE:
        nested.write(path, "2\n")
    nested.write("libs/outer/new.txt", "n\n")
    expected = {**dict.fromkeys(INSIDE, "changed"), "libs/outer/new.txt": "added"}
    assert nested.changed() == expected
    nested.commit(nested.root / "libs/outer/deep")
    nested.commit(nested.root / "libs/outer")
    nested.commit(nested.root / "loose")
    assert nested.changed() == expected
    known = baseline.load(nested.loop)
    assert known is not None
    for prefix, paths in baseline.by_repository(known, INSIDE).items():
        nested.put_back(*paths, prefix=prefix)
    assert nested.changed() == {"libs/outer/new.txt": "added"}
    lines = baseline.added_lines(nested.loop, known, nested.since(), ["libs/outer/new.txt"], nested.env).lines
    assert lines == {"libs/outer/new.txt": [(1, "n")]}


def test_a_repository_that_comes_or_goes_is_told_file_by_file(nested: Scene) -> None:
    nested.take()
    shutil.rmtree(nested.root / "libs/outer")
    shutil.rmtree(nested.root / "loose/.git")
    shutil.rmtree(nested.root / "empty/.git")
    nested.write("n.txt", "1\n", top=nested.init(nested.root / "another"))
    assert nested.changed() == {
        "libs/outer/outer.txt": "removed", "libs/outer/.gitmodules": "removed",
        "libs/outer/deep/inner.txt": "removed", "another/n.txt": "added",
    }  # fmt: skip


def test_flags_in_another_repository_are_told_with_its_path(nested: Scene) -> None:
    nested.take()
    nested.git("update-index", "--assume-unchanged", "inner.txt", cwd=nested.root / "libs/outer/deep")
    nested.write("libs/outer/deep/inner.txt", "2\n")
    found = nested.since()
    assert found.overlooked == ("libs/outer/deep/inner.txt",)
    assert [one.path for one in found.changes] == ["libs/outer/deep/inner.txt"]


def test_a_submodule_that_is_not_checked_out_is_passed_over(nested: Scene) -> None:
    nested.git("submodule", "deinit", "--quiet", "--force", "--all")
    assert "libs/outer/" not in nested.take().kept
    assert nested.changed() == {}
    nested.write("libs/outer/planted.txt", "x\n")
    assert nested.changed() == {"libs/outer/planted.txt": "added"}
    assert nested.take().kept.keys() >= {"libs/outer/"}
    assert nested.changed() == {}


# What it must not do


def test_neither_look_changes_anything_in_the_project(nested: Scene) -> None:
    nested.git("gc", "--quiet")
    for path in ("a.txt", "sub/b.txt", *INSIDE):
        os.utime(nested.root / path)  # git finds them again, in packs and loose
    nested.write("staged.txt", "1\n")
    nested.git("add", "staged.txt")
    nested.write("x.log", "1\n")
    later()
    before = nested.everything()
    nested.take("ls a.txt")
    nested.since()
    assert nested.everything() == before
    nested.write("a.txt", "b\n")  # what the repository has under another name
    nested.write("staged.txt", "2\n")
    nested.write("new.txt", "1\n")
    nested.write("libs/outer/deep/inner.txt", "2\n")
    before = nested.everything()
    known = baseline.load(nested.loop)
    assert known is not None
    found = nested.since()
    assert len(found.changes) == 4
    baseline.added_lines(nested.loop, known, found, [one.path for one in found.changes], nested.env)
    baseline.programs_now(known, ["ls a.txt"], str(nested.root), nested.env)
    baseline.ignored_since(known, str(nested.root), nested.env)
    nested.take()
    assert nested.everything() == before


def test_no_program_of_the_repositorys_choosing_runs(scene: Scene) -> None:
    mark = scene.base / "ran"
    script = scene.write("tool", f"#!/bin/sh\ntouch {mark}\ncat\n", top=scene.base)
    script.chmod(0o755)
    hooks = scene.base / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout"):
        (hooks / name).symlink_to(script)
    for name in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "core.alternateRefsCommand",
    ):
        scene.git("config", name, str(script))
    scene.git("config", "core.hooksPath", str(hooks))
    known = scene.take()
    scene.write(".gitattributes", "*.txt diff=odd filter=odd\n")
    scene.git("config", "diff.odd.textconv", str(script))
    scene.git("config", "diff.odd.command", str(script))
    scene.git("config", "filter.odd.clean", str(script))
    scene.git("config", "filter.odd.smudge", str(script))
    scene.write("a.txt", "A\n")
    found = scene.since()
    baseline.added_lines(scene.loop, known, found, ["a.txt"], scene.env)
    baseline.ignored_since(known, str(scene.root), scene.env)
    scene.put_back("a.txt")
    assert not mark.exists()


def test_filters_of_the_persons_own_run(scene: Scene) -> None:
    (scene.home / ".gitconfig").write_text('[filter "up"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n')
    scene.write(".gitattributes", "*.txt filter=up\n")
    scene.write("a.txt", "words\n")
    scene.take()
    os.utime(scene.root / "a.txt")
    assert scene.changed() == {}
    scene.write("a.txt", "other\n")
    known = baseline.load(scene.loop)
    assert known is not None
    lines = baseline.added_lines(scene.loop, known, scene.since(), ["a.txt"], scene.env).lines
    assert lines == {"a.txt": [(1, "OTHER")]}
    scene.put_back("a.txt")
    assert (scene.root / "a.txt").read_text() == "words\n"


def test_line_ends_that_were_committed_as_they_are_stay_no_change(scene: Scene) -> None:
    scene.write("dos.txt", "one\r\ntwo\r\n")
    scene.commit()
    scene.write(".gitattributes", "* text=auto\n")
    scene.commit()
    scene.take()
    os.utime(scene.root / "dos.txt")
    assert scene.changed() == {}


# Lines


def test_added_lines_have_their_numbers(scene: Scene) -> None:
    scene.write("long.py", "".join(f"{number}\n" for number in range(1, 9)))
    scene.write("bin", b"\0\1\2")
    known = scene.take()
    scene.write("long.py", "0\n1\n2\nx\ny\n4\n5\n6\n7\n8\nend")
    scene.write("bin", b"\0\1\2\3")
    scene.write("fresh.py", "import x\n\n+++ y\n")
    found = scene.since()
    paths = ["long.py", "bin", "fresh.py", "a.txt", "nowhere"]
    assert baseline.added_lines(scene.loop, known, found, paths, scene.env).lines == {
        "long.py": [(1, "0"), (4, "x"), (5, "y"), (11, "end")],
        "bin": [],
        "fresh.py": [(1, "import x"), (2, ""), (3, "+++ y")],
    }


def test_of_a_moved_file_only_what_is_new_in_it_is_added(scene: Scene) -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    scene.write("old.py", text)
    known = scene.take()
    (scene.root / "old.py").rename(scene.root / "new.py")
    scene.write("new.py", text + "more\n")
    assert baseline.added_lines(scene.loop, known, scene.since(), ["new.py"], scene.env).lines == {
        "new.py": [(41, "more")]
    }


def _added(scene: Scene, *paths: str) -> difference.Added:
    known = baseline.load(scene.loop)
    assert known is not None
    return baseline.added_lines(scene.loop, known, scene.since(), paths, scene.env)


def test_no_number_of_files_hides_a_line(scene: Scene) -> None:
    scene.take()
    names = [f"a{number}.py" for number in range(1000)]
    for name in names:
        scene.write(name, "x = 1\n")
    scene.write("tests/test_z.py", "pytest.skip()\n")
    found = _added(scene, *names, "tests/test_z.py")
    assert (len(found.lines), found.left_out) == (1001, ())
    assert found.lines["tests/test_z.py"] == [(1, "pytest.skip()")]


def test_a_large_file_that_had_its_lines_before_hides_none(scene: Scene) -> None:
    before = "a line of it\n" * 600_000
    scene.write("large.py", before)
    scene.write("small.py", "1\n")
    scene.take()
    scene.write("large.py", before + "pytest.skip()\n")
    scene.write("small.py", "2\n")
    assert _added(scene, "large.py", "small.py") == (
        {"large.py": [(600_001, "pytest.skip()")], "small.py": [(1, "2")]},
        (),
    )


def test_no_attribute_makes_a_text_a_binary_file(scene: Scene) -> None:
    scene.take()
    scene.write(".gitattributes", "* -diff\n")
    scene.write("a.txt", "pytest.skip()\n")
    assert _added(scene, "a.txt").lines == {"a.txt": [(1, "pytest.skip()")]}


def test_what_is_asked_for_first_is_read_first_and_what_is_left_out_is_named(scene: Scene) -> None:
    scene.take()
    scene.write("many.py", "x\n" * 60_000)
    scene.write("wide.py", "x" * 15_900_000)
    scene.write("vast.py", "x" * 65_000_000)
    scene.write("zzz.py", "x\n")
    found = _added(scene, "zzz.py", "vast.py", "many.py", "wide.py", "a.txt")
    assert {path: len(lines) for path, lines in found.lines.items()} == {"zzz.py": 1, "many.py": 50_000}
    assert found.left_out == ("vast.py", "many.py", "wide.py")
    assert _added(scene, "wide.py", "many.py").left_out == ("many.py",)


def test_without_git_all_is_left_out(scene: Scene) -> None:
    known = scene.take()
    scene.write("a.txt", "A\n")
    found = scene.since()
    shutil.rmtree(scene.loop.kept)
    nothing = baseline.added_lines(scene.loop, known, found, ["a.txt"], scene.env)
    assert nothing == ({}, ("a.txt",))


# Variables


def test_the_variables_of_the_first_call_are_kept_once(scene: Scene) -> None:
    scene.take()
    odd = {
        "LD_PRELOAD": "/x.so",
        "DYLD_INSERT_LIBRARIES": "y",
        "BASH_ENV": "z",
        "GIT_DIR": "/",
        "PYTHONPATH": "",
    }
    fine = {"PATH": "/bin", "HOME": "/", "GIT_EDITOR": "true", "GIT_AUTHOR_NAME": "x", "VIRTUAL_ENV": "v"}
    baseline.note_variables(scene.loop, {**odd, **fine})
    baseline.note_variables(scene.loop, {"LD_PRELOAD": "/other.so"})
    known = baseline.load(scene.loop)
    assert known is not None
    assert known.variables == odd
    assert json.loads((Path(scene.loop.kept) / "baseline.json").read_text())["variables"] == odd


# What no tree has


@pytest.fixture
def tooled(scene: Scene) -> Scene:
    """One whose check is run by an ignored tool, with another tool that is the repository's own."""
    scene.write(".gitignore", "/tools/\n")
    for name in ("tools/[odd] judge", "tools/judge", "own"):
        scene.write(name, "#!/bin/sh\nexit 1\n").chmod(0o755)
    scene.git("add", "--all")
    scene.git("commit", "--quiet", "--message=tools")
    return scene


def test_an_ignored_program_that_was_replaced_is_another_one(tooled: Scene) -> None:
    commands = ("tools/judge app.py", "'tools/[odd] judge' app.py", "./own")
    known = tooled.take(*commands)
    assert baseline.programs_now(known, commands, str(tooled.root), tooled.env) == []
    later()
    for name in ("tools/[odd] judge", "tools/judge", "own"):
        tooled.write(name, "#!/bin/sh\nexit 0\n")
    assert baseline.programs_now(known, commands, str(tooled.root), tooled.env) == [
        (commands[0], "tools/judge", str(tooled.root / "tools/judge"), True),
        (commands[1], "tools/[odd] judge", str(tooled.root / "tools/[odd] judge"), True),
    ]


def test_young_files_are_named_as_the_person_would(tooled: Scene) -> None:
    known = tooled.take()
    later()
    tooled.write("tools/judge", "#!/bin/sh\nexit 0\n")
    tooled.write(".npmrc", "x\n", top=Path(tooled.env["HOME"]))
    for name in (".gitignore", "journal.jsonl"):  # of a loop of ours
        tooled.write(f".ralph/run/demo/{name}", "*\n")
    assert baseline.ignored_since(known, str(tooled.root), tooled.env) == ["tools/judge", "~/.npmrc"]
    inside = {**tooled.env, "HOME": str(tooled.root.parent)}
    assert baseline.ignored_since(known, str(tooled.root), inside)[:1] == ["tools/judge"]

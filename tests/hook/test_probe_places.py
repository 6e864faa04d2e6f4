"""Wherever a project lies, its final proof is complete, changes nothing in it, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hook.probing import WORK, Probed, probed
from unit.proof.stages import ORDINARY, ROOT, long_unread, picture

pytestmark = pytest.mark.slow


def subfolder(found: Probed) -> None:
    found.write({"../other/a.txt": "a\n"})
    found.begin()


def worktree(found: Probed) -> None:
    main = found.folder / "main"
    main.mkdir()
    found.owner.own(main)
    found.git("init", "-q", "-b", "main", cwd=main)
    found.git("commit", "-q", "--allow-empty", "-m", "first", cwd=main)
    found.git("worktree", "add", "-q", "-b", "side", str(found.top), cwd=main)
    found.begin()


def below_a_link(found: Probed) -> None:
    link = found.folder / "link"
    link.symlink_to(found.top)
    found.top = found.root = link
    found.begin()


def home_is_the_repository(found: Probed) -> None:
    found.extra = {"XDG_STATE_HOME": str(found.folder / "state")}
    found.top = found.root = found.home
    found.begin()


def home_around_the_project(found: Probed) -> None:
    found.extra = {"XDG_STATE_HOME": str(found.folder / "state")}
    found.top, found.root = found.home, found.home / "code"
    found.write({"quiet.txt": "quiet\n"})
    found.begin()


def submodule(found: Probed) -> None:
    other = found.folder / "other"
    other.mkdir()
    found.owner.own(other)
    found.git("init", "-q", "-b", "main", cwd=other)
    found.write({"lib.txt": "lib\n"}, at=other)
    found.git("add", "-A", cwd=other)
    found.git("commit", "-q", "-m", "lib", cwd=other)
    found.git("init", "-q", "-b", "main")
    found.git("submodule", "--quiet", "add", str(other), "lib")
    found.begin()


def sparse(found: Probed) -> None:
    found.write({"kept/a.txt": "a\n", "away/b.txt": "b\n"})
    found.commit()
    found.git("sparse-checkout", "set", "--cone", "kept", ".ralph")
    assert not (found.top / "away").exists()
    found.begin()


def sparse_index(found: Probed) -> None:
    found.write({"kept/a.txt": "a\n", "away/b.txt": "b\n"})
    found.commit()
    found.git("sparse-checkout", "set", "--cone", "--sparse-index", "kept", ".ralph")
    found.begin()


def no_head(found: Probed) -> None:
    found.git("init", "-q", "-b", "main")
    found.listed(WORK)
    found.write({"app.txt": "nothing\n"})
    found.start()


def detached(found: Probed) -> None:
    found.write({"a.txt": "a\n"})
    found.commit()
    found.git("checkout", "-q", "--detach")
    found.begin()


def plain(found: Probed) -> None:
    found.begin()


def sha256(found: Probed) -> None:
    found.git("init", "-q", "-b", "main", "--object-format=sha256")
    found.begin()


def locked_index(found: Probed) -> None:
    found.begin()
    found.write({".git/index.lock": ""}, at=found.top)


def rebase_under_way(found: Probed) -> None:
    found.listed(WORK)
    found.write({"a.txt": "1\n", "app.txt": "nothing\n"})
    found.commit()
    found.git("checkout", "-q", "-b", "side")
    found.write({"a.txt": "2\n"})
    found.commit()
    found.git("checkout", "-q", "main")
    found.write({"a.txt": "3\n"})
    found.commit()
    with pytest.raises(AssertionError):
        found.git("rebase", "side")
    found.start()


PLACES: dict[str, tuple[Callable[[Probed], None], dict[str, str]]] = {
    "plain": (plain, {}),
    "a subfolder": (subfolder, {"below": "part"}),
    "a worktree": (worktree, {}),
    "below a link": (below_a_link, {}),
    "home is the repository": (home_is_the_repository, {}),
    "home around the project": (home_around_the_project, {}),
    "a submodule": (submodule, {}),
    "sparse": (sparse, {}),
    "sparse index": (sparse_index, {}),
    "no head": (no_head, {}),
    "detached": (detached, {}),
    "odd names": (plain, {"top": "my, project:\\ (1) \N{RIGHT-TO-LEFT OVERRIDE}x\ny"}),
    "sha256": (sha256, {}),
    "a locked index": (locked_index, {}),
    "a rebase under way": (rebase_under_way, {}),
}


def unchanged(found: Probed) -> dict[str, Any]:
    """All that can be seen of the project, without our own folder in it and in the home."""
    ours = (found.root / ".ralph", found.home / ".local")
    return {
        name: seen
        for name, seen in picture(found.top.resolve()).items()
        if not any(Path(name) == one.resolve() or one.resolve() in Path(name).parents for one in ours)
    }


@pytest.mark.slow
@pytest.mark.parametrize("who", [ROOT, ORDINARY])
@pytest.mark.parametrize("name", PLACES)
def test_a_final_proof_is_complete_and_changes_nothing(name: str, who: str) -> None:
    prepare, place = PLACES[name]
    with probed(who, **place) as found:
        prepare(found)
        found.claim()
        long_unread(found.top.resolve())
        before = unchanged(found)
        said = found.stop()
        after = unchanged(found)
        assert found.outcome == "complete", said
        assert found.findings() == []
        (tried,) = found.proof()["tried"].values()
        assert (tried["first"], tried["alone"], tried["without"]) == ("red", "green", "red")
        seen = _differences(before, after)
        # a time of reading is git's own, which looks again at a file whose times were set here
        written = {path for path, whats in seen.items() if whats != ["atime"]}
        # over a sparse index the digest of the tree in each check's evidence renews objects, probe or not
        renewed = {one for one in written if name == "sparse index" and "/.git/objects/" in one}
        assert written == renewed
        assert found.left() == []
        assert found.processes() == []


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    names = ("mode", "user", "group", "links", "inode", "mtime", "ctime", "atime", "content")
    found = {}
    for name in {*before, *after}:
        pairs = zip(before.get(name, names), after.get(name, names), strict=True)
        whats = [what for what, (one, other) in zip(names, pairs, strict=True) if one != other]
        found.update({name: whats} if whats else {})
    return found

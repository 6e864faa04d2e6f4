"""What a command does in a stage stays there, and what it finds there is the project as it was asked for."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.patience import eventually
from ralphloop.proof import apart, checker
from unit.proof.stages import (
    GIT,
    GROUP,
    ORDINARY,
    ROOT,
    SHARED_GROUP,
    USER,
    Scene,
    long_unread,
    picture,
    ran_of,
    scene_of,
    skip,
)

pytestmark = pytest.mark.slow

FILES: dict[str, str | bytes] = {
    "app.py": "print('work')\n", "tests/test_app.py": "assert True\n", ".gitignore": "build/\n",
    "build/out.o": "ignored\n", "docs/deep/er/page.md": "text\n",
}  # fmt: skip


@pytest.fixture(params=[ROOT, ORDINARY])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with scene_of(request.param) as found:
        found.write(FILES)
        found.git("add", "-A")
        found.git("commit", "-qm", "begun")
        yield found


DESTRUCTIVE = {
    "writes": "echo more >> app.py; echo > new; mkdir -p a/b; mv docs d2; chmod 700 tests; touch -d @1 build",
    "reads": "cat $(git ls-files) build/out.o; ls -lR; git status; find . -type f -exec cat {} +",
    "commits": "echo more >> app.py; git -c user.email=x@y -c user.name=x commit -qam changed; git gc -q",
    "removes all": "rm -rf .[!.]* *; test -z \"$(ls -A)\"",
    "removes itself": 'rm -rf "$PWD" || test -z "$(ls -A "$PWD")"',
}  # fmt: skip


@pytest.mark.parametrize("text", DESTRUCTIVE.values(), ids=DESTRUCTIVE)
def test_nothing_that_a_command_does_reaches_the_project(scene: Scene, text: str) -> None:
    os.link(scene.top / "app.py", scene.top / "second_name.py")
    scene.sh("ln -s app.py link")
    long_unread(scene.folder)
    before = picture(scene.folder)
    ran = scene.run(
        text, watch=["app.py", "link"], remove=["tests/test_app.py"], products=[str(scene.top / "new")]
    )
    assert (ran.exit_code, ran.apart.stood) == (0, True), ran.tail
    assert picture(scene.folder) == before


def test_a_reading_of_the_project_itself_would_show(scene: Scene) -> None:
    """The test above could not fail otherwise."""
    long_unread(scene.folder)
    before = picture(scene.folder)
    scene.sh("cat app.py")
    after = picture(scene.folder)
    assert [Path(path).name for path in before if after[path] != before[path]] == ["app.py"]


def test_the_place_is_the_same_and_all_is_in_it(scene: Scene) -> None:
    ran = scene.run("pwd; /bin/pwd; git rev-parse --show-toplevel; cat build/out.o; git status --porcelain")
    assert ran.tail.split("\n") == [*[str(scene.top)] * 3, "ignored", ""]


def test_a_folder_below_is_a_place_to_run_in(scene: Scene) -> None:
    ran = scene.run("pwd; echo x > here; ls", cwd=scene.top / "docs/deep")
    assert ran.tail == f"{scene.top}/docs/deep\ner\nhere\n"
    assert not (scene.top / "docs/deep/here").exists()


def test_the_user_is_the_same(scene: Scene) -> None:
    says = "id -u; id -g; stat -c '%u %g' app.py .; stat -c %a tests"
    (scene.top / "tests").chmod(0o750)
    assert scene.run(says).tail == scene.sh(says)


def test_the_environment_is_the_callers_and_no_more(scene: Scene) -> None:
    scene.env = {"PATH": scene.env["PATH"], "GIVEN": "ü\udcff"}
    ran = scene.run("env -0 | tr '\\0' '\\n' | grep -v ^PWD | sort | od -An -c | tr -d ' \\n'")
    assert ran.tail == r"GIVEN=303274377\nPATH=" + scene.env["PATH"] + r"\n"


def test_input_is_empty_and_no_handle_is_inherited(scene: Scene) -> None:
    ran = scene.run("wc -c; exec ls /proc/self/fd")
    assert ran.tail.split() == ["0", "0", "1", "2", "3"]  # the last is what ls itself looks into


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("exit 0", (0, None)),
        ("exit 37", (37, None)),
        ("kill -9 $$", (None, 9)),
        ("kill -TERM $$", (None, 15)),
    ],
)
def test_how_a_command_ended_is_told(scene: Scene, text: str, ending: tuple[int | None, int | None]) -> None:
    ran = scene.run(text)
    assert (ran.exit_code, ran.signal) == ending
    assert (ran.timed_out, ran.apart.stood) == (False, True)


ODD = [b"a name", b"new\nline", b"-rf", b"\xff\xfe raw", b"tab\t\"quote'", b"comma, colon: back\\slash"]


def in_the_stage(scene: Scene, **stage: list[str]) -> dict[str, str]:
    """What lies there, by name: `-> target` of a link, a file's text, with `*` before it if it can be run."""
    copy = scene.folder / "copy"
    ran = scene.run(f"rm -rf .git && cp -a . {copy}", **stage)
    assert ran.apart is not None
    assert (ran.exit_code, ran.apart[:4]) == (0, (True, "", (), ())), (ran.apart, ran.tail)
    found = {str(path.relative_to(copy)): _shown(path) for path in copy.rglob("*")}
    return {name: text for name, text in found.items() if name not in FILES}


def _shown(path: Path) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    if path.is_dir():
        return "/"
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    return ("*" if path.stat().st_mode & stat.S_IXUSR else "") + text


FOLDERS = {"tests": "/", "build": "/", "docs": "/", "docs/deep": "/", "docs/deep/er": "/"}


def test_files_with_odd_names_are_put_back(scene: Scene) -> None:
    names = [os.fsdecode(name) for name in ODD]
    scene.write(dict.fromkeys(names, b"then"))
    scene.keep()
    scene.write(dict.fromkeys(names[:3], b"now"))
    for name in names[3:]:
        (scene.top / name).unlink()
    assert in_the_stage(scene, put_back=names) == FOLDERS | dict.fromkeys(names, "then")


def test_files_with_odd_names_are_not_there(scene: Scene) -> None:
    names = [os.fsdecode(name) for name in ODD]
    scene.write(dict.fromkeys(names, b"now"))
    assert in_the_stage(scene, remove=names) == FOLDERS


def test_links_and_modes_are_put_back(scene: Scene) -> None:
    scene.sh("echo then > tool; chmod +x tool; echo then > plain; ln -s tool link; ln -s nowhere dangling")
    scene.keep()
    scene.sh("chmod -x tool; chmod +x plain; rm link dangling; echo now > link; ln -s /etc/passwd dangling")
    found = in_the_stage(scene, put_back=["tool", "plain", "link", "dangling"])
    files = {"tool": "*then\n", "plain": "then\n", "link": "-> tool", "dangling": "-> nowhere"}
    assert found == FOLDERS | files


def test_a_folder_that_became_a_file_and_a_file_that_became_a_folder(scene: Scene) -> None:
    scene.write({"one": "then", "two/a/b": "then"})
    scene.keep()
    scene.sh("rm -r one two; mkdir -p one/x; echo now > one/x/y; echo now > one/ignored.o; echo now > two")
    found = in_the_stage(scene, put_back=["one", "two/a/b"], remove=["one/x/y", "two"])
    assert found == FOLDERS | {"one": "then", "two": "/", "two/a": "/", "two/a/b": "then"}


def test_a_link_in_place_of_a_folder_leads_nowhere(scene: Scene) -> None:
    """What lies beyond it is no part of the stage, and would be changed for good."""
    outside = scene.folder / "outside"
    outside.mkdir()
    (outside / "b").write_text("outside")
    scene.owner.own(outside, outside / "b")
    scene.write({"a/b": "then"})
    scene.keep()
    scene.sh(f"rm -r a; ln -s {outside} a; ln -s {outside} c")
    long_unread(outside)
    before = picture(outside)
    found = in_the_stage(scene, put_back=["a/b"], remove=["c/b"], watch=["c/b"])
    assert found == FOLDERS | {"a": "/", "a/b": "then", "c": f"-> {outside}"}
    assert picture(outside) == before


def test_a_folder_with_nothing_but_removed_files_is_not_there(scene: Scene) -> None:
    """An empty folder can still be imported as a package."""
    scene.write(
        {"package/sub/new.py": "now", "package/sub/other.py": "now", "half/new.py": "", "half/old.py": "x"}
    )
    found = in_the_stage(scene, remove=["package/sub/new.py", "package/sub/other.py", "half/new.py"])
    assert found == FOLDERS | {"half": "/", "half/old.py": "x"}


def test_what_is_put_back_has_the_time_of_now(scene: Scene) -> None:
    """Else `make` believes in objects that were made of what was there before."""
    scene.write({"source": "then"})
    scene.keep()
    scene.write({"Makefile": "object: source\n\tcp source object\n"})
    scene.sh("echo now > source; touch -d '1 hour ago' source; cp source object")
    assert scene.sh("make object") == "make: 'object' is up to date.\n"
    ran = scene.run("make -s object && cat object", put_back=["source"])
    assert (ran.exit_code, ran.tail) == (0, "then")


@pytest.mark.parametrize(
    "path", ["unknown", "../state/kept/index", "/etc/passwd", "docs/../app.py", "docs//x", ""]
)
def test_what_cannot_be_put_back_keeps_the_command_from_running(scene: Scene, path: str) -> None:
    scene.keep()
    ran = scene.run("touch ../ran", put_back=["app.py", path])
    assert (ran.exit_code, ran.signal, ran.timed_out, ran.green) == (None, None, False, False)
    assert ran.apart == (False, "a file could not be put back", (), (), ())
    assert not (scene.folder / "ran").exists()


@pytest.mark.parametrize("path", ["../state/kept", "/etc/passwd"])
def test_only_what_lies_in_the_project_is_removed(scene: Scene, path: str) -> None:
    assert scene.apart("true", remove=[path]) == (False, "a file could not be put back", (), (), ())
    assert scene.kept.exists()


def test_without_git_nothing_is_put_back(scene: Scene) -> None:
    scene.keep()
    found = scene.apart("true", put_back=["app.py"], git=[str(scene.folder / "no such git")])
    assert found == (False, "a file could not be put back", (), (), ())


def test_what_the_command_read_is_told(scene: Scene) -> None:
    scene.write({"read": "x", "listed": "x", "written": "x", "run.sh": "echo", "sourced": ":"})
    scene.sh("ln -s read followed")
    scene.keep()
    text = "cat followed; ls -l listed > /dev/null; echo x > written; sh run.sh; . ./sourced"
    names = ["listed", "read", "written", "no", "run.sh", "sourced", "followed", "app.py", "docs"]
    found = scene.apart(text, watch=names, put_back=["app.py"])
    assert found.read == ("read", "run.sh", "sourced", "followed")


def test_what_is_put_back_in_the_second_of_its_change_is_not_taken_for_compiled(scene: Scene) -> None:
    """Python goes by size and second; one of these files was changed in the second in which all go back."""
    names = [f"part{number}" for number in range(60)]
    scene.write({f"{name}.py": "value = 1\n" for name in names})
    scene.keep()
    scene.write({f"{name}.py": "value = 2\n" for name in names})
    for ahead, name in enumerate(names):
        second = int(time.time()) + ahead
        os.utime(scene.top / f"{name}.py", (second, second))
    scene.sh("$PYTHON -m compileall -q .")
    asks = f"import {', '.join(names)}; print({{{', '.join(name + '.value' for name in names)}}})"
    assert scene.sh(f'$PYTHON -c "{asks}"') == "{2}\n"
    ran = scene.run(f'$PYTHON -c "{asks}"', put_back=[f"{name}.py" for name in names])
    assert (ran.exit_code, ran.tail) == (0, "{1}\n")


def test_watching_changes_no_time_that_a_command_can_go_by(scene: Scene) -> None:
    scene.sh("touch -d @1000000000.123456789 app.py")
    says = "stat -c '%.9Y %s %a' app.py"
    assert scene.run(says, watch=["app.py"]).tail == scene.sh(says) == "1000000000.123456789 14 644\n"


def test_a_file_too_large_to_watch_is_left_alone(scene: Scene) -> None:
    scene.sh("truncate -s 300M large")
    found = scene.apart(
        "cat large app.py > /dev/null; test $(stat -c %b large) = 0", watch=["large", "app.py"]
    )
    assert (found.stood, found.read) in [(True, ("app.py",)), (True, ())]


def test_what_the_command_made_is_told(scene: Scene) -> None:
    scene.write({"build/same": "x", "build/gone": "x", "build/read": "x", "build/kept_time": "x"})
    text = (
        "echo new > build/new; echo more >> build/out.o; rm build/gone; cat build/read; mkdir build/folder; "
        "ln -s new build/link; cp -p build/kept_time t; mv t build/kept_time"
    )
    names = ["out.o", "new", "same", "gone", "read", "folder", "link", "never", "kept_time"]
    found = scene.apart(text, products=[str(scene.top / "build" / name) for name in names])
    made = [os.path.basename(path) for path in found.made]
    assert made == ["out.o", "new", "folder", "link", "kept_time"]


def test_whether_the_command_left_anything_is_told(scene: Scene) -> None:
    scene.write({"build/out.o": "x", "gone": "x"})
    for text, wrote in (
        ("cat app.py build/out.o; ls -R; test -e new", []),
        ("echo x > ../elsewhere", []),
        ("mkdir -p src/__pycache__ .pytest_cache/v; touch src/__pycache__/a.pyc .pytest_cache/v/b", []),
        ("echo x > new", ["new"]),
        ("echo x >> build/out.o", ["build/out.o"]),
        ("touch build/out.o", ["build/out.o"]),
        ("rm gone", ["gone"]),
        ("mkdir 'a folder'; echo x > \"$(printf 'a folder/new\\nli\\351ne')\"", ["a folder/new\nli\udce9ne"]),
        ("echo x > new; rm new", []),
    ):
        found = scene.apart(text, watch=["app.py"], remove=["old"], caches=["__pycache__", ".pytest_cache"])
        assert found.stood, text
        assert list(found.wrote) == [str(scene.top / name) for name in wrote], text


def test_the_work_is_as_if_just_written_in_the_order_it_was(scene: Scene) -> None:
    """So that `make` does not believe in what was made between the work and now."""
    scene.write({"old.c": "", "new.c": "", "same.c": "", "stamp": ""})
    scene.sh("touch -d @1000000000 old.c; touch -d @1000000001.5 new.c same.c; touch stamp")
    order = "ls -t --time-style=full-iso -1 old.c new.c stamp; test new.c -ot same.c || test new.c -nt same.c"
    found = scene.run(order, watch=["old.c", "new.c", "same.c"], renew=True)
    assert (found.exit_code, found.tail.split()) == (1, ["new.c", "old.c", "stamp"])
    found = scene.run(order, watch=["old.c", "new.c", "same.c"])
    assert found.tail.split() == ["stamp", "new.c", "old.c"]


def test_20000_watched_files_are_told(scene: Scene) -> None:
    names = [f"many/{n}" for n in range(20_000)]
    scene.sh("mkdir many; cd many; seq 0 19999 | xargs touch")
    found = scene.apart("cat many/*7", watch=names)
    assert found.read == tuple(name for name in names if name.endswith("7"))


def test_a_worktree_is_laid_over_with_its_git_folder(scene: Scene) -> None:
    tree = scene.folder / "tree"
    scene.git("worktree", "add", "-q", "-b", "side", str(tree))
    long_unread(scene.folder)
    before = picture(scene.folder)
    commits = "echo more >> app.py; git -c user.name=x -c user.email=x@y commit -qam more"
    text = f"{commits}; git log --oneline | wc -l; git update-ref -d refs/heads/main"
    ran = scene.run(text, cwd=tree, places=[str(tree), str(scene.top / ".git")])
    assert (ran.exit_code, ran.tail.split()[0]) == (0, "2"), ran.tail
    assert picture(scene.folder) == before


@pytest.mark.parametrize(
    "name", ["with a space", "comma,lowerdir=x", "colon:colon", "back\\slash", "ünï\udcff", "new\nline"]
)
@pytest.mark.parametrize("who", [ROOT, ORDINARY])
def test_a_path_may_have_any_name(who: str, name: str) -> None:
    with scene_of(who, name) as scene:
        scene.write({"app.py": "then", "new.py": "now"})
        scene.keep()
        scene.write({"app.py": "now"})
        ran = scene.run("cat app.py; ls; echo x > made", put_back=["app.py"], remove=["new.py"])
        assert (ran.exit_code, ran.tail) == (0, "thenapp.py\n")
        assert sorted(os.listdir(scene.top)) == [".git", "app.py", "new.py"]


def test_a_state_directory_inside_the_project(scene: Scene) -> None:
    spare = scene.top / "build/state/spare"
    scene.sh(f"mkdir -p {spare}")
    long_unread(scene.folder)
    before = picture(scene.folder)
    ran = scene.run("echo x > build/state/spare/x; ls build/state/spare", spare=str(spare))
    assert (ran.exit_code, ran.tail) == (0, "x\n")
    assert picture(scene.folder) == before


def test_a_file_of_a_group_that_the_namespace_does_not_know() -> None:
    """Only an ordinary user has such files: root's namespace knows all groups."""
    with scene_of(ORDINARY) as scene:
        if os.geteuid() != 0:
            skip("the suite runs as an ordinary user, who has no second group for sure")
        scene.write({"shared/app.py": "then", "shared/new.py": "now", "own.py": "then", "shared/lost.py": ""})
        scene.sh("chmod 2775 shared")
        for path in (scene.top / "shared", scene.top / "shared/app.py"):
            os.chown(path, scene.owner.options["user"], SHARED_GROUP)
        scene.keep()
        scene.sh("rm shared/lost.py")
        why = "a file belongs to somebody whom a user namespace does not know"
        assert scene.apart("true", put_back=["shared/lost.py"]) == (False, why, (), (), ())
        assert scene.apart("true", put_back=["shared/app.py"]) == (False, why, (), (), ())
        assert scene.apart("true", remove=["shared/new.py"]) == (False, why, (), (), ())
        ran = scene.run("cat shared/app.py own.py", put_back=["own.py"], watch=["shared/app.py", "own.py"])
        assert (ran.exit_code, ran.tail, ran.apart.read) == (0, "thenthen", ("own.py",))


def test_the_time_of_the_stage_is_not_the_commands(scene: Scene) -> None:
    scene.keep()
    slow = scene.folder / "slow-git"
    slow.write_text(f'#!/bin/sh\nsleep 2\nexec {GIT} "$@"\n')
    slow.chmod(0o755)
    began = time.monotonic()
    ran = scene.run("true", put_back=["app.py"], git=[str(slow)])
    assert ran.green
    assert time.monotonic() - began > 2
    assert ran.duration_s < 2


def test_a_trial_says_that_a_stage_stands(scene: Scene) -> None:
    before = picture(scene.folder)
    assert scene.trouble() == ""
    assert picture(scene.folder) == before


def test_a_spare_folder_that_is_not_there_is_told(scene: Scene) -> None:
    found = scene.apart("true", spare=str(scene.folder / "none"))
    assert found == (False, "no such file or directory", (), (), ())


def test_a_mount_below_the_project_is_laid_over_too() -> None:
    with scene_of(ROOT) as scene:
        scene.write({"volume/.keep": "", "app.py": "x"})
        volume, after = scene.top / "volume", scene.folder / "after"
        mounted = f'mount -t tmpfs none {volume}; echo inner > {volume}/file; "$@"; cp -r {volume} {after}'
        ran = scene.run(
            "cat volume/file; echo more >> volume/file; echo > volume/new; cat volume/file; ls -A volume",
            before=["unshare", "-m", "sh", "-ec", mounted, "sh"],
        )
        assert ran.tail == "inner\ninner\nmore\nfile\nnew\n"
        assert {path.name: path.read_text() for path in after.iterdir()} == {"file": "inner\n"}


def test_a_mount_below_the_project_keeps_its_mode_and_owner() -> None:
    with scene_of(ROOT) as scene:
        scene.write({"volume/.keep": ""})
        volume = scene.top / "volume"
        mounted = f'mount -t tmpfs -o mode=1770,uid={USER},gid={GROUP} none {volume}; exec "$@"'
        before = ["unshare", "-m", "sh", "-ec", mounted, "sh"]
        ran = scene.run("stat -c '%a %u %g' volume .; test -z \"$(ls -A volume)\"", before=before)
        project = scene.top.stat()
        own = f"{stat.S_IMODE(project.st_mode):o} {project.st_uid} {project.st_gid}"
        assert (ran.exit_code, ran.tail) == (0, f"1770 {USER} {GROUP}\n{own}\n")


def test_a_project_that_changes_meanwhile_is_still_left_alone(scene: Scene) -> None:
    waits = "echo > ../begun; while ! [ -e ../changed ]; do cat app.py docs/*; sleep 0.1; done"
    text = f"{waits}; rm -rf docs app.py"
    with scene.start(scene.request(text, watch=["app.py"])) as actor:
        eventually((scene.folder / "begun").exists)
        scene.sh("rm -r docs tests; echo other > app.py; mkdir docs; echo new > docs/new; touch ../changed")
        ran = ran_of(actor)
    assert ran.apart is not None
    assert ran.apart.stood
    assert (scene.top / "app.py").read_text() == "other\n"
    assert (scene.top / "docs/new").read_text() == "new\n"


def test_other_systems_have_no_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    stage = apart.Stage((str(tmp_path),), str(tmp_path))
    ran = checker.run("touch ran", cwd=str(tmp_path), env={}, timeout_s=60.0, stage=stage)
    assert (ran.exit_code, ran.green, ran.apart) == (None, False, apart.Apart(False, "only Linux has one"))
    assert not (tmp_path / "ran").exists()


def test_a_command_that_wants_no_stage_has_none(tmp_path: Path) -> None:
    ran = checker.run("true", cwd=str(tmp_path), env={}, timeout_s=60.0)
    assert (ran.green, ran.apart) == (True, None)

"""The examples of docs/library.md as they stand: in a thread, without a terminal or a command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ralphloop import loops
from ralphloop.errors import UnapprovedError, UserError

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "library.md"
FORBIDDEN = ("argparse", "rich", "ralphloop.cli")

# Runs a text in a thread of an interpreter that cannot import what a command line needs.
PROGRAM = """
import sys, threading
project, text, *forbidden = sys.argv[1:]

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in forbidden):
            raise ImportError(f"{name} must not be needed")

sys.meta_path.insert(0, Nothing())
failed = []
def work():
    try:
        exec(compile(text, "docs/library.md", "exec"), {"project": project})
    except BaseException:
        import traceback
        failed.append(traceback.format_exc())
thread = threading.Thread(target=work)
thread.start()
thread.join()
sys.exit("".join(failed) or None)
"""


def examples() -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S))


def played(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(project), text, *FORBIDDEN],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_the_examples_of_the_page_run(tmp_path):
    done = played(tmp_path, examples())
    assert done.returncode == 0, done.stderr
    loop_id, told = done.stdout.splitlines()
    assert loop_id.startswith("features-shop-")
    assert told == "shop has ended (cancelled); there is nothing to pause."
    assert done.stderr == ""


def test_the_page_would_fail_if_it_were_wrong(tmp_path):
    done = played(tmp_path, examples().replace('"proven"', '"unproven"', 1))
    assert done.returncode == 1
    assert "AssertionError" in done.stderr


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_must_not_be_needed_cannot_be_imported(tmp_path, name):
    done = played(tmp_path, f"import {name}")
    assert done.returncode == 1
    assert "must not be needed" in done.stderr


def test_no_module_takes_the_place_of_a_public_name():
    modules = {path.stem for path in (REPOSITORY / "src/ralphloop/loops").iterdir()}
    assert not modules & set(loops.__all__)
    for name in loops.__all__:
        assert getattr(loops, name).__module__ == f"ralphloop.loops.{loops._HOMES[name]}", name


def test_type_checkers_know_the_same_names():
    text = (REPOSITORY / "src/ralphloop/loops/__init__.py").read_text()
    typed = re.findall(r"^    from ralphloop\.loops\.(\w+) import ([\w, ]+)$", text, re.M)
    assert {name: module for module, names in typed for name in names.split(", ")} == loops._HOMES
    assert loops.__all__ == sorted(loops._HOMES)


def test_what_cannot_hold_is_refused_by_the_library_too(tmp_path):
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    place = loops.Place(str(project), {"PATH": "/usr/bin:/bin", "HOME": str(home)})
    loops.new(place, "shop", source=("shop.md", b"- Show the cart\n"))
    before = sorted(home.rglob("*"))
    refused = {
        "cannot be a session id": loops.Wish(session="x" * 300),
        "without an end of turns": loops.Wish(limits={"iterations": 10**9}),
        "there is no limit iterationz": loops.Wish(limits={"iterationz": 5}),
        "must be a finite number above 0, not -4": loops.Wish(limits={"cost_usd": -4}),
        "not True": loops.Wish(limits={"cost_usd": True}),
        "not inf": loops.Wish(limits={"time_s": float("inf")}),
        "a whole number above 0, not 2.5": loops.Wish(limits={"iterations": 2.5}),
        "not None": loops.Wish(limits={"tokens": None}),
        "goes on by block or context, not by 'nonsense'": loops.Wish(continue_with="nonsense"),
    }
    for told, wish in refused.items():
        with pytest.raises(UserError, match=told):
            loops.start(place, "shop", wish=wish)
    assert sorted(home.rglob("*")) == before
    loops.start(place, "shop", wish=loops.Wish(session="a-session"))
    inside = loops.Place(place.cwd, {**place.env, "RALPHLOOP_CHECK": "1"})
    for act in (loops.done, loops.verify):
        with pytest.raises(UserError, match="it would run itself"):
            act(inside, "F1")
    with pytest.raises(UserError, match="a report cannot be docx"):
        loops.report(place, "shop", shape="docx")
    with pytest.raises(UserError, match="there is no loop cart"):
        loops.events(place, "cart")


def test_a_place_may_be_named_from_the_process_and_is_never_made(tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    place = loops.Place("project", env)
    loops.new(place, "shop", source=("shop.md", b"- Show the cart\n"))
    assert loops.start(place, "shop").data["name"] == "shop"
    gone = loops.Place(str(tmp_path / "gone"), env)
    for make in (lambda: loops.new(gone, "x"), lambda: loops.plan(gone, "A shop")):
        with pytest.raises(UserError, match="there is no folder"):
            make()
    assert not (tmp_path / "gone").exists()


def test_a_start_that_failed_is_in_nobodys_way(tmp_path):
    """Within the same second, too, by which the two would have one id."""
    for number in range(5):
        project = tmp_path / str(number)
        project.mkdir()
        place = loops.Place(str(project), {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
        loops.new(place, "shop", source=("shop.md", b"- Show the cart\n"))
        blocked = project / ".ralph/run"
        blocked.touch()
        with pytest.raises(OSError, match="run"):
            loops.start(place, "shop")
        blocked.unlink()
        assert loops.start(place, "shop").data["name"] == "shop"


def test_doubts_come_with_the_error_and_are_told_once_where_they_were_seen(tmp_path):
    (tmp_path / "project").mkdir()
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    place = loops.Place(str(tmp_path / "project"), env)
    loops.new(place, "shop", source=("shop.md", b"- Show the cart\n  - Verify: `if true`\n"))
    with pytest.raises(UnapprovedError) as raised:
        loops.start(place, "shop")
    (doubt,) = raised.value.doubts
    approval = loops.Approval(raised.value.commands)
    begun = loops.start(place, "shop", wish=loops.Wish(approval=approval, seen=raised.value.doubts))
    assert begun.data["doubts"] == [doubt]
    assert not any(doubt in line for line in begun.messages)

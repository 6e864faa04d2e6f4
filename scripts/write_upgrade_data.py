"""Writes `tests/data/<version>/`: loops as a released version leaves them, for the tests of later ones.

    python scripts/write_upgrade_data.py CHECKOUT [SCENE…]

CHECKOUT is a checkout of that version. A copy of its package begins real loops in scratch projects, through
its own command line and the hook lines that it registers. `tests/e2e/upgrade.py` says what a scene holds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import marshal
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from e2e import upgrade  # noqa: E402
from e2e.upgrade import PLUGINS, PYTHON, SETTINGS, Place, Version  # noqa: E402
from e2e.upgrade_client import append, user_entry  # noqa: E402
from fakes.patience import eventually  # noqa: E402

LIST = ".ralph/loops/demo/feature_list.json"
BOXES = {"specum": "specs/demo/tasks.md", "speckit": ".specify/specs/001-demo/tasks.md"}
OWNED = ("--session", upgrade.OWNER)
LIMITS = ("--max-iterations", "40", "--max-attempts", "4", "--max-time", "3h", "--max-no-progress", "5")
BUDGET = ("--max-tokens", "2M", "--max-cost", "50")
FULL = "API Error: 429 You've hit your limit. Try again in 45 minutes"

Play = Callable[[Place], "dict[str, Any] | None"]
SCENES: dict[str, tuple[str, Play]] = {}


def scene(*, registration: str = SETTINGS) -> Callable[[Play], Play]:
    def keep(play: Play) -> Play:
        SCENES[play.__name__] = (registration, play)
        return play

    return keep


# Task lists


def check(task: str) -> str:
    return f"sh checks/made.sh {task}"


def feature(number: int, *, checked: bool = True, **fields: Any) -> dict[str, Any]:
    name = f"F{number}"
    verify = {"verify": check(name)} if checked else {}
    return {"id": name, "description": f"Make part {number}", "steps": ["one", "two"], "passes": False,
            **verify, **fields}  # fmt: skip


def write_list(place: Place, *features: dict[str, Any], **fields: Any) -> None:
    place.write("checks/made.sh", 'test -s "made/$1" && echo "$1 is made"\n')
    place.write(LIST, json.dumps({**fields, "features": list(features)}, indent=2) + "\n")
    place.write(
        ".ralph/loops/demo/progress.txt", "Status: NOT_STARTED\nIteration: 1\n\nNotes of the agent.\n"
    )
    prompt = "Work through the list in .ralph/loops/demo, one feature at a time.\n"
    place.write(".ralph/loops/demo/RALPH_PROMPT.md", prompt)


def write_spec(place: Place, layout: str) -> None:
    place.write("checks/made.sh", 'test -s "made/$1" && echo "$1 is made"\n')
    rows = []
    for number, checked in enumerate((True, False, True, True, False), 1):
        task = f"1.{number}"
        rows += [f"- [ ] {task} Part {number}", f"  - **Do**: make part {number}"]
        rows += [f"  - **Verify**: `{check(task)}`"] if checked else []
    place.write(BOXES[layout], "# Tasks\n\n" + "\n".join(rows) + "\n")
    state = {"name": "demo", "phase": "execution", "taskIndex": 0, "totalTasks": 5, "taskIteration": 1,
             "maxTaskIterations": 5, "globalIteration": 1, "maxGlobalIterations": 100}  # fmt: skip
    if layout == "specum":
        own = {"source": "spec", "basePath": "./specs/demo"}
        place.write("specs/.current-spec", "demo\n")
        place.write("specs/demo/.ralph-state.json", json.dumps({**own, **state}, indent=2) + "\n")
        place.write("specs/demo/.progress.md", "# Progress\n\nNotes of the agent.\n")
    else:
        own = {"featureId": "001", "basePath": ".specify/specs/001-demo", "awaitingApproval": False}
        place.write(".specify/.current-feature", "001-demo\n")
        place.write(
            ".specify/specs/001-demo/.speckit-state.json", json.dumps({**own, **state}, indent=2) + "\n"
        )


def edit(place: Place, task: str, **fields: Any) -> None:
    """Change a feature as an agent does."""

    def change(data: dict[str, Any]) -> None:
        next(one for one in data["features"] if one["id"] == task).update(fields)

    place.change(LIST, change)


def claim(place: Place, task: str) -> None:
    edit(place, task, passes=True)


def tick(place: Place, layout: str, task: str) -> None:
    path = place.root / BOXES[layout]
    path.write_text(path.read_text().replace(f"[ ] {task} ", f"[x] {task} "))


def begin(place: Place, *options: str) -> None:
    """Start the loop as the person does, for the session under way."""
    place.fine("start", "--yes", *OWNED, *options)
    append(place.transcript, user_entry("begin"))


def wait_for_age(place: Place) -> None:
    """Until the list is old enough for a cursor."""
    time.sleep(max(0.0, (place.root / LIST).stat().st_ctime + 2.5 - time.time()))


# Scenes


@scene()
def features(place: Place) -> dict[str, Any]:
    """Every kind of task, and what a session can have run into by then."""
    place.fine("install", "--scope", "user", "--statusline")
    listed = [feature(1, passes=True), feature(2), feature(3), feature(4, checked=False)]
    more = [feature(5, checked=False), feature(6), feature(7, checked=False), feature(8, depends_on=["F3"])]
    write_list(place, *listed, *more, protect=["checks/*.sh"])
    begin(place, *LIMITS, *BUDGET)
    place.make("F1", "F2")
    claim(place, "F2")
    assert place.turn("F2 is made.").task == "F3"
    claim(place, "F3")
    assert "exited with" in place.turn("F3 is made, I think.").reason
    claim(place, "F4")
    edit(place, "F8", verify="true")
    assert "pinned" in place.turn("F4 is made.").reason
    place.write("checks/made.sh", "true\n")
    claim(place, "F3")
    assert "protected" in place.turn("F3 is made now.").reason
    place.fine("ask", "F5", "Blue or green?", env=place.agent)
    place.make("F6")
    place.fine("done", "F6", env=place.agent)
    place.fine("accept", "F7")
    place.turn("F6 is made.")
    wait_for_age(place)
    answer = place.turn("I look at F3 once more.")
    assert answer.task == "F3", answer
    return {"told": {"stop.json": answer.stdout}}


def spec(place: Place, layout: str) -> dict[str, Any]:
    write_spec(place, layout)
    begin(place, *LIMITS)
    place.make("1.1")
    tick(place, layout, "1.1")
    assert place.turn("1.1 is made.").blocks
    tick(place, layout, "1.2")
    assert place.turn("1.2 is made.").blocks
    tick(place, layout, "1.3")
    answer = place.turn("1.3 is made, I think.")
    assert "exited with" in answer.reason
    return {"told": {"stop.json": answer.stdout}}


@scene(registration=PLUGINS["specum"])
def specum(place: Place) -> dict[str, Any]:
    return spec(place, "specum")


@scene(registration=PLUGINS["speckit"])
def speckit(place: Place) -> dict[str, Any]:
    return spec(place, "speckit")


@scene(registration=PLUGINS["specum"])
def phases(place: Place) -> dict[str, Any]:
    """A spec that is written phase by phase before anything is executed, begun by a slash command."""
    append(place.transcript, user_entry("begin"))
    typed = {"command_name": "ralph-specum:start", "command_args": "login Add a login form --quick"}
    place.hook("UserPromptExpansion", **typed)
    place.fine("--typed", "specum", "start", env=place.agent)
    answer = place.turn("I begin with the research.")
    assert answer.blocks, answer
    return {"told": {"stop.json": answer.stdout}}


@scene()
def armed(place: Place) -> None:
    """Started at a terminal, and no session has come yet."""
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    place.fine("start", "demo", "--yes")


@scene()
def paused(place: Place) -> None:
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    begin(place)
    place.make("F1")
    claim(place, "F1")
    assert place.turn("F1 is made.").task == "F2"
    place.fine("pause", "demo")
    assert not place.turn("I begin with F2.").blocks


@scene()
def rate_limited(place: Place) -> None:
    """The session of a terminal hit a limit; the process that was to wake it is gone."""
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    begin(place)
    place.make("F1")
    claim(place, "F1")
    assert place.turn("F1 is made.").task == "F2"
    env = {**place.hook_env(), "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    waker = subprocess.Popen(
        ["/bin/sh", "-c", place.line("StopFailure")], cwd=place.root, env=env, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert waker.stdin is not None
    failure = place.payload("StopFailure", error="rate_limit", last_assistant_message=FULL)
    waker.stdin.write(json.dumps(failure))
    waker.stdin.close()
    eventually(lambda: place.status()["waker"])
    os.killpg(waker.pid, signal.SIGKILL)
    waker.wait()


@scene()
def driven(place: Place) -> None:
    """The supervisor was killed in the middle of its second session, which had come to no stop."""
    place.install_client()
    write_list(place, feature(1), feature(2), feature(3))
    git(place, "init", "--quiet", "--initial-branch=main")
    (place.home / ".gitconfig").write_text("[user]\n\tname = Tester\n\temail = tester@example.invalid\n")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message=start")
    (place.home / "hang").write_text("F2\n")
    terms = ("--batch", "1", "--model", "sonnet", "--branch", "overnight")
    place.fine("run", "demo", "--yes", "--detach", *terms, *LIMITS)
    eventually((place.home / "hangs").exists)
    os.kill(place.status()["driver"], signal.SIGKILL)
    eventually(lambda: not alive_in(place.home))
    for name in ("hang", "hangs"):
        (place.home / name).unlink()


@scene()
def limit(place: Place) -> None:
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    begin(place, "--max-iterations", "2")
    place.make("F1")
    claim(place, "F1")
    assert place.turn("F1 is made.").task == "F2"
    assert not place.turn("I begin with F2.").blocks


@scene()
def failed(place: Place) -> None:
    """Its last task was set aside after too many attempts."""
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    begin(place, "--max-attempts", "1")
    place.make("F1")
    claim(place, "F1")
    assert place.turn("F1 is made.").task == "F2"
    claim(place, "F2")
    assert not place.turn("F2 is made, I think.").blocks


@scene()
def needs_input(place: Place) -> None:
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    begin(place)
    place.make("F1")
    claim(place, "F1")
    place.fine("ask", "F2", "Blue or green?", env=place.agent)
    assert not place.turn("F1 is made, and I asked about F2.").blocks


@scene()
def needs_approval(place: Place) -> None:
    """The person began it without a look at its checks, and the agent added a task with one of its own."""
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2))
    place.fine("start", "--unapproved", *OWNED)
    append(place.transcript, user_entry("begin"))
    place.make("F1")
    claim(place, "F1")
    place.change(LIST, lambda data: data["features"].append(feature(3)))
    assert not place.turn("F1 is made, and I added F3.").blocks


@scene()
def complete(place: Place) -> None:
    place.fine("install", "--scope", "user")
    write_list(place, feature(1), feature(2, checked=False))
    begin(place)
    place.make("F1")
    claim(place, "F1")
    assert place.turn("F1 is made.").task == "F2"
    claim(place, "F2")
    assert not place.turn("F2 is made.").blocks


@scene(registration=PLUGINS["features"])
def plugin(place: Place) -> dict[str, Any]:
    """Its stops are recorded, and the person has just typed a slash command."""
    write_list(place, feature(1), feature(2), feature(3))
    place.fine("record", "on")
    begin(place)
    place.make("F1")
    claim(place, "F1")
    assert place.turn("F1 is made.").task == "F2"
    claim(place, "F2")
    assert place.turn("F2 is made, I think.").blocks
    place.fine("ask", "F2", "Blue or green?", env=place.agent)
    assert place.turn("I asked about F2.").task == "F3"
    typed = {"command_name": "ralphloop:answer", "command_args": 'F2 green, please; it\'s "nicer"'}
    place.hook("UserPromptExpansion", env={"CLAUDE_CODE_SESSION_ATTENDED": "1"}, **typed)
    told = {
        "records.json": place.fine("record", "list", "--json"),
        "case.toml": place.fine("record", "case", "2"),
    }
    return {"told": told}


# Around them


def git(place: Place, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=place.root, env=place.env(), check=True, capture_output=True, text=True
    )
    return done.stdout


def alive_in(home: Path) -> list[int]:
    """What was started in this home and still runs."""
    found, mark = [], f"HOME={home}".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found


def copied(checkout: Path, base: Path) -> Version:
    """The version in a folder of its own: a run leaves byte code beside the source."""
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(checkout / "src", base / "src", ignore=left_out)
    shutil.copytree(checkout / "plugins", base / "plugins", symlinks=True)
    package, plugins = base / "src" / "ralphloop", base / "plugins"
    return Version(
        (PYTHON, "-I", str(package)), package, plugins, str(plugins / "{}" / "hooks" / "hooks.json")
    )


def save(place: Place, folder: Path, *, told: dict[str, str], **about: Any) -> None:
    """First what the version says of the scene, then its files."""
    shutil.rmtree(folder, ignore_errors=True)
    saved_at = round(time.time(), 3)
    said = {
        "status.json": place.run("status", "--json").out,
        "report.json": place.run("report", "--format", "json").out,
        "evidence.json": place.run("evidence", "--json").out,
        "log.txt": place.run("log").out,
    }
    for name, text in {**said, **told}.items():
        put(folder / "told" / name, marked(text, place))
    for part, top in (("project", place.root), ("home", place.home)):
        for source in files_below(top):
            name = source.relative_to(top).as_posix()
            for mirror, path in (("by-path/ROOT", place.root), ("installs/HOME", place.home)):
                name = name.replace(mirror.partition("/")[0] + str(path), mirror, 1)
            put(folder / part / upgrade.saved_name(name), marked_file(source, place))
    if (place.root / ".git").exists():
        put(folder / "repository.export", git(place, "fast-export", "--all"))
        about["branch"] = git(place, "symbolic-ref", "--short", "HEAD").strip()
    known = {"registration": place.registration, "session": place.session, "prompt": place.prompt,
             "stops": place.stops, "saved_at": saved_at}  # fmt: skip
    put(folder / "scene.json", json.dumps({**known, **about}, indent=2) + "\n")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def files_below(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob("*")):
        if path.is_file() and ".git" not in path.relative_to(top).parts:
            yield path


def marked_file(source: Path, place: Place) -> str:
    text = marked(source.read_bytes().decode(), place)
    if source.name == "approved.json":
        assert upgrade.identity(place.root) in text, text
        text = text.replace(upgrade.identity(place.root), "{{FOLDER}}")
    if source.name == "usage.json":
        (transcript,) = place.transcript.parent.iterdir()
        mark = f"{{{{INODE home/{transcript.relative_to(place.home).as_posix()}}}}}"
        text, count = re.subn(rf"(\[\d+, ){upgrade.inode(transcript)}\]", rf"\g<1>{mark}]", text)
        assert count == 1, text
    return text


def marked(text: str, place: Place) -> str:
    """The text with marks for the place, and for what is told of the files in it."""
    for path in files_below(place.root):
        name = path.relative_to(place.root).as_posix()
        if path.parent.name == "evidence":
            text = text.replace(upgrade.sha256(path), f"{{{{SHA256 project/{name}}}}}")
        text = text.replace(upgrade.signature(path), f"{{{{SIGNATURE project/{name}}}}}")
    places = {"{{ROOT}}": place.root, "{{HOME}}": place.home, "{{PACKAGE}}": place.version.package,
              "{{PYTHON}}": PYTHON}  # fmt: skip
    for mark, path in places.items():
        text = text.replace(str(path), mark)
    assert str(place.base.parent) not in text, text
    return text


def save_sources(version: Version, folder: Path) -> None:
    """The folders of which its hook makes a bundle, to make one with whatever Python runs the tests."""
    launcher = version.package / "hook" / "launch.py"
    subprocess.run([PYTHON, "-I", "-S", str(launcher)], input=b"{}", check=True)
    (bundle,) = (version.package / "__pycache__").glob("*.bundle")
    with bundle.open("rb") as file:
        head = file.read(int.from_bytes(file.read(4), "little"))
    index = marshal.loads(head)  # noqa: S302 - written a moment ago
    folders = {os.path.dirname(path).lstrip("/") for path, _, _ in index["sources"]}
    with tarfile.open(folder / "hot.tar.xz", "w:xz") as archive:
        for name in sorted(folders):
            for path in sorted((version.package / name).iterdir()):
                if path.suffix in (".py", ".sh"):
                    archive.add(path, path.relative_to(version.package).as_posix(), filter=nobodys)


def nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the loops of a released version down.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="only these")
    args = parser.parse_args()
    found = re.search(r'VERSION = "([^"]+)"', (args.checkout / "src/ralphloop/version.py").read_text())
    assert found, "a checkout has a version"
    folder = upgrade.DATA / f"v{found[1].replace('.', '_')}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch).resolve()
        version = copied(args.checkout.resolve(), base / "version")
        for name in args.scenes or SCENES:
            registration, play = SCENES[name]
            (base / name).mkdir()
            place = Place(base / name, version, registration=registration)
            about = play(place) or {}
            save(place, folder / name, **{"told": {}, **about})
        if not args.scenes:
            save_sources(version, folder)
            for plugin_name in PLUGINS.values():
                put(folder / f"{plugin_name}.hooks.json", Path(version.hooks.format(plugin_name)).read_text())


if __name__ == "__main__":
    main()

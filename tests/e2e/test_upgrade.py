"""A loop that version 0.3.1 began goes on with this one: its files, its registration, its session."""

from __future__ import annotations

import json
import marshal
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from e2e.cli_project import WIDE
from e2e.upgrade import DATA, PYTHON, REPOSITORY, Scene, Version
from fakes.patience import eventually

WROTE = "v0_3_1"
SCENES = sorted(path.parent.name for path in (DATA / WROTE).glob("*/scene.json"))
LIST = ".ralph/loops/demo/feature_list.json"
BOXES = {"specum": "specs/demo/tasks.md", "speckit": ".specify/specs/001-demo/tasks.md"}
PACKAGE = REPOSITORY / "src" / "ralphloop"
TODAY = Version(
    (sys.executable, "-m", "ralphloop"), PACKAGE, REPOSITORY / "plugins", str(DATA / WROTE / "{}.hooks.json")
)
# What is measured up to the moment of the question.
ASIDE = ("made_at", "elapsed_s", "working_s", "time_s")
TOLD = {
    "status.json": ("status", "--json"),
    "report.json": ("report", "--format", "json"),
    "evidence.json": ("evidence", "--json"),
}

LayOut = Callable[..., Scene]


@pytest.fixture
def lay_out(tmp_path: Path) -> LayOut:
    def build(name: str, today: Version = TODAY) -> Scene:
        base = tmp_path / name
        base.mkdir()
        return Scene(base, name, version=WROTE, today=today)

    return build


SENTENCES = ("stop", "session", "session_end", "ask", "pause", "stop_failure")
# names of fields, and values for which there are words now
FIELDS = {
    "continue",
    "allow",
    "number",
    "verdict",
    "outcome",
    "detail",
    "reason",
    "question",
    "next",
    "completed",
}
WORD = re.compile(r"[^\s,():]+")


def must_tell(told: Any, was: Any, where: str) -> None:
    """The same is told as was told then; keys may have been added."""
    if isinstance(was, dict):
        assert isinstance(told, dict), where
        for key, value in was.items():
            assert key in told, f"{where}.{key} is missing"
            if key not in ASIDE or isinstance(value, dict):
                must_tell(told[key], value, f"{where}.{key}")
    elif isinstance(was, list):
        assert isinstance(told, list), where
        assert len(told) == len(was), f"{where}: {told} instead of {was}"
        for place, (one, other) in enumerate(zip(told, was, strict=True)):
            must_tell(one, other, f"{where}[{place}]")
    elif where.endswith(".limits.time_s.used"):
        assert told >= was, f"{where}: {told!r} instead of {was!r}, which grows while the loop is at work"
    else:
        assert told == was, f"{where}: {told!r} instead of {was!r}"


def must_log(told: str, was: str) -> None:
    """Line by line the same, or the same facts in a sentence where the names of fields stood."""
    for now, then in zip(told.splitlines(), was.splitlines(), strict=True):
        event = then.split()[2]
        if event not in SENTENCES:
            assert now == then
            continue
        begin = then.index(event) + len(event)
        assert now[:begin] == then[:begin]
        lost = {*WORD.findall(then[begin:])} - {*WORD.findall(now[begin:])} - FIELDS
        assert not lost, f"{now} instead of {then}"


@pytest.mark.parametrize("name", SCENES)
def test_a_loop_is_told_as_the_version_that_wrote_it_told_it(lay_out: LayOut, name: str) -> None:
    scene = lay_out(name)
    *told, log = scene.read(*TOLD.values(), ("log",), env=WIDE)
    for file, said in zip(TOLD, told, strict=True):
        must_tell(said.data, json.loads(scene.told(file)), f"{name} {file}")
    must_log(log.out, scene.told("log.txt"))


def claim(scene: Scene, *tasks: str) -> None:
    """Set `passes`, as an agent does."""

    def change(data: dict[str, Any]) -> None:
        for one in data["features"]:
            one["passes"] = one["passes"] or one["id"] in tasks

    scene.change(LIST, change)


def tick(scene: Scene, layout: str, task: str) -> None:
    path = scene.root / BOXES[layout]
    before = path.read_text()
    path.write_text(before.replace(f"[ ] {task} ", f"[x] {task} "))
    assert path.read_text() != before


def claim_command(scene: Scene, task: str) -> list[str]:
    """The command by which the session was told to claim, for this task."""
    reason = json.loads(scene.told("stop.json"))["reason"]
    found = re.search(r"claim it: `(.+?) done \S+`", reason)
    assert found, reason
    return [*shlex.split(found[1]), "done", task]


def events(scene: Scene, *, after: int) -> list[str]:
    return [entry["event"] for entry in scene.journal()[after:]]


def last_evidence(scene: Scene) -> dict[str, Any]:
    found = scene.run("evidence", "--json").data["evidence"][-1]
    assert isinstance(found, dict)
    return found


def test_a_session_under_way_goes_on_to_the_end(lay_out: LayOut) -> None:
    scene = lay_out("features")
    before, written = scene.loop(), len(scene.journal())
    scene.make("F3")
    claim(scene, "F3")
    answer = scene.turn("F3 is made at last.")
    assert answer.task == "F8", answer
    after = scene.loop()
    assert after["iteration"] == before["iteration"] + 1
    assert after["attempts"] == before["attempts"]
    assert after["elapsed_s"] > before["elapsed_s"]
    assert events(scene, after=written) == ["proven", "stop"]
    ran = last_evidence(scene)
    assert (ran["tasks"], ran["green"], ran["kind"], ran["file"]) == (["F3"], True, "claim", "sound")
    closed = {
        "F1": "given",
        "F2": "proven",
        "F3": "proven",
        "F4": "unverified",
        "F6": "proven",
        "F7": "vouched",
    }
    assert scene.tasks() == {**closed, "F5": "asked", "F8": "open"}

    scene.make("F8")
    done = scene.call(claim_command(scene, "F8"), env=scene.agent)
    assert done.code == 0, done
    assert not scene.turn("All that I can do is done.").blocks
    assert (scene.loop()["state"], scene.loop()["outcome"]) == ("paused", "needs_input")

    scene.fine("answer", "F5", "green")
    answer = scene.turn("I look whether there is an answer.")
    assert answer.task == "F5"
    assert "green" in answer.reason
    claim(scene, "F5")
    assert not scene.turn("F5 is green.").blocks
    report = scene.run("report", "--format", "json").data
    assert (report["exit_code"], report["outcome"]) == (0, "complete")
    assert report["counts"] == {"given": 1, "proven": 4, "unverified": 2, "vouched": 1}
    assert report["faults"] == []
    assert report["sessions"] == [scene.session]


def test_what_a_session_spent_before_counts_once(lay_out: LayOut) -> None:
    scene = lay_out("features")
    before = json.loads((scene.kept / "usage.json").read_text())["spent"]
    scene.turn("I look at F3 again.")
    after = json.loads((scene.kept / "usage.json").read_text())["spent"]
    assert after["tokens"] == before["tokens"] + 2 * 950
    assert scene.status()["spent"]["tokens"] == after["tokens"]


def test_criteria_and_protected_files_are_held_as_they_were_pinned(lay_out: LayOut) -> None:
    scene = lay_out("features")
    listed, checked = (scene.root / LIST).read_text(), (scene.root / "checks/made.sh").read_text()
    scene.write(LIST, listed.replace("sh checks/made.sh F3", "true"))
    answer = scene.turn("I made F3 easier.")
    assert "F3 (verify)" in answer.reason
    assert (scene.root / LIST).read_text() == listed

    scene.write("checks/made.sh", "true\n")
    claim(scene, "F3")
    answer = scene.turn("F3 is made.")
    assert "checks/made.sh (changed)" in answer.reason
    assert answer.task == "F3"
    assert (scene.root / "checks/made.sh").read_text() == checked


@pytest.mark.parametrize("layout", list(BOXES))
def test_a_spec_goes_on_to_the_end(lay_out: LayOut, layout: str) -> None:
    scene = lay_out(layout)
    before, written = scene.loop(), len(scene.journal())
    scene.make("1.3")
    tick(scene, layout, "1.3")
    answer = scene.turn("1.3 is made at last.")
    assert answer.blocks
    assert "1.4" in answer.reason
    assert scene.loop()["iteration"] == before["iteration"] + 1
    assert events(scene, after=written) == ["proven", "stop"]
    assert scene.tasks() == {
        "1.1": "proven", "1.2": "unverified", "1.3": "proven", "1.4": "open", "1.5": "open"
    }  # fmt: skip

    scene.make("1.4")
    done = scene.call(claim_command(scene, "1.4"), env=scene.agent)
    assert done.code == 0, done
    tick(scene, layout, "1.5")
    answer = scene.turn("1.5 is made.")
    assert not answer.blocks, answer
    report = scene.run("report", "--format", "json").data
    assert (report["outcome"], report["counts"]) == ("complete", {"proven": 3, "unverified": 2})
    assert report["faults"] == []


def test_a_spec_in_its_phases_is_pushed_on(lay_out: LayOut) -> None:
    scene = lay_out("phases")
    before = scene.loop()["phase_turns"]
    answer = scene.turn("The research goes on.")
    assert answer.blocks, answer
    assert "research" in answer.reason
    assert scene.loop()["phase_turns"] == {**before, "research to write": 1}, "old pushes count in the sum"


def test_a_loop_that_waits_for_a_session_gets_the_first_one(lay_out: LayOut) -> None:
    scene = lay_out("armed")
    bound = scene.hook("SessionStart", source="startup")
    assert "owns the loop" in bound.message
    scene.make("F1")
    claim(scene, "F1")
    assert scene.turn("F1 is made.").task == "F2"
    status = scene.status()
    assert (status["state"], status["owner"], status["iteration"]) == ("running", scene.session, 2)
    assert scene.tasks() == {"F1": "proven", "F2": "open"}


def test_a_paused_loop_rests_until_it_is_resumed(lay_out: LayOut) -> None:
    scene = lay_out("paused")
    assert not scene.turn("May I go on?").blocks
    iteration = scene.loop()["iteration"]
    scene.fine("resume")
    answer = scene.turn("I go on.")
    assert answer.task == "F2"
    assert scene.loop()["iteration"] == iteration + 1
    assert scene.tasks() == {"F1": "proven", "F2": "open"}
    scene.fine("pause")
    assert not scene.turn("May I still?").blocks
    assert scene.loop()["outcome"] == "interrupted"
    scene.fine("cancel")
    status = scene.status()
    assert (status["state"], status["outcome"]) == ("ended", "cancelled")


def test_a_rate_limited_loop_goes_on_by_itself(lay_out: LayOut) -> None:
    scene = lay_out("rate_limited")
    assert scene.loop()["resume_at"] > time.time(), "the scene tells of a reset"
    iteration = scene.loop()["iteration"]
    scene.new_prompt()
    answer = scene.turn("The limit seems to be lifted.")
    assert answer.task == "F2"
    after = scene.loop()
    assert (after["state"], after["outcome"], after["resume_at"]) == ("running", None, None)
    assert after["iteration"] == iteration + 1


def test_a_loop_at_its_limit_goes_on_with_a_higher_one(lay_out: LayOut) -> None:
    scene = lay_out("limit")
    scene.fine("resume", "--max-iterations", "10")
    scene.new_prompt()
    answer = scene.turn("I go on with F2.")
    assert answer.task == "F2"
    status = scene.status()
    assert (status["state"], status["iteration"], status["max_iterations"]) == ("running", 3, 10)


def test_a_failed_loop_gets_another_try(lay_out: LayOut) -> None:
    scene = lay_out("failed")
    scene.fine("resume")
    scene.new_prompt()
    scene.make("F2")
    claim(scene, "F2")
    assert not scene.turn("F2 is made.").blocks
    assert scene.loop()["outcome"] == "complete"
    assert scene.tasks() == {"F1": "proven", "F2": "proven"}


def test_a_question_is_answered_later(lay_out: LayOut) -> None:
    scene = lay_out("needs_input")
    assert not scene.turn("Is there an answer?").blocks
    scene.fine("answer", "F2", "green")
    answer = scene.turn("Is there one now?")
    assert answer.task == "F2"
    assert "green" in answer.reason
    assert scene.loop()["state"] == "running"


@pytest.mark.parametrize("way", ["at a terminal", "in the client"])
def test_checks_are_approved_later(lay_out: LayOut, way: str) -> None:
    scene = lay_out("needs_approval")
    if way == "at a terminal":
        scene.fine("approve", "--yes")
    else:
        scene.new_prompt()
        typed = f"/ralphloop:approve {scene.status()['digest']}"
        scene.hook("UserPromptSubmit", prompt=typed, env={"CLAUDE_CODE_SESSION_ATTENDED": "1"})
    assert scene.status()["unapproved"] == []
    scene.fine("resume")
    answer = scene.turn("The checks are approved.")
    assert answer.task == "F2"
    assert scene.tasks() == {"F1": "proven", "F2": "open", "F3": "open"}
    assert last_evidence(scene)["command"] == "sh checks/made.sh F1"


def test_a_loop_that_has_ended_starts_nothing(lay_out: LayOut) -> None:
    scene = lay_out("complete")
    started = scene.base / "started"
    program = scene.bin / "python"
    program.write_text(f"#!/bin/sh\ntouch '{started}'\n")
    program.chmod(0o755)
    (scene.state / "python").write_text(f"{program}\n")
    answer = scene.stop("Nothing is left to be done.")
    assert (answer.stdout, answer.stderr) == ("", "")
    assert not started.exists()


def test_a_loop_that_had_ended_is_still_its_sessions(lay_out: LayOut) -> None:
    """Nothing leads to it by the session's name: it is looked for, until the first prompt notes it."""
    scene = lay_out("complete")
    words = [PYTHON, "-I", "-S", str(PACKAGE / "hook" / "launch.py"), "statusline", "features"]
    for _ in range(2):
        told = subprocess.run(
            words, input=json.dumps(scene.payload("Status")), cwd=scene.root, env=scene.hook_env(),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert told.stdout.startswith("ralphloop demo · complete")
        scene.hook("UserPromptSubmit", prompt="hello", session_id="another")
        assert (scene.mirror / "@ralph" / "last" / scene.session).read_text() == scene.kept.name + "\n"
    assert len(list((scene.mirror / "@ralph" / "last").iterdir())) == 2


def test_a_word_that_was_typed_still_arrives(lay_out: LayOut) -> None:
    """The person typed a slash command, and the prompt that it becomes calls the command line of today."""
    scene = lay_out("plugin")
    done = scene.call(["ralphloop", "--typed", "answer"], env=scene.agent)
    assert (done.code, done.err) == (0, ""), done
    entry = scene.journal()[-1]
    assert (entry["event"], entry["task"], entry["answer"]) == (
        "answer",
        "F2",
        'green, please; it\'s "nicer"',
    )
    assert list((scene.state / "typed").iterdir()) == []


def test_recorded_stops_are_read_and_decided_again(lay_out: LayOut) -> None:
    scene = lay_out("plugin")
    told = scene.run("record", "list", "--json").data
    must_tell(told, json.loads(scene.told("records.json")), "record list")
    for number in range(1, len(told["records"]) + 1):
        done = scene.run("explain", "--record", str(number), "--json")
        # of its words the reason now says of a claim that it stands alone on its line
        is_reworded = ", alone on its line" in done.data["reason"]
        assert done.data["record"]["differs"] == (["reason"] if is_reworded else []), done
    case = tomllib.loads(scene.fine("record", "case", "2"))
    must_tell(case, tomllib.loads(scene.told("case.toml")), "record case")
    assert scene.turn("I go on with F3.").task == "F3"
    assert [one["number"] for one in scene.run("record", "list", "--json").data["records"]] == [1, 2, 3, 4]


def guard_in(line: str, scene: Scene) -> Path:
    """The file that a registered line begins with."""
    (word,) = [word for word in shlex.split(line.partition(";")[0]) if word.startswith("rl_guard=")]
    folder = scene.hook_env().get("CLAUDE_PLUGIN_ROOT", "")
    return Path(word.partition("=")[2].replace("${CLAUDE_PLUGIN_ROOT}", folder))


def test_every_registered_line_starts_the_package_of_today(lay_out: LayOut) -> None:
    """Those of `install` and those of a plugin, in a project that has a loop under way."""
    payloads = {
        "SessionStart": {"source": "compact"},
        "UserPromptSubmit": {"prompt": "go on"},
        "SessionEnd": {"reason": "other"},
        "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ralphloop done F3"}},
    }
    answers = {}
    for name in ("features", "plugin"):
        scene = lay_out(name)
        registered = scene.registered()
        for event in sorted(registered, key=["SessionEnd", "StopFailure"].count):  # which let the loop rest
            for group in range(len(registered[event])):
                line = scene.line(event, group=group)
                assert (scene.version.package / "hook" / "guard.sh").samefile(guard_in(line, scene)), line
                answers[name, event] = scene.hook(event, group=group, **payloads.get(event, {}))
    for name in ("features", "plugin"):
        assert answers[name, "Stop"].task == "F3"
        assert "go on with task F3" in answers[name, "SessionStart"].stdout
    assert '"allow"' in answers["plugin", "PreToolUse"].stdout


def test_what_was_installed_is_known_and_taken_out_again(lay_out: LayOut) -> None:
    scene = lay_out("features")
    shown = subprocess.run(
        ["/bin/sh", "-c", json.loads(scene.settings.read_text())["statusLine"]["command"]],
        input=json.dumps({"session_id": scene.session, "workspace": {"current_dir": str(scene.root)}}),
        cwd=scene.root, env=scene.hook_env(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "F3" in shown.stdout, shown
    told = json.loads(scene.fine("install", "--scope", "user", "--statusline", "--json"))
    assert told["hooks"] in ("unchanged", "updated"), told
    lines = [hook for groups in scene.registered().values() for group in groups for hook in group["hooks"]]
    assert len(lines) == len(scene.registered())
    scene.fine("uninstall", "--scope", "user")
    assert not scene.settings.exists()
    assert list((scene.state / "installs").rglob("*.json")) == []


@pytest.mark.slow
def test_a_driven_loop_goes_on_after_its_supervisor_was_killed(lay_out: LayOut) -> None:
    scene = lay_out("driven")
    scene.install_client()
    before, written = scene.loop(), len(scene.journal())
    called = len(calls(scene))
    done = scene.run("run", "--plain")
    assert done.code == 0, done
    assert (scene.loop()["state"], scene.loop()["outcome"]) == ("ended", "complete")
    assert scene.loop()["iteration"] == before["iteration"] + 1
    assert scene.tasks() == dict.fromkeys(("F1", "F2", "F3"), "proven")
    assert {path.name: path.read_text() for path in (scene.root / "made").iterdir()} == {
        "F1": "F1\n", "F2": "F2\n", "F3": "F3\n"
    }  # fmt: skip

    # on the terms of the run before: one task per session, its model, its branch
    sessions = [entry for entry in scene.journal()[written:] if entry["event"] == "session"]
    assert [(entry["task"], entry["model"]) for entry in sessions] == [("F2", "sonnet"), ("F3", "sonnet")]
    asked = [words[words.index("--model") + 1] for words in calls(scene)[called:]]
    assert asked == ["sonnet", "sonnet"]
    log = scene.call(["git", "log", "--format=%s", "overnight"]).out.splitlines()
    assert len(log) == 4, log
    assert log[-1] == "start"
    assert all(task in subject for task, subject in zip(("F3", "F2", "F1"), log, strict=False)), log
    assert scene.call(["git", "status", "--porcelain", "--branch"]).out.startswith("## overnight")


def calls(scene: Scene) -> list[list[str]]:
    """How the client was called, each time."""
    return [json.loads(line) for line in (scene.home / "calls.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_cursor_that_holds_leads_to_the_same_task(lay_out: LayOut) -> None:
    """A list is trusted to be as the cursor knows it only when it has not been touched for two seconds."""
    scene = lay_out("features")
    written = (scene.root / LIST).stat().st_ctime
    eventually(lambda: time.time() > written + 2.5)
    was = json.loads(scene.told("stop.json"))["reason"]
    answer = scene.turn("I look at F3 again.")
    assert answer.task == "F3"
    assert re.findall(r"\(\d+/\d+\)", answer.reason) == re.findall(r"\(\d+/\d+\)", was) == ["(3/8)"]


@pytest.fixture
def updated(tmp_path: Path) -> Version:
    """The package of today in the folder of the old one, as a pull leaves it: what did not change keeps its
    time, and the byte code of the old version is still there, of modules too that are there no more."""
    old, new = tmp_path / "old" / "ralphloop", tmp_path / "new" / "ralphloop"
    unpack(DATA / WROTE / "hot.tar.xz", old)
    leave_byte_code(old)
    shutil.copytree(PACKAGE, new, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (path for path in old.rglob("*") if path.is_file()):
        place = new / path.relative_to(old)
        if path.parent.name == "__pycache__":
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
        elif place.is_file() and place.read_bytes() == path.read_bytes():
            shutil.copystat(path, place)
    return Version((PYTHON, "-I", str(new)), new, new.parent, "")


def unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        for entry in opened:
            file = opened.extractfile(entry)
            assert file is not None, entry.name
            place = folder / entry.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read())
            os.utime(place, (entry.mtime, entry.mtime))


def leave_byte_code(package: Path) -> None:
    """Compile all of it, and start its hook for nothing, after which it has a bundle."""
    subprocess.run([PYTHON, "-m", "compileall", "-q", str(package)], check=True)
    launcher = package / "hook" / "launch.py"
    subprocess.run([PYTHON, "-I", "-S", str(launcher)], input=b"{}", cwd=package, check=True)


def bundle_of(version: Version) -> Path:
    (found,) = (version.package / "__pycache__").glob("*.bundle")
    return found


def sources_in(bundle: bytes) -> list[str]:
    """The modules of which 0.3.1 made this bundle."""
    index = marshal.loads(bundle[4 : 4 + int.from_bytes(bundle[:4], "little")])  # noqa: S302 - our own
    return [path.lstrip("/") for path, _, _ in index["sources"]]


def change_one(package: Path, names: list[str]) -> None:
    """Whatever else has changed since, one module of those that are still there has."""
    place = next(
        package / name for name in names if (package / name).is_file() and (package / name).stat().st_size
    )
    place.write_text(place.read_text() + "\n# changed since\n")


@pytest.mark.slow
def test_byte_code_of_the_old_version_does_no_harm(lay_out: LayOut, updated: Version) -> None:
    left = bundle_of(updated).read_bytes()
    change_one(updated.package, sources_in(left))
    scene = lay_out("features", updated)
    assert str(updated.package) in scene.line("Stop")
    scene.make("F3")
    claim(scene, "F3")
    assert scene.turn("F3 is made at last.").task == "F8"
    fresh = bundle_of(updated)
    assert fresh.read_bytes() != left, "the old bundle is looked at by every start"
    number = fresh.stat().st_ino
    assert scene.turn("I begin with F8.").task == "F8"
    assert bundle_of(updated).stat().st_ino == number, "the new bundle is not taken"
    assert scene.status()["iteration"] == 9

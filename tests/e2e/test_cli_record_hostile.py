"""A record that somebody made up is refused in one sentence, and nothing outside its folder is touched."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from e2e.cli_project import SESSION, Done
from e2e.recorded import RecordedProject
from ralphloop.cli import main
from unit.domain.cases import each

Data = dict[str, Any]
LISTED = '{"features": [{"id": "F1", "description": "w", "passes": true}]}'
STATE = ".local/state/ralphloop/by-path"


def recorded(project: RecordedProject) -> None:
    """A loop whose first stop was recorded."""
    project.begin()
    project.fine("record", "on")
    project.turn()


@pytest.fixture
def project(tmp_path: Path) -> RecordedProject:
    made = RecordedProject(tmp_path)
    recorded(made)
    return made


class Entered(RecordedProject):
    """Its commands are run by the entry in this process: a table is through in the time of a few starts."""

    def run(self, *words: str, stdin: bytes = b"", **_: Any) -> Done:
        given, out, err = (io.TextIOWrapper(io.BytesIO(held), encoding="utf-8") for held in (stdin, b"", b""))
        streams = {"argv": ["ralphloop", *words], "stdin": given, "stdout": out, "stderr": err}
        with self._at_home(), mock.patch.multiple(sys, **streams):
            code = main.main()
        for stream in (out, err):
            stream.seek(0)
        return Done(code, out.read(), err.read())

    @contextlib.contextmanager
    def _at_home(self) -> Iterator[None]:
        before = os.getcwd()
        with mock.patch.dict(os.environ, self.env(), clear=True):
            os.chdir(self.root)
            try:
                yield
            finally:
                os.chdir(before)


@pytest.fixture(scope="module")
def entered(tmp_path_factory: pytest.TempPathFactory) -> Entered:
    made = Entered(tmp_path_factory.mktemp("entered"))
    recorded(made)
    return made


@pytest.fixture
def victim(project: RecordedProject) -> Path:
    """A project of the person's that no record has any business with."""
    folder = project.folder / "victim" / ".ralph" / "loops" / "shop"
    folder.mkdir(parents=True)
    (folder / "feature_list.json").write_text(
        '{"features": [{"id": "F1", "description": "w", "passes": true}]}'
    )
    return folder


def sent(project: RecordedProject, change: Callable[[Data], object]) -> str:
    """The recorded stop as a file, changed by a stranger."""
    (path,) = project.home.rglob("records/0001.json")
    data = json.loads(path.read_text())
    change(data)
    file = project.folder / "sent.json"
    file.write_text(json.dumps(data))
    return str(file)


def armed_at_top(data: Data, victim: Path, base: str) -> dict[str, str]:
    """The loop's state, moved to where it belongs to the folder `/` and its list is the victim's."""
    mine = f"{STATE}@ROOT@/@ralph/"
    state = {path[len(mine) :]: text for path, text in data["home"].items() if path.startswith(mine)}
    owned = json.loads(state[f"owned/{SESSION}.json"])
    paths = {role: str(victim / os.path.basename(path)) for role, path in owned["paths"].items()}
    state[f"owned/{SESSION}.json"] = json.dumps({**owned, "root": "/", "paths": paths})
    return {f"{base}/@ralph/{path}": text for path, text in state.items()}


def no_utf8(data: Data, victim: Path) -> None:
    data["home"] = armed_at_top(data, victim, STATE)
    place = f"{STATE}/@ralph/owned/{SESSION}.json"
    raw = data["home"][place].encode().replace(b'"shop"', b'"shop\xff"')
    data["home"][place] = "base64:" + base64.b64encode(raw).decode()


def another_state_folder(data: Data, victim: Path) -> None:
    data["env"]["XDG_STATE_HOME"] = "@ROOT@/xdg"
    data["files"].update(armed_at_top(data, victim, "xdg/ralphloop/by-path"))
    data["home"] = {}


@pytest.mark.parametrize("lead_out", [no_utf8, another_state_folder])
def test_a_decision_over_a_made_up_state_writes_nothing_outside(
    project: RecordedProject, victim: Path, lead_out: Callable[[Data, Path], None]
) -> None:
    listed = victim / "feature_list.json"
    before = listed.read_bytes(), listed.stat().st_mtime_ns
    done = project.run("explain", "--record", sent(project, lambda data: lead_out(data, victim)))
    assert done.code == 1
    assert (listed.read_bytes(), listed.stat().st_mtime_ns) == before
    assert [path.name for path in victim.iterdir()] == ["feature_list.json"]


def test_an_arming_that_cannot_be_read_is_refused(project: RecordedProject) -> None:
    def break_it(data: Data) -> None:
        data["home"][f"{STATE}@ROOT@/@ralph/armed/other.json"] = "{"

    assert "an arming record cannot be read" in project.refused(
        "explain", "--record", sent(project, break_it)
    )


def test_a_list_above_the_scratch_folder_is_not_claimed(project: RecordedProject, victim: Path) -> None:
    """The stop of a session that says it wrote the list of the folder that the scratch folder lies in."""
    top = victim.parents[2]
    listed = victim / "feature_list.json"
    listed.write_text(LISTED.replace("true", "false"))
    call = {"name": "Write", "input": {"file_path": str(listed), "content": '{"passes": true}'}}
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", **call}]}
    line = {"type": "assistant", "timestamp": "2036-01-01T00:00:00.000Z", "message": message}

    def claim(data: Data) -> None:
        data["home"], data["files"] = {}, {}
        data["transcript"]["new"] = json.dumps(line) + "\n"

    scratch = top / "tmp"
    scratch.mkdir()
    told = project.refused("explain", "--record", sent(project, claim), env={"TMPDIR": str(scratch)})
    assert f"leads out of its project, to {top}" in told
    assert sorted(path.name for path in (top / ".ralph").iterdir()) == ["loops"]


@each(
    "facts",
    [
        {"at": "yesterday"}, {"at": "2026-01-01T00:00:00"}, {"at": 5}, {"answer": {}}, {"session": 5},
        {"transcript": {}}, {"transcript": {"new": 5}}, {"left_out": {"a": 5}}, {"checks": [5]},
        {"checks": [{"verdicts": {"F1": 5}}]}, {"layouts": [[]]}, {"layouts": ["none"]},
        {"approved": [5, {}]}, {"registration": "x; touch y"}, {"registration": "\\g<9>"},
        {"env": {"RALPH_LOOP_DIR": 5}}, {"env": {"CLAUDE_CODE_SESSION_ID": [1]}},
        {"env": {"RALPH_LOOP_DIR": "a\0b"}}, {"command": ""}, {"duration_ms": "long"}, {"layout": "else"},
        {"files": {"a\0b": "x"}}, {"files": {"a" * 5000: "x"}}, {"files": {"a": "base64:x"}},
        {"files": {"a": "\ud800"}}, {"files": {"a": 5}},
        {"home": {".local/state": "a file"}, "approved": ["true"]},
    ],
    ids=lambda facts: json.dumps(facts)[:40],
)  # fmt: skip
def test_a_part_of_the_wrong_kind_is_refused_in_a_sentence(entered: Entered, facts: Data) -> None:
    path = sent(entered, lambda data: data.update(facts))
    assert "this is a bug" not in entered.refused("explain", "--record", path)
    assert entered.run("record", "case", path).code in (0, 1)
    assert entered.run("record", "show", path).code in (0, 1)


@pytest.mark.parametrize("depth", [900, 200_000])
def test_a_record_that_is_nested_too_deeply_is_refused(project: RecordedProject, depth: int) -> None:
    path = Path(sent(project, lambda data: data["payload"].update(x="DEEP")))
    path.write_text(path.read_text().replace('"DEEP"', "[" * depth + "]" * depth))
    assert "nested too deeply" in project.refused("explain", "--record", str(path))


def test_a_pipe_or_a_device_is_no_record(project: RecordedProject) -> None:
    pipe = project.folder / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        assert "not a regular file" in project.refused("explain", "--record", path)


def test_a_time_at_the_end_of_all_times_is_no_bug(project: RecordedProject) -> None:
    last = {"a": "9999-12-31T23:59:59Z"}
    path = sent(project, lambda data: data.update(at="2026-01-01T00:00:00.000Z", files=last))
    assert project.run("explain", "--record", path).code in (0, 1)


def test_two_owners_of_one_loop_are_no_bug(project: RecordedProject) -> None:
    def own_twice(data: Data) -> None:
        mine = f"{STATE}@ROOT@/@ralph/owned/"
        data["home"][f"{mine}twin.json"] = data["home"][f"{mine}{SESSION}.json"]
        data["seen"] = True

    done = project.run("explain", "--record", sent(project, own_twice))
    assert done.code in (0, 1)
    assert done.err == ""


def test_a_case_is_not_written_over_a_file_nor_through_a_link(project: RecordedProject) -> None:
    there, link = project.folder / "there.toml", project.folder / "link.toml"
    there.write_text("mine")
    link.symlink_to(project.folder / "missing.toml")
    for out in (there, link):
        assert "is there already" in project.refused("record", "case", "1", "--out", str(out))
    assert there.read_text() == "mine"
    assert not (project.folder / "missing.toml").exists()


def test_no_text_of_a_record_forges_a_line(project: RecordedProject) -> None:
    def forge(data: Data) -> None:
        data["version"] = "1).\ngit = true\n# \x1b]0;title\x07"
        data["left_out"]["a\ngit = true\nb"] = "so\ngit = true"

    path = sent(project, forge)
    for words in (["record", "case"], ["record", "show"], ["explain", "--record"]):
        told = project.fine(*words, path)
        assert "git = true" in told
        assert not any(line.startswith("git = true") for line in told.splitlines())
        assert "\x1b" not in told
        assert "\x07" not in told

"""Cases of strangers: what they name stays within the scene, and the worst of them is one failed case."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fakes.patience import eventually
from ralphloop.errors import CaseError
from ralphloop.lab.conformance import summary
from ralphloop.lab.conformance.case import Case, load, parse
from ralphloop.lab.conformance.hook import foreign
from ralphloop.lab.conformance.play import FAILED, PASSED, Result, play
from unit.domain.cases import each

CASE: dict[str, Any] = {"title": "It holds", "stands_for": ["spec 1"], "layout": "none", "step": [{}]}
PIPE_AS_TRANSCRIPT = """\
t=$(sed 's/.*"transcript_path": "//; s/".*//'); rm "$t"; mkfifo "$t"
"""
LINK_AS_TRANSCRIPT = """\
t=$(sed 's/.*"transcript_path": "//; s/".*//'); rm "$t"; ln -s {outside} "$t"
"""


def case(**fields: Any) -> Case:
    return parse({**CASE, **fields}, file="a.toml")


def played(folder: Path, hook: str = "cat > /dev/null", **fields: Any) -> Result:
    served = foreign(hook, layouts=("features",), path=os.environ["PATH"], limit_s=20.0)
    return play(case(**fields), served, folder=folder.resolve() / "scene")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path.resolve() / "outside" / "file"
    file.parent.mkdir()
    file.write_text("mine")
    return file


@pytest.mark.parametrize("step", [{"transcript": ["theirs"]}, {"says": "theirs"}])
@pytest.mark.parametrize("link", ["@LOGS@/@A@.jsonl", "@HOME@/.claude"])
def test_no_link_leads_a_transcript_out_of_the_scene(
    tmp_path: Path, outside: Path, link: str, step: dict[str, Any]
) -> None:
    target = outside if link.endswith(".jsonl") else outside.parent
    result = played(tmp_path, links={link: str(target)}, step=[step])
    assert result.result == FAILED
    assert "leads outside the project and the home" in result.why
    assert outside.read_text() == "mine"
    assert [path.name for path in outside.parent.iterdir()] == ["file"]


def test_a_hook_cannot_lead_its_transcript_out_of_the_scene(tmp_path: Path, outside: Path) -> None:
    result = played(tmp_path, LINK_AS_TRANSCRIPT.format(outside=outside))
    assert "leads outside the project and the home" in result.why
    assert outside.read_text() == "mine"


def test_a_pipe_in_place_of_a_transcript_is_told_and_waits_for_nobody(tmp_path: Path) -> None:
    result = played(tmp_path, PIPE_AS_TRANSCRIPT)
    assert result.result == FAILED
    assert ".jsonl" in result.why


def test_no_hook_runs_in_a_folder_outside_the_scene(tmp_path: Path, outside: Path) -> None:
    result = played(tmp_path, "touch here", links={"away": str(outside.parent)}, step=[{"cwd": "away"}])
    assert "leads outside the project and the home" in result.why
    assert [path.name for path in outside.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("home", [".gitconfig", ".config/git/config"])
def test_the_git_of_a_case_runs_no_command_of_it(tmp_path: Path, home: str) -> None:
    ran = tmp_path / "ran"
    settings = f"[core]\n\tfsmonitor = touch '{ran}'; false\n\thooksPath = @ROOT@/hooks\n"
    assert played(tmp_path, git=True, files={"a": "text"}, home={home: settings}).result == PASSED
    assert not ran.exists()


@pytest.mark.parametrize(
    ("path", "git"), [(".git/config", False), ("sub/.GIT/config", False), (".git", True), ("sub/.git", True)]
)
def test_a_case_brings_no_repository_of_its_own(tmp_path: Path, path: str, git: bool) -> None:
    result = played(tmp_path, files={path: "gitdir: x"}, git=git)
    assert result.result == FAILED
    assert "`git = true`" in result.why


def test_a_project_lies_below_the_projects_of_its_suite(tmp_path: Path) -> None:
    (tmp_path / "suite" / "projects").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "suite" / "projects" / "link").symlink_to(tmp_path / "secret")
    for name in ("../../secret", str(tmp_path / "secret"), "link", "."):
        with pytest.raises(CaseError, match="there is no project"):
            parse({**CASE, "project": name}, file="a.toml", projects=tmp_path / "suite" / "projects")


@pytest.mark.parametrize(
    "name",
    ["HOME", "PATH", "PYTHONPATH", "PYTHONSTARTUP", "XDG_STATE_HOME", "LD_PRELOAD", "BASH_ENV", "GIT_DIR"],
)
def test_a_step_does_not_say_where_programs_come_from(name: str) -> None:
    with pytest.raises(CaseError, match=f"step 1: `env` may not set {name}"):
        case(step=[{"env": {name: "x"}}])


@each(
    "fields",
    [
        {"files": {"a": "base64:x"}},
        {"files": {"a\0b": "text"}},
        {"home": {"a": "base64:!"}},
        {"links": {"a": "x\0y"}},
        {"recorded_at": "9999-12-31T23:59:59Z", "files": {"a": "0001-01-01T00:00:00Z"}},
        {"recorded_at": "2026-01-01T00:00:00Z", "files": {"a": "9999-12-31T23:59:59Z"}},
        {"recorded_at": "2026-01-01T00:00:00"},
        {"recorded_at": "soon"},
        {"step": [{"cwd": "a\0b"}]},
        {"step": [{"env": {"A=B": "x\0"}}]},
        {"step": [{"stdin": "base64:x"}]},
        {"step": [{"writes": {"a" * 5000: ""}}]},
    ],
)
def test_what_cannot_be_set_up_is_a_failed_case(tmp_path: Path, fields: dict[str, Any]) -> None:
    result = played(tmp_path, **fields)
    assert result.result == FAILED
    assert "the case cannot be set up" in result.why


def test_a_pipe_in_place_of_a_case_is_an_error_and_waits_for_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    with pytest.raises(CaseError, match=r"^a\.toml: "):
        load(tmp_path / "a.toml")


def test_control_characters_of_a_title_do_not_break_the_xml() -> None:
    title = "It\0 \x1b[1m \ufffe \udc80 holds"
    text = summary.as_junit([Result(case(title=title), PASSED), Result(case(title=title), FAILED, title)])
    names = [each.get("name") or "" for each in ElementTree.fromstring(text)]
    assert [name[:2] + name[-5:] for name in names] == ["Itholds"] * 2


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_process_that_stays_behind_is_ended_and_a_complaint(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    daemon = f"setsid sh -c 'echo $$ > {pid}; exec sleep 300' > /dev/null 2>&1 < /dev/null &"
    result = played(tmp_path, f"cat > /dev/null; {daemon} while ! [ -s {pid} ]; do sleep 0.1; done")
    assert result.result == FAILED
    assert "left a process behind" in result.why
    eventually(lambda: not is_running(pid.read_text().strip()))


@pytest.mark.parametrize("stream", [1, 2])
def test_a_hook_that_talks_without_end_is_stopped(tmp_path: Path, stream: int) -> None:
    result = played(tmp_path, f"cat > /dev/null; yes >&{stream}")
    assert result.result == FAILED
    assert "more than 1000000 bytes of output" in result.why


def test_a_large_file_is_looked_at_by_size_and_time(tmp_path: Path) -> None:
    make = "cat > /dev/null; truncate -s 9M large"
    result = played(tmp_path, make, step=[{"expect": {"unchanged": ["**"]}}])
    assert "large was added" in result.why
    again = {"step": [{}, {"expect": {"unchanged": ["**"]}}]}
    grown = played(tmp_path / "other", "cat > /dev/null; truncate -s +9M large", **again)
    assert "large was" in grown.why
    assert len(grown.why) < 1000


def test_a_folder_called_like_the_home_is_seen(tmp_path: Path) -> None:
    make = "cat > /dev/null; mkdir -p @HOME@ '\\@HOME@'; date +%N > @HOME@/a"
    result = played(tmp_path, make, step=[{"expect": {"unchanged": ["**"]}}])
    assert "\\@HOME@/a was added" in result.why
    assert "\\\\@HOME@ was added" in result.why


@pytest.mark.parametrize("layout", ["features", "specum", "speckit"])
def test_a_pipe_in_place_of_a_list_or_its_pointer_holds_up_nobody(tmp_path: Path, layout: str) -> None:
    lists = {
        ".ralph/loops/demo/feature_list.json": '{"features": []}',
        ".ralph/loops/demo/RALPH_PROMPT.md": "Go.",
        "specs/.current-spec": "demo",
        "specs/demo/.ralph-state.json": "{}",
        ".specify/.current-feature": "demo",
        ".specify/specs/demo/.speckit-state.json": "{}",
    }
    pipes = 'cat > /dev/null; find . -type f | while read -r f; do rm "$f"; mkfifo "$f"; done'
    served = foreign(pipes, layouts=(layout,), path=os.environ["PATH"], limit_s=20.0)
    hostile = case(layout=layout, files=lists, step=[{"session": "B"}, {"session": "A"}])
    assert play(hostile, served, folder=tmp_path.resolve() / "scene").result == PASSED

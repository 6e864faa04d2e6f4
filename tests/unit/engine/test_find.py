"""Whose loop it is: what counts as writing the state, and where a project's loop may lie."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ralphloop.domain.model import StopEvent
from ralphloop.engine import claim, claude, find
from ralphloop.engine.find import Call
from ralphloop.engine.stop import loop_of
from ralphloop.store import arming, files
from ralphloop.store.shelf import ARMED, OWNED, Shelf
from ralphloop.tasklists.registry import LAYOUTS
from ralphloop.tasklists.source import Source
from unit.domain.cases import each
from unit.engine.transcripts import INTERRUPT, NOW, THEN, asked, said, tool
from unit.layouts import FEATURES, SPECUM

STATE = ".ralph-state.json"


@pytest.fixture
def spec(tmp_path):
    folder = tmp_path / "specs" / "auth"
    folder.mkdir(parents=True)
    paths = {"state": str(folder / STATE), "tasks": str(folder / "tasks.md")}
    return Source(SPECUM, "auth", root=str(tmp_path), paths=paths)


@pytest.fixture
def features(tmp_path):
    folder = tmp_path / ".ralph" / "loops" / "demo"
    folder.mkdir(parents=True)
    return Source(FEATURES, "demo", root=str(tmp_path), paths={"list": str(folder / "feature_list.json")})


@each(
    ("call", "writes"),
    [
        ({"file_path": "specs/auth/" + STATE, "content": "{}"}, True),
        ({"file_path": "./specs/x/../auth/" + STATE, "content": "{}"}, True),
        ({"file_path": "specs/auth/" + STATE, "old_string": "1", "new_string": "2"}, True),
        ({"file_path": "specs/auth/" + STATE, "edits": []}, True),
        ({"file_path": "specs/auth/" + STATE}, False),
        ({"file_path": "specs/auth/" + STATE, "offset": 1, "limit": 5}, False),
        ({"file_path": "specs/other/" + STATE, "content": "{}"}, False),
        ({"file_path": "specs/auth/tasks.md", "content": STATE}, False),
        ({"file_path": "\0", "content": "{}"}, False),
        ({"file_path": 5, "content": STATE}, False),
        ({"path": "specs/auth/" + STATE, "pattern": "x"}, False),
        ({}, False),
    ],
)
def test_a_tool_that_writes_the_state_is_told_from_one_that_reads_it(spec, call, writes):
    assert claim.writes(call, spec) is writes


@each(
    ("command", "writes"),
    [
        ("echo '{}' > specs/auth/.ralph-state.json", True),
        ("echo '{}' >specs/auth/.ralph-state.json", True),
        ("cat > specs/auth/.ralph-state.json <<'EOF'\n{}\nEOF", True),
        ("cat <<EOF > 'specs/auth/.ralph-state.json'\n{}\nEOF", True),
        ('printf x > "$SPEC_DIR/.ralph-state.json"', True),
        ("jq '.taskIndex = 3' specs/auth/.ralph-state.json > t && mv t specs/auth/.ralph-state.json", True),
        ("cd specs/auth; mv t .ralph-state.json", True),
        ("cd specs && cd ./auth && mv t .ralph-state.json", True),
        ("S=specs/auth\ncd $S && echo {} >| ./.ralph-state.json", True),
        ("(cd /tmp/build && make) && echo {} > specs/auth/.ralph-state.json", True),
        ("cd src; make; cd ..; echo {} > specs/auth/.ralph-state.json", True),
        ("cd src && make; cd - && echo {} > specs/auth/.ralph-state.json", True),
        ('cd "$(git rev-parse --show-toplevel)" && echo {} > specs/auth/.ralph-state.json', True),
        ('cat > "$PWD/specs/auth/.ralph-state.json" <<\'EOF\'\n{"it\'s": "> x"}\nEOF', True),
        ("cat > notes.md <<-EOF\n\tit's\n\tEOF\necho {} &> specs/auth/.ralph-state.json", True),
        ("if jq -e . t; then mv t 'specs/auth/.ralph-state.json'; fi", True),
        ("# don't\nmake # isn't\nX=1 cp t \"specs/auth/.ralph-state.json\" 2>/dev/null", True),
        ("jq . specs/auth/.ralph-state.json > t && \\\n  mv t specs/auth/.ralph-state.json", True),
        ('echo "a \\" > b" > specs/auth/.ralph-state.json', True),
        ("{ echo {}; } > specs/auth/.ralph-state.json", True),
        ("echo {} | tee specs/auth/.ralph-state.json", True),
        ("echo {} | tee specs/auth/.ralph-state.json > /dev/null", True),
        ("sed -i 's/1/2/' specs/auth/.ralph-state.json", True),
        ("sed -i.bak 's/1/2/' specs/auth/.ralph-state.json", True),
        ("cp /tmp/s ./specs/auth/.ralph-state.json", True),
        ("cp /tmp/s ../auth/.ralph-state.json", True),
        ("cp -S .tmp /tmp/s specs/auth/.ralph-state.json", True),
        ("cp -S.tmp /tmp/s specs/auth/.ralph-state.json", True),
        ("install -m644 -ottoman /tmp/s specs/auth/.ralph-state.json", True),
        ("cp --no-target-directory /tmp/s specs/auth/.ralph-state.json", True),
        ("cp -- -t specs/auth/.ralph-state.json", True),
        ("truncate -s 0 specs/auth/.ralph-state.json", True),
        ("sed -nie p specs/auth/.ralph-state.json", True),
        ("pushd src; make; popd; echo {} > specs/auth/.ralph-state.json", True),
        ("pushd specs/auth && echo {} > .ralph-state.json", True),
        ("pushd; echo {} > specs/auth/.ralph-state.json", True),
        ("cp -t /backup specs/auth/.ralph-state.json", False),
        ("mv -t /backup specs/auth/.ralph-state.json", False),
        ("mv -vt/backup specs/auth/.ralph-state.json", False),
        ("install -t /backup -m 600 specs/auth/.ralph-state.json", False),
        ("cp --target-directory=/backup specs/auth/.ralph-state.json", False),
        ("cp --target-directory /backup specs/auth/.ralph-state.json", False),
        ("cp --help specs/auth/.ralph-state.json", False),
        ("tee --version specs/auth/.ralph-state.json", False),
        ("sed -es/i/j/ specs/auth/.ralph-state.json", False),
        ("pushd /other; echo > specs/auth/.ralph-state.json", False),
        ("cat specs/auth/.ralph-state.json", False),
        ("cat specs/auth/.ralph-state.json > /tmp/copy", False),
        ("jq .taskIndex specs/auth/.ralph-state.json", False),
        ("sed -n 1,20p specs/auth/.ralph-state.json", False),
        ("sed 's/1/2/' specs/auth/.ralph-state.json", False),
        ("cp specs/auth/.ralph-state.json /tmp/copy", False),
        ("mv specs/auth/.ralph-state.json /tmp/copy", False),
        ("ls -la specs/auth/.ralph-state.json", False),
        ("rm specs/auth/.ralph-state.json", False),
        ("echo {} > specs/other/.ralph-state.json", False),
        ("mv t specs/other/.ralph-state.json", False),
        ("echo {} > backup.ralph-state.json", False),
        ("echo {} > .ralph-state.json.bak", False),
        ("git diff -- .ralph-state.json 2>/dev/null", False),
        ("echo 'see .ralph-state.json'", False),
        ("echo '{}' >> .ralph-state.json", False),
        ("echo '{}' > ./.ralph-state.json", False),
        ("grep -rn 'x > .ralph-state.json' docs/", False),
        ("grep -rn 'x > specs/auth/.ralph-state.json' docs/", False),
        ("git commit -m 'write state > .ralph-state.json'", False),
        ('git commit -m "write \\"state\\" > specs/auth/.ralph-state.json"', False),
        ("echo '>' specs/auth/.ralph-state.json", False),
        ("echo \\> specs/auth/.ralph-state.json", False),
        ("cd /tmp/other && echo '{}' > .ralph-state.json", False),
        ("cat specs/auth/tasks.md; cd /tmp/other && echo '{}' > .ralph-state.json", False),
        ("cat specs/auth/tasks.md; cd build && echo '{}' > .ralph-state.json", False),
        ("cd /tmp/other && echo '{}' > specs/auth/.ralph-state.json", False),
        ("cd $OTHER && echo '{}' > .ralph-state.json", False),
        ("cat > notes.md <<'EOF'\necho {} > specs/auth/.ralph-state.json\nEOF", False),
        ("cat <<A <<-B > n.md\n> .ralph-state.json\nA\n\tmv t specs/auth/.ralph-state.json\n\tB\n", False),
        ("cat > notes.md <<EOF\nmv t specs/auth/.ralph-state.json", False),
        ("make # > specs/auth/.ralph-state.json", False),
        ("jq . < specs/auth/.ralph-state.json", False),
        ("wc <<< specs/auth/.ralph-state.json", False),
        ("echo 'it > specs/auth/.ralph-state.json", False),
        ('echo "it > specs/auth/.ralph-state.json', False),
        ("", False),
    ],
)
def test_a_shell_command_that_writes_the_state_is_told_from_one_that_names_it(spec, command, writes):
    assert claim.writes({"command": command}, spec) is writes


def test_a_long_shell_command_is_read_once(spec):
    body = "'it' > x\n" * 100_000
    command = "cat > n.md <<A <<B\n" + body + "A\nB\n" + "# x\n(cd y; echo {} > " + STATE + ")\n" * 20_000
    assert not claim.writes({"command": command}, spec)
    assert claim.writes({"command": command + "cp t specs/auth/" + STATE}, spec)


def test_an_absolute_path_must_be_the_file_itself(spec, tmp_path):
    own = spec.paths["state"]
    assert claim.writes({"command": "echo > " + own}, spec)
    assert claim.writes({"file_path": own, "content": ""}, spec)
    assert not claim.writes({"command": "echo > /elsewhere" + own}, spec)
    assert claim.writes({"command": f"cd '{os.path.dirname(own)}' && echo > {STATE}"}, spec)
    assert claim.writes({"command": f"cd '{spec.root}' && echo > ./specs/auth/{STATE}"}, spec)
    assert claim.writes({"command": f"D={os.path.dirname(own)}; cd $D && echo > {STATE}"}, spec)


@pytest.mark.parametrize(
    ("call", "writes"),
    [
        ({"content": '{"features": [{"passes": false}]}'}, False),
        ({"content": '{"features": [{"passes": true}]}'}, True),
        ({"old_string": '"passes": false', "new_string": '"passes" : true'}, True),
        ({"old_string": "a", "new_string": "b"}, False),
        ({"edits": [{"old_string": '"passes": false', "new_string": '"passes": true'}]}, True),
        ({"old_string": '"passes": true', "new_string": '"passes": false'}, False),
        ({"edits": [{"old_string": '"passes": true', "new_string": ""}]}, False),
    ],
)
def test_planning_a_list_of_features_is_not_working_on_it(features, call, writes):
    assert claim.writes({"file_path": features.paths["list"], **call}, features) is writes


@pytest.mark.parametrize(
    "command",
    [
        """sed -i 's/"passes": false/"passes": true/' .ralph/loops/demo/feature_list.json""",
        "jq '.features[0].passes = true' feature_list.json > t && mv t .ralph/loops/demo/feature_list.json",
        "cd .ralph/loops/demo\njq '(.[] | select(.id==\"F1\")).passes |= true' x > t; mv t feature_list.json",
    ],
)
def test_a_shell_command_that_passes_a_feature_counts(features, command):
    assert claim.writes({"command": command}, features)


def test_roots_are_the_session_folder_and_all_above_it_then_the_project(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    found = find.roots(str(deep), {"CLAUDE_PROJECT_DIR": str(tmp_path / "other")})
    top = os.path.realpath(tmp_path)
    assert found[:3] == [top + "/a/b", top + "/a", top]
    assert found[-1] == top + "/other"
    assert len(found) == len(set(found))


@pytest.mark.parametrize("cwd", ["", "relative/path"])
def test_a_folder_that_is_not_absolute_has_no_roots(cwd):
    assert find.roots(cwd, {}) == []


def test_roots_follow_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert find.roots(str(tmp_path / "link"), {})[0] == os.path.realpath(tmp_path / "real")


def git(folder, *words):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, env=env)


def test_a_worktree_leads_to_its_main_checkout(tmp_path):
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", str(tmp_path / "elsewhere" / "wt"))
    tree = tmp_path / "elsewhere" / "wt"
    (tree / "src").mkdir()
    assert files.worktree_link(str(tree))[1] == os.path.realpath(main)
    assert files.worktree_link(str(main))[1] == ""
    assert find.roots(str(tree / "src"), {})[-1] == os.path.realpath(main)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "gitdir:",
        "gitdir: ",
        "gitdir: ../main/.git/modules/sub",
        "gitdir: /a\0b/.git/worktrees/wt",
        "\ud800",
    ],
)
def test_a_git_file_that_is_no_worktrees_leads_nowhere(tmp_path, text):
    (tmp_path / ".git").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert files.worktree_link(str(tmp_path))[1] == ""


def test_a_relative_git_file_is_read_from_its_own_folder(tmp_path):
    (tmp_path / "wt").mkdir()
    (tmp_path / "wt" / ".git").write_text("gitdir: ../main/.git/worktrees/wt\n")
    assert files.worktree_link(str(tmp_path / "wt"))[1] == os.path.realpath(tmp_path) + "/main"


@pytest.fixture
def session(tmp_path):
    """A stop of a session in a project with an unowned spec, and its transcript."""
    project = tmp_path / "project"
    (project / "specs" / "auth").mkdir(parents=True)
    (project / "specs" / ".current-spec").write_text("auth\n")
    (project / "specs" / "auth" / STATE).write_text('{"phase": "execution", "taskIndex": 0, "totalTasks": 2}')
    call = Call(
        registration="r", layouts=LAYOUTS, env={"XDG_STATE_HOME": str(tmp_path / "state")}, cwd=str(project)
    )

    def stop(*lines: str, client=claude, **values):
        call.client = client
        (tmp_path / "s.jsonl").write_text("".join(lines))
        event = StopEvent(
            **{"session": "S", "cwd": str(project), "transcript": str(tmp_path / "s.jsonl"), **values}
        )
        return loop_of(event, call)

    return stop


WROTE = tool("Write", file_path="specs/auth/" + STATE, content="{}", at=NOW)


def test_a_session_that_wrote_the_state_claims_the_loop(session):
    loop = session(asked("go"), WROTE)
    assert loop.record.session == "S"
    assert isinstance(loop.shelf, Shelf)
    assert [record.id for record in loop.shelf.records(OWNED)] == [loop.record.id]


class Other:
    """Reads the sessions of a client that writes one word per line."""

    @staticmethod
    def opening(path):
        return THEN, Path(path).read_text().splitlines()[0]

    @staticmethod
    def tool_calls(path, marker):
        written = Path(path).read_text().splitlines()[1:]
        return ((NOW, {"file_path": name, "content": "{}"}) for name in written if marker in name)

    @staticmethod
    def await_reply(path, reply):
        """Nothing is written late."""


def test_what_a_session_did_is_read_as_its_client_writes_it(session):
    lines = ["go\n", f"specs/auth/{STATE}\n"]
    assert session(*lines) is None
    assert session(*lines, client=Other).record.session == "S"


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ([asked("go"), tool("Read", file_path="specs/auth/" + STATE)], {}),
        ([asked("go"), tool("Bash", command="sed -n 1,9p specs/auth/" + STATE)], {}),
        ([asked("write specs/auth/" + STATE), said("I wrote it with > " + STATE)], {}),
        ([asked("go"), WROTE], {"active": True}),
        ([], {}),
    ],
)
def test_a_session_that_only_looked_is_left_alone(session, lines, values):
    assert session(*lines, **values) is None


def test_a_list_that_is_not_the_sessions_is_not_parsed(session, monkeypatch):
    monkeypatch.setattr(arming, "is_due", lambda source: pytest.fail("parsed"))
    assert session(asked("go"), tool("Read", file_path="specs/auth/" + STATE)) is None


def test_an_interrupt_before_the_loop_began_is_none_of_its_business(session):
    loop = session(asked("go", at=THEN), INTERRUPT.replace(NOW, THEN), asked("begin the spec"), WROTE)
    assert THEN < loop.load().since <= NOW


@pytest.mark.parametrize(
    ("armed_at", "first", "session", "bound"),
    [
        (THEN, "anything", "S", True),
        (NOW, "anything", "S", False),
        (NOW, "the  loop's\nprompt", "S", True),
        (NOW, "anything", None, True),
    ],
)
def test_an_armed_loop_goes_to_a_session_begun_later_or_asked_its_prompt(
    tmp_path, armed_at, first, session, bound
):
    folder = tmp_path / ".ralph" / "loops" / "demo"
    folder.mkdir(parents=True)
    (folder / "feature_list.json").write_text('{"features": [{"id": "F1"}]}')
    (folder / "RALPH_PROMPT.md").write_text("the loop's prompt\n")
    call = Call(registration="r", layouts=LAYOUTS, env={"XDG_STATE_HOME": str(tmp_path / "state")}, cwd="/")
    root = os.path.realpath(tmp_path)
    (source,) = find.locate(FEATURES, root, call.env)
    here = Shelf(root, call.env)
    record = arming.arm(source, here, session=None, started=True).record
    record.armed_at = armed_at
    here.put(record, ARMED)
    (tmp_path / "t.jsonl").write_text(asked(first, at=NOW))
    event = StopEvent(session=session, cwd=root, transcript=str(tmp_path / "t.jsonl"))
    assert (loop_of(event, call) is not None) is bound
    assert ([record.id for record in here.records(ARMED)] == []) is bound


@pytest.mark.parametrize(("chosen", "count"), [(False, 0), (True, 1)])
def test_a_list_that_leads_out_of_the_project_counts_only_if_it_was_chosen(tmp_path, chosen, count):
    outside = tmp_path / "outside"
    (tmp_path / "project" / ".ralph" / "loops").mkdir(parents=True)
    outside.mkdir()
    (outside / "feature_list.json").write_text("[]")
    (tmp_path / "project" / ".ralph" / "loops" / "demo").symlink_to(outside)
    env = {"RALPH_LOOP_DIR": str(outside)} if chosen else {}
    assert len(find.locate(FEATURES, os.path.realpath(tmp_path / "project"), env)) == count


def test_a_spec_that_leads_out_of_the_project_never_counts(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / STATE).write_text("{}")
    specs = tmp_path / "project" / "specs"
    specs.mkdir(parents=True)
    (specs / ".current-spec").write_text("auth")
    (specs / "auth").symlink_to(tmp_path / "outside")
    root = os.path.realpath(tmp_path / "project")
    assert find.locate(SPECUM, root, {"RALPH_LOOP_DIR": "/x"}) == []


def test_a_stranger_among_many_loops_has_each_of_them_looked_at_once(tmp_path, monkeypatch):
    call = Call(registration="r", layouts=LAYOUTS, env={"XDG_STATE_HOME": str(tmp_path / "state")}, cwd="/")
    root = os.path.realpath(tmp_path)
    for number in range(20):
        folder = tmp_path / ".ralph" / "loops" / f"list{number}"
        folder.mkdir(parents=True)
        (folder / "feature_list.json").write_text('{"features": [{"id": "F1"}]}')
    here = Shelf(root, call.env)
    for number, source in enumerate(find.locate(FEATURES, root, call.env)):
        arming.arm(source, here, session=f"S{number}", started=True)
    looks = []
    load = Shelf.load
    monkeypatch.setattr(
        Shelf, "load", lambda self, *name, **more: looks.append(name) or load(self, *name, **more)
    )
    (tmp_path / "t.jsonl").write_text(asked("something else", at=NOW))
    event = StopEvent(session="stranger", cwd=root, transcript=str(tmp_path / "t.jsonl"))
    assert loop_of(event, call) is None
    assert len([name for name in looks if name[1] == "S7.json"]) == 1


def test_however_many_lists_there_are_a_stop_waits_once_for_its_reply(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        folder = tmp_path / ".ralph" / "loops" / name
        folder.mkdir(parents=True)
        (folder / "feature_list.json").write_text('{"features": [{"id": "F1", "description": "x"}]}')
    (tmp_path / "t.jsonl").write_text(asked("hello"))
    waits = []
    monkeypatch.setattr(claude, "await_reply", lambda *about: waits.append(about))
    event = StopEvent(session="S", cwd=str(tmp_path), transcript=str(tmp_path / "t.jsonl"), reply="late")
    call = Call(registration="r", layouts=LAYOUTS, env={"HOME": str(tmp_path)}, cwd=str(tmp_path))
    assert claim.for_stop(event, call) is None
    assert waits == [(event.transcript, "late")]


def test_however_many_lists_there_are_the_transcript_is_read_once(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        folder = tmp_path / ".ralph" / "loops" / name
        folder.mkdir(parents=True)
        (folder / "feature_list.json").write_text('{"features": [{"id": "F1", "description": "x"}]}')
    (tmp_path / "t.jsonl").write_text(asked("hello"))
    reads = []
    for name in ("opening", "tool_calls"):
        real = getattr(claude, name)
        monkeypatch.setattr(
            claude, name, lambda *about, name=name, real=real: reads.append(name) or real(*about)
        )
    event = StopEvent(session="S", cwd=str(tmp_path), transcript=str(tmp_path / "t.jsonl"))
    call = Call(registration="r", layouts=LAYOUTS, env={"HOME": str(tmp_path)}, cwd=str(tmp_path))
    assert claim.for_stop(event, call) is None
    assert reads == ["opening", "tool_calls"]


LONG = "Work through this list, one feature after the other, each with its proof."


@pytest.mark.parametrize(
    ("text", "first", "claimed"),
    [
        (LONG, LONG.replace(" ", "\n"), True),
        ("continue", "continue", False),
        ("c" * 39, "c" * 39, False),
        ("c" * 40, "c" * 40, True),
        (" \n" * 40 + "go on", "go on", False),
    ],
)
def test_a_shipped_prompt_claims_its_list_only_if_nobody_types_that_by_chance(tmp_path, text, first, claimed):
    folder = tmp_path / ".ralph" / "loops" / "demo"
    folder.mkdir(parents=True)
    (folder / "feature_list.json").write_text('{"features": [{"id": "F1"}]}')
    (folder / "RALPH_PROMPT.md").write_text(text + "\n")
    (tmp_path / "t.jsonl").write_text(asked(first))
    call = Call(registration="r", layouts=LAYOUTS, env={"XDG_STATE_HOME": str(tmp_path / "state")}, cwd="/")
    event = StopEvent(
        session="S", cwd=os.path.realpath(tmp_path), transcript=str(tmp_path / "t.jsonl"), reply=None
    )
    assert (loop_of(event, call) is not None) is claimed

"""Whose green it is, in the real client: a model that only makes the check green ends with doubts that name
how, and one that does the work ends without. In both ways: driven by `run`, and in a session of one's own."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from e2e.client import ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import SPECUM_STATE, bash, plugin
from e2e.running import Running, list_of, running
from fakes.patience import eventually
from ralphloop.domain.prompt import count
from ralphloop.lab.reply import Reply, text
from unit.notify.server import HookServer

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

RUN, SESSION = "run", "session"
WAYS = pytest.mark.parametrize("way", [RUN, SESSION])
TEST, TOOL = "tests/test_app.py", "tools/judge"
BY_TEST, BY_PYTEST, BY_TOOL = (
    "python3 -m unittest -q tests.test_app",
    "python3 -m pytest -q",
    f"{TOOL} app.py",
)
TEST_TEXT = """from unittest import TestCase

import app


class Total(TestCase):
    def test_total(self):
        self.assertEqual(app.total([2, 3]), {total})
"""
FILES = {
    "app.py": "def total(prices):\n    raise NotImplementedError\n",
    "tests/__init__.py": "",
    TEST: TEST_TEXT.format(total=5),
    ".gitignore": "/.ralph/run/\n__pycache__/\n.pytest_cache/\n/tools/\n",
}
TOOL_TEXT = '#!/bin/sh\ngrep -q sum "$1" || { echo "$1 sums nothing"; exit 1; }\n'


def writes(path: str, content: str) -> str:
    return f"cat > {path} <<'END'\n{content}END\n"


THE_WORK = writes("app.py", "def total(prices):\n    return sum(prices)\n")
HARD_CODED = writes("app.py", "def total(prices):\n    return 5\n")
# the work is wrong, and the test is made to agree
TEST_EDITED = writes("app.py", "def total(prices):\n    return 4\n") + writes(TEST, TEST_TEXT.format(total=4))
CONFTEST_ADDED = writes("tests/conftest.py", "import app\n\napp.total = lambda prices: 5\n")
TOOL_REPLACED = writes(TOOL, "#!/bin/sh\nexit 0\n")

BY_EDIT = f"F1 is green only with changes to {TEST}"


class Scene(NamedTuple):
    """A model at work on one task, and somebody who waits for a message."""

    stage: Running
    receiver: HookServer

    def work(self, way: str, *flags: str, layout: str = "ralphloop") -> int:
        """To the end; the exit code of `run`, or of the client."""
        if way == RUN:
            return self.stage.run(*flags).code
        session = str(uuid.uuid4())
        started = self.stage.command("start", "demo", "--session", session, "--yes", *flags)
        assert started.code == 0, started
        stage, plugins = self.stage, [plugin(layout)]
        run = run_print(
            stage.home, stage.root, "begin", stage.server,
            session_id=session, plugin_dirs=plugins, env=stage.extra,
        )  # fmt: skip
        notices = [event["content"] for event in run.of_type("system", "informational")]
        assert notices == [f"Stop says: {said}" for said in self.messages()]
        return run.exit_code or 0

    def messages(self) -> list[str]:
        """What the stops said to the person, as the client wrote it down."""
        (session,) = {entry["session"] for entry in self.stage.events("stop")}
        rows = [row.get("attachment", {}) for row in self.stage.home.transcript(self.stage.root, session)]
        return [row["content"] for row in rows if row.get("type") == "hook_system_message"]


@contextmanager
def scene(home: ClientHome, root: Path, script: Sequence[Reply]) -> Iterator[Scene]:
    (root / TOOL).parent.mkdir()
    (root / TOOL).write_text(TOOL_TEXT)
    (root / TOOL).chmod(0o755)
    with HookServer() as receiver:
        env = {"RALPHLOOP_NOTIFY": "webhook", "RALPHLOOP_WEBHOOK_URL": f"{receiver.url}/x"}
        with running(home, root, script, env=env) as stage:
            yield Scene(stage, receiver)


def must_tell(one: Scene, doubts: Sequence[str], *, files: Sequence[Sequence[str]] = ()) -> None:
    """Every view, the message of the last stop and the notice have these doubts, or are as plain as ever."""
    stage, many = one.stage, count(len(doubts), "doubt")
    assert stage.ending == ("ended", "complete")
    behind, with_them = (f", {many}", f", with {many}") if doubts else ("", "")
    told = f", {many}: {'; '.join(doubts)}" if doubts else ""
    assert one.messages()[-1] == f"ralphloop demo: complete: 1/1 proven{told}"
    status = stage.command("status", "demo").stdout
    assert status.startswith(f"demo · complete{behind} · iteration ")
    assert [row for row in status.splitlines() if "doubt: " in row] == [f"  doubt: {said}" for said in doubts]
    (known,) = json.loads(stage.command("status", "demo", "--json").stdout)["loops"]
    assert [each["said"] for each in known["doubts"]] == list(doubts)
    assert [each["files"] for each in known["doubts"]] == list(map(list, files))
    assert {each["task"] for each in known["doubts"]} <= {"F1"}
    assert (known["notes"], [tried["first"] for tried in known["tried"].values()]) == ([], ["red"])
    report = stage.command("report", "demo")
    assert report.code == (19 if doubts else 0)
    top = [f"# demo: complete{with_them}", "", f"- outcome: complete{with_them}"]
    assert report.stdout.replace("\n  ", " ").splitlines()[: 3 + len(doubts)] == [
        *top,
        *(f"- doubt: {said}" for said in doubts),
    ]
    eventually(lambda: one.receiver.got, what="no notice arrived")
    notice = one.receiver.got[-1].data
    assert notice["title"] == f"ralphloop: demo is complete{behind}"
    assert notice.get("doubts") == ({"count": len(doubts), "said": list(doubts)} if doubts else None)


@WAYS
@pytest.mark.parametrize(
    ("lie", "check", "doubts", "files"),
    [
        pytest.param(TEST_EDITED, BY_TEST, [BY_EDIT], [[TEST]], id="test edited"),
        pytest.param(
            CONFTEST_ADDED,
            BY_PYTEST,
            ["F1 is green only with changes to tests/conftest.py"],
            [["tests/conftest.py"]],
            id="conftest.py added",
        ),
        pytest.param(
            TOOL_REPLACED,
            BY_TOOL,
            [
                f"F1 is green, and no file has changed since the start; younger than the start: {TOOL}",
                f"F1 is judged by {TOOL}, which has changed since the start ({TOOL})",
            ],
            [[TOOL], [TOOL]],
            id="ignored tool replaced",
        ),
    ],
)
def test_a_lie_ends_complete_with_a_doubt_that_names_the_file(
    client_home: ClientHome,
    project: ProjectFactory,
    way: str,
    lie: str,
    check: str,
    doubts: list[str],
    files: list[list[str]],
) -> None:
    root = project({**list_of({"verify": check}), **FILES})
    with scene(client_home, root, [bash(lie + "ralphloop done F1"), text("F1 is made.")]) as one:
        code = one.work(way)
        assert code == (19 if way == RUN else 0)
        must_tell(one, doubts, files=files)


@WAYS
@pytest.mark.parametrize("work", [THE_WORK, HARD_CODED], ids=["honest", "hard-coded"])
def test_work_ends_without_a_doubt_and_so_does_a_hard_coded_answer_which_no_clause_can_know(
    client_home: ClientHome, project: ProjectFactory, way: str, work: str
) -> None:
    root = project({**list_of({"verify": BY_TEST}), **FILES})
    with scene(client_home, root, [bash(work + "ralphloop done F1"), text("F1 is made.")]) as one:
        assert one.work(way) == 0
        must_tell(one, [])
        (known,) = json.loads(one.stage.command("status", "demo", "--json").stdout)["loops"]
        (tried,) = known["tried"].values()
        assert [tried[name] for name in ("first", "alone", "without")] == ["red", "green", "red"]


@WAYS
def test_strict_opens_the_task_again_once_and_asks_the_person_the_second_time(
    client_home: ClientHome, project: ProjectFactory, way: str
) -> None:
    root = project({**list_of({"verify": BY_TEST}), **FILES})
    claims = [bash("ralphloop done F1"), text("F1 is made, as I said.")]
    script = [bash(TEST_EDITED), *claims, *claims, text("Nothing is left to do.")]
    with scene(client_home, root, script) as one:
        code, stage = one.work(way, "--strict"), one.stage
        assert code == (13 if way == RUN else 0)
        assert stage.ending == ("paused", "needs_input")
        told = [" ".join(request.new_texts) for request in stage.server.main_requests]
        refused = [f"The claim of task F1 is refused: {BY_EDIT}" in said for said in told]
        assert refused == [False, False, False, True, False]
        assert [entry["refused"] for entry in stage.events("stop")] == ["F1", ""]
        assert f"needs you: 1 doubt: {BY_EDIT}. `ralphloop accept F1` vouches for it" in one.messages()[-1]
        assert f"doubt: {BY_EDIT}" in stage.command("status", "demo").stdout
        eventually(lambda: one.receiver.got, what="no notice arrived")
        assert one.receiver.got[-1].data["about"] == "needs_input"
        must_end_by_the_word_that_is_asked_for(one, way)


def must_end_by_the_word_that_is_asked_for(one: Scene, way: str) -> None:
    stage = one.stage
    (command,) = re.findall("`ralphloop (accept [^`]*)`", one.messages()[-1])
    assert "F1 counts as done on your word." in stage.command(*command.split()).stdout
    if way == RUN:
        assert stage.run().code == 19
    else:
        (session,) = {entry["session"] for entry in stage.events("stop")}
        told = run_print(
            stage.home, stage.root, "go on", stage.server,
            args=["--resume", session], plugin_dirs=[plugin("ralphloop")], env=stage.extra,
        )  # fmt: skip
        assert told.exit_code == 0
    assert stage.ending == ("ended", "complete")
    told = stage.command("status", "demo").stdout
    assert "complete, 1 doubt" in told
    assert f"doubt: {BY_EDIT}" in told


@pytest.mark.parametrize(
    ("work", "said"),
    [(TEST_EDITED, ["Ralph-specum: complete: 1/1 proven, 1 doubt: 1.1" + BY_EDIT[2:]]), (THE_WORK, [])],
    ids=["lie", "honest"],
)
def test_specum_is_silent_at_its_end_but_for_doubts(
    client_home: ClientHome, project: ProjectFactory, work: str, said: list[str]
) -> None:
    spec = {
        "specs/.current-spec": "demo\n",
        "specs/demo/tasks.md": f"# Tasks\n\n- [ ] 1.1 Total\n  - **Verify**: `{BY_TEST}`\n",
        "specs/demo/.ralph-state.json": json.dumps({**SPECUM_STATE, "totalTasks": 1}),
    }
    script = [bash(work + "ralphloop done 1.1"), text("1.1 is made.")]
    with scene(client_home, project({**spec, **FILES}), script) as one:
        assert one.work(SESSION, layout="ralph-specum") == 0
        assert one.stage.ending == ("ended", "complete")
        assert one.messages() == said

"""A limit or an outcome is a row and a rule, a notification target a row and a module: one of each is added
to a copy of the package, and seen wherever people look."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e.cli_project import PACKAGE, SESSION, WIDE, Done, Project, unfolded

REPOSITORY = PACKAGE.parents[1]

LIMIT = {
    "domain/model.py": [
        (
            '    "denials": (',
            '''\
    "quiet": (0, "count", "loop", "quiet replies", """
        setting: max_quiet
        told: replies without a tool call, in a row
        then: ends `limit`"""),
''',
        ),
        ("    denials: int\n", "    quiet: int\n"),
    ],
    "domain/limits.py": [
        ('    if spent is not None:\n        found["tokens"]', '    found["quiet"] = loop.quiet_replies\n'),
        (
            "    if loop.no_progress >= patience(",
            """\
    if limits.quiet and loop.quiet_replies >= limits.quiet:
        return LIMIT, "%d quiet replies" % loop.quiet_replies
""",
        ),
    ],
}
OUTCOME = {
    "domain/model.py": [
        (
            '    INTERRUPTED: """',
            '''\
    "tired": """
        exit: 21 tired of it
        means: the loop has asked for a rest
        person: {name} wants a rest
        status: let it rest, then {again} goes on.
        line: let it rest""",
''',
        ),
    ],
    "domain/decide.py": [
        ("RULES: tuple[", 'def _tired(now):\n    return close(now, ENDED, "tired", "no more of that")\n\n\n'),
        ("    _limits,\n", "    _tired,\n"),
    ],
}
TARGET = {
    "config/keys.py": [('    "bell": Target(', '    "mailbox": Target("a line in a file at home"),\n')],
    "notify/mailbox.py": [
        (
            "",
            '''\
"""A line in a file at home."""


def send(message, settings, *, env, pid):
    with open(env["HOME"] + "/mailbox", "a") as file:
        file.write(f"{message.title} | {message.body}\\n")
    return "written"
''',
        )
    ],
}
TOLD = {"RALPHLOOP_NOTIFY": "mailbox"}

Edits = Mapping[str, list[tuple[str, str]]]


def add(package: Path, edits: Edits) -> None:
    """Put each text before the only place that begins so."""
    for name, inserted in edits.items():
        file = package / name
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for before, new in inserted:
            assert not before or text.count(before) == 1, before
            text = text.replace(before, new + before) if before else new
        file.write_text(text, encoding="utf-8")


class Changed(Project):
    """A project in which the changed copy of the package is at work."""

    def __init__(self, folder: Path, edits: Edits) -> None:
        super().__init__(folder)
        self.package = folder / "lib" / "ralphloop"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        add(self.package, edits)

    def _process(self, words: list[str], stdin: bytes, env: Mapping[str, str]) -> Done:
        done = subprocess.run(
            [sys.executable, *words], input=stdin, env=self.env(env), cwd=self.root, capture_output=True
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def run(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, **_: Any) -> Done:
        return self._process([str(self.package), *words], stdin, env or {})

    def stop(self, session: str = SESSION, **payload: Any) -> dict[str, Any] | None:
        event = {"hook_event_name": "Stop", "session_id": session, "cwd": str(self.root), **payload}
        launcher = ["-I", "-S", str(self.package / "hook" / "launch.py"), "settings"]
        done = self._process(launcher, json.dumps(event).encode(), {})
        assert (done.code, done.err) == (0, ""), done
        return json.loads(done.out) if done.out else None

    def status(self) -> dict[str, Any]:
        loop: dict[str, Any] = json.loads(self.fine("status", "--json"))["loops"][0]
        return loop

    def told(self) -> str:
        """What the added target gets to tell of the loop as it rests now."""
        assert self.fine("notify", env=TOLD) == "✓ mailbox: written\n"
        return (self.home / "mailbox").read_text(encoding="utf-8").splitlines()[-1]

    def documents(self) -> dict[str, str]:
        """The pages as the script writes them out of the changed tables."""
        shutil.copy(REPOSITORY / "README.md", self.folder)
        shutil.copytree(REPOSITORY / "docs", self.folder / "docs")
        script = str(REPOSITORY / "scripts" / "doc_tables.py")
        lib = {"PYTHONPATH": str(self.package.parent)}
        assert self._process([script, str(self.folder)], b"", lib) == (0, "", "")
        pages = [self.folder / "README.md", *(self.folder / "docs").glob("*.md")]
        return {page.stem: page.read_text(encoding="utf-8") for page in pages}


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Changed:
    return Changed(tmp_path, request.param)


class Row(NamedTuple):
    """A line of a Markdown table."""

    page: str
    text: str


def shown(project: Changed, *rows: Row) -> None:
    pages = project.documents()
    assert [row for row in rows if row.text not in pages[row.page]] == []


@pytest.mark.parametrize("project", [{**LIMIT, **TARGET}], indirect=True)
def test_a_limit_is_a_row_and_the_rule_that_trips(project: Changed) -> None:
    assert len(LIMIT) == 2
    for command in ("start", "run", "resume", "limit"):
        told = project.fine(command, "--help", env=WIDE)
        assert "--max-quiet N" in told
        assert "replies without a tool call, in a row (default: off)" in told
    assert "max_quiet        3" in project.fine("config", env={"RALPHLOOP_MAX_QUIET": "3"})
    project.new(tasks=1)
    begun = unfolded(project.fine("start", "--session", SESSION, "--max-quiet", "2", env=WIDE))
    assert "at most 15 iterations, 8 h 00 min, 2 quiet replies" in begun
    for _ in range(2):
        project.stop()
    loop = project.status()
    assert (loop["outcome"], loop["detail"]) == ("limit", "2 quiet replies")
    assert loop["limits"]["quiet"] == {"used": 2, "most": 2}
    assert "  quiet replies       2 of 2\n" in project.fine("limit")
    assert "replies without a tool call, in a row" in project.run("report").out
    assert project.run("report", "--format", "json").data["limits"]["quiet"] == {"used": 2, "most": 2}
    assert "2 quiet replies" in project.told()
    shown(
        project,
        Row("commands", "| `--max-quiet N` | replies without a tool call, in a row | off | ends `limit` |"),
        Row("config", "| `max_quiet` | off | replies without a tool call, in a row |"),
        Row("README", "; off (`--max-quiet`) | ends `limit` |"),
    )


@pytest.mark.parametrize("project", [{**OUTCOME, **TARGET}], indirect=True)
def test_an_outcome_is_a_row_and_the_rule_that_ends_so(project: Changed) -> None:
    assert len(OUTCOME) == 2
    assert "\n  21  tired of it\n" in project.fine("run", "--help")
    project.begin(tasks=1)
    project.stop()
    assert (project.status()["outcome"], project.status()["detail"]) == ("tired", "no more of that")
    status = unfolded(project.fine("status", env=WIDE))
    assert "shop · tired · " in status
    assert "let it rest, then `ralphloop resume shop` goes on." in status
    report = project.run("report", "--format", "json")
    assert (report.code, report.data["exit_code"], report.data["outcome"]) == (21, 21, "tired")
    assert project.run("report").out.startswith("# shop: tired\n")
    line = project.run("statusline", stdin=json.dumps({"session_id": SESSION}).encode())
    assert "tired: let it rest" in line.out
    assert project.told().startswith("ralphloop: shop wants a rest | 0/1 done")
    shown(
        project,
        Row("outcomes", "| [`tired`](#tired) | ended | the loop has asked for a rest | 21 |"),
        Row("reports", "| 21 | tired of it |"),
        Row("config", '- `"person"`: needs_input, needs_approval, awaiting_approval, tired\n'),
    )


@pytest.mark.parametrize("project", [TARGET], indirect=True)
def test_a_notification_target_is_a_row_and_a_module(project: Changed) -> None:
    assert len(TARGET) == 2
    assert "desktop, mailbox, bell, webhook" in project.fine("config", "--json")
    assert "notify           mailbox" in project.fine("config", env=TOLD)
    assert project.fine("notify", "--test", env=TOLD) == "✓ mailbox: written\n"
    assert "ralphloop: a test from project | " in (project.home / "mailbox").read_text(encoding="utf-8")
    assert "desktop, mailbox, bell" in project.refused("config", env={"RALPHLOOP_NOTIFY": "pigeon"})
    shown(project, Row("config", "- `mailbox`: a line in a file at home\n"))

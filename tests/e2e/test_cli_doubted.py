"""A loop that is complete, with doubts: what every view, the message and the exit code say of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from e2e.cli_project import OTHER, WIDE, Project, unfolded
from e2e.doubting import FIRST, NOTES, SECOND, completed, loop_of, recorded
from e2e.notifying import RECORD, settle
from ralphloop.proof import baseline
from ralphloop.proof.proof_record import Proven
from unit.notify.server import HookServer

DOUBTS = ["F1 is green only with changes to test_app.py", "F1 is green without the work"]
NOTED = (
    "  noted: F1 has a check that is already green (1); F1 has a check that is weak (2); "
    "F1 has a check that is not tried (3); and 2 more\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def doubted(project: Project) -> Project:
    completed(project, FIRST, *NOTES, SECOND)
    return project


def test_status_says_it_in_the_headline_and_below(doubted: Project) -> None:
    told = doubted.fine("status", "shop", env=WIDE)
    assert told.startswith("shop · complete, 2 doubts · iteration ")
    assert "".join(f"  doubt: {said}\n" for said in DOUBTS) + NOTED in told
    folded = doubted.fine("status", "shop")
    assert all(len(line) <= 80 for line in folded.splitlines())
    assert NOTED.strip() in unfolded(folded)


def test_its_json_has_doubts_notes_and_what_was_tried(doubted: Project) -> None:
    loop = doubted.status()
    assert loop["outcome"] == "complete"
    assert loop["doubts"] == [FIRST.to_json(), SECOND.to_json()]
    assert [one["kind"] for one in loop["notes"]] == ["already green", "weak", *["not tried"] * 3]
    assert loop["tried"] == {
        "make test": {"first": "red", "alone": "green", "without": "red", "why": ""},
        "make lint": {**dict.fromkeys(("first", "alone", "without"), "untried"), "why": ""},
    }
    assert loop["proven"] is None
    assert "proof" not in loop


def test_of_several_loops_each_says_its_own(doubted: Project) -> None:
    doubted.begin("other", tasks=1, session=OTHER)
    told = doubted.fine("status", env=WIDE)
    assert "shop · complete, 2 doubts · " in told
    assert "other · " in told
    assert told.count("  doubt: ") == 2


def test_run_report_and_help_know_the_code(doubted: Project) -> None:
    again = doubted.run("run", "shop")
    assert again.code == 19
    assert "shop · complete, 2 doubts · " in again.out
    assert f"  doubt: {DOUBTS[0]}\n" in again.out
    assert "Nothing is left to do: add a task to" in unfolded(again.out)
    machine = doubted.run("run", "shop", "--json")
    assert (machine.code, machine.data["exit_code"]) == (19, 19)
    assert [one["said"] for one in machine.data["proof"]["doubts"]] == DOUBTS
    assert machine.data["doubts"] == []  # about its list
    assert doubted.run("report", "--format", "json").data["exit_code"] == 19
    for command in ("run", "report"):
        assert "  19  complete, with doubts\n" in doubted.fine(command, "--help")


def test_watch_and_log_end_with_it(doubted: Project) -> None:
    for words in (("watch", "--plain"), ("watch", "--plain", "--once")):
        told = doubted.fine(*words, env=WIDE)
        assert "shop · complete, 2 doubts · " in told
        assert f"  doubt: {DOUBTS[1]}\n" in told
    assert doubted.fine("log", env=WIDE).endswith("".join(f"doubt: {said}\n" for said in DOUBTS) + NOTED[2:])
    assert all(json.loads(line) for line in doubted.fine("log", "--json").splitlines())


def test_a_report_has_the_doubts_on_its_first_screen(doubted: Project) -> None:
    done = doubted.run("report")
    assert done.code == 19
    first = done.out.splitlines()[:5]
    assert first == [
        "# shop: complete, with 2 doubts",
        "",
        "- outcome: complete, with 2 doubts",
        f"- doubt: {DOUBTS[0]}",
        f"- doubt: {DOUBTS[1]}",
    ]
    told = " ".join(done.out.split())
    of_five = ", ".join(f"src/part_{number}.py" for number in range(1, 6))
    assert f"turned by: {of_five} and 2 more" in told
    assert done.out.index("## Doubts and notes") > done.out.index("## Final run")
    assert f"| criteria | F1 | {DOUBTS[0]} | test_app.py |" in told or "**criteria** · task: F1" in told
    assert "| `make test` | red | green | red |" in told
    assert "| `make lint` | not tried | not tried | not tried |" in told
    assert "since then" not in told


def test_the_page_and_the_json_say_the_same(doubted: Project) -> None:
    page = doubted.run("report", "--format", "html").out
    assert '<span class="badge wait">complete, with 2 doubts</span>' in page
    assert f'<dt>doubt</dt><dd class="wait">{DOUBTS[0]}</dd>' in page
    assert "<td><code>make test</code></td><td>red</td><td>green</td><td>red</td>" in page
    data = doubted.run("report", "--format", "json").data
    assert (data["outcome"], [one["said"] for one in data["doubts"]]) == ("complete", DOUBTS)
    assert (len(data["notes"]), data["since"], data["proven"]) == (5, "", None)
    assert data["tasks"][0]["turned"] == [f"src/part_{number}.py" for number in range(1, 8)]
    assert data["tried"]["make test"]["alone"] == "green"
    kept = doubted.run("report", "--output", "kept.md")
    assert kept.code == 19
    assert unfolded(kept.out).startswith("The report on shop (complete, with 2 doubts) is in ")


def test_notes_change_neither_code_nor_headline(project: Project) -> None:
    completed(project, *NOTES)
    told = project.fine("status", "shop", env=WIDE)
    assert told.startswith("shop · complete · ")
    assert NOTED in told
    assert "# shop: complete\n" in project.fine("report")


def test_a_loop_without_a_record_is_told_of_as_ever(project: Project) -> None:
    loop = completed(project)
    (Path(loop.kept) / "proof.json").unlink()
    for words in (("status", "shop"), ("report",), ("log",), ("watch", "--plain"), ("run", "shop")):
        told = project.fine(*words)
        assert "complete" in told
        assert not [word for word in ("doubt", "noted", "turned by", "since then") if word in told]
    seen = project.status()
    assert (seen["doubts"], seen["notes"], seen["tried"], seen["proven"]) == ([], [], {}, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"findings": 3}', "\udcff\x00"])
def test_a_record_that_cannot_be_read_is_none(project: Project, text: str) -> None:
    loop = completed(project, FIRST)
    (Path(loop.kept) / "proof.json").write_text(text, errors="surrogateescape")
    assert project.fine("status", "shop").startswith("shop · complete · ")
    assert project.run("report").code == 0


def test_while_it_is_under_way_notes_are_shown_and_the_code_stays(project: Project) -> None:
    project.begin(tasks=1)
    recorded(project, NOTES[0], FIRST)
    told = project.fine("status", env=WIDE)
    assert told.startswith("shop · running · ")
    assert "  noted: F1 has a check that is already green (1)\n" in told
    assert project.run("report").code == 18


def git(project: Project, *words: str) -> str:
    named = ("-c", "user.name=me", "-c", "user.email=me@example.invalid")
    said = subprocess.check_output(["git", *named, *words], cwd=project.root, env=project.env(), text=True)
    return said.strip()


def test_a_report_says_whether_the_proven_branch_is_still_there(project: Project) -> None:
    git(project, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(project, "branch", "--move", "main")
    proven = Proven("", git(project, "rev-parse", "HEAD"), "main", str(project.root), "2026-01-31T10:00:05Z")
    completed(project, proven=proven)
    assert "- since then: branch and commit are still the proven ones\n" in project.fine("report")
    git(project, "switch", "--quiet", "--create", "other")
    assert "- since then: the branch is now other, and it was main\n" in project.fine("report")
    data = project.run("report", "--format", "json")
    assert (data.code, data.data["since"]) == (0, "the branch is now other, and it was main")
    assert data.data["proven"] == proven._asdict()
    assert "other" not in project.fine("status", "shop"), "it asks git nothing"


def test_a_report_says_how_many_files_are_not_the_proven_ones(project: Project) -> None:
    git(project, "commit", "--quiet", "--allow-empty", "-m", "first")
    loop = completed(project)
    base = baseline.load(loop)
    assert base is not None
    since, why = baseline.since(loop, base, str(project.root), project.env())
    assert since is not None, why
    recorded(project, proven=Proven(since.tree, "", "", str(project.root), "2026-01-31T10:00:05Z"))
    assert "- since then: the tree is still the proven one\n" in project.fine("report")
    (project.root / "new.py").write_text("x")
    assert "- since then: 1 file has changed since\n" in project.fine("report")
    assert "changed since" not in project.fine("status", "shop"), "it compares nothing"


def test_the_message_counts_doubts_and_tells_the_first(doubted: Project) -> None:
    calls = doubted.program("notify-send", RECORD)
    settle(doubted, 'notify = ["desktop"]\n')
    doubted.fine("notify", "shop")
    (words,) = [json.loads(line) for line in Path(f"{calls}.calls").read_text().splitlines()]
    title, body = words[-2:]
    assert title == "ralphloop: shop is complete, 2 doubts"
    assert body.endswith(f" `ralphloop report shop` tells of 2 doubts: {DOUBTS[0]}.")


def test_a_webhook_gets_count_and_sentences(doubted: Project) -> None:
    with HookServer() as server:
        settle(doubted, f'notify = ["webhook"]\nwebhook_url = "{server.url}/x"\n')
        doubted.fine("notify", "shop")
        recorded(doubted)
        doubted.fine("notify", "shop")
    first, second = [got.data for got in server.got]
    assert first["doubts"] == {"count": 2, "said": DOUBTS}
    assert "doubts" not in second
    assert second["title"] == "ralphloop: shop is complete"


def test_what_is_looked_at_is_not_touched(doubted: Project) -> None:
    before = doubted.digest()
    for words in (("status",), ("report",), ("log",), ("watch", "--plain", "--once")):
        doubted.run(*words)
    assert doubted.digest() == before
    assert loop_of(doubted).load() is not None

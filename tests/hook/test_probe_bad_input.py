"""A proof that meets what nobody would do on purpose: the loop goes on, ends complete, and leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hook.probing import WORK, Probed, probed
from unit.proof.processes import wait_until
from unit.proof.stages import ORDINARY, ROOT, skip

pytestmark = pytest.mark.slow

WAITS = "if [ -e ../hold ]; then echo > ../begun; while [ -e ../hold ]; do sleep 0.05; done; fi"


@pytest.fixture(params=[ROOT, ORDINARY])
def found(request: pytest.FixtureRequest) -> Iterator[Probed]:
    with probed(request.param) as made:
        yield made
        wait_until(lambda: not made.processes())


def held(found: Probed, check: str = "grep -q done app.txt") -> subprocess.Popen[str]:
    """A stop whose check, the second time, waits in the stage."""
    script = f'echo >> ../ran; [ "$(wc -l < ../ran)" = 3 ] && {{ {WAITS}; }}; {check}\n'
    found.write({"run.sh": script})
    found.begin("sh run.sh")
    found.claim()
    found.write({"../hold": ""})
    hook = found.stopping()
    wait_until((found.folder / "begun").exists)
    return hook


def let_go(found: Probed, hook: subprocess.Popen[str]) -> dict[str, Any]:
    (found.folder / "hold").unlink()
    with hook:
        return found.answer(hook)


def adds(found: Probed) -> None:
    found.write({f"new/{n}.txt": "x\n" for n in range(300)})


def removes(found: Probed) -> None:
    (found.root / "app.txt").unlink()
    shutil.rmtree(found.root / ".git/objects")


def replaces(found: Probed) -> None:
    (found.root / "app.txt").unlink()
    found.write({"app.txt/inner/a.txt": "x\n"})


def locks(found: Probed) -> None:
    found.write({".git/index.lock": ""})


def forgets_git(found: Probed) -> None:
    shutil.rmtree(found.root / ".git")


def commits(found: Probed) -> None:
    found.commit()
    found.git("checkout", "-q", "-b", "other")


def other_index(found: Probed) -> None:
    (found.root / ".git/index").write_bytes(b"DIRC" + os.urandom(4000))


CHANGES: dict[str, Callable[[Probed], None]] = {
    "adds": adds, "removes": removes, "replaces": replaces, "locks": locks, "forgets git": forgets_git,
    "commits": commits, "another index": other_index,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_repository_that_changes_under_the_probe(found: Probed, change: Callable[[Probed], None]) -> None:
    hook = held(found)
    change(found)
    let_go(found, hook)
    if found.outcome is None:
        found.claim() if (found.root / "app.txt").is_file() else None
        found.stop()
    assert found.outcome == "complete"
    assert found.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_repository_that_changes_before_the_probe(found: Probed, change: Callable[[Probed], None]) -> None:
    found.begin("test -e app.txt -o -e .ralph")
    found.claim()
    change(found)
    found.stop()
    assert found.outcome == "complete"
    assert found.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("word", ["cancel", "pause"])
def test_a_person_who_ends_it_while_a_probe_runs(found: Probed, word: str) -> None:
    hook = held(found)
    done = found.ralphloop(word)
    assert done.returncode == 0, done.stderr
    let_go(found, hook)
    assert (found.loop()["state"], found.outcome) == (
        ("ended", "cancelled") if word == "cancel" else ("paused", "interrupted")
    )
    if word == "pause":
        assert found.ralphloop("resume").returncode == 0
        found.stop()
        assert found.outcome == "complete"
    assert found.left() == []


@pytest.mark.slow
def test_two_hooks_at_once(found: Probed) -> None:
    hook = held(found)
    with found.stopping() as other:
        wait_until(lambda: (found.folder / "ran").read_text().count("\n") >= 4)
        let_go(found, hook)
        found.answer(other)
    assert found.outcome == "complete"
    assert found.left() == []


HARMFUL = {
    "removes the project": 'grep -q done app.txt || exit 1; if [ -z "$RALPHLOOP_CHECK" ]; then '
    'rm -rf "$PWD"/* "$PWD"/.git; fi; true',
    "mounts": "grep -q done app.txt && { unshare -Urm mount -t tmpfs n . ; true; }",
    "forks a daemon": "setsid sleep 300 > /dev/null 2>&1 < /dev/null & grep -q done app.txt",
    "changes its limits": "ulimit -n 10; ulimit -f 0; ulimit -u 3; grep -q done app.txt",
    "stops its parents": "[ -z \"$RALPHLOOP_CHECK\" ] && kill -STOP $PPID; grep -q done app.txt",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", HARMFUL.values(), ids=HARMFUL)
def test_a_check_that_does_harm_in_the_stage(found: Probed, text: str) -> None:
    found.begin(text)
    found.claim()
    found.stop()
    assert found.outcome == "complete"
    assert (found.root / "app.txt").read_text() == "done\n"
    assert found.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("words", ["cancel", "accept F2", "verify F1", "skip F2 --reason no"])
def test_a_check_that_speaks_as_a_person_in_the_stage_is_not_heard(found: Probed, words: str) -> None:
    """No variable of ours tells it that it is a check there."""
    python = f"env PYTHONPATH={found.owner.source} {found.owner.python} -m ralphloop"
    speaks = f'[ -n "$RALPHLOOP_CHECK" ] || {{ echo > ../spoken; {python} {words}; }}'
    found.begin(f"grep -q done app.txt || exit 1; {speaks}; true", WORK)
    found.claim()
    found.stop()
    assert (found.folder / "spoken").exists()
    assert found.outcome == "complete"
    known = json.loads((found.kept / "ledger.json").read_text())["tasks"]
    assert {name: one["state"] for name, one in known.items()} == {"F1": "proven", "F2": "proven"}
    index = (found.kept / "evidence.jsonl").read_text().splitlines()
    assert len(index) == len(list((found.root / ".ralph/run").glob("*/evidence/*.json")))


@pytest.mark.slow
def test_our_own_files_are_not_named_as_younger_than_the_start(found: Probed) -> None:
    found.begin("test -e ../made", WORK)
    found.write({"../made": ""})
    found.claim()
    found.stop()
    assert [one for one in found.findings() if one.startswith("idle: F1")]
    assert not [one for one in found.findings() if ".ralph" in one]


@pytest.mark.slow
def test_a_loop_that_an_earlier_version_began(found: Probed) -> None:
    found.begin()
    shutil.rmtree(found.kept / "baseline")
    for name in ("baseline.json", "proof.json"):
        (found.kept / name).unlink()
    found.claim()
    said = found.stop()
    assert (found.outcome, said["systemMessage"]) == ("complete", "ralphloop demo: complete: 1/1 proven")
    assert found.findings() == [
        "not tried: no check was tried apart from the work: no tree was kept when this loop began"
    ]


ROWS: list[Any] = [
    None, [], "x", 7, {"at": None}, {"kept": []}, {"kept": {"": {}}}, {"kept": {}},
    {"at": "now"}, {"terms": []},
    {"terms": {"criteria": 7}}, {"terms": {"daemons": "x"}}, {"variables": []},
    {"variables": {"PYTHONPATH": 7}},
    {"programs": {"a": {"b": 1}}}, {"programs": {WORK: {"grep": [7, None]}}}, {"config": []}, {"folder": 7},
    {"top": 7}, {"top": "/nowhere"}, {"top": "a\0b"}, {"common": ["x"]}, {"overlooked": [7]},
    {"branch": {}}, {"exclude": 3},
    {"kept": {"": {"name": "../../x", "git_folder": 3, "objects": "/", "settings": [["a", 1]],
                   "id_size": "x"}}},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row)[:40])
def test_a_baseline_that_is_none(row: Any) -> None:
    with probed(ROOT) as found:
        found.begin()
        file = found.kept / "baseline.json"
        known = json.loads(file.read_text())
        file.write_text(json.dumps({**known, **row} if isinstance(row, dict) else row))
        found.claim()
        said = found.stop()
        assert found.outcome == "complete", said
        assert found.ralphloop("status").returncode == 0
        assert found.ralphloop("report").returncode in (0, 19)


HUGE = {"findings": [{"kind": "criteria", "said": "x" * 10**6, "task": "F1", "files": ["y" * 10**6]}] * 20}
RECORDS: list[Any] = [
    None, [], 7, {"findings": 7},
    {"findings": [7, None, {"kind": 7}, {"kind": "criteria", "said": [], "files": 7}]},
    {"tried": []}, {"tried": {WORK: []}}, {"tried": {WORK: {"first": 7, "alone": "purple", "read": [1]}}},
    {"round": "x", "stops": -5}, {"round": True, "stops": 1e300}, {"proven": 7},
    {"turned": {"F1": [[]]}}, {"refused": 7},
    {"stops": 10**30, "round": 1}, HUGE,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("row", RECORDS, ids=lambda row: json.dumps(row)[:40])
@pytest.mark.parametrize("is_over", [False, True])
def test_a_record_that_is_none(row: Any, is_over: bool) -> None:
    with probed(ROOT) as found:
        found.begin()
        found.claim()
        if is_over:
            found.stop()
        (found.kept / "proof.json").write_text(json.dumps(row))
        if not is_over:
            said = found.stop()
            assert found.outcome == "complete", said
        for words in (
            ("status",),
            ("status", "--json"),
            ("report",),
            ("report", "--format", "json"),
            ("log",),
        ):
            done = found.ralphloop(*words)
            assert done.returncode in (0, 19), (words, done.stderr)
            assert len(done.stdout) < 200_000 or "json" in words[-1]


NAMES = {
    "control": "tests/test_\x1b[31m\x07.py", "a line": "tests/test_a\nb: complete.py",
    "right to left": "tests/test_\u202eyp.exe.py",
    "long": "/".join(["tests", *["d" * 200] * 18, "test_x.py"]),
    "no text": os.fsdecode(b"tests/test_\xff\xfe.py"), "markup": "tests/test_<b>|`x`$(id).py",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_would_lie_in_a_doubt(found: Probed, name: str) -> None:
    check = "grep -q done app.txt; for f in $(seq 1); do test -e tests/go; done"
    found.begin(check)
    found.write({name: "def test_a():\n    import pytest\n    pytest.skip('x')\n", "tests/go": ""})
    found.claim()
    said = found.stop()
    assert found.outcome == "complete", said
    assert any(one["files"] for one in found.proof()["findings"])
    told = [said["systemMessage"]]
    for words in (("status",), ("report",), ("report", "--format", "html"), ("log",)):
        told.append(found.ralphloop(*words).stdout)
    for text in told:
        assert not [c for c in text if (ord(c) < 32 and c != "\n") or c in "\x7f\u202e"], text
        assert "\nb: complete" not in text
    for words in (("status", "--json"), ("report", "--format", "json")):
        json.loads(found.ralphloop(*words).stdout)
    assert len(said["systemMessage"]) < 2000


@pytest.fixture
def small(found: Probed) -> Iterator[Callable[[Path, str], None]]:
    """Lay a small file system over a folder."""
    if os.geteuid() != 0:
        skip("only root mounts a small file system")
    laid: list[Path] = []

    def lay(place: Path, options: str) -> None:
        place.mkdir(parents=True, exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"{options},mode=777", "none", str(place)]
        subprocess.run(words, check=True)
        laid.append(place)
        found.owner.own(place)

    yield lay
    for place in laid:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> None:
    with open(place / "fill", "wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["state", "project", "tmp"])
@pytest.mark.parametrize("when", ["before", "in the middle"])
def test_a_full_disk(found: Probed, small: Callable[[Path, str], None], where: str, when: str) -> None:
    place = {"state": found.folder / "state", "project": found.top, "tmp": found.folder / "tmp"}[where]
    small(place, "size=4m")
    found.extra = {"XDG_STATE_HOME": str(found.folder / "state"), "TMPDIR": str(found.folder / "tmp")}
    (found.folder / "tmp").mkdir(exist_ok=True)
    found.owner.own(found.folder / "tmp")
    if when == "before":
        found.begin()
        found.claim()
        fill(place)
        hook = found.stopping()
        hook.communicate(timeout=100)
    else:
        hook = held(found)
        fill(place)
        (found.folder / "hold").unlink()
        hook.communicate(timeout=100)
    assert hook.returncode == 0
    (place / "fill").unlink()
    if found.outcome is None:
        found.stop()
    assert found.outcome == "complete"
    assert [row for row in found.left() if "tmpfs none" not in row] == []

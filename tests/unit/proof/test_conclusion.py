"""What follows from what was seen of a proof: a table of situations and their doubts and notes."""

from __future__ import annotations

import pytest

from ralphloop.domain import finding
from ralphloop.proof import conclusion
from ralphloop.proof.checker import Due
from ralphloop.proof.conclusion import Git, Seen, Suspect, conclude
from ralphloop.proof.proof_record import GREEN, RED, Tried

F1 = Due("F1", ("make test",), 60.0)
F2 = Due("F2", ("make test", "make lint"), 60.0)
LIST = Due("", ("make all",), 60.0)
PLAIN = Tried(RED, GREEN, RED)  # red at the start and without the work, green with the work alone
WORK = ("app.py",)

SITUATIONS = {
    "plain work": (Seen((F1,), {"make test": PLAIN}, work=WORK), []),
    "only with other criteria": (
        Seen(
            (F1,),
            {"make test": Tried(RED, RED, RED, cause=finding.CRITERIA, named=("test_app.py", "tox.ini"))},
            work=WORK,
            criteria=("test_app.py", "tox.ini"),
        ),
        ["F1 is green only with changes to test_app.py, tox.ini"],
    ),
    "more criteria than are named": (
        Seen((F1,), {"make test": Tried(cause=finding.CRITERIA, named=tuple("abcdefg"))}, criteria=("a",)),
        ["F1 is green only with changes to a, b, c, d, e and 2 more"],
    ),
    "green without the work": (
        Seen((F1,), {"make test": Tried(RED, GREEN, GREEN)}, work=WORK),
        ["F1 is green without the work"],
    ),
    "green without it, by files that git does not see": (
        Seen((F1,), {"make test": Tried(RED, GREEN, GREEN)}, work=WORK, ignored=(".venv/bin/pytest",)),
        ["F1 is green without the work; younger than the start: .venv/bin/pytest"],
    ),
    "green without it, and never tried at the start": (
        Seen((F1,), {"make test": Tried(alone=GREEN, without=GREEN)}, work=WORK),
        ["F1 is green without the work"],
    ),
    "nothing but what was green at the start": (
        Seen((F1,), {"make test": Tried(GREEN, GREEN, GREEN)}, work=WORK),
        [
            "F1 was green before the work began",
            "note F1: `make test` was green before the work began",
        ],
    ),
    "a guard beside a check of its own": (
        Seen((F2,), {"make test": Tried(GREEN, GREEN, GREEN), "make lint": PLAIN}, work=WORK),
        ["note F2: `make test` was green before the work began"],
    ),
    "no file changed": (
        Seen((F1, LIST), {"make test": Tried(RED, GREEN)}),
        ["F1 is green, and no file has changed since the start"],
    ),
    "nobody knows what changed": (
        Seen((F1,), {"make test": Tried()}, is_known=False, untried="there is no git here"),
        ["note no check was tried apart from the work: there is no git here"],
    ),
    "a test is gone": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, removed=("tests/test_old.py",)),
        ["the test file tests/test_old.py is gone"],
    ),
    "a criterion cannot be put back": (
        Seen((F1,), {"make test": Tried(why=conclusion.UNTRUE)}, work=WORK, criteria=("test_app.py",)),
        [
            "F1 cannot be tried apart, and test_app.py changed since the start",
            f"note F1 was not tried apart from the work: {conclusion.UNTRUE}",
        ],
    ),
    "the work cannot be taken away": (
        Seen((F1,), {"make test": Tried(RED, GREEN, why=conclusion.UNTRUE)}, work=WORK),
        [
            "F1 cannot be tried apart: git has lost what was there at the start",
            f"note F1 was not tried apart from the work: {conclusion.UNTRUE}",
        ],
    ),
    "an assertion in the work is gone": (
        Seen((F1,), {"make test": PLAIN}, work=("src/lib.rs",), lost=(("src/lib.rs", "assert!(ok(2));"),)),
        ["an assertion is gone from src/lib.rs: `assert!(ok(2));`"],
    ),
    "a file is out of sight": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, moved=(("till.js", "vendor/till.js"),)),
        ["till.js was moved to where no checker looks: vendor/till.js"],
    ),
    "a copy of what is expected": (
        Seen((F1,), {"make test": PLAIN}, work=("data/a.csv",), copied=(("data/a.csv", "golden/a.csv"),)),
        ["data/a.csv is a copy of golden/a.csv"],
    ),
    "fewer tests": (
        Seen((F1,), {"make test": PLAIN._replace(fewer="ran 1 test, and 3 without the work")}, work=WORK),
        ["F1 ran 1 test, and 3 without the work"],
    ),
    "green by what was made before": (
        Seen((F1,), {"make test": Tried(RED, RED, RED, cause=finding.IDLE)}, work=WORK, ignored=("stamp",)),
        ["F1 is green only by what was made before its work was finished; younger than the start: stamp"],
    ),
    "red with the work alone, and no time to find out why": (
        Seen((F1,), {"make test": Tried(RED, RED, why="no time")}, work=WORK, criteria=("test_app.py",)),
        [
            "F1 is red without the changes to test_app.py, and perhaps by them",
            "note F1 was not tried apart from the work: no time",
        ],
    ),
    "the same where no criteria changed": (
        Seen((F1,), {"make test": Tried(RED, RED, why="no time")}, work=WORK),
        ["note F1 was not tried apart from the work: no time"],
    ),
    "a place that is not faithful, and criteria changed": (
        Seen((F1,), {"make test": Tried(RED, RED, cause=finding.PLACE, named=("conftest.py",))}, work=WORK),
        [
            "F1 cannot be tried apart, and conftest.py changed since the start",
            "note F1 was not tried apart: its check is red there with nothing put back",
        ],
    ),
    "a line": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, suspects=(Suspect("app.py", 3, "asks who runs it"),)),
        ["an added line asks who runs it: app.py:3"],
    ),
    "a tool that is another": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, programs=(("make test", "make", "/home/me/bin/make"),)),
        ["F1 is judged by make, which has changed since the start (/home/me/bin/make)"],
    ),
    "a program of the repository is another one": (
        Seen(
            (F1,),
            {"make test": PLAIN},
            work=WORK,
            programs=(("make test", "bin/judge", "/p/bin/judge"),),
            top="/p",
        ),
        ["F1 is judged by bin/judge, which has changed since the start (bin/judge)"],
    ),
    "a program that the check itself makes": (
        Seen(
            (F1,),
            {"make test": PLAIN._replace(made=("/p/build/app",))},
            work=WORK,
            programs=(("make test", "build/app", "/p/build/app"),),
        ),
        [],
    ),
    "variables": (
        Seen((F1,), {"make test": Tried(RED, RED, cause=finding.VARIABLE, named=("BASH_ENV",))}, work=WORK),
        ["F1 is green only by BASH_ENV"],
    ),
    "who runs it": (
        Seen((F1,), {"make test": Tried(RED, RED, cause=finding.VARIABLE)}, work=WORK),
        ["F1 is green only by who runs it"],
    ),
    "git": (
        Seen(
            (F1,),
            {"make test": PLAIN},
            work=WORK,
            git=Git(overlooked=("a.py",), settings=("alias.diff",), excluded=True),
        ),
        [
            "git was told to overlook a.py",
            "git's settings have changed in .git/config: alias.diff",
            ".git/info/exclude has changed since the start",
        ],
    ),
    "another branch": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, git=Git(began_on="main", is_on="try")),
        ["the work (F1) is on try, and the loop began on main"],
    ),
    "no branch any more": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, git=Git(began_on="main")),
        ["the work (F1) is on no branch, and the loop began on main"],
    ),
    "another worktree, whose branch is another of course": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, git=Git(began_on="main", is_on="b", worked_in="/p/b")),
        ["the work (F1) is in the worktree /p/b, and the loop began in another"],
    ),
    "red and green on one tree": (
        Seen((F1, F2), {"make test": PLAIN}, work=WORK, flaky=("make test",)),
        [
            "F1 was red and green on the same files: `make test`",
            "F2 was red and green on the same files: `make test`",
        ],
    ),
    "a weak check": (
        Seen((F1,), {"make test": PLAIN}, work=WORK, weak={"make test": "it ends with `|| true`"}),
        ["note F1: `make test` is weak, because it ends with `|| true`"],
    ),
    "a place that is not faithful": (
        Seen((F1,), {"make test": Tried(RED, RED, cause=finding.PLACE)}, work=WORK),
        ["note F1 was not tried apart: its check is red there with nothing put back"],
    ),
    "one that cannot be tried": (
        Seen((F1,), {"make test": Tried(why="docker works outside of it")}, work=WORK),
        ["note F1 was not tried apart from the work: docker works outside of it"],
    ),
    "the list's own check is a guard, but criteria count": (
        Seen((LIST,), {"make all": Tried(GREEN, RED, cause=finding.CRITERIA, named=("Makefile",))}),
        ["the list is green only with changes to Makefile"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_follows(name: str) -> None:
    seen, expected = SITUATIONS[name]
    told = [one.said if one.is_doubt else f"note {one.said}" for one in conclude(seen)]
    assert told == expected


def test_every_kind_has_its_conclusion_and_every_conclusion_its_situation() -> None:
    assert tuple(conclusion.CONCLUSIONS) == finding.DOUBTS + finding.NOTES
    found = {one.kind for seen, _ in SITUATIONS.values() for one in conclude(seen)}
    assert found == set(conclusion.CONCLUSIONS)


def test_a_doubt_about_a_task_names_it() -> None:
    seen = Seen((F1, F2), {"make test": Tried(RED, GREEN, GREEN)}, work=WORK)
    assert [(one.task, one.kind) for one in conclude(seen)] == [("F1", "idle"), ("F2", "idle")]


def test_many_of_a_kind_are_counted() -> None:
    many = tuple(Due(f"F{number}", ("true",), 1.0) for number in range(conclusion.KEPT_MAX + 7))
    told = conclude(Seen(many, {"true": Tried(RED, GREEN)}))
    assert len(told) == conclusion.KEPT_MAX + 1
    assert told[-1].said == "7 more of this kind: nothing"


def test_beside_a_task_stand_the_changed_files_that_its_checks_read() -> None:
    tried = {
        "make test": PLAIN._replace(read=("a.py", "b.py")),
        "make lint": PLAIN._replace(read=tuple("bcdefgh")),
    }
    assert conclusion.turned(Seen((F1, F2, LIST), tried, work=WORK)) == {
        "F1": ("a.py", "b.py"),
        "F2": ("a.py", "b.py", "b", "c", "d"),
    }


def test_at_the_start_there_are_notes_only() -> None:
    tried = {"make test": Tried(GREEN), "make lint": Tried(why="docker works outside of it")}
    seen = Seen((F2,), tried, weak={"make lint": "it ends with `|| true`"})
    assert [one.said for one in conclusion.at_start(seen)] == [
        "F2: `make test` was green before the work began",
        "F2: `make lint` is weak, because it ends with `|| true`",
        "F2 was not tried apart from the work: docker works outside of it",
    ]


def test_what_is_the_same_for_all_is_said_once_at_the_start() -> None:
    tried = {command: Tried(why="user namespaces are switched off") for command in F2.commands}
    (only,) = conclusion.at_start(Seen((F1, F2), tried))
    assert only.said == "no check was tried apart from the work: user namespaces are switched off"

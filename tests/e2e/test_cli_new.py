"""The command `new`: what it creates, from what, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from e2e.cli_project import Project, unfolded
from fakes import warm
from ralphloop.loops.doubt import IN_FEATURES
from ralphloop.tasklists import features
from unit.domain.cases import each

UNPROVEN = "nothing can prove what the agent says is done (it counts as unverified)"
CORPUS = {
    "single quotes": "it's a 'shop'",
    "double quotes": 'say "hello"',
    "command substitution": "$(touch pwned) `touch pwned` ${HOME}",
    "separators": "a; touch pwned && b | c > d",
    "globs": "* ? [a-z] {a,b} ~",
    "backslashes": "a\\b\\n\\\\",
    "newlines": "first\n\nsecond\n",
    "carriage returns": "first\r\nsecond\r\n",
    "tabs and spaces": "\t two  spaces \t",
    "emoji": "ship it 🚀 – größer, 日本語, \u202eright to left",
    "front matter": "---\nname: x\n---\n# Title",
    "template markers": "{{name}} {{goal}} {{list}} {name} %s %(x)s",
    "looks like JSON": '{"decision": "block"}',
    "a fence": "```sh\nrm -rf /\n```",
    "control characters": "bell \x07 escape \x1b[31m",
    "one megabyte": "All of it. " * 95_326,
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_new_creates_a_list_notes_and_a_prompt(project: Project) -> None:
    told = project.fine("new", "shop", "--goal", "A web shop")
    folder = project.root / ".ralph" / "loops" / "shop"
    assert sorted(file.name for file in folder.iterdir()) == [
        "RALPH_PROMPT.md",
        "feature_list.json",
        "progress.txt",
    ]
    assert json.loads((folder / "feature_list.json").read_text(encoding="utf-8")) == {"features": []}
    notes = (folder / "progress.txt").read_text(encoding="utf-8")
    assert notes.startswith("Status: NOT_STARTED\nIteration: 1\n")
    assert features.number(notes, features.MAX_ITERATIONS) is None
    prompt = (folder / "RALPH_PROMPT.md").read_text(encoding="utf-8")
    assert "\nA web shop\n" in prompt
    assert "`.ralph/loops/shop/feature_list.json`" in prompt
    assert "{{" not in prompt
    assert "write its tasks into .ralph/loops/shop/feature_list.json" in told


@each("kind", CORPUS)
def test_any_goal_reaches_the_prompt_byte_by_byte(project: Project, kind: str) -> None:
    goal, loops = CORPUS[kind], project.root / ".ralph/loops"
    data = goal.encode()
    project.fine("new", "stdin", "--goal", "-", stdin=data)
    text = (loops / "stdin/RALPH_PROMPT.md").read_bytes()
    assert text.count(data) >= 1
    if len(data) < 100_000:
        project.fine("new", "argument", "--goal=" + goal)
        said = (loops / "argument/RALPH_PROMPT.md").read_bytes()
        assert said == text.replace(b"# Loop stdin", b"# Loop argument").replace(
            b"loops/stdin/", b"loops/argument/"
        )
    assert not list(project.root.rglob("pwned"))
    shutil.rmtree(loops)


def test_a_goal_that_is_not_utf8_keeps_its_bytes(project: Project) -> None:
    project.fine("new", "shop", "--goal", "-", stdin=b"\xff\xfe raw")
    assert b"\n\xff\xfe raw\n" in (project.root / ".ralph/loops/shop/RALPH_PROMPT.md").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        '{"features":[{"id":"A","description":"one","passes":false}]}',
        '\ufeff[ {"description": "é", "x": {"y": 1}} ]\r\n\r\n',
        '{\n\t"version" : 2,\n\t"features" : [ ]\n}',
    ],
)
def test_a_feature_list_is_copied_byte_by_byte(project: Project, text: str) -> None:
    project.write("mine.json", text)
    project.fine("new", "shop", "--from", "mine.json")
    copy = (project.root / ".ralph/loops/shop/feature_list.json").read_bytes()
    assert copy == (project.root / "mine.json").read_bytes()


def test_a_markdown_list_becomes_features_with_steps(project: Project) -> None:
    text = (
        "# Ideas\n\nSome words.\n\n"
        "- [x] Log in\n  with a name\n  - a form\n    with two fields\n  1. an error\n"
        "* Log out\n\n    deeper text\n\n"
        "A paragraph.\n\n"
        "- [ ] Search\n"
        "```\n- not a task\n```\n"
        "1. Pay\n2) Ship\n"
    )
    project.fine("new", "shop", "--from", "-", stdin=text.encode())
    data = json.loads((project.root / ".ralph/loops/shop/feature_list.json").read_text(encoding="utf-8"))
    found = [(f["id"], f["description"], f["steps"], f["passes"]) for f in data["features"]]
    assert found == [
        ("F1", "Log in with a name", ["a form with two fields", "an error"], True),
        ("F2", "Log out deeper text", [], False),
        ("F3", "Search", [], False),
        ("F4", "Pay", [], False),
        ("F5", "Ship", [], False),
    ]


def test_a_closed_stdin_is_said_to_be_closed(project: Project) -> None:
    for option in ("--from", "--goal"):
        process = warm.start(
            ["new", "shop", option, "-"], env=project.env(), cwd=project.root, stdin=warm.CLOSED
        )
        _, told = process.communicate(timeout=warm.LONGEST_S)
        assert (process.returncode, b"stdin is closed" in told) == (1, True), (option, told)
    assert not (project.root / ".ralph/loops/shop").exists()


def test_new_says_how_many_features_there_are_and_what_is_next(project: Project) -> None:
    done = project.run("new", "shop", "--from", "-", "--json", stdin=b"- a\n- b\n")
    assert done.data == {
        "name": "shop",
        "folder": ".ralph/loops/shop",
        "features": 2,
        "next": "ralphloop start shop",
        "doubts": [f"F1, F2 have no check: {UNPROVEN}. Write {IN_FEATURES}"],
    }


def test_a_subfolder_uses_the_projects_root(project: Project) -> None:
    below = project.root / "src"
    below.mkdir()
    assert "Created ../.ralph/loops/shop" in project.fine("new", "shop", cwd=below)
    assert (project.root / ".ralph/loops/shop").is_dir()


@each("words", [("new", "shop"), ("plan", "A shop", "--name", "shop")])
def test_below_a_project_it_says_where_it_writes_and_why(project: Project, words: tuple[str, ...]) -> None:
    root, below = project.root, project.root / "a/b/c"
    below.mkdir(parents=True, exist_ok=True)
    told = " ".join(project.fine(*words, cwd=below).split())
    assert "Created ../../../.ralph/loops/shop " in told
    assert f"The project is {root}, because it has .git; `--here` makes a list in this folder" in told
    assert "The project is" not in project.fine(*words, "--here", cwd=below)
    assert (below / ".ralph/loops/shop").is_dir()
    shutil.rmtree(root / "a")
    shutil.rmtree(root / ".ralph")
    assert "The project is" not in project.fine(*words)
    shutil.rmtree(root / ".ralph")


def test_what_is_made_here_is_what_start_finds_from_here(project: Project) -> None:
    below = project.root / "shop"
    below.mkdir()
    project.new("shop", tasks=3)
    project.fine("new", "shop", "--here", "--from", "-", stdin=b"- One\n", cwd=below)
    assert "0/1 done" in project.fine("start", "shop", "--session", "s-1", cwd=below)


@each("command", ["new", "plan"])
def test_the_home_folder_is_no_project_unless_it_is_said_to_be(project: Project, command: str) -> None:
    home, below = project.home, project.home / "projects/shop"
    below.mkdir(parents=True, exist_ok=True)
    told = project.refused(command, "shop", cwd=home)
    assert f"the list would go into {home}, your home folder, and everything below would belong to it" in told
    assert "change to your project's folder first (`mkdir my-project && cd my-project` makes one)" in told
    (home / ".ralph").mkdir()
    told = project.refused(command, "shop", cwd=below)
    assert f"the list would go into {home}, your home folder, because it has .ralph, and everything" in told
    assert "with `--here` it is made in this folder" in told
    project.fine(command, "shop", "--here", cwd=below)
    assert (below / ".ralph/loops/shop").is_dir()
    project.fine(command, "shop", "--here", cwd=home)
    assert (home / ".ralph/loops/shop").is_dir()
    shutil.rmtree(home / ".ralph")
    shutil.rmtree(home / "projects")


def test_the_root_of_the_file_system_is_no_project(project: Project) -> None:
    told = project.refused("new", "shop", cwd=Path("/"))
    assert "the list would go into /, the root of the file system, and everything below" in told


def test_outside_any_project_the_folder_itself_is_used(project: Project) -> None:
    plain = project.home / "plain"
    plain.mkdir()
    project.fine("new", "shop", cwd=plain)
    assert (plain / ".ralph/loops/shop/feature_list.json").is_file()


@each("name", ["", ".hidden", "-dash", "a/b", "../up", "a b", "x" * 65, "é", "a\nb", "$(id)"])
def test_a_name_that_is_no_folder_name_is_refused(project: Project, name: str) -> None:
    assert "cannot be a loop's name" in project.refused("new", "--", name)


def test_a_name_that_exists_is_refused(project: Project) -> None:
    project.new("shop")
    assert "exists already: edit its list" in project.refused("new", "shop")


@each(
    ("text", "told"),
    [
        (b'{"features": [', "stdin is not JSON at line 1 column 15: the text ends in the middle"),
        (
            b'{"tasks": []}',
            'stdin has no array "features", but one called "tasks"; rename "tasks" to "features".',
        ),
        (b'{"features": [1]}', "Task 1 in stdin is not an object in braces; write {"),
        (b'{"features": [{"id": "A"}, {"id": "A"}]}', "Two tasks in stdin have the id A: number 1 and"),
        (b'{"features": [' + b"[" * 100_000, "stdin is not JSON: nested too deeply."),
        (b"Just words.\n", "stdin has no list: each top-level line such as `- Log in` becomes a task."),
        (b"", "stdin is empty, so nothing is to be done; write a line such as `- Log in` for each task."),
        (b"\xef\xbb\xbf\n", "stdin is empty"),
        (b"\xff\xfe-\0 \0", "stdin is UTF-16 and not UTF-8 text; save it as UTF-8 first."),
        (b"PK\x03\x04\0", "stdin is no text, but a binary file; save it as Markdown or JSON."),
        (b"- caf\xe9\n", "stdin is not UTF-8 text (byte 5)"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(project: Project, text: bytes, told: str) -> None:
    assert told in project.refused("new", "shop", "--from", "-", stdin=text)


def test_a_file_that_cannot_be_read_is_told_with_the_one_that_may_be_meant(project: Project) -> None:
    project.write("ideas/shop.md", "- a\n")
    project.write("prd.md", "- a\n")
    rows = {
        "ideas": "ideas is a folder; name the file with the list in it, such as ideas/shop.md.",
        "prd.mb": "there is no file prd.mb in this folder; did you mean prd.md?",
        "ideas/shoop.md": "there is no file shoop.md in ideas; did you mean ideas/shop.md?",
        "idea/shop.md": "there is no folder idea, and so no idea/shop.md; look at the path",
    }
    for path, told in rows.items():
        assert told in project.refused("new", "shop", "--from", path), path


def test_stdin_is_not_read_twice(project: Project) -> None:
    assert "not both" in project.refused("new", "shop", "--from", "-", "--goal", "-", stdin=b"- a\n")


def test_checks_are_taken_from_the_list_and_what_only_looks_like_one_is_told(project: Project) -> None:
    text = (
        "- Make a\n  - Verify: `test -f a`\n"
        "1. Make b\n   **Verify**: `test -f b`\n"
        "- Make c\n  - Verify: run the tests\n  - verify: `x` and `y`\n"
    )
    said = unfolded(project.fine("new", "shop", "--from", "-", stdin=text.encode()))
    assert '! "Verify: run the tests" in F3 is text and no check: only Verify: and one command in' in said
    assert '! "verify: `x` and `y`" in F3 is text and no check: only Verify: and one command in' in said
    data = json.loads((project.root / ".ralph/loops/shop/feature_list.json").read_text(encoding="utf-8"))
    assert [feature.get("verify") for feature in data["features"]] == [["test -f a"], ["test -f b"], None]

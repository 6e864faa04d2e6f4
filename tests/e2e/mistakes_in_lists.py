"""Ordinary mistakes in what a list says, as rows."""

from __future__ import annotations

import json
from typing import Any

from e2e.cli_project import Project
from e2e.mistakes import OWN, PEOPLE, Mistake

FINE = {"description": "Show the cart", "verify": "test -f cart.txt"}
NEW = ("new", "shop", "--from")
FILE = "Mend that in .ralph/loops/shop/feature_list.json; `ralphloop plan --show shop` looks again."
UNREAD = "is no known field and does nothing"


def listed(*features: dict[str, Any], **shared: Any) -> dict[str, str]:
    """The file mine.json with these features, each with a description and a check where it says nothing."""
    full = [{"id": f"F{number}", **FINE, **feature} for number, feature in enumerate(features, 1)]
    full = [{key: value for key, value in feature.items() if value is not None} for feature in full]
    return {"mine.json": json.dumps({**shared, "features": full}, indent=1)}


def ready(*features: dict[str, Any], **shared: Any) -> dict[str, str]:
    """The same as the list of a loop that can be started."""
    return {".ralph/loops/shop/feature_list.json": listed(*features, **shared)["mine.json"]}


def _folder(project: Project) -> None:
    project.write("ideas/shop.md", "- Log in\n")


def _binary(project: Project) -> None:
    (project.root / "ideas.docx").write_bytes(b"PK\x03\x04\x00\x00\x08\x00")


ROWS: tuple[Mistake, ...] = (
    Mistake(
        "two tasks with one id",
        PEOPLE,
        (*NEW, "mine.json"),
        what=("Two tasks in mine.json have the id F1",),
        why=("number 1 and number 3 of the list, but an id is one task's",),
        cure=("give one of them another id",),
        files=listed({}, {}, {"id": "F1"}),
    ),
    Mistake(
        "a trailing comma",
        PEOPLE,
        (*NEW, "mine.json"),
        what=("mine.json is not JSON at line 3 column 2",),
        why=("a comma before the closing bracket ]",),
        cure=("remove that comma",),
        files={"mine.json": '{"features": [\n  {"id": "F1", "description": "Log in"},\n ]}\n'},
    ),
    Mistake(
        "Verify: without backticks",
        PEOPLE,
        (*NEW, "ideas.md"),
        what=('"Verify: npm test" in F1 is text and no check',),
        why=("only Verify: and one command in backticks is",),
        cure=('Write "verify": "COMMAND", or in Markdown a line Verify: `COMMAND`', FILE),
        code=0,
        files={"ideas.md": "- Log in\n  - Verify: npm test\n"},
    ),
    Mistake(
        "no check at all",
        PEOPLE,
        (*NEW, "ideas.md"),
        what=("F1, F2 have no check",),
        why=("nothing can prove what the agent says is done (it counts as unverified)",),
        cure=('Write "verify": "COMMAND", or in Markdown a line Verify: `COMMAND`', FILE),
        code=0,
        files={"ideas.md": "- Log in\n- Log out\n"},
    ),
    Mistake(
        "tasks that wait for each other",
        PEOPLE,
        (*NEW, "mine.json"),
        what=("F1 → F2 → F1", "can never run"),
        why=("wait for each other in a circle",),
        cure=('take one out of "depends_on"', FILE),
        code=0,
        files=listed({"depends_on": ["F2"], "verify": "true"}, {"depends_on": ["F1"]}, {"verify": "make"}),
    ),
    Mistake(
        "a dependency that is not there",
        PEOPLE,
        (*NEW, "mine.json"),
        what=('F2 depends on "Log in"', "can never run"),
        why=("which is not in the list",),
        cure=("did you mean login?", FILE),
        code=0,
        files=listed({"id": "login", "verify": "true"}, {"depends_on": ["Log in"]}),
    ),
    Mistake(
        "a check for bash",
        PEOPLE,
        (*NEW, "mine.json"),
        what=("the check of F1, `[[ -f cart.txt ]]`, works in bash only",),
        why=("it uses `[[`, and sh runs the checks",),
        cure=("write `bash -c '[[ -f cart.txt ]]'`", FILE),
        code=0,
        files=listed({"verify": "[[ -f cart.txt ]]"}),
    ),
    Mistake(
        "Acceptance: and Test: of a PRD",
        PEOPLE,
        (*NEW, "prd.md"),
        what=('"Acceptance: the cart survives a reload" in F1 is text', '"Test: npm test" in F1 is text'),
        why=("and no check: only Verify: and one command in backticks is",),
        cure=('Write "verify": "COMMAND", or in Markdown a line Verify: `COMMAND`', FILE),
        code=0,
        files={"prd.md": "- A cart\n  - Acceptance: the cart survives a reload\n  - Test: npm test\n"},
    ),
    Mistake(
        "verfy",
        PEOPLE,
        (*NEW, "mine.json"),
        what=('"verfy" in F1',),
        why=(UNREAD,),
        cure=('write "verify"', FILE),
        code=0,
        files=listed({"verify": None, "verfy": "npm test"}),
    ),
    Mistake(
        "pases",
        PEOPLE,
        ("plan", "--show", "shop"),
        what=('"pases" in F1, F2',),
        why=(UNREAD,),
        cure=('write "passes"',),
        code=0,
        files=ready({"pases": True, "verify": "true"}, {"pases": False}),
    ),
    Mistake(
        "a misspelt field, started",
        OWN,
        ("start", "shop", "--yes"),
        what=('"verfy" in F1',),
        why=(UNREAD, "nothing can prove what the agent says is done"),
        cure=('write "verify"',),
        code=0,
        files=ready({"verify": None, "verfy": "npm test"}),
    ),
    Mistake(
        "passes as a text",
        OWN,
        (*NEW, "mine.json"),
        what=('"passes" of F1 is the text "true"',),
        why=("the task counts as open",),
        cure=("write true or false, without quotes",),
        code=0,
        files=listed({"passes": "true"}),
    ),
    Mistake(
        "a check that no shell can read",
        OWN,
        (*NEW, "mine.json"),
        what=("sh refuses the check of F1, `if test -f cart.txt`",),
        why=("so that it can never pass: ",),
        cure=("mend the command",),
        code=0,
        files=listed({"verify": "if test -f cart.txt"}),
    ),
    Mistake(
        "a check whose program is missing",
        OWN,
        (*NEW, "mine.json"),
        what=("there is no program `gerp` on PATH",),
        why=("so the check of F1, F2 cannot pass",),
        cure=("did you mean `grep`?", FILE),
        code=0,
        files=listed({"verify": "gerp -q cart index.html"}, {"verify": "gerp -q log index.html"}),
    ),
    Mistake(
        "a prd.json with user stories",
        OWN,
        (*NEW, "prd.json"),
        what=('prd.json has its tasks under "userStories"',),
        why=('which is not read, and no array "features"',),
        cure=('Rename that to "features"', '"acceptanceCriteria" in each story to "steps"', 'in "verify"'),
        files={"prd.json": '{"project": "shop", "userStories": [{"id": "US-1", "title": "A cart"}]}'},
    ),
    Mistake(
        "tasks instead of features",
        OWN,
        (*NEW, "mine.json"),
        what=('mine.json has no array "features"',),
        why=('but one called "tasks"',),
        cure=('rename "tasks" to "features"',),
        files={"mine.json": '{"tasks": [{"id": "F1", "description": "Log in"}]}'},
    ),
    Mistake(
        "single quotes",
        OWN,
        (*NEW, "mine.json"),
        what=("mine.json is not JSON at line 1 column 2",),
        why=("' where JSON wants a double quote",),
        cure=('write "…"',),
        files={"mine.json": "{'features': []}"},
    ),
    Mistake(
        "an empty file",
        OWN,
        (*NEW, "ideas.md"),
        what=("ideas.md is empty",),
        why=("so nothing is to be done",),
        cure=("write a line such as `- Log in` for each task",),
        files={"ideas.md": "\n"},
    ),
    Mistake(
        "a line without its space",
        OWN,
        (*NEW, "ideas.md"),
        what=('"-Log out" in line 3 of ideas.md is read as text', "with 1 task."),
        why=("because a space is missing",),
        cure=('write "- Log out"', "Mend ideas.md and make the list anew", "`rm -r .ralph/loops/shop`"),
        code=0,
        files={"ideas.md": "- Log in\n  - Verify: `true`\n-Log out\n"},
    ),
    Mistake(
        "no line with its space",
        OWN,
        (*NEW, "ideas.md"),
        what=("ideas.md has no list",),
        why=('"[ ] Log in" in line 1 is read as text, because a dash is missing',),
        cure=('write "- [ ] Log in"',),
        files={"ideas.md": "[ ] Log in\n[ ] Log out\n"},
    ),
    Mistake(
        "a folder instead of a file",
        OWN,
        (*NEW, "ideas"),
        what=("ideas is a folder",),
        why=("name the file with the list in it",),
        cure=("such as ideas/shop.md",),
        setup=_folder,
    ),
    Mistake(
        "a file that is not text",
        OWN,
        (*NEW, "ideas.docx"),
        what=("ideas.docx is no text",),
        why=("but a binary file",),
        cure=("save it as Markdown",),
        setup=_binary,
    ),
    Mistake(
        "a file whose name is misspelt",
        OWN,
        (*NEW, "idaes.md"),
        what=("there is no file idaes.md",),
        why=("in this folder",),
        cure=("did you mean ideas.md?",),
        files={"ideas.md": "- Log in\n"},
    ),
    Mistake(
        "a field that is not built yet",
        OWN,
        ("plan", "--show", "shop"),
        what=('"review" is known, and not obeyed yet',),
        why=("nobody reviews",),
        cure=("it may stay",),
        code=0,
        files=ready({"review": "opus"}),
    ),
)

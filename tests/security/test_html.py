"""The report as a page: whatever a text says, the page has the elements that we wrote and no others."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from e2e.cli_project import Project
from ralphloop.domain.finding import CRITERIA, WEAK, Finding
from ralphloop.loops import Place, pick
from ralphloop.proof import proof_record
from ralphloop.proof.proof_record import ProofRecord, Proven, Tried

SCRIPTS = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "</title></style></code></svg><svg onload=alert(3)>",
    "<!--",
    "]]>&lt;b&gt;&#60;i&#62;<a href='javascript:alert(4)'>",
    "$name ${facts} $$",
)
OWNER = "owner-1"


class Page(HTMLParser):
    """The elements of a page, each with the names of its attributes, and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[tuple[str, ...]] = set()
        self.policy = ""
        self.texts = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add((tag, *sorted(name for name, _ in attrs)))
        values = dict(attrs)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""

    def handle_data(self, data: str) -> None:
        self.texts += data

    def handle_comment(self, data: str) -> None:
        self.elements.add(("comment", data))


def page_of(folder: Path, text: str) -> Page:
    """The report on a loop in which every text that somebody else chose is this one."""
    folder.mkdir()
    project = Project(folder)
    name = "n" + text.replace("/", "|")
    tasks = [
        {"id": "F1" + text, "description": text, "steps": [text], "passes": True, "notes": text},
        {"id": "F2", "description": text, "passes": False, "verify": f"cat said; exit 1 # {text}"},
        {"id": "F3", "description": text, "passes": False, "needs_human": text},
    ]
    project.write("said", text)
    path = project.write(f".ralph/loops/{name}/feature_list.json", json.dumps({"features": tasks}))
    begun = project.run("start", name, "--session", OWNER + text, "--yes")
    assert begun.code == 0, begun
    path.write_text(path.read_text().replace('"passes": false', '"passes": true', 1))
    project.stop(OWNER + text, last_assistant_message=text)
    project.run("answer", "F3", text)
    project.stop(OWNER + text, last_assistant_message=text)
    project.run("pause")
    of_text = {"said": f"F2 reads {text}", "task": "F2" + text, "files": (text,)}
    findings = (Finding(CRITERIA, **of_text), Finding(WEAK, **of_text))
    tried, turned = {text: Tried(text, "green", "red")}, {"F2": (text,)}
    loop = pick(Place(str(project.root), project.env()), name)
    proof_record.save(loop, ProofRecord(findings, tried, turned, Proven(branch=text, folder=text)))
    return Page(project.run("report", "--format", "html").out)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(tmp_path_factory.mktemp("page") / "plain", "words")


@pytest.mark.parametrize("text", SCRIPTS)
def test_no_text_adds_an_element_or_an_attribute(tmp_path: Path, plain: Page, text: str) -> None:
    page = page_of(tmp_path / "page", text)
    assert page.texts.count(text.split("$")[0]) >= 3, "it is there to be read"
    assert page.elements <= plain.elements


def test_the_page_itself_forbids_scripts_and_addresses(plain: Page) -> None:
    """Should a text ever get through, a browser runs nothing and asks nobody."""
    rules = dict(rule.strip().partition(" ")[::2] for rule in plain.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert not {"script-src", "connect-src", "img-src", "frame-src"} & set(rules)
    assert (rules["base-uri"], rules["form-action"]) == ("'none'", "'none'")

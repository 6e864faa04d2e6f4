"""Reports as one HTML file: it parses, needs nothing else, and draws the tasks over time."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hook.harness import LoopProject, feature
from ralphloop.views import report_html
from ralphloop.views.report import Report, report_of
from ralphloop.views.report_html import FOLD, LEFT, RIGHT, Piece, Row, html

EVIL = "<script>alert(1)</script>"
ATTRIBUTE = "\"><img src=x onerror='alert(2)'>"
VOID = {"meta", "line", "rect", "path", "circle"}


class Page(HTMLParser):
    """Every element closed in order, and the texts that a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.seen: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


@pytest.fixture(autouse=True, scope="module")
def _in_utc() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setenv("TZ", "UTC")
    time.tzset()
    yield
    patch.undo()
    time.tzset()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Report:
    features = [
        {**feature("F1", verify=f"test -f one # {EVIL}"), "description": EVIL},
        feature(ATTRIBUTE[:30]),
    ]
    files = {".ralph/loops/demo/feature_list.json": json.dumps({"features": features})}
    project = LoopProject(tmp_path_factory.mktemp("page"), "features", files)
    project.arm()
    project.close(1)
    project.turn()
    (project.root / "one").touch()
    project.close(1)
    project.turn()
    return report_of(project.the_loop(), now=time.time(), env={})


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return html(made)


def test_a_title_is_text_and_never_markup(page: str) -> None:
    parsed = Page(page)
    assert EVIL in parsed.seen
    assert "script" not in parsed.tags
    assert "img" not in parsed.tags
    assert "<script" not in page


def test_nothing_comes_from_elsewhere(page: str) -> None:
    parsed = Page(page)
    assert not parsed.names & {"src", "href", "srcset", "data", "style", "onerror", "onclick", "onload"}
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(parsed.tags)
    assert not re.search(r"https?:", page)
    assert not re.search(r"@import|url\(", page)


def test_light_and_dark_have_their_colours(page: str) -> None:
    assert "prefers-color-scheme: dark" in page
    light, dark = (set(re.findall(r"(--\w+):", part)) for part in page.split("@media")[:2])
    assert light == dark


def test_each_task_has_its_row_with_bars_and_marks(page: str) -> None:
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert picture.count('<rect class="bar"') == 3  # two turns of one task, one of the next
    assert picture.count('class="proven"') == 1
    assert picture.count('class="refused"') == 1
    assert re.search(r">\d\d:\d\d(:\d\d)?</text>", picture)
    assert "2026" in picture or time.strftime("%Y") in picture


def test_a_task_that_was_never_at_hand_has_its_row_too(made: Report) -> None:
    idle = [
        made.tasks[1]._replace(id=f"idle-{number}", title="", checks=(), refused=()) for number in range(60)
    ]
    picture = report_html.svg(made._replace(tasks=(*made.tasks, *idle)))
    assert re.findall(r">(idle-\d+)<title>", picture) == [
        f"idle-{number}" for number in range(report_html.IDLE)
    ]
    assert "<span>20 more tasks never at hand</span>" in picture
    one = report_html.svg(made._replace(tasks=made.tasks[:1]))
    assert 'aria-label="Timeline of 1 task"' in one
    assert "never at hand" not in one
    assert report_html.svg(made._replace(stretches=(), entries=(), refused=())) == ""


def test_the_legend_stands_below_the_picture_where_no_narrow_screen_cuts_it(page: str) -> None:
    """What is wider than a phone is moved to and fro inside `.wide`; the legend is outside and wraps."""
    wide, legend = page[page.index('<div class="wide">\n<svg') :].split("</div>", 1)
    assert "claim refused" not in wide
    legend = legend[: legend.index("</p>")]
    assert legend.startswith('\n<p class="legend">')
    assert re.findall(r"</svg> ([\w ]+)</span>", legend) == ["at hand", "proven", "claim refused"]
    rule = re.search(r"\.legend \{([^}]*)\}", page)
    assert rule is not None
    assert "flex-wrap: wrap" in rule[1]


def test_a_long_rest_is_folded() -> None:
    day = 86400.0
    first, second = report_html._pieces([(0.0, 100.0), (day, day + 100.0)])
    assert (first.left, second.right) == (LEFT, RIGHT)
    assert second.left - first.right == FOLD
    assert first.right - first.left == pytest.approx(second.right - second.left)


def test_a_short_rest_stays() -> None:
    (only,) = report_html._pieces([(0.0, 100.0), (110.0, 200.0), (50.0, 90.0)])
    assert (only.begin, only.end) == (0.0, 200.0)


def test_a_moment_alone_has_a_width() -> None:
    (only,) = report_html._pieces([(7.0, 7.0)])
    assert only.end > only.begin


@pytest.mark.parametrize("length", [1, 59, 3600, 8 * 3600, 30 * 86400, 900 * 86400])
def test_ticks_are_few_and_inside(length: float) -> None:
    piece = Piece(1_800_000_123.0, 1_800_000_123.0 + length, LEFT, RIGHT)
    ticks = report_html._ticks(piece, report_html._step(length))
    assert 1 <= len(ticks) <= 33
    assert all(piece.begin <= at <= piece.end for at in ticks)


def test_a_tick_is_at_a_round_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")  # half an hour off the full one
    time.tzset()
    piece = Piece(1_800_000_123.0, 1_800_000_123.0 + 4 * 3600, LEFT, RIGHT)
    shown = [time.strftime("%M:%S", time.localtime(at)) for at in report_html._ticks(piece, 3600)]
    monkeypatch.undo()
    time.tzset()
    assert set(shown) == {"00:00"}


def test_a_long_id_is_cut_in_the_picture(tmp_path: Path) -> None:
    row = Row("F" * 50, "title", ((0.0, 1.0),), ())
    text = "".join(report_html._drawn(row, report_html._pieces([(0.0, 1.0)]), 0.0))
    assert f">{'F' * 17}…<title>{'F' * 50} title" in text

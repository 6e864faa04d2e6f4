"""How loops stand and what happened to them, looked at without a change: state, journal, report, evidence."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.model import COMPLETE, ENDED, FINAL
from ralphloop.domain.prompt import line
from ralphloop.errors import UserError
from ralphloop.loops.opened import Opened
from ralphloop.loops.place import UNDER_WAY, Place, begun, has_work, pick, require_person
from ralphloop.loops.result import Result
from ralphloop.proof import check_record
from ralphloop.store import files, shelf
from ralphloop.store.loop import JOURNAL, LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import terminal
from ralphloop.views.journal import rest_of
from ralphloop.views.live.feed import Tail
from ralphloop.views.snapshot import (
    LoopView,
    ended_at,
    in_order,
    view_of,
    with_context,
    with_retry,
    with_spending,
)

if TYPE_CHECKING:
    from ralphloop.views.report import Report

POLL_S = 0.2
SHAPES = ("md", "json", "html")


class Overview(NamedTuple):
    """The loops that were looked at, and the task lists with work left that nobody owns."""

    views: list[LoopView]
    unowned: list[Source]
    now: float
    older: int = 0  # loops that have ended and were not looked at

    @property
    def data(self) -> dict[str, Any]:
        loops = [{**view.to_json(), **self._judged(view)} for view in self.views]
        return {"loops": loops, "unowned": [_listed(source) for source in self.unowned]}

    def _judged(self, view: LoopView) -> dict[str, bool]:
        return {"orphaned": view.is_orphaned(self.now), "silent": view.is_silent(self.now)}


def overview(place: Place, name: str | None = None, *, ended: int | None = None) -> Overview:
    """One loop, or all that can be seen from here, live ones first; of those that have ended all, or the last
    few."""
    now = time.time()
    if name is not None:
        return Overview(_views([pick(place, name)], place, now=now), [], now)
    live, over = place.loops(*UNDER_WAY), place.loops(shelf.ENDED)
    shown = over if ended is None else _last_ended(over)[:ended]
    views = _views([*live, *shown], place, now=now)
    return Overview(views, _unowned(place, [*live, *over]), now, len(over) - len(shown))


def _last_ended(loops: list[LoopFiles]) -> list[LoopFiles]:
    return sorted(loops, key=lambda loop: ended_at(loop) or 0.0, reverse=True)


def state(place: Place, name: str | None = None) -> LoopView:
    """How one loop stands: its state, its tasks, what it spent."""
    return _views([pick(place, name)], place, now=time.time())[0]


def journal(
    place: Place,
    name: str | None = None,
    *,
    follow: bool = False,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[str]:
    """The lines of a loop's journal as they are stored, oldest first; with `follow` also those to come, until
    `is_over` says so."""
    loop = pick(place, name)
    path, before = loop.shown(JOURNAL), loop.shown(files.older(JOURNAL))
    if not follow and not os.path.exists(path) and not os.path.exists(before):
        told = f"has no journal ({loop.path(JOURNAL)}); it begins again at the next stop"
        raise UserError(f"{loop.record.name} {told}.")
    return _lines(Tail(path, first_max=sys.maxsize, older=before), follow=follow, is_over=is_over)


def findings(place: Place, name: str | None = None) -> list[str]:
    """What the proof of a loop that is complete leaves in doubt, and what was noted, a line each."""
    view = view_of(pick(place, name), now=time.time())
    return terminal.proof_lines(view) if view.outcome == COMPLETE else []


def events(
    place: Place,
    name: str | None = None,
    *,
    follow: bool = False,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[dict[str, Any]]:
    """The same as objects; what is none is left out."""
    return _parsed(journal(place, name, follow=follow, is_over=is_over))


def _parsed(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for raw in lines:
        try:
            yield jsontext.parse_object(raw)
        except ValueError:
            rest = rest_of(raw)
            if rest is not None:
                yield rest


def _views(loops: list[LoopFiles], place: Place, *, now: float) -> list[LoopView]:
    """What one loop spent takes a look through its transcripts; of several only the live ones' last lines."""
    found = [(with_retry(view_of(loop, now=now), loop, place.env), loop) for loop in loops]
    if len(found) == 1:
        ((view, loop),) = found
        return [with_context(with_spending(view, loop, env=place.env, now=now), loop)]
    return in_order(with_context(view, loop) if view.live else view for view, loop in found)


def _unowned(place: Place, loops: list[LoopFiles]) -> list[Source]:
    """The lists with work left that no loop is under way over, and none can be resumed over."""
    newest = {own_file(loop.record): loop for loop in sorted(loops, key=begun)}
    lists = [source for source in place.sources() if source.enabled]
    return [source for source in lists if _is_free(newest.get(own_file(source))) and has_work(source)]


def _is_free(loop: LoopFiles | None) -> bool:
    state = loop.state() if loop is not None else None
    return state is None or (state.state == ENDED and state.outcome in FINAL)


def _listed(source: Source) -> dict[str, str]:
    return {
        "name": source.name,
        "layout": source.layout,
        "root": source.root,
        "path": own_file(source),
    }


def _lines(tail: Tail, *, follow: bool, is_over: Callable[[], bool]) -> Iterator[str]:
    """Whole lines only: the last one may still be in the middle of a write."""
    while True:
        is_last = not follow or is_over()  # asked first: what was written before that is read below
        whole = tail.lines()
        for raw in filter(None, whole):
            yield raw.decode("utf-8", "replace")
        if not whole and is_last:
            return
        if not whole:
            time.sleep(POLL_S)


def report(place: Place, name: str | None = None, *, shape: str = "md", output: str | None = None) -> Result:
    """One loop's whole life, as text in one of the `SHAPES`, or written into a file; the exit code tells how
    the loop stands."""
    from ralphloop.views.report import report_of  # what no look at a loop needs
    from ralphloop.views.report_json import to_json

    if shape not in SHAPES:
        raise UserError(f"a report cannot be {shape}; it can be: {', '.join(SHAPES)}.")
    if output is not None:
        require_person(place.env, "a file of your choice")
    found = report_of(pick(place, name), now=time.time(), env=place.env)
    code = found.view.exit_code
    facts = {"exit_code": code, **to_json(found)}
    text = _rendered(found, shape, facts)
    if output is None:
        return Result(facts, (text.rstrip("\n"),), code)
    path = os.path.abspath(os.path.join(place.cwd, output))
    if not os.path.isdir(os.path.dirname(path)):
        makes = f"`mkdir -p {shlex.quote(os.path.dirname(output))}` makes it"
        raise UserError(f"{os.path.dirname(path)} is no folder; --output needs one that is there: {makes}.")
    files.write_text(path, text, mode=0o644)
    return Result(facts, (f"The report on {found.view.name} ({found.outcome}) is in {path}.",), code)


def _rendered(report: Report, shape: str, facts: dict[str, Any]) -> str:
    if shape == "md":
        from ralphloop.views.report_text import markdown

        return markdown(report)
    if shape == "html":
        from ralphloop.views.report_html import html

        return html(report)
    # Bytes that were not UTF-8 become question marks, and all but ASCII is escaped.
    whole = json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace")
    return json.dumps(json.loads(whole), indent=2) + "\n"


def evidence(place: Place, wanted: str | None = None, *, loop: str | None = None) -> Result:
    """All of a loop's, or what is `wanted`: a task's id, or that of one piece of evidence."""
    of = pick(place, loop)
    known = check_record.entries(of)
    found = [entry for entry in known if wanted in (None, entry.id) or wanted in entry.tasks]
    if wanted is not None and not found:
        raise UserError(_why_none(of, wanted, known))
    facts = {"loop": of.record.id, "evidence": [_proof(of, entry) for entry in found]}
    told = _one(of, found[0]) if wanted is not None and len(found) == 1 else _rows(of, found)
    return Result(facts, tuple(told))


def _why_none(loop: LoopFiles, wanted: str, known: list[check_record.Entry]) -> str:
    task = Opened(loop, final=True).task(wanted)
    shown = ", ".join(sorted({task for entry in known for task in entry.tasks})) or "nothing yet"
    why = "its check was not run yet" if task.verify else "it has no check"
    cure = f"`ralphloop verify {wanted}` runs it" if task.verify else "add a `verify` command to the list"
    told = f"there is no evidence for {wanted} in {loop.record.name}: {why}; {cure}"
    return f"{told}. There is for: {shown}."


def _proof(loop: LoopFiles, entry: check_record.Entry) -> dict[str, Any]:
    """The index's own words, and what the file adds to them if it is as it was written."""
    state = check_record.state(loop, entry)
    facts = check_record.load(loop, entry.id) if state == check_record.SOUND else None
    return {**(facts or {}), **entry._asdict(), "file": state}


def _rows(loop: LoopFiles, found: list[check_record.Entry]) -> Iterator[str]:
    if not found:
        yield f"Nothing was checked in {loop.record.name} yet."
    for entry in found:
        state = check_record.state(loop, entry)
        doubt = "" if state == check_record.SOUND else f"  (its file is {state})"
        sign = "✓" if entry.green else "✗"
        what = f"{entry.at[:19]}Z  {entry.kind:<6}  {entry.duration_s:7.1f} s  `{line(entry.command, 60)}`"
        yield f"{sign} {entry.id:<16}  {what}{doubt}"


def _one(loop: LoopFiles, entry: check_record.Entry) -> Iterator[str]:
    facts = _proof(loop, entry)
    tail = str(facts.pop("output_tail", ""))
    for name, value in facts.items():
        if value not in (None, "", []):
            yield f"{name:<14} {', '.join(map(str, value)) if isinstance(value, list) else value}"
    if tail.strip():
        yield from ("", "the end of its output:", *(f"  {text}" for text in tail.rstrip("\n").split("\n")))

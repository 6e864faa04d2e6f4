"""A look at loops that changes nothing: how they stand, and what happens to them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ralphloop.domain import jsontext
from ralphloop.domain.model import ENDED, FINAL
from ralphloop.errors import UserError
from ralphloop.loops.place import UNDER_WAY, Place, begun, has_work, pick
from ralphloop.store import shelf
from ralphloop.store.files import older
from ralphloop.store.loop import JOURNAL, LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views.history import rest_of
from ralphloop.views.live.follow import Tail
from ralphloop.views.snapshot import (
    LoopView,
    ended_at,
    in_order,
    view_of,
    with_context,
    with_retry,
    with_spending,
)

POLL_S = 0.2


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
    path, before = loop.shown(JOURNAL), loop.shown(older(JOURNAL))
    if not follow and not os.path.exists(path) and not os.path.exists(before):
        told = f"has no journal ({loop.path(JOURNAL)}); it begins again at the next stop"
        raise UserError(f"{loop.record.name} {told}.")
    return _lines(Tail(path, first_max=sys.maxsize, older=before), follow=follow, is_over=is_over)


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

"""The command `status`: the loops here, what is next, and the task lists that nobody owns."""

from __future__ import annotations

import argparse
import shutil
import time

from ralphloop.cli.output import say, say_json
from ralphloop.domain.model import ENDED, FINAL
from ralphloop.loops.place import UNDER_WAY, Here, here, pick
from ralphloop.store import shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.views import terminal
from ralphloop.views.snapshot import LoopView, in_order, view_of, with_context, with_spending

ENDED_SHOWN = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop status
  ralphloop status shop
  ralphloop status --json
"""


def run(args: argparse.Namespace) -> int:
    place, now = here(writes=False), time.time()
    if args.name is not None:
        views, unowned = _views([pick(place, args.name)], now), []
    else:
        views = _views(place.loops(*UNDER_WAY, shelf.ENDED), now)
        unowned = _unowned(place, views)
    if args.json:
        loops = [{**view.to_json(), "orphaned": view.is_orphaned(now)} for view in views]
        say_json({"loops": loops, "unowned": [_source_json(source) for source in unowned]})
    else:
        _print(views, unowned, named=args.name is not None)
    return 0


def _views(loops: list[LoopFiles], now: float) -> list[LoopView]:
    """What one loop spent takes a look through its transcripts; of several only the live ones' last lines."""
    if len(loops) == 1:
        view = view_of(loops[0])
        return [with_context(with_spending(view, loops[0], now=now), loops[0])]
    found = [(view_of(loop), loop) for loop in loops]
    return in_order(with_context(view, loop) if view.live else view for view, loop in found)


def _print(views: list[LoopView], unowned: list[Source], *, named: bool) -> None:
    ended = [view for view in views if view.state == ENDED]
    shown = [view for view in views if view not in ended[ENDED_SHOWN:]]
    width, rows = shutil.get_terminal_size((terminal.WIDTH, terminal.ROWS))
    table = named or len(shown) == 1
    for line in terminal.blocks(shown, now=time.time(), width=width, rows=rows - 3, table=table):
        say(line)
    if len(shown) < len(views):
        say("", f"… and {len(views) - len(shown)} older (`ralphloop status --json` has them all)")
    for source in unowned:
        say(f"unowned: {source.name} ({source.layout}) … `ralphloop start {source.name}`")
    if not views and not unowned:
        say("No loop and no task list here. `ralphloop new NAME` creates one.")


def _unowned(place: Here, views: list[LoopView]) -> list[Source]:
    """The lists with work left that no loop is under way over, and none can be resumed over."""
    newest: dict[str, LoopView] = {}
    for view in sorted(views, key=lambda view: view.started_at):
        newest[view.path] = view
    lists = [source for source in place.sources() if source.enabled]
    return [source for source in lists if _is_free(source, newest) and _has_work(source)]


def _is_free(source: Source, newest: dict[str, LoopView]) -> bool:
    view = newest.get(own_file(source))
    return view is None or (view.state == ENDED and view.outcome in FINAL)


def _has_work(source: Source) -> bool:
    try:
        return not all(task.done for task in tasks.parse_source(source).tasks)
    except ValueError:
        return True
    except OSError:
        return False


def _source_json(source: Source) -> dict[str, str]:
    return {
        "name": source.name,
        "layout": source.layout,
        "root": source.root,
        "path": own_file(source),
    }

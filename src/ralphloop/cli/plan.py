"""The command `plan`: an empty list for a goal, and a look at a list before it is started; starts nothing."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from ralphloop.cli import new
from ralphloop.cli.choice import choose
from ralphloop.cli.draft import Draft
from ralphloop.cli.here import Here, here
from ralphloop.cli.output import say, say_json
from ralphloop.cli.spec import wording
from ralphloop.cli.spec.parser import HELP
from ralphloop.cli.start import look
from ralphloop.domain.model import FEATURES, Task, TaskList
from ralphloop.domain.prompt import cut
from ralphloop.engine.words import command
from ralphloop.errors import UserError
from ralphloop.store import files, tasks
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source
from ralphloop.tasklists.spec_phase import free_name

TYPED = {"": {**HELP, "--name": 1, "--show": 0, "--json": 0}}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("goal", metavar="GOAL", nargs="*", help="what is to be built, in your own words")
    parser.add_argument("--name", metavar="NAME", help="the list's name (default: of the goal's first words)")
    parser.add_argument("--show", action="store_true", help="show the list NAME and its commands instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop plan 'A web shop with a cart that survives a reload'
  ralphloop plan --name shop 'A web shop'
  ralphloop plan --show shop

It makes an empty list for the goal; you or the agent write the features into it. Nothing is started and no
check is run: `ralphloop start NAME` does that, after it has shown you the commands and asked.
"""


def run(args: argparse.Namespace) -> int:
    place = here()
    goal = wording.whole(args.goal).strip()
    if args.show:
        return _show(args, place, choose(place, goal or None))
    if not goal:
        raise UserError("plan needs a goal: `ralphloop plan 'what is to be built'`; --show shows a list.")
    root = place.project
    name = args.name or free_name(
        wording.slug(goal) or "plan", files.names(os.path.join(root, ".ralph", "loops"))
    )
    folder = new.make(root, name, Draft().text, goal=goal)
    _tell(args, place, name=name, folder=os.path.relpath(folder))
    return 0


def _tell(args: argparse.Namespace, place: Here, *, name: str, folder: str) -> None:
    listed = os.path.join(folder, "feature_list.json")
    look_at = f"{command(place.env)} plan --show {name}"
    if args.json:
        say_json({"name": name, "folder": folder, "list": listed, "next": look_at})
        return
    say(f"Created {folder} for this goal; its list is empty.")
    say(f"Write the features into {listed}, then look at it: `{look_at}`")


def _show(args: argparse.Namespace, place: Here, source: Source) -> int:
    try:
        listed = tasks.parse_source(source)
    except (ValueError, OSError) as error:
        raise UserError(f"{source.name} cannot be read: {error} ({own_file(source)}). Repair it.") from None
    odd = list(_doubts(listed))
    if args.json:
        say_json({"name": source.name, "tasks": [_as_json(task) for task in listed.tasks], "doubts": odd})
        return 0
    say(f"{source.name}: {len(listed.tasks)} tasks in {os.path.relpath(own_file(source))}")
    for task in listed.tasks:
        _show_task(task)
    for doubt in odd:
        say(f"! {doubt}")
    inside = place.session is not None and source.layout == FEATURES
    begin = f"/ralphloop:start {source.name}" if inside else f"ralphloop start {source.name}"
    say("", f"Nothing is started. `{begin}` shows these commands again and asks before any of them may run.")
    return 0


def _show_task(task: Task) -> None:
    needs = f" (after {', '.join(task.depends_on)})" if task.depends_on else ""
    say(f"{'✓' if task.done else '·'} {task.id or '-'}  {cut(task.title, 100)}{needs}")
    if task.needs_human:
        say(f"    asks you: {cut(task.needs_human, 100)}")
    for line in "\n".join(task.verify).split("\n") if task.verify else ():
        say(f"    $ {line}")


def _doubts(listed: TaskList) -> Iterator[str]:
    if not listed.tasks:
        yield "there are no tasks yet"
    for task in listed.tasks:
        if not task.verify and not task.done:
            yield f"{task.id or cut(task.title, 40)} has no check: nothing can prove it"
        if not task.title:
            yield f"{task.id or 'a task'} has no description"
    for name, ids in _commands(listed).items():
        if len(ids) > 1:
            yield f"`{cut(name, 60)}` is the check of several tasks: {', '.join(ids)}"
    for name, reason in look(listed).stuck:
        yield f"{name} can never run: {reason}"


def _commands(listed: TaskList) -> dict[str, list[str]]:
    """Each command with the tasks that it would prove."""
    found: dict[str, list[str]] = {}
    for task in listed.tasks:
        for name in task.verify:
            found.setdefault(name, []).append(task.id or cut(task.title, 40))
    return found


def _as_json(task: Task) -> dict[str, object]:
    return {
        "id": task.id,
        "title": task.title,
        "done": task.done,
        "verify": list(task.verify),
        "depends_on": list(task.depends_on),
        "needs_human": task.needs_human,
    }

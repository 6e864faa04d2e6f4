"""The command `new`: a folder with a task list, its notes and the prompt that starts the agent."""

from __future__ import annotations

import argparse
import os
import re
import sys

from ralphloop.cli.draft import Draft, from_text
from ralphloop.cli.here import here
from ralphloop.cli.output import say, say_json
from ralphloop.domain.prompt import cut
from ralphloop.errors import UserError
from ralphloop.store import files

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "RALPH_PROMPT.md")
PROGRESS = "Status: NOT_STARTED\nIteration: 1\n\nNotes:\n"
NO_GOAL = "Work through the list of features below until every one of them works."
STDIN = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="letters, digits, dot, dash, underscore")
    parser.add_argument(
        "--goal", metavar="TEXT", help="what it is all for, put at the head of the prompt (- reads stdin)"
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a feature_list.json or a Markdown list to begin with (- reads stdin)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = """\
examples:
  ralphloop new shop
  ralphloop new shop --goal 'A web shop with a cart' --from ideas.md
  printf '%s\\n' '- Log in' '- Log out' | ralphloop new shop --from -
"""


def run(args: argparse.Namespace) -> int:
    _must_be_name(args.name)
    if args.goal == STDIN and args.source == STDIN:
        raise UserError("stdin can be the goal or the list, not both; put one of them into a file.")
    root = here().project
    _must_be_free(root, args.name)
    draft = from_text(*_read(args.source)) if args.source else Draft()
    goal = sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if args.goal == STDIN else args.goal
    folder = make(root, args.name, draft.text, goal=goal or "")
    _tell(args, os.path.relpath(folder), draft=draft)
    return 0


def make(root: str, name: str, features: str, *, goal: str) -> str:
    """The folder of a new list."""
    _must_be_name(name)
    folder = _must_be_free(root, name)
    goal = os.fsencode(goal).decode("utf-8", "surrogateescape") if goal else NO_GOAL
    texts = {
        "RALPH_PROMPT.md": prompt_text(name, goal),
        "progress.txt": PROGRESS,
        "feature_list.json": features,
    }
    # not among the loops: a folder with a list in it is one of them, whatever it is called
    files.build_folder(folder, texts, beside=os.path.join(root, ".ralph"))
    return folder


def _must_be_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be a loop's name: 1 to 64 letters, digits, dots, dashes or underscores, "
            "a letter or digit first."
        )


def _must_be_free(root: str, name: str) -> str:
    folder = os.path.join(root, ".ralph", "loops", name)
    if not files.inside(os.path.join(root, ".ralph"), root) or not files.inside(folder, root):
        raise UserError(
            f"{folder} would lie outside of the project, because of a link; remove the link first."
        )
    if os.path.lexists(folder):
        raise UserError(f"{folder} exists already; choose another name, or `ralphloop start {name}`.")
    return folder


def _read(path: str) -> tuple[str, str]:
    """The name and text of what the list is made from."""
    if path == STDIN:
        data, name = sys.stdin.buffer.read(), "stdin"
    else:
        name = path
        with open(path, "rb") as file:
            data = file.read()
    try:
        return name, data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 text (byte {error.start}); convert it first.") from None


def prompt_text(name: str, goal: str) -> str:
    """The template filled in; the goal last, so that nothing inside it is taken for a marker."""
    place = f".ralph/loops/{name}/"
    text = files.read_text(TEMPLATE) or ""
    values = {"name": name, "list": place + "feature_list.json", "progress": place + "progress.txt"}
    for marker, value in values.items():
        text = text.replace("{{" + marker + "}}", value)
    return text.replace("{{goal}}", goal)


def _tell(args: argparse.Namespace, folder: str, *, draft: Draft) -> None:
    count = draft.total
    fill = f"write its features into {folder}/feature_list.json"
    start = f"ralphloop start {args.name}"
    if args.json:
        say_json({"name": args.name, "folder": folder, "features": count, "next": start if count else fill})
        return
    many = "1 feature" if count == 1 else f"{count} features"
    say(f"Created {folder} with {many}." if count else f"Created {folder} with an empty list.")
    for line in draft.odd:
        say(f"! no check, because it is not one command in backticks: {cut(line, 60)}")
    begin = f"`ralphloop run {args.name}`, or `{start}` for a session of yours"
    say(f"Next: {begin}" if count else f"Next: {fill}, then {begin}")

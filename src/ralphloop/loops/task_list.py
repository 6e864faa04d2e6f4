"""Task lists before there is a loop: a new one out of what the person has, one for a goal, a look at one."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop.domain import jsontext, prompt
from ralphloop.domain.model import Task, TaskList
from ralphloop.engine.words import command
from ralphloop.errors import UserError
from ralphloop.loops import doubt
from ralphloop.loops.doubt import LABEL
from ralphloop.loops.place import MARKS, Place, choose
from ralphloop.loops.result import Result
from ralphloop.loops.spec import wording
from ralphloop.spelling import near
from ralphloop.store import files
from ralphloop.tasklists import boxes, feature_list, markdown
from ralphloop.tasklists.markdown import Line
from ralphloop.tasklists.registry import own_file, traits
from ralphloop.tasklists.source import Source
from ralphloop.views import json_slip
from ralphloop.views.fold import COLUMNS, bounded, shown

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "RALPH_PROMPT.md")
PROGRESS = "Status: NOT_STARTED\nIteration: 1\n\nNotes:\n"
GO_THERE = (
    "change to your project's folder first (`mkdir my-project && cd my-project` makes one), "
    "or say `--here` if you mean it"
)
NO_GOAL = "Work through the list of features below until every one of them works."
BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX])\](?:[ \t]+|$))?(?P<text>.*)")
# what is meant as an item and lacks its space or its dash; `*Note* …` is emphasis, `[x]: …` a link
_WORD = r"(?:[^\W\d_]|[\[`\"'])"
_ALMOST = re.compile(
    rf"(?P<mark>[-+](?=\*\*|{_WORD})|\*(?={_WORD}[^*]*$)|\d{{1,9}}[.)](?=\*\*|{_WORD}))(?P<text>.+)"
)
_NO_DASH = re.compile(r"(?:\[(?P<box>[ xX]?)\](?![(\[:])|[•◦▪‣·])[ \t]*(?P<text>\S.*)")


def new(
    place: Place, name: str, *, goal: str = "", source: tuple[str, bytes] | None = None, here: bool = False
) -> Result:
    """A folder with a task list, its notes and the prompt that starts the agent; `source` is the name and the
    content of a feature_list.json or of a Markdown list to begin with. `here` makes it in this very folder,
    and not in the project around it."""
    draft = from_text(source[0], decoded(*source)) if source is not None else Draft()
    root, why = _site(place, here=here)
    folder = os.path.relpath(make(root, name, draft.text, goal=goal), place.cwd)
    fill, begin = f"write its tasks into {folder}/feature_list.json", f"ralphloop start {name}"
    count = len(draft.listed.tasks)
    many = prompt.count(count, "task")
    told = [f"Created {folder} with {many}." if count else f"Created {folder} with an empty list.", *why]
    looked = doubt.look(root, draft.listed, {"list": draft.text}, env=place.env)
    odd = (*draft.slips, *looked.doubts)
    told += [f"! {each}" for each in odd]
    told += list(_mend(name, folder, source[0] if source and draft.slips else "", is_odd=bool(looked.doubts)))
    run = f"`ralphloop run {name}`, or `{begin}` for a session of yours"
    told.append(f"Next: {run}" if count else f"Next: {fill}, then {run}")
    facts = {"name": name, "folder": folder, "features": count, "next": begin if count else fill}
    return Result({**facts, "doubts": list(odd)}, tuple(told))


def _mend(name: str, folder: str, slipped: str, *, is_odd: bool) -> Iterator[str]:
    """Where to put right what is doubtful: lines that slipped in the file that they are in."""
    if slipped:
        yield f"Mend {slipped} and make the list anew: `rm -r {shlex.quote(folder)}`, then the same command."
    if is_odd:
        yield f"Mend that in {folder}/feature_list.json; `ralphloop plan --show {name}` looks again."


def plan(place: Place, goal: str, *, name: str | None = None, here: bool = False) -> Result:
    """An empty list for a goal; who plans writes the tasks into it."""
    if not goal.strip():
        raise UserError("plan needs a goal: `ralphloop plan 'what is to be built'`; --show shows a list.")
    root, why = _site(place, here=here)
    known = files.names(os.path.join(root, ".ralph", "loops"))
    name = name or wording.free_name(wording.slug(goal) or "plan", known)
    folder = os.path.relpath(make(root, name, Draft().text, goal=goal), place.cwd)
    listed = os.path.join(folder, "feature_list.json")
    look_at = f"{command(place.env)} plan --show {name}"
    told = (
        f"Created {folder} for this goal; its list is empty.",
        *why,
        f"Write the tasks into {listed}, then look at it: `{look_at}`",
    )
    return Result({"name": name, "folder": folder, "list": listed, "next": look_at}, told)


def show_plan(place: Place, name: str | None = None) -> Result:
    """A list with its commands and what is doubtful about it, before it is started."""
    source = choose(place, name)
    listed, texts = doubt.read(source, cannot="cannot be read")
    odd = [] if listed.tasks else ["there are no tasks yet"]
    odd += doubt.look(source.root, listed, texts, env=place.env).doubts
    facts = {
        "name": source.name,
        "tasks": [_facts(task) for task in listed.tasks],
        "verify": list(listed.verify),
        "doubts": odd,
    }
    layout = traits(source.layout)
    inside = place.session is not None and not layout.action
    begin = f"{layout.typed('start') if inside else 'ralphloop start'} {source.name}"
    told = [_heading(source, len(listed.tasks), cwd=place.cwd)]
    told += [line for task in listed.tasks for line in _lines(task)]
    told += ["the list's own check, run at the end:"] if listed.verify else []
    told += list(_commands_shown(listed.verify))
    told += [f"! {each}" for each in odd]
    told += [
        "",
        f"Nothing is started. `{begin}` shows these commands again and asks before any of them may run.",
    ]
    return Result(facts, tuple(told))


def must_be_new(place: Place, name: str, *, here: bool = False) -> None:
    """Refuse a name that is taken, and a place that is no project, before anything is read for it."""
    _must_be_free(_site(place, here=here)[0], name)


def must_be_list(source: tuple[str, bytes]) -> None:
    """Refuse what no list can be made from."""
    from_text(source[0], decoded(*source))


def _site(place: Place, *, here: bool) -> tuple[str, list[str]]:
    """The project that gets a new list, and why it is that one if it is not where the person stands."""
    root, cwd = place.project, os.path.realpath(place.cwd)
    if here:
        return cwd, []
    mark = next((mark for mark in MARKS if os.path.exists(os.path.join(root, mark))), "")
    because = f", because it has {mark}" if mark else ""
    wide = _too_wide(root, place.env)
    if wide:
        cure = GO_THERE if root == cwd else "with `--here` it is made in this folder"
        where = f"{root}, {wide}{because}"
        raise UserError(f"the list would go into {where}, and everything below would belong to it; {cure}.")
    told = f"The project is {root}{because}; `--here` makes a list in this folder instead."
    return root, [told] if root != cwd else []


def _too_wide(root: str, env: Mapping[str, str]) -> str:
    """What a folder is that holds everything of a person or of the machine; empty for any other."""
    if root == os.path.dirname(root):
        return "the root of the file system"
    return "your home folder" if root == os.path.realpath(env.get("HOME") or os.sep) else ""


def read(path: str) -> tuple[str, bytes]:
    """The name and content of a file to make a list from."""
    try:
        with open(path, "rb") as file:
            return path, file.read()
    except IsADirectoryError:
        held = [name for name in sorted(os.listdir(path)) if name.endswith((".md", ".json"))]
        such = f", such as {os.path.join(path, held[0])}" if held else ""
        raise UserError(f"{path} is a folder; name the file with the list in it{such}.") from None
    except FileNotFoundError:
        raise UserError(_missing(path)) from None


def _missing(path: str) -> str:
    """A file that is not there, and what may be meant."""
    folder, name = os.path.split(path)
    if folder and not os.path.isdir(folder):
        return f"there is no folder {folder}, and so no {path}; look at the path, or change the folder."
    said = f"there is no file {name} in {folder or 'this folder'}"
    close = near(name, os.listdir(folder or ".")[:1000])
    if close:
        return f"{said}; did you mean {os.path.join(folder, close[0])}?"
    return f"{said}; look at its name, or leave --from out for an empty list."


def make(root: str, name: str, features: str, *, goal: str) -> str:
    """The folder of a new list."""
    must_be_name(name)
    if not os.path.isdir(root):
        raise UserError(f"there is no folder {root}; make the project first.")
    folder = _must_be_free(root, name)
    goal = goal or NO_GOAL
    texts = {
        "RALPH_PROMPT.md": prompt_text(name, goal),
        "progress.txt": PROGRESS,
        "feature_list.json": features,
    }
    # not among the loops: a folder with a list in it is one of them, whatever it is called
    files.build_folder(folder, texts, beside=os.path.join(root, ".ralph"))
    return folder


def must_be_name(name: str) -> None:
    if not NAME.fullmatch(name):
        close = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:64]
        such = f", such as `{close}`" if NAME.fullmatch(close) else ""
        raise UserError(
            f"{name!r} cannot be a loop's name: 1 to 64 letters, digits, dots, dashes or underscores, "
            f"a letter or digit first{such}."
        )


def _must_be_free(root: str, name: str) -> str:
    folder = os.path.join(root, ".ralph", "loops", name)
    if not files.inside(os.path.join(root, ".ralph"), root) or not files.inside(folder, root):
        raise UserError(
            f"{folder} would lie outside of the project, because of a link; remove the link first."
        )
    if os.path.lexists(folder):
        told = f"edit its list, `ralphloop run {name}` it, remove that folder to make it anew"
        raise UserError(f"{folder} exists already: {told}, or choose another name.")
    return folder


def prompt_text(name: str, goal: str) -> str:
    """The template filled in; the goal last, so that nothing inside it is taken for a marker."""
    place = f".ralph/loops/{name}/"
    text = files.read_text(TEMPLATE) or ""
    values = {"name": name, "list": place + "feature_list.json", "progress": place + "progress.txt"}
    for marker, value in values.items():
        text = text.replace("{{" + marker + "}}", value)
    return text.replace("{{goal}}", goal)


def _heading(source: Source, count: int, *, cwd: str) -> str:
    """A list's name and size, and where it stands if a row has room for that."""
    said, own = f"{source.name}: {prompt.count(count, 'task')} in ", own_file(source)
    whole = said + os.path.relpath(own, cwd)
    return whole if len(whole) <= COLUMNS else said + os.path.basename(own)


def _lines(task: Task) -> Iterator[str]:
    """A task, and below it its commands, to be copied."""
    needs = f" (after {shown(', '.join(task.depends_on), 200)})" if task.depends_on else ""
    name = shown(task.id or "-")
    yield f"{'✓' if task.done else '·'} {name}  {shown(task.title, 100)}{needs}"
    if task.needs_human:
        yield f"    asks you: {shown(task.needs_human, 100)}"
    yield from _commands_shown(task.verify)


def _commands_shown(verify: Sequence[str]) -> Iterator[str]:
    for line in "\n".join(verify).split("\n") if verify else ():
        yield f"    $ {line}"


def _facts(task: Task) -> dict[str, object]:
    return {
        "id": task.id,
        "title": task.title,
        "done": task.done,
        "verify": list(task.verify),
        "depends_on": list(task.depends_on),
        "needs_human": task.needs_human,
    }


class Draft(NamedTuple):
    text: str = '{\n  "features": []\n}\n'
    listed: TaskList = TaskList([])
    slips: tuple[str, ...] = ()  # lines that are no item for want of a space or a dash


def from_text(name: str, text: str) -> Draft:
    if _is_json(name, text):
        try:
            return Draft(text, feature_list.parse({"list": text}))
        except ValueError as error:
            raise UserError(json_slip.told(name, text, f"{name} cannot be used: {error}") + ".") from None
    found = from_markdown(text)
    if not found:
        if not text.strip("\ufeff \t\r\n"):
            raise UserError(
                f"{name} is empty, so nothing is to be done; write a line such as `- Log in` for each task."
            )
        why = next(_slips(text), "each top-level line such as `- Log in` becomes a task")
        raise UserError(f"{name} has no list: {why}.")
    slips = tuple(bounded(list(_slips(text, of=f" of {name}"))))
    text = json.dumps({"features": found}, indent=2, ensure_ascii=False) + "\n"
    return Draft(text, feature_list.parse({"list": text}), slips)


def decoded(name: str, data: bytes) -> str:
    """The text of such a file."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{name} is UTF-16 and not UTF-8 text; save it as UTF-8 first.")
    if b"\0" in data:
        raise UserError(f"{name} is no text, but a binary file; save it as Markdown or JSON.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 text (byte {error.start}); convert it first.") from None


def _is_json(name: str, text: str) -> bool:
    start = text[jsontext.opening(text) :][:1]
    if name.endswith(".json") or start == "{":
        return True
    if start != "[":
        return False
    try:
        jsontext.parse(text)
    except ValueError:
        return False  # Markdown may begin with a link
    return True


def from_markdown(text: str) -> list[dict[str, Any]]:
    """Each top-level item as a feature; the items below it are its steps, or checks if they say `Verify:` and
    then one code span; wrapped lines belong above."""
    lines = [line for line in markdown.lines(text) if line.text]
    items = {at: item for at, line in enumerate(lines) if (item := _item(line))}
    top = min((lines[at].indent for at in items), default=0)
    found: list[dict[str, Any]] = []
    inside = False
    for at, line in enumerate(lines):
        this = items.get(at)
        if this and line.indent == top:
            found.append(_feature(len(found) + 1, this))
            inside = True
        elif line.indent <= top:
            inside = False  # a heading or a paragraph
        elif inside and not line.quoted and (command := boxes.command(line)):
            found[-1].setdefault("verify", []).append(command)
        elif inside and (this or (LABEL.match(line.text) and not line.quoted)):
            found[-1]["steps"].append((this["text"] if this else line.text).strip())
        elif inside:
            _wrap(found[-1], line)
    return found


def _item(line: Line) -> re.Match[str] | None:
    found = None if line.quoted else BULLET.fullmatch(line.text)
    return found if found and found["text"].strip() else None


def _slips(text: str, *, of: str = "") -> Iterator[str]:
    for number, line in enumerate(markdown.lines(text), 1):
        lacks, meant = ("", "") if line.quoted else _meant(line.text)
        if meant:
            why = f"is read as text, because a {lacks} is missing"
            yield f'"{shown(line.text)}" in line {number}{of} {why}: write "{shown(meant)}"'


def _meant(text: str) -> tuple[str, str]:
    """What a line lacks to be an item, and the item; empty for any other line."""
    almost = _ALMOST.fullmatch(text)
    if almost:
        return "space", f"{almost['mark']} {almost['text']}"
    bare = _NO_DASH.fullmatch(text)
    if not bare:
        return "", ""
    box = "" if bare["box"] is None else f"[{bare['box'] or ' '}] "
    return "dash", f"- {box}{bare['text']}"


def _feature(number: int, item: re.Match[str]) -> dict[str, Any]:
    done = (item["box"] or "").lower() == "x"
    return {"id": f"F{number}", "description": item["text"].strip(), "steps": [], "passes": done}


def _wrap(feature: dict[str, Any], line: Line) -> None:
    joint = "\n" if line.quoted else " "
    if feature["steps"]:
        feature["steps"][-1] += joint + line.text
    else:
        feature["description"] += joint + line.text

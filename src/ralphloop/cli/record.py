"""The command `record`: keep the stops of this project, look at them, make a case of one."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ralphloop.cli.here import UNDER_WAY, Here, here
from ralphloop.cli.output import say, say_json
from ralphloop.cli.person import require_person
from ralphloop.cli.setup import look
from ralphloop.domain.model import LAYOUTS
from ralphloop.domain.plain import plain
from ralphloop.errors import BusyError, UserError
from ralphloop.store import records
from ralphloop.store.shelf import Shelf

ACTIONS = ("on", "off", "list", "show", "case", "clear")
TAIL_SHOWN, LINE_SHOWN = 12, 300


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("which", metavar="N|FILE", nargs="?", help="a record, for show and case")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the case there instead of stdout")
    parser.add_argument("--json", action="store_true", help="print JSON (on, off, list, show, clear)")
    parser.epilog = """\
examples:
  ralphloop record on
  ralphloop record list
  ralphloop record show 12
  ralphloop record case 12 --out conformance/cases/recorded/lost-claim.toml
  ralphloop record off
  ralphloop record clear

A record holds text of the conversation; secrets in it are masked as far as they can be known. Only your own
account can read it. The newest 100 of each loop are kept, 32 MB at most.
"""


def run(args: argparse.Namespace) -> int:
    place = here(writes=False)
    require_person(place.env, "what is recorded")
    if (args.which is not None) is not (args.action in ("show", "case")):
        wants = "needs the number of a record" if args.which is None else "takes no number"
        raise UserError(f"`record {args.action}` {wants}; `ralphloop record list` shows them.")
    if args.out is not None and args.action != "case":
        raise UserError("--out is for `record case`.")
    if args.action in ("on", "off"):
        _switch(place, on=args.action == "on", as_json=args.json)
    elif args.action == "list":
        _list(place, as_json=args.json)
    elif args.action == "clear":
        _clear(place, as_json=args.json)
    elif args.action == "show":
        _show(place, args.which, as_json=args.json)
    else:
        _case(place, args.which, out=args.out)
    return 0


def _switch(place: Here, *, on: bool, as_json: bool) -> None:
    chosen = _project(place)
    changed = [chosen] if on else [each for each in place.shelves if each.records_stops]
    for each in changed:
        records.switch(each, on=on)
    if as_json:
        return say_json({"recording": on, "project": chosen.root, "folder": chosen.kept("")})
    if not on:
        told = [f"stops in {each.root} are no longer recorded; what was recorded stays." for each in changed]
        return say(*told or ["recording was off."])
    if not any(look(place, chosen.root).serves(layout) for layout in LAYOUTS):
        say("! No session here gets our Stop hook yet: `ralphloop install`, `ralphloop run` or a plugin.")
    return say(
        f"every stop of a loop in {chosen.root} is recorded from now on, below {chosen.kept('')}",
        "Records hold text of the conversation; what is known to be secret is masked. `ralphloop record off`",
        "ends it, `ralphloop record clear` removes them.",
    )


def _project(place: Here) -> Shelf:
    """The project whose loops or lists are seen from here: in a worktree that may be the main checkout."""
    roots = [loop.record.root for loop in place.loops(*UNDER_WAY)]
    roots += [source.root for source in place.sources()]
    return Shelf(roots[0] if roots else place.project, place.env)


def _list(place: Here, *, as_json: bool) -> None:
    from ralphloop.cli import replay

    rows = []
    for one in replay.kept(place):
        try:
            rows.append(_row(one.number, replay.checked(records.load(one), str(one.number))))
        except (ValueError, OSError, UserError):
            rows.append({"number": one.number, "loop": one.loop, "answer": "cannot be read"})
    on = [each.root for each in place.shelves if each.records_stops]
    if as_json:
        return say_json({"recording": on, "records": rows})
    say(f"recording is on in {', '.join(on)}" if on else "recording is off; `ralphloop record on` begins it")
    for row in rows:
        say(plain(_line(row)))
    return None


def _row(number: int | str, record: Mapping[str, Any]) -> dict[str, Any]:
    from ralphloop.cli.recorded_case import Said

    said = Said.of(record["answer"])
    kind = "continue" if said.blocks or said.context else "allow"
    if record["answer"]["broken"]:
        kind = "none: a bug"
    return {
        "number": number,
        "at": record["at"],
        "session": record["session"],
        "loop": record["loop"],
        "left_alone": record["left_alone"],
        "answer": kind,
        "rule": record["rule"],
        "task": record.get("task") or "",
        "outcome": record.get("outcome"),
        "duration_ms": record["duration_ms"],
        "version": record["version"],
    }


def _line(row: Mapping[str, Any]) -> str:
    if "at" not in row:
        return f"{row['number']:>4}  {row['loop']}: {row['answer']}"
    why = row["outcome"] or row["task"] or row["rule"]
    loop = row["loop"] or "(left alone)"
    session = (row["session"] or "-")[:8]
    return (
        f"{row['number']:>4}  {row['at']}  {session:<8}  {loop}  {row['answer']}{f' ({why})' if why else ''}"
    )


def _show(place: Here, which: str, *, as_json: bool) -> None:
    from ralphloop.cli import replay

    record = replay.load(place, which)
    if as_json:
        return say_json(record)
    head = (_line(_row(which, record)), f"registration {record['registration']}, {record['duration_ms']} ms")
    say(*map(plain, (*head, "", *_inside(record))))
    return None


def _inside(record: Mapping[str, Any]) -> Iterator[str]:
    for name in ("env", "payload"):
        yield f"{name}:"
        yield from (f"  {key} = {json.dumps(value)}" for key, value in record[name].items())
    yield "files:"
    for front, name in (("", "files"), ("~/", "home")):
        yield from (f"  {front}{path} ({len(text)} characters)" for path, text in record[name].items())
    yield from (f"  {path}: left out, {why}" for path, why in record["left_out"].items())
    yield from _proof(record)
    lines = record["transcript"]["new"].splitlines()
    yield f"transcript since the last stop: {len(lines)} lines" + (", the last of them:" if lines else "")
    yield from ("  " + line[:LINE_SHOWN] for line in lines[-TAIL_SHOWN:])
    answer = record["answer"]
    yield "answer:"
    yield "  " + (answer["stdout"] or answer["stderr"] or "(silence)")


def _proof(record: Mapping[str, Any]) -> Iterator[str]:
    """The commands that were approved, and what the checks came to."""
    if record["approved"]:
        yield "approved:"
        yield from ("  $ " + command for command in record["approved"])
    if record["checks"]:
        yield "checks:"
    for found in record["checks"]:
        for task, (verdict, *more) in found["verdicts"].items():
            yield f"  {task}: {verdict}" + "".join(f", {text}" for text in more[:2] if text)


def _case(place: Here, which: str, *, out: Path | None) -> None:
    from ralphloop.cli import recorded_case, replay

    record = replay.load(place, which)
    replay.parse_case(record)
    text = recorded_case.text_of(recorded_case.as_case(record), record)
    if out is None:
        print(text, end="")
        return None
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with out.open("x", encoding="utf-8") as file:  # never through a link, never over a file
            file.write(text)
    except FileExistsError:
        raise UserError(f"{out} is there already; name another file.") from None
    if record["checks"]:
        say('! Checks ran at this stop; a case approves none, unless a step does: run = ["approve", "--yes"]')
    suites = [folder.parent for folder in out.parents if folder.name == "cases"]
    told = f"{out}: edit `expect` into what should have come out"
    if not suites:
        return say(f"{told}, and move it into the folder `cases` of a suite.")
    line = ("ralphloop", "conformance", "--cases", str(suites[-1]), "--only", "*" + out.name)
    return say(f"{told}, then play it:", f"  {shlex.join(line)}")


def _clear(place: Here, *, as_json: bool) -> None:
    try:
        count = sum(records.clear(each) for each in place.shelves)
    except BusyError:
        raise UserError("a stop is being recorded right now; try again in a moment.") from None
    if as_json:
        return say_json({"removed": count})
    return say(f"{count} records removed.")

"""A recorded stop as a case of the conformance suite: the same values, and their text as TOML."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ralphloop.domain.model import PROJECT_VARIABLE, SESSION_VARIABLE
from ralphloop.domain.prompt import TURNS, plain
from ralphloop.errors import CaseError, UserError
from ralphloop.hook.recording import variables
from ralphloop.hook.stop_files import HOME, ROOT
from ralphloop.lab.conformance.case import Case, parse
from ralphloop.lab.conformance.scene import BYTES, in_texts
from ralphloop.loops.place import Place, require_person
from ralphloop.loops.result import Result
from ralphloop.loops.stop_record import WHAT, Said, load_record
from ralphloop.proof.mask import MASKED
from ralphloop.tasklists.registry import LAYOUTS, traits

LOG = ".claude/projects/recorded/session.jsonl"  # where a case has the transcript, below the home
SHORTEST_ID = 16  # a shorter session id might stand in any text
# What a case's payload has by itself, so that it must be told to leave out.
USUAL = (
    "session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "hook_event_name", "effort",
    "background_tasks", "session_crons", "stop_hook_active", "last_assistant_message",
)  # fmt: skip
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{TURNS}]")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_OWNED = re.compile(r"/@ralph/owned/(?P<session>[^/%]+)\.json$")


class Made(NamedTuple):
    """The text of a new case, and whether checks ran at its stop."""

    text: str
    checks_ran: bool


def make(place: Place, which: str) -> Made:
    """A case of the record of this number, or in this file."""
    require_person(place.env, WHAT)
    record = load_record(place, which)
    parse_case(record)
    return Made(text_of(as_case(record), record), bool(record["checks"]))


def write(made: Made, out: Path) -> Result:
    """The case as a new file, and how to go on with it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with out.open("x", encoding="utf-8") as file:  # never through a link, never over a file
            file.write(made.text)
    except FileExistsError:
        raise UserError(f"{out} is there already; name another file.") from None
    unapproved = "! Checks ran at this stop; a case approves none, unless a step does: "
    told = [unapproved + 'run = ["approve", "--yes"]'] if made.checks_ran else []
    return Result({"case": str(out)}, (*told, *_next_steps(out)))


def _next_steps(out: Path) -> list[str]:
    suites = [folder.parent for folder in out.parents if folder.name == "cases"]
    told = f"{out}: edit `expect` into what should have come out"
    if not suites:
        return [f"{told}, and move it into the folder `cases` of a suite."]
    line = ("ralphloop", "conformance", "--cases", str(suites[-1]), "--only", "*" + out.name)
    return [f"{told}, then play it:", f"  {shlex.join(line)}"]


def parse_case(record: Mapping[str, Any]) -> Case:
    """The case as the suite reads it."""
    try:
        return parse(as_case(record), file="record")
    except (CaseError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"the record is damaged ({error}); take another one.") from None


def as_case(record: Mapping[str, Any], *, title: str = "") -> dict[str, Any]:
    """The values of a case that lays out what the record holds and expects what was answered."""
    named = named_sessions(record)
    known = _renamed(dict(record), named)
    home = {path: _unread(path, text) for path, text in known["home"].items()}
    home[LOG] = known["transcript"]["new"]
    files = {path: _unread(path, text) for path, text in known["files"].items()}
    step = _step(known)
    if step.get("cwd") and not any(path.startswith(step["cwd"] + "/") for path in files):
        files[step["cwd"] + "/.keep"] = ""
    return {
        "title": title or f"The stop of {known['at']} is answered as it was recorded",
        "stands_for": ["spec 4"],
        "layout": known["layout"],
        "needs": ["ralphloop"],
        "recorded_at": known["at"],
        "owner": "",
        "files": _bytes_kept(files),
        "home": _bytes_kept(home),
        "step": [step],
    }


def named_sessions(record: Mapping[str, Any]) -> dict[str, str]:
    """Session id -> the mark that stands for it; A is the one that stopped."""
    own = record["session"] or ""
    others = [found["session"] for path in record["home"] if (found := _OWNED.search(path))]
    wanted = [one for one in dict.fromkeys([own, *sorted(others)]) if len(one) >= SHORTEST_ID]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if own not in wanted:
        letters = letters[1:]
    return {one: f"@{letter}@" for one, letter in zip(wanted, letters, strict=False)}


def _renamed(value: Any, named: Mapping[str, str]) -> Any:
    def rename(text: str) -> str:
        for session, mark in named.items():
            text = text.replace(session, mark)
        return text

    return in_texts(rename, value)


def answered(record: Mapping[str, Any]) -> Said:
    """The recorded answer, with marks for sessions."""
    return Said.of(_renamed(record["answer"], named_sessions(record)))


def _unread(path: str, text: str) -> str:
    """A loop's state must not say that a part of the transcript was read: the case has only what was new."""
    return re.sub(r'("transcript_end": )\d+', r"\g<1>0", text) if path.endswith("/loop.json") else text


def _bytes_kept(files: Mapping[str, str]) -> dict[str, str]:
    return {path: _as_text(text) for path, text in files.items()}


def _as_text(text: str) -> str:
    """The text as a case can hold it: it would lose a line break at its start, and has no bytes that are no
    UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return BYTES + base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()
    return "\n" + text if text.startswith("\n") else text


def _step(known: Mapping[str, Any]) -> dict[str, Any]:
    payload = {key: value for key, value in known["payload"].items() if value is not None}
    payload["transcript_path"] = f"{HOME}/{LOG}"
    step: dict[str, Any] = {"calls": [], "payload": payload}
    without = [name for name in USUAL if name not in payload]
    cwd = str(payload.get("cwd", ROOT))
    if without:
        step["without"] = without
    if cwd.startswith(ROOT + "/"):
        step["cwd"] = cwd[len(ROOT) + 1 :]
    env = {name: known["env"][name] for name in variables() if name in known["env"]}
    env.pop(SESSION_VARIABLE, None)
    if env.get(PROJECT_VARIABLE) == ROOT:
        del env[PROJECT_VARIABLE]
    if env:
        step["env"] = env
    plugins = {name: traits(name).plugin for name in LAYOUTS}
    if known["registration"] != plugins.get(known["layout"]):
        step["registration"] = known["registration"]
    step["expect"] = _expectation(known)
    return step


def _expectation(known: Mapping[str, Any]) -> dict[str, Any]:
    said, left_alone = Said.of(known["answer"]), known["left_alone"]
    if known["answer"]["broken"]:
        return {}
    found: dict[str, Any] = {"answer": _kind(said)}
    texts = {
        "reason_has": said.reason.partition("\n")[0],
        "message_has": said.message,
        "context_has": said.context.partition("\n")[0],
        "stderr_has": said.stderr,
    }
    for key, text in texts.items():
        steady = _steady(text, known["command"])
        if steady:
            found[key] = [steady]
    if left_alone and found["answer"] == "silent":
        found["unchanged"] = ["**"]
    return found


def _kind(said: Said) -> str:
    if said.blocks:
        return "block"
    if said.context:
        return "context"
    if said.message:
        return "message"
    return "allow" if said.stderr else "silent"


def _steady(text: str, command: str) -> str:
    """The part that does not tell where the program lies, nor hides a secret."""
    known = text.partition(command)[0] if command != "ralphloop" else text
    return known.partition(MASKED)[0].strip()


HEAD = """\
# A recorded stop (ralphloop {version}). The files and the transcript are as they were before it, with marks
# for paths and sessions, without known secrets; read it before you publish it. `expect` is what was answered
# then: if that was wrong, write there what should have come out, give the case a title that says it, and
# name in `stands_for` the clause behind it.
"""


def text_of(case: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """The case as a file."""
    parts = [HEAD.format(version=plain(record["version"]))]
    for path, why in record["left_out"].items():
        parts.append(f"# Not in the record: {plain(path)} ({plain(why)}).\n")
    if record["checks"]:
        parts.append("# Checks ran at this stop. In a case no check is approved, so none runs.\n")
    if record["seen"]:
        parts.append(
            "# The loop had seen its task file as it was. In a case every file is new, which is progress.\n"
        )
    tables = ("files", "home", "step")
    parts += [_row(key, value) for key, value in case.items() if key not in tables]
    for table in ("files", "home"):
        rows = [f"{_bare(path)} = {_long(text)}\n" for path, text in case[table].items()]
        parts.append(f"\n[{table}]\n" + "".join(rows))
    for step in case["step"]:
        parts.append("\n[[step]]\n" + _table(step, "step"))
    return "".join(parts)


def _table(values: Mapping[str, Any], name: str) -> str:
    """As TOML: the members of a table of this name, those that are tables themselves at the end."""
    below = {key: found for key, found in values.items() if isinstance(found, Mapping)}
    parts = [_row(key, found) for key, found in values.items() if key not in below]
    for key, found in below.items():
        parts.append(f"\n[{name}.{_bare(key)}]\n")
        parts += [_row(each, item) for each, item in found.items()]
    return "".join(parts)


def _row(key: str, found: Any) -> str:
    return f"{_bare(key)} = {_value(found)}\n"


def _bare(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else _quoted(key)


def _value(found: Any) -> str:
    """On one line; TOML knows no null, so members that are null are left out."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str):
        return _quoted(found)
    if isinstance(found, Mapping):
        members = [f"{_bare(key)} = {_value(item)}" for key, item in found.items() if item is not None]
        return "{ " + ", ".join(members) + " }" if members else "{}"
    if isinstance(found, Sequence):
        return "[" + ", ".join(_value(item) for item in found if item is not None) + "]"
    return repr(found)


def _long(text: str) -> str:
    """A text over its own lines, as it is where TOML allows that."""
    if "\n" not in text.rstrip("\n") and '"' not in text:
        return _quoted(text)
    if "'''" not in text and not text.endswith("'") and not _CONTROL.search(text):
        return f"'''\n{text}'''"
    return '"""\n' + _escaped(text) + '"""'


def _quoted(text: str) -> str:
    return '"' + _escaped(text).replace("\n", "\\n") + '"'


def _escaped(text: str) -> str:
    known = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", known)

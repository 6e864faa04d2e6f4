"""One loop's whole life, told for people, for scripts or as a page to keep."""

from __future__ import annotations

import json
import os
import shlex
import time
from typing import Any

from ralphloop.errors import UserError
from ralphloop.loops import exit_code
from ralphloop.loops.place import Place, pick, require_person
from ralphloop.loops.result import Result
from ralphloop.store import files
from ralphloop.views.report import Report, report_of
from ralphloop.views.report_html import html
from ralphloop.views.report_json import to_json
from ralphloop.views.report_text import markdown

SHAPES = ("md", "json", "html")


def report(place: Place, name: str | None = None, *, shape: str = "md", output: str | None = None) -> Result:
    """One loop's whole life, as text in one of the `SHAPES`, or written into a file; the exit code tells how
    the loop stands."""
    if shape not in SHAPES:
        raise UserError(f"a report cannot be {shape}; it can be: {', '.join(SHAPES)}.")
    if output is not None:
        require_person(place.env, "a file of your choice")
    found = report_of(pick(place, name), now=time.time(), env=place.env)
    code = exit_code.of(found.view.state, found.view.outcome, uncommitted=bool(found.view.uncommitted))
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
    if shape != "json":
        return markdown(report) if shape == "md" else html(report)
    # Bytes that were not UTF-8 become question marks, and all but ASCII is escaped.
    whole = json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace")
    return json.dumps(json.loads(whole), indent=2) + "\n"

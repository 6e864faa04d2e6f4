"""The command `report`: one loop's whole life, for people, for scripts or as a page to keep."""

from __future__ import annotations

import argparse
import json
import os
import time

from ralphloop.cli import exit_code
from ralphloop.cli.here import here, pick
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.errors import UserError
from ralphloop.store import files
from ralphloop.views.report import Report, report_of
from ralphloop.views.report_html import html
from ralphloop.views.report_json import to_json
from ralphloop.views.report_text import markdown

FORMATS = ("md", "json", "html")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a loop's name, id or the start of its id")
    parser.add_argument("--format", choices=FORMATS, default="md", help="how it is written (default: md)")
    parser.add_argument("--output", metavar="FILE", help="write it into this file")
    parser.epilog = f"""\
examples:
  ralphloop report
  ralphloop report shop --format html --output report.html
  ralphloop report shop --format json

{exit_code.TABLE}"""


def run(args: argparse.Namespace) -> int:
    place = here(writes=False)
    if args.output is not None:
        require_person(place.env, "a file of your choice")
    loop = pick(place, args.name)
    report = report_of(loop, now=time.time())
    code = exit_code.of(report.view.state, report.view.outcome)
    text = _rendered(report, args.format, code)
    if args.output is None:
        say(text.rstrip("\n"))
    else:
        path = os.path.abspath(args.output)
        if not os.path.isdir(os.path.dirname(path)):
            raise UserError(f"{os.path.dirname(path)} is no folder; --output needs one that is there.")
        files.write_text(path, text, mode=0o644)
        say(f"The report on {report.view.name} ({report.outcome}) is in {path}.")
    return code


def _rendered(report: Report, shape: str, code: int) -> str:
    if shape == "json":
        return _json({"exit_code": code, **to_json(report)})
    return markdown(report) if shape == "md" else html(report)


def _json(data: dict[str, object]) -> str:
    """Bytes that were not UTF-8 become question marks, and all but ASCII is escaped."""
    whole = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    return json.dumps(json.loads(whole), indent=2) + "\n"

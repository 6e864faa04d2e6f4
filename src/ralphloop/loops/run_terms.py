"""What a run is asked for: by options, by those of the run before on this loop, and by the settings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from ralphloop import config
from ralphloop.agents import trust
from ralphloop.agents.registry import client
from ralphloop.cli.output import complain
from ralphloop.config import Config
from ralphloop.domain import jsontext
from ralphloop.errors import UserError
from ralphloop.loops import run_branch
from ralphloop.loops.person import require_person
from ralphloop.loops.place import Here
from ralphloop.runner.session_start import program_at
from ralphloop.runner.terms import Terms
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.source import Source
from ralphloop.views.live.show import NO_RICH, why_plain

WIDE = ("auto", "bypassPermissions")
# what holds when `run` goes on with a loop and is not told otherwise
KEPT = ("agent", "batch", "context_limit", "fallback_model", "idle_timeout", "model", "permission_mode")


def of(args: argparse.Namespace, place: Here, *, source: Source, loop: LoopFiles | None, cwd: str) -> Terms:
    """An error says what is in the way; nothing is changed yet."""
    settings = config.load(source.root, place.env)
    for warning in settings.warnings:
        complain(warning)
    if loop is not None:
        _recall(loop, args)
    branch = run_branch.of(args, settings, place, source=source, loop=loop, cwd=cwd)
    terms = _terms(args, settings, branch=branch, env=place.env)
    must_be_allowed(terms, place.env)
    program = client(terms.agent).PROGRAM
    if program_at(program, place.env) is None:
        raise UserError(f"`{program}` is not on PATH; install it first.")
    _must_be_trusted(cwd, place.env)
    return terms


def must_be_allowed(terms: Terms, env: Mapping[str, str]) -> None:
    """No agent gives wider rights to the agents that it starts."""
    if terms.permission_mode in WIDE:
        require_person(env, f"the permission mode {terms.permission_mode}")


def _must_be_trusted(cwd: str, env: Mapping[str, str]) -> None:
    """A session without a terminal asks nobody whether a repository's programs may run."""
    found = trust.programs_in(cwd)
    if not found or trust.is_trusted(cwd, files.read_quietly(trust.known_to_client(env)) or ""):
        return
    names = ", ".join(os.path.relpath(path, cwd) for path in found)
    raise UserError(
        f"Claude Code would run what {names} says, and you have not told it to trust this folder: look at "
        "it, start `claude` here once and accept, then run again."
    )


def _terms(args: argparse.Namespace, settings: Config, *, branch: str, env: Mapping[str, str]) -> Terms:
    def said(name: str) -> Any:
        given = getattr(args, name)
        return settings.get(name) if given is None else given

    return Terms(
        agent=said("agent"),
        batch=said("batch"),
        model=said("model") or "",
        fallback_model=said("fallback_model") or "",
        permission_mode=said("permission_mode"),
        idle_s=said("idle_timeout"),
        context=said("context_limit") / 100,
        branch=branch,
        margin_s=settings.get("reset_margin"),
        backoff_s=settings.get("backoff"),
        stays=_has_view(args, env),
        detached=args.detach,
    )


def _has_view(args: argparse.Namespace, env: Mapping[str, str]) -> bool:
    """Whether the person has keys to go on with after a pause."""
    if args.plain or args.json or args.detach or not is_terminal(sys.stdin):
        return False
    why = why_plain(sys.stdout, env)
    if why == NO_RICH:
        complain(why)
    return not why


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def keep(loop: LoopFiles, args: argparse.Namespace) -> None:
    given = {name: getattr(args, name) for name in KEPT if getattr(args, name) is not None}
    files.make_folder(loop.kept)
    files.write_text(_place(loop), jsontext.render(given) + "\n")


def _recall(loop: LoopFiles, args: argparse.Namespace) -> None:
    try:
        before = jsontext.parse_object(files.read_quietly(_place(loop)) or "{}")
    except ValueError:
        return
    for name in KEPT:
        if getattr(args, name) is None:
            setattr(args, name, before.get(name))


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "run.json")

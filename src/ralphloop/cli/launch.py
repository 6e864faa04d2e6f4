"""Starts the client on a loop in this terminal, in place of this process."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import NoReturn

from ralphloop.agents import claude
from ralphloop.agents.presence import agent_in
from ralphloop.cli.here import Here
from ralphloop.cli.setup import PACKAGE
from ralphloop.domain import prompt
from ralphloop.domain.model import CANCELLED, ENDED
from ralphloop.engine.words import words_for
from ralphloop.errors import UserError
from ralphloop.store import files, tasks
from ralphloop.store.loop import LoopFiles

INTRODUCTION = "The loop's prompt:"  # a file of the project must not be taken for a command that was typed


def check(place: Here, *, as_json: bool) -> None:
    """Refuse before anything is armed."""
    client = agent_in(place.env)
    if client:
        raise UserError(f"--launch needs a terminal of your own, and this runs inside {client}.")
    if as_json:
        raise UserError("--launch hands the terminal to the client; leave out --json.")
    if shutil.which(claude.PROGRAM, path=place.env.get("PATH")) is None:
        raise UserError("`claude` is not on PATH; install Claude Code, or start without --launch.")


def replace(loop: LoopFiles, place: Here, *, settings: bool, permission_mode: str | None) -> NoReturn:
    """Become the client; `settings` brings our hooks along, for a session where nothing registers them."""
    hooks = json.dumps(claude.hook_settings(claude.hook_command(PACKAGE))) if settings else ""
    words = claude.argv(
        first_prompt(loop, place),
        session=loop.record.session or "",
        settings=hooks,
        permission_mode=permission_mode or "",
    )
    sys.stdout.flush()
    try:
        os.execvpe(words[0], words, dict(place.env))
    except OSError as error:
        state = loop.state()
        state.state, state.outcome, state.detail = ENDED, CANCELLED, "the client did not start"
        loop.rest(state)
        again = f"`ralphloop start {loop.record.name} --launch`"
        told = f"`claude` does not start ({error.strerror}); the loop is cancelled. Repair it, then {again}."
        raise UserError(told) from None


def first_prompt(loop: LoopFiles, place: Here) -> str:
    """The loop's own prompt, else what a stop would send first."""
    path = loop.record.paths.get("prompt", "")
    is_own = path and not files.leads_out(path, loop.record.root)
    text = files.read_quietly(path) if is_own else None
    if text and text.strip():
        if len(text.encode("utf-8", "surrogateescape")) > claude.PROMPT_MAX:
            return f"Read {path} and do what it says."
        return f"{INTRODUCTION}\n\n{text}" if text.lstrip().startswith("/") else text
    state = loop.state()
    words = words_for(loop, place.cwd, place.env)
    work = tasks.read_work(loop, state, now=time.time()).work
    if work is not None and work.phase != "execution":
        return prompt.phase(state, work)
    if work is None or not work.next:
        return f"Look at {words.list_path} and go on with it."
    return prompt.continuation(state, work, limit=int(loop.record.limits.iterations), words=words)

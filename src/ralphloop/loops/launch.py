"""The client on a loop in the terminal of whoever starts it: its command line and its first prompt."""

from __future__ import annotations

import json
import shutil
import time

from ralphloop.agents.presence import agent_in
from ralphloop.agents.registry import client, missing
from ralphloop.domain import prompt
from ralphloop.domain.model import CANCELLED, ENDED
from ralphloop.engine.words import words_for
from ralphloop.errors import UserError
from ralphloop.loops.place import Place, pick
from ralphloop.loops.setup import PACKAGE, look
from ralphloop.store import files, tasks
from ralphloop.store.loop import LoopFiles

INTRODUCTION = "The loop's prompt:"  # a file of the project must not be taken for a command that was typed


def must_be_possible(place: Place) -> None:
    """Refuse before anything is armed."""
    agent = agent_in(place.env)
    if agent:
        raise UserError(f"--launch needs a terminal of your own, and this runs inside {agent}.")
    program = client().program
    if shutil.which(program.PROGRAM, path=place.env.get("PATH")) is None:
        wrong, cure = missing(program, "--launch starts it")
        raise UserError(f"{wrong}; {cure}, or start without --launch.")


def words(place: Place, loop_id: str, *, permission_mode: str = "") -> list[str]:
    """The command line of the client on this loop; it brings our hooks along where nothing registers them."""
    loop = pick(place, loop_id)
    is_registered = look(place, loop.record.root).serves(loop.record.layout)
    program = client().program
    hooks = "" if is_registered else json.dumps(program.hook_settings(program.hook_command(PACKAGE)))
    return program.argv(
        first_prompt(loop, place),
        session=loop.record.session or "",
        settings=hooks,
        permission_mode=permission_mode,
    )


def failed(place: Place, loop_id: str, error: OSError) -> UserError:
    """The client did not start: the loop is over, and this is what to say."""
    loop = pick(place, loop_id)
    state = loop.state()
    state.state, state.outcome, state.detail = ENDED, CANCELLED, "the client did not start"
    loop.rest(state)
    again = f"`ralphloop start {loop.record.name} --launch`"
    wrong = f"`{client().program.PROGRAM}` does not start ({error.strerror})"
    return UserError(f"{wrong}; the loop is cancelled. Repair it, then {again}.")


def opening(place: Place, loop_id: str) -> list[str]:
    """What the session that has just begun a loop of its own goes on with; nothing for any other."""
    loop = pick(place, loop_id)
    is_own = place.session is not None and place.session == loop.record.session
    return ["", first_prompt(loop, place)] if is_own and not loop.record.unapproved else []


def first_prompt(loop: LoopFiles, place: Place) -> str:
    """The loop's own prompt, else what a stop would send first."""
    path = loop.record.paths.get("prompt", "")
    is_own = path and not files.leads_out(path, loop.record.root)
    text = files.read_quietly(path) if is_own else None
    if text and text.strip():
        if len(text.encode("utf-8", "surrogateescape")) > client().program.PROMPT_MAX:
            return f"Read {path} and do what it says."
        return f"{INTRODUCTION}\n\n{text}" if text.lstrip().startswith("/") else text
    state = loop.state()
    words = words_for(loop, place.cwd, place.env)
    work = tasks.read_work(loop, state, now=time.time()).work
    if work is not None and work.phase != "execution":
        return prompt.phase(state, work, written=tasks.is_written(loop.record, work), words=words)
    if work is None or not work.next:
        return f"Look at {words.list_path} and go on with it."
    return prompt.continuation(state, work, limit=int(loop.record.limits.iterations), words=words)

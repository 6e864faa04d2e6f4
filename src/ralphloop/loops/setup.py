"""The client as it is set up here: settings with our hooks, its cap, whether a loop can run, the interpreter
that the hook gets, and the launch on a loop."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ralphloop.agents.registration import CAP, Settings
from ralphloop.agents.registration import Setup as Setup
from ralphloop.agents.registry import agent_in, client, missing
from ralphloop.domain import prompt
from ralphloop.domain.limits import CLIENT_CAP, client_cap
from ralphloop.domain.model import CANCELLED, CAP_VARIABLE, ENDED
from ralphloop.engine.words import words_for
from ralphloop.errors import UserError
from ralphloop.loops.place import Place, pick
from ralphloop.proof import executable
from ralphloop.store import files, shelf, tasks
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file, traits
from ralphloop.tasklists.source import Source

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAP_RAISED = f"{CAP_VARIABLE} is {CAP}"
CAP_REPAIR = f"set it to {CAP}, or remove it"
INTRODUCTION = "The loop's prompt:"  # a file of the project must not be taken for a command that was typed


def look(place: Place, root: str = "") -> Setup:
    """What the client would load for a session in this folder; `root` is another one whose settings it reads,
    by default the project."""
    folders = (root or place.project, os.path.realpath(place.cwd))
    return client().registration.look(place.env, folders, files.read_text)


class Check(NamedTuple):
    """Something without which a loop may not run."""

    name: str
    fine: bool
    told: str
    fatal: bool = False


def require(place: Place, source: Source, *, launching: bool = False) -> list[Check]:
    """What is worth a line, of the cap only what is wrong with it; an error if a loop cannot run at all."""
    setup = look(place, source.root)
    cap = cap_in(place.env, setup.settings)
    checks = [_client(place), _hook(setup, source.layout, launching=launching), writable(source)]
    checks += [Check("cap", False, f"{cap_told(cap)}; {CAP_REPAIR}.")] if is_low(cap) else []
    for check in checks:
        if check.fatal:
            raise UserError(f"the loop could not run: {check.told}")
    return checks


def _client(place: Place) -> Check:
    program = client().program
    if place.session or shutil.which(program.PROGRAM, path=place.env.get("PATH")):
        return Check("client", True, f"{program.TITLE} is there.")
    return Check("client", False, "; ".join(missing(program)) + ".")


def _hook(setup: Setup, layout: str, *, launching: bool) -> Check:
    if setup.off is not None:
        return Check("hook", False, "hooks are off; remove `disableAllHooks` from your settings.", fatal=True)
    if setup.serves(layout):
        return Check("hook", True, "The Stop hook is registered.")
    if launching:
        return Check("hook", True, "The Stop hook is passed to the client.")
    ways = f"run `ralphloop install`, use --launch, or install the plugin {traits(layout).plugin}"
    return Check("hook", False, f"no session here gets the Stop hook: {ways}.")


def writable(source: Source) -> Check:
    near = os.path.relpath(own_file(source), source.root).split(os.sep)
    folder = client().registration.FOLDER
    if near[0] != folder:
        return Check("writable", True, "The agent may edit the list.")
    told = f"{client().program.TITLE} lets the agent edit nothing below {folder}/"
    return Check("writable", False, f"{told}: it claims tasks with `ralphloop done ID`.")


def cap_in(env: Mapping[str, str], settings: Iterable[Settings]) -> str:
    """The cap on blocked stops that the person set: after so many replies in a row without a tool the client
    ends the turn. In the settings that win, else in the environment; else empty."""
    found = env.get(CAP_VARIABLE, "")
    for each in settings:
        said = each.data.get("env")
        if isinstance(said, dict) and CAP_VARIABLE in said:
            found = str(said[CAP_VARIABLE])
    return found


def is_low(cap: str) -> bool:
    """Whether the client may end a turn before we would. Its own number lies above our limit on continuations
    without progress; a lower one may not. Only quick mode may go on for longer without a tool call; there the
    client's end is told and can be resumed."""
    return 0 < client_cap(cap) < CLIENT_CAP


def cap_told(cap: str) -> str:
    """What the cap means, as the rest of a sentence."""
    most = client_cap(cap)
    if most == 0:
        return f"{client().program.TITLE} never ends a turn of a loop by itself"
    ends = f"{client().program.TITLE} ends a turn after {most} replies in a row without a tool call"
    return f"{ends}, which is too early for a loop ({CAP_VARIABLE}={cap})" if is_low(cap) else ends


def real_python() -> str:
    """This Python without the links that lead to it; empty if it does not know where it is."""
    return os.path.realpath(sys.executable) if sys.executable else ""


def record_python(place: Place) -> None:
    """The shell guard starts this Python: the one on the client's PATH may be another, or none."""
    if not real_python():
        return
    folder = shelf.home(place.env)
    path, text = os.path.join(folder, "python"), real_python() + "\n"
    if files.read_quietly(path) != text:
        files.make_folder(folder)
        files.write_text(path, text)


def record_programs(place: Place) -> None:
    """What the hook starts by absolute path. Which git that is, only a person's own terminal says: an agent's
    PATH is the agent's."""
    record_python(place)
    if not agent_in(place.env):
        executable.record_git(place.cwd, place.env)


def record_again(place: Place) -> None:
    """The same where a person goes on with a loop: an earlier version, or another machine, knew no git."""
    if not agent_in(place.env):
        record_programs(place)


def git_trouble(place: Place) -> tuple[str, str]:
    """Why no git can be started here and what to do; empty if one can."""
    if os.access(executable.find_git(place.project, place.env), os.X_OK):
        return "", ""
    offered = next(executable.offered("git", place.env.get("PATH", "")), "")
    if not offered:
        return "there is no git on this machine: no tree is kept, and nothing is committed", "Install git"
    told = f"git is only on your PATH ({offered}) and not recorded, so the hook starts none"
    return told, "Run `ralphloop doctor --fix`, or start a loop in a terminal of your own: both record it"


def must_be_launchable(place: Place) -> None:
    """Refuse before anything is armed."""
    agent = agent_in(place.env)
    if agent:
        raise UserError(f"--launch needs a terminal of your own, and this runs inside {agent}.")
    program = client().program
    if shutil.which(program.PROGRAM, path=place.env.get("PATH")) is None:
        wrong, cure = missing(program, "--launch starts it")
        raise UserError(f"{wrong}; {cure}, or start without --launch.")


def command_line(place: Place, loop_id: str, *, permission_mode: str = "") -> list[str]:
    """Of the client on this loop in a terminal; it brings our hooks along where nothing registers them."""
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


def did_not_start(place: Place, loop_id: str, error: OSError) -> UserError:
    """The loop is over, and this is what to say."""
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

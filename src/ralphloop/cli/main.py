"""The command line's entry: picks a command, runs it, and turns whatever happens into an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NoReturn, Protocol

from ralphloop.cli.output import PROGRAM, Parser, complain, must_stand_behind, mute, needs_command, no_command
from ralphloop.errors import BusyError, UsageError, UserError
from ralphloop.store import files, shelf
from ralphloop.version import VERSION

FINE, EXPECTED, WRONG_USAGE, BUG, UNREAD = 0, 1, 2, 3, 141
# First word of a call from a plugin's prompt: the arguments are those that the prompt hook has kept. The
# client drops a prompt whose command fails, so what went wrong is said on stdout then, with exit code 0.
TYPED = "--typed"
USUAL = "status"  # the command where none is named

# heading -> name -> (module, one line of help), as `--help` shows them: what people use first comes first,
# the laboratory last. Only the chosen command's module is imported.
HEADINGS = {
    "begin": {
        "new": ("ralphloop.cli.new", "create a task list with its prompt"),
        "plan": ("ralphloop.cli.plan", "make an empty list for a goal, or look at a list"),
        "run": ("ralphloop.cli.run", "drive a loop through fresh sessions, and watch it"),
        "start": ("ralphloop.cli.start", "begin a loop over a task list, for a session of yours"),
        "demo": ("ralphloop.cli.demo", "watch a scripted agent work through three tasks"),
        "doctor": ("ralphloop.cli.doctor", "find out whether a loop would run here, and prove it"),
    },
    "look": {
        "status": ("ralphloop.cli.status", "show the loops here and what is next"),
        "watch": ("ralphloop.cli.watch", "look at a loop while it works"),
        "report": ("ralphloop.cli.report", "tell what a loop did, task by task"),
        "log": ("ralphloop.cli.log", "show every decision of a loop and why"),
    },
    "steer": {
        "pause": ("ralphloop.cli.pause", "let the agent stop until you resume"),
        "resume": ("ralphloop.cli.resume", "go on with a paused or ended loop"),
        "limit": ("ralphloop.cli.limit", "show a loop's limits and what is used, or change some"),
        "cancel": ("ralphloop.cli.cancel", "end a loop for good"),
        "clean": ("ralphloop.cli.clean", "remove what loops that are over have left"),
    },
    "tasks": {
        "approve": ("ralphloop.cli.approve", "allow new checks, and adopt your changes of the list"),
        "answer": ("ralphloop.cli.answer", "answer what the agent asked about a task"),
        "accept": ("ralphloop.cli.accept", "vouch for a task"),
        "skip": ("ralphloop.cli.skip", "leave a task out of the loop"),
        "done": ("ralphloop.cli.done", "claim that a task is done"),
        "verify": ("ralphloop.cli.verify", "run a task's checks by hand"),
        "evidence": ("ralphloop.cli.evidence", "show what was run to prove a task"),
        "ask": ("ralphloop.cli.ask", "ask the person about a task and go on with the others"),
    },
    "specs": {
        "specum": ("ralphloop.cli.specum", "write a spec phase by phase, and run its tasks"),
        "speckit": ("ralphloop.cli.speckit", "write a Spec Kit feature step by step, and run its tasks"),
    },
    "set up": {
        "install": ("ralphloop.cli.install", "register the hooks in the client's settings"),
        "uninstall": ("ralphloop.cli.uninstall", "take back what install wrote"),
        "config": ("ralphloop.cli.config", "show every setting and where it comes from"),
        "notify": ("ralphloop.cli.notify", "tell you where a loop stands, or try that out"),
        "service": ("ralphloop.cli.service", "let loops go on after a restart of the machine"),
    },
    "laboratory": {
        "explain": ("ralphloop.cli.explain", "show how a stop would be decided, rule by rule"),
        "record": ("ralphloop.cli.record", "keep the stops of this project, to explain them later"),
        "conformance": ("ralphloop.cli.conformance", "play the public cases against a Stop hook"),
        "statusline": ("ralphloop.cli.statusline", "one line about a session's loop, for the client"),
    },
}
COMMANDS = {name: row for rows in HEADINGS.values() for name, row in rows.items()}
# A process that `run` starts, not a command for people.
INTERNAL = {"supervise": "ralphloop.cli.supervise"}
DESCRIPTION = """\
Keeps a coding agent working through a list of tasks until each one is proven
done. `ralphloop COMMAND --help` shows a command's options and examples.
"""
EPILOG = """\
examples:
  ralphloop new shop --from ideas.md
  ralphloop run shop --max-cost 5
  ralphloop status
  ralphloop start shop --launch
  ralphloop cancel shop

exit codes: 0 fine, 1 an error that says what to do next, 2 wrong usage,
            3 a bug, 130 interrupted
"""
ROOM = "make room where it goes, or send it elsewhere"


class Command(Protocol):
    """What each command's module offers."""

    @staticmethod
    def configure(parser: argparse.ArgumentParser) -> None: ...

    @staticmethod
    def run(args: argparse.Namespace) -> int: ...


def main() -> int:
    """Run what was typed; its exit code. An interrupt is left to `entry`."""
    _never_fail_to_print()
    if sys.argv[1:2] != [TYPED]:
        return _guarded(lambda: run(sys.argv[1:]))
    sys.stderr = sys.stdout
    _guarded(lambda: run(_typed_argv(sys.argv[2:])))
    return FINE


def _guarded(work: Callable[[], int]) -> int:
    code = UNREAD  # as of a process that the signal of a broken pipe ended
    try:
        try:
            code = work()
        except SystemExit as leaving:  # argparse has shown the help
            code = int(leaving.code or 0)
        sys.stdout.flush()
        return code
    except UserError as error:
        complain(error.message)
        return WRONG_USAGE if isinstance(error, UsageError) else EXPECTED
    except BrokenPipeError:  # `| head` has seen enough
        mute(sys.stdout)
        return code
    except BusyError:
        complain("other ralphloop processes are at work here; try again in a moment.")
        return EXPECTED
    except OSError as error:
        complain(
            _told(error) if _can_print() else f"the output cannot be written ({error.strerror}); {ROOM}."
        )
        return EXPECTED
    except Exception as error:
        complain(_report(error))
        return BUG


def _typed_argv(words: list[str]) -> list[str]:
    from ralphloop.agents.registry import agent_tools
    from ralphloop.loops import slash_arguments

    said = slash_arguments.taken(words, os.environ)
    if said.by_person:  # whatever the client says of the shell that runs this
        for name in agent_tools():
            os.environ.pop(name, None)
    command = words[0] if words else ""
    module = _load(COMMANDS[command][0]) if command in COMMANDS else None
    action = "".join(words[1:2])
    options = getattr(module, "TYPED", {}).get(action)
    ways = {way: action in getattr(module, way.upper(), ()) for way in ("loose", "named")}
    return [*words, *slash_arguments.argv(said.text, options, **ways)]


def run(argv: list[str]) -> int:
    """Run one command; `status` if none is named."""
    argv = argv or [USUAL]
    if argv[0] in INTERNAL:
        return _load(INTERNAL[argv[0]]).run(argparse.Namespace())
    if argv[0].startswith("-"):
        _without_command(argv)
    if argv[0] not in COMMANDS:
        raise no_command(argv[0], COMMANDS)
    command = _load(COMMANDS[argv[0]][0])
    parser, _ = _parsers(argv[0], command)
    return command.run(parser.parse_args(argv))


def _without_command(argv: list[str]) -> NoReturn:
    """An option comes first: one of our own, one of a command, which belongs behind it, or a mistake."""
    parser = _parser()
    if not parser.knows(argv[0]):
        command = next((word for word in argv if word in COMMANDS), USUAL)
        must_stand_behind(command, argv, _parsers(command, _load(COMMANDS[command][0]))[1])
    if argv[0] == "--":
        raise needs_command(argv[0])
    parser.parse_args(argv[:1])
    raise AssertionError(argv)  # every word that is none of its options was refused


def _load(module: str) -> Command:
    found: Command = import_module(module)  # type: ignore[assignment]
    return found


def _parsers(chosen: str, command: Command) -> tuple[Parser, Parser]:
    """The command line's parser, which can read no other command, and the chosen command's."""
    parser = _parser()
    # With `prog` argparse asks nobody for the width of the terminal: six imports.
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog=PROGRAM, help=argparse.SUPPRESS)
    told = COMMANDS[chosen][1]
    its_own = commands.add_parser(chosen, description=told[0].upper() + told[1:] + ".")
    command.configure(its_own)
    return parser, its_own


def _parser() -> Parser:
    """The one that reads no command."""
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [-h] [--version] COMMAND ...",
        description=DESCRIPTION,
        epilog="".join(_listing()) + EPILOG,
    )
    parser.add_argument("--version", action="version", version="ralphloop " + VERSION)
    return parser


def _listing() -> Iterator[str]:
    """Every command under its heading."""
    for heading, rows in HEADINGS.items():
        yield f"{heading}:\n"
        for name, (_, told) in rows.items():
            yield f"    {name:<12}{told}\n"
        yield "\n"


def _never_fail_to_print() -> None:
    """A terminal that knows no UTF-8 shows a question mark instead; a stream that is closed is nowhere."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for as long as we live
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _can_print() -> bool:
    """Whether stdout takes what was printed until now."""
    try:
        sys.stdout.flush()
    except OSError:
        mute(sys.stdout)
        return False
    return True


def _told(error: OSError) -> str:
    from ralphloop.store import disk

    wrong, cure = disk.told(error)
    return f"{wrong}; {cure}." if cure else f"{wrong}. Check that this path exists and that you may use it."


def _report(error: Exception) -> str:
    """Keep the traceback for a bug report; the line that says where."""
    import traceback

    lines = traceback.format_exception(type(error), error, error.__traceback__)
    text = f"ralphloop {VERSION}, Python {sys.version}\n{sys.argv!r}\n\n{''.join(lines)}"
    folder = os.path.join(shelf.home(os.environ), "reports")
    path = os.path.join(folder, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + f"-{os.getpid()}.txt")
    told = f"this is a bug in ralphloop ({type(error).__name__}: {error})"
    try:
        files.make_folder(folder)
        files.write_text(path, text)
    except OSError as trouble:
        return f"{told}, and no report could be written ({trouble})"
    return f"{told}; please report it with {path}"

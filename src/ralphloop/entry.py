"""The command line's first step, which sees to it that no Ctrl-C shows a traceback, whenever it comes.

Before this the interpreter starts, and tells in its own way of a signal that comes then. So little is
imported until the signal is minded, and the command line only after that.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` itself imports more
import _thread
import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

INTERRUPTED = 130  # as a shell has it


def entry() -> int:
    """Run the command line; its exit code."""
    try:
        if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
            return _command()()  # somebody does not want it minded: nohup, or a shell's background
        return _minded()
    except KeyboardInterrupt:
        return INTERRUPTED


def _minded() -> int:
    _mind(_leave)
    command = _command()
    _mind(_interrupt)
    sys.unraisablehook = _unraisable
    try:
        return command()
    finally:
        _mind(_leave)
        atexit.register(_mind, _signal.SIG_IGN)  # when all is done there is nothing left to interrupt


def _command() -> Callable[[], int]:
    from ralphloop.cli.main import main

    return main


def _mind(handler: object) -> None:
    _signal.signal(_signal.SIGINT, handler)


def _interrupt(*_: object) -> None:
    """Once as an exception, for whoever has something to put right; then at once."""
    _mind(_leave)
    raise KeyboardInterrupt


def _leave(*_: object) -> NoReturn:
    os._exit(INTERRUPTED)


def _unraisable(said: sys.UnraisableHookArgs) -> None:
    """An interrupt that came where no exception can leave from, as in a destructor, comes once more."""
    if issubclass(said.exc_type, KeyboardInterrupt):
        _mind(_interrupt)
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(said)

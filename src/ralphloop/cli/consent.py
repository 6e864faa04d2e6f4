"""How the person is shown what would run, and asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from ralphloop.agents.presence import agent_in
from ralphloop.cli.output import say
from ralphloop.cli.person import require_person
from ralphloop.domain.model import APPROVE
from ralphloop.errors import UserError
from ralphloop.evidence.approval import digest


def list_commands(commands: Sequence[str], *, already: int = 0) -> None:
    what = "1 command" if len(commands) == 1 else f"{len(commands)} commands"
    say(f"To prove the tasks, ralphloop would run {what} here, as you:")
    for command in commands:
        first, *rest = command.split("\n")
        say(f"  $ {first}", *(f"    {line}" for line in rest))
    if already:
        say(f"({already} more you approved before.)")


def is_given(*, yes: bool, shown: bool, env: Mapping[str, str], what: str) -> bool:
    """Whether the person allows what they were shown; False if nobody can be asked."""
    if yes:
        require_person(env, "--yes")
        return True
    if agent_in(env) or not shown or not _can_ask():
        return False
    return ask(f"{what}? [y/N] ")


def _can_ask() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def ask(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    except KeyboardInterrupt:
        print("\nNothing is approved and nothing started.")
        raise


def refusal(commands: Sequence[str], *, layout: str, env: Mapping[str, str], again: str) -> UserError:
    """Nobody said yes: what was not done, and how it is."""
    if agent_in(env):
        typed = f"{APPROVE[layout]} {digest(commands)}"
        return UserError(
            f"nothing is approved and nothing started: the person must type `{typed}` in the client, or run "
            f"`ralphloop approve` in a terminal of their own; then `{again}`, or now with --unapproved."
        )
    return UserError(
        f"nothing is approved and nothing started. `{again} --yes` approves these commands without asking, "
        "`--unapproved` starts and runs none of them."
    )

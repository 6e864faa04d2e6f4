"""How the agent's client is started for one session: its words, its environment, its process."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ralphloop.agents.presence import scrubbed
from ralphloop.domain.supervision import REGISTRATION
from ralphloop.engine import spending
from ralphloop.engine.words import package
from ralphloop.errors import AgentStartError
from ralphloop.runner.agent_process import AgentProcess
from ralphloop.runner.custody import Begun, Custody
from ralphloop.store.loop import LoopFiles

if TYPE_CHECKING:
    from ralphloop.agents.client import Client

WORD_MAX = 200


def start(begun: Begun, custody: Custody, agent: Client) -> AgentProcess:
    """AgentStartError if it cannot be started."""
    terms, loop, env = custody.terms, custody.loop, custody.env
    command = agent.program.hook_command(package(), registration=REGISTRATION)
    words = agent.program.print_argv(
        session=begun.session,
        settings=json.dumps(agent.program.run_settings(command)),
        model=begun.model,
        fallback_model=terms.fallback_model,
        permission_mode=terms.permission_mode,
        budget_usd=_budget_usd(loop),
    )
    words[0] = program_at(words[0], env) or words[0]
    if not _is_word(begun.model):
        raise AgentStartError(f"the model of task {begun.task} is no name of a model: repair the list")
    return AgentProcess(words, cwd=custody.cwd, env=env, prompt=begun.prompt, owner=loop.kept)


def _budget_usd(loop: LoopFiles) -> float:
    """What is left of the loop's dollars; the hook alone would only notice at the end of a turn."""
    most = loop.record.limits.cost_usd
    return max(0.01, most - spending.so_far(loop).cost_usd) if most else 0.0


def _is_word(text: str) -> bool:
    """Whether it can be handed on to a program as one value."""
    return len(text) <= WORD_MAX and text.isprintable() and not text.startswith("-")


def program_at(name: str, env: Mapping[str, str]) -> str | None:
    """Where the program is; a folder that is named from where we stand may be anybody's."""
    folders = [folder for folder in (env.get("PATH") or "").split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which(name, path=os.pathsep.join(folders))


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The client's: no other client's marks, and our own command within reach of its shell."""
    found = scrubbed(env)
    path = found.get("PATH") or os.defpath
    for folder in (os.path.dirname(sys.executable), os.path.join(os.path.dirname(package()), "bin")):
        if shutil.which("ralphloop", path=path) is None and os.access(
            os.path.join(folder, "ralphloop"), os.X_OK
        ):
            path = os.pathsep.join([path, folder])
    return {**found, "PATH": path}

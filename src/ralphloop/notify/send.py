"""Sends a message in every way that the settings name; one that fails is noted and changes nothing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ralphloop import config
from ralphloop.config import Config
from ralphloop.domain.ledger import commit_fault, missing_commits, not_committed
from ralphloop.domain.model import COMPLETE
from ralphloop.domain.worklist import Worklist
from ralphloop.errors import ConfigError, NotSentError
from ralphloop.notify import message
from ralphloop.notify.message import Message
from ralphloop.proof import proof_record
from ralphloop.proof.mask import secrets
from ralphloop.store import tasks
from ralphloop.store.loop import LoopFiles

CONFIG = "config"  # stands for a way of telling where the settings cannot be read


class Sent(NamedTuple):
    channel: str
    ok: bool
    detail: str


def load() -> None:
    """Every target, for a process that will tell of something much later."""
    for channel in config.TARGETS:
        _target(channel)


def _target(channel: str) -> Any:
    return importlib.import_module(f"ralphloop.notify.{channel}")


def tell(
    loop: LoopFiles, about: str, *, env: Mapping[str, str], task: str = "", why: str = "", pid: int = 0
) -> list[Sent]:
    """Tell the person what a loop has come to, if they want to know; the journal says how that went. `why` is
    what its state does not know, `pid` a process in the terminal whose bell may ring."""
    try:
        settings = config.load(loop.record.root, env)
    except ConfigError as error:
        sent = [Sent(CONFIG, False, str(error))]
    else:
        told = about_loop(loop, about, task=task, why=why)
        if told is None or told.kind not in settings.get("notify_on"):
            return []
        sent = send(told, settings, root=loop.record.root, env=env, pid=pid)
    _note(loop, sent)
    return sent


def about_loop(loop: LoopFiles, about: str, *, task: str = "", why: str = "") -> Message | None:
    state = loop.load()
    if state is None:
        return None
    told = message.message_of(loop.record, state, _work(loop), about=about, task=task, why=why)
    if told is None or about != COMPLETE:
        return told
    unmade, doubts = _uncommitted(loop), [one.said for one in proof_record.load(loop).doubts]
    told = message.uncommitted(told, loop.record, unmade) if unmade else told
    return message.doubted(told, loop.record, doubts) if doubts else told


def send(told: Message, settings: Config, *, root: str, env: Mapping[str, str], pid: int = 0) -> list[Sent]:
    hidden = [*secrets(env), *settings.secrets()]
    clean = message.tidied(told, root=root, home=env.get("HOME") or os.path.expanduser("~"), secrets=hidden)
    return [_through(channel, clean, settings, env=env, pid=pid) for channel in settings.get("notify")]


def _through(channel: str, told: Message, settings: Config, *, env: Mapping[str, str], pid: int) -> Sent:
    """By the module of the same name."""
    try:
        detail = _target(channel).send(told, settings, env=env, pid=pid)
    except NotSentError as error:
        return Sent(channel, False, message.plain(str(error)))
    except OSError as error:
        return Sent(channel, False, message.plain(error.strerror or type(error).__name__))
    return Sent(channel, True, detail)


def _work(loop: LoopFiles) -> Worklist | None:
    try:
        return tasks.look(loop)[2]
    except (ValueError, OSError):
        return None


def _uncommitted(loop: LoopFiles) -> str:
    """What a run was to commit and did not, and why."""
    try:
        listed, ledger, _ = tasks.look(loop)
    except (ValueError, OSError):
        return ""
    found = missing_commits(loop.record.supervision, ledger, listed)
    return f"{not_committed(found)} ({commit_fault(ledger, found)})" if found else ""


def _note(loop: LoopFiles, sent: list[Sent]) -> None:
    """The project may be gone by now, which is no reason to fail."""
    with suppress(OSError):
        for done in sent:
            loop.journal("notify", **done._asdict())
            if not done.ok:
                loop.log(f"notify {done.channel} failed: {done.detail}")

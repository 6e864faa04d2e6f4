"""Tells the person where a loop stands, in the ways that the settings name."""

from __future__ import annotations

import os

from ralphloop import config
from ralphloop.config import Config, user_file
from ralphloop.errors import UserError
from ralphloop.loops.place import Place, pick
from ralphloop.loops.result import Result, Tell, quiet
from ralphloop.notify import message, send
from ralphloop.notify.message import Message

KINDS = tuple(message.TOLD)


def try_notify(place: Place, *, told: Tell = quiet) -> Result:
    """Send a test message, whatever the loops do; `told` hears what is odd about the settings."""
    trial = message.trial(os.path.basename(place.project))
    return _sent(place, place.project, trial, settings=_switched_on(place, place.project, told))


def notify(place: Place, name: str | None = None, *, told: Tell = quiet) -> Result:
    """Tell where a loop stands now, as its end would."""
    loop = pick(place, name)
    settings = _switched_on(place, loop.record.root, told)
    state = loop.state()
    about = send.about_loop(loop, state.outcome) if state.outcome else None
    if about is None:
        how = f"{loop.record.name} is {state.outcome or state.state}, which nobody is told of"
        raise UserError(f"{how}; `ralphloop notify --test` sends a test.")
    return _sent(place, loop.record.root, about, settings=settings)


def notify_of(place: Place, name: str, about: str, *, task: str = "", pid: int = 0) -> None:
    """Tell of one event of a loop, if the person wants to know; `pid` is in the terminal that may ring."""
    send.tell(pick(place, name), about, env=place.env, task=task, pid=pid)


def _sent(place: Place, root: str, about: Message, *, settings: Config) -> Result:
    sent = send.send(about, settings, root=root, env=place.env)
    facts = {"sent": [each._asdict() for each in sent]}
    lines = tuple(f"{'✓' if each.ok else '✗'} {each.channel}: {each.detail}" for each in sent)
    return Result(facts, lines, 0 if all(each.ok for each in sent) else 1)


def _switched_on(place: Place, root: str, told: Tell) -> Config:
    settings = config.load(root, place.env)
    for warning in settings.warnings:
        told(warning)
    if not settings.get("notify"):
        where = user_file(place.env)
        why = "no way of telling you is switched on, because the setting `notify` is empty"
        raise UserError(f'{why}; put a line like `notify = ["desktop"]` into {where}.')
    return settings

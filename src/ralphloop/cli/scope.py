"""Which settings file `install` and `uninstall` are about, and its text if it can be worked on."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ralphloop.agents.registration import Ours
from ralphloop.agents.registry import NAMES, USUAL, client
from ralphloop.errors import BusyError, SettingsChangedError, UserError
from ralphloop.loops.place import Place, require_person
from ralphloop.store import installs
from ralphloop.store.installs import SettingsFile

T = TypeVar("T")

LOCAL, PROJECT, USER = "local", "project", "user"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scope",
        choices=(LOCAL, PROJECT, USER),
        default=LOCAL,
        help="for you in this project (local, the default), for everybody in it, or for you in all projects",
    )
    parser.add_argument("--agent", choices=NAMES, default=USUAL, help=f"whose settings (default: {USUAL})")


@contextmanager
def opened(place: Place, scope: str) -> Iterator[SettingsFile]:
    """The scope's settings file, for the person, while no other process of ours changes one."""
    require_person(place.env, "a change of the client's settings")
    path = client().registration.settings_path(scope, project=place.project, env=place.env)
    file = SettingsFile(path, place.env, root="" if scope == USER else place.project)
    must_stay(file)
    usable_text(file)  # refused before anything is written, a lock included
    with locked(file):
        yield file


def must_stay(file: SettingsFile) -> None:
    if file.leads_out:
        raise UserError(
            f"{file.path} is a link that leads out of the project, to {file.place}; "
            "put a file of its own there, or change that one yourself."
        )


@contextmanager
def locked(file: SettingsFile) -> Iterator[None]:
    try:
        with file.lock():
            yield
    except BusyError:
        raise UserError("another ralphloop changes settings right now; try again in a moment.") from None


def usable_text(file: SettingsFile) -> str | None:
    """The file's text, None if there is no file; an error if we could not change it without harm."""
    text = file.read()
    if text is None or client().settings.is_blank(text):
        return text
    wrong = client().settings.fault(text)
    if wrong:
        raise UserError(f"{file.path} {wrong}. Repair it and run this again; nothing was changed.")
    return text


def recorded(file: SettingsFile) -> Ours | None:
    """What an installation left in the file, as far as it was recorded."""
    try:
        return Ours.from_json(file.record() or {})
    except ValueError:
        return None


def settled(file: SettingsFile, work: Callable[[], T]) -> T:
    """Do it on the file as it is, again if another program changes it meanwhile."""
    try:
        return installs.settled(work)
    except SettingsChangedError:
        raise UserError(f"another program keeps changing {file.path}; try again in a moment.") from None
    except OSError as error:
        raise _cannot_write(file, error) from None


def _cannot_write(file: SettingsFile, error: OSError) -> UserError:
    where = error.filename or file.path
    return UserError(
        f"{file.path} cannot be written ({where}: {error.strerror or error}), and stays as it was; "
        "see that you may write there, then run this again."
    )

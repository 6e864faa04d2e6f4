"""The git that we start: by an absolute path that a person's `start` or `install` recorded, else from a place
of the system's own; never by the PATH of a session, on which an agent can put another."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralphloop.proof import repository
from ralphloop.store import files, shelf

RECORD = "git"  # in the state directory
PLACES = (
    "/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/opt/local/bin", "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/pkg/bin",
)  # fmt: skip


def find(folder: str, env: Mapping[str, str]) -> str:
    """The git to start in this folder; where there is none, a path that is not there."""
    known = (files.read_quietly(_record(env)) or "").strip()
    if known and _is_program(known) and not _is_in(known, _tops(folder, env)):
        return known
    usual = [os.path.join(place, "git") for place in PLACES]
    return next(filter(_is_program, usual), usual[0])


def record(folder: str, env: Mapping[str, str]) -> None:
    """Keep the git of the person who stands in this folder, but none that the repository brings along."""
    from ralphloop.proof.command_word import offered as offered_on  # no claim needs it

    tops = _tops(folder, env)
    offered = offered_on("git", env.get("PATH", ""))
    found = next((path for path in offered if not _is_in(path, tops)), "")
    if found and files.read_quietly(_record(env)) != found + "\n":
        files.make_folder(shelf.home(env))
        files.write_text(_record(env), found + "\n")


def _record(env: Mapping[str, str]) -> str:
    return os.path.join(shelf.home(env), RECORD)


def _is_program(path: str) -> bool:
    return files.is_path(path) and os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)


def _tops(folder: str, env: Mapping[str, str]) -> list[str]:
    """The repositories that the folder lies in, each with the checkout that it is a worktree of; without one
    the folder itself. Not every repository there is: Homebrew's own git lies in one; nor the home of a person
    who keeps it in git."""
    home = os.path.realpath(env.get("HOME") or "/")
    tops = []
    found = repository.find(folder)
    while found is not None and found.top != home:
        tops += [found.top, *[os.path.dirname(found.common)] * found.common.endswith(os.sep + ".git")]
        found = repository.find(os.path.dirname(found.top))
    real = os.path.realpath(folder)
    return tops or [top for top in [real] if top not in (home, os.sep)]


def _is_in(path: str, tops: list[str]) -> bool:
    """Whether the file, or the link to it, lies in one of these folders."""
    link = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return any(one.startswith(top + os.sep) for one in (link, os.path.realpath(path)) for top in tops)

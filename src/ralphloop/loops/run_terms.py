"""What a run is asked for, by options, by the run before it and by the settings; where it commits, and how
often the service had to begin it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ralphloop.agents.registry import client, missing, program_at
from ralphloop.config import AGENTS, PERMISSION_MODES, Config
from ralphloop.config.keys import permission_mode
from ralphloop.domain import jsontext
from ralphloop.errors import UserError
from ralphloop.loops.place import Place, require_person
from ralphloop.proof.repository import main_checkout
from ralphloop.runner.session_terms import Terms
from ralphloop.store import files
from ralphloop.store.installs import SettingsFile
from ralphloop.store.loop import LoopFiles
from ralphloop.tasklists.registry import own_file
from ralphloop.tasklists.source import Source

# what holds when `run` goes on with a loop and is not told otherwise
KEPT = ("agent", "batch", "context_limit", "fallback_model", "idle_timeout", "model", "permission_mode")


class RunWish(NamedTuple):
    """What a run is asked for; None is as the run before had it, or as the settings say."""

    limits: Mapping[str, float] = {}
    endless: bool = False  # no limit of turns is meant
    adopt: bool = False  # take the loop over from its session
    commit: bool | None = None
    branch: str | None = None
    agent: str | None = None
    batch: int | None = None
    context_limit: float | None = None
    fallback_model: str | None = None
    idle_timeout: float | None = None
    model: str | None = None
    permission_mode: str | None = None
    detached: bool = False
    anew: bool = True  # a loop that rests gets a new window of time
    strict: bool = False  # of a loop that begins: doubts about a proof are refused


def of(
    wish: RunWish, settings: Config, place: Place, *, source: Source, loop: LoopFiles | None, cwd: str
) -> Terms:
    """An error says what is in the way; nothing is changed yet."""
    branch = _branch(wish, settings, place, source=source, loop=loop, cwd=cwd)
    terms = _terms(wish, settings, branch=branch)
    if terms.agent not in AGENTS:
        raise UserError(f"no such agent ({terms.agent}); there are: {', '.join(AGENTS)}.")
    try:
        permission_mode(*PERMISSION_MODES)(terms.permission_mode)
    except ValueError as error:
        raise UserError(f"the permission mode: {error}.") from None
    must_be_allowed(terms, place.env)
    program = client(terms.agent).program
    if program_at(program.PROGRAM, place.env) is None:
        wrong, cure = missing(program, "a run works through it")
        raise UserError(f"{wrong}; {cure}.")
    must_be_trusted(cwd, place.env)
    return terms


def must_be_allowed(terms: Terms, env: Mapping[str, str]) -> None:
    """No agent gives wider rights to the agents that it starts."""
    if terms.permission_mode in client(terms.agent).program.WIDE:
        require_person(env, f"the permission mode {terms.permission_mode}")


def must_be_trusted(cwd: str, env: Mapping[str, str]) -> None:
    """A session without a terminal asks nobody whether a repository's programs may run."""
    program, trust = client().program, client().registration
    main = next(filter(None, map(main_checkout, trust.upwards(cwd))), "")
    found = trust.programs_in(cwd) + (trust.programs_for_worktrees(main) if main else [])
    found = [path for path in found if not SettingsFile(path, env).is_ours_alone]  # `install` wrote it
    known = files.read_quietly(trust.known_to_client(env)) or ""
    if not found or any(trust.is_trusted(place, known) for place in (cwd, main) if place):
        return
    names = ", ".join(os.path.relpath(path, cwd) for path in found)
    raise UserError(
        f"{program.TITLE} would run what {names} says, and you have not told it to trust this folder: look "
        f"at it, start `{program.PROGRAM}` here once and accept, then run again."
    )


def _terms(wish: RunWish, settings: Config, *, branch: str) -> Terms:
    def said(name: str) -> Any:
        given = getattr(wish, name)
        return settings.get(name) if given is None else given

    return Terms(
        agent=said("agent"),
        batch=said("batch"),
        model=said("model") or "",
        fallback_model=said("fallback_model") or "",
        permission_mode=said("permission_mode"),
        idle_s=said("idle_timeout"),
        context=said("context_limit") / 100,
        branch=branch,
        margin_s=settings.get("reset_margin"),
        backoff_s=settings.get("backoff"),
        detached=wish.detached,
    )


def _branch(
    wish: RunWish, settings: Config, place: Place, *, source: Source, loop: LoopFiles | None, cwd: str
) -> str:
    """Where commits go, once nothing is in their way; empty where nobody asked for them."""
    before = _branch_before(loop, wish)
    if before and loop is not None:
        _must_be_as_left(loop, cwd=cwd, env=place.env)
        return before
    asked = wish.commit if wish.commit is not None else bool(wish.branch) or settings.get("commit")
    if not asked:
        return ""
    from ralphloop.proof import worktree

    wanted, lists = wish.branch or settings.get("branch") or "", [os.path.dirname(own_file(source))]
    return worktree.check(cwd, place.env, branch=wanted, lists=lists)


def _branch_before(loop: LoopFiles | None, wish: RunWish) -> str:
    """Where commits of this loop went until now: what an unfinished session left in the tree is its own."""
    driven = loop.record.supervision if loop is not None else None
    before = driven.branch if driven is not None and wish.commit is not False else ""
    if before and wish.branch not in (None, before):
        raise UserError(f"this loop commits on {before}; leave out --branch, or cancel it and begin anew.")
    return before


def _must_be_as_left(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    from ralphloop.proof import commit

    new = commit.changes_since(loop, cwd=cwd, env=env)
    if new:
        told = ", ".join(new[:10]) + (f" and {len(new) - 10} more" if len(new) > 10 else "")
        raise UserError(
            f"since the last run there are new changes: {told}. Commit, stash or ignore them first."
        )


def keep(loop: LoopFiles, wish: RunWish) -> None:
    given = {name: getattr(wish, name) for name in KEPT if getattr(wish, name) is not None}
    files.make_folder(loop.kept)
    files.write_text(_place(loop), jsontext.render(given) + "\n")


def recalled(loop: LoopFiles, wish: RunWish) -> RunWish:
    """With what the run before on this loop was asked for, where this one does not say."""
    before = files.read_object(_place(loop))
    known: dict[str, Any] = {name: before.get(name) for name in KEPT if getattr(wish, name) is None}
    return wish._replace(**known)


def _place(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, "run.json")


def catch_up(loop: LoopFiles, *, cwd: str, env: Mapping[str, str]) -> None:
    """Make the commits that a run could not make, once nothing but its own work would go into them."""
    from ralphloop.proof import commit

    try:
        _must_be_as_left(loop, cwd=cwd, env=env)
    except UserError as error:
        return commit.hold(loop, str(error))
    commit.catch_up(loop, cwd=cwd, env=env)
    return commit.note_left(loop, cwd=cwd, env=env)


def switch_branch(terms: Terms, *, cwd: str, env: Mapping[str, str]) -> None:
    """Once the loop has begun: nobody's branch changes without their consent."""
    if terms.branch:
        from ralphloop.proof import worktree

        worktree.switch(cwd, env, branch=terms.branch)


class Care(NamedTuple):
    """What the service has done about a loop so far; `kept/<loop id>/service.json` holds these fields."""

    starts: int = 0
    at: float = 0.0  # when the last of them was
    iteration: int = 0  # of the loop then
    why: str = ""  # the last one failed
    gave_up: bool = False
    silent: float = 0.0  # the last sign of life of a supervisor that the person was told of

    @classmethod
    def of(cls, loop: LoopFiles) -> Care:
        """Of tries that a turn has come after nothing is left."""
        said = files.read_object(cls._path(loop))
        usual: dict[str, Any] = cls()._asdict()
        care = cls(**{name: said[name] for name in usual if type(said.get(name)) is type(usual[name])})
        is_of_now = loop.state().iteration == care.iteration and care.starts >= 0
        return care if is_of_now else cls(silent=care.silent)

    def keep(self, loop: LoopFiles) -> None:
        files.make_folder(loop.kept)
        files.write_text(self._path(loop), jsontext.render(self._asdict()) + "\n")

    @classmethod
    def forget(cls, loop: LoopFiles) -> None:
        """A person drives it anew."""
        files.remove(cls._path(loop))

    @staticmethod
    def _path(loop: LoopFiles) -> str:
        return os.path.join(loop.kept, "service.json")

"""Asks every check whose green it is, apart from the project: with the work alone, and without the work; and
once at the start, where it should be red."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop.domain import finding
from ralphloop.domain.finding import Finding
from ralphloop.proof import (
    added_line,
    apart,
    baseline,
    check_record,
    conclusion,
    criteria,
    proof_record,
    protect,
    suite_count,
    unread,
)
from ralphloop.proof.apart import Inner, Stage
from ralphloop.proof.baseline import Baseline
from ralphloop.proof.checker import Due, Ran, run
from ralphloop.proof.conclusion import Seen, Suspect
from ralphloop.proof.criteria import Criteria
from ralphloop.proof.difference import ADDED, REMOVED, Change, Since
from ralphloop.proof.proof_record import GREEN, RED, UNTRIED, Proven, Tried
from ralphloop.proof.protect import BY_TOOLS
from ralphloop.proof.weak import weak
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles, iso

STOPS_MAX = 2  # after which what was not asked is not asked any more
WATCH_MAX = 500  # changed files of which we look whether a check reads them
COPY_MIN = 32  # bytes: shorter ones may be the same by chance
OURS = "RALPHLOOP_"  # how variables begin that tell a command who runs it
NO_TIME = "there was no time for it"
UNEXPLAINED = "it was red with the work alone, and there was no time to find out why"
NO_TREE = "no tree was kept when this loop began"
SWITCHED_OFF = "`apart` is false in your settings"
SLOW = "took too long"  # how the trouble ends with a repository that is too large
_LOCAL = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]")
SWAPPED = "swapped"  # what a change is that is none any more


class Split(NamedTuple):
    """What has changed since the start: the work, and what judges it."""

    work: tuple[Change, ...] = ()
    criteria: tuple[Change, ...] = ()
    swapped: tuple[Change, ...] = ()  # criteria that were written to and are as they were, when we look

    @property
    def all(self) -> tuple[Change, ...]:
        return self.work + self.criteria

    @property
    def judging(self) -> tuple[Change, ...]:
        return self.criteria + self.swapped

    @property
    def digest(self) -> str:
        rows = "\0".join(f"{one.path}\0{one.kind}\0{one.new}" for one in (*self.all, *self.swapped))
        return hashlib.sha256(rows.encode("utf-8", "surrogateescape")).hexdigest()


class Probe:
    """The questions of one final run. They need no lock, and change no file of the project."""

    def __init__(self, loop: LoopFiles, *, folder: str, env: Mapping[str, str], deadline: float) -> None:
        self.record = proof_record.load(loop)
        self._loop = loop
        self._folder = folder
        self._env = env
        self._deadline = deadline
        self._asked: tuple[Due, ...] = ()
        self._base: Baseline | None = None
        self._since: Since | None = None
        self._split = Split()
        self._kept: dict[str, str] = {}  # the files of the start, each with git's id of its content
        self._unread: tuple[str, ...] = ()  # changed files of which not every added line was read
        self._trouble = ""  # why nothing can be tried apart
        self._is_only = False

    def begin(self, asked: Iterable[Due], *, round_no: int, is_only: bool = False) -> None:
        """Look what has changed. Answers of an earlier stop count while the round is the same, and its time
        while the work is. `is_only`: the final run has one command, and so leaves nothing for another."""
        self._asked, self._is_only = tuple(asked), is_only
        self._base, self._trouble = baseline.load(self._loop), self.record.untaken or NO_TREE
        if self._base is not None:
            self._since, self._trouble = baseline.since(self._loop, self._base, self._folder, self._env)
            if self._since is not None:
                self._split = self._told_apart(self._base, self._since)
        if self.record.round != round_no:
            kept = {command: Tried(first=one.first) for command, one in self.record.tried.items()}
            stops = self.record.stops if self.record.state == self._split.digest else 0
            self.record = self.record._replace(round=round_no, stops=stops, tried=kept)
        self.record = self.record._replace(state=self._split.digest)

    def put_off(self) -> None:
        """The final run itself did not fit into this stop: at the next nothing else takes of its time."""
        self.record = self.record._replace(stops=self.record.stops + 1)

    def _told_apart(self, base: Baseline, since: Since) -> Split:
        """Our own files and the list's are neither; one that is ignored by name and looks like a judge was
        added."""
        own, guarded = (
            baseline.own_files(self._loop, since.top),
            _guarded(self._loop, since.top, self._folder),
        )
        below = os.path.relpath(self._folder, since.top)
        known = {os.path.relpath(each.path, below): each for each in since.changes}
        read = protect.reader(self._folder)

        def read_at_start(path: str) -> str | None:
            change = known.get(os.path.normpath(path))
            return (
                read(path) if change is None else baseline.text_at_start(self._loop, base, change, self._env)
            )

        scripts = [
            *criteria.named_by(self._commands, read, self._table),
            *criteria.named_by(self._commands, read_at_start, self._table),
        ]
        named = {os.path.normpath(os.path.join(below, path)) for path in scripts}
        hidden = [Change(path, ADDED, "", "") for path in since.hidden if self._table.judges(path)]
        changed = {each.path for each in since.changes}
        self._kept = baseline.kept_files(self._loop, base, since.top, self._env)
        touched = baseline.touched_since(base, since.top, self._kept)
        swapped = [
            Change(path, SWAPPED, "", "")
            for path in touched
            if path not in changed and self._table.judges(path)
        ]
        work: list[Change] = []
        judging: list[Change] = []
        for each in since.changes:
            if baseline.is_own(each.path, own):
                continue
            is_held = each.path in named or any(protect.matches(each.path, glob) for glob in guarded)
            (judging if is_held or self._judges(base, since, each) else work).append(each)
        return Split(tuple(work), (*judging, *hidden), tuple(swapped))

    @property
    def _table(self) -> Criteria:
        return criteria.table(self._base.terms.get("criteria") or () if self._base is not None else ())

    def _judges(self, base: Baseline, since: Since, change: Change) -> bool:
        """Of a file that is work as well, only the part that a check reads."""
        if not self._table.judges(change.path) or not self._table.has_work(change.path):
            below = os.path.relpath(os.path.join(since.top, change.path), self._folder)
            seen_from = (change, change._replace(path=below))
            return any(self._table.judges(one.path) or _shadows(one) for one in seen_from)
        before = baseline.text_at_start(self._loop, base, change, self._env)
        after = files.read_quietly(os.path.join(since.top, change.path))
        return self._table.judges_change(change.path, before, after)

    def _split_for(self, command: str) -> Split:
        """For a check that only looks at files, these are the work, whatever they are for others."""
        below = os.path.relpath(self._folder, self._since.top) if self._since is not None else ""
        looked = {os.path.normpath(os.path.join(below, path)) for path in criteria.only_looked_at(command)}
        moved = tuple(each for each in self._split.criteria if each.path in looked)
        if not moved:
            return self._split
        kept = tuple(each for each in self._split.criteria if each not in moved)
        return self._split._replace(work=(*self._split.work, *moved), criteria=kept)

    @property
    def _commands(self) -> list[str]:
        return list(dict.fromkeys(command for one in self._asked for command in one.commands))

    @property
    def is_strict(self) -> bool:
        """Whether doubts are refused, by the terms of the start."""
        return self._base is not None and self._base.terms.get("doubts") == "refuse"

    def alone(self, command: str) -> Ran | None:
        """The final run itself, where the work alone is the whole of it: nothing is put back, and no other
        command misses what this one makes. None where it has to be run as ever."""
        if command not in self._commands or self.record.stops or self._why_not(command):
            return None
        if self._split_for(command).judging or self._tried(command).alone != UNTRIED:
            return None
        ran = self._ask_alone(command)
        return ran if ran is not None and ran.green and (self._is_only or not _wrote(ran)) else None

    def _ask_alone(self, command: str) -> Ran | None:
        """The work alone: criteria and loader variables as at the start, no variable of ours, and the work as
        if it had just been written, so that nothing made before stands for it."""
        split = self._split_for(command)
        ran = self._run(command, split.judging, env=self._as_begun(), watch=split.work, renew=True)
        if ran is None or not _stood(ran):
            return None
        assert ran.apart is not None
        self._note(
            command,
            alone=GREEN if ran.green else RED,
            read=ran.apart.read,
            made=ran.apart.made,
            wrote=ran.apart.wrote,
            counted=suite_count.counted(ran.tail),
        )
        return ran

    def ask(self) -> bool:
        """Ask what is left, and conclude; False if there was no time for all, and there will be."""
        self.record = self.record._replace(stops=self.record.stops + 1)
        unasked = [command for command in self._commands if not self._ask(command)]
        if unasked and self.record.stops < STOPS_MAX:
            return False
        for command in unasked:
            known = self._tried(command)
            self._note(command, why=known.why or (UNEXPLAINED if known.alone == RED else NO_TIME))
        self._conclude()
        return True

    def first(self, asked: Iterable[Due], say: Callable[[str], None]) -> dict[str, Tried]:
        """Run each command once on the tree of the start, while there is time: what each came to."""
        self.begin(asked, round_no=self.record.round)
        for command in self._commands:
            why = self._why_not(command)
            if why:
                self._note(command, why=why)
                continue
            say(command)
            ran = self._run(command, self._since.changes if self._since is not None else ())
            if ran is None:
                self._note(command, why=NO_TIME)
            elif _stood(ran):
                self._note(command, first=GREEN if ran.green else RED)
        return {command: self._tried(command) for command in self._commands}

    def give_up(self, why: str) -> None:
        """Nothing more can be tried: conclude from what is known."""
        for command in self._commands:
            self._note(command, why=self._tried(command).why or why)
        self._conclude()

    def _ask(self, command: str) -> bool:
        why = self._why_not(command)
        if why:
            self._note(command, why=why)
            return True
        if self._tried(command).alone == UNTRIED:
            self._ask_alone(command)
        if self._tried(command).alone == UNTRIED:
            return bool(self._tried(command).why)
        if self._tried(command).alone == RED and not self._tried(command).cause:
            self._find_cause(command)
            if not self._tried(command).cause:
                return False
        return self._ask_without(command)

    def _find_cause(self, command: str) -> None:
        """Red with the work alone: the place is not faithful, or it was what had been made of the work before
        that was last written, or criteria, or variables and who runs it."""
        split = self._split_for(command)
        plain = self._run(command, (), watch=split.judging)
        if plain is None:
            return
        if not _stood(plain) or not plain.green:
            self._note(command, cause=finding.PLACE, named=tuple(each.path for each in split.judging))
            return
        fresh = self._run(command, (), watch=split.work, renew=True) if split.work else plain
        if fresh is None:
            return
        if not fresh.green:
            self._note(command, cause=finding.IDLE)
            return
        judged = self._run(command, split.judging, watch=split.work, renew=True) if split.judging else fresh
        if judged is None:
            return
        if judged.green:
            self._note(command, cause=finding.VARIABLE, named=self._other_variables())
            return
        assert plain.apart is not None
        read = plain.apart.read
        named = sorted((each.path for each in split.judging), key=lambda path: path not in read)
        self._note(command, cause=finding.CRITERIA, named=tuple(named))

    def _ask_without(self, command: str) -> bool:
        """Without the work; where only criteria changed, these go back too. A list's own check is a guard,
        green before and after."""
        known, split = self._tried(command), self._split_for(command)
        is_guard = not any(command in one.commands for one in self._asked if one.task)
        if is_guard or known.without != UNTRIED or known.cause == finding.PLACE or not split.all:
            return True
        products, before = [path for _, _, path in self._programs([command])], apart.talks()
        back = split.work or split.criteria
        ran = self._run(command, back, products=products)
        makers = self._makers(command)
        if ran is not None and ran.green and makers:
            ran = self._run(command, [*back, *self._made(makers)], products=products, after=makers)
        if ran is None:
            return False
        server = self._server(before) if ran.green and self._speaks(command) else ""
        if server:
            self._note(command, why=server)
        elif ran.apart is not None and ran.apart.stood:
            made = tuple(dict.fromkeys([*known.made, *ran.apart.made]))
            self._note(command, without=GREEN if ran.green else RED, made=made)
            if not split.judging:  # else the tests are others
                self._note(command, fewer=suite_count.fewer(known.counted, suite_count.counted(ran.tail)))
        return True

    def _makers(self, command: str) -> list[str]:
        """The commands before it that left something, which it may be about."""
        before = self._commands[: self._commands.index(command)]
        return [one for one in before if self._tried(one).wrote]

    def _made(self, makers: Sequence[str]) -> list[Change]:
        assert self._since is not None
        paths = {path for one in makers for path in self._tried(one).wrote}
        inside = [os.path.relpath(path, self._since.top) for path in sorted(paths)]
        changed = {each.path for each in self._since.changes}
        return [Change(path, ADDED, "", "") for path in inside if path not in changed]

    def _speaks(self, command: str) -> bool:
        """Whether a check, or a script of it that judges, names this machine: others talk, too."""
        read = protect.reader(self._folder)
        texts = map(read, criteria.named_by([command], read, self._table))
        return any(_LOCAL.search(text) for text in (command, *filter(None, texts)))

    def _server(self, before: set[str]) -> str:
        """Why a check that is green without the work says nothing: all that it talked to was there before."""
        assert self._base is not None
        asked = apart.asked_since(before)
        if not asked or not all(apart.began_before(one, self._base.at) for one in asked.values()):
            return ""
        return f"a server on port {min(asked)}, which was there before, works outside of it"

    def _why_not(self, command: str) -> str:
        """Why a command is not tried apart; what the machine refuses is found by trying."""
        if self._base is None or self._since is None:
            return self._trouble
        if not self._base.terms.get("apart", True):
            return SWITCHED_OFF
        if not any(one.apart for one in self._asked if command in one.commands):
            return "`apart` is false"
        daemon = criteria.daemon_in(command, self._base.terms.get("daemons") or ())
        return f"{daemon} works outside of it" if daemon else ""

    def _run(
        self,
        command: str,
        back: Sequence[Change],
        *,
        env: Mapping[str, str] | None = None,
        watch: Sequence[Change] = (),
        renew: bool = False,
        products: Sequence[str] = (),
        after: Sequence[str] = (),
    ) -> Ran | None:
        """Run a command apart, with these changes undone, after these others; None if there is no time."""
        wanted_s = max(one.timeout_s for one in self._asked if command in one.commands)
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            return None
        stage = self._stage(back, watch=watch, products=products)._replace(renew=renew)
        env = {**self._env, OURS + "CHECK": "1"} if env is None else env
        quiet = [f"sh -c {shlex.quote(one)} >/dev/null 2>&1" for one in after]
        text = "\n".join([*quiet, f"exec sh -c {shlex.quote(command)}"]) if after else command
        ran = run(text, cwd=self._folder, env=env, timeout_s=min(wanted_s, left_s), stage=stage)
        if ran.timed_out and left_s < wanted_s:
            return None
        self._note(command, why=ran.apart.why if ran.apart is not None else "")
        return ran

    def _stage(self, back: Sequence[Change], *, watch: Sequence[Change], products: Sequence[str]) -> Stage:
        assert self._base is not None
        assert self._since is not None
        plain = apart_from(self._base, self._loop, self._env, top=self._since.top)
        return plain._replace(
            put_back=tuple(each.path for each in back if each.kind != ADDED),
            remove=tuple(each.path for each in back if each.kind == ADDED),
            watch=tuple(each.path for each in watch if each.kind != REMOVED)[:WATCH_MAX],
            products=tuple(products),
            caches=BY_TOOLS,
        )

    def _as_begun(self) -> dict[str, str]:
        """The environment with the loader variables of the start, and without ours."""
        assert self._base is not None
        plain = {name: value for name, value in self._env.items() if not name.startswith(OURS)}
        if self._base.variables is None:
            return plain
        loaders = baseline.loader_variables(plain)
        return {**{name: plain[name] for name in plain if name not in loaders}, **self._base.variables}

    def _other_variables(self) -> tuple[str, ...]:
        assert self._base is not None
        begun, now = self._base.variables, baseline.loader_variables(self._env)
        if begun is None:
            return ()
        return tuple(sorted(name for name in {*begun, *now} if begun.get(name) != now.get(name)))

    def _programs(self, commands: Sequence[str]) -> list[tuple[str, str, str]]:
        assert self._base is not None
        found = baseline.programs_now(self._base, commands, self._folder, self._env)
        return [(command, word, path) for command, word, path, _ in found]

    def _conclude(self) -> None:
        seen = self._seen()
        proven = Proven(folder=self._folder, at=iso(time.time()))
        if self._since is not None:
            where = {"head": self._since.head, "branch": self._since.branch}
            proven = proven._replace(tree=self._since.tree, **where)
        self.record = self.record._replace(
            findings=(*conclusion.conclude(seen), *self._notes()),
            turned=conclusion.turned(seen),
            proven=proven,
        )

    def _seen(self) -> Seen:
        """All that there is to see of the changes, without running anything more."""
        seen = Seen(
            self._asked,
            self.record.tried,
            weak={command: why for command in self._commands if (why := weak(command))},
            flaky=tuple(_flaky(self._loop, self._commands)),
        )
        if self._base is None or self._since is None:
            is_broken = self._base is not None and not self._trouble.endswith(SLOW)
            git = conclusion.Git(unread=self._trouble if is_broken else "")
            return seen._replace(is_known=False, untried=self._trouble, git=git)
        seen = seen._replace(
            work=tuple(each.path for each in self._split.work),
            criteria=tuple(each.path for each in self._split.criteria),
            removed=self._removed(self._since),
            lost=self._lost(self._base, self._since),
            copied=self._copied(self._since),
            moved=self._moved(self._since),
            suspects=self._suspects(self._base, self._since),
            programs=tuple(self._programs(self._commands)),
            git=_git(self._base, self._since),
            untried=self._everywhere(),
            top=self._since.top,
        )
        tried = self.record.tried.values()
        is_idle = not seen.work or any(one.without == GREEN or one.cause == finding.IDLE for one in tried)
        young = baseline.ignored_since(self._base, self._folder, self._env) if is_idle else []
        return seen._replace(ignored=tuple(young))

    def _notes(self) -> Iterator[Finding]:
        return unread.notes(added=self._unread, large=self._since.large if self._since is not None else ())

    def _everywhere(self) -> str:
        """Why nothing at all was tried, if it was the same for all."""
        whys = {self._tried(command).why for command in self._commands}
        is_any = any(self._tried(command).alone != UNTRIED for command in self._commands)
        return "" if is_any or len(whys) != 1 else whys.pop()

    def _removed(self, since: Since) -> tuple[str, ...]:
        gone = [
            each.path for each in since.changes if each.kind == REMOVED and self._table.is_test(each.path)
        ]
        return tuple(path for path in gone if not self._table.is_test(since.renamed.get(path, "")))

    def _lost(self, base: Baseline, since: Since) -> tuple[tuple[str, str], ...]:
        """Assertions that stood in files of the work at the start, and stand nowhere in the work now."""
        mixed = [each for each in self._split.work if each.path.endswith(criteria.INLINE)]
        now = "\n".join(files.read_quietly(os.path.join(since.top, each.path)) or "" for each in mixed)
        return tuple(
            (each.path, text)
            for each in mixed
            for text in criteria.inline_assertions(
                baseline.text_at_start(self._loop, base, each, self._env) or ""
            )
            if text not in now
        )

    def _copied(self, since: Since) -> tuple[tuple[str, str], ...]:
        """Files of the work that are what a golden file was at the start, and were not so then."""
        golden = {blob: path for path, blob in self._kept.items() if self._table.is_golden(path)}
        return tuple(
            (each.path, golden[each.new])
            for each in self._split.work
            if each.new in golden and _size(os.path.join(since.top, each.path)) >= COPY_MIN
        )

    def _moved(self, since: Since) -> tuple[tuple[str, str], ...]:
        """Files that are now in a folder in which checkers do not look."""
        return tuple(
            (old, new)
            for old, new in since.renamed.items()
            if not self._table.others.isdisjoint(new.split("/")[:-1])
            and self._table.others.isdisjoint(old.split("/")[:-1])
        )

    def _suspects(self, base: Baseline, since: Since) -> tuple[Suspect, ...]:
        judging = {each.path for each in self._split.criteria}
        changes = (*self._split.criteria, *self._split.work)  # what judges is read first
        paths = [each.path for each in changes if each.kind != REMOVED]
        added, self._unread = baseline.added_lines(self._loop, base, since, paths, self._env)
        return tuple(
            Suspect(path, number, does)
            for path, lines in added.items()
            for number, _, does in added_line.suspicious(
                path, lines, is_criterion=path in judging, commands=self._commands
            )
        )

    def _tried(self, command: str) -> Tried:
        return self.record.tried.get(command, Tried())

    def _note(self, command: str, **known: Any) -> None:
        after = self._tried(command)._replace(**known)
        self.record = self.record._replace(tried={**self.record.tried, command: after})


def apart_from(base: Baseline, loop: LoopFiles, env: Mapping[str, str], *, top: str) -> Stage:
    """A stage over the repository as it is now, and over our own state: no variable tells a command there
    that it is a check, so what it has to say as a person must not be heard."""
    git, git_env = baseline.checkout(base, loop, env, top=top)
    places = (top, *[base.common] * (not files.inside(base.common, top)), loop.shelf.home)
    prefixes = sorted(filter(None, base.kept), key=len, reverse=True)
    inner = tuple(Inner(name, *baseline.checkout(base, loop, env, prefix=name, top=top)) for name in prefixes)
    return Stage(places, baseline.spare(loop), git=git, git_env=git_env, inner=inner)


def _shadows(change: Change) -> bool:
    """Whether a module was added that everything here imports instead of the standard library's."""
    name = change.path.removesuffix("/__init__.py").removesuffix(".py")
    return change.kind == ADDED and change.path.endswith(".py") and name in sys.stdlib_module_names


def _stood(ran: Ran) -> bool:
    return ran.apart is not None and ran.apart.stood


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _wrote(ran: Ran) -> bool:
    return ran.apart is None or bool(ran.apart.wrote)


def _guarded(loop: LoopFiles, top: str, folder: str) -> list[str]:
    """The globs of `protect` as seen from the repository's top."""
    below = os.path.relpath(folder, top)
    return [os.path.normpath(os.path.join(below, glob)) for glob in protect.patterns_of(loop)]


def _git(base: Baseline, since: Since) -> conclusion.Git:
    keys = sorted(
        key for key in {*base.config, *since.config} if base.config.get(key) != since.config.get(key)
    )
    return conclusion.Git(
        overlooked=tuple(path for path in since.overlooked if path not in base.overlooked),
        settings=tuple(keys),
        excluded=base.exclude != since.exclude,
        began_on=base.branch,
        is_on=since.branch,
        worked_in="" if base.top == since.top else since.top,
    )


def _flaky(loop: LoopFiles, commands: Sequence[str]) -> list[str]:
    """Commands that were red and green on one tree, by what they left as evidence."""
    seen: dict[tuple[str, str], set[bool]] = {}
    for entry in check_record.recent(loop):
        if entry.command not in commands:
            continue
        facts = check_record.load(loop, entry.id) or {}
        digest, ended = facts.get("tree"), isinstance(facts.get("exit_code"), int)
        if isinstance(digest, str) and digest and ended:
            seen.setdefault((entry.command, digest), set()).add(entry.green)
    return sorted({command for (command, _), greens in seen.items() if len(greens) > 1})

"""What follows from all that was seen of a proof: doubts and notes, one function per kind. Nothing is run or
read here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ralphloop.domain import finding
from ralphloop.domain.finding import Finding
from ralphloop.domain.prompt import line
from ralphloop.proof.checker import Due
from ralphloop.proof.proof_record import GREEN, RED, UNTRIED, Tried

NAMED_MAX = 5  # files that one doubt names, and that stand beside a task
KEPT_MAX = 200  # findings of one kind
WORD_MAX, QUOTED_MAX = 60, 120
UNTRUE = "a file could not be put back"  # why a stage does not stand, though there was one at the start
RAN_APART = "who runs it"  # what a check is green by that asks for our variables or for its parents


class Suspect(NamedTuple):
    """A line that was added since the start, and what it does."""

    path: str
    number: int
    does: str


class Git(NamedTuple):
    """What git, and where the work is, differ in from the start."""

    overlooked: tuple[str, ...] = ()  # paths that git was told not to look at
    settings: tuple[str, ...] = ()
    excluded: bool = False  # whether `.git/info/exclude` changed
    began_on: str = ""  # the branch at the start, where it is another now
    is_on: str = ""
    unread: str = ""  # why it does not say any more what has changed, though it did at the start
    worked_in: str = ""  # the worktree that the work is in, where it is another than at the start


class Seen(NamedTuple):
    """All that a conclusion looks at."""

    asked: tuple[Due, ...]  # the tasks that this loop has proven, and with no name the list itself
    tried: Mapping[str, Tried]
    is_known: bool = True  # whether it is known what has changed since the start
    work: tuple[str, ...] = ()  # paths that changed
    criteria: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # test files that are gone
    lost: tuple[tuple[str, str], ...] = ()  # a file of the work, and an assertion that it had
    moved: tuple[tuple[str, str], ...] = ()  # from and to where no checker looks
    copied: tuple[tuple[str, str], ...] = ()  # a file of the work, and the golden one that it is a copy of
    suspects: tuple[Suspect, ...] = ()
    programs: tuple[tuple[str, str, str], ...] = ()  # command, its word, and the file behind it that changed
    flaky: tuple[str, ...] = ()  # commands that were red and green on the same files
    ignored: tuple[str, ...] = ()  # files outside of what git sees that are younger than the start
    git: Git = Git()
    weak: Mapping[str, str] = {}  # command -> why it is weak
    untried: str = ""  # why nothing at all could be tried
    top: str = ""  # the repository, below which files are named without it

    def tasks(self, command: str) -> list[str]:
        return [one.task for one in self.asked if command in one.commands and one.task]


Conclusion = Callable[[Seen], Iterable[Finding]]


def conclude(seen: Seen) -> tuple[Finding, ...]:
    """Doubts first; of each kind a bounded number."""
    return tuple(one for kind in CONCLUSIONS for one in _bounded(kind, seen))


def _bounded(kind: str, seen: Seen) -> list[Finding]:
    found = list({one.said: one for one in CONCLUSIONS[kind](seen)}.values())
    left = len(found) - KEPT_MAX
    more = [Finding(kind, said=f"{left} more of this kind: {kind}")] if left > 0 else []
    return found[:KEPT_MAX] + more


def at_start(seen: Seen) -> tuple[Finding, ...]:
    """What can be said of checks before any work: nothing of it is a doubt yet."""
    whys = {tried.why for tried in seen.tried.values() if tried.first == UNTRIED and tried.why}
    if len(whys) == 1 and not any(tried.first != UNTRIED for tried in seen.tried.values()):
        seen = seen._replace(untried=whys.pop())
    return tuple(one for kind in finding.NOTES for one in _bounded(kind, seen))


def turned(seen: Seen) -> dict[str, tuple[str, ...]]:
    """Beside each task, changed files that its checks read."""
    found = {}
    for one in seen.asked:
        read = [path for command in one.commands for path in seen.tried.get(command, Tried()).read]
        if one.task and read:
            found[one.task] = tuple(dict.fromkeys(read))[:NAMED_MAX]
    return found


def _criteria(seen: Seen) -> Iterator[Finding]:
    for task, tried in _each(seen):
        if tried.cause == finding.CRITERIA:
            files = tried.named[:NAMED_MAX]
            said = f"{_name(task)} is green only with changes to {_few(tried.named)}"
            yield Finding(finding.CRITERIA, said=said, task=task, files=files)
        elif tried.cause == finding.PLACE and tried.named:
            said = f"{_name(task)} cannot be tried apart, and {_few(tried.named)} changed since the start"
            yield Finding(finding.CRITERIA, said=said, task=task, files=tried.named[:NAMED_MAX])
        elif tried.why == UNTRUE and seen.criteria:
            said = f"{_name(task)} cannot be tried apart, and {_few(seen.criteria)} changed since the start"
            yield Finding(finding.CRITERIA, said=said, task=task, files=seen.criteria[:NAMED_MAX])
        elif tried.alone == RED and not tried.cause and seen.criteria:  # no time was left to find out why
            said = f"{_name(task)} is red without the changes to {_few(seen.criteria)}, and perhaps by them"
            yield Finding(finding.CRITERIA, said=said, task=task, files=seen.criteria[:NAMED_MAX])


def _idle(seen: Seen) -> Iterator[Finding]:
    """Green without the work; or nothing but checks that were green before it began."""
    for one in seen.asked:
        known = [seen.tried.get(command, Tried()) for command in one.commands]
        if not one.task or not known:
            continue
        young = f"; younger than the start: {_few(seen.ignored)}" if seen.ignored else ""
        if any(tried.cause == finding.IDLE for tried in known):
            said = f"{_name(one.task)} is green only by what was made before its work was finished{young}"
            yield Finding(finding.IDLE, said=said, task=one.task, files=seen.ignored[:NAMED_MAX])
        elif any(tried.without == GREEN and tried.first != GREEN for tried in known):
            said = f"{_name(one.task)} is green without the work{young}"
            yield Finding(finding.IDLE, said=said, task=one.task, files=seen.ignored[:NAMED_MAX])
        elif all(tried.first == GREEN for tried in known):
            said = f"{_name(one.task)} was green before the work began"
            yield Finding(finding.IDLE, said=said, task=one.task)


def _nothing(seen: Seen) -> Iterator[Finding]:
    if seen.is_known and not (seen.work or seen.criteria):
        young = f"; younger than the start: {_few(seen.ignored)}" if seen.ignored else ""
        for one in seen.asked:
            if one.task:
                said = f"{_name(one.task)} is green, and no file has changed since the start{young}"
                yield Finding(finding.NOTHING, said=said, task=one.task, files=seen.ignored[:NAMED_MAX])


def _removed(seen: Seen) -> Iterator[Finding]:
    for path in seen.removed:
        yield Finding(finding.REMOVED, said=f"the test file {_name(path)} is gone", files=(path,))
    for path, text in seen.lost:
        said = f"an assertion is gone from {_name(path)}: {_quoted(text)}"
        yield Finding(finding.REMOVED, said=said, files=(path,))
    for path, target in seen.moved:
        said = f"{_name(path)} was moved to where no checker looks: {_name(target)}"
        yield Finding(finding.REMOVED, said=said, files=(target,))
    for task, tried in _each(seen):
        if tried.fewer:
            yield Finding(finding.REMOVED, said=f"{_name(task)} {tried.fewer}", task=task)


def _line(seen: Seen) -> Iterator[Finding]:
    for one in seen.suspects:
        said = f"an added line {one.does}: {_name(one.path)}:{one.number}"
        yield Finding(finding.LINE, said=said, files=(one.path,))
    for path, golden in seen.copied:
        yield Finding(finding.LINE, said=f"{_name(path)} is a copy of {_name(golden)}", files=(path,))


def _program(seen: Seen) -> Iterator[Finding]:
    """What a check makes anew each time is its product, and no tool of it."""
    for command, word, path in seen.programs:
        if path in seen.tried.get(command, Tried()).made:
            continue
        shown = path.removeprefix(seen.top + "/") if seen.top else path
        for task in seen.tasks(command) or [""]:
            whose = _name(task) if task else "the list"
            said = f"{whose} is judged by {_name(word)}, which has changed since the start ({_name(shown)})"
            yield Finding(finding.PROGRAM, said=said, task=task, files=(shown,))


def _variable(seen: Seen) -> Iterator[Finding]:
    for task, tried in _each(seen):
        if tried.cause == finding.VARIABLE:
            what = _few(tried.named) if tried.named else RAN_APART
            yield Finding(finding.VARIABLE, said=f"{_name(task)} is green only by {what}", task=task)


def _git(seen: Seen) -> Iterator[Finding]:
    git = seen.git
    for task, tried in _each(seen):
        if tried.why == UNTRUE and not seen.criteria:
            said = f"{_name(task)} cannot be tried apart: git has lost what was there at the start"
            yield Finding(finding.GIT, said=said, task=task, files=(".git",))
    if git.unread:
        path = ".git"
        said = f"{path} does not tell any more what has changed: {line(git.unread, QUOTED_MAX)}"
        yield Finding(finding.GIT, said=said, files=(path,))
    if git.overlooked:
        said = f"git was told to overlook {_few(git.overlooked)}"
        yield Finding(finding.GIT, said=said, files=git.overlooked[:NAMED_MAX])
    if git.settings:
        path = ".git/config"
        said = f"git's settings have changed in {path}: {_few(git.settings)}"
        yield Finding(finding.GIT, said=said, files=(path,))
    if git.excluded:
        path = ".git/info/exclude"
        yield Finding(finding.GIT, said=f"{path} has changed since the start", files=(path,))


def _elsewhere(seen: Seen) -> Iterator[Finding]:
    git, work = seen.git, f"the work ({_few(one.task for one in seen.asked if one.task)})"
    if git.worked_in:
        said = f"{work} is in the worktree {_name(git.worked_in)}, and the loop began in another"
        yield Finding(finding.ELSEWHERE, said=said)
    elif git.began_on != git.is_on:
        is_on = f"on {_name(git.is_on)}" if git.is_on else "on no branch"
        began = f"on {_name(git.began_on)}" if git.began_on else "on none"
        yield Finding(finding.ELSEWHERE, said=f"{work} is {is_on}, and the loop began {began}")


def _flaky(seen: Seen) -> Iterator[Finding]:
    for command in seen.flaky:
        for task in seen.tasks(command):
            said = f"{_name(task)} was red and green on the same files: {_quoted(command)}"
            yield Finding(finding.FLAKY, said=said, task=task)


def _already_green(seen: Seen) -> Iterator[Finding]:
    for command, tried in seen.tried.items():
        for task in seen.tasks(command) if tried.first == GREEN else ():
            said = f"{_name(task)}: {_quoted(command)} was green before the work began"
            yield Finding(finding.ALREADY_GREEN, said=said, task=task)


def _weak(seen: Seen) -> Iterator[Finding]:
    for command, why in seen.weak.items():
        for task in seen.tasks(command):
            said = f"{_name(task)}: {_quoted(command)} is weak, because {why}"
            yield Finding(finding.WEAK, said=said, task=task)


def _place(seen: Seen) -> Iterator[Finding]:
    for task, tried in _each(seen):
        if tried.cause == finding.PLACE:
            said = f"{_name(task)} was not tried apart: its check is red there with nothing put back"
            yield Finding(finding.PLACE, said=said, task=task)


def _not_tried(seen: Seen) -> Iterator[Finding]:
    if seen.untried:
        said = f"no check was tried apart from the work: {seen.untried}"
        yield Finding(finding.NOT_TRIED, said=said)
        return
    for task, tried in _each(seen):
        if tried.why and tried.cause != finding.PLACE:
            said = f"{_name(task)} was not tried apart from the work: {tried.why}"
            yield Finding(finding.NOT_TRIED, said=said, task=task)


def _each(seen: Seen) -> Iterator[tuple[str, Tried]]:
    """Every task with what each of its commands came to; the list itself is the last."""
    for one in seen.asked:
        for command in one.commands:
            yield one.task, seen.tried.get(command, Tried())


def _name(text: str) -> str:
    return line(text, WORD_MAX) if text else "the list"


def _quoted(command: str) -> str:
    return f"`{line(command, WORD_MAX)}`"


def _few(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - NAMED_MAX
    shown = [_name(one) for one in found[:NAMED_MAX]]
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


CONCLUSIONS: dict[str, Conclusion] = {
    finding.CRITERIA: _criteria,
    finding.IDLE: _idle,
    finding.NOTHING: _nothing,
    finding.REMOVED: _removed,
    finding.LINE: _line,
    finding.PROGRAM: _program,
    finding.VARIABLE: _variable,
    finding.GIT: _git,
    finding.ELSEWHERE: _elsewhere,
    finding.FLAKY: _flaky,
    finding.ALREADY_GREEN: _already_green,
    finding.WEAK: _weak,
    finding.PLACE: _place,
    finding.NOT_TRIED: _not_tried,
}

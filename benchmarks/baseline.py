"""The baseline section: what keeping the tree of a start costs beside `git status`, and comparing with it."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

from table import Section, ratio
from timing import WARM_UP_ROUNDS, Series, WrongAnswerError

from ralphloop.domain.model import Limits
from ralphloop.proof.baseline import load, since, take
from ralphloop.store.loop import LoopFiles
from ralphloop.store.shelf import Record, Shelf

SIZES = (300, 20_000)
PER_FOLDER = 100
AIM = 1.5
CHECK = "test -f folder0/file0.txt"
ENV = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}


def baseline(scratch: Path, rounds: int) -> Section:
    """In one process, interleaved: of another interpreter's start nobody would see the rest."""
    section = Section("baseline")
    for size in SIZES:
        series = measure(scratch / str(size), size, rounds)
        section.series += series
        section.figures += ratio(series, f"take, {size} files", f"git status, {size} files", AIM)
        section.figures += ratio(series, f"since, {size} files", f"git status, {size} files", None)
    section.notes.append("CPU time of git and of ourselves; creating a file may take most of it at 300 files")
    return section


def measure(place: Path, size: int, rounds: int) -> list[Series]:
    env = {**ENV, "HOME": str(place)}
    root = repository(place / "project", size, env)
    names = [f"{what}, {size} files" for what in ("git status", "take", "since")]
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-WARM_UP_ROUNDS, rounds):
        loop = new_loop(root, env, f"L{number + WARM_UP_ROUNDS}")
        for name, step in zip(names, (status, begin, compare), strict=True):
            before = used_ms()
            step(loop, root, env)
            if number >= 0:
                samples[name].append(used_ms() - before)
    return [Series(name, taken) for name, taken in samples.items()]


def repository(root: Path, size: int, env: dict[str, str]) -> Path:
    for number in range(size):
        file = root / f"folder{number // PER_FOLDER}" / f"file{number % PER_FOLDER}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    who = ("-c", "user.name=B", "-c", "user.email=b@example.invalid")
    for words in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "--message=x")):
        subprocess.run(["git", *words], cwd=root, env=env, check=True)
    time.sleep(1.1)  # files as old as the index would be read again by everybody
    subprocess.run(["git", "status"], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)
    return root


def new_loop(root: Path, env: dict[str, str], name: str) -> LoopFiles:
    about = {"layout": "features", "name": "bench", "root": str(root), "armed_at": "", "limits": Limits()}
    paths = {"list": str(root / "feature_list.json")}
    loop = LoopFiles(Record(name, paths=paths, **about), Shelf(str(root), env))
    loop.make()
    return loop


def used_ms() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1000 * sum(one.ru_utime + one.ru_stime for one in both)


def status(loop: LoopFiles, root: Path, env: dict[str, str]) -> None:
    subprocess.run(["/usr/bin/git", "status"], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)


def begin(loop: LoopFiles, root: Path, env: dict[str, str]) -> None:
    found, why = take(loop, str(root), env, commands=[CHECK], terms={})
    if found is None:
        raise WrongAnswerError(why)


def compare(loop: LoopFiles, root: Path, env: dict[str, str]) -> None:
    known = load(loop)
    found, why = since(loop, known, str(root), env) if known else (None, "nothing was kept")
    if found is None or found.changes:
        raise WrongAnswerError(why or "an untouched tree has changed")

"""The situations in which the disk fails: what has happened before, the run that meets the fault, and what
the next stop may come to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from faults.ground import Ground
from hook.harness import LAYOUTS, OWNER, loop_files, task_id
from hook.lines import user_line
from hook.proven import checked

CONTINUE, NOBODYS = "continue", "nobody's"  # beside the outcomes
MADE = "test -e made"


class Scene(NamedTuple):
    name: str
    build: Callable[[Path], Ground]
    act: Callable[[Ground], Any]
    then: frozenset[str]  # what the stop after may come to, once a command has been given again
    again: tuple[str, ...] = ()  # that command
    is_dear: bool = False  # it runs checks, which are processes of their own


def plain(base: Path, layout: str, **arming: Any) -> Ground:
    """Four tasks without checks: one given, one vouched for, two open; three turns are over."""
    ground = Ground(base, layout, loop_files(layout, total=4, done=1))
    ground.add_lines(user_line("begin"))
    ground.arm(**arming)
    assert ground.turn().blocks
    vouch(ground, 2)
    assert ground.turn().blocks
    return ground


def vouch(ground: Ground, number: int) -> None:
    ended = ground.cli("accept", task_id(ground.layout, number))
    assert ended.code == 0, ended


def checks(base: Path, layout: str, *commands: str, **arming: Any) -> Ground:
    """Tasks with checks, the first of them proven."""
    ground = checked(lambda kind, files: Ground(base, kind, files), layout, *commands, armed=False)
    (ground.root / "made").touch()
    ground.add_lines(user_line("begin"))
    ground.arm(**arming)
    assert ground.turn().blocks
    ground.close(1)
    assert ground.turn().blocks
    return ground


def unarmed(base: Path, layout: str) -> Ground:
    ground = Ground(base, layout, loop_files(layout, total=4, done=1))
    ground.write_by_tool(text='{"passes":true}')
    return ground


def waiting(base: Path, layout: str) -> Ground:
    """Armed for the next session."""
    ground = Ground(base, layout, loop_files(layout, total=4, done=1))
    ground.arm(session=None)
    return ground


def listed(base: Path, layout: str) -> Ground:
    """No loop yet."""
    ground = checked(lambda kind, files: Ground(base, kind, files), layout, MADE, "", "", armed=False)
    (ground.root / "made").touch()
    ground.add_lines(user_line("begin"))
    return ground


def unapproved(base: Path, layout: str) -> Ground:
    ground = listed(base, layout)
    ground.arm(approve=False)
    ground.turn()
    return ground


def claiming(ground: Ground, *numbers: int) -> Ground:
    for number in numbers:
        ground.close(number)
    return ground


def told(ground: Ground, *words: str) -> Ground:
    ended = ground.cli(*words)
    assert ended.code == 0, ended
    return ground


def damaged(ground: Ground) -> Ground:
    ground.own.write_text('{"features": [')
    return ground


def lost(ground: Ground) -> Ground:
    ground.own.unlink()
    return ground


def asked_for(ground: Ground, request: str) -> Ground:
    ground.the_loop().ask_for(request)
    return ground


def tampered(ground: Ground) -> Ground:
    """The criteria of the last task are other ones, and it is claimed."""
    path = ground.own if ground.layout == "features" else ground.folder / "tasks.md"
    text = path.read_text()
    changed = text.replace("Do F4", "Do less").replace("Task number 4", "Task number four")
    assert changed != text
    path.write_text(changed)
    return ground


def unmade(ground: Ground) -> Ground:
    (ground.root / "made").unlink()
    return ground


def turn(ground: Ground) -> Any:
    return ground.turn()


def session_starts(ground: Ground) -> Any:
    answer = ground.send("SessionStart", source="startup", model="claude-opus-5-5")
    ground.add_lines(user_line("begin"))
    return answer


def session_ends(ground: Ground) -> Any:
    return ground.send("SessionEnd", reason="other")


def says(*words: str) -> Callable[[Ground], Any]:
    return lambda ground: ground.cli(*words)


def scenes() -> list[Scene]:
    kinds = (_stops, _sessions, _commands)
    return [scene for layout in LAYOUTS for kind in kinds for scene in kind(layout)]


def _stops(layout: str) -> Iterator[Scene]:
    goes_on = frozenset([CONTINUE])

    def stop(name: str, build: Callable[[Path], Ground], *then: str, is_dear: bool = False) -> Scene:
        return Scene(f"{layout}/{name}", build, turn, frozenset(then or goes_on), is_dear=is_dear)

    yield stop("continues", lambda base: plain(base, layout))
    yield stop("claim", lambda base: claiming(plain(base, layout), 3))
    yield stop("complete", lambda base: claiming(plain(base, layout), 3, 4), "complete")
    yield stop("limit", lambda base: plain(base, layout, max_iterations=3), "limit")
    yield stop("paused", lambda base: told(plain(base, layout), "pause"), "interrupted")
    yield stop("unarmed", lambda base: unarmed(base, layout))
    yield stop("damaged", lambda base: damaged(plain(base, layout)))
    yield stop("lost", lambda base: lost(plain(base, layout)))
    yield stop("cancel-asked", lambda base: asked_for(plain(base, layout), "cancel"), "cancelled")
    yield stop("pause-asked", lambda base: asked_for(plain(base, layout), "pause"), "interrupted")
    yield stop("tampered", lambda base: tampered(plain(base, layout)))
    yield stop("green", lambda base: claiming(checks(base, layout, *[MADE] * 3), 2), is_dear=True)
    yield stop("red", lambda base: unmade(claiming(checks(base, layout, *[MADE] * 3), 2)), is_dear=True)
    yield stop(
        "final", lambda base: claiming(checks(base, layout, MADE, "true", "test -d ."), 2, 3), "complete",
        is_dear=True,
    )  # fmt: skip


def _sessions(layout: str) -> Iterator[Scene]:
    both = frozenset([CONTINUE, "interrupted"])
    yield Scene(f"{layout}/binds", lambda base: waiting(base, layout), session_starts, frozenset([CONTINUE]))
    yield Scene(f"{layout}/session-ends", lambda base: plain(base, layout), session_ends, both)


def _commands(layout: str) -> Iterator[Scene]:
    def command(
        build: Callable[[Path], Ground], *words: str, then: str = CONTINUE, is_dear: bool = False
    ) -> Scene:
        name = f"{layout}/{words[0]}"
        return Scene(name, build, says(*words), frozenset([then]), again=words, is_dear=is_dear)

    third = task_id(layout, 3)
    yield command(lambda base: listed(base, layout), "start", "--yes", "--session", OWNER, is_dear=True)
    yield command(lambda base: plain(base, layout), "done", third)
    yield command(lambda base: plain(base, layout), "accept", third)
    yield command(lambda base: plain(base, layout), "cancel", then="cancelled")
    yield command(lambda base: plain(base, layout), "pause", then="interrupted")
    yield command(lambda base: told(plain(base, layout), "pause"), "resume")
    yield command(lambda base: unapproved(base, layout), "approve", "--yes", is_dear=True)
    yield command(
        lambda base: checks(base, layout, *[MADE] * 3), "done", task_id(layout, 2), is_dear=True
    )._replace(name=f"{layout}/done-checked")


def open_tasks(ground: Ground) -> list[int]:
    """The places of the tasks that the list does not call done, from 1; none if it cannot be read."""
    try:
        state = json.loads(ground.own.read_text())
    except (OSError, ValueError):
        return []
    if ground.layout == "features":
        done = [one["passes"] for one in state["features"]]
    else:
        rows = (ground.folder / "tasks.md").read_text().splitlines()
        done = [row.startswith("- [x]") for row in rows if row.startswith("- [")]
    return [place for place, is_done in enumerate(done, 1) if not is_done]

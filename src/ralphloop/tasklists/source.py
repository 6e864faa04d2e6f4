"""Where the files of one task list are, and what a layout module offers."""

from __future__ import annotations

from ralphloop.domain.model import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import Callable, Mapping, Optional, Protocol

    from ralphloop.domain.layout import Traits
    from ralphloop.domain.model import TaskList
    from ralphloop.tasklists.restoring import Restored

    Texts = Mapping[str, Optional[str]]

    class Layout(Protocol):
        """One kind of task list; its functions take and return texts, never paths they open."""

        NAME: str
        TRAITS: Traits

        def locate(
            self,
            root: str,
            *,
            env: Mapping[str, str],
            read: Callable[[str], Optional[str]],
            names: Callable[[str], list[str]],
        ) -> list[Source]:
            """The task lists that the files below `root` point at."""

        def places(self, root: str, settings: dict[str, list[str]]) -> list[tuple[str, str]]:
            """Each folder of lists that a pointer may lead into, with that pointer."""

        def parse(self, texts: Texts) -> TaskList:
            """The tasks in those texts, by role; ValueError if one of them is corrupt."""

        def mark(self, texts: Texts, *places: int, done: bool) -> dict[str, str]:
            """The texts that change when the tasks at these places (from 0) are closed or reopened."""

        def is_work(self, written: str, *, by_shell: bool) -> bool:
            """Whether this, written into the loop's own file, is work on its tasks, and not its planning."""

        def record(self, texts: Texts, tally: Tally) -> dict[str, str]:
            """The texts that change when the counters of a run are written for people and plugins."""

        def restore(self, texts: Texts, pinned: Texts) -> Restored:
            """The texts with the pinned criteria put back where they were changed or removed."""

        def hold_additions(
            self, texts: Texts, pinned: str, *, known: set[str], modified: dict[str, int]
        ) -> tuple[dict[str, str], list[str], list[str]]:
            """The texts that change where too many tasks were added, why each of those was one too many, and
            the tasks that were split since. `known` were added before; `modified` says how often one was
            split."""

        def protect(self, texts: Texts) -> list[str]:
            """The globs of the files that no claim may touch; ValueError if the list is corrupt."""


class Source(Fields):
    """The files of one task list, by role: list, state, tasks, progress, prompt."""

    FIRST = ("layout", "name")

    layout: str
    name: str
    _: KW_ONLY
    root: str
    paths: dict[str, str]
    enabled: bool = True
    max_iterations: Optional[int] = None


class Tally(Fields):
    """The figures of a run that task-list files show."""

    FIRST = ("status",)

    status: str
    _: KW_ONLY
    iteration: int
    max_iterations: int
    index: int
    total: int
    attempt: int
    fixes: Mapping[str, list[str]] = {}  # the ids of the fix tasks of each task that has some

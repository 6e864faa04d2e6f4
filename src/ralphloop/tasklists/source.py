"""Where the files of one task list are, and what a layout module offers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional, Protocol

    from ralphloop.domain.model import TaskList

    Texts = Mapping[str, Optional[str]]

    class Layout(Protocol):
        """One kind of task list; its functions take and return texts, never paths they open."""

        NAME: str

        def locate(
            self,
            root: str,
            *,
            env: Mapping[str, str],
            read: Callable[[str], Optional[str]],
            names: Callable[[str], list[str]],
        ) -> list[Source]:
            """The task lists that the files below `root` point at."""

        def parse(self, texts: Texts) -> TaskList:
            """The tasks in those texts, by role; ValueError if one of them is corrupt."""

        def mark(self, texts: Texts, place: int, *, done: bool) -> dict[str, str]:
            """The texts that change when the task at `place` (from 0) is closed or reopened."""

        def record(self, texts: Texts, tally: Tally) -> dict[str, str]:
            """The texts that change when the counters of a run are written for people and plugins."""


class Source:
    """The files of one task list, by role: list, state, tasks, progress, prompt."""

    __slots__ = ("enabled", "layout", "max_iterations", "name", "paths", "root")

    def __init__(
        self,
        layout: str,
        name: str,
        *,
        root: str,
        paths: dict[str, str],
        enabled: bool = True,
        max_iterations: Optional[int] = None,
    ) -> None:
        self.layout = layout
        self.name = name
        self.root = root
        self.paths = paths
        self.enabled = enabled
        self.max_iterations = max_iterations


class Tally:
    """The figures of a run that task-list files show."""

    __slots__ = ("attempt", "index", "iteration", "max_iterations", "status", "total")

    def __init__(
        self, status: str, *, iteration: int, max_iterations: int, index: int, total: int, attempt: int
    ) -> None:
        self.status = status
        self.iteration = iteration
        self.max_iterations = max_iterations
        self.index = index
        self.total = total
        self.attempt = attempt

"""The `features` layout: where its files are, and the run's figures in progress.txt."""

from __future__ import annotations

from ralphloop import system as os
from ralphloop.domain.layout import TELL, Traits
from ralphloop.tasklists import progress
from ralphloop.tasklists.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional

    from ralphloop.domain.model import TaskList
    from ralphloop.tasklists.pins import Held, Restored
    from ralphloop.tasklists.source import Tally, Texts

NAME = "features"
_FILES = {"list": "feature_list.json", "progress": "progress.txt", "prompt": "RALPH_PROMPT.md"}
TRAITS = Traits(
    plugin="ralphloop",
    action="",
    voice="",
    kind="list",
    files=_FILES,
    truth=("list",),
    phases={},
    settings="",
    chosen_by="RALPH_LOOP_DIR",
    iterations=0,
    closing='"passes": true',
    delegates=False,
    waits_for_approval=True,
    rests_empty=False,
    tells_completion=True,
    at_limit=TELL,
)

_LOOPS = (".ralph", "loops")
_DOCUMENTED_LOOPS = (".claude", "data", "ralph-loops")

ended = progress.ended


def locate(
    root: str,
    *,
    env: Mapping[str, str],
    read: Callable[[str], Optional[str]],
    names: Callable[[str], list[str]],
) -> list[Source]:
    chosen = env.get(TRAITS.chosen_by)
    if chosen:
        folder = os.path.normpath(os.path.join(root, chosen))
        return [_source(root, folder)] if _FILES["list"] in names(folder) else []
    return [_source(root, folder) for folder in _folders(os.path.join(root, *_LOOPS), names)] + [
        _source(root, folder)
        for folder in _documented(os.path.join(root, *_DOCUMENTED_LOOPS), read=read, names=names)
    ]


def _folders(parent: str, names: Callable[[str], list[str]]) -> list[str]:
    folders = [os.path.join(parent, name) for name in names(parent)]
    return [folder for folder in folders if _FILES["list"] in names(folder)]


def _documented(
    parent: str, *, read: Callable[[str], Optional[str]], names: Callable[[str], list[str]]
) -> list[str]:
    """The folder `current`, else the only one that has not ended: among several none is meant."""
    folders = _folders(parent, names)
    current = os.path.join(parent, "current")
    if current in folders:
        return [current]
    running = [
        folder for folder in folders if not ended(read(os.path.join(folder, _FILES["progress"])) or "")
    ]
    return running if len(running) == 1 else []


def _source(root: str, folder: str) -> Source:
    paths = {role: os.path.join(folder, file) for role, file in _FILES.items()}
    return Source(NAME, os.path.basename(folder), root=root, paths=paths)


def parse(texts: Texts) -> TaskList:
    from ralphloop.tasklists import feature_list

    return feature_list.parse(texts)


def places(root: str, settings: dict[str, list[str]]) -> list[tuple[str, str]]:
    """No pointer leads to these lists."""
    return []


def mark(texts: Texts, *places: int, done: bool) -> dict[str, str]:
    from ralphloop.tasklists import feature_list

    return feature_list.mark(texts, *places, done=done)


def is_work(written: str, *, by_shell: bool) -> bool:
    """Only with a task passed, because writing a list is also how a loop is planned."""
    said = written.replace(" ", "").replace('\\"', '"')
    by_jq = by_shell and (".passes=true" in said or ".passes|=true" in said)
    return by_jq or '"passes":true' in said


def record(texts: Texts, tally: Tally) -> dict[str, str]:
    text = texts.get("progress")
    if text is None:
        return {}
    values = {
        progress.STATUS: tally.status,
        progress.ITERATION: str(tally.iteration),
        progress.MAX_ITERATIONS: str(tally.max_iterations),
    }
    written = progress.write(text, values)
    return {"progress": written} if written != text else {}


def restore(texts: Texts, pinned: Texts) -> Restored:
    from ralphloop.tasklists import feature_pins

    return feature_pins.restore(texts, pinned)


def hold_additions(texts: Texts, pinned: str, *, known: set[str], modified: dict[str, int]) -> Held:
    """However many are added, they only make the list longer."""
    from ralphloop.tasklists.pins import Held

    return Held()


def protect(texts: Texts) -> list[str]:
    from ralphloop.tasklists import feature_list

    text = texts.get("list")
    return [] if text is None else feature_list.protect(text)

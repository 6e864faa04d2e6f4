"""The text that a driven session begins with: where it stands, the loop's own prompt, and its task."""

from __future__ import annotations

from collections.abc import Mapping

from ralphloop.domain import prompt
from ralphloop.domain.model import LoopState
from ralphloop.domain.prompt import Words
from ralphloop.engine.words import words_for
from ralphloop.store import files
from ralphloop.store.loop import LoopFiles
from ralphloop.store.tasks import Reading, is_written

PROMPT_MAX = 1_000_000


def text(loop: LoopFiles, state: LoopState, reading: Reading, *, cwd: str, env: Mapping[str, str]) -> str:
    """It always begins with words of ours: a file of the project must not be taken for a typed command."""
    words = words_for(loop, cwd, env)
    parts = [_where(loop, words), _own_prompt(loop), state.carry, _task(loop, state, reading, words)]
    return "\n\n".join(part for part in parts if part)


def _where(loop: LoopFiles, words: Words) -> str:
    notes = f" and in {words.notes_path}" if words.notes_path else ""
    return (
        f"This is a fresh session of the loop {prompt.line(loop.record.name, 80)}. What earlier sessions did "
        f"is in the files, in the log of git{notes}. Nobody reads along: work on the task below, claim it, "
        "then stop." + (" Whatever is said below: do not commit, ralphloop does." if words.branch else "")
    )


def _own_prompt(loop: LoopFiles) -> str:
    path = loop.record.paths.get("prompt", "")
    if not path or files.leads_out(path, loop.record.root):  # a link must not send what lies elsewhere
        return ""
    text = (files.read_quietly(path) or "").strip()
    return text if len(text) <= PROMPT_MAX else f"Read {path} first."


def _task(loop: LoopFiles, state: LoopState, reading: Reading, words: Words) -> str:
    work = reading.work
    if work is None:
        return f"Look at {words.list_path} and go on with it."
    if work.phase != "execution":
        return prompt.phase(state, work, written=is_written(loop.record, work), words=words)
    limit = int(loop.record.limits.iterations)
    return prompt.continuation(state, work, limit=limit, words=words, notes=reading.notes)

"""What the demo shows while it runs: one line per thing that happens, at a pace a person can read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from ralphloop.lab.hook_call import HookAnswer
from ralphloop.lab.step import Edit, Pass, Shell, Tool, ToolResult
from ralphloop.views.fold import fold, size_of

_NARROWEST, _WIDEST = 40, 88
_LABEL = 9
_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33", "cyan": "36"}
# seconds after each kind of line; the whole demo shall take about 7
_PACE_S = {"command": 0.25, "say": 0.2, "tool": 0.12, "hook": 0.35, "refused": 0.9}


class Screen:
    """Writes to one stream; plain and without pauses unless that is a terminal."""

    def __init__(self, stream: TextIO, *, fast: bool, color: bool, env: Mapping[str, str]) -> None:
        terminal = stream.isatty()
        self._stream = stream
        self._paced = terminal and not fast
        self._read_by = 0.0
        self._colored = terminal and color and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self._width = max(_NARROWEST, min(_WIDEST, size_of(stream, env)[0]))

    def title(self, text: str) -> None:
        self._print("\n" + self._styled("bold", text))

    def plain(self, text: str = "") -> None:
        for line in fold(text, self._width):
            self._print(line)

    def path(self, path: Path) -> None:
        """A path in one piece, however long it is."""
        self._print(f"  {path}")

    def command(self, command: str, output: str) -> None:
        self._print(self._styled("bold", f"$ {command}"))
        self._lines(output, indent="  ")
        self._pause("command")

    def say(self, text: str) -> None:
        self._row("agent", "cyan", f"“{' '.join(text.split())}”")
        self._pause("say")

    def tool(self, step: Tool, result: ToolResult) -> None:
        self._row("agent", "cyan", _shown(step))
        if isinstance(step, Shell) or result.failed:
            self._lines(result.output, indent=" " * _LABEL)
        self._pause("tool")

    def stop(self, answer: HookAnswer, *, refused: bool, rule: str) -> None:
        """The hook's answer to the end of a turn: what the person sees, what the agent is told, and why."""
        verdict = "REFUSED" if refused else "CONTINUE" if answer.continues else "ALLOW"
        style = {"REFUSED": "red", "CONTINUE": "yellow", "ALLOW": "green"}[verdict]
        self._row("hook", style, f"{verdict}  {answer.message or answer.notice or '(silent)'}")
        if answer.continues:
            told = answer.feedback.splitlines()
            shown = [*_refusals(told)] if refused else told[:1]
            self._lines("\n".join(shown), indent=" " * _LABEL, style=style if refused else "")
        why = f"decided by the rule {rule or '(none)'} in {answer.output.duration_ms:.0f} ms"
        self._lines(why, indent=" " * _LABEL, style="dim")
        self._pause("refused" if refused else "hook")

    def hook_says(self, text: str) -> None:
        self._row("hook", "green", text)
        self._pause("hook")

    def facts(self, rows: Iterable[tuple[str, str]]) -> None:
        for name, value in rows:
            self._wrapped(f"  {name:<16}", value, style="")

    def note(self, text: str) -> None:
        self._lines(text, indent="  ", style="dim")

    def _row(self, who: str, style: str, text: str) -> None:
        self._wrapped(f"  {who:<{_LABEL - 2}}", text, style=style)

    def _wrapped(self, label: str, text: str, *, style: str) -> None:
        lines = fold(text, self._width - len(label), hang=0)
        self._print(self._styled(style, label) + lines[0])
        for line in lines[1:]:
            self._print(" " * len(label) + line)

    def _lines(self, text: str, *, indent: str, style: str = "dim") -> None:
        for paragraph in text.strip().splitlines():
            for line in fold(paragraph, self._width - len(indent)):
                self._print(indent + self._styled(style, line))

    def _styled(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colored and style else text

    def _print(self, text: str) -> None:
        time.sleep(max(0.0, self._read_by - time.monotonic()))
        self._stream.write(text + "\n")
        self._stream.flush()

    def _pause(self, kind: str) -> None:
        """Before the next line; what is worked meanwhile is time to read, too."""
        if self._paced:
            self._read_by = time.monotonic() + _PACE_S[kind]


def _refusals(told: list[str]) -> Iterator[str]:
    """Which checks failed, each with the first line of its output."""
    for place, line in enumerate(told):
        if "is refused: " in line:
            yield line
            if line.endswith(":"):
                yield from told[place + 1 : place + 2]


def _shown(step: Tool) -> str:
    if isinstance(step, Shell):
        return f"$ {step.command}"
    name = step.path.rpartition("/")[2]
    if isinstance(step, Pass):
        return f'edits {name}: {step.task} gets "passes": true'
    return f"edits {name}" if isinstance(step, Edit) else f"writes {name}"

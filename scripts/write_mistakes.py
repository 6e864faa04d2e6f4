"""Writes what every ordinary mistake is answered with, for people who grade it by command and output alone.

python scripts/write_mistakes.py FILE
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from e2e.cli_project import Done, Project
from e2e.mistakes import Mistake
from e2e.test_mistakes import ROWS, ground, play


def main() -> None:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for mistake in ROWS:
            with ground() as project:
                file.write(told(project, mistake, play(project, mistake)))


def told(project: Project, mistake: Mistake, done: Done) -> str:
    where = f" (in {mistake.folder}/)" if mistake.folder else ""
    shown = done.out.replace(str(project.root), "/home/you/project").replace(str(project.home), "/home/you")
    given = "".join(f"  | {line}\n" for line in mistake.stdin.splitlines())
    files = "".join(
        f"{path}:\n" + "".join(f"  {line}\n" for line in text.splitlines())
        for path, text in mistake.files.items()
    )
    typed = shlex.join(["ralphloop", *mistake.words])
    return f"== {mistake.name}{where}\n{files}{given}$ {typed}\n{shown}[exit code {done.code}]\n\n"


if __name__ == "__main__":
    main()

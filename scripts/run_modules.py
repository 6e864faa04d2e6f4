"""Counts the modules that `ralphloop run` touches in the foreground: those of which a function runs.

python scripts/run_modules.py             a run without a terminal
python scripts/run_modules.py --screen    the same in a pseudo-terminal, with the live view

The real client works through a small list, with a scripted model and without an account. What only defines
something does not count: a module's body, a class's, and what runs in the supervisor's process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "src/ralphloop"
INSIDE = "--inside"  # this process is the one to look at; before the file to write and the command's words
RUN = ("run", "demo", "--yes", "--permission-mode", "bypassPermissions")
RUN_S = 100.0
IS_FUNCTION = 0x1  # a code flag (CO_OPTIMIZED), which bodies of modules and classes do not have
IN_PLACE = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")  # no function of its own


def watched(noted: Path, words: list[str]) -> int:
    """The command with these words, as `python -m ralphloop` begins it; the modules go into the file."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    sys.argv = ["ralphloop", *words]
    try:
        from ralphloop.entry import entry

        return entry()
    finally:
        sys.setprofile(None)
        noted.write_text("\n".join(sorted(modules(seen))), encoding="utf-8")


def modules(codes: set[CodeType]) -> set[str]:
    """By dotted name below the package."""
    named = {code for code in codes if code.co_flags & IS_FUNCTION and code.co_name not in IN_PLACE}
    paths = {Path(os.path.realpath(code.co_filename)) for code in named}
    inside = [path.relative_to(PACKAGE).with_suffix("") for path in paths if path.is_relative_to(PACKAGE)]
    return {".".join(path.parts).removesuffix(".__init__") for path in inside}


def foreground(*, screen: bool) -> list[str]:
    """What a run that completes its list touches."""
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from e2e.client import ClientHome, find_client
    from e2e.looping import feature_turns
    from e2e.running import running
    from ralphloop.lab.reply import text
    from ralphloop.lab.scratch import scratch_folder

    binary = find_client()
    if binary is None:
        raise SystemExit("Claude Code is not installed: run `make e2e` once, or name it in RALPHLOOP_CLAUDE")
    with scratch_folder("ralphloop-modules-") as folder:
        (folder / "home").mkdir()
        root, turns = project(folder / "web"), iter(feature_turns(1, 2))
        home = ClientHome(folder / "home", binary)
        with running(home, root, lambda _: next(turns, text("Over."))) as stage:
            words = [sys.executable, __file__, INSIDE, str(folder / "modules"), *RUN]
            code, said = (on_screen if screen else in_a_pipe)(words, root, stage.env())
            if code or stage.ending != ("ended", "complete"):
                raise SystemExit(f"the run ended with {code}: {said}")
        return (folder / "modules").read_text(encoding="utf-8").split()


def project(root: Path) -> Path:
    """With a list of two tasks."""
    from e2e.running import list_of

    for path, content in list_of({}, {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return root


def in_a_pipe(words: list[str], root: Path, env: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        words, cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=RUN_S,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def on_screen(words: list[str], root: Path, env: dict[str, str]) -> tuple[int, str]:
    from e2e.screen import CommandScreen

    with CommandScreen(words, cwd=root, env=env) as shown:
        return shown.exit_code(RUN_S), shown.text()


def main() -> int:
    if INSIDE in sys.argv[1:2]:
        return watched(Path(sys.argv[2]), sys.argv[3:])
    touched = foreground(screen="--screen" in sys.argv[1:])
    print("\n".join(touched))
    print(f"{len(touched)} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main())

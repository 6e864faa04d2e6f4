"""Git on the person's repository, within a time limit and without a program of the repository's choosing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping

from ralphloop import errors
from ralphloop.domain.prompt import line
from ralphloop.proof import tree

ENDING_S = 3.0  # git takes its lock files away when it is asked to end
WORDS = (
    *tree.GIT, "--no-pager", "--no-replace-objects", "--literal-pathspecs",
    "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "diff.ignoreSubmodules=dirty", "-c", "submodule.recurse=false",
    "-c", "core.splitIndex=false", "-c", "i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8",
    "-c", "user.useConfigOnly=true", "-c", "advice.addEmbeddedRepo=false",
)  # fmt: skip


class Git:
    """Commands in one folder, all of them within one time limit. A filter that the repository's config sets
    up does run when files are added: without the one of git-lfs a commit would be wrong."""

    def __init__(self, folder: str, env: Mapping[str, str], *, budget_s: float) -> None:
        self._folder = folder
        self._env = tree.git_env(env)
        self._deadline = time.monotonic() + budget_s

    def out(self, *words: str, stdin: str = "", index: str = "") -> str:
        """What the command prints, without its last line end; GitError if it fails."""
        env = {**self._env, "GIT_INDEX_FILE": index} if index else self._env
        try:
            process = subprocess.Popen(
                [*WORDS, *words], cwd=self._folder, env=env, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise errors.GitError(f"git cannot be started: {error}") from error
        try:
            out, said = process.communicate(
                stdin.encode("utf-8", "replace"), timeout=max(0.0, self._deadline - time.monotonic())
            )
        except subprocess.TimeoutExpired:
            raise errors.SlowError(f"git {words[0]} took too long") from None
        finally:
            _end(process)
        if process.returncode != 0:
            raise errors.GitError(_last_words(said) or f"git {words[0]} failed ({process.returncode})")
        return os.fsdecode(out).rstrip("\n")

    def ask(self, *words: str) -> str | None:
        """The same; None if git says no."""
        try:
            return self.out(*words)
        except errors.GitError:
            return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it is left, whatever happened."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            os.killpg(process.pid, word)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _last_words(said: bytes) -> str:
    """The line that says why: the first error, behind which git puts hints."""
    lines = [text for text in said.decode("utf-8", "replace").splitlines() if text.strip()]
    errors = [text for text in lines if text.startswith(("fatal:", "error:"))]
    return line((errors or lines or [""])[0])

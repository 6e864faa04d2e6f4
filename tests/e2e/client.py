"""The real Claude Code client in a scratch home: print runs, conversations, and what makes it compact."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ralphloop.lab import scratch
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply

REPOSITORY = Path(__file__).resolve().parents[2]
BUSY_S = 180.0  # for what a client does in seconds, where twenty processes want each core

# Write and Bash run unasked, in print runs and in the terminal. Not "auto": its check runs on the vendor's
# server, and where that does not answer the terminal shows a dialog instead.
UNATTENDED = "bypassPermissions"
PRINT_OPTIONS = ("-p", "--output-format", "stream-json", "--verbose")
COMPACTION_ENV: Mapping[str, str] = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}


def filling_context(reply: Reply) -> Reply:
    """The reply after which the client compacts, before its next request, when run with COMPACTION_ENV.

    The client goes by the usage that a reply reports. It gives up with `too_few_groups` when this is the
    first reply of the conversation, so script at least one before it; later replies keep their small
    usage. The summary request does not consume the script: the server answers it with its `summary`.
    """
    return reply.using(input_tokens=99_000)


def find_client() -> Path | None:
    """The client named by RALPHLOOP_CLAUDE, else the one installed in the repository's cache."""
    named = os.environ.get("RALPHLOOP_CLAUDE")
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    package = f"claude-code-{sys.platform}-{machine.get(platform.machine().lower(), platform.machine())}"
    scope = REPOSITORY / ".cache/claude/node_modules/@anthropic-ai"
    binary = scope / package / "claude"
    return binary if os.access(binary, os.X_OK) else None


@dataclass(frozen=True)
class ClientHome:
    """A scratch HOME in which the client is past onboarding, knows the dummy key, and trusts the projects."""

    path: Path
    binary: Path
    extra_env: Mapping[str, str] = field(default_factory=dict)

    def trust(self, project: Path) -> None:
        scratch.trust(self.path, project)

    def env(self, server: ModelServer, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of the client: nothing is inherited from the caller's."""
        path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])
        return scratch.client_env(self.path, server.base_url, path=path) | {
            **self.extra_env,
            **(extra or {}),
        }

    def transcript(self, project: Path, session_id: str) -> list[dict[str, Any]]:
        """What the client has written so far about a session."""
        folder = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        file = self.path / ".claude/projects" / folder / f"{session_id}.jsonl"
        return json_lines(file.read_text(encoding="utf-8")) if file.exists() else []


@dataclass(frozen=True)
class PrintRun:
    """What a `-p` run left behind, or one prompt of a conversation, which has no exit code."""

    exit_code: int | None
    events: list[dict[str, Any]]
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The last `result` event; a run that ended without one is a failed test."""
        results = self.of_type("result")
        assert results, f"no result event, exit {self.exit_code}: {self.stderr}"
        return results[-1]

    def of_type(self, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
        found = [event for event in self.events if event.get("type") == kind]
        return [event for event in found if subtype is None or event.get("subtype") == subtype]


def client_arguments(
    *,
    plugin_dirs: Iterable[Path] = (),
    settings: Mapping[str, Any] | None = None,
    session_id: str | None = None,
    permission_mode: str | None = UNATTENDED,
    args: Sequence[str] = (),
) -> list[str]:
    """The options that a print run and a terminal share."""
    options = [option for folder in plugin_dirs for option in ("--plugin-dir", str(folder))]
    if settings is not None:
        options += ["--settings", json.dumps(settings)]
    if session_id is not None:
        options += ["--session-id", session_id]
    if permission_mode is not None:
        options += ["--permission-mode", permission_mode]
    return [*options, *args]


def run_print(
    home: ClientHome,
    project: Path,
    prompt: str,
    server: ModelServer,
    *,
    env: Mapping[str, str] | None = None,
    timeout_s: float = BUSY_S,
    **options: Any,
) -> PrintRun:
    """Run `claude -p` to its end; `options` are those of `client_arguments`."""
    if not (
        home.path / ".claude.json"
    ).exists():  # a print run asks for no trust; another one may be writing it
        home.trust(project)
    with _print_client(home, project, home.env(server, env), client_arguments(**options)) as process:
        try:
            stdout, stderr = process.communicate(prompt, timeout=timeout_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return PrintRun(process.returncode, json_lines(stdout), stderr)


def _print_client(
    home: ClientHome,
    project: Path,
    env: Mapping[str, str],
    options: Sequence[str],
    stderr: int | IO[str] = subprocess.PIPE,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(home.binary), *PRINT_OPTIONS, *options],
        cwd=project,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


class Conversation:
    """One client in print mode that is given prompt after prompt; a context manager that ends it."""

    def __init__(
        self,
        home: ClientHome,
        project: Path,
        server: ModelServer,
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        home.trust(project)
        words = ["--input-format", "stream-json", *client_arguments(**options)]
        self._stderr = home.path / "stderr"
        with self._stderr.open("w", encoding="utf-8") as stderr:
            self._process = _print_client(home, project, home.env(server, env), words, stderr)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def say(self, prompt: str, timeout_s: float = BUSY_S) -> PrintRun:
        """What the client told from this prompt to its result."""
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()
        events: list[dict[str, Any]] = []
        impatience = threading.Timer(timeout_s, self._kill)
        impatience.start()
        try:
            for line in stdout:
                events += json_lines(line)
                if events[-1:] and events[-1].get("type") == "result":
                    break
        finally:
            impatience.cancel()
        return PrintRun(self._process.poll(), events, self._stderr.read_text(encoding="utf-8"))

    def close(self, timeout_s: float = BUSY_S) -> None:
        """Without another prompt the client ends by itself, with its SessionEnd hooks."""
        try:
            self._process.communicate(timeout=timeout_s)
        finally:
            self._kill()
            self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def json_lines(text: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines text; a line still being written is passed over."""
    parsed = []
    for line in text.splitlines():
        try:
            parsed.append(json.loads(line))
        except ValueError:
            continue
    return parsed

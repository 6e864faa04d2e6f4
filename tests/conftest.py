"""What every test shares: signals that a child can notice, a place outside of every repository, and a client
that was there if it had to be."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

# A shell makes a job in the background ignore Ctrl-C, nohup makes it ignore a hang-up; children inherit that.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

REQUIRED = os.environ.get("RALPHLOOP_REQUIRE_CLIENT") == "1"
IN_A_REPOSITORY = 3
_ran: set[str] = set()  # the tests that ran the client to their end


def pytest_configure(config: pytest.Config) -> None:
    """A project outside of every repository is one of the things that are tested."""
    for place in filter(None, (tempfile.gettempdir(), config.option.basetemp)):
        folder = Path(place).resolve()
        for above in (folder, *folder.parents):
            if (above / ".git").exists():
                pytest.exit(
                    f"{above / '.git'} makes every scratch project in {folder} part of that repository; "
                    "move it away, or set TMPDIR to a folder without one above it.",
                    returncode=IN_A_REPOSITORY,
                )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if REQUIRED and report.skipped and item.get_closest_marker("client"):
        report.outcome = "failed"
        report.longrepr = f"RALPHLOOP_REQUIRE_CLIENT is set, and this was skipped: {report.longrepr}"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed and "client" in report.keywords:
        _ran.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    is_worker = hasattr(session.config, "workerinput")
    if REQUIRED and not is_worker and not _ran and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if REQUIRED and not _ran:
        terminalreporter.write_line("RALPHLOOP_REQUIRE_CLIENT is set, and no test ran the client.", red=True)

"""What an active stop imports: the allowed few, and our own hot modules."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import NamedTuple

import pytest

from budget.conftest import FILES, HOT, HOT_MODULES, Stage

HEAVY = {
    "re", "typing", "json", "pathlib", "dataclasses", "logging", "datetime", "subprocess", "argparse", "enum",
    "functools", "collections", "contextlib", "traceback", "ast", "site", "importlib.util", "os",
}  # fmt: skip


ALLOWED = ("time", "_json", "fcntl", "marshal", "gc")


@functools.cache
def closure(*modules: str) -> set[str]:
    """What these imports bring into a bare interpreter."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def split(names: set[str]) -> tuple[set[str], set[str]]:
    own = {name for name in names if name.partition(".")[0] == "ralphloop"}
    return own, names - own


class Seen(NamedTuple):
    """What one loop's first stops and its status line had in memory when they answered."""

    layout: str
    first: set[str]
    bundled: set[str]
    rewritten: bool
    line: str
    line_imported: set[str]


@pytest.fixture(scope="module", params=FILES)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A stop without a bundle, a status line and a stop with the one that it wrote."""
    stage = Stage(tmp_path_factory.mktemp("stage"), request.param)
    first = stage.imported()
    (bundle,) = (stage.package / "__pycache__").glob("hook.*.bundle")
    written = bundle.stat().st_mtime_ns
    line = stage.run(watched=True, registration="statusline")
    bundled = stage.imported()
    rewritten = bundle.stat().st_mtime_ns != written
    return Seen(stage.layout, first, bundled, rewritten, line.stdout, set(line.stderr.split()))


def test_the_allowed_closure_itself_holds_nothing_heavy():
    assert not closure(*ALLOWED, "__future__") & HEAVY


def test_an_active_stop_imports_only_the_allowed_closure_and_hot_modules(seen):
    own, foreign = split(seen.first)
    assert foreign <= closure(*ALLOWED, "__future__")
    assert {name.split(".")[1] for name in own if "." in name} <= {*HOT, *HOT_MODULES}


def test_a_stop_out_of_the_bundle_imports_even_less(seen):
    _, foreign = split(seen.bundled)
    assert foreign <= closure(*ALLOWED)
    assert not seen.rewritten


def test_a_stop_leaves_the_other_layouts_and_events_alone(seen):
    own, _ = split(seen.first)
    layouts = {"features", "specum", "speckit"} - {seen.layout}
    assert not own & {"ralphloop.tasklists." + name for name in layouts}
    assert not own & {
        "ralphloop.engine.claude_past",
        "ralphloop.engine.session",
        "ralphloop.hook.session_event",
        "ralphloop.hook.bundle",
        "ralphloop.agents",
        "ralphloop.domain.additions",
        "ralphloop.tasklists.restoring",
    }
    assert not own & {"ralphloop.hook.recording", "ralphloop.store.records", "ralphloop.proof"}
    assert "ralphloop.error_tree" not in own


def test_a_typed_command_is_kept_without_what_the_other_events_need():
    code = "import sys, ralphloop.hook.session_event; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    own, _ = split(set(done.stdout.split()))
    assert not own & {"ralphloop.engine.session", "ralphloop.engine.stop", "ralphloop.domain.decide"}


def test_a_status_line_imports_only_the_allowed_closure_and_no_rules(seen):
    assert seen.line.startswith("ralphloop demo · 0/1 done · iteration 2/")
    own, foreign = split(seen.line_imported)
    assert foreign <= closure(*ALLOWED)
    assert not own & {
        "ralphloop.engine.stop",
        "ralphloop.domain.decide",
        "ralphloop.engine.checks",
    }


def test_a_changed_module_makes_the_bundle_stale(stage):
    stage.run()
    prompt = stage.package / "domain" / "prompt.py"
    prompt.write_text(prompt.read_text().replace("Do this and nothing beyond it.", "Do exactly this."))
    for _ in range(2):  # once past the stale bundle, once out of the new one
        assert "Do exactly this." in stage.run().stdout


def test_a_module_that_is_half_written_costs_no_answer(stage):
    """An update under way: no bundle can be made, and the stop is answered all the same."""
    broken = stage.package / "hook" / "recording.py"
    broken.write_text(broken.read_text()[:300] + "\ndef (\n")
    done = stage.run()
    assert done.returncode == 0, done.stderr
    assert '"decision":' in done.stdout
    assert not done.stderr

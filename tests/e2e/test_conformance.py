"""Our own hook passes every case of the suite; a bad hook fails where it should."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e import toy_hooks
from e2e.client import REPOSITORY
from ralphloop.lab.conformance.case import LAYOUTS, Case, find
from ralphloop.lab.conformance.hook import Hook, foreign, own
from ralphloop.lab.conformance.play import FAILED, PASSED, SKIPPED, play
from ralphloop.lab.conformance.suite import play_all

CASES = find(REPOSITORY / "conformance")
FEATURES = [case for case in CASES if case.layout in ("features", "none") and not case.needs]
SESSIONS = {"failure 2", "failure 3", "failure 7", "failure 24"}
BELIEF = {"failure 12", "failure 13", "failure 14"}
LEFT_ALONE = "features/another-session-is-left-alone.toml"
MOVES_ON = "features/a-closed-task-moves-the-loop-on.toml"
FOLDERS = sorted({case.file.partition("/")[0] for case in CASES})
PATH = os.environ["PATH"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("folder", FOLDERS)
def test_our_hook_passes(folder: str) -> None:
    cases = [case for case in CASES if case.file.startswith(folder + "/")]
    played = play_all(cases, own(path=PATH), jobs=2)
    assert [result.case for result in played] == cases
    wrong = [result for result in played if (result.result, result.why) != (PASSED, "")]
    assert not wrong, "\n".join(f"{result.case.file} {result.result}: {result.why}" for result in wrong)


def test_there_are_more_than_150_cases_for_every_kind_of_hook() -> None:
    assert len(CASES) >= 150
    assert {case.layout for case in CASES} == {*LAYOUTS, "none"}
    assert len([case for case in CASES if not case.needs]) >= 150


def results(command: str, cases: list[Case]) -> dict[str, set[str]]:
    hook = foreign(command, layouts=LAYOUTS, events=(), tool=(), path=PATH)
    found: dict[str, set[str]] = {PASSED: set(), FAILED: set(), SKIPPED: set()}
    for result in play_all(cases, hook, jobs=4):
        found[result.result].add(result.case.file)
    return found


@pytest.mark.slow
def test_a_hook_that_always_allows_fails_wherever_work_is_left() -> None:
    found = results(toy_hooks.ALWAYS_ALLOWS, CASES)
    assert {MOVES_ON, "specum/iteration-limit.toml", "speckit/all-boxes-checked.toml"} <= found[FAILED]
    expected = {case.file for case in CASES if not case.needs and any(_blocks(case))}
    assert found[FAILED] >= expected
    assert len(expected) > 100
    # there it does no harm, and that is right
    assert {"none/no-list.toml", "none/stdin-is-empty.toml"} <= found[PASSED]


@pytest.mark.slow
def test_a_hook_that_always_blocks_fails_wherever_a_stop_must_be_allowed() -> None:
    found = results(toy_hooks.ALWAYS_BLOCKS, CASES)
    assert {"none/no-list.toml", LEFT_ALONE, "specum/all-boxes-checked.toml"} <= found[FAILED]
    expected = {case.file for case in CASES if not case.needs and not all(_blocks(case))}
    assert found[FAILED] >= expected
    assert len(expected) > 100


def _blocks(case: Case) -> list[bool]:
    """For each step that says which answer it wants: whether that is a block."""
    return [step.expect.answer == "block" for step in case.steps if step.expect.answer]


def test_a_hook_that_ignores_the_session_fails_for_that_alone(tmp_path: Path) -> None:
    """The same little hook with and without a look at who stops."""
    blind = results(toy_hooks.little_hook(tmp_path, owner=""), about(SESSIONS))
    seeing = results(toy_hooks.little_hook(tmp_path), about(SESSIONS))
    caught = blind[FAILED] & seeing[PASSED]
    assert LEFT_ALONE in caught
    assert {"failure 2", "failure 7", "spec 7"} <= clauses(caught)
    assert {"none/no-list.toml", MOVES_ON} <= blind[PASSED]


def test_a_hook_that_believes_what_the_agent_says_fails_for_that(tmp_path: Path) -> None:
    believing = results(toy_hooks.little_hook(tmp_path, done=toy_hooks.PASSES_OR_SAYS_SO), about(BELIEF))
    honest = results(toy_hooks.little_hook(tmp_path), about(BELIEF))
    assert "failure 13" in clauses(believing[FAILED] & honest[PASSED])


def about(wanted: set[str]) -> list[Case]:
    """The cases for a hook that serves lists of features, and stand for one of these clauses."""
    return [case for case in FEATURES if wanted & {*case.stands_for}]


def clauses(files: set[str]) -> set[str]:
    return {clause for case in CASES if case.file in files for clause in case.stands_for}


def test_what_a_hook_has_not_is_skipped_with_the_reason() -> None:
    hook = foreign("true", layouts=("specum",), events=("SessionStart",), tool=(), path=PATH)
    why = {case.file: hook.lacks(case) for case in CASES}
    by_need = {need: {why[case.file] for case in CASES if case.needs == (need,)} for need in _needs(CASES)}
    assert why[LEFT_ALONE] == "layout features is not served"
    assert why["specum/another-session.toml"] == why["none/no-list.toml"] == ""
    assert "needs the commands of ralphloop (--tool)" in by_need["ralphloop"]


def _needs(cases: list[Case]) -> set[str]:
    return {need for case in cases for need in case.needs}


def test_our_hook_without_a_checkout_is_the_one_that_install_registers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A package that has no plugins beside it, as an installed one."""
    package = tmp_path / "lib" / "site" / "ralphloop"
    package.parent.mkdir(parents=True)
    package.symlink_to(REPOSITORY / "src" / "ralphloop")
    monkeypatch.setattr("ralphloop.lab.conformance.hook.PACKAGE", package)
    hook = own(path=PATH)
    assert "rl_as=settings" in hook.command("Stop", "specum")
    (case,) = [case for case in CASES if case.file == "specum/another-session.toml"]
    result = play(case, hook, folder=tmp_path.resolve() / "scene")
    assert (result.result, result.why) == (PASSED, "")


def test_hook_is_ours_as_the_plugin_registers_it() -> None:
    hook: Hook = own(layouts=("speckit",), path=PATH)
    assert hook.layouts == ("speckit",)
    assert "rl_as=ralph-speckit" in hook.command("Stop", "none")
    assert "rl_as=other" in hook.command("Stop", "speckit", registration="other")

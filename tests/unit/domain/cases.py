"""Plays one test with each value of a table, and names every value that failed.

It stands here because `scripts/mutation_score.py` runs this folder alone.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

NAME_LONGEST = 160
TOLD_IN_FULL = 3
Test = Callable[..., None]


class Case(NamedTuple):
    """A value by its place in the table: what it is called, and what the test gets of it."""

    place: int
    name: str
    given: dict[str, Any]


def each(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    *,
    ids: Iterable[str] | Callable[[Any], str] = repr,
    at_once: bool = False,
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one test: after it, each value that failed is named with its failure.

    A value has its own `tmp_path` and `monkeypatch`; any other fixture is one for all of them. Values that
    spend their time waiting can be played `at_once`, each in a thread; a patch would be everybody's then.
    """
    words = (names,) if isinstance(names, str) else names
    table = list(values)
    assert table, "a test without a value shows nothing"
    assert not any(isinstance(value, type(pytest.param())) for value in table), "say its name in `ids`"
    called = [_short(ids(value)) for value in table] if callable(ids) else list(ids)
    rows = [dict(zip(words, (value,) if isinstance(names, str) else value, strict=True)) for value in table]
    cases = [Case(place, *both) for place, both in enumerate(zip(called, rows, strict=True))]

    def decorate(test: Test) -> Test:
        signature = _without(test, words)
        assert not (at_once and "monkeypatch" in signature.parameters)

        @functools.wraps(test)
        def plays_all(**fixtures: Any) -> None:
            play = functools.partial(_failure, test, fixtures)
            with ThreadPoolExecutor(len(cases)) if at_once else contextlib.nullcontext() as pool:
                ended = list((pool.map if pool else map)(play, cases))
            failed = [(case, failure) for case, failure in zip(cases, ended, strict=True) if failure]
            if failed:
                pytest.fail(_told(failed, len(cases)), pytrace=False)

        plays_all.__signature__ = signature  # type: ignore[attr-defined]
        return plays_all

    return decorate


def _without(test: Test, words: tuple[str, ...]) -> inspect.Signature:
    signature = inspect.signature(test)
    missing = set(words) - set(signature.parameters)
    assert not missing, f"{test.__name__} does not take {sorted(missing)}"
    return signature.replace(
        parameters=[known for name, known in signature.parameters.items() if name not in words]
    )


def _failure(test: Test, fixtures: dict[str, Any], case: Case) -> BaseException | None:
    try:
        with _own(fixtures, case.place) as given:
            test(**given, **case.given)
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
        return failure
    return None


@contextlib.contextmanager
def _own(fixtures: dict[str, Any], place: int) -> Iterator[dict[str, Any]]:
    given = dict(fixtures)
    if "tmp_path" in given:
        given["tmp_path"] = given["tmp_path"] / str(place)
        given["tmp_path"].mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in given:
            given["monkeypatch"] = patch
        yield given


def _short(name: str) -> str:
    half = NAME_LONGEST // 2
    return name if len(name) <= NAME_LONGEST else f"{name[:half]} … {name[-half:]}"


def _told(failed: list[tuple[Case, BaseException]], count: int) -> str:
    lines = [f"{len(failed)} of {count} values failed:", *(f"  {case.name}" for case, _ in failed)]
    for case, failure in failed[:TOLD_IN_FULL]:
        begun = failure.__traceback__ and failure.__traceback__.tb_next
        lines += ["", f"{case.name}:", *traceback.format_exception(type(failure), failure, begun)]
    return "\n".join(lines)

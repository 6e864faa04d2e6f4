"""Plays one test with each value of a table, and names every value that failed.

It stands here because `scripts/mutation_score.py` runs this folder alone.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

NAME_LONGEST = 160
TOLD_IN_FULL = 3
Test = Callable[..., None]


def each(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    *,
    ids: Iterable[str] | Callable[[Any], str] = repr,
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one test: after it, each value that failed is named with its failure.

    A value has its own `tmp_path` and `monkeypatch`; any other fixture is one for all of them.
    """
    words = (names,) if isinstance(names, str) else names
    table = list(values)
    assert table, "a test without a value shows nothing"
    assert not any(isinstance(value, type(pytest.param())) for value in table), "say its name in `ids`"
    called = [_short(ids(value)) for value in table] if callable(ids) else list(ids)
    rows = [dict(zip(words, (value,) if isinstance(names, str) else value, strict=True)) for value in table]
    cases = dict(enumerate(zip(called, rows, strict=True)))

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def plays_all(**fixtures: Any) -> None:
            failed = []
            for place, (name, row) in cases.items():
                try:
                    with _own(fixtures, place) as given:
                        test(**given, **row)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
                    failed.append((name, failure))
            if failed:
                pytest.fail(_told(failed, len(cases)), pytrace=False)

        plays_all.__signature__ = _without(test, words)  # type: ignore[attr-defined]
        return plays_all

    return decorate


def _without(test: Test, words: tuple[str, ...]) -> inspect.Signature:
    signature = inspect.signature(test)
    missing = set(words) - set(signature.parameters)
    assert not missing, f"{test.__name__} does not take {sorted(missing)}"
    return signature.replace(
        parameters=[known for name, known in signature.parameters.items() if name not in words]
    )


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


def _told(failed: list[tuple[str, BaseException]], count: int) -> str:
    lines = [f"{len(failed)} of {count} values failed:", *(f"  {name}" for name, _ in failed)]
    for name, failure in failed[:TOLD_IN_FULL]:
        begun = failure.__traceback__ and failure.__traceback__.tb_next
        lines += ["", f"{name}:", *traceback.format_exception(type(failure), failure, begun)]
    return "\n".join(lines)

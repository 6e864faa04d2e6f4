"""Every input that fuzzing kept still holds: each goes through its target, without a fuzzer."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import targets

CORPUS = Path(targets.__file__).parents[1] / "corpus"
FILES_MOST, BYTES_MOST = 40, 200 * 1024


def inputs(name: str) -> list[Path]:
    return sorted((CORPUS / name).iterdir())


@pytest.mark.parametrize("name", targets.NAMES)
def test_the_corpus_of_a_target_holds(name: str) -> None:
    run = targets.load(name)
    for path in inputs(name):
        try:
            run(path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path} shows it again") from error


@pytest.mark.parametrize("name", targets.NAMES)
def test_the_corpus_of_a_target_is_small(name: str) -> None:
    found = inputs(name)
    assert 0 < len(found) <= FILES_MOST
    assert sum(path.stat().st_size for path in found) <= BYTES_MOST

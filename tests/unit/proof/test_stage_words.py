"""The stage runs without the package, so what others know it by is said twice, and the same."""

from __future__ import annotations

import sys

import pytest

from ralphloop.proof import conclusion


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has stages")
def test_a_file_that_cannot_be_put_back_is_known_by_its_words() -> None:
    from ralphloop.proof import stage

    assert stage.NOT_PUT_BACK == conclusion.UNTRUE

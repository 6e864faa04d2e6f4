"""Rules of hookify that block a stop: known by their settings, and switched off without another change."""

from __future__ import annotations

import pytest

from ralphloop.cli.doctor import coverage

BLOCKS = "event: stop\naction: block\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"---\n{BLOCKS}---\nGo on.\n", f"---\nenabled: false\n{BLOCKS}---\nGo on.\n"),
        (
            f"---\nenabled: true  # mine\n{BLOCKS}---\nenabled: true\n",
            f"---\nenabled: false  # mine\n{BLOCKS}---\nenabled: true\n",
        ),
        (f"---\n{BLOCKS}enabled : 'true'\n---\n", f"---\n{BLOCKS}enabled : false\n---\n"),
        (f"---\nenabled:\n{BLOCKS}---\n", f"---\nenabled: false\n{BLOCKS}---\n"),
        (
            "\ufeff---\r\nevent: all\r\naction: block\r\n---\r\n\udcff",
            "\ufeff---\r\nenabled: false\r\nevent: all\r\naction: block\r\n---\r\n\udcff",
        ),
    ],
    ids=["no setting", "a comment", "quoted", "empty", "CRLF"],
)
def test_a_rule_is_switched_off_and_every_other_byte_stays(before: str, after: str) -> None:
    assert coverage.is_blocking(before)
    assert coverage.rule_switched_off(before) == after
    assert not coverage.is_blocking(after)


@pytest.mark.parametrize(
    "text", ["", "no rule", f"---\nenabled: false\n{BLOCKS}---\n", "---\nevent: bash\n---\n"]
)
def test_what_blocks_no_stop_is_not_changed(text: str) -> None:
    assert coverage.rule_switched_off(text) is None

"""A page's output is compared line by line: only what it leaves out by name, or what varies, may differ."""

from __future__ import annotations

from e2e.told import is_part, is_shown
from unit.domain.cases import each


@each(
    ("shown", "output"),
    [
        ("2/3 done\n", "2/3 done\n"),
        ("first\n…\nlast\n", "first\nlast\n"),
        ("first\n…\nlast\n", "first\nsecond\nthird\nlast\n"),
        ("green (…)\n", "green (0004-F1, 0005-F2)\n"),
        ("2026-11-16 07:04:13  says    Hi.\n", "2027-01-02 23:59:59  says    Hi.\n"),
        (
            "2026-11-16 07:04:13  says    Hi.\n",
            "2026-11-16 07:04:13  now     a · running\n2026-11-16 07:04:13  says    Hi.\n",
        ),
        ("Loop features-a-20261116T070356Z: 14 s\n", "Loop features-a-20270101T000000Z: 9 s\n"),
    ],
)
def test_what_varies_and_what_is_left_out_is_passed_over(shown: str, output: str) -> None:
    assert is_shown(shown, output)


@each(
    ("shown", "output"),
    [
        ("2/3 done\n", "1/3 done\n"),
        ("first\nlast\n", "first\nsecond\nlast\n"),
        ("first\n", "first\nsecond\n"),
        ("first\n…\nlast\n", "last\nfirst\n"),
        ("evidence 0001-F1\n", "evidence 0002-F1\n"),
        ("", "ralphloop: there is no loop here\n"),
    ],
)
def test_every_other_difference_is_noticed(shown: str, output: str) -> None:
    assert not is_shown(shown, output)


def test_part_of_a_screen_is_found_in_it() -> None:
    screen = "shop · running\n  ✓ F1  proven   \n▸ ☐ F2  open\n keys"
    assert is_part("  ✓ F1  proven\n▸ ☐ F2  open\n", screen)
    assert not is_part("▸ ☐ F1  open\n", screen)

"""What a misspelt word was meant to be."""

from __future__ import annotations

from ralphloop import spelling
from ralphloop.cli.main import COMMANDS


def test_the_nearest_command_is_meant() -> None:
    typos = {"stauts": "status", "statsu": "status", "rnu": "run", "resum": "resume", "Run": "run",
             "cancle": "cancel", "reprot": "report", "doctr": "doctor", "specums": "specum"}  # fmt: skip
    assert {said: spelling.near(said, COMMANDS) for said in typos} == {
        said: [meant] for said, meant in typos.items()
    }
    assert [said for said in ("frobnicate", "x", "", "build") if spelling.near(said, COMMANDS)] == []


def test_dashes_are_no_likeness_and_no_difference() -> None:
    assert spelling.near("--xyz", ["--yes", "--json"]) == []
    assert spelling.near("--max_cost", ["--max-cost", "--max-time"]) == ["--max-cost"]


def test_a_name_that_is_not_there_is_told_with_what_there_is() -> None:
    assert spelling.or_known("shpo", ["shop"], else_="make one") == "did you mean shop?"
    assert (
        spelling.or_known("shpo", ["cart", "shop"], else_="-") == "did you mean shop? Known here: cart, shop."
    )
    assert spelling.or_known("xyz", ["cart", "shop"], else_="-") == "known here: cart, shop."
    assert spelling.or_known("shop", [], else_="make one") == "make one."
    many = [f"loop{number:02}" for number in range(40)]
    assert spelling.or_known("xyz", many, else_="-").endswith("loop11, … (40 in all).")

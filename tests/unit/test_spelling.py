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


def test_names_that_differ_by_a_dash_do_not_hide_each_other() -> None:
    names = ["my-shop", "my_shop", "my-shops"]
    assert spelling.near("myshop", names, most=3) == ["my-shop", "my_shop"]
    assert spelling.near("my shp", names, most=3) == ["my-shop", "my_shop", "my-shops"]


def test_the_same_but_for_capitals_is_the_only_answer_else_the_best_comes_first() -> None:
    ids = [f"F{number}" for number in range(1, 13)]
    assert spelling.near("f2", ids, most=3, cutoff=0.5) == ["F2"]
    assert spelling.near("f-2", ids, most=3, cutoff=0.5) == ["F2"]
    assert spelling.near("f122", ids, most=3, cutoff=0.5) == ["F12", "F1", "F2"]
    assert spelling.near("g", ids, most=3, cutoff=0.5) == []
    assert spelling.near("f0", ["F3", "F1", "F2"], most=2, cutoff=0.5) == ["F3", "F1"]


def test_a_name_that_is_not_there_is_told_with_what_there_is() -> None:
    assert spelling.or_known("shpo", ["shop"], else_="make one") == "did you mean shop?"
    assert (
        spelling.or_known("shpo", ["cart", "shop"], else_="-") == "did you mean shop? Known here: cart, shop."
    )
    assert spelling.or_known("xyz", ["cart", "shop"], else_="-") == "known here: cart, shop."
    assert spelling.or_known("shop", [], else_="make one") == "make one."
    many = [f"loop{number:02}" for number in range(40)]
    assert spelling.or_known("xyz", many, else_="-").endswith("loop11, … (40 in all).")

"""Work in a process of its own."""

from __future__ import annotations

import os
import select
import subprocess

from fakes.patience import eventually
from ralphloop.runner.driver import Aside


def said_by(aside: Aside) -> str:
    while (told := aside.take()) is None:
        select.select(aside.handles(), [], [], 30)
    return told


def test_it_says_what_came_of_it():
    assert said_by(Aside(lambda: "x" * 1_000_000)) == "x" * 1_000_000


def test_an_error_is_silence_and_a_traceback_in_the_log(capfd):
    assert said_by(Aside(lambda: str(1 / 0))) == ""
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_it_can_be_ended(tmp_path):
    def work() -> str:
        subprocess.run(["sh", "-c", f"echo $$ > {tmp_path}/pid; exec tail -f /dev/null"], check=False)
        return ""

    aside = Aside(work)
    eventually((tmp_path / "pid").read_text)
    aside.end()
    aside.end()
    assert aside.handles() == []
    os.kill(int((tmp_path / "pid").read_text()), 9)  # what it started is a keeper's to end, as checks are

"""The service written down for systemd and launchd, and read again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralphloop.loops.init_system import Unit, launchd_text, read_unit, systemd_text

ODD = Unit(
    ("/opt/a$ b/python3", "-I", '/opt/100%/"x"\\$HOME', "service", "run"),
    (("HOME", "/home/a b"), ("PATH", "/opt/50%:/usr/bin:/x$y")),
    "/home/a b/.local/state/ralphloop",
)


def test_what_is_written_is_read_again_whatever_signs_it_has() -> None:
    assert read_unit(systemd_text(ODD)) == ODD
    assert read_unit(launchd_text(ODD, "label")) == ODD


def test_systemd_replaces_nothing_in_it() -> None:
    text = systemd_text(ODD)
    assert r'ExecStart="/opt/a$ b/python3" "-I" "/opt/100%%/\"x\"\\$$HOME" "service" "run"' in text
    assert 'Environment="PATH=/opt/50%%:/usr/bin:/x$y"' in text


def test_a_supervisor_outlives_the_service() -> None:
    assert "\nKillMode=process\n" in systemd_text(ODD)
    assert "<key>AbandonProcessGroup</key>\n\t<true/>" in launchd_text(ODD, "label")


def test_what_is_not_ours_is_nothing() -> None:
    for text in (
        "",
        "[Service]\nExecStart=/bin/true\n",
        "<?xml",
        "<?xml version='1.0'?><plist><dict/></plist>",
    ):
        assert read_unit(text) is None, text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    file = tmp_path / "ralphloop.service"
    program = tmp_path / "a b" / "100%$x"
    program.parent.mkdir()
    program.symlink_to("/bin/true")
    file.write_text(systemd_text(ODD._replace(words=(str(program), *ODD.words[1:]))))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(file)], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

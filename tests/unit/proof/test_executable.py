"""Which words of a command name programs, and which files they lead to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphloop.proof import executable

WORDS = {
    "one": ("pytest -q tests", ["pytest"]),
    "joined": ("make -s && ./run.sh; ls | wc -l || npm test", ["make", "./run.sh", "ls", "wc", "npm"]),
    "without blanks": ("a;b&&c|d||e&f", ["a", "b", "c", "d", "e", "f"]),
    "lines": ("a x\nb y\n\nc", ["a", "b", "c"]),
    "assignments": ("A=1 B='x y' tool -x", ["tool"]),
    "env": ("env -i A=1 tool", ["env", "tool"]),
    "starters": ("timeout -k 5 10s nice -n 5 tool x", ["timeout", "nice", "tool"]),
    "sudo": ("sudo -u me tool", ["sudo", "tool"]),
    "xargs": ("ls | xargs -n 1 -I {} cat {}", ["ls", "xargs", "cat"]),
    "time": ("time exec command tool", ["time", "exec", "command", "tool"]),
    "conditions": ("if test -f x; then a; else b; fi", ["test", "a", "b"]),
    "loops": ("while ! a; do b; done", ["a", "b"]),
    "brackets": ("(cd x && a) || { b; }", ["cd", "a", "b"]),
    "inside a word": ("x $(tool y)", ["x", "tool"]),
    "interpreters": ("python3 -m pytest; node run.js; bash check.sh", ["python3", "node", "bash"]),
    "a shell's own command": ("bash -ec 'a && b' x", ["bash", "a", "b"]),
    "redirections": ("a > out 2>&1 < in", ["a"]),
    "quotes": ("'my tool' \"a;b\"", ["my tool"]),
    "each once": ("a; a; b", ["a", "b"]),
    "an open quote": ("a 'b", ["a"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize("kind", WORDS)
def test_the_words_in_command_position(kind: str) -> None:
    command, expected = WORDS[kind]
    assert executable.programs(command) == expected


def program(place: Path, text: str = "#!/bin/sh\n") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


def test_a_word_leads_to_the_first_program_on_the_path(tmp_path: Path) -> None:
    first, second = program(tmp_path / "one/tool"), program(tmp_path / "two/tool")
    path = f"{tmp_path}/none:{tmp_path}/one:{tmp_path}/two"
    assert executable.lead("tool", path, folder="/") == str(first)
    first.chmod(0o644)
    assert executable.lead("tool", path, folder="/") == str(second)
    assert executable.lead("tool", "two", folder=str(tmp_path)) == str(second)
    assert executable.lead("two/tool", "", folder=str(tmp_path)) == str(second)


@pytest.mark.parametrize("word", ["test", "cd", "none", "$TOOL", "`x`", "x*", "a\0b", "/", "./", "~nobody/x"])
def test_what_a_shell_does_itself_or_nobody_can_tell_leads_nowhere(tmp_path: Path, word: str) -> None:
    assert executable.lead(word, "/usr/bin:/bin", folder=str(tmp_path)) == ""


def test_a_large_program_is_known_by_its_times(tmp_path: Path) -> None:
    place = program(tmp_path / "large", "x" * (executable.DIGEST_MAX + 1))
    known = executable.content(str(place))
    assert known.startswith("stat-")
    place.write_text("y" * (executable.DIGEST_MAX + 1))
    assert executable.content(str(place)) != known
    assert executable.content(str(tmp_path / "gone")) == ""


def test_a_new_link_to_an_old_program_is_new(tmp_path: Path) -> None:
    old = executable.latest_change("/bin/sh")
    os.symlink("/bin/sh", tmp_path / "a")
    os.symlink("a", tmp_path / "b")
    assert executable.latest_change(str(tmp_path / "b")) > old
    os.symlink("loop", tmp_path / "loop")
    assert executable.latest_change(str(tmp_path / "loop")) > old

"""What a check depends on and no tree has: programs, ignored files, files at home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphloop.proof import baseline
from unit.proof.baselines import PATH, Scene, later

COMMAND = "tool --version"


def program(place: Path, text: str = "#!/bin/sh\necho old\n") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


class Tools(Scene):
    """With a folder of programs in front of the system's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tool = program(self.base / "bin" / "tool")
        self.env["PATH"] = f"{self.base}/bin:{PATH}"

    def now(self, *commands: str, path: str = "") -> list[tuple[str, str, str, bool]]:
        known = baseline.load(self.loop)
        assert known is not None
        env = {**self.env, "PATH": path} if path else self.env
        return baseline.programs_now(known, commands or (COMMAND,), str(self.root), env)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def test_what_the_words_lead_to_is_kept(tools: Tools) -> None:
    program(tools.root / "run.sh")
    (tools.base / "bin" / "link").symlink_to("tool")
    found = tools.take(COMMAND, "test -f x && link; none; ./run.sh").programs
    path, digest = found[COMMAND]["tool"]
    assert (path, len(digest)) == (str(tools.tool), 64)
    assert found["test -f x && link; none; ./run.sh"] == {
        "test": ("", ""), "link": (path, digest), "none": ("", ""),
        "./run.sh": (str(tools.root / "run.sh"), digest),
    }  # fmt: skip
    assert tools.now() == []


def test_a_program_with_other_content_is_told(tools: Tools) -> None:
    tools.take(COMMAND)
    program(tools.tool, "#!/bin/sh\nexit 0\n")
    assert tools.now() == [(COMMAND, "tool", str(tools.tool), False)]
    assert tools.now("another command") == []


def test_one_that_was_installed_again_is_the_same(tools: Tools) -> None:
    tools.take(COMMAND)
    program(tools.tool)
    assert tools.now() == []


def test_a_new_program_before_it_on_the_path_is_told(tools: Tools) -> None:
    tools.take(COMMAND)
    new = program(tools.base / "new" / "tool", "#!/bin/sh\nexit 0\n")
    assert tools.now(path=f"{new.parent}:{tools.env['PATH']}") == [(COMMAND, "tool", str(new), False)]


def test_a_new_link_to_an_old_program_is_told(tools: Tools) -> None:
    tools.take(COMMAND)
    tools.tool.unlink()
    tools.tool.symlink_to("/bin/true")
    assert tools.now() == [(COMMAND, "tool", str(tools.tool), False)]


def test_a_longer_path_that_leads_to_an_old_program_is_fine(tools: Tools) -> None:
    old = program(tools.base / "venv" / "bin" / "tool", "#!/bin/sh\necho another\n")
    later()
    tools.take(COMMAND)
    assert tools.now(path=f"{old.parent}:{tools.env['PATH']}") == []


def test_work_is_not_a_program_but_an_ignored_file_is(tools: Tools) -> None:
    commands = ("./run.sh", "build/tool")
    for name in ("run.sh", "build/tool"):
        program(tools.root / name)
    tools.commit()
    later()
    tools.take(*commands)
    for name in ("run.sh", "build/tool"):
        program(tools.root / name, "#!/bin/sh\nexit 0\n")
    assert tools.now(*commands) == [("build/tool", "build/tool", str(tools.root / "build/tool"), True)]


def test_a_word_that_led_nowhere_or_leads_nowhere_is_not_told(tools: Tools) -> None:
    tools.take(COMMAND, "fresh")
    program(tools.base / "bin" / "fresh")
    tools.tool.unlink()
    assert tools.now(COMMAND, "fresh") == []


# Ignored files, and files at home


def told(scene: Scene, most: int = 5) -> list[str]:
    known = baseline.load(scene.loop)
    assert known is not None
    return baseline.ignored_since(known, str(scene.root), scene.env, most=most)


def test_young_ignored_files_are_named(tools: Tools) -> None:
    tools.write("build/old", "x")
    tools.write("old.log", "x")
    later()
    tools.take()
    assert told(tools) == []
    tools.write("build/deep/new", "x")
    tools.write("new.log", "x")
    tools.write("plain.txt", "not ignored")
    tools.write("build/__pycache__/x.pyc", "x")
    tools.write(".ralph/run/L1/journal.jsonl", "{}")
    assert told(tools) == ["build/deep/new", "new.log"]
    assert told(tools, most=1) == ["build/deep/new"]


def test_young_files_at_home_are_named(tools: Tools) -> None:
    tools.write(".profile", "old", top=tools.home)
    later()
    tools.take()
    for path in (".npmrc", ".local/bin/tool", "bin/x", ".config/pip/pip.conf", ".config/flat"):
        tools.write(path, "x", top=tools.home)
    for path in (".bash_history", ".claude.json", ".config/a/b/c", "notes.txt", ".cache/x"):
        tools.write(path, "x", top=tools.home)
    found = ["~/.npmrc", "~/.local/bin/tool", "~/bin/x", "~/.config/flat", "~/.config/pip/pip.conf"]
    assert told(tools, most=50) == found


def test_without_a_repository_only_home_is_looked_at(tools: Tools) -> None:
    tools.take()
    os.rename(tools.root / ".git", tools.base / "git")
    tools.write(".zshenv", "x", top=tools.home)
    assert told(tools) == ["~/.zshenv"]


def test_of_a_check_that_is_approved_later_the_programs_are_kept_then(tools: Tools) -> None:
    known = tools.take("sh a.sh")
    baseline.note_programs(tools.loop, ["sh a.sh", "git status"], tools.env)
    found = baseline.load(tools.loop)
    assert found is not None
    assert found.programs.keys() == {"sh a.sh", "git status"}
    assert found.programs["git status"]["git"][0] == os.path.realpath("/usr/bin/git")
    assert found._replace(programs=known.programs) == known


def test_without_a_start_nothing_is_kept_later(tools: Tools) -> None:
    baseline.note_programs(tools.loop, ["git status"], tools.env)
    assert baseline.load(tools.loop) is None

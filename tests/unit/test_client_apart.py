"""One home for what names Claude: `agents/claude`. No other module says the name, in code, text or comment,
but for those that are listed here."""

from __future__ import annotations

from pathlib import Path

import ralphloop

PACKAGE = Path(ralphloop.__file__).parent
HOME = "agents/claude"
LABORATORY = ("lab", "testing")  # plays the client, so it must speak as that one does

# module -> why it must name the client itself
ELSEWHERE = {
    "agents/registry.py": "the row that leads to the package, and what mypy holds its parts to",
    "domain/model.py": "the variables that it sets: every stop reads them, and agents is cold",
    "engine/claude.py": "hot: reads its payloads and transcripts at every stop",
    "engine/claude_past.py": "hot: the same for what few stops ask",
    "engine/find.py": "hot: the row that makes it the client of a call that names none",
    "tasklists/features.py": "the documented place of a list lies below .claude/",
    "tasklists/spec_state.py": "the documented settings of the plugins lie below .claude/",
}


def naming(package: Path) -> set[str]:
    """The modules outside its home and the laboratory that name the client."""
    found = set()
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        is_apart = not name.startswith((f"{HOME}/", *(f"{folder}/" for folder in LABORATORY)))
        if is_apart and "claude" in (name + path.read_text(encoding="utf-8")).lower():
            found.add(name)
    return found


def test_nobody_names_the_client_but_its_home_and_whom_the_list_excuses():
    assert naming(PACKAGE) == set(ELSEWHERE)


def test_every_way_to_name_it_is_seen(tmp_path):
    planted = {
        "loops/a.py": "from ralphloop.agents.claude import program",
        "loops/b.py": "claude = 1",
        "loops/c.py": "told = f'{name} is no folder of Claude Code'",
        "loops/d.py": "env.get('CLAUDE_PID')",
        "loops/e.py": '"""As Claude Code does it."""',
        "loops/f.py": "x = 1  # a claude of another colour",
        "views/claude_look.py": "",
    }
    quiet = {
        "agents/claude/g.py": "TITLE = 'Claude Code'",
        "lab/h.py": "CLAUDECODE = 1",
        "loops/i.py": "x = 1",
    }
    for name, text in {**planted, **quiet}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert naming(tmp_path) == set(planted)

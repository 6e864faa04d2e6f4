"""Where the client writes a session down: known, in the project's folder, or in any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphloop.agents.claude.usage import transcript_of

SESSION = "s-1"
ROOT = "/home/me/my.shop"


def written(base: Path, folder: str, session: str = SESSION) -> str:
    place = base / "projects" / folder / f"{session}.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("{}\n")
    return str(place)


def found(home: Path, session: str = SESSION, *, known: tuple[str, ...] = (), **env: str) -> str:
    return transcript_of(session, root=ROOT, known=known, env={"HOME": str(home), **env})


def test_the_project_s_own_folder_comes_before_the_others(tmp_path: Path) -> None:
    written(tmp_path / ".claude", "-a")
    own = written(tmp_path / ".claude", "-home-me-my-shop")
    assert found(tmp_path) == own


def test_a_session_that_moved_is_found_in_another_folder(tmp_path: Path) -> None:
    other = written(tmp_path / ".claude", "-elsewhere")
    assert found(tmp_path) == other
    assert found(tmp_path, "s-2") == ""


def test_a_known_transcript_is_not_searched_for_and_the_last_one_counts(tmp_path: Path) -> None:
    written(tmp_path / ".claude", "-home-me-my-shop")
    known = ("/old/s-1.jsonl", "/new/s-1.jsonl", "/new/s-2.jsonl")
    assert found(tmp_path, known=known) == "/new/s-1.jsonl"


def test_the_configured_folder_of_the_client_is_looked_at(tmp_path: Path) -> None:
    written(tmp_path / ".claude", "-home-me-my-shop")
    place = written(tmp_path / "conf", "any")
    assert found(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "conf")) == place


@pytest.mark.parametrize("session", ["", "../s-1", "a/b", "x" * 5000, "nul\0", "\ud800"])
def test_a_session_id_that_is_no_file_name_leads_nowhere(tmp_path: Path, session: str) -> None:
    written(tmp_path / ".claude", "-home-me-my-shop")
    assert found(tmp_path, session, known=(f"/known/{session}.jsonl",)) == ""

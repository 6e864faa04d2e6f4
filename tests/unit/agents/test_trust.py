"""Which folders the client was told to trust, and what would run in them."""

from __future__ import annotations

import json

import pytest

from ralphloop.agents.claude import registration as trust
from unit.domain.cases import each

ACCEPTED = json.dumps({"projects": {"/home/me/shop": {"hasTrustDialogAccepted": True}}})


@each(
    ("folder", "known", "trusted"),
    [
        ("/home/me/shop", ACCEPTED, True),
        ("/home/me/shop/web/app", ACCEPTED, True),
        ("/home/me", ACCEPTED, False),
        ("/home/me/shop2", ACCEPTED, False),
        (
            "/home/me/shop",
            json.dumps({"projects": {"/home/me/shop": {"hasTrustDialogAccepted": False}}}),
            False,
        ),
        ("/home/me/shop", json.dumps({"projects": {"/home/me/shop": {}}}), False),
        ("/home/me/shop", json.dumps({"projects": []}), False),
        ("/home/me/shop", "[]", False),
        ("/home/me/shop", "{", False),
        ("/home/me/shop", "", False),
    ],
)
def test_a_folder_is_trusted_if_it_or_one_above_was_accepted(folder, known, trusted):
    assert trust.is_trusted(folder, known) is trusted


@pytest.mark.parametrize(
    ("there", "found"),
    [
        (["/p/.git"], []),
        (["/p/.git", "/p/.mcp.json"], ["/p/.mcp.json"]),
        (["/p/.git", "/p/a/.claude/settings.json"], ["/p/a/.claude/settings.json"]),
        (["/p/a/.git", "/p/.mcp.json"], []),
        (["/.mcp.json"], ["/.mcp.json"]),
    ],
)
def test_what_would_start_programs_is_found_up_to_the_top_of_the_repository(there, found):
    assert trust.programs_in("/p/a", exists=there.__contains__) == found


@pytest.mark.parametrize(
    ("env", "path"),
    [({"HOME": "/home/me"}, "/home/me/.claude.json"),
     ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json")],
)  # fmt: skip
def test_where_the_client_notes_it(env, path):
    assert trust.known_to_client(env) == path

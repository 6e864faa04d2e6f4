"""Secrets are found by the names of variables and by their own shape, and are not to be read afterwards."""

from __future__ import annotations

import json
import time
from itertools import product
from urllib.parse import quote

import pytest

from ralphloop.proof.mask import mask, secrets, spellings
from unit.domain.cases import each

BODY = "\n".join(
    ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 3 + ["MzEfYyjiWA4R4w=="]
)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"


@each(
    "name",
    [
        "ANTHROPIC_API_KEY", "GH_TOKEN", "KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "MYSQL_PASSWD",
        "API_KEYS", "GOOGLE_CREDENTIALS", "BASIC_AUTH", "SSH_PRIVATE", "npm_config__authToken", "apiKey",
        "APIKey", "TOKEN2", "OPENAI_APIKEY", "DB_PASS", "PGPASSWORD", "HTTP_AUTHORIZATION", "X-Api-Key",
    ],
)  # fmt: skip
def test_a_variable_named_like_a_secret_is_one(name: str) -> None:
    assert secrets({name: "hunter22"}) == ["hunter22"]


@each(
    "name",
    [
        "KEYBOARD", "MONKEY", "AUTHOR", "GIT_AUTHOR_NAME", "TOKENIZERS_PARALLELISM", "KEYMAP", "PWD",
        "OLDPWD", "COMPASS", "BYPASS_CACHE", "SECRETARY", "PRIVATEER", "HOME", "monkeyPatch",
    ],
)  # fmt: skip
def test_a_variable_named_like_something_else_is_none(name: str) -> None:
    assert secrets({name: "hunter22"}) == []


def test_short_values_are_left_alone_and_long_ones_come_first() -> None:
    env = {"A_KEY": "12345", "B_KEY": "123456", "C_KEY": "12345678", "D_KEY": "1234567", "E_KEY": "1234567"}
    assert secrets(env) == ["12345678", "1234567", "123456"]


@each(
    ("text", "known", "shown"),
    [
        ("a hunter22 b hunter22", ["hunter22"], "a *** b ***"),
        ("hunter2222", ["hunter2222", "hunter22"], "***"),
        ("abcdefghijkl", ["abcdefgh", "efghijkl"], "***"),
        ("abababab-", ["ababab"], "***-"),
        ("s3cret1s3cret2", ["s3cret1", "s3cret2"], "******"),
        ("nothing here", ["hunter22", ""], "nothing here"),
        ("", ["hunter22"], ""),
        ("pässwörd!", ["pässwörd"], "***!"),
        ("a.c+(d)", ["a.c+(d)"], "***"),
    ],
)
def test_each_secret_is_replaced_wherever_it_stands(text: str, known: list[str], shown: str) -> None:
    assert mask(text, known) == shown


def test_a_secret_of_many_lines_is_masked_line_by_line() -> None:
    secret = "first-line\nsecond-line\nend\n"
    assert mask("  first-line\n> second-line\n", [secret]) == "  ***\n> ***\n"
    assert mask(f"[{secret}]", [secret]) == "[***\n]"


@pytest.mark.parametrize(
    "token",
    [
        "sk-ant-api03-AbC_dEf-0123456789", "ghp_" + "a1B2" * 9, "github_pat_" + "11ABC_def" * 5,
        "AKIAIOSFODNN7EXAMPLE", "xoxb-123456789012-abcdefABCDEF", "glpat-" + "x1Y2z" * 4,
    ],
)  # fmt: skip
def test_a_well_known_token_is_masked_though_nobody_named_it(token: str) -> None:
    assert mask(f"using {token}, key={token}", []) == "using ***, key=***"


def test_a_bearer_token_is_masked_and_its_kind_is_not() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
    assert mask(f"Authorization: Bearer {token}\n", []) == "Authorization: Bearer ***\n"


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of news", "task-ant-farm", "BAKIAIOSFODNN7EXAMPLEX", "-----BEGIN CERTIFICATE-----\nMIIB",
        "ghp_short", "-----BEGIN PUBLIC KEY-----",
    ],
)  # fmt: skip
def test_an_ordinary_text_stays_as_it_is(text: str) -> None:
    assert mask(text, []) == text


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_masked_as_a_whole(kind: str) -> None:
    shown = mask(f"before:\n{PEM.replace('RSA ', kind)}\nafter", [])
    assert shown.startswith("before:\n***")
    assert shown.endswith("***\nafter")
    assert not any(line in shown for line in BODY.splitlines())


@pytest.mark.parametrize("cut", [1, 20, 40, 100, len(PEM) - 10])
def test_of_a_private_key_that_was_cut_off_nothing_can_be_read(cut: int) -> None:
    for part in (PEM[cut:], PEM[:-cut]):
        assert not any(len(line) > 20 and line in mask(part, []) for line in BODY.splitlines())


def test_a_private_key_on_one_line_is_masked() -> None:
    escaped = PEM.replace("\n", "\\n")
    assert "MIIEvQ" not in mask(f'{{"key": "{escaped}"}}', [])


def test_what_follows_a_mention_of_private_keys_can_be_read() -> None:
    text = "no -----BEGIN PRIVATE KEY----- in file\nAssertionError: 1 != 2\n"
    assert mask(text, []) == "no *** in file\nAssertionError: 1 != 2\n"


@pytest.mark.parametrize(
    "text", ["A" * 70_000, ("A" * 64 + "\n") * 1100, "-----BEGIN PRIVATE KEY-----\n" * 2400]
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    mask(text, ["AAAAAAAA"])
    assert time.process_time() - began < 10


@each(
    ("before", "token"),
    product(
        ["\\n", "\\t", "\\\\n", "\\u000a", "\x1b[1;31m", "\\u001b[31m", "\\u001B[m", "\\x1b[0m", "%20"],
        [
            "sk-ant-api03-AbC_dEf-0123456789",
            "ghp_" + "a1B2" * 9,
            "AKIAIOSFODNN7EXAMPLE",
            "xoxb-123456789012-ab",
        ],
    ),
)
def test_a_token_after_an_escape_is_masked(before: str, token: str) -> None:
    assert mask(f'"text{before}{token}\\nmore"', []) == f'"text{before}***\\nmore"'


@pytest.mark.parametrize("before", ["\\n", "\\u001b[31m", "\x1b[31m"])
def test_a_bearer_token_at_the_start_of_a_line_in_json_is_masked(before: str) -> None:
    assert mask(f"x{before}Bearer {'a1b2.' * 6}\\n", []) == f"x{before}Bearer ***\\n"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://me:hunter22@db/shop", "postgres://me:***@db/shop"),
        ("redis://:p%40ss@cache:6379/0", "redis://:***@cache:6379/0"),
        ("https://me:p@ss@host/a@b", "https://me:***@host/a@b"),
        ("http://localhost:8080/me@home", "http://localhost:8080/me@home"),
        ("https://host/a:b@c", "https://host/a:b@c"),
        ("ssh://git@host:22/x", "ssh://git@host:22/x"),
    ],
)
def test_a_password_in_a_url_is_masked(url: str, shown: str) -> None:
    assert mask(f'see "{url}" there', []) == f'see "{shown}" there'


def test_a_secret_is_known_however_it_is_spelt() -> None:
    secret = 'p\u00e4ss/w"rd\\ &\n'
    shown = [
        secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), json.dumps(json.dumps(secret)),
        json.dumps(json.dumps(secret, ensure_ascii=False), ensure_ascii=False),
        json.dumps(json.dumps(secret, ensure_ascii=False)),
        quote(secret), quote(secret, safe=""), quote(secret, safe="").replace("%C3%A4", "%c3%a4").lower(),
    ]  # fmt: skip
    for text in shown:
        assert "rd" not in mask(text, spellings([secret])), text


def test_many_ends_of_keys_take_no_longer_than_their_length() -> None:
    began = time.process_time()
    mask("-----END PRIVATE KEY-----\n" * 75_000, [])
    assert time.process_time() - began < 20

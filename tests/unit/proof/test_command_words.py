"""A shell command as simple commands: quotes, operators, redirections, what is in brackets."""

from __future__ import annotations

from ralphloop.proof.command_words import given, programs, read
from unit.domain.cases import each


@each(
    ("command", "words"),
    [
        ("a b  c", ["a b c"]),
        ("a 'b c' \"d e\" f\\ g", ["a b c d e f g"]),
        ("a > out 2>&1 < in b", ["a b"]),
        ("a &> out; b >> c", ["a ;", "b"]),
        ("a && b || c | d & e", ["a &&", "b ||", "c |", "d &", "e"]),
        ("a &&\n\n b\n", ["a &&", "b"]),
        ("a # b; c\nd", ["a ;", "d"]),
        ("a#b", ["a#b"]),
        ("(a; b) | c", ["a ;", "b |", "c"]),
        ("cat <<END | a\nb; c\nEND\nd", ["cat |", "a ;", "d"]),
        ("cat <<-'END'\n\tb\n\tEND\nd", ["cat ;", "d"]),
        ('a "$(b "c d")" e', ['a $(b "c d") e']),
        ("a \\\n  b", ["a b"]),
        ("diff <(a) <(b)", ["diff <(a) <(b)"]),
        ("x=1 y='2 3' a", ["x=1 y=2 3 a"]),
        ("", []),
    ],
)
def test_words_and_what_joins_them(command: str, words: list[str]) -> None:
    assert [" ".join([*one.words, one.after]).strip() for one in read(command)] == words


@each(
    ("command", "found"),
    [
        ("a; b", ["a", "b"]),
        ("x=1 env -i y=2 timeout -k 3 5 a b", ["env", "timeout", "a"]),
        ("bash -ec 'a && b'", ["bash", "a", "b"]),
        ("sh script -c", ["sh"]),
        ("if a; then b; fi", ["a", "b"]),
        ("echo $(a | b) `c`", ["echo", "a", "b", "c"]),
        ("echo $((1 + 2))", ["echo"]),
        ("npx -y jest", ["npx", "jest"]),
        ("uv run pytest", ["uv", "pytest"]),
        ("npm test", ["npm"]),
        ("sudo -u me a", ["sudo", "a"]),
        ("eval 'a b'", ["eval", "a"]),
        ("! a", ["a"]),
        ("{ a; }", ["a"]),
    ],
)
def test_programs_behind_wrappers_and_in_substitutions(command: str, found: list[str]) -> None:
    assert [words[0] for words in programs(command)] == found


@each(
    ("command", "words"),
    [
        ("x=1 timeout 5 a b", ["x=1 timeout 5 a b"]),
        ("a < in > out 2< err b", ["a b in"]),
        ("cat <<END | a < in\nb\nEND", ["cat", "a in"]),
        ("env sh -c 'a; b'", ["env sh -c a; b", "a", "b"]),
        ("(a < in; b)", ["a in", "b"]),
        ("C=x; a $C", ["C=x", "a $C"]),
        ("a $(b c)", ["a $(b c)", "b c"]),
    ],
)
def test_commands_as_they_are_written(command: str, words: list[str]) -> None:
    assert [" ".join(one) for one in given(command)] == words


def test_commands_in_commands_have_an_end() -> None:
    assert len(list(programs("$(" * 500 + "a" + ")" * 500))) <= 10

"""Which checks are green whatever fails, by their text, and which only look so."""

from __future__ import annotations

from ralphloop.proof.weak import weak
from unit.domain.cases import each

PIPE = "only the last command of its pipe decides, and that is `%s`"
FOR = "only the last turn of its `for` decides"
IF = "an `if` without `else` is green when its condition fails"


@each(
    ("command", "why"),
    [
        ("make test || true", "`|| true` makes it green"),
        ("make test ||true", "`|| true` makes it green"),
        ("make test || :", "`|| :` makes it green"),
        ("make test || exit 0", "`|| exit 0` makes it green"),
        ("make test || echo failed", "`|| echo` makes it green"),
        ("make test || /bin/true", "`|| /bin/true` makes it green"),
        ("(make test || true)", "`|| true` makes it green"),
        ("a && b || true", "`|| true` makes it green"),
        ("make test || { echo failed; }", "`|| { echo … }` makes it green"),
        ("make test || (echo failed)", "`|| echo` makes it green"),
        ("bash -c 'make test || true'", "`|| true` makes it green"),
        ("make test; true", "its last command is `true`"),
        ("make test; echo done", "its last command is `echo`"),
        ("make test\necho done\n", "its last command is `echo`"),
        ("make test; echo $?", "its last command is `echo`"),
        ("make test; exit 0", "its last command is `exit 0`"),
        ("make test ; printf ok # fine", "its last command is `printf`"),
        ("echo ok", "its last command is `echo`"),
        ("true", "its last command is `true`"),
        ("true && echo ok", "it is always green: `echo`"),
        ("pytest | tee log", PIPE % "tee"),
        ("pytest 2>&1 | tail -5", PIPE % "tail"),
        ("pytest | cat", PIPE % "cat"),
        ("npm test | sed 's/x/y/'", PIPE % "sed"),
        ("go test ./... | sort | head -3", PIPE % "head"),
        ("pytest |& tee log", PIPE % "tee"),
        ("cd app && pytest | tee log", PIPE % "tee"),
        ("git status --short | wc -l", PIPE % "wc"),
        ("{ a; b; } | tee log", PIPE % "tee"),
        ("npm start &", "it runs in the background, and nobody waits for it"),
        ("a & b & wait", "its last command is `wait`, which is green whatever it waited for"),
        ("if pytest; then echo ok; fi", IF),
        ("for f in *.py; do python3 -m py_compile $f; done", FOR),
        (
            "find . -name '*.py' -exec python3 -m py_compile {} \\;",
            "`find … -exec … \\;` is green whatever the command says; end it with `+`",
        ),
        ("jest --passWithNoTests", "`--passWithNoTests` is green without a single test"),
        ("ruff check --exit-zero .", "`--exit-zero` is green whatever is found"),
        ("npm run lint --if-present", "`--if-present` is green where there is no such script"),
        ("mvn -q -DskipTests verify", "`-DskipTests` runs no test"),
        ("make -i test", "`make -i` goes on after an error"),
        ("make -n", "`make -n` runs nothing"),
        ("# only a note", "it runs nothing"),
    ],
)
def test_a_weak_check_is_told_with_the_reason(command: str, why: str) -> None:
    assert weak(command) == why


@each(
    "command",
    [
        "make test",
        "pytest -q && echo ok",
        "pytest | grep -q passed",
        "pytest 2>&1 | tee log | grep passed",
        "./tool | jq -e .ok",
        "./tool | diff - expected.txt",
        "echo 1 2 | ./tool | grep -qx 3",
        "cat in.txt | ./tool",
        "pytest | tee log && grep -q passed log",
        "pytest > log 2>&1; grep -q passed log",
        "bash -c 'set -o pipefail; pytest | tee log'",
        "bash -o pipefail -c 'pytest | tee log'",
        "set -e; make; echo done",
        "set -eu\nmake\necho done",
        "make || exit 1; echo done",
        "make || { echo failed; exit 1; }",
        "make || (echo failed && false)",
        "make || (echo failed; exit 1)",
        "make || make again",
        "test -f a || test -f b",
        "timeout 5 ./server || test $? = 124",
        "make; exit $?",
        "make; test -f out",
        "true; make",
        "make || true; test -f out",
        'test "$(ls | wc -l)" -eq 3',
        "test $(pytest | tail -1 | wc -l) -gt 0",
        '[ -z "$(git status --short | head -1)" ]',
        "! grep -rn TODO src",
        "! ./tool --bad 2>/dev/null",
        "if pytest; then echo ok; else exit 1; fi",
        "if ! pytest; then exit 1; fi",
        "for f in *.py; do python3 -m py_compile $f || exit 1; done",
        "while ! curl -sf localhost; do sleep 1; done",
        "for n in 1 2 3; do curl -sf localhost && break; sleep 1; done",
        "server & sleep 1; curl -sf localhost",
        "server & pid=$!; curl -sf localhost; code=$?; kill $pid; exit $code",
        "a & wait $!",
        "find src -name '*.py' -exec python3 -m py_compile {} +",
        "grep -q -- --exit-zero Makefile",
        "grep -q '|| true' ci/check.sh",
        "python3 -c 'print(1) or True'",
        "python3 - <<'END'\nimport app\nassert app.x || true\nEND",
        "echo 'a | tee b' | ./tool",
        "test -f x && (make; echo done)",
        "sh -ec 'make; echo done'",
        "head -1 README.md | grep -q Shop",
        "sort -c list.txt",
        "npm test -- --run",
        "cargo test --no-run",
        "time make test",
        "sed -n 1p a.txt",
    ],
)
def test_a_check_that_judges_is_not_weak(command: str) -> None:
    assert weak(command) == ""


@each(
    "command",
    ["'", '"', "$(", "`", "(((", "a |", "&&", "<<", "<<X", "if", "}", "{", ";;", "\\", "$((", "x" * 90_000],
)
def test_what_cannot_be_read_harms_nobody(command: str) -> None:
    assert isinstance(weak(command), str)

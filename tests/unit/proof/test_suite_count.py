"""How many tests ran is read from what each runner says, in its own words."""

from __future__ import annotations

from ralphloop.proof.suite_count import counted, fewer, told
from unit.domain.cases import each

PYTEST = (
    "collected 4 items\n\ntest_app.py .Fs.   [100%]\n\n==== 1 failed, 2 passed, 1 skipped in 0.12s ====\n"
)
UNITTEST = "..s\n------\nRan 3 tests in 0.001s\n\nOK (skipped=1)\n"
NODE = "TAP version 13\nok 1 - adds\n1..1\n# tests 3\n# suites 0\n# pass 1\n# fail 1\n# skipped 1\n# todo 0\n"
GO = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n--- SKIP: TestC (0.00s)\nok\n"
CARGO = (
    "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
    "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n"
)


@each(
    ("name", "output", "tests"),
    [
        ("pytest", PYTEST, 3),
        ("pytest", "1 passed in 0.01s\n", 1),
        ("pytest", "no tests ran in 0.01s\n", 0),
        ("pytest", "3 skipped in 0.01s\n", 0),
        ("pytest", "======= 2 deselected in 0.01s =======\n", 0),
        ("pytest", "\x1b[32m====== \x1b[1m2 passed\x1b[0m\x1b[32m in 0.01s ======\x1b[0m\n", 2),
        ("pytest", "\x1b[32m2 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m\n", 2),
        ("unittest", UNITTEST, 2),
        ("unittest", "Ran 1 test in 0.000s\n\nFAILED (failures=1)\n", 1),
        ("node", NODE, 2),
        ("node", "ℹ tests 4\nℹ pass 4\nℹ skipped 0\nℹ todo 1\n", 3),
        ("jest", "Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", 3),
        ("jest", " Tests  1 failed | 2 passed | 1 skipped (4)\n", 3),
        ("mocha", "  2 passing (5ms)\n  1 pending\n  1 failing\n", 3),
        ("go", GO, 2),
        ("go", "--- SKIP: TestC (0.00s)\nok\n", 0),
        ("jest", "Tests:       3 skipped, 3 total\n", 0),
        ("unittest", "OK (3 tests, 3 assertions)\n", None),
        ("cargo", CARGO, 5),
        ("rspec", "3 examples, 1 failure, 1 pending\n", 2),
        ("minitest", "3 runs, 3 assertions, 0 failures, 0 errors, 1 skips\n", 2),
        ("phpunit", "OK (3 tests, 3 assertions)\n", 3),
        ("phpunit", "Tests: 4, Assertions: 3, Failures: 1, Skipped: 1.\n", 3),
        ("junit", "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n", 2),
        ("tap", "1..3\nok 1 adds\nnot ok 2 takes\nok 3 waits # skip later\n", 2),
        ("automake", "# TOTAL: 5\n# PASS:  2\n# SKIP:  2\n# XFAIL: 0\n# FAIL:  1\n", 3),
        ("ctest", "100% tests passed, 0 tests failed out of 5\n", 5),
        ("gtest", "[==========] 3 tests from 1 suite ran. (0 ms)\n[  SKIPPED ] 1 test, listed below:\n", 2),
        ("exunit", "1 doctest, 3 tests, 0 failures, 1 skipped\n", 3),
        ("xctest", "\t Executed 3 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds\n", 3),
        ("dotnet", "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4\n", 3),
        ("unittest", "It Ran 3 tests in our street\n", None),
        ("tap", "broken ok 1\n", None),
    ],
)  # fmt: skip
def test_each_runner_is_read(name: str, output: str, tests: int | None) -> None:
    assert counted(output).get(name) == tests


def test_fewer_tests_are_told_of_one_and_the_same_runner() -> None:
    assert fewer({"unittest": 1}, {"unittest": 3}) == "ran 1 test, and 3 without the work"
    assert fewer({"pytest": 0}, {"pytest": 2}) == "ran 0 tests, and 2 without the work"
    for now, before in (
        ({"go": 3}, {"go": 3}),
        ({"go": 4}, {"go": 3}),
        ({}, {"go": 3}),
        ({"go": 1}, {"tap": 3}),
    ):
        assert fewer(now, before) == "", (now, before)


def test_what_a_runner_says_twice_is_told_once() -> None:
    assert told(counted(NODE + "ok 2 - takes\nok 3 - waits\n")) == "3 tests"
    assert told({"pytest": 1}) == "1 test"
    assert told({}) == ""

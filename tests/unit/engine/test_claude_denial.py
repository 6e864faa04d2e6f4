"""Denied tool calls, in the shapes that Claude Code 2.1.325 and 2.1.197 write, and the rules that lift them.

The rules are those with which 2.1.325 ran the same call.
"""

from __future__ import annotations

import json

import pytest

from ralphloop.engine import claude_past
from unit.domain.cases import each

THEN, SINCE, NOW = "2026-11-16T00:10:00.000Z", "2026-11-16T00:15:00.000Z", "2026-11-16T00:16:16.734Z"
CWD = "/home/me/proj"

NO_RULE = {"decision": "reject", "source": "config", "reasonCode": "bashMiss:no-rule-match"}
UNKNOWN = {"decision": "reject", "source": "config", "reasonCode": "unknown"}
DONT_ASK = {"decision": "reject", "source": "config", "reasonType": "mode", "reasonCode": "mode:dontAsk"}
APPROVAL = "This command requires approval"
SEVERAL = "This Bash command contains multiple operations"
DONT_ASK_SAID = (
    "Permission to use Bash has been denied because Claude Code is running in don't ask mode. IMPORTANT: You"
    " *may* attempt to accomplish this action using other tools that might naturally be used to accomplish"
    " this goal, e.g. using head instead of cat."
)
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file"
    " edit, the new_string was NOT written to the file). "
)


def write_said(path: str) -> str:
    return f"Claude requested permissions to write to {path}, but you haven't granted it yet."


def line(entry) -> bytes:
    """The client writes no white space between values."""
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def call(name: str, *, ident: str = "toolu_1", **given) -> bytes:
    block = {"type": "tool_use", "id": ident, "name": name, "input": given}
    message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-5-5", "content": [block]}
    return line({"isSidechain": False, "message": message, "type": "assistant", "timestamp": NOW})


def result(said, *, ident="toolu_1", error=True, at=NOW, **fields) -> bytes:
    block = {"type": "tool_result", "content": said, "is_error": error, "tool_use_id": ident}
    entry = {"isSidechain": False, "type": "user", "message": {"role": "user", "content": [block]}}
    return line({**entry, "timestamp": at, "cwd": CWD, "version": "2.1.325", **fields})


def denied(said=APPROVAL, *, kind="user-rejected", decision=NO_RULE, **fields) -> bytes:
    return result(
        said, toolUseResult=f"Error: {said}", toolDenialKind=kind, permissionDecision=decision, **fields
    )


def bash(command: str, said=APPROVAL, *, decision=NO_RULE, **fields) -> bytes:
    return call("Bash", command=command, description="d") + denied(said, decision=decision, **fields)


WRITE = call("Write", file_path=f"{CWD}/a.txt", content="x")


@each(
    ("data", "found"),
    [
        (bash("npm test"), ("Bash", "Bash(npm test:*)")),
        (
            bash("npm test", DONT_ASK_SAID, kind="permission-rule", decision=DONT_ASK),
            ("Bash", "Bash(npm test:*)"),
        ),
        (
            bash(
                "npm test",
                "Auto mode is unavailable: its safety check does not run for this session.",
                kind="automode-unavailable",
                decision={"decision": "reject", "reasonCode": "classifier:auto-mode:unavailable"},
            ),
            ("Bash", "Bash(npm test:*)"),
        ),
        (
            WRITE + denied(write_said(f"{CWD}/a.txt"), decision=UNKNOWN),
            ("Write", "Edit(//home/me/proj/a.txt)"),
        ),
        (
            call("Edit", file_path="sub/a[id].ts") + denied(write_said("x"), decision=UNKNOWN),
            ("Edit", r"Edit(//home/me/proj/sub/a\[id].ts)"),
        ),
        (
            call("NotebookEdit", notebook_path="/n.ipynb") + denied(write_said("/n.ipynb"), decision=UNKNOWN),
            ("NotebookEdit", "Edit(//n.ipynb)"),
        ),
        (
            call("Read", file_path="/etc/hosts")
            + denied(
                "Claude requested permissions to read from /etc/hosts, but you haven't granted it yet.",
                decision={"decision": "reject", "source": "config", "reasonCode": "workingDir"},
            ),
            ("Read", "Read(//etc/hosts)"),
        ),
        (
            call("WebFetch", url="https://me:x@Docs.Example.com:8443/a?b#c", prompt="p")
            + denied(
                "Claude requested permissions to use WebFetch, but you haven't granted it yet.",
                decision=UNKNOWN,
            ),
            ("WebFetch", "WebFetch(domain:docs.example.com)"),
        ),
        (
            call("mcp__srv__thing", a=1)
            + denied(
                "Claude requested permissions to use mcp__srv__thing, but you haven't granted it yet.",
                decision=UNKNOWN,
            ),
            ("mcp__srv__thing", "mcp__srv__thing"),
        ),
        (call("WebSearch", query="q") + denied("no", decision=UNKNOWN), ("WebSearch", "WebSearch")),
    ],
)
def test_a_denied_call_is_seen_with_the_rule_that_allows_it(data, found):
    assert any(marker in data for marker in claude_past.MARKERS)
    assert claude_past.denials(data, SINCE) == [found]
    assert claude_past.worked(data, SINCE) == set()


@each(
    ("command", "rule"),
    [
        ("npm test -- --all", "Bash(npm test:*)"),
        ("npm run build", "Bash(npm run:*)"),
        ("make", "Bash(make:*)"),
        ("python3 script.py", "Bash(python3:*)"),
        ('python3 -c "print(1)"', "Bash(python3:*)"),
        ("./run.sh a", "Bash(./run.sh a:*)"),
        ("rm -rf build", "Bash(rm:*)"),
        ("git commit -m 'a (b); c'", "Bash(git commit:*)"),
        ("git commit -m \"$(cat <<'EOF'\nfix\nEOF\n)\"", "Bash(git commit:*)"),
        ("FOO=1 npm test", "Bash(FOO=1 npm test:*)"),
        ('FOO="a b" npm test', 'Bash(FOO="a b" npm test)'),
        ("timeout 10 npm test", "Bash(npm test:*)"),
        ("if true; then npm test; fi", "Bash(npm test:*)"),
        ("# why\nnpm test", "Bash(npm test:*)"),
        ("cd sub && npm test 2>&1 | tail -5", "Bash(npm test:*)"),
        ("cd /home/me/proj && npm test", "Bash(npm test:*)"),
        ("cd / && npm test", "Bash"),
        ("npm test && npm run build && npm test", "Bash(npm test:*), Bash(npm run:*)"),
        ("npm test > out.txt 2> /dev/null", "Bash(npm test:*), Edit(//home/me/proj/out.txt)"),
        ("echo hi > /tmp/x", "Edit(//tmp/x)"),
        ("npm test $(date)", "Bash(npm test $(date))"),
        ("npm test `date`", "Bash(npm test `date`)"),
        ("A=1; npm test $A", "Bash(A=1; npm test $A)"),
        ("for i in 1 2; do npm test; done", "Bash(for i in 1 2; do npm test; done)"),
        ("for i in 1 2\ndo npm test\ndone", "Bash"),
        ("for i in " + "1 " * 100 + "; do npm test; done", "Bash"),
        ("find . -delete", "Bash(find . -delete)"),
        ("(npm test)", "Bash"),
        ("npm test &", "Bash"),
        ("npm test 'open", "Bash"),
        ('npm "open \\', "Bash"),
        (" ", "Bash"),
    ],
)
def test_the_rule_for_a_command_names_each_of_its_parts(command, rule):
    assert claude_past.denials(bash(command), "") == [("Bash", rule)]


@pytest.mark.parametrize(
    ("command", "said", "rule"),
    [
        (
            "ls; npm test | tee x",
            f"{SEVERAL}. The following parts require approval: ls; npm test, tee x",
            "Bash(npm test:*), Bash(tee x:*)",
        ),
        (
            "npm test | tee x",
            f"{SEVERAL}. The following part requires approval: tee x",
            "Bash(tee x:*)",
        ),
        (
            "rm -rf /tmp/x",
            "rm in '/tmp/x' needs approval. The path is outside the working directories for this session",
            "Bash(rm:*), Edit(//tmp/x)",
        ),
    ],
)
def test_the_rule_for_a_command_follows_what_the_client_asks_for(command, said, rule):
    assert claude_past.denials(bash(command, said), "") == [("Bash", rule)]


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("rule:flagSettings", ""),
        ("hook:PreToolUse", ""),
        ("mode:plan", ""),
        ("safetyCheck", ""),
        ("workingDir", "Edit(//home/me/proj/a.txt)"),
    ],
)
def test_there_is_no_rule_where_none_would_help(code, rule):
    data = WRITE + denied("denied", decision={"decision": "reject", "reasonCode": code})
    assert claude_past.denials(data, "") == [("Write", rule)]


def test_a_command_that_only_looks_unsafe_can_be_allowed_as_a_whole():
    data = bash("npm test & ls", "…", decision={"decision": "reject", "reasonCode": "safetyCheck"})
    assert claude_past.denials(data, "") == [("Bash", "Bash")]


def test_a_file_that_a_rule_denies_has_no_kind_and_is_a_denial_all_the_same():
    data = WRITE + result(
        "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>",
        permissionDecision={"decision": "reject", "source": "config", "reasonCode": "rule:flagSettings"},
    )
    assert any(marker in data for marker in claude_past.MARKERS)
    assert claude_past.denials(data, "") == [("Write", "")]


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (call("Bash", command="npm test") + result(APPROVAL), "Bash(npm test:*)"),
        (call("Bash", command="npm test") + result(DONT_ASK_SAID), "Bash(npm test:*)"),
        (call("Bash", command="npm test") + result([{"type": "text", "text": APPROVAL}]), "Bash(npm test:*)"),
        (WRITE + result(write_said(f"{CWD}/a.txt")), "Edit(//home/me/proj/a.txt)"),
        (
            call("Bash", command="npm test | tee x")
            + result(f"{SEVERAL}. The following part requires approval: tee x"),
            "Bash(tee x:*)",
        ),
        (
            call("Bash", command="npm test")
            + result("Permission to use Bash with command npm test has been denied."),
            "",
        ),
    ],
)
def test_an_older_client_says_it_in_words_only(data, rule):
    assert any(marker in data for marker in claude_past.MARKERS)
    assert [found for _, found in claude_past.denials(data, "")] == [rule]


ACCEPT = {"decision": "accept", "source": "config", "reasonType": "mode"}


@each(
    "data",
    [
        call("Bash", command="exit 3") + result("Exit code 3", permissionDecision=ACCEPT),
        call("Bash", command="x") + result(APPROVAL, permissionDecision=ACCEPT),
        call("Bash", command="x") + result(APPROVAL, error=False),
        call("mcp__a__b")
        + result("<tool_use_error>Error: No such tool available: mcp__a__b</tool_use_error>"),
        # a person's no, with Esc and with a word of advice
        call("Bash", command="npm test")
        + result(REJECTED, toolUseResult="User rejected tool use", toolDenialKind="user-rejected"),
        call("Bash", command="npm test")
        + denied(
            REJECTED + "To tell you how to proceed, the user said:\nuse yarn",
            decision={"decision": "reject", "source": "user_reject", "reasonCode": "bashMiss:no-rule-match"},
        ),
        call("Bash", command="npm test") + denied("stopped", kind="interrupted"),
        denied(),
        call("Bash", command="npm test", ident="toolu_2") + denied(),
        bash("npm test", at=THEN),
        call("Bash", command="npm test") + denied()[:-30] + b"\n",
        line({"type": "api-request-blob", "content": (bash("npm test")).decode()}),
    ],
)
def test_what_is_no_denial_is_passed_over(data):
    assert claude_past.denials(data, SINCE) == []


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n", b'"reject"', b'{"toolDenialKind":1}\n', b'{"type":"user","x":"reject","message":5}\n',
        line({"type": "user", "toolDenialKind": [], "message": {"content": [5, {"type": "tool_result"}]}}),
        line({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": 5, "name": "Bash"}]}}),
        call("Bash") + denied(tool_use_id=5, ident=5),
    ],
)  # fmt: skip
def test_lines_of_another_shape_are_passed_over(data):
    assert claude_past.denials(data, "") == []
    assert claude_past.worked(data, "") == set()


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (call("Bash") + denied(), "Bash"),
        (call("Bash", command=5) + denied(), "Bash"),
        (call("Write", file_path=None) + denied(), "Write"),
        (call("WebFetch") + denied(), "WebFetch"),
        (WRITE + denied(cwd=None), "Edit(//home/me/proj/a.txt)"),
        (WRITE + denied(decision="reject"), "Edit(//home/me/proj/a.txt)"),
        (
            line(
                {
                    "type": "assistant",
                    "message": {
                        "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": "x"}]
                    },
                }
            )
            + denied(),
            "Bash",
        ),
    ],
)
def test_without_a_usable_input_the_tool_itself_is_the_rule(data, rule):
    assert [found for _, found in claude_past.denials(data, "")] == [rule]


def test_calls_made_together_are_told_apart():
    data = call("Bash", command="npm test", ident="t1") + call("Bash", command="ls", ident="t2")
    data += call("WebFetch", url="https://a.b/c", ident="t3")
    data += denied(ident="t3", decision=UNKNOWN) + denied(ident="t1")
    data += result("a.txt", ident="t2", error=False, permissionDecision=ACCEPT)
    assert claude_past.denials(data, "") == [
        ("WebFetch", "WebFetch(domain:a.b)"),
        ("Bash", "Bash(npm test:*)"),
    ]
    assert claude_past.worked(data, "") == {"Bash"}


@pytest.mark.parametrize(
    ("data", "tools"),
    [
        (call("Read", file_path="a") + result("text", error=None), {"Read"}),
        (call("Read", file_path="a") + result("text", error=False, at=THEN), set()),
        (call("Bash", command="x") + result("Exit code 1"), set()),
        (result("text", error=False), set()),
    ],
)
def test_a_tool_worked_if_a_result_of_its_was_no_error(data, tools):
    assert claude_past.worked(data, SINCE) == tools


def test_a_denial_of_whole_seconds_counts_in_the_second_of_the_start():
    data = call("Bash", command="make") + denied(at="2026-11-16T00:15:00.000Z")
    assert claude_past.denials(data, "2026-11-16T00:15:00.700Z") == [("Bash", "Bash(make:*)")]
    assert claude_past.denials(data, "2026-11-16T00:15:01.000Z") == []

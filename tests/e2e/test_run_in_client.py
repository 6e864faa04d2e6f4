"""`ralphloop run` drives the real client through fresh sessions."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from e2e.conftest import git
from e2e.looping import bash, feature_turns
from e2e.running import LOOP, eventually, list_of, running, task_in
from ralphloop.lab.reply import fail, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(180)]

HAIKU = "claude-haiku-4-5"
SONNET = "claude-sonnet-4-5"
HANG = "tail -f /dev/null"  # the client refuses a long sleep
IDLE = "6s"  # more than a client is silent while it starts, on a busy machine too


def test_three_tasks_on_two_models_in_three_sessions(client_home, project):
    """What the run was asked for holds when it goes on after an error."""
    work, mended = iter(feature_turns(1, 3)), []

    def answer(_request):
        return next(work) if mended else fail(404, "no such model")

    root = project(list_of({"model": HAIKU}, {}, {"model": HAIKU}))
    with running(client_home, root, answer) as stage:
        assert stage.run("--batch", "1", "--model", SONNET).code == 15
        mended.append(True)
        done = stage.run()
    assert done.code == 0, done.stderr
    assert stage.ending == ("ended", "complete")
    sessions = stage.events("session")
    assert [(entry["task"], entry["model"]) for entry in sessions] == [
        ("F1", HAIKU), ("F1", HAIKU), ("F2", SONNET), ("F3", HAIKU),
    ]  # fmt: skip
    assert len({entry["session"] for entry in sessions}) == 4
    asked = [request.body["model"] for request in stage.server.main_requests]
    assert asked[-6:] == [HAIKU, HAIKU, SONNET, SONNET, HAIKU, HAIKU]
    assert set(asked[:-6]) == {HAIKU}
    assert stage.processes() == {}


def test_a_batch_without_a_limit_is_one_long_session_that_writes_no_project_file(client_home, project):
    root = project(list_of({}, {}, {}))
    with running(client_home, root, feature_turns(1, 3)) as stage:
        assert stage.run().code == 0
    assert len(stage.events("session")) == 1
    assert [entry["decision"] for entry in stage.events("stop")] == ["continue", "continue", "allow"]
    assert git(root, "status", "--porcelain").split() == [
        "M", LOOP + "feature_list.json", "M", LOOP + "progress.txt",
        "??", "made-1", "??", "made-2", "??", "made-3",
    ]  # fmt: skip
    first = json.dumps(stage.server.main_requests[0].body["messages"])
    assert "This is a fresh session of the loop demo." in first
    assert "Work through the feature list." in first


def test_a_full_context_hands_over_and_a_refused_claim_is_told_to_the_session_that_takes_over(
    client_home, project
):
    check = "test -f right || { echo the file is not right; exit 1; }"
    work = [
        bash(f'sed -i \'s/"passes": false/"passes": true/\' {LOOP}feature_list.json'),
        text("Done, I think.").using(input_tokens=150_000),
        bash("touch right && ralphloop done F1"),
        text("Now it is."),
    ]
    with running(client_home, project(list_of({"verify": check}, model=SONNET)), work) as stage:
        assert stage.run("--context-limit", "70").code == 0
    (handover,) = stage.events("handover")
    assert handover["why"] == "the context is 75 % full"
    assert len(stage.events("session")) == 2
    second = json.dumps(stage.server.main_requests[2].body["messages"])
    assert "the file is not right" in second
    assert stage.tasks() == {"F1": "proven"}


def test_a_529_storm_and_a_429_with_a_reset_time_are_waited_out_and_count_nothing(client_home, project):
    limited = fail(429, "This request would exceed your rate limit. Please retry after 4 seconds.")
    work = [*[fail(529, "Overloaded")] * 2, *feature_turns(1, 1), limited, *feature_turns(2, 2)]
    with running(client_home, project(list_of({}, {})), work) as stage:
        assert stage.run("--json").code == 0
    *storm, wait = stage.events("wait")
    assert len(storm) == 2
    *_, third, last = stage.events("session")
    assert third["at"] < wait["at"] < wait["until"] <= last["at"]
    assert "retry after 4 seconds" in wait["why"]
    assert len(stage.events("session")) == 4
    assert stage.loop["iteration"] == 2
    assert stage.tasks() == {"F1": "unverified", "F2": "unverified"}


def test_a_hopeless_error_fails_with_what_the_client_said(client_home, project):
    """A pipe that was then put in the place of its log is an error, and no hang."""
    with running(client_home, project(list_of({})), [fail(404, "no such model")] * 9) as stage:
        assert stage.run().code == 15
        assert stage.ending == ("ended", "failed")
        assert "issue with the selected model" in stage.loop["detail"]
        (log,) = (stage.root / ".ralph/run").glob("*/run.log")
        log.unlink()
        os.mkfifo(log)
        again = stage.run(timeout_s=60)
        assert again.code == 1
        assert "run.log" in again.stderr


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_login_is_told_at_once_and_run_goes_on_after_it(client_home, project, status):
    """The client would try for three minutes; the third refusal in a row is the last."""
    refused = fail(status, "OAuth token has expired.")
    answers = {"now": lambda: refused}
    patient = {"CLAUDE_CODE_MAX_RETRIES": "10"}
    root = project(list_of({"verify": "test -f made-1"}))
    with running(client_home, root, lambda _: answers["now"](), env=patient) as stage:
        done = stage.run("--plain")
        assert done.code == 15, done
        assert stage.ending == ("ended", "failed")
        assert stage.loop["detail"].startswith("the login was refused: ")
        assert f"{status} OAuth token has expired" in done.stdout
        if status == 401:
            assert "the login was refused: 401 OAuth token has expired; the client tries again (1 of 10)" in (
                done.stdout
            )
            assert len(stage.server.main_requests) <= 4
        cure = "log in with `claude /login`, or renew the key; then `ralphloop run demo` goes on."
        for told in (done.stdout, stage.command("status").stdout):
            assert cure in told
            assert "repair the list" not in told
        assert (stage.loop["attempts"], stage.loop["iteration"]) == ({}, 1)
        work = iter(feature_turns(1, 1))
        answers["now"] = lambda: next(work, text("Done."))
        assert stage.run().code == 0
        assert stage.processes() == {}


def test_a_client_that_is_not_logged_in_is_told_at_once(client_home, project):
    """It sends nothing then, so that its error has no status."""
    with running(client_home, project(list_of({})), [text("never")], env={"ANTHROPIC_API_KEY": ""}) as stage:
        done = stage.run("--plain")
        assert done.code == 15, done
        assert stage.loop["detail"].startswith("the login was refused: Not logged in")
        assert "log in with `claude /login`" in done.stdout
        assert stage.server.main_requests == []


def test_what_the_client_tries_again_shows_in_the_status(client_home, project):
    work, answers = iter(feature_turns(1, 1)), {"now": lambda: fail(500, "broken")}
    patient = {"CLAUDE_CODE_MAX_RETRIES": "10"}
    with running(client_home, project(list_of({})), lambda _: answers["now"](), env=patient) as stage:
        process = stage.start()
        status = ("status", "demo", "--json")
        told = eventually(lambda: json.loads(stage.command(*status).stdout)["loops"][0]["retrying"])
        answers["now"] = lambda: next(work, text("Done."))
        assert told.startswith("500 broken; the client tries again (")
        process.communicate(timeout=100)
        assert process.returncode == 0
        assert json.loads(stage.command(*status).stdout)["loops"][0]["retrying"] == ""


def test_a_login_that_is_refused_twice_and_renewed_by_the_client_ends_nothing(client_home, project):
    replies = [fail(401, "expired"), fail(401, "expired"), *feature_turns(1, 1)]
    patient = {"CLAUDE_CODE_MAX_RETRIES": "10"}
    with running(client_home, project(list_of({})), replies, env=patient) as stage:
        assert stage.run().code == 0
        assert len(stage.events("session")) == 1


def test_a_silent_agent_is_ended_and_the_task_tried_again(client_home, project):
    """Silence at a later task is an attempt at that task."""

    def answer(request):
        sessions = len(stage.events("session"))
        hangs = sessions == 1 or (sessions == 2 and task_in(request) == "F2")
        return bash(HANG) if hangs else next(work, text("Done."))

    work = iter(feature_turns(1, 2))
    with running(client_home, project(list_of({}, {})), answer) as stage:
        assert stage.run("--idle-timeout", IDLE).code == 0
    first, second, _ = stage.events("session_end")
    assert (first["reason"], first["verdict"]) == (second["reason"], second["verdict"]) == ("idle", "next")
    assert stage.loop["attempts"] == {"F1": 1, "F2": 1}
    assert stage.processes() == {}


def test_a_denied_tool_ends_in_needs_input_with_the_rule_to_add(client_home, project):
    calls = [bash("curl http://127.0.0.1:9/x")] * 8
    with running(client_home, project(list_of({})), calls) as stage:
        process = stage.popen("run", "demo", "--yes", "--permission-mode", "default")
        stdout, _ = process.communicate(timeout=90)
    assert process.returncode == 13
    assert stage.ending == ("paused", "needs_input")
    assert "the rule to add: Bash(curl" in stage.loop["detail"]
    assert "ralphloop run demo" in stdout


def test_an_interrupted_or_terminated_run_pauses_and_goes_on(client_home, project):
    """Not where hooks were switched off meanwhile: that is said before a session begins."""

    def answer(request):
        return bash(HANG) if task_in(request) == "F2" and not resumed else next(work)

    work, resumed = iter(feature_turns(1, 2)), []
    with running(client_home, project(list_of({}, {})), answer) as stage:
        for number in (signal.SIGINT, signal.SIGTERM):
            process = stage.start()
            eventually(lambda: stage.events("stop"))
            eventually(lambda: stage.pids("tail"))
            process.send_signal(number)
            stdout, _ = process.communicate(timeout=60)
            assert process.returncode == 17, number
            assert stage.ending == ("paused", "interrupted"), number
            assert "`ralphloop run demo` goes on" in stdout, number
            assert stage.processes() == {}, number
        settings = stage.root / ".claude/settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text('{"disableAllHooks": true}')
        refused = stage.run()
        assert refused.code == 1
        assert "disableAllHooks" in refused.stderr
        assert len(stage.events("session")) == 2
        settings.unlink()
        resumed.append(True)
        assert stage.run().code == 0
    assert stage.ending == ("ended", "complete")
    assert stage.processes() == {}


def test_a_second_supervisor_is_refused_and_names_the_first(client_home, project):
    with running(client_home, project(list_of({})), lambda _: bash(HANG)) as stage:
        process = stage.start()
        (pid,) = eventually(lambda: stage.pids("supervise"))
        eventually(lambda: stage.pids("tail"))
        second = stage.run()
        assert second.code == 1
        assert f"driven already, by process {pid}" in second.stderr
        cancelled = stage.command("cancel", "demo")
        assert cancelled.code == 0, cancelled.stderr
        process.communicate(timeout=60)
    assert process.returncode == 16
    assert stage.processes() == {}


def test_detached_it_goes_on_alone_in_batches_of_two(client_home, project):
    with running(client_home, project(list_of({}, {}, {})), feature_turns(1, 3)) as stage:
        done = stage.run("--detach", "--batch", "2")
        assert done.code == 0
        assert "`ralphloop watch demo`" in done.stdout
        eventually(lambda: stage.ending == ("ended", "complete"), deadline_s=60)
        eventually(lambda: not stage.processes())
        assert [entry["task"] for entry in stage.events("session")] == ["F1", "F3"]


def test_nested_variables_do_not_reach_the_client(client_home, project):
    def answer(request):
        (pid,) = stage.pids("bin/claude") or stage.pids("claude")[:1]
        seen.append(Path(f"/proc/{pid}/environ").read_text().split("\0"))
        return next(work, text("Done."))

    nested = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "outer", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    seen, work = [], iter([bash("ralphloop done F1"), text("Done.")])
    with running(client_home, project(list_of({})), answer, env=nested) as stage:
        process = stage.popen("run", "demo", "--unapproved")
        _, stderr = process.communicate(timeout=90)
    assert process.returncode == 0, stderr
    assert "RALPHLOOP_RUN=1" in seen[0]
    assert not [line for line in seen[0] if line.partition("=")[0] in nested]


def test_an_agent_gives_no_wide_rights_to_the_agents_that_it_starts(client_home, project):
    with running(client_home, project(list_of({})), [], env={"CLAUDECODE": "1"}) as stage:
        process = stage.popen("run", "demo", "--permission-mode", "bypassPermissions")
        _, stderr = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "the permission mode bypassPermissions" in stderr
    assert not (stage.root / ".ralph/run").exists()


def test_what_a_session_without_a_stop_has_spent_counts_for_the_budget(client_home, project):
    dear = bash(HANG).using(output_tokens=200_000)
    with running(client_home, project(list_of({}, model=SONNET)), [dear, *feature_turns(1, 1)]) as stage:
        done = stage.run("--idle-timeout", IDLE, "--max-tokens", "100k")
    assert done.code == 11
    assert stage.ending == ("ended", "budget")
    assert stage.loop["detail"] == "200100 of 100000 tokens used"
    assert len(stage.events("session")) == 1

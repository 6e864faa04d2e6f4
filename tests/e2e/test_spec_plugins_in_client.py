"""The plugins ralph-specum and ralph-speckit in the real client: from a goal to tasks that are proven."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e.client import ClientHome, PrintRun, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import SPECKIT_STATE, SPECUM_STATE, bash, plugin
from e2e.proving import Bench
from e2e.talking import Talk
from e2e.terminal import Terminal
from ralphloop.lab.model_server import ModelRequest, ModelServer
from ralphloop.lab.reply import Reply, call, text
from ralphloop.proof.approval import digest

pytestmark = pytest.mark.client


class Kind(NamedTuple):
    """What differs between the two plugins."""

    name: str
    folder: str
    state: str
    ids: tuple[str, ...]
    pointer: tuple[str, str]
    mark: str = ""


SPECUM = Kind(
    "ralph-specum",
    folder="specs/demo",
    state=".ralph-state.json",
    ids=("1.1", "1.2", "1.3", "1.4", "1.5"),
    pointer=("specs/.current-spec", "demo\n"),
)
SPECKIT = Kind(
    "ralph-speckit",
    folder=".specify/specs/001-demo",
    state=".speckit-state.json",
    ids=("T001", "T002", "T003", "T004", "T005"),
    pointer=(".specify/.current-feature", "001-demo\n"),
    mark=" [US1]",
)
KINDS = pytest.mark.parametrize("kind", [SPECUM, SPECKIT], ids=lambda kind: kind.name)


def check(number: int) -> str:
    return f"grep -q made out/{number}"


def tasks(kind: Kind, count: int) -> str:
    """Up to five tasks, the second and the third of which may be done at once."""
    rows = ["# Tasks", "", "## Phase 1", ""]
    for number, task in enumerate(kind.ids[:count], 1):
        mark = " [P]" if number in (2, 3) else ""
        rows += [f"- [ ] {task}{mark}{kind.mark} Make file {number}", f"  - **Verify**: `{check(number)}`"]
    return "\n".join(rows) + "\n"


@dataclass
class Spec(Talk):
    """A project with a spec whose tasks are written, and one session of the client in it."""

    kind: Kind = SPECUM

    def type(self, command: str, *script: Reply) -> tuple[PrintRun, list[ModelRequest]]:
        """What a command of the plugin makes of the session."""
        return self.say(f"/{self.kind.name}:{command}", *script)

    @property
    def folder(self) -> Path:
        return self.root / self.kind.folder

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self.folder / self.kind.state).read_text())
        return state

    @property
    def loop(self) -> dict[str, Any]:
        (loop,) = [loop for loop in self.outside.loops() if self.kind.name == f"ralph-{loop['layout']}"]
        return loop

    def made(self, number: int) -> dict[str, str]:
        return {"file_path": str(self.root / f"out/{number}"), "content": "made\n"}

    def work(self, *numbers: int) -> list[Reply]:
        """One turn: the files, the claims, a word about it."""
        reply = Reply()
        for number in numbers:
            reply = reply.also("Write", **self.made(number))
        claims = "; ".join(f"ralphloop done {self.kind.ids[number - 1]}" for number in numbers)
        return [reply.also("Bash", command=claims, description="a step of the task"), text("That is made.")]

    def evidence(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.outside.ralphloop("evidence", "--json"))["evidence"]
        return found

    def green(self) -> set[str]:
        return {entry["command"] for entry in self.evidence() if entry["green"]}

    def boxes(self) -> str:
        lines = (self.folder / "tasks.md").read_text().splitlines()
        return "".join(line[3] for line in lines if line.startswith("- ["))


def files_of(kind: Kind, count: int) -> dict[str, str]:
    """A spec before execution, with so many tasks."""
    named = {kind.pointer[0]: kind.pointer[1], f"{kind.folder}/tasks.md": tasks(kind, count), "out/.keep": ""}
    state = SPECUM_STATE if kind is SPECUM else SPECKIT_STATE
    named[f"{kind.folder}/{kind.state}"] = json.dumps({**state, "phase": "tasks", "awaitingApproval": True})
    documents = ("spec", "plan", "requirements", "design")
    return named | {f"{kind.folder}/{name}.md": f"# {name}\n" for name in documents}


@pytest.fixture
def spec(client_home: ClientHome, project: ProjectFactory) -> Callable[..., Spec]:
    def build(kind: Kind, count: int = 3, **files: str) -> Spec:
        root = project({**files_of(kind, count), **files}, name="my project")
        return Spec(client_home, root, [plugin(kind.name)], kind=kind)

    return build


@pytest.fixture
def talking(spec: Callable[..., Spec]) -> Iterator[Callable[..., Spec]]:
    """As `spec`, with a client that waits for what is typed."""
    with ExitStack() as talks:
        yield lambda *given, **files: talks.enter_context(spec(*given, **files))


def said(requests: list[ModelRequest], fragment: str) -> list[int]:
    """The requests in which something new says this."""
    return [at for at, request in enumerate(requests) if any(fragment in one for one in request.new_texts)]


@KINDS
def test_implement_runs_five_tasks_to_the_end(spec: Callable[..., Spec], kind: Kind) -> None:
    """One group by two of the plugin's own agents at once, and one claim that is refused twice: made by the
    box, with an easier check in the task list, and made by the command."""
    one = spec(kind, 5)
    one.outside.ralphloop("approve", "--yes")

    def executor(request: ModelRequest) -> Reply:
        number = next(number for number in (2, 3) if request.mentions(f"FILE {number}"))
        return text("Made.") if (one.root / f"out/{number}").exists() else call("Write", **one.made(number))

    hand_out = call("Agent", description="a", prompt="FILE 2", subagent_type=f"{kind.name}:spec-executor")
    hand_out = hand_out.also(
        "Agent", description="b", prompt="FILE 3", subagent_type=f"{kind.name}:spec-executor"
    )
    claims = [bash(f"ralphloop done {kind.ids[1]}; ralphloop done {kind.ids[2]}"), text("Both are made.")]
    file, row = str(one.folder / "tasks.md"), f"] {kind.ids[3]}{kind.mark} Make file 4\n  - **Verify**: "
    lies = [
        call("Read", file_path=file),
        call("Edit", file_path=file, old_string=f" {row}`{check(4)}`", new_string=f"x{row}`true`"),
        text("That is made."),
    ]
    lies += [bash(f"ralphloop done {kind.ids[3]}"), text("Now it is made.")]

    script = iter([*one.work(1), hand_out])
    rest = iter([*claims, *lies, *one.work(4), *one.work(5)])

    def play(request: ModelRequest) -> Reply:
        planned = next(script, None)
        if planned is not None:
            return planned
        if not all((one.root / f"out/{number}").exists() for number in (2, 3)):
            return text("They still work.")
        return next(rest, text("Nothing is left to be said."))

    with ModelServer(play, subagents=executor) as server:
        run = run_print(
            one.home, one.root, f"/{kind.name}:implement --max-task-iterations 4", server,
            plugin_dirs=[plugin(kind.name)], permission_mode="acceptEdits", session_id=one.session,
            timeout_s=90,
        )  # fmt: skip
    requests = server.main_requests
    assert run.result["permission_denials"] == []
    assert one.boxes() == "xxxxx", [request.new_texts for request in requests]
    assert said(requests, f"{kind.ids[0]}{kind.mark} Make file 1")[0] == 0
    assert said(requests, "These 2 tasks are marked [P]")
    refused = f"The claim of task {kind.ids[3]} is refused: `{check(4)}` exited with 2"
    back = f"The criteria were pinned at the start and are back: {kind.ids[3]}"
    assert said(requests, refused)[0] == said(requests, back)[0]
    assert said(requests, f"{kind.ids[3]} is not done: `{check(4)}` exited with 2")
    assert f"`{check(4)}`" in (one.folder / "tasks.md").read_text()
    tried = [entry["green"] for entry in one.evidence() if entry["command"] == check(4)]
    assert tried[:3] == [False, False, True]
    assert Bench(one.outside).green_at_the_end() == [check(number) for number in range(1, 6)]
    assert (one.outside.loop["state"], one.outside.loop["outcome"]) == ("ended", "complete")
    assert one.outside.loop["owner"] == one.session
    assert (one.state["taskIndex"], one.state["totalTasks"]) == (5, 5)
    assert one.outside.errors() == ""


def test_unapproved_checks_are_shown_and_allowed_by_typing(talking: Callable[..., Spec]) -> None:
    one = talking(SPECUM, 4)
    typed = f"approve {digest([check(number) for number in range(1, 5)])}"
    _, requests = one.type("implement", *one.work(1), *one.work(2, 3))
    assert said(requests[:1], f"/ralph-specum:{typed}") == [0]
    assert said(requests[:1], check(4)) == [0]
    assert one.outside.loop["outcome"] == "stalled"
    assert one.evidence() == []

    one.type(typed, text("I see."))
    run, _ = one.type("implement", *one.work(4))
    assert run.result["permission_denials"] == []
    assert one.outside.loop["outcome"] == "complete"
    assert one.green() == {check(number) for number in range(1, 5)}


def test_command_typed_in_mid_loop_is_heard_at_the_next_stop(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    """The client keeps it in a queue until a turn ends; here the whole loop would be one turn."""
    root = project(files_of(SPECKIT, 3) | files_of(SPECUM, 3), name="my project")
    plugins = [plugin(kind.name) for kind in (SPECKIT, SPECUM)]
    approved, cancelled = (Spec(client_home, root, plugins, kind=kind) for kind in (SPECKIT, SPECUM))
    typed_it = [threading.Event(), threading.Event()]
    turns = [one.work(1) for one in (approved, cancelled)]
    script = [turns[0][0].held(typed_it[0]), *turns[0][1:], text("I see."), *approved.work(2, 3)]
    script += [turns[1][0].held(typed_it[1]), *turns[1][1:], text("I see."), *cancelled.work(2, 3)]
    with (
        ModelServer(script, default="Hm.") as server,
        Terminal(client_home, root, server, plugin_dirs=plugins) as terminal,
    ):
        digested = digest([check(number) for number in range(1, 4)])
        terminal.submit("/ralph-speckit:implement")
        server.wait_for_requests(1, deadline_s=60)
        terminal.submit(f"/ralph-speckit:approve {digested}")
        typed_it[0].set()
        terminal.wait_for(lambda _: approved.loop["outcome"] == "complete")
        assert approved.green() == {check(number) for number in range(1, 4)}

        asked = len(server.main_requests)
        terminal.submit("/ralph-specum:implement")
        server.wait_for_requests(asked + 1, deadline_s=60)
        terminal.submit("/ralph-specum:cancel")
        typed_it[1].set()
        terminal.wait_for(lambda _: cancelled.loop["outcome"] == "cancelled")
    assert cancelled.boxes() == "x  "
    assert not (cancelled.folder / SPECUM.state).exists()
    assert approved.boxes() == "xxx"
    assert approved.outside.errors() == ""


def test_bad_input_gets_a_sentence_and_loses_nothing(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    root = project(files_of(SPECUM, 3) | files_of(SPECKIT, 3), name="my project")
    told = {
        "/ralph-specum:new ../up A goal": "cannot be a spec's name",
        "/ralph-speckit:implement --max-task-iterations many": "is not a whole number above zero",
    }
    with Talk(client_home, root, [plugin(kind.name) for kind in (SPECUM, SPECKIT)]) as one:
        before = contents(root)
        for typed, sentence in told.items():
            _, requests = one.say(typed, text("So it is."))
            assert said(requests[:1], sentence) == [0], typed
            assert contents(root) == before, typed


def contents(root: Path) -> dict[Path, bytes]:
    files = [path for path in root.rglob("*") if path.is_file() and ".git/" not in str(path)]
    return {path: path.read_bytes() for path in files}


def test_specum_from_a_goal_to_proven_tasks(client_home: ClientHome, project: ProjectFactory) -> None:
    """Every phase as the person types it, and the answer to a question; each document is the agent's, every
    state is the command line's."""
    with Spec(client_home, project({"out/.keep": ""}), [plugin(SPECUM.name)], kind=SPECUM) as one:
        go_through_specum(one)


def go_through_specum(one: Spec) -> None:
    goal = 'Make five files, it\'s "easy" $(touch pwned)'

    def write(name: str, content: str) -> Reply:
        return call("Write", file_path=str(one.folder / name), content=content)

    phases = {
        f"new demo {goal}": ("", ""),
        "research": ("research.md", "# Research\n"),
        "requirements": ("requirements.md", "# Requirements\n"),
        "design": ("design.md", "# Design\n"),
        "tasks": ("tasks.md", tasks(SPECUM, 3)),
    }
    for prompt, (name, content) in phases.items():
        script = [write(name, content), text("Written.")] if name else [text("Made.")]
        run, requests = one.type(prompt, *script)
        assert said(requests[:1], "ralphloop: ") == [], requests[0].new_texts
        assert run.result["permission_denials"] == []
        assert one.state["phase"] == prompt.split()[0].replace("new", "research")
    assert goal in (one.folder / ".progress.md").read_text()
    assert not (one.root / "pwned").exists()
    one.outside.ralphloop("approve", "--yes")
    run, _ = one.type("implement", bash("ralphloop ask 1.1 'Which colour?'"), text("I asked."))
    assert any("`/ralph-specum:answer 1.1 TEXT`" in str(event) for event in run.events)
    assert one.outside.loop["outcome"] == "needs_input"
    run, requests = one.type("answer 1.1 it's the $(blue) one", text("I see."), *one.work(1), *one.work(2, 3))
    assert said(requests, "The answer: it's the $(blue) one")
    assert one.outside.loop["outcome"] == "complete"


def test_quick_mode_goes_from_a_goal_to_proven_tasks_in_one_prompt(
    client_home: ClientHome, project: ProjectFactory
) -> None:
    """Through every phase without a question, although the agent tries to stop after each."""
    with Spec(client_home, project({"out/.keep": ""}), [plugin(SPECUM.name)], kind=SPECUM) as one:
        go_quickly_through_specum(one)


def go_quickly_through_specum(one: Spec) -> None:
    documents = {"research": "# Research\n", "requirements": "# Requirements\n", "design": "# Design\n"}
    script: list[Reply] = []
    for phase, content in {**documents, "tasks": tasks(SPECUM, 3)}.items():
        begin = [] if phase == "research" else [bash(f"ralphloop specum {phase}")]
        write = call("Write", file_path=str(one.folder / f"{phase}.md"), content=content)
        script += [*begin, write, text(f"The {phase} phase is written.")]
    script += [bash("ralphloop specum implement")]
    run, requests = one.type("start demo --quick", *script, *one.work(1), *one.work(2, 3))
    assert run.result["permission_denials"] == []
    assert len(said(requests, "Quick mode is on for demo: do not stop yet.")) == 4
    assert one.boxes() == "xxx"
    assert (one.state["phase"], one.state["quickMode"]) == ("execution", False)
    assert (one.outside.loop["outcome"], one.outside.loop["owner"]) == ("complete", one.session)


def test_speckit_from_a_goal_to_proven_tasks(client_home: ClientHome, project: ProjectFactory) -> None:
    """A cancel on the way removes the state and keeps the spec."""
    kind = SPECKIT._replace(folder=".specify/specs/001-five-files")
    with Spec(client_home, project({"out/.keep": ""}), [plugin(kind.name)], kind=kind) as one:
        go_through_speckit(one)


def go_through_speckit(one: Spec) -> None:
    steps = {
        "constitution Test first": (one.root / ".specify/memory/constitution.md", "# Rules\n", ""),
        "specify five files": (one.folder / "spec.md", "# Spec\n", "specify"),
        "clarify": (one.folder / "spec.md", "# Spec, clear\n", "specify"),
        "plan": (one.folder / "plan.md", "# Plan\n", "plan"),
        "tasks": (one.folder / "tasks.md", tasks(SPECKIT, 3), "tasks"),
        "analyze": (one.root / "out/analysis", "fine\n", "tasks"),
        "checklist release": (one.folder / "checklists/release.md", "- [x] read\n", "tasks"),
    }
    for prompt, (path, content, phase) in steps.items():
        _, requests = one.type(prompt, call("Write", file_path=str(path), content=content), text("Written."))
        assert said(requests[:1], "ralphloop: ") == [], requests[0].new_texts
        if phase:
            assert (one.state["phase"], one.state["awaitingApproval"]) == (phase, True)
    one.outside.ralphloop("approve", "--yes")
    notes = one.folder / ".progress.md"
    notes.write_text("# What was done\n")
    one.type("implement", *one.work(1), bash("sleep 0"), text("On with it."))
    assert (one.folder / SPECKIT.state).exists()
    _, requests = one.type("cancel", text("It is over."))
    assert len(requests) == 1
    assert not (one.folder / SPECKIT.state).exists()
    assert notes.read_text().startswith("# What was done\n")
    assert one.boxes() == "x  "
    assert one.outside.loop["outcome"] == "cancelled"
    one.type("implement", *one.work(2, 3))
    assert one.boxes() == "xxx"
    assert one.outside.loops()[-1]["outcome"] == "complete"

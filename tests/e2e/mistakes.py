"""Ordinary mistakes at the command line, as rows: what is typed, and the words that must answer it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cli_project import OTHER, SESSION, Project
from fakes import warm
from fakes.patience import eventually

PEOPLE, OWN = "people.md", "own"  # where a mistake comes from


@dataclass(frozen=True)
class Mistake:
    """`what`, `why` and `cure` are words that the output holds, white space aside, and each says that part of
    the message. The output is what a terminal of 80 columns shows, both streams."""

    name: str
    source: str
    words: tuple[str, ...]  # behind `ralphloop`
    what: tuple[str, ...]
    why: tuple[str, ...]
    cure: tuple[str, ...]
    code: int = 1
    files: Mapping[str, str] = field(default_factory=dict)  # of the project, by path
    before: tuple[tuple[str, ...], ...] = ()  # commands that go well first
    setup: Callable[[Project], None] | None = None  # whatever else comes first
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    folder: str = ""  # of the project, in which it is typed

    def __post_init__(self) -> None:
        assert all((self.what, self.why, self.cure)), self.name


LIST = """\
{"features": [
  {"id": "F1", "description": "Log in", "verify": "true", "passes": false},
  {"id": "F2", "description": "Log out", "passes": false}
]}
"""
SHOP = {".ralph/loops/shop/feature_list.json": LIST, ".ralph/loops/shop/RALPH_PROMPT.md": "Work.\n"}
IN_CLIENT = {"CLAUDECODE": "1"}
IDLE = "#!/bin/sh\ncat >/dev/null\nexec sleep 60\n"
LOGGED_OUT = """\
#!/bin/sh
cat >/dev/null
said='Failed to authenticate. API Error: 401 OAuth token has expired.'
echo '{"type": "result", "is_error": true, "api_error_status": 401, "result": "'"$said"'"}'
exit 1
"""


def _client(project: Project) -> None:
    """One that works and works."""
    project.program("claude", IDLE)


def _begun(project: Project) -> None:
    project.begin()


def _driven(project: Project) -> None:
    _client(project)
    project.new()
    assert project.run("run", "shop", "--detach").code == 0
    eventually(lambda: list(project.home.rglob("supervisor.json")))  # it has said who it is


def _without_list(project: Project) -> None:
    _begun(project)
    project.fine("pause", "shop")
    (project.root / ".ralph/loops/shop/feature_list.json").unlink()


def _killed(project: Project) -> None:
    _driven(project)
    # a second one is about to become the client
    (pid,) = eventually(lambda: found if len(found := supervisors(project)) == 1 else [])
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: "nobody drives it" in project.run("status").out)


def _interrupted(project: Project) -> None:
    """Ctrl-C, once the client is at work."""
    _client(project)
    project.new()
    with warm.start(["run", "shop"], env=project.env(), cwd=project.root) as process:
        eventually(lambda: any(b"sleep" in words for words in alive(project).values()))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _logged_out(project: Project) -> None:
    project.program("claude", LOGGED_OUT)
    project.new()
    assert project.run("run", "shop").code == 15


def _without_git(project: Project) -> None:
    _client(project)
    shutil.rmtree(project.root / ".git")


def _author(project: Project) -> None:
    _client(project)
    project.new()
    (project.home / ".gitconfig").write_text("[user]\nname = T\nemail = t@example.invalid\n")


def _dirty(project: Project) -> None:
    _author(project)
    project.write("notes.txt", "mine")


def _proven(project: Project) -> None:
    listed = b"- Log in\n  - Verify: `true`\n- Log out\n- Pay\n"
    project.fine("new", "shop", "--from", "-", stdin=listed)
    project.fine("start", "shop", "--session", SESSION, "--yes")
    project.fine("done", "F1")


def _edited(project: Project) -> None:
    _proven(project)
    file = project.root / ".ralph/loops/shop/feature_list.json"
    file.write_text(file.read_text().replace('"Pay"', '"Pay by card"'))


def _complete(project: Project) -> None:
    project.begin(tasks=1)
    project.fine("done", "F1")
    project.stop()


def _cancelled(project: Project) -> None:
    _client(project)
    project.begin()
    project.fine("cancel", "shop")


def _two(project: Project) -> None:
    project.begin()
    project.begin("cart", session=OTHER)


def _elsewhere(project: Project) -> None:
    project.begin()
    (project.folder / "other").mkdir()


def _paused(project: Project) -> None:
    project.begin()
    project.fine("pause", "shop")


def alive(project: Project) -> dict[int, list[bytes]]:
    """All processes that were started in this project's home, with their words."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if f"HOME={project.home}".encode() in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                found[int(name)] = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
    return found


def supervisors(project: Project) -> list[int]:
    return [pid for pid, words in alive(project).items() if b"supervise" in words]


ROWS: tuple[Mistake, ...] = (
    Mistake(
        "a command is misspelt", PEOPLE, ("stauts",), code=2,
        what=("no command `stauts`",), why=("there is no",), cure=("did you mean `ralphloop status`?",),
    ),
    Mistake(
        "an option is misspelt", PEOPLE, ("run", "shop", "--max-iteration", "5"), code=2,
        what=("`--max-iteration`",), why=("`ralphloop run` has no option",),
        cure=("did you mean `--max-iterations`?", "`ralphloop run --help`"),
    ),
    Mistake(
        "a loop is misspelt", PEOPLE, ("pause", "shpo"), setup=_begun,
        what=("no loop shpo",), why=("there is no", "here"), cure=("did you mean shop?",),
    ),
    Mistake(
        "a list is misspelt", PEOPLE, ("run", "shpo"), setup=_author,
        what=("no task list shpo",), why=("there is no", "project"), cure=("did you mean shop?",),
    ),
    Mistake(
        "a task is misspelt", PEOPLE, ("done", "f9"), setup=_begun,
        what=("no task f9",), why=("shop has no",),
        cure=("did you mean F1 or F2 or F3?", "`ralphloop status shop` lists the ids"),
    ),
    Mistake(
        "a name exists", PEOPLE, ("new", "shop"), files=SHOP,
        what=(".ralph/loops/shop",), why=("exists already",),
        cure=("choose another name", "edit its list", "`ralphloop run shop`"),
    ),
    Mistake(
        "a name has a space", PEOPLE, ("new", "my shop"),
        what=("'my shop' cannot be a loop's name",), why=("1 to 64 letters, digits",),
        cure=("a letter or digit first, such as `my-shop`",),
    ),
    Mistake(
        "prose instead of a list", PEOPLE, ("new", "shop", "--from", "ideas.md"),
        files={"ideas.md": "I want a shop where people can log in.\n"},
        what=("ideas.md",), why=("has no list",), cure=("each top-level line such as `- Log in`",),
    ),
    Mistake(
        "the work tree is dirty", PEOPLE, ("run", "shop", "--commit"), setup=_dirty,
        what=("the work tree is not clean",), why=("notes.txt (untracked)",),
        cure=("commit, stash (`git stash -u`) or ignore",),
    ),
    Mistake(
        "commits without git", PEOPLE, ("run", "shop", "--commit", "--yes"), files=SHOP, setup=_without_git,
        what=("is in no git work tree",), why=("commits need one",), cure=("run `git init` there first",),
    ),
    Mistake(
        "nobody can be asked for the approval", PEOPLE, ("run", "shop"), files=SHOP, setup=_client,
        what=("nothing is approved and nothing started",),
        why=("would run 1 command here", "$ true", "Only in a terminal are you asked"),
        cure=("`ralphloop run shop --yes` approves", "`--unapproved`"),
    ),
    Mistake(
        "a second run", PEOPLE, ("run", "shop"), setup=_driven,
        what=("shop is driven already",), why=("by process",),
        cure=("`ralphloop watch shop`", "`ralphloop pause shop`"),
    ),
    Mistake(
        "a limit is raised by a second run", PEOPLE, ("run", "shop", "--max-cost", "9"), setup=_driven,
        what=("shop is driven already",), why=("by process",),
        cure=("`ralphloop limit shop` with these options",),
    ),
    Mistake(
        "a limit is raised while it runs", PEOPLE, ("limit", "shop", "--max-iterations", "40"),
        setup=_begun, code=0,
        what=("iterations", "1 of 40"), why=("(before: 15)",),
        cure=("from the end of the agent's present turn on",),
    ),
    Mistake(
        "left alone in the background", PEOPLE, ("run", "shop", "--yes", "--detach"), files=SHOP,
        setup=_client, code=0,
        what=("shop runs in the background",), why=("(process",),
        cure=("`ralphloop watch shop` shows it", "`ralphloop pause shop` lets it stop"),
    ),
    Mistake(
        "a pause", PEOPLE, ("pause", "shop"), setup=_begun, code=0,
        what=("shop is paused",), why=("stops at the end of its turn",),
        cure=("`ralphloop resume shop` goes on",),
    ),
    Mistake(
        "the supervisor was killed", PEOPLE, ("status", "shop"), setup=_killed, code=0,
        what=("shop · nobody drives it",), why=("its supervisor was killed, or the machine went down",),
        cure=("`ralphloop run shop` goes on",),
    ),
    Mistake(
        "Ctrl-C", PEOPLE, ("status", "shop"), setup=_interrupted, code=0,
        what=("shop · paused (interrupted)",), why=("paused by the person",),
        cure=("`ralphloop run shop` goes on",),
    ),
    Mistake(
        "the login has expired", PEOPLE, ("status", "shop"), setup=_logged_out, code=0,
        what=("shop · failed",), why=("the login was refused", "Failed to authenticate"),
        cure=("log in with `claude /login`", "`ralphloop run shop` goes on"),
    ),
    Mistake(
        "an answer to nothing", PEOPLE, ("answer", "F1", "the blue one"), setup=_begun,
        what=("F1",), why=("nothing was asked about",), cure=("`ralphloop status` shows the questions",),
    ),
    Mistake(
        "an answer without text", PEOPLE, ("answer", "F1"), setup=_begun, code=2,
        what=("`ralphloop answer` needs TEXT",), why=("the agent gets it with the task",),
        cure=("`ralphloop answer F2 'The one we have an account with'`",),
    ),
    Mistake(
        "an empty answer", PEOPLE, ("answer", "F1", ""), setup=_begun,
        what=("the answer is empty",), why=("what the agent shall do",), cure=("`ralphloop answer F1 '",),
    ),
    Mistake(
        "a run after cancel", PEOPLE, ("run", "shop", "--detach"), setup=_cancelled, code=0,
        what=("shop runs in the background",), why=("before it was cancelled; this is a new one", "0/3 done"),
        cure=("`ralphloop watch shop` shows it",),
    ),
    Mistake(
        "a resume after cancel", PEOPLE, ("resume", "shop"), setup=_cancelled,
        what=("the loop shop",), why=("is cancelled",), cure=("`ralphloop start shop` begins a new one",),
    ),
    Mistake(
        "the wrong folder", PEOPLE, ("run", "shop"), setup=_elsewhere, folder="../other",
        what=("no task list shop in",), why=("under way elsewhere: shop in",),
        cure=("Change to it with `cd ",),
    ),
    Mistake(
        "a list in the home folder", OWN, ("new", "shop"), folder="../home",
        what=("the list would go into", "your home folder"), why=("everything below would belong to it",),
        cure=("change to your project's folder first", "`--here` if you mean it"),
    ),
    Mistake(
        "far below another project", OWN, ("new", "shop"), code=0, files={"a/b/c/x": ""}, folder="a/b/c",
        what=("Created ../../../.ralph/loops/shop", "The project is"), why=("because it has .git",),
        cure=("`--here` makes a list in this folder instead",),
    ),
    Mistake(
        "the wrong folder, and no name", PEOPLE, ("pause",), setup=_elsewhere, folder="../other",
        what=("no loop is under way in",), why=("under way elsewhere: shop in",), cure=("`cd ",),
    ),
    Mistake(
        "an empty folder", PEOPLE, ("watch",),
        what=("no loop is under way in",), why=("makes a task list",), cure=("`ralphloop new NAME`",),
    ),
    Mistake(
        "no client", PEOPLE, ("run", "shop", "--yes"), files=SHOP,
        what=("`claude`",), why=("is not on PATH, and a run works through it",),
        cure=("`npm install -g @anthropic-ai/claude-code`",),
    ),
    Mistake(
        "a list is edited while it runs", PEOPLE, ("approve", "--show"), setup=_edited, code=0,
        what=("list differs from what was pinned",), why=('+ "description": "Pay by card"',),
        cure=("`ralphloop approve shop` allows it",),
    ),
    Mistake(
        "a time that is none", PEOPLE, ("run", "shop", "--max-time", "abc"), code=2,
        what=("--max-time: 'abc'",), why=("is not a time above zero",), cure=("`--max-time 4h`",),
    ),
    Mistake(
        "no dollars", PEOPLE, ("run", "shop", "--max-cost", "0"), code=2,
        what=("--max-cost: '0'",), why=("not an amount of dollars above zero",), cure=("`--max-cost 5`",),
    ),
    Mistake(
        "a wrong mode", PEOPLE, ("run", "shop", "--permission-mode", "acceptEdit"), code=2,
        what=("--permission-mode: 'acceptEdit'",), why=("is none of acceptEdits,",),
        cure=("did you mean `--permission-mode acceptEdits`?",),
    ),
    # of our own
    Mistake(
        "an option before the command", OWN, ("--json", "status"), code=2,
        what=("the option `--json`",), why=("belongs to a command and stands behind it",),
        cure=("type `ralphloop status --json`",),
    ),
    Mistake(
        "a command of another tool", OWN, ("list",), code=2,
        what=("no command `list`",), why=("there is no",),
        cure=("did you mean `ralphloop status`?", "`ralphloop --help` lists them all"),
    ),
    Mistake(
        "another command's option", OWN, ("report", "--json"), code=2,
        what=("`--json`",), why=("`ralphloop report` has no option",),
        cure=("did you mean `--format json`?",),
    ),
    Mistake(
        "a misspelt format", OWN, ("report", "--format", "htm"), code=2,
        what=("--format: 'htm'",), why=("is none of md, json, html",),
        cure=("did you mean `--format html`?",),
    ),
    Mistake(
        "a misspelt action", OWN, ("specum", "implment"), code=2,
        what=("no action `implment`",), why=("`ralphloop specum` has no",),
        cure=("did you mean `ralphloop specum implement`?",),
    ),
    Mistake(
        "a verb is missing", OWN, ("service",), code=2,
        what=("`ralphloop service` needs VERB",), why=("one of install, uninstall, status, run",),
        cure=("`ralphloop service --help` says what each does",),
    ),
    Mistake(
        "a text without quotes", OWN, ("answer", "F1", "the", "blue", "one"), code=2,
        what=("cannot use the word `blue`",), why=("one too many",),
        cure=("into quotes", "`ralphloop answer --help`"),
    ),
    Mistake(
        "a complete loop is resumed", OWN, ("resume", "shop"), setup=_complete,
        what=("the loop shop is complete",), why=("every task is done",),
        cure=("add one to", "`ralphloop start shop` begins a new one"),
    ),
    Mistake(
        "two loops and no name", OWN, ("pause",), setup=_two,
        what=("several loops are under way here",), why=("you named none",), cure=("name one of: ", "shop"),
    ),
    Mistake(
        "a proven task is claimed again", OWN, ("done", "F1"), setup=_proven, code=0,
        what=("F1 is done already",), why=("(proven)",), cure=("next F2",),
    ),
    Mistake(
        "a done task is skipped", OWN, ("skip", "F1"), setup=_proven,
        what=("nothing to skip",), why=("F1 is done already",), cure=("`ralphloop status shop`",),
    ),
    Mistake(
        "no time at all", OWN, ("limit", "--max-time", "0"), setup=_begun, code=2,
        what=("--max-time: '0'",), why=("is not a time above zero like",), cure=("`--max-time 4h`",),
    ),
    Mistake(
        "an unknown setting", OWN, ("run", "shop"), setup=_client,
        files={**SHOP, ".ralph/config.toml": "max_iteration = 3\n"},
        what=("config.toml",), why=("no setting max_iteration",), cure=("did you mean max_iterations?",),
    ),
    Mistake(
        "an agent approves", OWN, ("approve", "--yes"), files=SHOP, env=IN_CLIENT,
        what=("an approval is the person's to decide",), why=("this runs inside Claude Code",),
        cure=("must run it in their own terminal",),
    ),
    Mistake(
        "a branch with a space", OWN, ("run", "shop", "--commit", "--branch", "my branch"), setup=_author,
        what=("'my branch'",), why=("is no name for a branch",),
        cure=("choose another, such as `my-branch`",),
    ),
    Mistake(
        "evidence of a task without a check", OWN, ("evidence", "F2"), setup=_proven,
        what=("no evidence for F2 in shop",), why=("it has no check",), cure=("add a `verify` command",),
    ),
    Mistake(
        "no end of turns", OWN, ("run", "shop", "--max-iterations", "0", "--yes"), files=SHOP, setup=_client,
        what=("--max-iterations 0",), why=("may cost without end",), cure=("add --i-know",),
    ),
    Mistake(
        "a plan for nothing", OWN, ("plan",),
        what=("plan needs a goal",), why=("what is to be built",), cure=("`ralphloop plan '",),
    ),
    Mistake(
        "nowhere to notify", OWN, ("notify", "--test"),
        what=("no way of telling you is switched on",), why=("the setting `notify` is empty",),
        cure=('`notify = ["desktop"]`', "config.toml"),
    ),
    Mistake(
        "a report into no folder", OWN, ("report", "--output", "out/shop.md"), setup=_begun,
        what=("out",), why=("is no folder",), cure=("`mkdir -p out` makes it",),
    ),
    Mistake(
        "a second pause", OWN, ("pause", "shop"), setup=_paused, code=0,
        what=("shop",), why=("is paused already",), cure=("`ralphloop resume shop` goes on",),
    ),
    Mistake(
        "verify of nothing", OWN, ("verify",), setup=_proven,
        what=("name one task",), why=("or --all of them",), cure=("`ralphloop verify F2`",),
    ),
    Mistake(
        "the file in the place of the name", OWN, ("new", "ideas.md"), files={"ideas.md": "- Log in\n"},
        what=("ideas.md is a file",), why=("`new` wants the name of a list first",),
        cure=("`ralphloop new NAME --from ideas.md`",),
    ),
    Mistake(
        "plan show without dashes", OWN, ("plan", "show", "shop"), files=SHOP,
        what=("would begin a list for the goal 'show shop'",), why=("there is a list shop",),
        cure=("`ralphloop plan --show shop`",),
    ),
    Mistake(
        "the list of a loop is gone", OWN, ("run", "shop"), setup=_without_list,
        what=("the loop shop is here, but not its list",), why=("feature_list.json",),
        cure=("`git switch`", "`ralphloop cancel shop`"),
    ),
)  # fmt: skip

"""The marketplace in the real client: what is installed from it works, alone, together, after an update."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.client import BUSY_S, REPOSITORY, UNATTENDED, ClientHome, PrintRun, run_print
from e2e.conftest import make_home, make_project
from e2e.doctoring import about
from e2e.looping import SPECKIT_STATE, SPECUM_STATE, Outside, bash, features
from e2e.marketplace import NAME, install, installed, plugin_command, publish, release, served
from e2e.talking import Talk
from e2e.terminal import Terminal
from fakes import warm
from ralphloop.lab.model_server import ModelServer
from ralphloop.lab.reply import Reply, text

pytestmark = [pytest.mark.client, pytest.mark.timeout(600)]

PLUGINS = ("ralphloop", "ralph-specum", "ralph-speckit")
BOXES = "# Tasks\n\n- [ ] 1.1 First\n- [ ] 1.2 Second\n"
LISTS = {
    "ralphloop": features(2),
    "ralph-specum": {
        "specs/.current-spec": "demo\n",
        "specs/demo/tasks.md": BOXES,
        "specs/demo/.ralph-state.json": json.dumps({**SPECUM_STATE, "totalTasks": 2}),
    },
    "ralph-speckit": {
        ".specify/.current-feature": "001-demo\n",
        ".specify/specs/001-demo/tasks.md": BOXES,
        ".specify/specs/001-demo/.speckit-state.json": json.dumps({**SPECKIT_STATE, "totalTasks": 2}),
    },
}
IDS = {"ralphloop": ("F1", "F2"), "ralph-specum": ("1.1", "1.2"), "ralph-speckit": ("1.1", "1.2")}
PROMPTS = {
    "ralphloop": "/ralphloop:start features:demo",
    "ralph-specum": "/ralph-specum:implement",
    "ralph-speckit": "/ralph-speckit:implement",
}
# Only the plugin's own command line is to be found, whatever else this machine has.
BARE = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(tmp_path_factory.mktemp("published").resolve() / "a market")


@pytest.fixture(scope="module")
def url(market: Path) -> Iterator[str]:
    with served(market) as address:
        yield address


@dataclass(frozen=True)
class Installed:
    """A home with plugins, and how the client listed them when they were new."""

    home: ClientHome
    folder: Path
    entries: dict[str, dict[str, Any]]

    def project(self, files: Mapping[str, str], name: str) -> Path:
        return make_project(self.folder, files, name=name)

    def doctor(self, root: Path, *words: str) -> warm.Ended:
        """What the person's `doctor` says here."""
        programs, temporary = self.folder / "programs", self.folder / "temporary"
        if not programs.exists():
            programs.mkdir()
            temporary.mkdir()
            (programs / "claude").symlink_to(self.home.binary)
        env = {"HOME": str(self.home.path), "PATH": f"{programs}:/usr/bin:/bin", "TMPDIR": str(temporary)}
        done = warm.run(["doctor", *words], env={**env, "LANG": "C.UTF-8"}, cwd=root)
        assert list(temporary.iterdir()) == []
        return done


@pytest.fixture(scope="module")
def installing(
    claude_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, Sequence[str]], Installed]:
    def install_in_a_new_home(source: str, plugins: Sequence[str]) -> Installed:
        folder = tmp_path_factory.mktemp("installed").resolve()
        home = make_home(folder, claude_binary)
        install(home, folder, source, *plugins)
        return Installed(home, folder, installed(home, folder))

    return install_in_a_new_home


@pytest.fixture(scope="module")
def one(installing: Callable[..., Installed], url: str) -> Installed:
    """A home with one plugin from git, alone."""
    return installing(url, ["ralphloop"])


@pytest.fixture(scope="module")
def three(installing: Callable[..., Installed], url: str) -> Installed:
    """A home with three of them."""
    return installing(url, PLUGINS)


def turns(*ids: str) -> list[Reply]:
    """Each task is claimed by the command that the plugin itself brings."""
    return [reply for task in ids for reply in (bash(f"ralphloop done {task}"), text(f"{task} is done."))]


def finishes(home: ClientHome, root: Path, plugin: str, **options: Any) -> set[str]:
    """Whether a session goes through the list of this plugin's layout; the plugins' commands it knows."""
    session = str(uuid.uuid4())
    outside = Outside(home, root)
    before = {loop["id"] for loop in outside.loops()}
    with ModelServer(turns(*IDS[plugin])) as server:
        run = run_print(home, root, PROMPTS[plugin], server, session_id=session, env=BARE, **options)
    (loop,) = [loop for loop in outside.loops() if loop["id"] not in before]
    assert (loop["state"], loop["outcome"]) == ("ended", "complete"), server.main_requests[-1].new_texts
    assert len(server.main_requests) == 2 * len(IDS[plugin])
    assert outside.errors() == ""
    return known_commands(run)


def known_commands(run: PrintRun) -> set[str]:
    """Those of plugins."""
    return {command for command in run.of_type("system", "init")[0]["slash_commands"] if ":" in command}


def own_commands(plugin: str) -> set[str]:
    folder = REPOSITORY / "plugins" / plugin
    found = [*folder.glob("commands/*.md"), *(file.parent for file in folder.glob("skills/*/SKILL.md"))]
    return {f"{plugin}:{path.stem}" for path in found}


def is_whole(entry: Mapping[str, Any], plugin: str) -> bool:
    """Whether the client has this plugin in the version of the repository, with nothing left of its links."""
    manifest = json.loads((REPOSITORY / "plugins" / plugin / ".claude-plugin/plugin.json").read_text())
    place = Path(entry["installPath"])
    assert (entry["version"], entry["enabled"]) == (manifest["version"], True)
    assert not (place / "lib").is_symlink()
    return (place / "lib/hook/guard.sh").is_file()


def test_plugin_alone_finishes_lists_of_two_projects_at_once_that_do_not_touch_each_other(
    one: Installed,
) -> None:
    (entry,) = one.entries.values()
    assert is_whole(entry, "ralphloop")
    roots = [one.project(features(2), name) for name in ("my project", "the other")]
    failures: list[BaseException] = []

    def work(root: Path) -> None:
        try:
            assert finishes(one.home, root, "ralphloop") == own_commands("ralphloop")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for root in roots:
        assert [loop["outcome"] for loop in Outside(one.home, root).loops()] == ["complete"]


@pytest.mark.parametrize("plugin", ["ralph-specum", "ralph-speckit"])
def test_plugin_that_is_the_only_one_switched_on_finishes_a_list(three: Installed, plugin: str) -> None:
    assert is_whole(three.entries[plugin], plugin)
    others = {f"{other}@{NAME}": False for other in PLUGINS if other != plugin}
    root = three.project(LISTS[plugin], f"my {plugin}")
    known = finishes(three.home, root, plugin, settings={"enabledPlugins": others})
    assert known == own_commands(plugin)


def test_three_plugins_together_serve_one_layout_each(three: Installed) -> None:
    """In one session, one after the other."""
    files = {path: content for listed in LISTS.values() for path, content in listed.items()}
    root = three.project(files, "all")
    with Talk(three.home, root, plugins=(), mode=UNATTENDED, env=BARE) as talk:
        for number, plugin in enumerate(PLUGINS, 1):
            run, requests = talk.say(PROMPTS[plugin], *turns(*IDS[plugin]))
            ended = [loop["layout"] for loop in talk.outside.loops() if loop["outcome"] == "complete"]
            assert len(ended) == number, requests[-1].new_texts
            assert ("features" if plugin == "ralphloop" else plugin.removeprefix("ralph-")) in ended
            assert len(requests) == 2 * len(IDS[plugin]), plugin
            assert known_commands(run) == set().union(*map(own_commands, PLUGINS)), plugin


def test_plugin_from_a_folder_finishes_a_list_and_is_proven_by_doctor(
    installing: Callable[..., Installed], market: Path
) -> None:
    """The client reads it where it lies, links and all."""
    folder = installing(str(market), ["ralphloop"])
    finishes(folder.home, folder.project(LISTS["ralphloop"], "my project"), "ralphloop")
    is_found_and_proven(folder)


def test_plugin_from_git_is_proven_by_doctor(one: Installed) -> None:
    is_found_and_proven(one)


def is_found_and_proven(place: Installed) -> None:
    """Until it is switched off; the home and the project stay as they were, but for a hook's byte code."""
    root = place.project({}, "empty")
    before = digest(place.home.path) | digest(root)
    proven = place.doctor(root, "--json")
    assert digest(place.home.path) | digest(root) == before
    ((level, told),) = about(json.loads(proven.stdout), "live")
    assert (proven.code, level, proven.stderr) == (0, "fine", b""), told
    assert told.startswith("the hook fired and continued (2 stops, ")
    plugin_command(place.home, root, "disable", "ralphloop@ralphloop")
    told = place.doctor(root, "--no-live")
    assert (told.code, "! hooks: nothing registers the hook" in told.stdout.decode()) == (0, True)
    plugin_command(place.home, root, "enable", "ralphloop@ralphloop")


def digest(top: Path) -> dict[str, tuple[int, int, bytes]]:
    files = [path for path in top.rglob("*") if path.is_file() and "__pycache__" not in str(path)]
    return {str(path): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_update_keeps_a_running_loop(one: Installed, market: Path) -> None:
    """The session goes on with the version that it began with; the next one has the new one."""
    root = one.project(features(3), "updated")
    old = Path(one.entries["ralphloop"]["installPath"])
    session = str(uuid.uuid4())
    outside = Outside(one.home, root)
    outside.ralphloop("start", "--session", session)
    updated = threading.Event()
    script = [*turns("F1"), turns("F2")[0].held(updated), *turns("F2")[1:]]
    with (
        ModelServer(script, default="Nothing is left to be said.") as server,
        Terminal(one.home, root, server, session_id=session, env=BARE) as terminal,
    ):
        terminal.submit("begin")
        server.wait_for_requests(3, deadline_s=BUSY_S)
        release(market, "ralphloop", "99.0.0")
        plugin_command(one.home, root, "marketplace", "update", NAME)
        plugin_command(one.home, root, "update", f"ralphloop@{NAME}")
        updated.set()
        terminal.wait_for("F2 is done.")
        terminal.wait_for("2/3 done")
    fresh = installed(one.home, root)["ralphloop"]
    assert fresh["version"] == "99.0.0"
    assert Path(fresh["installPath"]) != old
    outside.ralphloop("resume")
    with ModelServer(turns("F3")) as server:
        run = run_print(one.home, root, "go on", server, args=("--resume", session), env=BARE)
    (loaded,) = [
        plugin for plugin in run.of_type("system", "init")[0]["plugins"] if plugin["name"] == "ralphloop"
    ]
    assert loaded["path"] == fresh["installPath"]
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "complete")
    assert outside.errors() == ""


@pytest.mark.parametrize("place", ["."] + [f"plugins/{plugin}" for plugin in PLUGINS])
def test_validation_finds_nothing_to_complain_about(
    client_home: ClientHome, tmp_path: Path, place: str
) -> None:
    """The client's own strict checks, and those of the public directory."""
    profile = [] if place == "." else ["--profile", "directory"]
    done = subprocess.run(
        [str(client_home.binary), "plugin", "validate", "--strict", *profile, str(REPOSITORY / place)],
        env={"HOME": str(client_home.path), "PATH": os.environ["PATH"]}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✔ Validation passed" in done.stdout
    assert "README.md was taken from it" not in done.stdout

"""The marketplace in the real client: what is installed from it works, alone, together, after an update."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.client import REPOSITORY, ClientHome, run_print
from e2e.conftest import ProjectFactory
from e2e.looping import SPECKIT_STATE, SPECUM_STATE, TASKS, Outside, bash, features
from e2e.marketplace import NAME, install, installed, plugin_command, publish, release, served
from e2e.terminal import Terminal
from ralphloop.testing.model_server import ModelServer
from ralphloop.testing.reply import Reply, text

pytestmark = pytest.mark.client

PLUGINS = ("ralphloop", "ralph-specum", "ralph-speckit")
LISTS = {
    "ralphloop": features(3),
    "ralph-specum": {
        "specs/.current-spec": "demo\n",
        "specs/demo/tasks.md": TASKS,
        "specs/demo/.ralph-state.json": json.dumps(SPECUM_STATE),
    },
    "ralph-speckit": {
        ".specify/.current-feature": "001-demo\n",
        ".specify/specs/001-demo/tasks.md": TASKS,
        ".specify/specs/001-demo/.speckit-state.json": json.dumps(SPECKIT_STATE),
    },
}
IDS = {"ralphloop": ("F1", "F2", "F3"), "ralph-specum": ("1.1", "1.2", "1.3")}
IDS["ralph-speckit"] = IDS["ralph-specum"]
PROMPTS = {
    "ralphloop": "/ralphloop:start features:demo",
    "ralph-specum": "/ralph-specum:implement",
    "ralph-speckit": "/ralph-speckit:implement",
}
# Only the plugin's own command line is to be found, whatever else this machine has.
BARE = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def market(tmp_path: Path) -> Path:
    return publish(tmp_path.resolve() / "a market")


@pytest.fixture
def url(market: Path) -> Iterator[str]:
    with served(market) as address:
        yield address


def turns(*ids: str) -> list[Reply]:
    """Each task is claimed by the command that the plugin itself brings."""
    return [reply for task in ids for reply in (bash(f"ralphloop done {task}"), text(f"{task} is done."))]


def finishes(home: ClientHome, root: Path, plugin: str) -> list[str]:
    """Whether a session goes through the list of this plugin's layout; the commands that the client knows."""
    session = str(uuid.uuid4())
    outside = Outside(home, root)
    before = {loop["id"] for loop in outside.loops()}
    with ModelServer(turns(*IDS[plugin])) as server:
        run = run_print(home, root, PROMPTS[plugin], server, session_id=session, env=BARE)
    (loop,) = [loop for loop in outside.loops() if loop["id"] not in before]
    assert (loop["state"], loop["outcome"]) == ("ended", "complete"), server.main_requests[-1].new_texts
    assert len(server.main_requests) == 2 * len(IDS[plugin])
    assert outside.errors() == ""
    commands: list[str] = run.of_type("system", "init")[0]["slash_commands"]
    return commands


def own_commands(plugin: str) -> set[str]:
    folder = REPOSITORY / "plugins" / plugin
    found = [*folder.glob("commands/*.md"), *(file.parent for file in folder.glob("skills/*/SKILL.md"))]
    return {f"{plugin}:{path.stem}" for path in found}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_alone_from_a_git_marketplace_finishes_a_list(
    client_home: ClientHome, project: ProjectFactory, url: str, plugin: str
) -> None:
    root = project(LISTS[plugin], name="my project")
    install(client_home, root, url, plugin)
    (entry,) = installed(client_home, root).values()
    manifest = json.loads((REPOSITORY / "plugins" / plugin / ".claude-plugin/plugin.json").read_text())
    assert (entry["version"], entry["enabled"]) == (manifest["version"], True)
    place = Path(entry["installPath"])
    assert not (place / "lib").is_symlink()
    assert (place / "lib/hook/guard.sh").is_file()
    known = {command for command in finishes(client_home, root, plugin) if ":" in command}
    assert known == own_commands(plugin)


def test_plugin_from_a_folder_finishes_a_list(
    client_home: ClientHome, project: ProjectFactory, market: Path
) -> None:
    """The client reads it where it lies, links and all."""
    root = project(LISTS["ralph-specum"], name="my project")
    install(client_home, root, str(market), "ralph-specum")
    finishes(client_home, root, "ralph-specum")


def test_three_plugins_together_serve_one_layout_each(
    client_home: ClientHome, project: ProjectFactory, url: str
) -> None:
    files = {path: content for listed in LISTS.values() for path, content in listed.items()}
    root = project(files)
    install(client_home, root, url, *PLUGINS)
    for plugin in PLUGINS:
        known = finishes(client_home, root, plugin)
    assert {command for command in known if ":" in command} == set().union(*map(own_commands, PLUGINS))


def test_update_keeps_a_running_loop(
    client_home: ClientHome, project: ProjectFactory, market: Path, url: str
) -> None:
    """The session goes on with the version that it began with; the next one has the new one."""
    root = project(features(3))
    install(client_home, root, url, "ralphloop")
    old = Path(installed(client_home, root)["ralphloop"]["installPath"])
    session = str(uuid.uuid4())
    outside = Outside(client_home, root)
    outside.ralphloop("start", "--session", session)
    updated = threading.Event()
    script = [*turns("F1"), turns("F2")[0].held(updated), *turns("F2")[1:]]
    with (
        ModelServer(script, default="Nothing is left to be said.") as server,
        Terminal(client_home, root, server, session_id=session, env=BARE) as terminal,
    ):
        terminal.submit("begin")
        server.wait_for_requests(3)
        release(market, "ralphloop", "99.0.0")
        plugin_command(client_home, root, "marketplace", "update", NAME)
        plugin_command(client_home, root, "update", f"ralphloop@{NAME}")
        updated.set()
        terminal.wait_for("F2 is done.")
        terminal.wait_for("2/3 done")
    fresh = installed(client_home, root)["ralphloop"]
    assert fresh["version"] == "99.0.0"
    assert Path(fresh["installPath"]) != old
    outside.ralphloop("resume")
    with ModelServer(turns("F3")) as server:
        run = run_print(client_home, root, "go on", server, args=("--resume", session), env=BARE)
    (loaded,) = [
        plugin for plugin in run.of_type("system", "init")[0]["plugins"] if plugin["name"] == "ralphloop"
    ]
    assert loaded["path"] == fresh["installPath"]
    assert (outside.loop["state"], outside.loop["outcome"]) == ("ended", "complete")
    assert outside.errors() == ""


def test_two_projects_at_once_do_not_touch_each_other(
    client_home: ClientHome, project: ProjectFactory, url: str
) -> None:
    roots = [project(features(3), name=name) for name in ("one", "the other")]
    install(client_home, roots[0], url, "ralphloop")
    failures: list[BaseException] = []

    def work(root: Path) -> None:
        try:
            finishes(client_home, root, "ralphloop")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for root in roots:
        assert [loop["outcome"] for loop in Outside(client_home, root).loops()] == ["complete"]


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

"""The project as it was when a loop began, and what has changed since: all files that are not ignored, the
repository's own settings, the programs that checks name, and variables that make them load something else."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ralphloop import errors
from ralphloop.agents.registry import client
from ralphloop.domain import jsontext
from ralphloop.proof import criteria, difference, executable, protect, repository, tree
from ralphloop.proof.difference import Added, Comparison, Since, changed_at
from ralphloop.proof.difference import Change as Change
from ralphloop.proof.look import Kept, Look, first
from ralphloop.proof.protect import BY_TOOLS
from ralphloop.proof.repository import Repository
from ralphloop.proof.worktree import OPTIONS, Git
from ralphloop.store import files
from ralphloop.store.loop import BASELINE, LoopFiles

TAKE_S = 30.0
OWN, STAGE = "baseline", "stage"
SCRATCH = "now-"  # and the process whose look it is
KEPT_MAX = 200  # work trees in one another
LOOK_MAX = 50_000  # files whose age is asked for, in ignored folders and at home
LOOK_S = 5.0
# By these a program is made to load something else, or to look elsewhere; a star stands for any ending.
LOADER_VARIABLES = (
    "BASH_ENV", "BASH_FUNC_*", "BASH_LOADABLES_PATH", "BASHOPTS", "CDPATH", "ENV", "GLOBIGNORE", "IFS",
    "SHELLOPTS", "ZDOTDIR", "LD_*", "DYLD_*", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "GIT_*",
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONINSPECT",
    "PYTHONWARNINGS", "PYTHONBREAKPOINT", "PYTHONOPTIMIZE", "PYTHONPYCACHEPREFIX", "PYTHONEXECUTABLE",
    "PYTHONCASEOK", "PYTHONSAFEPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTEST_THEME", "COVERAGE_PROCESS_START", "COVERAGE_RCFILE", "TOX_*", "NOX_*", "MYPYPATH",
    "MYPY_CONFIG_FILE_DIR", "RUFF_CONFIG", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "DJANGO_SETTINGS_MODULE",
    "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_*",
    "npm_config_*", "BUN_CONFIG_*", "BUN_OPTIONS", "DENO_DIR", "JEST_*", "VITEST_*", "MOCHA_*", "TS_NODE_*",
    "ESLINT_*", "PERL5OPT", "PERL5LIB", "PERL5DB", "PERLLIB", "PROVE_*", "HARNESS_OPTIONS", "HARNESS_PERL",
    "RUBYOPT", "RUBYLIB", "RUBYSHELL", "BUNDLE_GEMFILE", "GEM_HOME", "GEM_PATH", "SPEC_OPTS", "TESTOPTS",
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "CLASSPATH", "MAVEN_OPTS",
    "MAVEN_ARGS", "GRADLE_OPTS", "ANT_OPTS", "SBT_OPTS", "GOFLAGS", "GOENV", "GODEBUG", "GOTOOLCHAIN",
    "GOROOT", "CARGO_BUILD_*", "CARGO_TARGET_*", "CARGO_ENCODED_RUSTFLAGS", "RUSTC", "RUSTC_*", "RUSTFLAGS",
    "RUSTDOCFLAGS", "RUST_TEST_*", "PHPRC", "PHP_INI_SCAN_DIR", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS",
    "MFLAGS", "CTEST_*", "CMAKE_TOOLCHAIN_FILE", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS",
    "COMPlus_*", "CORECLR_*", "ELIXIR_ERL_OPTIONS", "ERL_AFLAGS", "ERL_FLAGS", "ERL_ZFLAGS", "ERL_LIBS",
    "LUA_INIT", "LUA_PATH", "LUA_CPATH", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER",
    "R_LIBS", "R_LIBS_USER", "JULIA_LOAD_PATH", "JULIA_PROJECT", "GUILE_LOAD_PATH", "TCLLIBPATH",
)  # fmt: skip
# Of the family GIT_: what clients set so that git asks nobody, and who commits.
_HARMLESS = ("GIT_ASKPASS", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_EDITOR", "GIT_PAGER", "GIT_SEQUENCE_EDITOR",
             "GIT_TERMINAL_PROMPT")  # fmt: skip
_RUN = os.path.join(".ralph", "run")
LISTS = ("feature_list.json", "progress.txt", "RALPH_PROMPT.md")
_CACHES = frozenset(BY_TOOLS) - {"node_modules"}
_HISTORY = ("_history", ".lesshst", ".viminfo", ".Xauthority", ".ICEauthority", ".wget-hsts", ".swp", ".lock")


class Baseline(NamedTuple):
    at: float  # when it was taken
    folder: str  # the project's folder that it was taken for
    top: str  # of the work tree
    git_folder: str
    common: str
    head: str  # empty before the first commit
    branch: str  # empty where HEAD is detached
    config: dict[str, str]  # the repository's own settings that can make somebody see something else
    exclude: str  # digest of the ignore rules that only this clone has
    overlooked: tuple[str, ...]  # paths that git was told not to look at
    programs: dict[str, dict[str, tuple[str, str]]]  # command -> program word -> its file, and what is in it
    variables: dict[str, str] | None  # loader variables of the owner's first hook call; None until then
    terms: dict[str, Any]  # how proof was asked for
    kept: dict[str, Kept] = {}  # noqa: RUF012 - the work tree, and under their prefixes the repositories in it
    large: tuple[str, ...] = ()  # files that were too large to be kept


def take(
    loop: LoopFiles,
    folder: str,
    env: Mapping[str, str],
    *,
    commands: Sequence[str],
    terms: dict[str, Any],
    budget_s: float = TAKE_S,
) -> tuple[Baseline | None, str]:
    """Keep the project as it is now; None and why if that cannot be had."""
    try:
        forget(loop)
        found = _take(loop, folder, env, commands=commands, terms=terms, deadline=time.monotonic() + budget_s)
        # Written in place, since half of it is as good as none, and another name costs a tenth of it all.
        with open(os.open(_record(loop), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(_text(found).encode("utf-8", "surrogateescape"))
    except (OSError, ValueError, errors.GitError) as error:
        forget(loop)
        return None, _why(error)
    return found, ""


def forget(loop: LoopFiles) -> None:
    """Take away what was kept."""
    if os.path.lexists(_own(loop)):
        files.remove(_record(loop))
        shutil.rmtree(_own(loop), ignore_errors=True)


def _take(
    loop: LoopFiles,
    folder: str,
    env: Mapping[str, str],
    *,
    commands: Sequence[str],
    terms: dict[str, Any],
    deadline: float,
) -> Baseline:
    at, own = time.time(), _own(loop)
    place = repository.find(folder)
    if place is None:
        raise errors.GitError("there is no git repository here")
    if files.inside(loop.kept, place.top):
        raise errors.GitError("the state directory lies inside the repository")
    files.make_folder(own)
    every = repository.settings(place)
    kept = {"": first(place, "index", every=every, folder=own, home=loop.shelf.home)}
    look = Look(kept[""], place, folder=own, env=env, deadline=deadline)
    large: list[str] = []
    overlooked = _keep(look, kept, large, prefix="", home=loop.shelf.home)
    head, branch = repository.head(place)
    return Baseline(
        at, folder, place.top, place.git_folder, place.common, head, branch,
        repository.telling(every), repository.exclude(place), tuple(overlooked),
        _programs(commands, folder, env), None, terms, kept, tuple(large),
    )  # fmt: skip


def _keep(look: Look, kept: dict[str, Kept], large: list[str], *, prefix: str, home: str) -> list[str]:
    """Keep one work tree and those in it, but for files that are too large; the paths that git was told to
    overlook."""
    overlooked, gitlinks = look.copy_index(look.index)
    inside = look.add_all(look.index, gitlinks)
    large += [prefix + path for path in look.large]
    for path in inside:
        below, name = look.below(path), f"{prefix}{path}/"
        if below is not None and len(kept) < KEPT_MAX:
            every = repository.settings(below)
            kept[name] = first(below, f"index-{len(kept)}", every=every, folder=look.folder, home=home)
            more = _keep(look.over(kept[name], below), kept, large, prefix=name, home=home)
            overlooked += [f"{path}/{one}" for one in more]
    return overlooked


def hold_judges(
    loop: LoopFiles, baseline: Baseline, env: Mapping[str, str], *, commands: Sequence[str]
) -> None:
    """Have a copy of what is in the files that judge: the objects of the repository are anybody's to take
    away, or to write anew."""
    place, deadline = _place(baseline), time.monotonic() + TAKE_S
    look = Look(baseline.kept[""], place, folder=_own(loop), env=env, deadline=deadline)
    table = criteria.table(baseline.terms.get("criteria") or ())
    below = os.path.relpath(baseline.folder, place.top)
    named = criteria.named_by(commands, protect.reader(baseline.folder), table)
    inside = {os.path.normpath(os.path.join(below, path)) for path in named}
    with contextlib.suppress(OSError, errors.GitError):  # without it nothing is lost but this
        rows = _staged(look, place.objects)
        wanted = [blob for path, blob in rows.items() if path in inside or table.judges(path)]
        files.make_folder(os.path.join(look.folder, "pack"))
        words = ("pack-objects", "--quiet", "--window=0", os.path.join(look.folder, "pack", "pack"))
        look.git(place.objects).out(*words, stdin="\n".join(wanted) + "\n")


def _staged(look: Look, *others: str) -> dict[str, str]:
    """The files of an index, each with git's id of what is in it."""
    rows = look.git(*others).out("ls-files", "-z", "--stage", index=look.index).split("\0")
    return {path: about.split(" ")[1] for about, _, path in (row.partition("\t") for row in rows) if path}


def _programs(
    commands: Sequence[str], folder: str, env: Mapping[str, str]
) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    known: dict[str, str] = {}
    for command in commands:
        words = found.setdefault(command, {})
        for word in executable.programs(command):
            lead = executable.lead(word, env.get("PATH", ""), folder=folder)
            real = os.path.realpath(lead) if lead else ""
            if real and real not in known:
                known[real] = executable.content(real)
            words[word] = (real, known.get(real, ""))
    return found


def load(loop: LoopFiles) -> Baseline | None:
    """None where there is none, or what is there is not one."""
    data = files.read_object(_record(loop))
    try:
        data["overlooked"], data["large"] = tuple(data["overlooked"]), tuple(data.get("large", ()))
        data["kept"] = {prefix: _kept(row) for prefix, row in data["kept"].items()}
        data["programs"] = {
            command: {word: (path, digest) for word, (path, digest) in words.items()}
            for command, words in data["programs"].items()
        }
        found = Baseline(**{name: data[name] for name in Baseline._fields})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return found if _is_sound(found) else None


def _kept(row: dict[str, Any]) -> Kept:
    return Kept(**{**row, "settings": tuple((name, value) for name, value in row["settings"])})


def _is_sound(found: Baseline) -> bool:
    """Whether everything in it is of its kind, which all that follows relies on."""
    terms: Any = found.terms
    tables: list[Any] = [found.config, {} if found.variables is None else found.variables, terms]
    if "" not in found.kept or not all(isinstance(table, dict) for table in tables):
        return False
    lists = [terms.get(name) or [] for name in ("criteria", "daemons")]
    paths: list[Any] = [found.top, found.git_folder, found.common]
    texts = [*paths, *_texts(found), *(text for table in tables[:2] for text in table.values())]
    at: Any = found.at
    return (
        isinstance(at, (int, float))
        and all(isinstance(one, list) for one in lists)
        and all(isinstance(text, str) for text in (*texts, *(text for one in lists for text in one)))
        and all(map(files.is_path, paths))
        and all(kept.id_size in (20, 32) for kept in found.kept.values())
    )


def _texts(found: Baseline) -> Iterator[Any]:
    yield from (found.folder, found.head, found.branch, found.exclude, *found.overlooked, *found.large)
    for words in found.programs.values():
        for pair in words.values():
            yield from pair
    for kept in found.kept.values():
        yield from (kept.name, kept.git_folder, kept.objects)
        yield from (text for pair in kept.settings for text in pair)


def _text(found: Baseline) -> str:
    kept = {prefix: one._asdict() for prefix, one in found.kept.items()}
    return jsontext.render({**found._asdict(), "kept": kept}) + "\n"


def note_variables(loop: LoopFiles, env: Mapping[str, str]) -> None:
    """Keep the loader variables of the owner's first hook call: a terminal has others than a session."""
    known = load(loop)
    if known is not None and known.variables is None:
        files.write_text(_record(loop), _text(known._replace(variables=loader_variables(env))))


def note_programs(loop: LoopFiles, commands: Iterable[str], env: Mapping[str, str]) -> None:
    """Keep what the programs of these are by now: of a check that is approved later nobody knew before."""
    known = load(loop)
    new = [command for command in commands if known is not None and command not in known.programs]
    if known is not None and new:
        programs = {**known.programs, **_programs(new, known.folder, env)}
        files.write_text(_record(loop), _text(known._replace(programs=programs)))


def loader_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Those of LOADER_VARIABLES that are set."""
    exact = {name for name in LOADER_VARIABLES if not name.endswith("*")}
    families = tuple(name[:-1] for name in LOADER_VARIABLES if name.endswith("*"))
    return {
        name: value
        for name, value in env.items()
        if (name in exact or name.startswith(families)) and not name.startswith(_HARMLESS)
    }


def _own(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, OWN)


def _record(loop: LoopFiles) -> str:
    return os.path.join(loop.kept, BASELINE)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error} ({error.filename})" if error.filename else str(error)
    return (
        f"the index of the repository cannot be read: {error}"
        if isinstance(error, ValueError)
        else str(error)
    )


def since(
    loop: LoopFiles, baseline: Baseline, folder: str, env: Mapping[str, str], *, budget_s: float = TAKE_S
) -> tuple[Since | None, str]:
    """What is not as it was; None and why if that cannot be told."""
    try:
        _sweep(_own(loop))
        with _scratch(loop) as scratch:
            return _since(loop, baseline, folder, env, scratch, time.monotonic() + budget_s), ""
    except (OSError, ValueError, errors.GitError) as error:
        return None, _why(error)


def _scratch(loop: LoopFiles) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-", dir=_own(loop))


def _sweep(own: str) -> None:
    """Take away what a look left behind that was killed; another may be under way at this moment."""
    for name in files.names(own):
        if name.startswith(SCRATCH) and not _lives(name[len(SCRATCH) :].partition("-")[0]):
            shutil.rmtree(os.path.join(own, name), ignore_errors=True)


def _lives(pid: str) -> bool:
    if os.name != "posix":
        return True  # to ask there is to end it
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _since(
    loop: LoopFiles, baseline: Baseline, folder: str, env: Mapping[str, str], scratch: str, deadline: float
) -> Since:
    then, here = _place(baseline), repository.find(folder)
    # A worktree of the repository is looked at itself; another repository in its place hides nothing.
    place = here if here is not None and here.common == then.common else then
    look = Look(baseline.kept[""], place, folder=_own(loop), env=env, deadline=deadline)
    found = _comparison(loop, baseline, scratch)
    tree_now = found.compare(look, prefix="")
    overlooked = difference.overlooked(look, baseline.kept, os.path.join(scratch, "flags"))
    head, branch = repository.head(here) if here is not None else ("", "")
    renamed = {old: new for old, new in found.renamed.items() if {old, new} <= found.changes.keys()}
    return Since(
        tree_now, tuple(found.changes[path] for path in sorted(found.changes)), renamed, tuple(found.hidden),
        head, branch, here.top if here is not None else "", repository.telling(repository.settings(place)),
        repository.exclude(place), overlooked, tuple(found.large),
    )  # fmt: skip


def changed_from(
    loop: LoopFiles,
    baseline: Baseline,
    tree: str,
    folder: str,
    env: Mapping[str, str],
    *,
    budget_s: float = TAKE_S,
) -> list[str] | None:
    """The files that are other ones now than in a tree that `since` told of, without the loop's own; None if
    that cannot be had. Whoever only looks leaves nothing behind: all that is written lies in a scratch
    folder."""
    own, here = _own(loop), repository.find(folder)
    if here is None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="ralphloop-") as scratch:
            for kept in baseline.kept.values():
                if os.path.exists(os.path.join(own, kept.name)):
                    shutil.copy2(os.path.join(own, kept.name), scratch)
            look = Look(
                baseline.kept[""], here, folder=scratch, env=env, deadline=time.monotonic() + budget_s
            )
            comparison = _comparison(loop, baseline, scratch)
            now = comparison.taken(look, "")[2]
            words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", tree, now)
            names = look.git(own, *_others(baseline)).out(*words).split("\0")
    except (OSError, ValueError, errors.GitError):
        return None
    lists = own_files(loop, here.top)
    return [name for name in names if name and not is_own(name, lists)]


def _comparison(loop: LoopFiles, baseline: Baseline, scratch: str) -> Comparison:
    large, home = baseline.large, loop.shelf.home
    return Comparison(baseline.kept, baseline.at, large=large, home=home, scratch=scratch)


def own_files(loop: LoopFiles, top: str) -> set[str]:
    """The list's own files as git names them."""
    return {os.path.relpath(os.path.realpath(path), top) for path in loop.record.paths.values()}


def is_own(path: str, own: set[str]) -> bool:
    """Whether it is one of those, or our own: what runs, and the lists of loops, which each loop writes."""
    folder, name = os.path.split(path)
    parts = folder.split(os.sep)
    is_list = parts[-3:-1] == [".ralph", "loops"] and name in LISTS
    return path in own or is_list or f"/{_RUN}/" in f"/{folder}/"


def _place(baseline: Baseline) -> Repository:
    return Repository(baseline.top, baseline.git_folder, baseline.common)


def _others(baseline: Baseline) -> list[str]:
    """The folders with objects that are not ours."""
    return [one.objects for one in baseline.kept.values()]


def added_lines(
    loop: LoopFiles, baseline: Baseline, since: Since, paths: Iterable[str], env: Mapping[str, str]
) -> Added:
    """The lines that these files have now and had not, of the first ones first, while there is room."""
    place, deadline = _place(baseline), time.monotonic() + TAKE_S
    wanted = tuple(paths)
    try:
        with _scratch(loop) as scratch:  # for trees that nobody needs afterwards
            look = Look(baseline.kept[""], place, folder=scratch, env=env, deadline=deadline)
            return difference.lines(look, [_own(loop), *_others(baseline)], since, wanted)
    except OSError:
        return Added({}, wanted)


def text_at_start(loop: LoopFiles, baseline: Baseline, change: Change, env: Mapping[str, str]) -> str | None:
    """What was in a file that has changed; None if that cannot be had."""
    look = Look(
        baseline.kept[""], _place(baseline), folder=_own(loop), env=env, deadline=time.monotonic() + LOOK_S
    )
    try:
        return look.git(*_others(baseline)).out("cat-file", "blob", change.old) if change.old else None
    except (OSError, errors.GitError):
        return None


def spare(loop: LoopFiles) -> str:
    """An empty folder of ours that a stage may cover."""
    folder = os.path.join(loop.kept, STAGE)
    files.make_folder(folder)
    return folder


def checkout(
    baseline: Baseline, loop: LoopFiles, env: Mapping[str, str], *, prefix: str = "", top: str = ""
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The words before `checkout-index -f -z --stdin`, and the environment, with which files of the start go
    back: those of the repository itself, into this work tree of it, or of the one in it at `prefix`, whose
    paths are then its own."""
    kept, top = baseline.kept[prefix], os.path.join(top or baseline.top, prefix).rstrip(os.sep)
    words = (executable.find_git(top, env), *OPTIONS, *kept.options(), "-C", top)
    return words, {**tree.git_env(env), **kept.variables(_own(loop), top, _others(baseline))}


def by_repository(baseline: Baseline, paths: Iterable[str]) -> dict[str, list[str]]:
    """The paths under the prefix of the repository that each lies in, as seen from there."""
    found: dict[str, list[str]] = {}
    for path in paths:
        prefix = max((name for name in baseline.kept if path.startswith(name)), key=len)
        found.setdefault(prefix, []).append(path[len(prefix) :])
    return found


def programs_now(
    baseline: Baseline, commands: Sequence[str], folder: str, env: Mapping[str, str]
) -> list[tuple[str, str, str, bool]]:
    """The program words that lead to something else than at the start: the command, the word, the file, and
    whether the repository ignores that. A file that it does not ignore is work, or a criterion."""
    place = repository.find(folder)
    top = place.top if place is not None else baseline.top
    found = []
    for command in commands:
        for word, (was, digest) in baseline.programs.get(command, {}).items():
            lead = executable.lead(word, env.get("PATH", ""), folder=folder) if was else ""
            if lead and _is_other(lead, was, digest, baseline.at):
                inside = [path for path in (lead, os.path.realpath(lead)) if files.inside(path, top)]
                ignored = [path for path in inside if _is_ignored(top, path, env)]
                if inside == ignored:
                    found.append((command, word, lead, bool(ignored)))
    return found


def _is_other(lead: str, was: str, digest: str, at: float) -> bool:
    """A file from before the start is as it was, since nobody but the system sets when it was changed."""
    real = os.path.realpath(lead)
    return executable.latest_change(lead) > at and (executable.content(real) != digest or not digest)


def _is_ignored(top: str, path: str, env: Mapping[str, str]) -> bool:
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--", os.path.relpath(path, top))
    return bool(Git(top, env, budget_s=LOOK_S).ask(*words))


def ignored_since(baseline: Baseline, folder: str, env: Mapping[str, str], *, most: int = 5) -> list[str]:
    """Files that no tree has and that are younger than the start: ignored ones of the repository, and those
    at home by which programs are set up. What tools and the client leave is not told."""
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    found: list[str] = []
    deadline = time.monotonic() + LOOK_S
    for number, path in enumerate((*_ignored(folder, env), *_at_home(home))):
        if number >= LOOK_MAX or len(found) >= most or time.monotonic() > deadline:
            break
        if not os.path.isdir(path) and changed_at(path) > baseline.at:
            found.append(_told(path, baseline.top, home))
    return found


def _told(path: str, top: str, home: str) -> str:
    """As seen from the repository's top or from home."""
    if path.startswith(top + os.sep):
        return path[len(top) + 1 :]
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


def kept_files(loop: LoopFiles, baseline: Baseline, top: str, env: Mapping[str, str]) -> dict[str, str]:
    """The files of the start, each with git's id of what was in it."""
    place, deadline = Repository(top, baseline.git_folder, baseline.common), time.monotonic() + LOOK_S
    look = Look(baseline.kept[""], place, folder=_own(loop), env=env, deadline=deadline)
    try:
        return _staged(look, *_others(baseline))
    except (OSError, errors.GitError):
        return {}


def touched_since(baseline: Baseline, top: str, paths: Iterable[str]) -> list[str]:
    """Those of them that somebody wrote to since, whatever is in them now."""
    return [path for path in paths if changed_at(os.path.join(top, path)) > baseline.at]


def _ignored(folder: str, env: Mapping[str, str]) -> Iterator[str]:
    place = repository.find(folder)
    if place is None:
        return
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    try:
        names = Git(place.top, env, budget_s=LOOK_S).out(*words).split("\0")
    except errors.GitError:
        return
    for name in names:
        if f"/{_RUN}/" in f"/{name}":
            continue  # one of our own loops
        if name.endswith("/"):
            yield from _walk(os.path.join(place.top, name))
        elif name:
            yield os.path.join(place.top, name)


def _walk(top: str) -> Iterator[str]:
    """The files below, without our own and what tools leave behind."""
    for above, folders, names in os.walk(top):
        is_passed_over = f"{_RUN}{os.sep}" in above + os.sep or not _CACHES.isdisjoint(above.split(os.sep))
        folders[:] = [] if is_passed_over else sorted(folders)
        yield from (os.path.join(above, name) for name in ([] if is_passed_over else sorted(names)))


def _at_home(home: str) -> Iterator[str]:
    """What programs read at home, near the top."""
    client_s = client().registration.FOLDER
    for name in files.names(home):
        if name.startswith(".") and not name.startswith(client_s) and not name.endswith(_HISTORY):
            yield os.path.join(home, name)
    for folder in (os.path.join(home, ".local", "bin"), os.path.join(home, "bin")):
        yield from (os.path.join(folder, name) for name in files.names(folder))
    config = os.path.join(home, ".config")
    for name in files.names(config):
        yield os.path.join(config, name)
        yield from (os.path.join(config, name, one) for one in files.names(os.path.join(config, name)))

"""A place apart for one command: overlays on the project's own paths, in namespaces that end with it.

Two processes stand between the keeper and the command. The *builder* is the keeper's child: it makes the
namespaces and lays the overlays. Its child is the *first process* of the new process namespace: it puts files
back, starts the command, and afterwards looks at what that read and made. Each dies with its parent, when the
first process ends the kernel ends all others in there, and with the last of them the mounts are gone. What
was written lay in memory only.

The keeper imports this by path, and only where a stage is wanted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import stat
import time
from _json import encode_basestring_ascii
from contextlib import contextmanager, suppress
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, NoReturn

MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
CAP_SYS_ADMIN = 21
ALL_IDS = ["0", "0", "4294967295"]
MOST_HANDLES = 1024  # of a keeper, which inherits three
LONG_AGO_NS = 1  # a time of reading that no clock gives
WROTE_MOST = 200  # files that a command left
WATCHED_BYTES = 128 * 1024 * 1024  # a watched file is copied into memory

OVERFULL = "there is no room for it in memory"
FOREIGN = "a file belongs to somebody whom a user namespace does not know"
NOT_PUT_BACK = "a file could not be put back"
NO_NAMESPACES = {
    errno.ENOSPC: "namespaces are switched off",
    errno.EPERM: "namespaces are not allowed here",
    errno.EACCES: "namespaces are not allowed here",
    errno.EINVAL: "this kernel has no namespaces",
    errno.ENOSYS: "this kernel has no namespaces",
}
NO_OVERLAY = {
    errno.ENODEV: "this kernel has no overlay file system",
    errno.EPERM: "an overlay is not allowed here",
    errno.EACCES: "an overlay is not allowed here",
    errno.EINVAL: "the file system here cannot be laid over",
}

Uppers = dict[str, int]  # a place, and the open folder that takes what is written there

libc = ctypes.CDLL(None, use_errno=True)


# Why the stage does not stand, as a short phrase. This runs without the package, and so without its errors.
NoStageError = RuntimeError


def play(plan: dict[str, Any], become: Callable[[], NoReturn], *, news: int, keeper: int) -> NoReturn:
    """The builder's life. What is to be told goes into `news`, a word and its value on each line."""
    try:
        with _telling_why(news):
            _leave(keeper)
            uppers = _lay_over(plan["places"], plan["spare"])
            _called(libc.unshare(CLONE_NEWPID), NO_NAMESPACES)
            lifeline, holding = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(holding)
                _be_first(plan, become, uppers, news=news, lifeline=lifeline)
            os.waitpid(pid, 0)
    finally:
        os._exit(0)


def _be_first(
    plan: dict[str, Any], become: Callable[[], NoReturn], uppers: Uppers, *, news: int, lifeline: int
) -> NoReturn:
    try:
        with _telling_why(news):
            if os.getpid() != 1:  # it ends all that it sees when the command has ended
                raise NoStageError("it has no process namespace of its own")
            _die_with_parent()
            if select.select([lifeline], [], [], 0)[0]:
                os._exit(0)  # the builder has ended already
            # Where that is refused the old one stays, which shows the processes outside.
            libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None)
            _put_back(plan)
            _direct(plan, become, uppers, news)
    finally:
        os._exit(0)


@contextmanager
def _telling_why(news: int) -> Iterator[None]:
    try:
        yield
    except NoStageError as error:
        os.write(news, f"why {error}\n".encode())
    except OSError as error:
        os.write(news, f"why {os.strerror(error.errno or 0).lower()}\n".encode())


def _direct(plan: dict[str, Any], become: Callable[[], NoReturn], uppers: Uppers, news: int) -> None:
    watched = _watch(plan["places"][0], plan["watch"], renew=plan["renew"])
    before = [_looks(path) for path in plan["products"]]
    written = _written(uppers, plan["caches"])
    os.write(news, b"stood %.6f\n" % time.clock_gettime(time.CLOCK_BOOTTIME))
    status = _run(become)
    read = [n for n, path in watched if _was_read(path)]
    made = [n for n, path in enumerate(plan["products"]) if _looks(path) not in (None, before[n])]
    wrote = [path for path, at in _written(uppers, plan["caches"]).items() if written.get(path) != at]
    names = ", ".join(map(encode_basestring_ascii, wrote[:WROTE_MOST]))
    parts = [_listed(b"read", read), _listed(b"made", made), f"wrote {names}\n".encode()]
    os.write(news, b"status %d\n%s" % (status, b"".join(parts)))


def _run(become: Callable[[], NoReturn]) -> int:
    """The command's status; whoever it left behind is ended before anybody looks at what it did."""
    command = os.fork()
    if command == 0:
        libc.prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)  # root could take the overlay away
        become()
    pid, status = 0, 0
    while pid != command:
        pid, status = os.waitpid(-1, 0)
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return status


def _leave(keeper: int) -> None:
    """Hold nothing of the keeper's, and end with it."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it is the command that is asked to end
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in range(3):
        os.dup2(nothing, handle)
    _die_with_parent()
    if os.getppid() != keeper:
        os._exit(0)


def _die_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _called(result: int, why: dict[int, str]) -> None:
    if result >= 0:
        return
    number = ctypes.get_errno()
    raise NoStageError(why.get(number, os.strerror(number).lower()))


def _enter_namespaces() -> None:
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNS) < 0:
        _join_user_namespace()
        _called(libc.unshare(CLONE_NEWNS), NO_NAMESPACES)
    _die_with_parent()  # a change of rights may have taken it back
    everything = libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
    _called(everything, {errno.EACCES: NO_NAMESPACES[errno.EPERM], errno.EPERM: NO_NAMESPACES[errno.EPERM]})


def _join_user_namespace() -> None:
    """Somebody else makes it: only a process that others may look into can write its own map of ids, and the
    builder must never be such a one."""
    hearing, saying = os.pipe()
    waiting, holding = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(holding)
        _make_user_namespace(saying, waiting)
    os.close(saying)
    try:
        number = int(os.read(hearing, 16) or errno.EPERM)
        if number:
            raise NoStageError(NO_NAMESPACES.get(number, os.strerror(number).lower()))
        handle = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
        _called(libc.setns(handle, CLONE_NEWUSER), NO_NAMESPACES)
        os.close(handle)
    finally:
        for handle in (hearing, waiting, holding):
            os.close(handle)
        os.waitpid(pid, 0)


def _make_user_namespace(saying: int, waiting: int) -> NoReturn:
    """Everybody keeps their own id in it. It says 0 or the number of an error, and waits to be left."""
    number = 0
    user, group = os.geteuid(), os.getegid()
    try:
        _hold_only(saying, waiting)  # others may look in soon
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        if libc.unshare(CLONE_NEWUSER) < 0:
            raise OSError(ctypes.get_errno(), "")
        _write("setgroups", "deny")
        _write("uid_map", f"{user} {user} 1")
        _write("gid_map", f"{group} {group} 1")
    except OSError as error:
        number = error.errno or errno.EPERM
    finally:
        os.write(saying, b"%d" % number)
        os.read(waiting, 1)
        os._exit(0)


def _hold_only(*handles: int) -> None:
    for low, high in pairwise([2, *sorted(handles), MOST_HANDLES]):
        os.closerange(low + 1, high)


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)


def _lay_over(places: Sequence[str], spare: str) -> Uppers:
    """An overlay on each place and on each mount below it, which would be hidden otherwise; the folders that
    take what is written."""
    _enter_namespaces()
    if "/" in places:
        raise NoStageError("the project is the root folder")
    roots = [os.fsencode(os.path.realpath(place)) for place in places]
    wanted = sorted({*roots, *_mounts_below(roots)})  # the outer one first
    lower, uppers = [_opened(place) for place in wanted], {}
    _called(libc.mount(b"tmpfs", os.fsencode(spare), b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=700"), NO_OVERLAY)
    os.chdir(spare)
    options = b"userxattr" if _in_user_namespace() else b"redirect_dir=on,metacopy=off"
    for n, place in enumerate(wanted):
        os.mkdir(f"upper{n}", 0o700)
        os.mkdir(f"work{n}", 0o700)
        # Paths by number: in these options a comma, a colon or a backslash would have a meaning.
        text = b"lowerdir=/proc/self/fd/%d,upperdir=upper%d,workdir=work%d,%s" % (lower[n], n, n, options)
        uppers[os.fsdecode(place)] = os.open(f"upper{n}", os.O_RDONLY | os.O_DIRECTORY)
        _like(lower[n], f"upper{n}")
        _called(libc.mount(b"overlay", place, b"overlay", 0, text), NO_OVERLAY)
    libc.umount2(os.fsencode(spare), MNT_DETACH)  # where a place covers it there is nothing to see anyway
    os.chdir(places[0])
    for handle in lower:
        os.close(handle)
    return uppers


def _like(lower: int, upper: str) -> None:
    """The overlay's own folder has mode, owner and times of the upper one; by its path the lower one may be
    covered already."""
    found = os.fstat(lower)
    if os.stat(upper).st_uid != found.st_uid or os.stat(upper).st_gid != found.st_gid:
        libc.chown(os.fsencode(upper), found.st_uid, found.st_gid)  # or not, where it is a stranger's
    os.chmod(upper, stat.S_IMODE(found.st_mode))
    os.utime(upper, ns=(found.st_atime_ns, found.st_mtime_ns))


def _in_user_namespace() -> bool:
    with open("/proc/self/uid_map") as file:
        return file.read().split() != ALL_IDS


def _opened(place: bytes) -> int:
    try:
        return os.open(place, os.O_PATH | os.O_DIRECTORY)
    except NotADirectoryError:
        raise NoStageError("a file in the project is a mount of its own") from None


def _mounts_below(places: Sequence[bytes]) -> Iterator[bytes]:
    with open("/proc/self/mountinfo", "rb") as file:
        points = [line.split()[4] for line in file]
    for point in points:
        path = point.decode("unicode_escape").encode("latin-1")
        if any(path.startswith(place + b"/") for place in places):
            yield path


def _put_back(plan: dict[str, Any]) -> None:
    """Files as they were, with the time of now."""
    top = plan["places"][0]
    replaced = {path: _second(os.path.join(top, path)) for path in plan["put_back"]}
    try:
        for path in plan["remove"]:
            if _folders_above(top, path, clear=False):
                _remove(os.path.join(top, path))
        for folder in {os.path.dirname(path) for path in plan["remove"]}:
            _prune(top, folder)
        for path in plan["put_back"]:
            _folders_above(top, path, clear=True)
            _open_folder(os.path.dirname(os.path.join(top, path)))
            _make_room(os.path.join(top, path))
        if plan["put_back"]:
            _check_out(plan)
        for path, second in replaced.items():
            if _second(os.path.join(top, path)) == second:
                os.utime(os.path.join(top, path), (second + 1, second + 1), follow_symlinks=False)
    except OSError as error:
        known = {errno.EOVERFLOW: FOREIGN, errno.ENOSPC: OVERFULL}
        raise NoStageError(known.get(error.errno or 0, NOT_PUT_BACK)) from None
    except RecursionError:  # folders in one another without end
        raise NoStageError(NOT_PUT_BACK) from None


def _second(path: str) -> int:
    """By which Python knows, with the size, whether what it compiled is still the same."""
    try:
        return int(os.lstat(path).st_mtime)
    except OSError:
        return -1


def _folders_above(top: str, path: str, *, clear: bool) -> bool:
    """Whether all of them are real folders: beyond a link lies what is no part of the stage."""
    *above, name = path.split("/")
    if os.path.isabs(path) or not {"", ".", ".."}.isdisjoint([*above, name]):
        raise NoStageError(NOT_PUT_BACK)
    for part in above:
        top = os.path.join(top, part)
        mode = _mode(top)
        if not stat.S_ISDIR(mode):
            if clear and mode:
                os.unlink(top)
            return False
    return True


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _remove(path: str) -> None:
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        for name in os.listdir(path):
            _remove(os.path.join(path, name))
        os.rmdir(path)
    elif mode:
        os.unlink(path)


def _open_folder(path: str) -> None:
    """Git has fewer rights in here than we: it must find a folder that takes files."""
    mode = _mode(path)
    if mode and not mode & stat.S_IWUSR:
        os.chmod(path, stat.S_IMODE(mode) | stat.S_IRWXU)


def _make_room(path: str) -> None:
    """Git would not say why a folder takes no file, so where there is none a file is tried."""
    if _mode(path):
        _remove(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)


def _prune(top: str, folder: str) -> None:
    """An empty folder can be a package, or match a pattern; git knows none. To ask whether one is empty is
    dear in an overlay, so it is asked once."""
    while folder and _folders_above(top, folder, clear=False):
        try:
            os.rmdir(os.path.join(top, folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def _check_out(plan: dict[str, Any]) -> None:
    """Each path by the innermost repository that it lies in."""
    left = plan["put_back"]
    for prefix, git, env in [*plan["inner"], ["", plan["git"], plan["git_env"]]]:
        paths = [path[len(prefix) :] for path in left if path.startswith(prefix)]
        left = [path for path in left if not path.startswith(prefix)]
        if paths:
            _check_out_by(git, env, paths)


def _check_out_by(git: Sequence[str], env: dict[str, str], paths: Sequence[str]) -> None:
    names = os.memfd_create("names")
    with os.fdopen(names, "wb", closefd=False) as file:
        file.write(b"".join(os.fsencode(path) + b"\0" for path in paths))
    os.lseek(names, 0, os.SEEK_SET)
    words = [*git, "checkout-index", "-f", "-z", "--stdin"]
    handles = [(os.POSIX_SPAWN_DUP2, names, 0)]
    plain = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    pid = os.posix_spawn(words[0], words, env, file_actions=handles, setsigdef=plain)
    os.close(names)
    if os.waitpid(pid, 0)[1]:
        raise NoStageError(NOT_PUT_BACK)


def _watch(top: str, paths: Sequence[str], *, renew: bool) -> list[tuple[int, str]]:
    """Files whose time of reading is set so far back that the next reading moves it. What cannot be watched
    is left alone: it counts as not read."""
    times, room = {}, WATCHED_BYTES
    for n, path in enumerate(paths):
        with suppress(OSError, NoStageError):
            found = os.lstat(os.path.join(top, path))
            is_ours = _folders_above(top, path, clear=False) and not stat.S_ISDIR(found.st_mode)
            room -= found.st_size
            if is_ours and room >= 0:
                times[n] = found.st_mtime_ns
    watched, changed_at = [], _renewed(times.values()) if renew else {}
    for n, time_ns in times.items():
        whole = os.path.join(top, paths[n])
        with suppress(OSError):
            os.utime(whole, ns=(LONG_AGO_NS, changed_at.get(time_ns, time_ns)), follow_symlinks=False)
            watched.append((n, whole))
    return watched


def _renewed(times: Iterable[int]) -> dict[int, int]:
    """For each time one of just now, in the order that they have: what was made of such files is older."""
    now = time.time_ns()
    return {known: now - 1000 * place for place, known in enumerate(sorted({*times}, reverse=True))}


def _written(uppers: Uppers, caches: Sequence[str]) -> dict[str, int]:
    """The files in the folders that take what is written, and since when each is as it is."""
    found = {}
    for place, upper in uppers.items():
        for above, folders, names, handle in os.fwalk(".", dir_fd=upper):
            folders[:] = [name for name in folders if name not in caches]
            for name in names:
                with suppress(OSError):
                    path = os.path.normpath(os.path.join(place, above, name))
                    found[path] = os.lstat(name, dir_fd=handle).st_ctime_ns
    return found


def _was_read(path: str) -> bool:
    try:
        return os.lstat(path).st_atime_ns != LONG_AGO_NS
    except OSError:
        return False


def _looks(path: str) -> tuple[int, ...] | None:
    """None if there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode


def _listed(word: bytes, numbers: Sequence[int]) -> bytes:
    return word + b" " + b", ".join(b"%d" % n for n in numbers) + b"\n"

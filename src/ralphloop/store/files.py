"""Files on the disk: every write replaces one at once or not at all; and locks, with a deadline, which the
kernel lets go of when their holder dies."""

from __future__ import annotations

import time
from _thread import get_native_id  # of the one thread of a hook it is the process's own

from ralphloop import errors
from ralphloop import system as os
from ralphloop.domain import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Mapping, Optional

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

READ_MAX = 256 * 1024 * 1024
LOG_MAX = 1024 * 1024
STALE_S = 3600.0
_EINVAL, _ENOSPC = 22, 28
_NO_LINKS = (1, 45, 95)  # what a file system says that has no hard links
_SEEK_CUR = 1
_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe in a file's or a lock's place must not hold up anybody
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
PATH_MAX = 4096


def read_text(path: str) -> Optional[str]:
    """The file's text, None if there is none; bytes that are not UTF-8 survive a later write."""
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY | _NO_WAIT)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    try:
        must_be_regular(handle, path)
        return read_all(handle).decode("utf-8", "surrogateescape")
    finally:
        os.close(handle)


def must_be_regular(handle: int, path: str, *, most: float = READ_MAX) -> None:
    """A device or a pipe in a file's place has no end, and a file can be too large to be what it says."""
    found = os.fstat(handle)
    if found.st_mode & 0o170000 != 0o100000:
        raise OSError(_EINVAL, "not a regular file", path)
    if found.st_size > most:
        raise OSError(_EINVAL, "too large", path)


def read_quietly(path: str) -> Optional[str]:
    """As `read_text`, and None also for what cannot be read."""
    try:
        return read_text(path)
    except OSError:
        return None


def read_object(path: str) -> dict[str, Any]:
    """The JSON object in a file of ours; empty if there is none, or what is there says nothing."""
    try:
        return jsontext.parse_object(read_quietly(path) or "{}")
    except ValueError:
        return {}


def read_all(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    chunks = []
    left = READ_MAX
    while left > 0:
        chunk = os.read(handle, min(left, max(size + 1, 65536)))
        if not chunk:
            break
        chunks.append(chunk)
        left -= len(chunk)
        size = max(0, size - len(chunk))
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def write_text(path: str, text: str, *, mode: int = 0o600, durable: bool = False) -> None:
    write_bytes(path, text.encode("utf-8", "surrogateescape"), mode=mode, durable=durable)


def write_shared(path: str, text: str, *, root: str) -> None:
    """Write a file that is not ours alone: a link keeps pointing where it did, and none leads out of the
    project. The path is resolved once; what was looked at is what is written."""
    place = os.path.realpath(path)
    home = root if path.startswith(root.rstrip(os.sep) + os.sep) else os.path.realpath(os.path.dirname(path))
    if not place.startswith(home.rstrip(os.sep) + os.sep):
        raise OSError(_EINVAL, "leads out of the project", path)
    write_text(place, text, mode=0o644)


def write_bytes(path: str, data: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Replace the file; an existing one keeps its mode, and a link is replaced itself."""
    spare = spare_of(path)
    try:
        mode, known = os.stat(path).st_mode & 0o777, True
    except OSError:
        known = False
    handle = _open_new(spare, mode)
    try:
        try:
            if known:
                os.chmod(spare, mode)  # the umask had its say when it was opened
            _write_all(handle, data)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(spare, path)
    except BaseException as error:
        remove(spare)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = path  # a full disk does not say of which file
        raise


def spare_of(path: str) -> str:
    """Where this thread writes the file before it takes its place."""
    folder, name = os.path.split(path)
    return os.path.join(folder, ".%s.%d.tmp" % (name, get_native_id()))


def _open_new(path: str, mode: int) -> int:
    """What was left under this name, or planted there, is taken away and never written to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | _NO_LINK
    try:
        return os.open(path, flags, mode)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, flags, mode)


def create(path: str, data: bytes) -> bool:
    """A new file, whole and on the disk, or none; False if there is one already."""
    spare = spare_of(path)
    try:
        handle = _open_new(spare, 0o600)
        try:
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.link(spare, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS or os.path.lexists(path) or not os.path.exists(spare):
            raise
        os.rename(spare, path)
    finally:
        remove(spare)
    return True


def build_folder(folder: str, texts: Mapping[str, str], *, beside: str) -> None:
    """Make a folder with these files in `beside`, then move it to its place: it is whole or not there."""
    parent, name = os.path.split(folder)
    os.makedirs(parent, exist_ok=True)
    spare = os.path.join(beside, ".new-%s-%d" % (name, os.getpid()))
    os.mkdir(spare)
    try:
        for file, text in texts.items():
            write_text(os.path.join(spare, file), text, mode=0o644)
        os.rename(spare, folder)
    except BaseException:
        for file in names(spare):
            remove(os.path.join(spare, file))
        os.rmdir(spare)
        raise


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[os.write(handle, view) :]


def remove(path: str) -> None:
    """Take away a file of ours, if that can be done."""
    try:
        os.unlink(path)
    except OSError:
        pass


def unlink(path: str) -> None:
    """The same of one that has to go: an error if it is there still."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def sweep(folder: str, now: float) -> None:
    """Take away what killed writes left beside files that are there, more than an hour ago."""
    found = names(folder)
    for spare in found:
        name, _, pid = spare[1:-4].rpartition(".")
        is_spare = spare.startswith(".") and spare.endswith(".tmp") and pid.isdigit() and name in found
        if is_spare and age_s(os.path.join(folder, spare), now) > STALE_S:
            remove(os.path.join(folder, spare))


def append(path: str, text: str, *, most: int = 0) -> None:
    """Add to the end by one write, so that lines of several processes do not mix; a file that is longer than
    `most` by then moves aside."""
    handle = open_to_append(path)
    try:
        data = text.encode("utf-8", "backslashreplace")
        done = _write_once(handle, data, path)
        if done != len(data):
            _take_back(handle, done)
            raise OSError(_ENOSPC, "no space for a whole line", path)
        if most and os.fstat(handle).st_size > most:
            rotate(path, handle)
    finally:
        os.close(handle)


def rotate(path: str, handle: int) -> None:
    """Move the file aside, if it is still the one that was found too long: one older file is kept, so that
    nothing grows for ever. Of several who find it so, one holds its lock; who has it open writes into it
    still, and nothing is lost."""
    try:
        if try_lock(handle) and os.stat(path).st_ino == os.fstat(handle).st_ino:
            os.replace(path, older(path))
    except OSError:
        pass  # it is no more than too long


def older(path: str) -> str:
    """`journal.1.jsonl` was `journal.jsonl` before it was moved aside."""
    stem, _, extension = path.rpartition(".")
    return "%s.1.%s" % (stem, extension)


def _write_once(handle: int, data: bytes, path: str) -> int:
    try:
        return os.write(handle, data)
    except OSError as error:
        error.filename = path
        raise


def _take_back(handle: int, size: int) -> None:
    """Half a line would take the next one with it."""
    end = os.lseek(handle, 0, _SEEK_CUR)
    if os.fstat(handle).st_size == end:
        os.ftruncate(handle, end - size)


def open_to_append(path: str) -> int:
    """A regular file of any length, made if need be; neither a link nor a pipe in its place."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK | _NO_WAIT, 0o600)
    try:
        must_be_regular(handle, path, most=float("inf"))
    except OSError:
        os.close(handle)
        raise
    return handle


def names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def make_folder(path: str, *, below: str = "") -> None:
    """A folder of ours and those above it that are missing, up to `below`, which must be there itself; nobody
    else may look into any of them."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    except FileNotFoundError:
        above = os.path.dirname(path.rstrip(os.sep))
        if above in ("", below):
            raise
        make_folder(above, below=below)
        make_folder(path, below=above)


def signature(path: str) -> str:
    """What changes when the file does; empty if it is not there."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return ""
    return "%d.%d.%d.%d" % (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


def age_s(path: str, now: float) -> float:
    """Seconds since the last change of content or name; a file from the future is brand-new."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return now
    return now - max(stat.st_mtime, stat.st_ctime)


def is_path(text: str) -> bool:
    """Whether the system can be asked about such a path at all."""
    try:
        return "\0" not in text and len(os.fsencode(text)) <= PATH_MAX
    except ValueError:
        return False


def worktree_link(folder: str) -> tuple[str, str]:
    """Of a worktree's top: where its git files are, and the main checkout; two empty texts for any other
    folder. Any folder can say that it is one."""
    link = os.path.join(folder, ".git")
    text = (read_quietly(link) or "").strip() if os.path.isfile(link) else ""
    if not text.startswith("gitdir:") or not is_path(text):
        return "", ""
    gitdir = os.path.normpath(os.path.join(folder, text[len("gitdir:") :].strip()))
    main, _, name = gitdir.rpartition(os.sep + os.path.join(".git", "worktrees") + os.sep)
    return (gitdir, os.path.realpath(main)) if main and name else ("", "")


def leads_out(path: str, root: str) -> bool:
    """Whether links take the path out of the project; a list that lies elsewhere may not leave its folder."""
    if path.startswith(root.rstrip(os.sep) + os.sep):
        return not inside(path, root)
    return not inside(path, os.path.realpath(os.path.dirname(path)))


def inside(path: str, root: str) -> bool:
    """Whether the path, links resolved, is in the folder."""
    real = os.path.realpath(path)
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def file_name(text: str) -> str:
    """A file name for any id, `%` escapes for what is not plain; empty if it would be too long."""
    plain = "".join(
        ch if (ch.isalnum() and ch.isascii()) or ch in "_-" else "".join("%%%02x" % b for b in _bytes(ch))
        for ch in text[:250]
    )
    return (plain or "%") if len(plain) <= 200 and len(text) <= 250 else ""


def _bytes(ch: str) -> bytes:
    return ch.encode("utf-8", "surrogatepass")


class Lock:
    def __init__(self, path: str, *, wait_s: float = 10.0) -> None:
        self._path = path
        self._wait_s = wait_s
        self._handle = -1

    def __enter__(self) -> Lock:
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_WAIT, 0o600)
        deadline = time.monotonic() + self._wait_s
        pause = 0.001
        while not self._take():
            if time.monotonic() >= deadline:
                os.close(self._handle)
                raise errors.BusyError(self._path)
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        return self

    def _take(self) -> bool:
        try:
            return try_lock(self._handle)
        except OSError as error:  # waiting would not help
            os.close(self._handle)
            raise errors.NoLocksError(error.errno, error.strerror, self._path) from None

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        os.close(self._handle)


def is_locked(path: str) -> bool:
    """Whether somebody holds it; nobody can where there are no locks. Those who only look do not see one
    another."""
    try:
        handle = os.open(path, os.O_RDONLY | _NO_WAIT)
    except OSError:
        return False
    try:
        return not try_lock(handle, shared=True)
    except OSError:
        return False
    finally:
        os.close(handle)


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Lock an open file, if nobody else has; closing it lets go. An error where there are no locks."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        else:
            _lock_first_byte(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _lock_first_byte(handle: int) -> None:
    import msvcrt

    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

"""What a command that runs apart from the project is given, what it came to there, and the local servers that
it talked to: those that were there before the loop began work outside, and nothing put back reaches them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENS = "0A"
START_TICKS = 19  # behind the name of a process, in ticks since the machine was started
_LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


class Apart(NamedTuple):
    """What a stage came to."""

    stood: bool
    why: str = ""  # it did not
    read: tuple[str, ...] = ()  # of what was watched
    made: tuple[str, ...] = ()  # of the products
    wrote: tuple[str, ...] = ()  # absolute: files that it left in the places, other than in caches


class Listener(NamedTuple):
    """A socket that listens."""

    inode: str
    user: int


class Inner(NamedTuple):
    """A repository inside the repository."""

    prefix: str
    git: tuple[str, ...]
    git_env: Mapping[str, str]


class Stage(NamedTuple):
    """Where a command runs apart from the project, and what is put back there first."""

    places: tuple[str, ...]  # laid over: the repository's top, and its git folder where that lies outside
    spare: str  # an empty folder of ours, which something may cover inside the namespace
    put_back: tuple[str, ...] = ()  # below the first place: taken out of the kept index
    remove: tuple[str, ...] = ()  # below the first place: not there in the stage
    git: tuple[str, ...] = ()  # by absolute path
    git_env: Mapping[str, str] = MappingProxyType({})  # all of it, the kept index among it
    inner: tuple[Inner, ...] = ()  # innermost first
    watch: tuple[str, ...] = ()  # below the first place: does the command read them?
    renew: bool = False  # whether what is watched is as if it had been written just now
    products: tuple[str, ...] = ()  # absolute: does the command write them?
    caches: tuple[str, ...] = ()  # names of folders that nobody else needs

    def told(self, said: Mapping[str, Any]) -> Apart:
        """The keeper names paths by their place in the request."""
        read = tuple(self.watch[n] for n in said["read"])
        made = tuple(self.products[n] for n in said["made"])
        return Apart(said["stood"], said["why"], read, made, tuple(said["wrote"]))


def talks() -> set[str]:
    """The loopback connections there are, and those that were closed in the last minute."""
    return {f"{local} {remote}" for local, remote, state, _ in _rows() if state != LISTENS}


def asked_since(before: set[str]) -> dict[int, Listener]:
    """The ports that were talked to since, each with the socket that listens there."""
    rows = list(_rows())
    listening = {_port(local): socket for local, _, state, socket in rows if state == LISTENS}
    found = {}
    for local, remote, state, _ in rows:
        if state != LISTENS and f"{local} {remote}" not in before and remote.startswith(_LOOPBACK):
            for port in (_port(local), _port(remote)):
                if port in listening:
                    found[port] = listening[port]
    return found


def began_before(listener: Listener, at: float) -> bool:
    """Whether the processes that hold this socket are older than that. Where nobody can be seen to hold it,
    somebody else's is no agent's; one of this user's may be anybody's."""
    holders = [pid for pid in os.listdir("/proc") if pid.isdigit() and _holds(pid, listener.inode)]
    known = [began for began in map(_began_at, holders) if began is not None]
    return all(began < at for began in known) if known else listener.user != os.geteuid()


def _rows() -> Iterator[tuple[str, str, str, Listener]]:
    for table in TABLES:
        try:
            with open(table, encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            yield fields[1], fields[2], fields[3], Listener(fields[9], int(fields[7]))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _holds(pid: str, inode: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{name}") == f"socket:[{inode}]" for name in os.listdir(folder))
    except OSError:
        return False


def _began_at(pid: str) -> float | None:
    """When a process was started, by the clock; None for one that is gone. The times of its folder are those
    of the first look at it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[START_TICKS])
    except (OSError, ValueError, IndexError):
        return None
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age_s

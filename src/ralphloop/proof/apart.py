"""What a command that runs apart from the project is given, what it came to there, and the local servers that
it talked to: those that were there before the loop began work outside, and nothing put back reaches them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENS = "0A"
_LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


class Apart(NamedTuple):
    """What a stage came to."""

    stood: bool
    why: str = ""  # it did not
    read: tuple[str, ...] = ()  # of what was watched
    made: tuple[str, ...] = ()  # of the products
    wrote: tuple[str, ...] = ()  # absolute: files that it left in the places, other than in caches


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


def asked_since(before: set[str]) -> dict[int, str]:
    """The ports that were talked to since, each with the number of the socket that listens there."""
    rows = list(_rows())
    listening = {_port(local): inode for local, _, state, inode in rows if state == LISTENS}
    found = {}
    for local, remote, state, _ in rows:
        if state != LISTENS and f"{local} {remote}" not in before and remote.startswith(_LOOPBACK):
            for port in (_port(local), _port(remote)):
                if port in listening:
                    found[port] = listening[port]
    return found


def began_before(inode: str, at: float) -> bool:
    """Whether the process that holds this socket is older than that; one that nobody here can look into is
    somebody else's, and no agent's."""
    holders = [pid for pid in os.listdir("/proc") if pid.isdigit() and _holds(pid, inode)]
    return all(_began_at(pid) < at for pid in holders)


def _rows() -> Iterator[tuple[str, str, str, str]]:
    for table in TABLES:
        try:
            with open(table, encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            yield fields[1], fields[2], fields[3], fields[9]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _holds(pid: str, inode: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{name}") == f"socket:[{inode}]" for name in os.listdir(folder))
    except OSError:
        return False


def _began_at(pid: str) -> float:
    """When a process was started; one that is gone is as old as can be."""
    try:
        return os.stat(f"/proc/{pid}").st_ctime
    except OSError:
        return 0.0
